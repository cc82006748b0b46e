"""One call of a tool: its run is followed, what happens is told, what is asked goes to the client."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from retinue.contract.event import Checkpoint, Message, NodeFinished, Progress, QuestionAsked
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Question
from retinue.engine.base import RunRecord
from retinue.errors import Canceled, InvalidInput, Unavailable, UnknownName
from retinue.servers.admission import Caller
from retinue.servers.mcp.questions import answer_value, by_key, elicit_request, input_requests
from retinue.servers.mcp.tools import McpSkill, tool_result
from retinue.servers.service import Service

Context: TypeAlias = ServerRequestContext[Any, Any]
Answer: TypeAlias = types.CallToolResult | types.InputRequiredResult

DOOR: Final = "mcp"
RELATED_META: Final = "io.modelcontextprotocol/related-task"
"""The key of `_meta` that names the task of 2025-11-25 which a message is about."""
DISCONNECTED: Final = "retinue.disconnected"
"""The key of an ASGI scope whose event is set when the client has gone away."""

_SOON_S: Final = 0.05
"""How long a run that nobody watches is waited for before it is followed."""


@dataclass(slots=True)
class ProgressMeter:
    """Counts of a run's phases as one number that only grows, as the protocol wants it."""

    _last: float = -1.0
    _base: float = 0.0
    _phase: str = ""

    def advance(self, phase: str, done: int | None, total: int | None) -> tuple[float, float | None] | None:
        """The number to report, and what it is heading for; None when there is nothing new to report."""
        if phase != self._phase or done is None or self._base + done <= self._last:
            self._phase, self._base = phase, max(self._last, 0.0)
        value = self._base + done if done is not None else self._last + 1
        if value <= self._last:
            return None
        self._last = value
        return value, None if total is None or done is None else self._base + total


@dataclass(frozen=True, slots=True)
class McpCall:
    """A call whose run has been started.

    Attributes:
        context: Of the request.
        caller: Who calls.
        tool: What is called.
        run: The run.
        is_task: It goes on, whatever becomes of this request for its result.
    """

    service: Service
    context: Context
    caller: Caller
    tool: McpSkill
    run: str
    is_task: bool = False

    @property
    def is_modern(self) -> bool:
        """Whether the client speaks the revision in which a server cannot ask, but only answer with questions."""
        return self.context.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def answer(self, responses: Mapping[str, Any] | None, *, resumed: bool) -> Answer:
        """Wait until the run has ended or asks something.

        When the client goes away meanwhile, the run is canceled, but a task is not; when the server stops, it is left.

        Args:
            responses: What the client sent to questions that were asked before.
            resumed: The call goes on with a run that asked something.
        """
        request = self.context.request
        disconnected: anyio.Event = request.scope[DISCONNECTED] if request is not None else anyio.Event()
        following = asyncio.ensure_future(self._follow(responses, resumed=resumed))
        leaving = asyncio.ensure_future(disconnected.wait())
        try:
            await asyncio.wait({following, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            has_left = not following.done()
            following.cancel()
            # Nobody will hear of a run whose question was refused either.
            if not (self.is_task or self.service.closing.is_set()) and (has_left or following.exception()):
                with anyio.CancelScope(shield=True):
                    await self.service.engine.cancel(self.run, reason="The client went away.")
        if has_left:
            raise Canceled("The client went away.")
        return following.result()

    async def _follow(self, responses: Mapping[str, Any] | None, *, resumed: bool) -> Answer:
        if resumed:
            if await self._take(await self._pending(), responses or {}):
                return await self._to_result(await self.service.result(self.run))
            if pending := await self._pending():
                return await self._input_required(pending)
        elif "progress_token" not in (self.context.meta or {}):
            # Most runs end before there is anything to tell, and to follow one costs a sixth of a call.
            result: Result | None = None
            with anyio.move_on_after(_SOON_S):
                result = await self.service.result(self.run)
            if result is not None:
                return await self._to_result(result)
        meter = ProgressMeter()
        async with aclosing(self.service.events(self.run)) as events:
            async for each in events:
                event = each.event
                match event.body:
                    case NodeFinished(result) if not event.node and event.run == self.run:
                        return await self._to_result(result)
                    case QuestionAsked(question) if question.kind != "approval":
                        if answer := await self._ask(question, responses):
                            return answer
                    case Progress(phase, status, done, total):
                        await self._report(meter, phase, status or phase, done, total)
                    case Checkpoint(phase, status):
                        await self._report(meter, phase, status or phase, None, None)
                    case Message(text):
                        await self._report(meter, "", text, None, None)
                    case _:
                        pass
        return await self._to_result(await self.service.result(self.run))

    async def _report(self, meter: ProgressMeter, phase: str, text: str, done: int | None, total: int | None) -> None:
        if step := meter.advance(phase, done, total):
            await self.context.session.report_progress(step[0], step[1], text)

    async def _ask(self, question: Question, responses: Mapping[str, Any] | None) -> Answer | None:
        """Ask the client; None when the run goes on."""
        pending = await self._pending()
        key = next((key for key, each in pending.items() if each.id == question.id), None)
        if key is None:
            return None  # it was answered before, or through another door
        if not can_ask(self.context):
            message = f"The agent asks, and your client cannot show questions: {question.text}"
            if self.is_modern:
                needed: JsonMapping = {"requiredCapabilities": {"elicitation": {}}}
                raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, message, needed)
            raise InvalidInput(message, hint="Say it in the arguments, or use a client with elicitation.")
        if not self.is_modern:
            responses = {key: await self._elicit(question)}
        if responses and await self._take(pending, responses):
            return await self._to_result(await self.service.result(self.run))
        pending = await self._pending()
        return await self._input_required(pending) if self.is_modern and pending else None

    async def _elicit(self, question: Question) -> types.ElicitResult:
        request = elicit_request(question)
        if self.is_task:
            request.params.meta = {RELATED_META: {"taskId": self.run}}
        related = ServerMessageMetadata(related_request_id=self.context.request_id)
        return await self.context.session.send_request(request, types.ElicitResult, metadata=related)

    async def _take(self, questions: Mapping[str, Question], responses: Mapping[str, Any]) -> bool:
        """Answer the run's questions; whether the person did not want to, so that it has been canceled."""
        try:
            await take_responses(self.service, self.caller, await self._record(), questions, responses)
        except Canceled:
            await self._cancel()
            return True
        except UnknownName:
            pass  # another answered meanwhile
        except InvalidInput:
            if not self.is_modern:  # the person is not asked twice for one answer
                raise
        return False

    async def _input_required(self, questions: Mapping[str, Question]) -> types.InputRequiredResult:
        with suppress(Unavailable):  # where nothing can be kept, this process still hears the answer
            await self.service.keep()
        return types.InputRequiredResult(input_requests=input_requests(questions), request_state=self.run)

    async def _to_result(self, result: Result) -> types.CallToolResult:
        return await tool_result(result, self.tool, run=self.run, workspace=self.service.orchestrator.workspace)

    async def _pending(self) -> dict[str, Question]:
        return by_key(await self.service.questions(await self._record()))

    async def _record(self) -> RunRecord:
        return await self.service.find(self.caller, self.run)

    async def _cancel(self) -> None:
        await self.service.cancel(await self._record())


def can_ask(context: Context) -> bool:
    """Whether the client shows forms to its user."""
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    if elicitation is None or (elicitation.url is not None and elicitation.form is None):
        return False
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.can_send_request


async def take_responses(
    service: Service,
    caller: Caller,
    record: RunRecord,
    questions: Mapping[str, Question],
    responses: Mapping[str, Any],
) -> None:
    """Answer those questions that there are responses to; keys that nobody asked for are nothing.

    Raises:
        Canceled: The person did not want to answer.
        InvalidInput: An answer does not fit.
    """
    for key, question in questions.items():
        if key not in responses:
            continue
        try:
            response = types.ElicitResult.model_validate(responses[key], by_name=False)
        except ValidationError:
            raise InvalidInput(f"The response to `{key}` is none of a form.", path=f"/inputResponses/{key}") from None
        await service.answer(caller, record, question.id, answer_value(question, response))
