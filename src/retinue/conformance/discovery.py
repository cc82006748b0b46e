"""What a server behind a URL speaks: found out by asking for cards, and by greeting it as an MCP client does."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import urljoin

from retinue.conformance.answer_checks import object_at, object_in, objects_at
from retinue.conformance.kits import mcp
from retinue.conformance.kits.a2a_conversation import BINDINGS
from retinue.conformance.kits.rpc import response_of
from retinue.conformance.port import PROTOCOLS, ProbeExchange
from retinue.conformance.probe_session import ProbeSession
from retinue.contract.json import JsonObject
from retinue.errors import InvalidInput, NetworkError

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
        NetworkError: Nobody answers there.
        InvalidInput: Nothing is; the message says what was asked, and what came.
    """
    root = urljoin(session.url, "/")
    protocols: list[SpokenProtocol] = []
    if only != "mcp":
        protocols += await _find_in_cards(session, session.url)
    if only in (None, "mcp"):
        for place in (session.url,) if session.url != root else (urljoin(root, "/mcp"), root):
            if places := await _find_mcp(session, place):
                protocols += places
                break
    if not protocols and session.url != root:  # what is spoken below it may have its card there
        protocols += await _find_in_cards(session, root)
    protocols = [each for each in protocols if only in (None, each.protocol)]
    if not protocols:
        tried = "; ".join(dict.fromkeys(_outcome(exchange) for exchange in session.exchanges.values()))
        if all(exchange.status is None for exchange in session.exchanges.values()):
            message = f"Nobody answers at {session.url[:200]!r}. {tried}"[:2_000]
            raise NetworkError(message, hint="Check the URL, and that the server runs.")
        raise InvalidInput(
            f"Nothing that can be judged is spoken at {session.url[:200]!r}. {tried}"[:2_000],
            hint=f"Name the URL of a card or an endpoint of {', '.join(PROTOCOLS)}; --header sends a key.",
            suggestions=PROTOCOLS,
        )
    return tuple(protocols)


async def _find_in_cards(session: ProbeSession, url: str) -> list[SpokenProtocol]:
    """What the cards below a URL say is spoken, or the card that it is."""
    urls = (url,) if url.endswith(".json") else tuple(f"{url.rstrip('/')}/{card}" for card in _CARDS)
    by_edition: dict[tuple[str, str], SpokenProtocol] = {}
    for place in urls:
        exchange = await session.ask(place, "Is there a card?", place, method="GET")
        card = object_in(exchange.text or "") if exchange.status == 200 else None
        for each in () if card is None else _in_card(card, place):
            by_edition.setdefault((each.protocol, each.edition), each)
    return list(by_edition.values())


async def _find_mcp(session: ProbeSession, url: str) -> list[SpokenProtocol]:
    protocols: list[SpokenProtocol] = []
    for edition in mcp.EDITIONS:
        result = object_at(response_of(await mcp.greet(session, f"{edition} at {url}", url, edition)), "result")
        if ("supportedVersions" if edition == mcp.STATELESS else "protocolVersion") in result:
            why = f"it was greeted as a client of {edition} does"
            protocols.append(SpokenProtocol("mcp", edition, url, why))
    return protocols


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


def _outcome(exchange: ProbeExchange) -> str:
    line = exchange.request.partition("\n")[0] or exchange.probe.name
    outcome = exchange.error or f"HTTP {exchange.status}, {exchange.media_type or 'no type'}"
    return f"{line}: {outcome.rstrip('.')}."
