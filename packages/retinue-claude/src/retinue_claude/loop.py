"""The loop of Claude Code in place of ours: it asks the model, and every tool it wants used is used here.

One process answers one attempt. What came of it is noted as our own loop would note it, with Claude Code's transcript
beside, so that a correction is one more turn of the very same conversation.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from retinue.contract.model import JsonMapping
from retinue.contract.result import Cost, Usage
from retinue.errors import InvalidInput, OutputInvalid, RetinueError, Unavailable
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.conversation import (
    MAX_REPEATS,
    UNSPENT,
    Conversation,
    deadline_error,
    max_turns_error,
    repetition_error,
)
from retinue.llm.models import Models
from retinue.llm.port import (
    AssistantMessage,
    LanguageModel,
    OnText,
    Request,
    ToolResult,
    ToolResults,
    Turn,
    UserMessage,
)
from retinue.llm.tool_calls import RepetitionCounter, ToolCaller, execute_all, pending_calls
from retinue.processes.child import finish_shielded

from . import failures
from .claude_model import ClaudeModel, claude_model
from .home import ClaudeHome, Session, read_session
from .launch import argument_vector, environment, find_claude
from .replay_prompt import replay_prompt
from .sdk import Client, load_sdk, open_client
from .session_budget import SessionBudget
from .stream_parser import FinalResult, StreamParser
from .transport import ClaudeTransport

_NATIVE: Final = "claude-code"
_SILENCE_S: Final = 900.0
_MARGIN_S: Final = 30.0


class ClaudeCode:
    """Drives a model by Claude Code.

    Args:
        program: The program; that of the SDK, else that of the PATH, when empty.
        silence_s: After so many seconds without a word, and with no tool at work, it is given up.
    """

    def __init__(self, *, program: str = "", silence_s: float = _SILENCE_S) -> None:
        self._program, self._silence_s = program, silence_s

    def model(self, name: str, models: Models, /) -> LanguageModel:
        """The model called `name`.

        Raises:
            NotInstalled: claude-agent-sdk or Claude Code itself is missing.
            InvalidInput: It is none of Anthropic's.
            Unauthenticated: There is no key.
        """
        sdk = load_sdk()
        if not self._program:
            find_claude(sdk)
        return claude_model(name, models)

    async def converse(
        self,
        model: LanguageModel,
        request: Request,
        /,
        *,
        call_tool: ToolCaller,
        budget_tracker: BudgetTracker,
        max_turns: int,
        on_text: OnText,
        on_turns: Callable[[Sequence[Turn]], None],
        clock: Callable[[], int],
        deadline_ns: int | None,
    ) -> Conversation:
        """Have Claude Code ask `model` until it has answered, as `llm.converse.converse` does.

        Raises:
            RetinueError: Whatever kept the first response from coming.
        """
        if not isinstance(model, ClaudeModel):
            raise InvalidInput(f"Claude Code cannot ask `{model.name}`.", hint="Take the model from this loop.")
        program = self._program or find_claude(load_sdk())
        runner = _ClaudeRunner(
            model,
            request,
            call_tool=call_tool,
            budget_tracker=budget_tracker,
            max_turns=max_turns,
            on_text=on_text,
            on_turns=on_turns,
            clock=clock,
        )
        reason: RetinueError | None = None
        timer = asyncio.timeout(None if deadline_ns is None else max(0.0, (deadline_ns - clock()) / 1e9))
        try:
            async with timer:
                await runner.run(program, silence_s=self._silence_s)
        except TimeoutError:
            if not timer.expired():
                raise
            reason = deadline_error()
        except RetinueError as error:
            reason = error
        if reason is not None and not runner.has_begun:
            raise reason
        return runner.result(reason)


class _ClaudeRunner:
    """One attempt as it goes."""

    def __init__(
        self,
        model: ClaudeModel,
        request: Request,
        *,
        call_tool: ToolCaller,
        budget_tracker: BudgetTracker,
        max_turns: int,
        on_text: OnText,
        on_turns: Callable[[Sequence[Turn]], None],
        clock: Callable[[], int],
    ) -> None:
        self._model, self._request, self._call_tool, self._budget_tracker = model, request, call_tool, budget_tracker
        self._max_turns, self._on_text, self._on_turns, self._clock = max_turns, on_text, on_turns, clock
        self._turns: tuple[Turn, ...] = request.turns
        self._used: list[Usage] = []
        self._parser = self._new_parser(())
        self._session_budget = SessionBudget(model, request, budget_tracker)
        self._repetition = RepetitionCounter()
        self._message_event = asyncio.Event()
        self._running_tools = 0
        self._last_message_at = 0.0
        self._session: Session | None = None
        self._usd_before: float | None = None
        self._end: asyncio.Future[RetinueError | None] | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the model has answered at all."""
        return bool(self._parser.usages)

    async def run(self, program: str, *, silence_s: float) -> None:
        """Go on until the model has answered.

        Raises:
            RetinueError: Why it stopped before that.
        """
        await self._execute_pending()
        session = _resumable_session(self._turns)
        if session is not None:
            try:
                await self._process(program, session, silence_s=silence_s)
            except (OutputInvalid, Unavailable):
                if self.has_begun:
                    raise
            else:
                return
        await self._process(program, None, silence_s=silence_s)  # what Claude Code does not know any more is told anew

    def result(self, error: RetinueError | None) -> Conversation:
        """What there is so far."""
        parser, result = self._parser, self._parser.result
        turns = parser.turns
        if error is None and result is not None:
            text, turns = result.text, _with_answer(turns, result.text, self._native())
        else:
            texts = (turn.text for turn in reversed(turns) if isinstance(turn, AssistantMessage) and turn.text)
            text = parser.partial_text or next(texts, "")
        return Conversation(
            text=text, turns=turns, usage=self._usage() or Usage(), requests=len(parser.usages), error=error
        )

    # One process

    async def _process(self, program: str, session: Session | None, *, silence_s: float) -> None:
        self._usd_before = None if session is None else session.usd
        self._parser = self._new_parser(self._turns)
        self._session_budget = SessionBudget(self._model, self._request, self._budget_tracker)
        await self._session_budget.begin(self._turns)
        failed: BaseException | None = None
        home = ClaudeHome()
        try:
            if session is not None:
                home.write_session(session)
            argv = argument_vector(program, self._model, self._request, home=home, max_turns=self._max_turns)
            if session is not None:
                argv.append(f"--resume={session.id}")
            env = environment(self._model, home=home, max_tokens=self._session_budget.max_tokens)
            transport = ClaudeTransport(tuple(argv), cwd=str(home.work), env=env, listener=self)
            client = open_client(load_sdk(), transport, self._request.tools, self._handle_call)
            # Say `prompt`, and wait for the end.
            prompt = _prompt(self._turns, session)
            loop = asyncio.get_running_loop()
            self._last_message_at = loop.time()
            self._end = loop.create_future()
            prompt_task = asyncio.create_task(self._send_prompt(client, prompt))
            try:
                await self._wait_for_end(self._end, silence_s=silence_s)
            except BaseException:
                await finish_shielded(_close(client, transport.stop, prompt_task))
                raise
            await finish_shielded(_close(client, transport.close, prompt_task))
            self._check_result()
        except BaseException as error:
            failed = error
            raise
        finally:
            self._session_budget.end(self._usage(), unspent=failed is None or isinstance(failed, UNSPENT))
            self._session = home.read_session_file(self._parser.session, usd=self._usd())
            home.close()

    async def _wait_for_end(self, end: "asyncio.Future[RetinueError | None]", *, silence_s: float) -> None:
        loop = asyncio.get_running_loop()
        while not end.done():
            timeout = silence_s if self._running_tools else silence_s - (loop.time() - self._last_message_at)
            if timeout <= 0:
                raise failures.silence_error(silence_s)
            await asyncio.wait({end}, timeout=timeout)
        if (error := end.result()) is not None:
            raise error

    async def _send_prompt(self, client: Client, prompt: str) -> None:
        try:
            await client.connect()
            await client.query(prompt)
        except RetinueError as error:
            self.on_end(error)
        except Exception as error:  # noqa: BLE001 - the SDK's own errors, and it raises bare ones too
            await asyncio.sleep(0)
            self.on_end(failures.protocol_error(str(error)))

    # What it hears

    def on_message(self, message: JsonMapping) -> None:
        """Claude Code said something."""
        self._last_message_at = asyncio.get_running_loop().time()
        self._parser.feed(message)
        self._message_event.set()
        if self._parser.result is not None:
            self.on_end(None)

    def on_end(self, reason: RetinueError | None) -> None:
        """It is over; who says so first is right."""
        if self._end is not None and not self._end.done():
            self._end.set_result(reason)

    async def _handle_call(self, name: str, arguments: JsonMapping) -> tuple[str, bool]:
        """Use a tool, if there may be a further request with what it says."""
        call = self._parser.begin_call(name, arguments)
        (count,) = self._repetition.count((call,))
        self._running_tools += 1
        try:
            if count >= MAX_REPEATS:
                raise repetition_error(name)
            (result,) = await execute_all(
                (call,), self._request.tools, self._call_tool, on_results=_ignore_results, repeats=(count,)
            )
            self._parser.add_result(result)
            while self._parser.is_streaming:
                self._message_event.clear()
                await self._message_event.wait()
            if len(self._parser.usages) >= self._max_turns:
                raise max_turns_error(self._max_turns)
            await self._session_budget.go_on(self._parser.turns)
        except RetinueError as error:
            self.on_end(error)
            await asyncio.Event().wait()  # until we are cancelled: an answer would have the model asked again
            raise
        finally:
            self._running_tools -= 1
            self._last_message_at = asyncio.get_running_loop().time()
        return result.text, result.failed

    def _new_parser(self, turns: tuple[Turn, ...]) -> StreamParser:
        def on_usage(usage: Usage) -> None:
            self._session_budget.commit(usage, self._parser.turns)

        return StreamParser(turns, model=self._model, on_text=self._on_text, on_turns=self._on_turns, on_usage=on_usage)

    async def _execute_pending(self) -> None:
        """Have done what a response wanted done when an earlier attempt was stopped; its answers are told."""
        calls, results = pending_calls(self._turns)
        if not calls:
            return
        turns = self._turns[:-1] if results else self._turns

        def on_results(new_results: Sequence[ToolResult]) -> None:
            self._on_turns([*turns, ToolResults((*results, *new_results))])

        new_results = await execute_all(calls, self._request.tools, self._call_tool, on_results=on_results)
        self._turns = (*turns, ToolResults((*results, *new_results)))
        self._on_turns(self._turns)

    # What came of it

    def _check_result(self) -> None:
        """See that the end is an answer.

        Raises:
            RetinueError: It is none, or not a whole one.
        """
        result = self._parser.result
        if result is None:  # pragma: no cover - it has ended well, so it said how
            return
        if result.failed:
            raise failures.result_error(
                result.subtype, result.status, result.text, model=self._model.name, max_turns=self._max_turns
            )
        error = failures.stop_error(result.stop, self._session_budget.bound)
        if error is not None:
            raise error
        if not result.text.strip():
            raise OutputInvalid("The model gave an empty answer.", hint="Rephrase the request, or use another model.")

    def _usage(self) -> Usage | None:
        """What this attempt took: as Claude Code says at its end, else as its responses said."""
        parser = self._parser
        response_usage = Usage.total(parser.usages)
        result = parser.result
        if result is None or result.usage is None or response_usage is None:
            return response_usage
        usage = result.usage
        if self._model.own_price:
            return usage
        return usage.model_copy(update={"cost": self._cost(result)})

    def _cost(self, result: FinalResult) -> Cost | None:
        """What Claude Code says that it cost. At an address of one's own its prices hold for nothing."""
        if result.usd is None or self._model.address:
            return None
        usd = result.usd - (self._usd_before or 0.0)
        if usd < 0:
            return None  # it has forgotten what was before
        today = datetime.fromtimestamp(self._clock() / 1e9, tz=UTC).date().isoformat()
        return Cost(usd=usd, price_id=f"claude-code-{self._parser.version} (as it says)", price_date=today)

    def _usd(self) -> float | None:
        return None if self._parser.result is None else self._parser.result.usd

    def _native(self) -> JsonMapping | None:
        session = self._session
        if session is None:
            return None
        native: JsonMapping = {"provider": _NATIVE, "session": session.id, "transcript": session.transcript}
        return native if session.usd is None else {**native, "usd": session.usd}


def _ignore_results(results: Sequence[ToolResult]) -> None:
    """One use is told when it is done, by whoever had it done."""


async def _close(client: Client, end: Callable[[], Awaitable[None]], prompt_task: "asyncio.Task[None]") -> None:
    prompt_task.cancel()
    with suppress(asyncio.CancelledError):
        await prompt_task
    # Side by side: one ends the program, the other the calls of tools that are under way.
    await asyncio.gather(end(), _disconnect(client))


async def _disconnect(client: Client) -> None:
    with suppress(Exception):  # whatever the SDK finds wrong with its end, the program is gone
        async with asyncio.timeout(_MARGIN_S):
            await client.disconnect()


def _resumable_session(turns: Sequence[Turn]) -> Session | None:
    """The conversation that `turns` end with and that Claude Code itself can go on with."""
    for place in range(len(turns) - 1, -1, -1):
        turn = turns[place]
        if isinstance(turn, AssistantMessage):
            return read_session(turn.native, provider=_NATIVE) if place < len(turns) - 1 else None
        if not isinstance(turn, UserMessage):
            return None
    return None


def _prompt(turns: Sequence[Turn], session: Session | None) -> str:
    if session is None:
        return replay_prompt(turns)
    last = max(place for place, turn in enumerate(turns) if isinstance(turn, AssistantMessage))
    return replay_prompt(turns[last + 1 :])


def _with_answer(turns: tuple[Turn, ...], text: str, native: JsonMapping | None) -> tuple[Turn, ...]:
    """`turns` ending with the answer, and what Claude Code needs to go on from there."""
    last = turns[-1] if turns else None
    if isinstance(last, AssistantMessage) and not last.tool_calls:
        return (*turns[:-1], replace(last, text=text, native=native))
    return (*turns, AssistantMessage(text, native=native))
