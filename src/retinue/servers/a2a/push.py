"""Push: the updates of a task, sent to addresses that its caller named.

An address is checked when it is named, and whenever it is connected to, since a name can lead elsewhere by then.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from retinue.contract import json
from retinue.contract.model import JsonMapping
from retinue.engine.base import RunRecord
from retinue.errors import AccessDenied, InvalidInput, NetworkError, RetinueError
from retinue.servers.a2a.errors import Refusal
from retinue.servers.a2a.tasks import updates
from retinue.servers.admission import Caller
from retinue.servers.service import Service
from retinue.tools.web.client import WebClient
from retinue.tools.web.url import parse_url

_LOGGER: Final = logging.getLogger("retinue.servers")

MOST_TARGETS: Final = 8
"""Addresses for one task."""
MOST_RUNS: Final = 1_000
"""Runs whose configurations are kept after they have ended."""
WAITS_S: Final = (1.0, 5.0, 25.0)
"""How long to wait before each further attempt."""


@dataclass(slots=True)
class _Target:
    """An address, and what sends to it."""

    config: JsonMapping
    task: asyncio.Task[None] | None = None


@dataclass(slots=True)
class PushSender:
    """Sends updates. What it was told is forgotten when the server stops.

    Attributes:
        service: Where tasks run; its `push_guard` says what may be reached.
    """

    service: Service
    _targets: dict[str, dict[str, _Target]] = field(default_factory=dict[str, dict[str, _Target]])

    async def check(self, caller: Caller, config: Mapping[str, Any]) -> None:
        """See that updates may be sent there.

        Raises:
            InvalidInput: It is no address, or what is to be sent with it is no header.
            AccessDenied: It may not be reached, or the caller's key does not cover the network, and the operator has
                named none for updates.
        """
        url, guard = parse_url(str(config.get("url", ""))), self.service.push_guard
        if "network" not in caller.key.effects and not guard.allow:
            hint = "Ask the operator for a key with it: `retinue keys add NAME --effects read,network`."
            raise AccessDenied("Updates are sent only for a key with the effect `network`.", hint=hint)
        guard.check(url)
        # A name without an address may have one by the time it is needed, and that one is checked too.
        with contextlib.suppress(NetworkError):
            await guard.resolve(url.host, url.port)
        if not all(value.isascii() and value.isprintable() for value in _headers(config).values()):
            raise InvalidInput("The token or the credentials hold characters that no header may hold.")

    async def add(self, caller: Caller, record: RunRecord, config: Mapping[str, Any], address: str) -> JsonMapping:
        """Send the updates of a run to one more address, from now on.

        Args:
            caller: Whose run it is.
            record: The run.
            config: `TaskPushNotificationConfig` as JSON.
            address: Where the door is, for links.

        Raises:
            RetinueError: See `check`; or there are too many.
        """
        await self.check(caller, config)
        name = str(config.get("id") or record.run)
        targets = self._targets.setdefault(record.run, {})
        if len(targets) >= MOST_TARGETS and name not in targets:
            raise InvalidInput(f"A task has at most {MOST_TARGETS} push configurations.", hint="Delete one.")
        self.remove(record.run, name)
        target = _Target({**config, "taskId": record.run, "id": name})
        targets[name] = target
        if record.ended_ns is None:
            target.task = asyncio.create_task(self._follow(record, target.config, address))
        elif len(self._targets) > MOST_RUNS:
            self._targets.pop(next(iter(self._targets)))
        return target.config

    def get(self, run: str, name: str) -> JsonMapping:
        """One configuration of a run.

        Raises:
            Refusal: There is none.
        """
        target = self._targets.get(run, {}).get(name)
        if target is None:
            raise Refusal("TASK_NOT_FOUND", f"There is no push configuration {name[:80]!r}.", "List them.")
        return target.config

    def list(self, run: str) -> list[JsonMapping]:
        """The configurations of a run."""
        return [each.config for each in self._targets.get(run, {}).values()]

    def remove(self, run: str, name: str) -> None:
        """Send no more to one address. One that is not there is no error."""
        target = self._targets.get(run, {}).pop(name, None)
        if target is not None and target.task is not None:
            target.task.cancel()

    async def _follow(self, record: RunRecord, config: JsonMapping, address: str) -> None:
        try:
            async with contextlib.aclosing(updates(self.service, record, address, to_the_end=True)) as following:
                async for update in following:
                    await self._deliver(record.run, json.dumps(update).encode(), config)
        except RetinueError as error:
            _LOGGER.warning("updates of run %s are not sent any more: %s", record.run, error.message)

    async def _deliver(self, run: str, body: bytes, config: JsonMapping) -> None:
        """Send one update, several times if need be. Neither it nor the address is told to the log."""
        why = ""
        for wait_s in (0.0, *WAITS_S):
            await asyncio.sleep(wait_s)
            try:
                url = parse_url(config["url"])
                answer = await WebClient(self.service.push_guard, proxy="ignore").send(
                    url, method="POST", headers=_headers(config), content=body, max_bytes=1024
                )
            except AccessDenied as error:  # the name leads to a place now that may not be reached
                why = error.code
                break
            except RetinueError as error:
                why = error.code
            else:
                if answer.status < 400:
                    return
                why = f"status {answer.status}"
        _LOGGER.warning("an update of run %s was not delivered: %s", run, why)


def _headers(config: Mapping[str, Any]) -> dict[str, str]:
    headers = {"Content-Type": "application/a2a+json"}
    if token := config.get("token"):
        headers["X-A2A-Notification-Token"] = str(token)
    login: Any = config.get("authentication") or {}
    if login.get("scheme") and login.get("credentials"):
        headers["Authorization"] = f"{login['scheme']} {login['credentials']}"
    return headers
