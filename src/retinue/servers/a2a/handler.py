"""The handler of the SDK over the engine: a task is a run. Only here protobuf meets our JSON."""

import asyncio
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from types import CoroutineType
from typing import Any, Final, TypeVar

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import A2AError
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message as ProtoMessage

from retinue.contract import json
from retinue.contract.model import JsonMapping
from retinue.engine.base import RunFilter, RunRecord
from retinue.errors import InvalidInput, RetinueError
from retinue.servers.a2a.cards import read_card
from retinue.servers.a2a.errors import Refusal, refusal_of, sdk_error
from retinue.servers.a2a.messages import Call, take_message
from retinue.servers.a2a.push import PushSender
from retinue.servers.a2a.tasks import CONTEXT_LABEL, DOOR, context_of, state_of, task_json, updates, wait_until_settled
from retinue.servers.service import Service

CALL: Final = "retinue.call"
"""The key under which the call stands in the scope of a request, and in the state of the SDK's context."""
WINDOW: Final = 1_000
"""Tasks that are put in order by their last change. The next so many, which began before these, follow them."""
MESSAGE_S: Final = 0.5
"""How long a stream waits for an answer that is a message alone. One that takes longer is told as a task."""

_PAGE: Final = 50
_LONGEST_PAGE: Final = 100

ProtoT = TypeVar("ProtoT", bound=ProtoMessage)
ResultT = TypeVar("ResultT")


def _proto(kind: type[ProtoT], value: Mapping[str, Any]) -> ProtoT:
    return ParseDict(dict(value), kind(), ignore_unknown_fields=True)


def _failed(call: Call, error: Exception) -> A2AError:
    """What the SDK is told of a failure; the call keeps what we say of it, for whoever writes the answer."""
    call.failure = refusal_of(error)
    return sdk_error(call.failure)


def _checked(
    method: Callable[["AgentHandler", Any, Call], Awaitable[ResultT]],
) -> "Callable[..., CoroutineType[Any, Any, ResultT]]":
    """`method`, called with the call in place of the SDK's context, and with its failures told to both sides."""

    @functools.wraps(method)
    async def run(self: "AgentHandler", params: ProtoMessage, context: ServerCallContext) -> ResultT:
        call: Call = context.state[CALL]
        try:
            validate_proto_required_fields(params)
            return await method(self, params, call)
        except Exception as error:  # noqa: BLE001 - told by `_failed`, which logs what is not ours
            raise _failed(call, error) from call.failure

    return run


class AgentHandler(RequestHandler):
    """Answers requests with the runs of a service.

    Args:
        service: Where tasks run.
        push: Sends updates to addresses.
        card_of: Gives the card for a call.
    """

    def __init__(self, service: Service, push: PushSender, card_of: Callable[[Call], JsonMapping]) -> None:
        self._service, self._push, self._card_of = service, push, card_of

    # Messages

    @_checked
    async def on_message_send(self, params: pb.SendMessageRequest, call: Call) -> pb.Task | pb.Message:
        """Do what a message asks, and wait until it is done or something is asked, unless it says not to."""
        run, _ = await self._take(params, call)
        if params.configuration.return_immediately:
            await self._service.keep()
        else:
            await wait_until_settled(self._service, run)
        record = await self._service.engine.get(run)
        body = await self._task(call, record, params.configuration, form="http")
        return _proto(pb.Message, body["message"]) if "message" in body else _proto(pb.Task, body["task"])

    async def on_message_send_stream(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Any]:
        """The same, told as it happens."""
        call: Call = context.state[CALL]
        try:
            validate_proto_required_fields(params)
            run, after_ns = await self._take(params, call)
            await self._service.keep()
            with suppress(TimeoutError):
                async with asyncio.timeout(MESSAGE_S):
                    await wait_until_settled(self._service, run, or_update=True)
            record = await self._service.engine.get(run)
            if record.ended_ns is not None:
                body = await self._task(call, record, params.configuration, form="http")
                if "message" in body:
                    yield _event(body)
                    return
            record = replace(record, lifecycle="working", outcome=None, ended_ns=None)
            async with aclosing(updates(self._service, record, call.address, after_ns=after_ns)) as stream:
                async for update in stream:
                    yield _event(update)
        except Exception as error:  # noqa: BLE001 - told by `_failed`, which logs what is not ours
            raise _failed(call, error) from call.failure

    async def on_subscribe_to_task(
        self, params: pb.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Any]:
        """What becomes of a task that is under way."""
        call: Call = context.state[CALL]
        try:
            validate_proto_required_fields(params)
            record = await call.find(self._service, params.id)
            if record.ended_ns is not None:
                raise Refusal("UNSUPPORTED_OPERATION", "The task has ended.", "Get it.")
            async with aclosing(updates(self._service, record, call.address, to_the_end=True)) as stream:
                async for update in stream:
                    yield _event(update)
        except Exception as error:  # noqa: BLE001 - told by `_failed`, which logs what is not ours
            raise _failed(call, error) from call.failure

    async def _take(self, params: pb.SendMessageRequest, call: Call) -> tuple[str, int]:
        configuration = params.configuration
        wish, config = MessageToDict(params), None
        if configuration.HasField("task_push_notification_config"):
            config = wish["configuration"].pop("taskPushNotificationConfig")  # whose secrets no agent is told
            await self._push.check(call.caller, config)
        run, after_ns = await take_message(self._service, call, wish)
        if config is not None:
            await self._push.add(call.caller, await self._service.engine.get(run), config, call.address)
        return run, after_ns

    async def _task(self, call: Call, record: RunRecord, params: Any, *, form: str = "task") -> JsonMapping:
        history: int | None = params.history_length if params.HasField("history_length") else None
        if (history or 0) < 0:
            raise InvalidInput("`historyLength` is a count.", path="/historyLength")
        if isinstance(params, pb.ListTasksRequest):  # what was said is read for each task by itself
            history = history or 0
        return await task_json(self._service, record, call.address, history=history, form=form)

    # Tasks

    @_checked
    async def on_get_task(self, params: pb.GetTaskRequest, call: Call) -> pb.Task | None:
        """What a task is at, or has come to."""
        return _proto(pb.Task, await self._task(call, await call.find(self._service, params.id), params))

    @_checked
    async def on_cancel_task(self, params: pb.CancelTaskRequest, call: Call) -> pb.Task | None:
        """Stop a task, and wait until it has."""
        record = await call.find(self._service, params.id)
        if record.ended_ns is not None:
            raise Refusal("TASK_NOT_CANCELABLE", "The task has ended.", "Get it.")
        await self._service.cancel(record)
        record = await self._service.engine.get(record.run)
        return _proto(pb.Task, await task_json(self._service, record, call.address))

    @_checked
    async def on_list_tasks(self, params: pb.ListTasksRequest, call: Call) -> pb.ListTasksResponse:
        """The tasks of the caller on this route, those that changed last first, a page at a time: see `WINDOW`."""
        size = params.page_size if params.HasField("page_size") else _PAGE
        if not 1 <= size <= _LONGEST_PAGE:
            raise InvalidInput(f"`pageSize` is a count of 1 to {_LONGEST_PAGE}.", path="/pageSize")
        window, last = _read_token(params.page_token)
        records, rest, total = await self._records(params, call, window)
        # Tasks that have changed since the page before stand before its end.
        begin = 0 if last is None else sum(_place(each) >= last for each in records)
        page = records[begin : begin + size]
        tasks = [await self._task(call, each, params) for each in page]
        for task in () if params.include_artifacts else tasks:
            task.pop("artifacts", None)
        token = f"{rest}|" if rest else ""
        if begin + size < len(records):
            token = "{}|{}.{}".format(window, *_place(page[-1]))
        return pb.ListTasksResponse(
            tasks=[_proto(pb.Task, each) for each in tasks], next_page_token=token, page_size=size, total_size=total
        )

    async def _records(self, params: pb.ListTasksRequest, call: Call, window: str) -> tuple[list[RunRecord], str, int]:
        """The tasks of one window, or all that a filter leaves; where the next window begins; how many there are."""
        service, engine, owner = self._service, self._service.engine, call.caller.owner
        labels = {"door": DOOR, **({"agent": call.agent_name} if call.agent_name else {})}
        labels |= {CONTEXT_LABEL: params.context_id} if params.context_id else {}
        where = RunFilter(owner=owner, labels=labels)
        is_filtered = bool(params.status or params.HasField("status_timestamp_after"))
        records, rest = list[RunRecord](), window
        while True:
            records += (page := await engine.list(limit=WINDOW, where=replace(where, after=rest)))
            rest = page[-1].cursor if len(page) == WINDOW else ""
            if not (rest and is_filtered):
                break
        total = await engine.count(where) if rest or window else len(records)
        if params.context_id and not rest:
            with suppress(RetinueError):  # the run that the conversation is called after
                first = await call.find(service, params.context_id)
                records += [first] if context_of(first) == params.context_id else []
                total += context_of(first) == params.context_id
        if params.status:
            state = pb.TaskState.Name(params.status)
            records = [each for each in records if await state_of(service, each) == state]
        if params.HasField("status_timestamp_after"):
            since_ns = params.status_timestamp_after.ToNanoseconds()
            records = [each for each in records if _place(each)[0] > since_ns]
        return sorted(records, key=_place, reverse=True), rest, len(records) if is_filtered else total

    # Push

    @_checked
    async def on_create_task_push_notification_config(
        self, params: pb.TaskPushNotificationConfig, call: Call
    ) -> pb.TaskPushNotificationConfig:
        """Send the updates of a task to an address."""
        record = await call.find(self._service, params.task_id)
        config = await self._push.add(call.caller, record, MessageToDict(params), call.address)
        return _proto(pb.TaskPushNotificationConfig, config)

    @_checked
    async def on_get_task_push_notification_config(
        self, params: pb.GetTaskPushNotificationConfigRequest, call: Call
    ) -> pb.TaskPushNotificationConfig:
        """One of these addresses."""
        record = await call.find(self._service, params.task_id)
        return _proto(pb.TaskPushNotificationConfig, self._push.get(record.run, params.id or record.run))

    @_checked
    async def on_list_task_push_notification_configs(
        self, params: pb.ListTaskPushNotificationConfigsRequest, call: Call
    ) -> pb.ListTaskPushNotificationConfigsResponse:
        """All of them."""
        record = await call.find(self._service, params.task_id)
        configs = [_proto(pb.TaskPushNotificationConfig, each) for each in self._push.list(record.run)]
        return pb.ListTaskPushNotificationConfigsResponse(configs=configs)

    @_checked
    async def on_delete_task_push_notification_config(
        self, params: pb.DeleteTaskPushNotificationConfigRequest, call: Call
    ) -> None:
        """Send no more to one of them."""
        record = await call.find(self._service, params.task_id)
        await self._push.remove(record.run, params.id)

    @_checked
    async def on_get_extended_agent_card(self, params: pb.GetExtendedAgentCardRequest, call: Call) -> pb.AgentCard:
        """The card, for gRPC only: protobuf makes `1.0` of the `1` of a schema, so the others answer without this."""
        del params
        return read_card(json.dumps(self._card_of(call)))


def _event(update: JsonMapping) -> Any:
    """An update as the SDK wants it."""
    ((kind, body),) = update.items()
    kinds: dict[str, type[ProtoMessage]] = {
        "task": pb.Task,
        "message": pb.Message,
        "statusUpdate": pb.TaskStatusUpdateEvent,
        "artifactUpdate": pb.TaskArtifactUpdateEvent,
    }
    return _proto(kinds[kind], body)


def _place(record: RunRecord) -> tuple[int, str]:
    return record.ended_ns or record.started_ns, record.run


def _read_token(text: str) -> tuple[str, tuple[int, str] | None]:
    """Where the window of a page begins, and the last task of the page before in it.

    Raises:
        InvalidInput: It is no token.
    """
    window, bar, last = text.rpartition("|")
    at, dot, run = last.partition(".")
    if not text or (bar and not last):
        return window, None
    if not (bar and dot and at.isascii() and at.isdecimal() and len(at) < 20 and run):
        raise InvalidInput("The `pageToken` is none.", hint="Use the one that came with the page before.")
    return window, (int(at), run)
