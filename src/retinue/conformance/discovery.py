"""What a server behind a URL speaks: found out by asking for cards, and by greeting it as an MCP client does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import urljoin

from retinue.conformance.answer_checks import object_at, object_in, objects_at
from retinue.conformance.kits import mcp
from retinue.conformance.kits.a2a_conversation import BINDINGS
from retinue.conformance.kits.rpc import error_of, response_of
from retinue.conformance.port import PROTOCOLS, ProbeExchange
from retinue.conformance.probe_session import ProbeSession
from retinue.contract.json import JsonObject
from retinue.errors import InvalidInput

_CARDS: Final = (".well-known/agent-card.json", ".well-known/agent.json")


@dataclass(frozen=True, slots=True)
class SpokenProtocol:
    """A protocol that a server speaks.

    Attributes:
        edition: Its version, and its binding where there are several; empty where there is one only.
        url: Where it is spoken.
        card_url: Where the card stands that says so; empty when there is none.
        why: How it was found out, as part of a sentence.
    """

    protocol: str
    edition: str
    url: str
    why: str
    card_url: str = ""


async def find_protocols(session: ProbeSession, only: str | None = None) -> tuple[SpokenProtocol, ...]:
    """Everything that is spoken at the URL of a session, in which it is asked for here.

    Args:
        session: Its URL is the user's.
        only: The protocol that is meant; any when absent.

    Raises:
        InvalidInput: Nothing is; the message says what was asked, and what came.
    """
    protocols: list[SpokenProtocol] = []
    if only != "mcp":
        for url in _card_places(session.url):
            exchange = await session.ask(url, "Is there a card?", url, method="GET")
            card = object_in(exchange.text or "") if exchange.status == 200 else None
            for each in () if card is None else _in_card(card, url):
                if only in (None, each.protocol) and all(
                    (each.protocol, each.edition) != (other.protocol, other.edition) for other in protocols
                ):
                    protocols.append(each)
    if only in (None, "mcp"):
        place = session.server.url
        for url in dict.fromkeys((session.url, *((urljoin(session.url, "/mcp"),) if place.target == "/" else ()))):
            editions = [edition for edition in mcp.EDITIONS if await _speaks_mcp(session, url, edition)]
            protocols += [
                SpokenProtocol("mcp", each, url, f"it was greeted as a client of {each} does") for each in editions
            ]
            if editions:
                break
    if not protocols:
        tried = "; ".join(_outcome(exchange) for exchange in session.exchanges.values())
        raise InvalidInput(
            f"Nothing that can be judged is spoken at {session.url[:200]!r}. {tried}"[:2_000],
            hint=f"Name the URL of a card or an endpoint of {', '.join(PROTOCOLS)}; --header sends a key.",
            suggestions=PROTOCOLS,
        )
    return tuple(protocols)


def _card_places(url: str) -> Sequence[str]:
    """Where cards may stand: the URL itself when it is one of a card, or below it, or at the root."""
    if url.endswith(".json"):
        return (url,)
    bases = dict.fromkeys((f"{url.rstrip('/')}/", urljoin(url, "/")))
    return tuple(dict.fromkeys(f"{base}{card}" for base in bases for card in _CARDS))


def _in_card(card: JsonObject, url: str) -> Iterator[SpokenProtocol]:
    """What a card says is spoken: one of A2A names interfaces or a protocol, one of spec 004 endpoints."""
    why = f"{url} says so"
    places: list[tuple[str, str, str]] = []
    for _, each in objects_at(card, "supportedInterfaces"):
        version = ".".join(str(each.get("protocolVersion")).split(".")[:2])
        places.append((version, str(each.get("protocolBinding")), str(each.get("url"))))
    if "url" in card and "protocolVersion" in card:
        places.append(("0.3", str(card.get("preferredTransport") or "JSONRPC"), str(card["url"])))
        others = (each for _, each in objects_at(card, "additionalInterfaces"))
        places += [("0.3", str(each.get("transport")), str(each.get("url"))) for each in others]
    for version, binding, place in places:
        if edition := BINDINGS.get((version, binding)):
            yield SpokenProtocol("a2a", edition, urljoin(url, place), why, card_url=url)
    endpoints, capabilities = object_at(card, "endpoints"), card.get("capabilities")
    if endpoints or (isinstance(capabilities, list) and not places):
        place = cast("str", endpoints["tasks"]) if isinstance(endpoints.get("tasks"), str) else ""
        yield SpokenProtocol("agent_json", "", urljoin(url, place) if place else "", why, card_url=url)


async def _speaks_mcp(session: ProbeSession, url: str, edition: str) -> bool:
    exchange = await mcp.greet(session, f"{edition} at {url}", url, edition)
    body = response_of(exchange)
    if exchange.status == 401:  # somebody who wants to know who asks may be one
        return False
    if edition == mcp.STATELESS:
        return "supportedVersions" in object_at(body, "result")
    return "protocolVersion" in object_at(body, "result") and not error_of(body)


def _outcome(exchange: ProbeExchange) -> str:
    line = exchange.request.partition("\n")[0] or exchange.probe.name
    outcome = exchange.error or f"HTTP {exchange.status}, {exchange.media_type or 'no type'}"
    return f"{line}: {outcome.rstrip('.')}."
