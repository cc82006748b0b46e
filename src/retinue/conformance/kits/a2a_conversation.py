"""What a server of A2A is sent, in one version and one binding, and how its answers are read in any of them."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import quote as url_quote, urlencode

from retinue.conformance.answer_checks import (
    object_at,
    object_in,
    objects_at,
)
from retinue.conformance.kits.rpc import (
    bodies,
    response_of,
)
from retinue.conformance.port import ProbeExchange
from retinue.conformance.probe_session import ProbeSession
from retinue.conformance.subjects.web_server import EVENTS
from retinue.contract.json import JsonObject, JsonValue

JSON_RPC: Final = "1.0 JSON-RPC"
HTTP_JSON: Final = "1.0 HTTP+JSON"
OLDER: Final = "0.3 JSON-RPC"
BINDINGS: Final = {("1.0", "JSONRPC"): JSON_RPC, ("1.0", "HTTP+JSON"): HTTP_JSON, ("0.3", "JSONRPC"): OLDER}
"""The editions that are judged, by version and binding as cards name them."""

_UNKNOWN: Final = "00000000-0000-4000-8000-000000000000"


# The conversation.


class _Operation(NamedTuple):
    """What an operation is called: in 0.3, and over HTTP+JSON by method and path."""

    older: str
    method: str
    path: str


_OPERATIONS: Final[Mapping[str, _Operation]] = {
    "SendMessage": _Operation("message/send", "POST", "/message:send"),
    "SendStreamingMessage": _Operation("message/stream", "POST", "/message:stream"),
    "GetTask": _Operation("tasks/get", "GET", "/tasks/{id}"),
    "ListTasks": _Operation("tasks/list", "GET", "/tasks"),
    "CancelTask": _Operation("tasks/cancel", "POST", "/tasks/{id}:cancel"),
    "SubscribeToTask": _Operation("tasks/resubscribe", "GET", "/tasks/{id}:subscribe"),
    "ListTaskPushNotificationConfigs": _Operation(
        "tasks/pushNotificationConfig/list", "GET", "/tasks/{taskId}/pushNotificationConfigs"
    ),
    "GetExtendedAgentCard": _Operation("agent/getAuthenticatedExtendedCard", "GET", "/extendedAgentCard"),
}


class _A2AClient:
    """Asks for operations, and knows how the edition of its session writes them."""

    def __init__(self, session: ProbeSession) -> None:
        self.session, self.edition = session, session.edition
        self.headers = {} if self.edition == OLDER else {"a2a-version": "1.0"}

    async def call(
        self,
        name: str,
        about: str,
        operation: str,
        params: JsonObject,
        *,
        version: str | None = None,
        anonymous: bool = False,
    ) -> ProbeExchange:
        """Ask for an operation; `version` is said in place of our own, and left out when it is empty."""
        words = _OPERATIONS[operation]
        headers = self.headers if version is None else {"a2a-version": version} if version else {}
        if self.edition != HTTP_JSON:
            method = words.older if self.edition == OLDER else operation
            body: JsonObject = {"jsonrpc": "2.0", "id": name, "method": method, "params": params}
            return await self.session.ask(name, about, headers=headers, body=body, anonymous=anonymous)
        rest = dict(params)
        path = re.sub(r"\{(\w+)\}", lambda match: url_quote(str(rest.pop(match[1])), safe=""), words.path)
        query = urlencode({key: str(value) for key, value in rest.items()}) if words.method == "GET" else ""
        url = f"{self.session.url.rstrip('/')}{path}{'?' if query else ''}{query}"
        content: JsonObject | None = None if words.method == "GET" else rest
        return await self.session.ask(
            name, about, url, method=words.method, headers=headers, body=content, anonymous=anonymous
        )

    def message(self, name: str, **members: JsonValue) -> JsonObject:
        """The parameters that send the user's words in a message called `name`."""
        older, template = self.edition == OLDER, self.session.template
        words: JsonObject = {"text": template.instruction}
        parts: list[JsonValue] = [{"kind": "text", **words} if older else words]
        if template.parameters:
            data: JsonObject = {"data": dict(template.parameters)}
            parts.append({"kind": "data", **data} if older else data)
        message: JsonObject = {"messageId": f"check-{name}", "role": "user" if older else "ROLE_USER", "parts": parts}
        if older:
            message |= {"kind": "message"}
        return {"message": {**message, **members}, **({"configuration": {"blocking": True}} if older else {})}


async def converse(session: ProbeSession) -> None:
    """Hold the whole conversation."""
    client = _A2AClient(session)
    exchange = await session.ask("card", "The card of the agent.", session.card_url, method="GET")
    card = object_in(exchange.text or "") or {}
    await _converse_on_tasks(client)
    await _converse_on_streams(client, claimed=object_at(card, "capabilities").get("streaming") is True)
    await _converse_on_capabilities(client, card)
    await _converse_on_errors(client)
    # The last, since there are servers whose worker ends at it.
    await client.call("cancel_unknown", "It names a task that there is not.", "CancelTask", {"id": _UNKNOWN})


async def _converse_on_tasks(client: _A2AClient) -> None:
    session = client.session
    exchange = await client.call("send", "A message as it should be.", "SendMessage", client.message("send"))
    await client.call("again", "The same words in another message.", "SendMessage", client.message("again"))
    odd: JsonObject = {**client.message("unknown_field"), "unheardOf": {"a": 1}}
    await client.call("unknown_field", "It has a field that nobody knows.", "SendMessage", odd)
    context = "a context of the client"
    params = client.message("context", contextId=context)
    await client.call("context", "It names a context of the client's own.", "SendMessage", params)
    await client.call("get_unknown", "It names a task that there is not.", "GetTask", {"id": _UNKNOWN})
    params = client.message("send_unknown", taskId=_UNKNOWN)
    await client.call("send_unknown", "The message is for a task that there is not.", "SendMessage", params)
    names = ("get", "get_short", "list", "list_page", "cancel", "send_ended", "send_mixed")
    task = task_in(exchange)
    if task is None:
        if result_of(exchange) is not None:
            session.skip("the server answers with messages, and has no tasks", *names)
        return
    task_id = str(task.get("id"))
    await client.call("get", "The task of before.", "GetTask", {"id": task_id})
    short: JsonObject = {"id": task_id, "historyLength": 1}
    await client.call("get_short", "The task, with one message of its history.", "GetTask", short)
    if client.edition == OLDER:
        session.skip("version 0.3 has no such method over JSON-RPC", "list", "list_page")
    else:
        await client.call("list", "All tasks.", "ListTasks", {})
        await client.call("list_page", "One task of the list.", "ListTasks", {"pageSize": 1})
    params = client.message("send_mixed", taskId=task_id, contextId="another context")
    await client.call("send_mixed", "The message names a task and the context of another.", "SendMessage", params)
    canceled = await client.call("cancel", "The task is to be canceled.", "CancelTask", {"id": task_id})
    if is_ended(task) or is_ended(task_in(canceled)):
        params = client.message("send_ended", taskId=task_id)
        await client.call("send_ended", "The message is for a task that has ended.", "SendMessage", params)
    else:
        session.skip("the task does not end", "send_ended")


async def _converse_on_streams(client: _A2AClient, *, claimed: bool) -> None:
    session = client.session
    stream = ("stream", "A message whose task is to be streamed.", "SendStreamingMessage", client.message("stream"))
    if not claimed:
        session.skip("the card claims no streaming", "stream", "subscribe_unknown", "subscribe_ended")
        await client.call("stream_unclaimed", stream[1], *stream[2:])
        return
    session.skip("the card claims streaming", "stream_unclaimed")
    await client.call(*stream)
    if client.edition == HTTP_JSON:  # where the text of 1.0 subscribes by POST, and its protobuf by GET
        return
    unknown: JsonObject = {"id": _UNKNOWN}
    await client.call("subscribe_unknown", "It names a task that there is not.", "SubscribeToTask", unknown)
    task = task_in(session.exchanges["send"])
    if client.edition != OLDER and is_ended(task) and task is not None:
        params: JsonObject = {"id": str(task.get("id"))}
        await client.call("subscribe_ended", "It names a task that has ended.", "SubscribeToTask", params)
    else:
        session.skip("there is no task that has ended, or the version asks nothing of it", "subscribe_ended")


async def _converse_on_capabilities(client: _A2AClient, card: JsonObject) -> None:
    session, capabilities = client.session, object_at(card, "capabilities")
    if capabilities.get("pushNotifications") is True:
        session.skip(
            "the card claims push notifications, which would need an address to send them to", "push_unclaimed"
        )
    else:
        about = "It asks for what the card does not claim."
        params: JsonObject = {"id" if client.edition == OLDER else "taskId": _UNKNOWN}
        await client.call("push_unclaimed", about, "ListTaskPushNotificationConfigs", params)
    if capabilities.get("extendedAgentCard") is True or card.get("supportsAuthenticatedExtendedCard") is True:
        session.skip("the card claims an extended card", "extended_unclaimed")
    else:
        await client.call("extended_unclaimed", "It asks for a card that is not claimed.", "GetExtendedAgentCard", {})
    if card.get("security") or card.get("securityRequirements"):
        about = "It is asked without credentials."
        await client.call("anonymous", about, "GetTask", {"id": _UNKNOWN}, anonymous=True)
    else:
        session.skip("the card requires no credentials", "anonymous")


async def _converse_on_errors(client: _A2AClient) -> None:
    session, headers = client.session, client.headers
    unknown: JsonObject = {"id": _UNKNOWN}
    if client.edition == OLDER:
        session.skip("version 0.3 has no such header", "version", "version_patch", "version_empty")
    else:
        await client.call("version", "It wants a version that there is not.", "GetTask", unknown, version="99.0")
        await client.call("version_patch", "It names a patch of the version.", "GetTask", unknown, version="1.0.9")
        await client.call("version_empty", "It names no version, which means 0.3.", "GetTask", unknown, version="")
    await client.call("no_message", "It sends no message.", "SendMessage", {})
    no_parts: JsonObject = {**client.message("no_parts"), "message": {"messageId": "check-no-parts", "role": "user"}}
    await client.call("no_parts", "Its message has no parts.", "SendMessage", no_parts)
    url = session.url.rstrip("/")
    if client.edition == HTTP_JSON:
        await session.ask(
            "cut_off", "It is JSON that was cut off.", f"{url}/message:send", headers=headers, body=b'{"mess'
        )
        await session.ask("unknown_method", "There is no such path.", f"{url}/unheard-of", headers=headers, body={})
        return
    await session.ask("cut_off", "It is JSON that was cut off.", headers=headers, body=b'{"jsonrpc": "2.0", "id": 1, ')
    await session.ask("no_request", "It is JSON, and no request.", headers=headers, body={"id": "no_request", "a": 1})
    body: JsonObject = {"jsonrpc": "2.0", "id": "unknown_method", "method": "unheardOf", "params": {}}
    await session.ask("unknown_method", "There is no such method.", headers=headers, body=body)
    number: JsonObject = {"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": unknown}
    number["method"] = "tasks/get" if client.edition == OLDER else "GetTask"
    await session.ask("number_id", "The id of the request is a number.", headers=headers, body=number)


# Answers in any edition.

END_STATES: Final = ("completed", "failed", "canceled", "rejected")
REST_STATES: Final = (*END_STATES, "input-required", "auth-required")
STATE_WORDS: Final = (*REST_STATES, "submitted", "working", "unknown")
_EVENT_KINDS: Final = {
    "task": "task",
    "message": "message",
    "statusUpdate": "status-update",
    "artifactUpdate": "artifact-update",
}


def state_word(word: JsonValue) -> str:
    """The state as 0.3 writes it, from either version."""
    return word.removeprefix("TASK_STATE_").lower().replace("_", "-") if isinstance(word, str) else ""


def is_ended(task: JsonObject | None) -> bool:
    """Whether there is a task, and it has ended."""
    return task is not None and state_word(object_at(task, "status").get("state")) in END_STATES


def result_of(exchange: ProbeExchange) -> JsonObject | None:
    """What was answered: the result of JSON-RPC, or the body; None when it is an error, or nothing."""
    if exchange.probe.edition == HTTP_JSON:
        return object_in(exchange.text or "") if (exchange.status or 0) < 300 else None
    result = response_of(exchange).get("result")
    return result if isinstance(result, dict) else None


def kind_of(payload: JsonObject, edition: str) -> tuple[str, JsonObject]:
    """What a payload is, and the object itself: 1.0 wraps it, 0.3 names it in `kind`."""
    if edition == OLDER:
        return str(payload.get("kind")), payload
    for name, kind in _EVENT_KINDS.items():
        if isinstance(inner := payload.get(name), dict):
            return kind, inner
    return ("task" if "status" in payload else ""), payload


def task_in(exchange: ProbeExchange) -> JsonObject | None:
    """The task that was answered; None when it was something else."""
    kind, body = kind_of(result_of(exchange) or {}, exchange.probe.edition)
    return body if kind == "task" else None


def payloads(exchange: ProbeExchange) -> list[JsonObject]:
    """Each thing that an answer or the events of a stream hold."""
    if exchange.media_type == EVENTS:
        events = bodies(exchange)
        results = events if exchange.probe.edition == HTTP_JSON else [object_at(each, "result") for each in events]
        return [each for each in results if each]
    result = result_of(exchange)
    if result is None or exchange.probe.name == "card":
        return []
    tasks = [task for _, task in objects_at(result, "tasks")]
    return tasks if "tasks" in result else [result]


def events_of(exchange: ProbeExchange) -> list[tuple[str, JsonObject]]:
    """The same, each with its kind."""
    return [kind_of(each, exchange.probe.edition) for each in payloads(exchange)]


def things_in(exchange: ProbeExchange) -> Iterator[tuple[str, JsonObject]]:
    """Everything that an answer holds, and all that is in it: tasks, statuses, messages, artifacts, parts, events."""
    pending = list(reversed(events_of(exchange)))
    while pending:
        kind, body = pending.pop()
        yield kind, body
        below = {
            "task": (("artifacts", "artifact"), ("history", "message")),
            "message": (("parts", "part"),),
            "artifact": (("parts", "part"),),
        }
        for name, inner in below.get(kind, ()):
            pending += [(inner, each) for _, each in objects_at(body, name)]
        for name, inner in (("status", "status"), ("artifact", "artifact"), ("message", "message")):
            if kind in {"task", "status-update", "artifact-update", "status"} and isinstance(
                each := body.get(name), dict
            ):
                pending.append((inner, each))
