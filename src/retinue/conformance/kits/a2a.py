"""What is checked in the card and the answers of a server of A2A.

Version 0.3 is judged over JSON-RPC only: its text and its protobuf write messages over HTTP+JSON differently.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, TypeAlias

from retinue.conformance.answer_checks import (
    AnswerInspector,
    CheckTable,
    all_answers,
    each_answer,
    missing,
    object_at,
    object_in,
    objects_at,
    quote,
    quote_member,
    strict_object,
)
from retinue.conformance.kits.a2a_conversation import (
    END_STATES,
    HTTP_JSON,
    OLDER,
    REST_STATES,
    STATE_WORDS,
    converse,
    events_of,
    is_ended,
    kind_of,
    payloads,
    result_of,
    state_word,
    task_in,
    things_in,
)
from retinue.conformance.kits.rpc import (
    error_of,
    expect_code,
    expect_envelope,
    expect_error_object,
    is_text,
    response_of,
    sse_data,
)
from retinue.conformance.port import Check, ProbeExchange
from retinue.conformance.subjects.web_server import EVENTS
from retinue.contract.json import JsonObject, JsonValue
from retinue.dialects.a2a import ERRORS
from retinue.dialects.decoding import parse_timestamp

__all__ = ["CHECKS", "converse"]

# Checks.


CHECKS: Final = CheckTable()
"""By the requirement's name."""

_ThingInspector: TypeAlias = Callable[[JsonObject, str], Iterable[str]]
"""Says everything that is wrong with one thing, in one edition."""


def _each(*kinds: str) -> Callable[[_ThingInspector], Check]:
    """How a look at things of some kinds becomes a check."""

    def make(inspect: _ThingInspector) -> Check:
        def inspect_answer(exchange: ProbeExchange) -> Iterator[str]:
            for kind, body in things_in(exchange):
                if kind in kinds:
                    yield from (f"in a {kind}: {wrong}" for wrong in inspect(body, exchange.probe.edition))

        return each_answer(inspect_answer)

    return make


# The card.


def _card(exchange: ProbeExchange) -> JsonObject:
    return object_in(exchange.text or "") or {}


@CHECKS.add(each_answer, "card")
def _is_served(exchange: ProbeExchange) -> Iterator[str]:
    if exchange.status != 200:
        yield f"it was answered with HTTP {exchange.status}"
    yield from strict_object(exchange)


@CHECKS.add(each_answer, "card-fields")
def _card_fields(exchange: ProbeExchange) -> Iterator[str]:
    card = _card(exchange)
    for name in ("name", "description", "version"):
        if not is_text(card.get(name)):
            yield f"`{name}` is {quote_member(card, name)}"
    if not isinstance(card.get("capabilities"), dict):
        yield f"`capabilities` is {quote_member(card, 'capabilities')}"
    for name in ("defaultInputModes", "defaultOutputModes"):
        modes = card.get(name)
        if not isinstance(modes, list) or not modes or not all(map(is_text, modes)):
            yield f"`{name}` is {quote_member(card, name)}"
    if exchange.probe.edition == OLDER and not is_text(card.get("protocolVersion")):
        yield f"`protocolVersion` is {quote_member(card, 'protocolVersion')}"


@CHECKS.add(each_answer, "card-skills")
def _card_skills(exchange: ProbeExchange) -> Iterator[str]:
    card = _card(exchange)
    if not isinstance(card.get("skills"), list):
        yield f"`skills` is {quote_member(card, 'skills')}"
    for at, skill in objects_at(card, "skills"):
        for name in ("id", "name", "description"):
            if not is_text(skill.get(name)):
                yield f"`skills[{at}].{name}` is {quote_member(skill, name)}"
        tags = skill.get("tags")
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            yield f"`skills[{at}].tags` is {quote_member(skill, 'tags')}"


@CHECKS.add(each_answer, "card-interfaces")
def _card_interfaces(exchange: ProbeExchange) -> Iterator[str]:
    card = _card(exchange)
    if exchange.probe.edition == OLDER:
        name, members = "additionalInterfaces", ("url", "transport")
        if not _is_web(card.get("url")):
            yield f"`url` is {quote_member(card, 'url')}"
    else:
        name, members = "supportedInterfaces", ("url", "protocolBinding", "protocolVersion")
        if not card.get(name):
            yield f"`{name}` is {quote_member(card, name)}"
    for at, interface in objects_at(card, name):
        for member in members:
            if not is_text(interface.get(member)):
                yield f"`{name}[{at}].{member}` is {quote_member(interface, member)}"


def _is_web(value: JsonValue) -> bool:
    return is_text(value) and value.startswith(("http://", "https://"))


@CHECKS.add(each_answer, "card-cache")
def _card_cache(exchange: ProbeExchange) -> Iterator[str]:
    control = exchange.headers.get("cache-control", "")
    if "max-age" not in control:
        yield f"`Cache-Control` is {quote(control)}"


@CHECKS.add(each_answer, "card-etag")
def _card_etag(exchange: ProbeExchange) -> Iterator[str]:
    if not exchange.headers.get("etag"):
        yield "there is no `ETag`"


# What HTTP and JSON-RPC say.


@CHECKS.add(each_answer, "json")
def _is_json(exchange: ProbeExchange) -> Iterator[str]:
    if exchange.media_type != EVENTS:
        yield from strict_object(exchange)


@CHECKS.add(each_answer, "media-type")
def _media_type(exchange: ProbeExchange) -> Iterator[str]:
    types = {"application/json", *(("application/a2a+json",) if exchange.probe.edition == HTTP_JSON else ())}
    if exchange.media_type not in types:
        yield f"its type is {quote(exchange.headers.get('content-type', ''))}"


@CHECKS.add(each_answer, "envelope")
def _envelope(exchange: ProbeExchange) -> Iterable[str]:
    return expect_envelope(exchange, 7 if exchange.probe.name == "number_id" else exchange.probe.name)


@CHECKS.add(each_answer, "error-object")
def _error_object(exchange: ProbeExchange) -> Iterator[str]:
    if exchange.probe.edition != HTTP_JSON:
        yield from expect_error_object(exchange)
        return
    error = error_of(object_in(exchange.text or "") or {})
    if (exchange.status or 0) >= 400:
        if error.get("code") != exchange.status:
            yield f"`error.code` is {quote_member(error, 'code')} beside HTTP {exchange.status}"
        for name in ("status", "message"):
            if not is_text(error.get(name)):
                yield f"`error.{name}` is {quote_member(error, name)}"


@CHECKS.add(each_answer, "error-info")
def _error_info(exchange: ProbeExchange) -> Iterator[str]:
    error = error_of(
        response_of(exchange) if exchange.probe.edition != HTTP_JSON else object_in(exchange.text or "") or {}
    )
    if not error:
        return
    details = [each for _, each in objects_at(error, "details" if exchange.probe.edition == HTTP_JSON else "data")]
    info = next((each for each in details if str(each.get("@type")).endswith("/google.rpc.ErrorInfo")), None)
    if info is None:
        yield f"there is no `google.rpc.ErrorInfo` in it: {quote(error)}"
        return
    if info.get("reason") not in {words.reason for words in ERRORS.values()}:
        yield f"its `reason` is {quote_member(info, 'reason')}"
    if info.get("domain") != "a2a-protocol.org":
        yield f"its `domain` is {quote_member(info, 'domain')}"


# Things.


@CHECKS.add(_each("task"), "task")
def _task(body: JsonObject, edition: str) -> Iterator[str]:
    if not is_text(body.get("id")):
        yield f"`id` is {quote_member(body, 'id')}"
    if edition == OLDER and not is_text(body.get("contextId")):
        yield f"`contextId` is {quote_member(body, 'contextId')}"
    if "state" not in object_at(body, "status"):
        yield f"`status` is {quote_member(body, 'status')}"


@CHECKS.add(_each("status"), "states")
def _states(body: JsonObject, edition: str) -> Iterator[str]:
    word = body.get("state")
    spelling = state_word(word) if edition == OLDER else f"TASK_STATE_{state_word(word).upper().replace('-', '_')}"
    if state_word(word) not in STATE_WORDS or word != spelling:
        yield f"`state` is {quote_member(body, 'state')}"


@CHECKS.add(_each("message"), "message")
def _message(body: JsonObject, edition: str) -> Iterator[str]:
    del edition
    if not is_text(body.get("messageId")):
        yield f"`messageId` is {quote_member(body, 'messageId')}"
    if not isinstance(body.get("parts"), list) or not body["parts"]:
        yield f"`parts` is {quote_member(body, 'parts')}"


@CHECKS.add(_each("message"), "roles")
def _roles(body: JsonObject, edition: str) -> Iterator[str]:
    if body.get("role") not in (("user", "agent") if edition == OLDER else ("ROLE_USER", "ROLE_AGENT")):
        yield f"`role` is {quote_member(body, 'role')}"


@CHECKS.add(_each("part"), "parts")
def _part(body: JsonObject, edition: str) -> Iterator[str]:
    if edition == OLDER:
        members = {"text": "text", "file": "file", "data": "data"}
        kind = str(body.get("kind"))
        if kind not in members or members[kind] not in body:
            yield f"it is of the kind {quote_member(body, 'kind')}, and has {', '.join(body) or 'nothing'}"
    elif len(content := body.keys() & {"text", "raw", "url", "data"}) != 1:
        yield f"it has {', '.join(sorted(content)) or 'none'} of `text`, `raw`, `url` and `data`"


@CHECKS.add(_each("artifact"), "artifacts")
def _artifact(body: JsonObject, edition: str) -> Iterator[str]:
    del edition
    if not is_text(body.get("artifactId")):
        yield f"`artifactId` is {quote_member(body, 'artifactId')}"
    if not isinstance(body.get("parts"), list) or not body["parts"]:
        yield f"`parts` is {quote_member(body, 'parts')}"


@CHECKS.add(_each("status"), "timestamps")
def _timestamps(body: JsonObject, edition: str) -> Iterator[str]:
    value = body.get("timestamp")
    is_moment = isinstance(value, str) and parse_timestamp(value) is not None
    if "timestamp" in body and not (is_moment and (edition == OLDER or str(value).endswith("Z"))):
        yield f"`timestamp` is {quote(value)}"


_OWN_NAMES: Final = frozenset({"metadata", "data", "params", "schemes", "securitySchemes", "scopes", "security"})


@CHECKS.add(each_answer, "camel-case")
def _camel_case(exchange: ProbeExchange) -> Iterator[str]:
    pending: list[JsonValue] = [_card(exchange)] if exchange.probe.name == "card" else [*payloads(exchange)]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            yield from (f"a field is called `{name}`" for name in value if re.fullmatch(r"[a-z]+(_[a-z]+)+", name))
            pending += [each for name, each in value.items() if name not in _OWN_NAMES]


# Behaviour.


@CHECKS.add(each_answer, "send")
def _send(exchange: ProbeExchange) -> Iterator[str]:
    result = result_of(exchange)
    if result is None:
        error = error_of(response_of(exchange) or object_in(exchange.text or "") or {})
        yield f"it is refused: {quote(error.get('message') or exchange.text)} (HTTP {exchange.status})"
    elif kind_of(result, exchange.probe.edition)[0] not in {"task", "message"} or (
        exchange.probe.edition != OLDER and len(result.keys() & {"task", "message"}) != 1
    ):
        yield f"the result is neither a task nor a message: {quote(result)}"


@CHECKS.add(each_answer, "blocking")
def _blocking(exchange: ProbeExchange) -> Iterator[str]:
    task = task_in(exchange)
    if task is not None and state_word(state := object_at(task, "status").get("state")) not in REST_STATES:
        yield f"the state is {quote(state)}"


@CHECKS.add(each_answer, "context")
def _context(exchange: ProbeExchange) -> Iterator[str]:
    for kind, body in events_of(exchange):
        if kind == "task" and not is_text(body.get("contextId")):
            yield f"`contextId` is {quote_member(body, 'contextId')}"


@CHECKS.add(each_answer, "context-kept")
def _context_kept(exchange: ProbeExchange) -> Iterator[str]:
    for _, body in events_of(exchange):
        if body.get("contextId") != "a context of the client":
            yield f"`contextId` is {quote_member(body, 'contextId')}"


@CHECKS.add(all_answers, "task-ids")
def _task_ids(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    tasks = {name: task_in(exchange) for name, exchange in exchanges.items()}
    ids = [str(task.get("id")) for task in tasks.values() if task is not None]
    if len(ids) != len(set(ids)):
        yield f"again: two tasks have the id {quote(ids[0])}"


@CHECKS.add(all_answers, "get")
def _get(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    before, now = task_in(exchanges["send"]), task_in(exchanges["get"])
    if now is None:
        yield f"get: it is no task: {quote(exchanges['get'].text)}"
    elif before is not None and now.get("id") != before.get("id"):
        yield f"get: `id` is {quote_member(now, 'id')}, and {quote_member(before, 'id')} was asked for"
    elif is_ended(before) and not is_ended(now):
        yield f"get: the task had ended, and its `status` is {quote_member(now, 'status')}"


@CHECKS.add(each_answer, "history-length")
def _history_length(exchange: ProbeExchange) -> Iterator[str]:
    history = (task_in(exchange) or {}).get("history")
    if isinstance(history, list) and len(history) > 1:
        yield f"the history has {len(history)} messages, and one was asked for"


@CHECKS.add(each_answer, "list")
def _list(exchange: ProbeExchange) -> Iterator[str]:
    result = result_of(exchange)
    if result is None:
        yield f"it is refused: {quote(exchange.text)}"
        return
    yield from missing(result, "tasks", "nextPageToken", "pageSize", "totalSize")


@CHECKS.add(each_answer, "list-artifacts")
def _list_artifacts(exchange: ProbeExchange) -> Iterator[str]:
    for at, task in objects_at(result_of(exchange) or {}, "tasks"):
        if "artifacts" in task:
            yield f"`tasks[{at}].artifacts` is there, and was not asked for"


@CHECKS.add(each_answer, "list-order")
def _list_order(exchange: ProbeExchange) -> Iterator[str]:
    tasks = [task for _, task in objects_at(result_of(exchange) or {}, "tasks")]
    moments = [parse_timestamp(str(object_at(task, "status").get("timestamp"))) for task in tasks]
    if any(one is not None and other is not None and one < other for one, other in pairwise(moments)):
        yield "a task stands before one whose status is newer"


@CHECKS.add(each_answer, "list-page")
def _list_page(exchange: ProbeExchange) -> Iterator[str]:
    result = result_of(exchange) or {}
    tasks, total = result.get("tasks"), result.get("totalSize")
    if not isinstance(tasks, list) or len(tasks) > 1:
        yield f"there are {len(tasks) if isinstance(tasks, list) else 'no'} tasks on a page of one"
    elif isinstance(total, int) and total > 1 and not result.get("nextPageToken"):
        yield f"`totalSize` is {total}, and `nextPageToken` is {quote_member(result, 'nextPageToken')}"


@CHECKS.add(all_answers, "cancel")
def _cancel(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    """A task that had ended cannot be canceled; one that had not may, or may not."""
    exchange = exchanges["cancel"]
    if is_ended(task_in(exchanges["send"])):
        yield from (f"cancel: {wrong}" for wrong in _refusal(exchange, -32002))
    elif task_in(exchange) is None:
        yield from (f"cancel: {wrong}" for wrong in _refusal(exchange, -32002, -32004))


# Streams.


@CHECKS.add(each_answer, "stream")
def _stream(exchange: ProbeExchange) -> Iterator[str]:
    if exchange.media_type != EVENTS:
        yield f"its type is {quote(exchange.headers.get('content-type', ''))}: {quote(exchange.text)}"
    for data in sse_data(exchange.text or ""):
        if object_in(data) is None:
            yield f"an event is no JSON object: {quote(data)}"
    if exchange.media_type == EVENTS and exchange.probe.edition != HTTP_JSON:
        yield from expect_envelope(exchange, exchange.probe.name)


@CHECKS.add(each_answer, "stream-first")
def _stream_first(exchange: ProbeExchange) -> Iterator[str]:
    kinds = [kind for kind, _ in events_of(exchange)]
    if kinds[:1] not in (["task"], ["message"]):
        yield f"it begins with {kinds[0] or 'something unknown' if kinds else 'nothing'}"
    if kinds[:1] == ["message"] and len(kinds) > 1:
        yield f"after a message there are {len(kinds) - 1} more events"


@CHECKS.add(each_answer, "stream-events")
def _stream_events(exchange: ProbeExchange) -> Iterator[str]:
    first_id, first_context = "", ""
    for kind, body in events_of(exchange):
        name = "id" if kind == "task" else "taskId"
        task, context = body.get(name), body.get("contextId")
        if kind == "message":
            continue
        if kind not in {"task", "status-update", "artifact-update"}:
            yield f"an event is none: {quote(body)}"
        elif not is_text(task) or not is_text(context):
            yield f"a {kind} has no `{name}` or no `contextId`: {quote(body)}"
        elif (first_id or task, first_context or context) != (task, context):
            yield f"a {kind} is of the task {quote(task)} in {quote(context)}, and the stream began with another"
        else:
            first_id, first_context = task, context


@CHECKS.add(each_answer, "stream-end")
def _stream_end(exchange: ProbeExchange) -> Iterator[str]:
    events = events_of(exchange)
    states = [state_word(object_at(body, "status").get("state")) for _, body in events]
    first_end = next((at for at, state in enumerate(states) if state in END_STATES), None)
    if first_end is not None:
        late = [kind for kind, _ in events[first_end + 1 :] if kind != "task"]
        yield from (f"after the state {quote(states[first_end])} there is a {kind}" for kind in late)
        if exchange.late:
            yield f"it was still open after the state {quote(states[first_end])}"
    elif exchange.late:
        yield exchange.error
    elif events and events[0][0] == "task" and not any(state in REST_STATES for state in states):
        yield "it ends, and no event says what became of the task"


@CHECKS.add(each_answer, "stream-final")
def _stream_final(exchange: ProbeExchange) -> Iterator[str]:
    updates = [body for kind, body in events_of(exchange) if kind == "status-update"]
    if updates and updates[-1].get("final") is not True:
        yield f"`final` of the last status is {quote_member(updates[-1], 'final')}"


# Refusals.


def _refusal(exchange: ProbeExchange, *codes: int) -> Iterator[str]:
    """A look that the answer is one of the errors with these codes of JSON-RPC."""
    if exchange.probe.edition != HTTP_JSON:
        yield from expect_code(exchange, *codes)
        return
    # Texts of 1.0 differ about a task that cannot be canceled: 409 in the release candidate, 400 in others.
    statuses = {ERRORS[code].http for code in codes} | {409 for code in codes if code == -32002}
    if exchange.status not in statuses:
        yield f"it was answered with HTTP {exchange.status}, and not {' or '.join(map(str, sorted(statuses)))}"


def _refuses(*codes: int) -> AnswerInspector:
    return lambda exchange: _refusal(exchange, *codes)


@CHECKS.add(each_answer, "mixed-context")
def _mixed_context(exchange: ProbeExchange) -> Iterator[str]:
    if result_of(exchange) is not None:
        yield f"it is taken: {quote(exchange.text)}"


@CHECKS.add(each_answer, "authenticates")
def _authenticates(exchange: ProbeExchange) -> Iterator[str]:
    code = error_of(response_of(exchange)).get("code")
    if exchange.status not in {401, 403} and (
        exchange.probe.edition == HTTP_JSON or "error" not in response_of(exchange) or code == -32001
    ):
        yield f"it is answered without credentials: {quote(exchange.text)} (HTTP {exchange.status})"


@CHECKS.add(each_answer, "version-patch")
def _version_patch(exchange: ProbeExchange) -> Iterator[str]:
    if not [*_refusal(exchange, -32009)] and "VERSION" in (exchange.text or "").upper():
        yield "1.0.9 is refused, and 1.0 is spoken"


@CHECKS.add(each_answer, "version-empty")
def _version_empty(exchange: ProbeExchange) -> Iterator[str]:
    body = response_of(exchange)
    if "result" in body or error_of(body).get("code") == -32001:
        yield f"it is answered as in 1.0: {quote(body)}"


CHECKS.update({
    "unknown-field": each_answer(_send),
    "get-unknown": each_answer(_refuses(-32001)),
    "cancel-unknown": each_answer(_refuses(-32001)),
    "send-unknown": each_answer(_refuses(-32001)),
    "send-ended": each_answer(_refuses(-32004)),
    "subscribe-unknown": each_answer(_refuses(-32001)),
    "subscribe-ended": each_answer(_refuses(-32004)),
    "streaming-unclaimed": each_answer(_refuses(-32004)),
    "push-unclaimed": each_answer(_refuses(-32003)),
    "extended-unclaimed": each_answer(_refuses(-32004, -32007)),
    "version": each_answer(_refuses(-32009)),
    "no-message": each_answer(_refuses(-32602)),
    "no-parts": each_answer(_refuses(-32602)),
    "cut-off": each_answer(_refuses(-32700)),
    "no-request": each_answer(_refuses(-32600)),
    "unknown-method": each_answer(_refuses(-32601)),
})  # fmt: skip
