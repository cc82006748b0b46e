"""One task of an agent of A2A, followed through the transports of the official SDK, which this module needs.

Requests go through our own client: to the peer's own origin, with its key, bounded in size.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any, Final, cast

import httpx
from a2a.client.card_resolver import parse_agent_card
from a2a.client.errors import A2AClientError, A2AClientTimeoutError
from a2a.client.transports.base import ClientTransport
from a2a.client.transports.jsonrpc import JsonRpcTransport
from a2a.client.transports.rest import RestTransport
from a2a.client.transports.tenant_decorator import TenantTransportDecorator
from a2a.compat.v0_3.jsonrpc_transport import CompatJsonRpcTransport
from a2a.compat.v0_3.rest_transport import CompatRestTransport
from a2a.compat.v0_3.versions import is_legacy_version
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    Role,
    SendMessageRequest,
    SendMessageResponse,
    StreamResponse,
)
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP, A2AError
from google.protobuf.json_format import Error as ProtobufError, MessageToDict, ParseDict, ParseError

from retinue.agents.port import RunContext
from retinue.agents.registry import one_line
from retinue.agents.remote.http_agent import MAX_ANSWER, code_of
from retinue.agents.remote.peer import Peer
from retinue.contract import json
from retinue.contract.event import Progress, TextDelta
from retinue.contract.fault import Fault
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping
from retinue.dialects.a2a.parse import error_fault
from retinue.errors import (
    AccessDenied,
    DeadlineExceeded,
    InvalidDefinition,
    NetworkError,
    OutputInvalid,
    RetinueError,
)
from retinue.tools.web.client import WebClient, status_error
from retinue.tools.web.url import parse_url

AUTH_REQUIRED: Final = "TASK_STATE_AUTH_REQUIRED"
WAITS: Final = frozenset({"TASK_STATE_INPUT_REQUIRED", AUTH_REQUIRED})
"""The states in which a task waits for whoever asked."""

_SILENT_S: Final = 300.0
_FIRST_WAIT_S: Final = 0.25
_LONGEST_WAIT_S: Final = 5.0
_GIVE_UP_S: Final = 2.0
_NO_ZONE: Final = re.compile(rb'("timestamp"\s*:\s*"[0-9T:.-]{10,40})"')
_OF_HTTP: Final = frozenset({401, 403, 407, 408, 425, 429, 503, 504})
"""Statuses that say nothing of the protocol, whatever the body is."""
_FINAL_STATES: Final = frozenset({
    "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"
})  # fmt: skip


class Exchange:
    """One task of the peer: what it has said of it so far."""

    def __init__(self, transport: ClientTransport, peer: Peer, run: RunContext, *, streams: bool) -> None:
        self._transport, self._peer, self._run, self._streams = transport, peer, run, streams
        self.task: JsonObject = {}
        self._messages: list[JsonObject] = []

    @property
    def id(self) -> str:
        """The task's; empty before it has one."""
        return str(self.task.get("id") or "")

    @property
    def state(self) -> str:
        """How far it is; empty before it says so."""
        status = self.task.get("status")
        return str(status.get("state") or "") if isinstance(status, dict) else ""

    @property
    def status_text(self) -> str:
        """What it says of how far it is."""
        status = self.task.get("status")
        return _text(status.get("message")) if isinstance(status, dict) else ""

    def outcome(self) -> JsonObject:
        """All of the answer: the task, or the message in its place; a task that says nothing said it in messages."""
        if not self._messages or (self.task and (self.task.get("artifacts") or self.status_text)):
            return {"task": self.task}
        parts = [part for message in self._messages for part in _parts(message)]
        if self.task:
            return {"task": {**self.task, "artifacts": [{"artifactId": "messages", "parts": _join_parts(parts)}]}}
        return {"message": {**self._messages[-1], "parts": _join_parts(parts)}}

    def asking(self) -> JsonObject:
        """The task that waits, with words for what it asks: some say that in data, others in the history alone."""
        if self.status_text:
            return self.task
        status, history = cast("JsonObject", self.task["status"]), self.task.get("history")
        said: JsonObject = {}
        for each in [*(history if isinstance(history, list) else []), status.get("message")]:
            said = each if isinstance(each, dict) and each.get("role") == "ROLE_AGENT" else said
        data = [json.dumps(part["data"]) for part in _parts(said) if "data" in part]
        words = _text(said) or "\n".join(data) or "It waits for an answer, and does not say to what."
        message: JsonMapping = {"messageId": self.id, **said, "role": "ROLE_AGENT", "parts": [{"text": words}]}
        return {**self.task, "status": {**status, "message": cast("JsonObject", message)}}

    async def resume(self) -> bool:
        """Whether there is a task from before this attempt, which is gone on with."""
        task_id = self._run.checkpoint.get("task")
        if not isinstance(task_id, str):
            return False
        self.task = {"id": task_id}
        try:
            await self._poll()
        except RetinueError as error:
            if error.code != "missing_file":
                raise
            del self._run.checkpoint["task"]
            self.task = {}
            return False
        return True

    def answer(self, message_id: str, value: object) -> JsonObject:
        """The message that answers a question."""
        part: JsonMapping = {"text": value} if isinstance(value, str) else {"data": value}
        message: JsonMapping = {
            "messageId": message_id,
            "role": "ROLE_USER",
            "parts": [part],
            "taskId": self.id,
            "contextId": self.task.get("contextId") or "",
        }
        return {"message": message}

    async def send(self, request: JsonObject) -> None:
        """Send a message, and follow it until the task has ended or asks."""

        async def follow() -> None:
            message = ParseDict(request, SendMessageRequest())
            if not self._streams:
                self._apply(_as_json(await self._transport.send_message(message)))
                return
            async for response in self._transport.send_message_streaming(message):
                self._apply(_as_json(response))

        self.task.pop("status", None)
        try:
            await self._call(follow())
        except (NetworkError, DeadlineExceeded):
            if not self.id:
                raise
        if self.state in _FINAL_STATES | WAITS:
            if self._streams and not (self._messages or self.task.get("artifacts") or self.status_text):
                with suppress(RetinueError):  # what is said in the task alone, and not in its stream
                    await self._poll()
        elif self.id:
            await self._poll()
        elif not self._messages:
            raise OutputInvalid(f"{self._peer} answered with neither a task nor a message.", hint="Tell its author.")

    async def give_up(self) -> None:
        """Have it canceled there, if it listens."""
        if not self.id or self.state in _FINAL_STATES:
            return
        with suppress(RetinueError, TimeoutError):
            async with asyncio.timeout(_GIVE_UP_S):
                await self._call(self._transport.cancel_task(CancelTaskRequest(id=self.id)))

    async def _poll(self) -> None:
        """Ask for the task until it has ended or asks."""
        wait_s = _FIRST_WAIT_S
        while True:
            answer = await self._call(self._transport.get_task(GetTaskRequest(id=self.id)))
            self._apply(_as_json(StreamResponse(task=answer)))
            if self.state in _FINAL_STATES | WAITS:
                return
            await self._run.sleep(wait_s)
            wait_s = min(wait_s * 2, _LONGEST_WAIT_S)

    def _apply(self, response: JsonObject) -> None:
        """Take in what has come.

        Raises:
            OutputInvalid: It is about another task.
        """
        kind = next(iter(response), "")
        value = response.get(kind)
        if not isinstance(value, dict):
            return
        about = str(value.get("id" if kind == "task" else "taskId") or "")
        # Some begin a task of the same context for each message, also for an answer.
        is_next = kind == "task" and not self.state and value.get("contextId") == self.task.get("contextId")
        if self.id and about and about != self.id and not is_next:
            raise OutputInvalid(
                f"{self._peer} spoke of another task than the one it was asked.", hint="Tell its author."
            )
        match kind:
            case "message":
                self._messages.append(value)
                if self._streams and (text := _text(value)):
                    self._run.emit(TextDelta(text))
                return
            case "task":
                self.task = value
            case "statusUpdate":
                self.task |= {"id": about, "contextId": value.get("contextId"), "status": value.get("status")}
                if metadata := value.get("metadata"):
                    self.task["metadata"] = metadata
                if self.state not in _FINAL_STATES | WAITS and (text := one_line(self.status_text)):
                    self._run.emit(Progress(phase=text))
            case "artifactUpdate":
                self.task |= {"id": about, "contextId": value.get("contextId")}
                self._add_artifact(value)
            case _:
                return
        if self.id:
            self._run.checkpoint["task"] = self.id

    def _add_artifact(self, update: JsonObject) -> None:
        artifact = update.get("artifact")
        artifacts = self.task.setdefault("artifacts", [])
        if not isinstance(artifact, dict) or not isinstance(artifacts, list):
            return
        if text := _text(artifact):
            self._run.emit(TextDelta(text))
        for each in artifacts:
            if isinstance(each, dict) and each.get("artifactId") == artifact.get("artifactId"):
                each["parts"] = _join_parts([*(_parts(each) if update.get("append") else []), *_parts(artifact)])
                return
        artifacts.append(artifact)

    async def _call(self, call: Any) -> Any:
        """What a call of the SDK gives; what it raises is one of our errors."""
        try:
            return await call
        except A2AClientTimeoutError as error:
            raise DeadlineExceeded(f"{self._peer} did not answer in time.", hint="Try later.") from error
        except A2AClientError as error:
            words = one_line(str(error), 500)
            cause = error.__cause__
            if isinstance(cause, httpx.HTTPStatusError):
                status = cause.response.status_code
                message = f"{self._peer} answered with status {status}."
                detail = {"status": status, "peer": self._peer.url.authority}
                raise Fault(code=code_of(status), message=message, detail=detail).to_error() from error
            if isinstance(cause, httpx.RequestError):
                raise NetworkError(f"{self._peer} cannot be reached: {words}.", hint="Try later.") from error
            raise OutputInvalid(
                f"{self._peer} answered with what is not A2A: {words}.", hint="Tell its author."
            ) from error
        except A2AError as error:
            code = JSON_RPC_ERROR_CODE_MAP.get(type(error), -32603)
            fault = error_fault(code, one_line(error.message, 500), "", "")
            detail = {**fault.detail, "peer": self._peer.url.authority}
            message = f"{self._peer} refuses: {fault.message}"
            raise fault.model_copy(update={"message": message, "detail": detail}).to_error() from error
        except (ProtobufError, ValueError, TypeError, KeyError, AttributeError, httpx.HTTPError) as error:
            why = type(error).__name__
            raise OutputInvalid(
                f"{self._peer} answered with what is not A2A (`{why}`).", hint="Tell its author."
            ) from error


def _as_json(response: SendMessageResponse | StreamResponse) -> JsonObject:
    """What has come, without a history that only repeats what was sent."""
    history = response.task.history
    if history and all(message.role == Role.ROLE_USER for message in history):
        response.task.ClearField("history")
    return cast("JsonObject", MessageToDict(response))


def _parts(holder: object) -> list[JsonObject]:
    """The parts of a message or an artifact."""
    parts = cast("JsonObject", holder).get("parts") if isinstance(holder, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _join_parts(parts: Iterable[JsonObject]) -> list[JsonValue]:
    """Parts that came in pieces: a text goes on where the one before it ended."""
    whole: list[JsonValue] = []
    for part in parts:
        last = whole[-1] if whole else None
        if isinstance(last, dict) and part.keys() == last.keys() == {"text"}:
            whole[-1] = {"text": f"{last['text']}{part['text']}"}
        else:
            whole.append(part)
    return whole


def _text(holder: object) -> str:
    """The text of the parts of a message or an artifact."""
    return "\n".join(text for part in _parts(holder) if isinstance(text := part.get("text"), str))


def open_transport(card: JsonObject, peer: Peer, web: WebClient) -> ClientTransport:
    """The SDK's transport to the peer's own interface, the newest that it names, over guarded connections.

    Raises:
        AccessDenied: None of its interfaces is where its card is.
        InvalidDefinition: It names no interface that can be used.
    """
    kinds = {
        ("JSONRPC", False): JsonRpcTransport,
        ("HTTP+JSON", False): RestTransport,
        ("JSONRPC", True): CompatJsonRpcTransport,
        ("HTTP+JSON", True): CompatRestTransport,
    }
    try:
        parsed = parse_agent_card(cast("dict[str, Any]", json.loads(json.dumps(card))))
    except (ParseError, ValueError, TypeError, AttributeError) as error:
        raise InvalidDefinition(f"The card of {peer} is no card of A2A.", hint="Tell its author.") from error
    refused: RetinueError | None = None
    # Those of the newer protocol first.
    for interface in sorted(parsed.supported_interfaces, key=lambda each: is_legacy_version(each.protocol_version)):
        kind = (interface.protocol_binding, is_legacy_version(interface.protocol_version))
        if kind not in kinds:
            continue
        try:
            url = peer.same_origin(parse_url(interface.url)).text
        except RetinueError as error:
            refused = refused or error
            continue
        http = httpx.AsyncClient(transport=_transport(peer, web), headers={"A2A-Version": "1.0"})
        transport = kinds[kind](http, parsed, url)
        return TenantTransportDecorator(transport, interface.tenant) if interface.tenant else transport
    raise refused or InvalidDefinition(
        f"{peer} names no interface that speaks JSON-RPC or HTTP+JSON.", hint="Ask its author for one."
    )


def _transport(peer: Peer, web: WebClient) -> httpx.AsyncBaseTransport:
    """What carries the SDK's requests: our own client, to the peer's own origin, with its key."""

    class Stream(httpx.AsyncByteStream):
        def __init__(self, body: AsyncIterator[bytes], stack: AsyncExitStack) -> None:
            self._body, self._stack = body, stack

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._body

        async def aclose(self) -> None:
            await self._stack.aclose()

    class Transport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            url = peer.same_origin(parse_url(str(request.url)))
            request_headers: Mapping[str, str] = {
                name.title(): value
                for name, value in request.headers.items()
                if name in {"accept", "content-type", "a2a-version", "a2a-extensions", "x-a2a-extensions"}
            }
            async with AsyncExitStack() as stack:
                response = await stack.enter_async_context(
                    web.stream(
                        url,
                        method=request.method,
                        headers={**request_headers, **peer.headers()},
                        content=await request.aread(),
                        max_bytes=MAX_ANSWER,
                        read_timeout_s=_SILENT_S,
                    )
                )
                status = response.status
                if 300 <= status < 400:
                    raise AccessDenied(
                        f"{peer} redirects (status {status}), which is not followed with a request.",
                        hint="Use the URL that it leads to, if you trust it.",
                    )
                if status in _OF_HTTP:
                    wait = response.headers.get("retry-after", "")
                    raise status_error(status, who=str(peer), retry_after=wait)

                async def body() -> AsyncIterator[bytes]:
                    rest = b""
                    async for chunk in response.body:
                        whole, line_end, rest = (rest + chunk).rpartition(b"\n")
                        # A time without its zone, as some write it, is one that protobuf refuses.
                        yield _NO_ZONE.sub(rb'\1Z"', whole + line_end)
                    yield _NO_ZONE.sub(rb'\1Z"', rest)
                    if response.body.truncated:
                        raise OutputInvalid(
                            f"{peer} answered with more than {MAX_ANSWER} bytes, or broke off.", hint="Ask for less."
                        )

                headers = {"Content-Type": response.headers.get("content-type", "")}
                return httpx.Response(status, headers=headers, stream=Stream(body(), stack.pop_all()))

    return Transport()
