"""What answers at a URL: an A2A agent, one of spec 004, or an MCP server. Found out by asking, card first (P7).

A card is read once and kept as long as its server says, with its digest, so that a change shows. A name that led to the
open network must not lead into the inner one later.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from pydantic import Field

from retinue.agents.load.a2a_card import load_a2a_card
from retinue.agents.port import Agent
from retinue.agents.private_file import PrivateFile
from retinue.agents.remote.http_agent import HttpAgent
from retinue.agents.remote.mcp_servers import HttpServer, McpServer
from retinue.agents.remote.peer import MAX_SKILLS, Peer, checked_definition
from retinue.contract import json
from retinue.contract.definition import GENERIC_SKILL, Definition, Skill
from retinue.contract.finding import Finding, summarise_findings
from retinue.contract.json import JsonObject
from retinue.contract.model import Model
from retinue.dialects import agent_http
from retinue.dialects.a2a.card import card_version, upgrade_card
from retinue.errors import (
    AccessDenied,
    DeadlineExceeded,
    InvalidDefinition,
    InvalidInput,
    NetworkError,
    OutputInvalid,
    RetinueError,
)
from retinue.tools.web.client import WebClient, WebResponse, status_error
from retinue.tools.web.url import ANYWHERE, Guard, WebUrl, why_not_public

if TYPE_CHECKING:
    from retinue.agents.remote.mcp_agent import McpAgent

MAX_CARD: Final = 256 * 2**10
"""Bytes of a card."""

DISCOVERY_S: Final = 10.0
"""Seconds in which a peer must have said what it is."""

_WELL_KNOWN: Final = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_MAX_REDIRECTS: Final = 3
_MAX_KEPT: Final = 25
_MAX_AGE: Final = re.compile(r"(?:^|[,\s])max-age=(\d{1,9})(?:$|[,\s])")
_LONGEST_FRESH_S: Final = 86_400
_NO_CARD: Final = frozenset({400, 404, 405, 406, 410, 415, 422, 501})


class KnownCard(Model):
    """A card as it was read.

    Attributes:
        url: Where it stands.
        text: What it says.
        etag: What its server calls this version of it.
        read_s: When it was read, seconds since 1970 UTC.
        fresh_s: How long its server says that it holds.
        is_public: Its host was open to everybody then.
    """

    url: str
    text: str
    etag: str = ""
    read_s: float = 0.0
    fresh_s: int = 0
    is_public: bool = False

    @property
    def digest(self) -> str:
        """The SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


class KnownCards(Model):
    """The cards that were read, by the URL that the user named."""

    cards: dict[str, KnownCard] = Field(default_factory=dict[str, KnownCard])


def card_store(folder: Path) -> PrivateFile[KnownCards]:
    """The cards that are kept in `folder`."""
    return PrivateFile(folder / "cards.json", KnownCards(), name="store of cards", command="retinue agents URL")


@dataclass(frozen=True, slots=True)
class FoundAgents:
    """What a peer came to.

    Attributes:
        error: Why there is no agent.
    """

    agents: tuple[Agent, ...] = ()
    findings: tuple[Finding, ...] = ()
    error: RetinueError | None = None


class RemoteAgents:
    """Agents at URLs. Inside an `async with` their connections are kept; outside each call has its own.

        async with retinue.connect("https://agents.example.com/sales") as remote:
            result = await retinue.call(remote.agents[0], "How did sales do this year?")

    Args:
        peers: Where they answer.
        servers: MCP servers that are agents too, as `read_servers` gives them.
        store: Where their cards are kept between runs; None keeps none.
        guard: How names become addresses.
        timeout_s: Seconds in which each must have said what it is.

    Attributes:
        found: What each came to, once read.
    """

    def __init__(
        self,
        peers: Iterable[Peer],
        *,
        servers: Iterable[McpServer] = (),
        store: PrivateFile[KnownCards] | None = None,
        guard: Guard = ANYWHERE,
        timeout_s: float = DISCOVERY_S,
    ) -> None:
        self._peers = tuple(peers)
        self._servers = tuple(servers)
        self._store = store
        self._guard = guard
        self._timeout_s = timeout_s
        self._clients: list[WebClient] = []
        self._mcp_agents: list[McpAgent] = []
        self._stack = AsyncExitStack()
        self.found: tuple[FoundAgents, ...] = ()

    @property
    def agents(self) -> tuple[Agent, ...]:
        """All agents of all peers."""
        return tuple(agent for each in self.found for agent in each.agents)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that was found about their cards."""
        return tuple(finding for each in self.found for finding in each.findings)

    async def read(self) -> None:
        """Find out what each is, side by side. What cannot be read has an `error` in `found`."""
        finds = [*map(self._find, self._peers), *map(self._find, self._servers)]
        self.found = tuple(await asyncio.gather(*finds))

    def check(self) -> None:
        """See that each could be read.

        Raises:
            RetinueError: One could not, for the reason that it gives.
        """
        for each in self.found:
            if each.error is not None:
                raise each.error

    async def __aenter__(self) -> Self:
        """Read what has not been read, and keep connections from now on.

        Raises:
            RetinueError: One cannot be read.
        """
        try:
            if not self.found:
                await self.read()
                self.check()
            for client in self._clients:
                await self._stack.enter_async_context(client)
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Let go of every connection; programs are ended."""
        await asyncio.gather(*(agent.aclose() for agent in self._mcp_agents))
        await self._stack.aclose()

    async def _find(self, peer: Peer | McpServer) -> FoundAgents:
        try:
            async with asyncio.timeout(self._timeout_s):
                if isinstance(peer, Peer):
                    return await self._read(peer)
                return await self._start(peer, name=peer.name, place=f"mcp:{peer.name}")
        except TimeoutError:
            message = f"{peer} did not say within {self._timeout_s:g} seconds what it is."
            error: RetinueError = DeadlineExceeded(message, hint="Check the URL, or try later.")
        except RetinueError as failed:
            error = failed
        finding = Finding(rule="remote/unreachable", message=error.message, fix=error.hint, severity="error")
        return FoundAgents(findings=(finding,), error=error)

    async def _read(self, peer: Peer) -> FoundAgents:
        previous: KnownCard | None = None
        with suppress(RetinueError):  # a damaged store is written anew
            previous = self._store.read().cards.get(peer.url.text) if self._store is not None else None
        was_public = previous is not None and previous.is_public
        addresses = () if was_public else await self._closed_addresses(peer.url)
        client = WebClient(replace(self._guard, allow=addresses or (), ports=None), proxy="use")
        self._clients.append(client)
        if previous is not None and time.time() < previous.read_s + previous.fresh_s:
            return _agents_of(peer, previous, client)
        refusals: list[str] = []
        if not peer.url.target.rstrip("/").endswith("/mcp"):
            card = await self._read_card(peer, client, previous, refusals)
            if card is not None:
                card = card.model_copy(update={"is_public": addresses == ()})
                agents = _agents_of(peer, card, client, before=previous)
                self._keep(peer, card)
                return agents
        headers = {"Authorization": f"Bearer ${{{peer.key_variable}}}"} if peer.key_variable else {}
        server = HttpServer(peer.name or peer.url.authority, peer.url.text, headers)
        try:
            return await self._start(server, name=peer.name, place=peer.url.text, environ=peer.environ)
        except RetinueError as error:
            if not refusals:
                raise
            raise OutputInvalid(
                f"{peer.url.text!r} is no agent that can be called: there is no card at {', '.join(refusals)}, and no "
                f"MCP server at {peer.url.target}: {error.message}",
                hint="Name the URL where an agent, its card or an MCP server is.",
            ) from error

    async def _start(
        self, server: McpServer, *, name: str, place: str, environ: Mapping[str, str] | None = None
    ) -> FoundAgents:
        from retinue.agents.remote.mcp_agent import McpAgent  # noqa: PLC0415 - only where there is no card

        agent = McpAgent(server, environ=environ)
        self._mcp_agents.append(agent)
        await agent.start(name=name, place=place)
        return FoundAgents((agent,), agent.findings)

    async def _closed_addresses(self, url: WebUrl) -> tuple[str, ...] | None:
        """The addresses of the host, when the user named one that is not open to everybody; None when it has none."""
        try:
            addresses = await self._guard.resolve(url.host, url.port)
        except NetworkError:  # behind a proxy, names of outside may have no address here
            return None
        return tuple(map(str, addresses)) if any(map(why_not_public, addresses)) else ()

    async def _read_card(
        self, peer: Peer, client: WebClient, previous: KnownCard | None, refusals: list[str]
    ) -> KnownCard | None:
        """The card at the peer's URL or in its usual places; None when there is none."""
        base = peer.url.target.partition("?")[0].rstrip("/")
        places = (peer.url.target,) if base.endswith(".json") else tuple(f"{base}{each}" for each in _WELL_KNOWN)
        for place in places:
            url = peer.url.join(place)
            response = await _get(peer, url, client, previous)
            if response.status == 304 and previous is not None:
                return previous.model_copy(update=_freshness(response))
            if response.status in _NO_CARD:
                refusals.append(f"{url.target} ({response.status})")
                continue
            if response.status != 200:
                raise status_error(response.status, who=f"{peer}", retry_after=response.headers.get("retry-after", ""))
            if response.truncated:
                raise OutputInvalid(
                    f"The card of {peer} is longer than {MAX_CARD} bytes, or broke off.", hint="Ask its author."
                )
            text = response.body.decode("utf-8", "replace")
            if not text.lstrip().startswith("{"):
                refusals.append(f"{url.target} (no JSON object)")
                continue
            return KnownCard(url=response.url.text, text=text, etag=response.headers.get("etag", "")[:200]).model_copy(
                update=_freshness(response)
            )
        return None

    def _keep(self, peer: Peer, card: KnownCard) -> None:
        if self._store is None:
            return
        with self._store.change() as content:
            content.cards[peer.url.text] = card
            newest = sorted(content.cards, key=lambda url: content.cards[url].read_s, reverse=True)
            for url in newest[_MAX_KEPT:]:
                del content.cards[url]


async def _get(peer: Peer, url: WebUrl, client: WebClient, previous: KnownCard | None) -> WebResponse:
    """The answer at `url`; redirects are followed within the origin."""
    for _ in range(_MAX_REDIRECTS + 1):
        headers = {"Accept": "application/json", **peer.headers()}
        if previous is not None and previous.etag and previous.url == url.text:
            headers["If-None-Match"] = previous.etag
        response = await client.send(url, headers=headers, max_bytes=MAX_CARD)
        location = response.headers.get("location")
        if response.status not in {301, 302, 303, 307, 308} or location is None:
            return response
        url = peer.same_origin(url.join(location))
    raise NetworkError(f"{peer} redirects more than {_MAX_REDIRECTS} times.", hint="Use the URL where its card stands.")


def _freshness(response: WebResponse) -> Mapping[str, float]:
    match = _MAX_AGE.search(response.headers.get("cache-control", "").lower())
    return {"read_s": time.time(), "fresh_s": min(int(match[1]), _LONGEST_FRESH_S) if match else 0}


def _agents_of(peer: Peer, card: KnownCard, client: WebClient, *, before: KnownCard | None = None) -> FoundAgents:
    """The agents on a card, with everything that there is to say about it.

    Raises:
        InvalidDefinition: It is not the card that was pinned, or no agent can be made of it.
        OutputInvalid: It is no card.
    """
    if peer.digest and peer.digest != card.digest:
        raise InvalidDefinition(
            f"The card of {peer} is not the one that is pinned: its digest is {card.digest}.",
            hint="Look at what changed, then set `remote.pin` to the new digest.",
        )
    findings: list[Finding] = []
    if before is not None and before.digest != card.digest:
        message = f"The card of {peer} has changed since it was read before."
        fix = "See `retinue agents` for what it offers now; `remote.pin` accepts one card only."
        findings.append(Finding(rule="remote/card-changed", message=message, severity="warning", fix=fix))
    definitions, more, value = _definitions(peer, card)
    findings += more
    if not definitions:
        errors = tuple(each for each in findings if each.severity == "error")
        raise InvalidDefinition(
            f"The card of {peer} cannot be used: {summarise_findings(errors or tuple(findings))}",
            hint="Tell its author.",
            detail={"findings": [each.to_json() for each in findings[:50]]},
        )
    agents: list[Agent] = []
    for definition in definitions:
        if len(definition.skills) > MAX_SKILLS:
            message = f"It lists {len(definition.skills)} skills; the first {MAX_SKILLS} are used."
            findings.append(Finding(rule="remote/too-many-skills", message=message, severity="warning"))
        if card_version(value) is None:
            agents.append(_http_agent(definition, peer, client, findings))
        else:
            from retinue.agents.remote.a2a_agent import A2aAgent  # noqa: PLC0415 - takes the SDK, where it is used

            checked = checked_definition(
                definition, name=peer.name, place=peer.url.text, has_generic=len(definition.skills) > 1
            )
            agents.append(A2aAgent(checked, card=value, peer=peer, client=client))
    where = {"file": card.url}
    return FoundAgents(tuple(agents), tuple(each.model_copy(update=where) for each in findings))


def _definitions(peer: Peer, card: KnownCard) -> tuple[tuple[Definition, ...], list[Finding], JsonObject]:
    try:
        value = json.loads(card.text, max_bytes=MAX_CARD)
    except RetinueError as error:
        raise OutputInvalid(f"The card of {peer} is no JSON: {error.message}", hint="Tell its author.") from None
    if not isinstance(value, dict):
        raise OutputInvalid(f"The card of {peer} is no JSON object.", hint="Tell its author.")
    if card_version(value) is not None:
        loaded = load_a2a_card(card.text.encode(), file=card.url)
        return tuple(agent.definition for agent in loaded.agents), list(loaded.findings), value
    if not {"capabilities", "endpoints", "agents"} & value.keys():
        raise OutputInvalid(
            f"What {peer} has at {peer.url.join(card.url).target} is neither a card of A2A nor an agent.json.",
            hint="Name the URL where the card stands.",
        )
    try:
        parsed = agent_http.parse_card(card.text)
    except InvalidInput as error:
        raise InvalidDefinition(
            f"The card of {peer} cannot be used: {error.message}", hint="Tell its author.", detail=error.detail
        ) from None
    return parsed.value, list(parsed.findings), value


def _http_agent(definition: Definition, peer: Peer, client: WebClient, findings: list[Finding]) -> HttpAgent:
    """An agent of spec 004. A skill on another host is left out (P5)."""
    endpoints = definition.extras.get(agent_http.NAME, {}).get("endpoints")  # kept where they are not the usual ones
    usual = {"tasks": agent_http.route(definition.category, definition.name, "tasks")}
    generic = (usual if endpoints is None else endpoints).get("tasks")
    checked = checked_definition(definition, name=peer.name, place=peer.url.text, has_generic=generic is not None)
    skills: list[Skill] = []
    for skill in checked.skills:
        path = skill.path or (generic if skill.name == GENERIC_SKILL else "") or ""
        path = path if path.startswith(("/", "http://", "https://")) else f"/{path}"
        try:
            peer.same_origin(peer.url.join(path))
        except (AccessDenied, InvalidInput) as error:
            message = f"The skill `{skill.name}` is left out: {error.message}"
            findings.append(Finding(rule="remote/other-host", message=message, severity="warning", fix=error.hint))
            continue
        skills.append(skill.model_copy(update={"path": path}))
    if not skills:
        raise InvalidDefinition(f"{peer} has no skill that can be called.", hint="Tell its author.")
    return HttpAgent(checked.model_copy(update={"skills": tuple(skills)}), peer=peer, client=client)


def agent_of_card(data: bytes, *, file: str, name: str) -> Agent:
    """The agent of A2A whose card is in a file that the user trusts. Nothing is asked of it before it is called.

    Raises:
        InvalidDefinition: It is no card of A2A, or says no address.
    """
    value = json.loads(data, max_bytes=MAX_CARD)
    if not isinstance(value, dict) or card_version(value) is None:
        raise InvalidDefinition(
            f"{file!r} does not say where its agent answers.", hint="Name the agent's URL in `remote.urls`."
        )
    modern = upgrade_card(value) if card_version(value) == "0.3" else value
    interfaces = modern.get("supportedInterfaces")
    urls = [each.get("url") for each in interfaces if isinstance(each, dict)] if isinstance(interfaces, list) else []
    peer = Peer.at(next((url for url in urls if isinstance(url, str)), ""), name=name)
    card = KnownCard(url=peer.url.text, text=data.decode())
    (agent,) = _agents_of(peer, card, WebClient(ANYWHERE, proxy="use")).agents
    return agent


def connect(
    *urls: str,
    keys: Mapping[str, str] | None = None,
    pins: Mapping[str, str] | None = None,
    timeout_s: float = DISCOVERY_S,
    **named_urls: str,
) -> RemoteAgents:
    """The agents at URLs: of A2A, of spec 004, or the tools of an MCP server (P7).

        async with retinue.connect(sales="https://agents.example.com/sales") as remote:
            result = await retinue.call(remote.agents[0], "How did sales do this year?")

    Args:
        urls: Each the place of an agent, of its card, or of an MCP server. Such an agent is called `remote_` and what
            it calls itself.
        keys: The environment variable of the key that is sent to a URL, as a bearer token, by the URL.
        pins: The SHA-256 of the only card that is accepted, by the URL.
        timeout_s: Seconds in which each must have said what it is.
        named_urls: The same with a name for the agent.

    Raises:
        InvalidInput: One is no http or https URL.
    """
    places = [*(("", url) for url in urls), *named_urls.items()]
    return RemoteAgents(
        [
            Peer.at(url, name=name, key_variable=(keys or {}).get(url, ""), digest=(pins or {}).get(url, ""))
            for name, url in places
        ],
        timeout_s=timeout_s,
    )
