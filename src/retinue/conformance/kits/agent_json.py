"""What a server of spec 004 is sent over HTTP, and what is checked in its card, its routes and its status codes.

What is posted to the generic endpoint is judged by the requirements of `agent_http`. A skill is called only when the
user names it, or when it is read by GET and needs nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import urlencode, urljoin

from retinue.conformance.answer_checks import (
    AnswerInspector,
    CheckTable,
    all_answers,
    each_answer,
    is_nonblank,
    member,
    object_at,
    object_in,
    objects_at,
    quote,
    quote_member,
    strict_object,
)
from retinue.conformance.kits.rpc import is_text
from retinue.conformance.port import ProbeExchange
from retinue.conformance.probe_session import ProbeSession
from retinue.contract import json
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.names import fold
from retinue.contract.schema import check_schema, compile as compile_schema
from retinue.errors import InvalidDefinition, ParseError

# The conversation.


async def converse(session: ProbeSession) -> None:
    """Hold the whole conversation."""
    card = (
        object_in((await session.ask("card", "The card of the agent.", session.card_url, method="GET")).text or "")
        or {}
    )
    await _converse_on_tasks(session)
    skills = [skill for skill in _skills(card) if is_text(skill.get("endpoint")) and is_text(skill.get("name"))]
    own = [skill for skill in skills if session.operation and fold(str(skill["name"])) == fold(session.operation)]
    harmless = [skill for skill in skills if str(skill.get("method")).upper() == "GET"]
    why = "no skill is named by --operation, and none is read by GET"
    needy = [skill for skill in own or harmless if object_at(skill, "input_schema").get("required")]
    easy = own or [skill for skill in harmless if skill not in needy]
    if easy:
        parameters = dict(session.template.parameters) if own else {}
        await _call(session, "skill", "A skill is called as it should be.", easy[0], parameters)
    else:
        session.skip(f"{why} and needs nothing", "skill")
    if needy:
        await _call(session, "no_parameters", "It leaves out what the skill requires.", needy[0], {})
    else:
        session.skip(f"{why} and requires something", "no_parameters")
    if skills:
        place = f"{str(skills[0]['endpoint']).rstrip('/')}-unheard-of"
        await session.ask("unknown_skill", "There is no such route.", urljoin(session.card_url, place), body={})
        place = urljoin(session.card_url, str(skills[0]["endpoint"]))
        await session.ask(
            "wrong_method", "The route is asked in a way that it does not know.", place, method="PATCH", body={}
        )
    else:
        session.skip("the card has no skills", "unknown_skill", "wrong_method")


async def _converse_on_tasks(session: ProbeSession) -> None:
    if not session.url:
        return
    message: JsonObject = {"role": "user", "parts": [{"type": "text", "text": session.template.instruction}]}
    await session.ask("task", "A task as it should be.", body={"id": "check-task", "message": message})
    await session.ask("no_message", "It is JSON, and holds no message.", body={"metadata": {}})
    await session.ask("cut_off", "It is JSON that was cut off.", body=b'{"message": {"role": "us')


async def _call(
    session: ProbeSession, name: str, about: str, skill: JsonObject, parameters: Mapping[str, JsonValue]
) -> None:
    url, method = urljoin(session.card_url, str(skill["endpoint"])), str(skill.get("method") or "POST").upper()
    if method == "GET" and parameters:
        url += f"?{urlencode({key: str(value) for key, value in parameters.items()})}"
    await session.ask(name, about, url, method=method, body=None if method == "GET" else dict(parameters))


# Checks.


CHECKS: Final = CheckTable()
"""By the requirement's name."""

_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})


@CHECKS.add(each_answer, "card")
def _is_served(exchange: ProbeExchange) -> Iterator[str]:
    if exchange.status != 200:
        yield f"it was answered with HTTP {exchange.status}"
    if exchange.media_type != "application/json":
        yield f"its type is {quote(exchange.headers.get('content-type', ''))}"
    yield from strict_object(exchange)


@CHECKS.add(each_answer, "endpoints")
def _endpoints(exchange: ProbeExchange) -> Iterator[str]:
    for at, card in enumerate(_cards(object_in(exchange.text or "") or {})):
        if not is_text(member(card, "endpoints/tasks")):
            yield f"`endpoints` of card {at + 1} is {quote_member(card, 'endpoints')}, and names no `tasks`"


@CHECKS.add(each_answer, "capabilities")
def _capabilities(exchange: ProbeExchange) -> Iterator[str]:
    card = object_in(exchange.text or "") or {}
    for each in _cards(card):
        if not isinstance(each.get("capabilities"), list):
            yield f"`capabilities` is {quote_member(each, 'capabilities')}"
    for skill in _skills(card):
        what = quote(skill.get("name"))
        for name in ("name", "description", "endpoint", "method"):
            if not is_nonblank(skill.get(name)):
                yield f"`{name}` of {what} is {quote_member(skill, name)}"
        if str(skill.get("method")).upper() not in _METHODS:
            yield f"`method` of {what} is {quote_member(skill, 'method')}"


@CHECKS.add(each_answer, "names")
def _names(exchange: ProbeExchange) -> Iterator[str]:
    for skill in _skills(object_in(exchange.text or "") or {}):
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,127}", str(skill.get("name"))):
            yield f"a capability is called {quote_member(skill, 'name')}"


@CHECKS.add(each_answer, "paths")
def _paths(exchange: ProbeExchange) -> Iterator[str]:
    for skill in _skills(object_in(exchange.text or "") or {}):
        if is_text(place := skill.get("endpoint")) and not place.startswith(("/", "http://", "https://")):
            yield f"`endpoint` of {quote(skill.get('name'))} is {quote(place)}"


@CHECKS.add(each_answer, "schemas")
def _schemas(exchange: ProbeExchange) -> Iterator[str]:
    for skill in _skills(object_in(exchange.text or "") or {}):
        for name in ("input_schema", "output_schema"):
            if name not in skill:
                yield f"{quote(skill.get('name'))} has no `{name}`"
            else:
                yield from (
                    f"`{name}` of {quote(skill.get('name'))}: {each.message}" for each in check_schema(skill[name])
                )


@CHECKS.add(each_answer, "record")
def _record(exchange: ProbeExchange) -> Iterator[str]:
    body = object_in(exchange.text or "") or {}
    if (exchange.status or 0) >= 300 and "error" not in body and not member(body, "status/state"):
        yield f"it is answered with HTTP {exchange.status}, and says nothing: {quote(exchange.text)}"


@CHECKS.add(all_answers, "output")
def _output(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    exchange = exchanges["skill"]
    if (exchange.status or 0) >= 300:
        yield f"skill: it is answered with HTTP {exchange.status}: {quote(exchange.text)}"
        return
    target = exchange.request.partition(" ")[2].partition("\n")[0].partition("?")[0]
    skills = _skills(object_in(exchanges["card"].text or "") or {})
    skill = next((each for each in skills if str(each.get("endpoint")).endswith(target)), JsonObject())
    try:
        body = json.loads(exchange.text or "")
        schema = skill.get("output_schema")
        findings = compile_schema(schema).findings(body) if isinstance(schema, dict) and exchange.status == 200 else []
    except ParseError as error:
        yield f"skill: {error.message}"
    except InvalidDefinition:
        return
    else:
        yield from (f"skill: `{each.path}`: {each.message}" for each in findings)


@CHECKS.add(each_answer, "error-bodies")
def _error_bodies(exchange: ProbeExchange) -> Iterator[str]:
    body = object_in(exchange.text or "")
    if body is None:
        yield f"the error is no JSON object: {quote(exchange.text)} ({exchange.media_type or 'no type'})"


def _status(*statuses: int) -> AnswerInspector:
    def inspect(exchange: ProbeExchange) -> Iterator[str]:
        if exchange.status not in statuses:
            yield f"it is answered with HTTP {exchange.status}, and not {' or '.join(map(str, statuses))}"

    return inspect


_WRONG: Final = (400, 413, 415, 422)
"""What says that the request was wrong, and need not be tried again."""


def _cards(card: JsonObject) -> Iterable[JsonObject]:
    """The card, or those that it lists."""
    return [each for _, each in objects_at(card, "agents")] or [card]


def _skills(card: JsonObject) -> list[JsonObject]:
    return [skill for each in _cards(card) for _, skill in objects_at(each, "capabilities")]


CHECKS.update({
    "no-message": each_answer(_status(*_WRONG)),
    "cut-off": each_answer(_status(*_WRONG)),
    "no-parameters": each_answer(_status(*_WRONG)),
    "unknown-skill": each_answer(_status(404, 405)),
    "wrong-method": each_answer(_status(405)),
})  # fmt: skip
