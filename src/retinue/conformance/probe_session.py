"""Requests to a server, one after the other, where what is asked next depends on what came back.

A kit of a protocol has `converse`, which asks in a session, and `CHECKS` like any other. A requirement whose first
probe a server has excluded by what it says of itself does not apply to it; the report says so, with the reason.
"""

from collections.abc import Mapping
from typing import Final

from retinue.conformance.port import OnExchange, Probe, ProbeExchange, RequestTemplate
from retinue.conformance.subjects.web_server import WebServer
from retinue.contract import json
from retinue.contract.json import JsonValue
from retinue.errors import RetinueError

_HUNG: Final = 3
"""A server that has hung so often is asked nothing more: the rest would only take its time."""


class ProbeSession:
    """All that is said to one server in one edition of a protocol.

    Args:
        server: Who is asked.
        url: Where it speaks the protocol, as far as that is one place.
        edition: Of the protocol.
        template: How it is asked validly.
        timeout_s: How long it may take for one request.
        card_url: Where its card stands; absent where the protocol has none.
        operation: The tool or skill that may be called, as it is written there.
        on_exchange: Hears of each exchange as it ends.

    Attributes:
        exchanges: By the names of their probes.
        inapplicable: Why probes were not put, by their names.
    """

    def __init__(
        self,
        server: WebServer,
        url: str,
        edition: str,
        *,
        template: RequestTemplate,
        timeout_s: float,
        card_url: str = "",
        operation: str = "",
        on_exchange: OnExchange | None = None,
    ) -> None:
        self.server, self.url, self.edition, self.template = server, url, edition, template
        self.card_url, self.operation = card_url, operation
        self.exchanges: dict[str, ProbeExchange] = {}
        self.inapplicable: dict[str, str] = {}
        self.timeout_s, self._on_exchange = timeout_s, on_exchange
        self._hung = 0

    async def ask(
        self,
        name: str,
        about: str,
        url: str = "",
        *,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        body: JsonValue | bytes = None,
        head_only: bool = False,
        anonymous: bool = False,
    ) -> ProbeExchange:
        """Put one probe, and keep what comes.

        Args:
            name: Of the probe.
            about: Why it is put, one sentence.
            url: Where, absolute or relative to the user's; the place of the protocol when absent.
            method: The HTTP method.
            headers: Beside the type of the body, which is JSON; one of the same name wins.
            body: JSON, or bytes as they stand; None for none.
            head_only: The body of the answer is not waited for.
            anonymous: Without credentials.
        """
        probe = self.probe(name, about)
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        own = {"content-type": "application/json"} if content else {}
        if self._hung >= _HUNG:
            exchange = ProbeExchange(probe, "", error=f"It was not asked: it had let {_HUNG} requests hang before.")
        else:
            try:
                place = self.server.place(url or self.url)
            except RetinueError as error:
                exchange = ProbeExchange(probe, "", error=error.message)
            else:
                exchange = await self.server.send(
                    probe,
                    place,
                    method=method,
                    headers={**own, **(headers or {})},
                    content=content,
                    timeout_s=self.timeout_s,
                    head_only=head_only,
                    anonymous=anonymous,
                )
        return self.keep(exchange)

    def probe(self, name: str, about: str = "") -> Probe:
        """A probe of this session."""
        return Probe(name, self.template.task("check"), about, edition=self.edition)

    def keep(self, exchange: ProbeExchange) -> ProbeExchange:
        """Keep an exchange, and say that it has ended."""
        self._hung += exchange.late
        self.exchanges[exchange.probe.name] = exchange
        if self._on_exchange is not None:
            self._on_exchange(exchange.probe, exchange)
        return exchange

    def skip(self, why: str, *names: str) -> None:
        """Say why probes are not put to this server."""
        self.inapplicable.update(dict.fromkeys(names, why))
