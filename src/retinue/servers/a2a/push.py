"""Push: the updates of a task, sent to addresses that its caller named.

An address is checked when it is named, and whenever it is connected to, since a name can lead elsewhere by then.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from retinue.contract import json
from retinue.contract.event import Decision
from retinue.contract.model import JsonMapping, Model
from retinue.dialects.a2a.wire import STATES
from retinue.engine.base import RunRecord
from retinue.engine.blocking import in_thread
from retinue.errors import AccessDenied, InvalidInput, NetworkError, RetinueError
from retinue.servers.a2a.errors import Refusal
from retinue.servers.a2a.tasks import updates
from retinue.servers.admission import Caller
from retinue.servers.service import Service
from retinue.tools.web.client import WebClient
from retinue.tools.web.url import Guard, parse_url

_LOGGER: Final = logging.getLogger("retinue.servers")

MOST_TARGETS: Final = 8
"""Addresses for one task."""
MOST_RUNS: Final = 1_000
"""Runs whose configurations can be read after they have ended."""
WAITS_S: Final = (1.0, 5.0, 25.0, 60.0, 120.0)
"""How long to wait before each further attempt."""

_MOST_CHARS: Final = 16_384


class PushTarget(Model):
    """An address that is sent the updates of a run, as it is kept until it has been sent the end.

    Attributes:
        config: `TaskPushNotificationConfig` as JSON, with its secrets.
        address: Where the door is, for links.
        anywhere: It may be in public: otherwise only in the networks that the operator has named.
    """

    config: JsonMapping
    address: str
    anywhere: bool


@dataclass(slots=True)
class PushSender:
    """Sends updates.

    Attributes:
        service: Where tasks run; its `push_guard` says what may be reached.
    """

    service: Service
    _targets: dict[str, dict[str, PushTarget]] = field(default_factory=dict[str, dict[str, PushTarget]])
    _tasks: dict[tuple[str, str], asyncio.Task[None]] = field(
        default_factory=dict[tuple[str, str], "asyncio.Task[None]"]
    )

    async def resume(self) -> None:
        """Go on where the last server stopped: with each task as it is by now. Something may be sent once more."""
        for run, name, text in await self.service.unsent_texts():
            try:
                target, record = PushTarget.model_validate_json(text), await self.service.engine.get(run)
            except (ValueError, RetinueError):  # somebody has edited it, or the run is not there any more
                continue
            if record.ended_ns is not None or self.service.is_open(run):
                self._begin(record, name, target, after_ns=time.time_ns())

    async def close(self) -> None:
        """Stop sending; the next server goes on."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def check(self, caller: Caller, config: Mapping[str, Any]) -> None:
        """See that updates may be sent there.

        Raises:
            InvalidInput: It is no address, or what is to be sent with it is no header.
            AccessDenied: It may not be reached; without the effect `network` in the caller's key that is all but the
                networks that the operator has named.
        """
        url, guard = parse_url(str(config.get("url", ""))), self._guard(anywhere="network" in caller.key.effects)
        if guard.only_allowed and not guard.allow:
            hint = "Ask the operator for a key with it: `retinue keys add NAME --effects read,network`."
            raise AccessDenied("Updates are sent only for a key with the effect `network`.", hint=hint)
        guard.check(url)
        # A name without an address may have one by the time it is needed, and that one is checked too.
        with contextlib.suppress(NetworkError):
            await guard.resolve(url.host, url.port)
        if not all(value.isascii() and value.isprintable() for value in _headers(config).values()):
            raise InvalidInput("The token or the credentials hold characters that no header may hold.")
        if len(json.dumps(config)) > _MOST_CHARS:
            raise InvalidInput(f"The push configuration has more than {_MOST_CHARS:,} characters.")

    async def add(self, caller: Caller, record: RunRecord, config: Mapping[str, Any], address: str) -> JsonMapping:
        """Send the updates of a run to one more address, from now on.

        Args:
            caller: Whose run it is.
            record: The run.
            config: `TaskPushNotificationConfig` as JSON.
            address: Where the door is, for links.

        Raises:
            RetinueError: See `check`; or there are too many, or it cannot be kept.
        """
        await self.check(caller, config)
        name = str(config.get("id") or record.run)
        targets = self._targets.get(record.run, {})
        if len(targets) >= MOST_TARGETS and name not in targets:
            raise InvalidInput(f"A task has at most {MOST_TARGETS} push configurations.", hint="Delete one.")
        anywhere = "network" in caller.key.effects
        target = PushTarget(config={**config, "taskId": record.run, "id": name}, address=address, anywhere=anywhere)
        await self.remove(record.run, name)
        if record.ended_ns is None:
            await self._keep(record.run, name, target.to_json_text())
            self._begin(record, name, target)
        else:
            self._targets.setdefault(record.run, {})[name] = target
        while len(self._targets) > MOST_RUNS and (over := self._oldest_ended()):
            del self._targets[over]
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

    async def remove(self, run: str, name: str) -> None:
        """Send no more to one address. One that is not there is no error."""
        if self._targets.get(run, {}).pop(name, None) is None:
            return
        if (task := self._tasks.pop((run, name), None)) is not None:
            task.cancel()
            await self._keep(run, name, None)

    def _guard(self, *, anywhere: bool) -> Guard:
        return replace(self.service.push_guard, only_allowed=not anywhere)

    def _oldest_ended(self) -> str | None:
        open_runs = {run for run, _ in self._tasks}
        return next((run for run in self._targets if run not in open_runs), None)

    async def _keep(self, run: str, name: str, text: str | None) -> None:
        if self.service.journal is not None:
            await in_thread(self.service.journal.keep_text, run, name, text)

    def _begin(self, record: RunRecord, name: str, target: PushTarget, *, after_ns: int = 0) -> None:
        self._targets.setdefault(record.run, {})[name] = target
        self._tasks[record.run, name] = asyncio.create_task(self._follow(record, name, target, after_ns))

    async def _follow(self, record: RunRecord, name: str, target: PushTarget, after_ns: int) -> None:
        run, is_reached = record.run, True
        following = updates(self.service, record, target.address, after_ns=after_ns, to_the_end=True, with_text=False)
        try:
            async with contextlib.aclosing(following):
                async for update in following:
                    # An address that was given up is tried once more with the end.
                    if is_reached or _is_end(update):
                        is_reached = await self._deliver(run, name, json.dumps(update).encode(), target)
                    if _is_end(update):
                        await self._keep(run, name, None)
                        self._tasks.pop((run, name), None)
        except RetinueError as error:
            _LOGGER.warning("updates of run %s are not sent any more: %s", run, error.message)

    async def _deliver(self, run: str, name: str, body: bytes, target: PushTarget) -> bool:
        """Send one update, several times if need be; each failure is an event of the run, without the address."""
        client = WebClient(self._guard(anywhere=target.anywhere), proxy="ignore")
        for attempt, wait_s in enumerate((*WAITS_S, 0.0), 1):
            is_last = attempt > len(WAITS_S)
            try:
                url, headers = parse_url(target.config["url"]), _headers(target.config)
                answer = await client.send(url, method="POST", headers=headers, content=body, max_bytes=1024)
                if answer.status < 300:
                    return True
                why = f"status {answer.status}"
            except RetinueError as error:
                why = error.code
                is_last |= isinstance(error, AccessDenied)  # the name leads to a place now that may not be reached
            facts = {"push": name, "attempt": attempt, "why": why}
            move = "drop_push" if is_last else "retry_push"
            await self.service.engine.add_event(run, Decision(move, f"An update was not delivered: {why}.", facts))
            if is_last:
                break
            await asyncio.sleep(wait_s)
        return False


def _is_end(update: JsonMapping) -> bool:
    """Whether an update tells that its task has ended."""
    body: Any = update.get("task") or update.get("statusUpdate")
    return body is not None and STATES[body["status"]["state"]][0] == "ended"


def _headers(config: Mapping[str, Any]) -> dict[str, str]:
    headers = {"Content-Type": "application/a2a+json"}
    if token := config.get("token"):
        headers["X-A2A-Notification-Token"] = str(token)
    login: Any = config.get("authentication") or {}
    if login.get("scheme") and login.get("credentials"):
        headers["Authorization"] = f"{login['scheme']} {login['credentials']}"
    return headers
