"""An agent that speaks A2A 1.0 or 0.3, through the client of the official SDK (P7, C28).

A message is sent, what happens is followed, and a task that outlives its stream is asked for until it ends. It is
canceled there when nobody waits for it here.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, Final, cast

from retinue.agents.port import Reply, RunContext
from retinue.agents.registry import one_line
from retinue.agents.remote.http_agent import MAX_ANSWER, code_of
from retinue.agents.remote.peer import Peer, outgoing_task, remote_reply
from retinue.contract import json
from retinue.contract.definition import TASK_SCHEMA, Definition
from retinue.contract.event import Progress, TextDelta
from retinue.contract.fault import Fault
from retinue.contract.json import JsonObject
from retinue.contract.model import JsonMapping
from retinue.contract.task import Task
from retinue.dialects import a2a as dialect
from retinue.dialects.a2a.parse import error_fault
from retinue.dialects.port import ParseContext
from retinue.errors import (
    AccessDenied,
    DeadlineExceeded,
    InvalidDefinition,
    NetworkError,
    NotInstalled,
    OutputInvalid,
    RetinueError,
    Unauthenticated,
)
from retinue.tools.web.client import WebClient, status_error
from retinue.tools.web.url import parse_url

if TYPE_CHECKING:
    import httpx
    from a2a.client import Client
    from a2a.types.a2a_pb2 import AgentInterface

_SILENT_S: Final = 300.0
_FIRST_WAIT_S: Final = 0.25
_LONGEST_WAIT_S: Final = 5.0
_GIVE_UP_S: Final = 2.0
_BINDINGS: Final = ("JSONRPC", "HTTP+JSON")
_OF_HTTP: Final = frozenset({401, 403, 407, 408, 425, 429, 503, 504})
"""Statuses that say nothing of the protocol, whatever the body is."""
_ENDED: Final = frozenset({
    "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"
})  # fmt: skip
_WAITS: Final = frozenset({"TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"})


class A2aAgent:
    """An agent with an A2A card.

    Args:
        definition: What its card says.
        card: The card itself.
        peer: Where it was read.
        client: How it is reached.
    """

    def __init__(self, definition: Definition, *, card: JsonObject, peer: Peer, client: WebClient) -> None:
        self._definition = definition
        self._card = card
        self._peer = peer
        self._web = client
        self._client: Client | None = None

    def __repr__(self) -> str:
        return f"<agent {self._definition.name} at {self._peer.url.text}>"

    @property
    def definition(self) -> Definition:
        """What it says of itself."""
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Send the request, follow it, put its questions, and give what it came to.

        Raises:
            NotInstalled: The extra `a2a` is missing.
            AccessDenied: Its card leads to another place.
            OutputInvalid: What it answered is not A2A.
            RetinueError: It cannot be reached, refuses, or wants to know who asks.
        """
        client = self._client = self._client or open_client(self._card, self._peer, self._web)
        skill = self._definition.skill_for(task.skill)
        context = ParseContext(
            task_id=task.id,
            agent=self._definition.name,
            skill=skill.name if skill else None,
            data_schema=skill.output_schema if skill else None,
        )
        exchange = _Exchange(client, self._peer, run)
        try:
            if not await exchange.resume():
                await exchange.send(self._request(task, run))
            while exchange.state in _WAITS:
                if exchange.state == "TASK_STATE_AUTH_REQUIRED":
                    raise Unauthenticated(
                        f"{self._peer} wants to be authorised: {exchange.status_text or 'it does not say for what'}.",
                        hint="Do that there, then ask again.",
                    )
                waiting = dialect.parse_result(json.dumps({"task": exchange.task}), context=context)
                for question in waiting.value.questions:
                    answer = await run.ask(question)
                    if answer is None:
                        return remote_reply(waiting, context, self._peer, "a2a")
                    await exchange.send(exchange.answer(f"{task.id}-{question.id}", answer.value))
        except asyncio.CancelledError:
            await exchange.give_up()
            raise
        run.checkpoint.pop("task", None)
        parsed = dialect.parse_result(json.dumps(exchange.outcome()), context=context)
        return remote_reply(parsed, context, self._peer, "a2a")

    def _request(self, task: Task, run: RunContext) -> JsonObject:
        request = outgoing_task(task, self._definition, run.correction)
        skill = self._definition.skill_for(task.skill)
        if skill is not None and skill.input_schema == TASK_SCHEMA:
            words = request.parameters.get("task") or request.instruction
            request = request.model_copy(update={"instruction": words, "parameters": {}, "skill": None})
        if run.correction is not None:
            rendered = dialect.render_retry(request, run.correction)
        else:
            rendered = dialect.render_task(request)
        return cast("JsonObject", json.loads(rendered.text))


class _Exchange:
    """One task of the peer: what it has said of it so far."""

    def __init__(self, client: "Client", peer: Peer, run: RunContext) -> None:
        self._client, self._peer, self._run = client, peer, run
        self.task: JsonObject = {}
        self._message: JsonObject | None = None

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
        """All of the answer."""
        return {"task": self.task} if self._message is None else {"message": self._message}

    async def resume(self) -> bool:
        """Whether there is a task from before this attempt, which is gone on with."""
        known = self._run.checkpoint.get("task")
        if not isinstance(known, str):
            return False
        self.task = {"id": known}
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
        from a2a.types.a2a_pb2 import SendMessageRequest  # noqa: PLC0415 - optional
        from google.protobuf.json_format import MessageToDict, ParseDict  # noqa: PLC0415 - comes with the SDK

        async def follow() -> None:
            async for response in self._client.send_message(ParseDict(request, SendMessageRequest())):
                self._apply(cast("JsonObject", MessageToDict(response)))

        self.task.pop("status", None)
        try:
            await self._call(follow())
        except (NetworkError, DeadlineExceeded):
            if not self.id:
                raise
        if self._message is None and self.state not in _ENDED | _WAITS:
            if not self.id:
                raise OutputInvalid(
                    f"{self._peer} answered with neither a task nor a message.", hint="Tell its author."
                )
            await self._poll()

    async def give_up(self) -> None:
        """Have it canceled there, if it listens."""
        if not self.id or self.state in _ENDED:
            return
        from a2a.types.a2a_pb2 import CancelTaskRequest  # noqa: PLC0415 - optional

        with suppress(RetinueError, TimeoutError):
            async with asyncio.timeout(_GIVE_UP_S):
                await self._call(self._client.cancel_task(CancelTaskRequest(id=self.id)))

    async def _poll(self) -> None:
        """Ask for the task until it has ended or asks."""
        from a2a.types.a2a_pb2 import GetTaskRequest  # noqa: PLC0415 - optional
        from google.protobuf.json_format import MessageToDict  # noqa: PLC0415 - comes with the SDK

        wait_s = _FIRST_WAIT_S
        while True:
            found = await self._call(self._client.get_task(GetTaskRequest(id=self.id)))
            self._apply({"task": cast("JsonObject", MessageToDict(found))})
            if self.state in _ENDED | _WAITS:
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
        if self.id and about and about != self.id:
            raise OutputInvalid(
                f"{self._peer} spoke of another task than the one it was asked.", hint="Tell its author."
            )
        match kind:
            case "message":
                self._message = value
                return
            case "task":
                self.task = value
            case "statusUpdate":
                self.task |= {"id": about, "contextId": value.get("contextId"), "status": value.get("status")}
                if metadata := value.get("metadata"):
                    self.task["metadata"] = metadata
                if self.state not in _ENDED | _WAITS and (text := one_line(self.status_text)):
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
                parts = _parts(each) if update.get("append") else []
                for part in _parts(artifact):
                    if parts and part.keys() == parts[-1].keys() == {"text"}:  # the text goes on
                        parts[-1] = {"text": f"{parts[-1]['text']}{part['text']}"}
                    else:
                        parts.append(part)
                each["parts"] = [*parts]
                return
        artifacts.append(artifact)

    async def _call(self, call: Any) -> Any:
        """What a call of the SDK gives; what it raises is one of our errors."""
        import httpx  # noqa: PLC0415 - comes with the SDK
        from a2a.client.errors import A2AClientError, A2AClientTimeoutError  # noqa: PLC0415 - optional
        from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP, A2AError  # noqa: PLC0415 - optional
        from google.protobuf.message import Error as ProtobufError  # noqa: PLC0415 - comes with the SDK

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
                raise Fault(code=code_of(status), message=message, detail={"status": status}).to_error() from error
            if isinstance(cause, httpx.RequestError):
                raise NetworkError(f"{self._peer} cannot be reached: {words}.", hint="Try later.") from error
            raise OutputInvalid(
                f"{self._peer} answered with what is not A2A: {words}.", hint="Tell its author."
            ) from error
        except A2AError as error:
            code = JSON_RPC_ERROR_CODE_MAP.get(type(error), -32603)
            fault = error_fault(code, one_line(error.message, 500), "", "")
            raise fault.model_copy(update={"message": f"{self._peer} refuses: {fault.message}"}).to_error() from error
        except (ProtobufError, ValueError, TypeError, KeyError, AttributeError, httpx.HTTPError) as error:
            why = type(error).__name__
            raise OutputInvalid(
                f"{self._peer} answered with what is not A2A (`{why}`).", hint="Tell its author."
            ) from error


def _parts(holder: object) -> list[JsonObject]:
    """The parts of a message or an artifact."""
    parts = cast("JsonObject", holder).get("parts") if isinstance(holder, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _text(holder: object) -> str:
    """The text of the parts of a message or an artifact."""
    return "\n".join(text for part in _parts(holder) if isinstance(text := part.get("text"), str))


def open_client(card: JsonObject, peer: Peer, web: WebClient) -> "Client":
    """A client of the SDK for the peer's own interfaces, over guarded connections.

    Raises:
        NotInstalled: The extra `a2a` is missing.
        AccessDenied: None of its interfaces is where its card is.
        InvalidDefinition: It names no interface that can be used.
    """
    try:
        import httpx  # noqa: PLC0415 - comes with the SDK
        from a2a.client import ClientConfig, ClientFactory  # noqa: PLC0415 - optional
        from a2a.client.card_resolver import parse_agent_card  # noqa: PLC0415 - optional
        from google.protobuf.json_format import ParseError  # noqa: PLC0415 - comes with the SDK
    except ImportError as error:
        raise NotInstalled(
            f"The package `{error.name}` is not installed, and {peer} speaks A2A.", hint="install `retinue[a2a]`"
        ) from error
    try:
        parsed = parse_agent_card(cast("dict[str, Any]", json.loads(json.dumps(card))))
    except (ParseError, ValueError, TypeError, AttributeError) as error:
        raise InvalidDefinition(f"The card of {peer} is no card of A2A.", hint="Tell its author.") from error
    elsewhere: RetinueError | None = None
    own: list[AgentInterface] = []
    for each in parsed.supported_interfaces:
        if each.protocol_binding in _BINDINGS:
            try:
                each.url = peer.same_origin(parse_url(each.url)).text
            except RetinueError as error:
                elsewhere = error
            else:
                own.append(each)
    if not own:
        raise elsewhere or InvalidDefinition(
            f"{peer} names no interface of {' or '.join(_BINDINGS)}.", hint="Ask its author for one."
        )
    del parsed.supported_interfaces[:]
    parsed.supported_interfaces.extend(own)
    config = ClientConfig(
        httpx_client=httpx.AsyncClient(transport=_transport(peer, web)), supported_protocol_bindings=[*_BINDINGS]
    )
    return ClientFactory(config).create(parsed)


def _transport(peer: Peer, web: WebClient) -> "httpx.AsyncBaseTransport":
    """What carries the SDK's requests: our own client, to the peer's own origin, with its key."""
    import httpx  # noqa: PLC0415 - comes with the SDK

    class Stream(httpx.AsyncByteStream):
        def __init__(self, body: AsyncIterator[bytes], stack: AsyncExitStack) -> None:
            self._body, self._stack = body, stack

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._body:
                yield chunk

        async def aclose(self) -> None:
            await self._stack.aclose()

    class Transport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            url = peer.same_origin(parse_url(str(request.url)))
            sent: Mapping[str, str] = {
                name.title(): value
                for name, value in request.headers.items()
                if name in {"accept", "content-type", "a2a-version", "a2a-extensions", "x-a2a-extensions"}
            }
            async with AsyncExitStack() as stack:
                response = await stack.enter_async_context(
                    web.stream(
                        url,
                        method=request.method,
                        headers={**sent, **peer.headers()},
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
                    async for chunk in response.body:
                        yield chunk
                    if response.body.truncated:
                        raise OutputInvalid(
                            f"{peer} answered with more than {MAX_ANSWER} bytes, or broke off.", hint="Ask for less."
                        )

                headers = {"Content-Type": response.headers.get("content-type", "")}
                return httpx.Response(status, headers=headers, stream=Stream(body(), stack.pop_all()))

    return Transport()
