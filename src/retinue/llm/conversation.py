"""Drives a model and its tools until it has answered, or a bound is hit.

Before each request its whole size is set aside in a purse, so that a bound stops it before it is passed; what was said
until then is kept. Failures of the network are not tried again here: whoever makes an attempt decides that. Which tools
may be used, and by whom, is the business of the function that uses them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from retinue.contract.result import Usage
from retinue.errors import NetworkError, OutputInvalid, RetinueError
from retinue.telemetry import model_span

from . import conversation_errors
from ._timeout import in_time
from .budget_tracker import BudgetTracker, Reservation
from .conversation_budget import ConversationBudget
from .port import AssistantMessage, LanguageModel, OnText, Request, Response, ToolResult, ToolResults, Turn, UserMessage
from .tool_calls import RepetitionCounter, ToolCaller, execute_all, pending_calls, with_unique_ids

MAX_TURNS: Final = 50
"""Requests in one conversation: weak models go on with tools for ever."""

MAX_TEXT: Final = 1_000_000
"""Characters of one response that are kept."""

_EMPTY: Final = "Your answer was empty. Answer now, or use a tool."


@dataclass(frozen=True, slots=True)
class Conversation:
    """What came of a conversation.

    Attributes:
        text: The last that the model said in words; the answer, unless `error`: then it may be a piece of one.
        turns: All turns, those it began with included.
        usage: What all requests took together.
        requests: How many were made.
        error: Why it ended before the answer was whole; what there is until then is kept.
    """

    text: str
    turns: tuple[Turn, ...]
    usage: Usage
    requests: int
    error: RetinueError | None = None


async def converse(
    model: LanguageModel,
    request: Request,
    *,
    call_tool: ToolCaller | None = None,
    budget_tracker: BudgetTracker | None = None,
    max_turns: int = MAX_TURNS,
    on_text: OnText | None = None,
    on_turns: Callable[[Sequence[Turn]], None] | None = None,
    clock: Callable[[], int] = time.time_ns,
    deadline_ns: int | None = None,
) -> Conversation:
    """Ask `model`, do what it wants done, tell it what came of it, until it answers.

    A request whose turns end in the middle (a tool was asked for, and not answered yet) goes on from there.

    Args:
        model: Who is asked.
        request: What it is asked first; every later request is the same with more turns.
        call_tool: Uses a tool. What it raises is told to the model.
        budget_tracker: What may be spent; nothing bounds it when absent.
        max_turns: The most requests.
        on_text: Hears the text as it arrives.
        on_turns: Hears all turns whenever there is something new, so that a conversation can be taken up again.
        clock: Nanoseconds since 1970 UTC.
        deadline_ns: When it must be over, by `clock`.

    Raises:
        RetinueError: Whatever kept the first response from coming, as `LanguageModel.respond` raises it.
        BudgetExceeded: Not even one request fits.
        DeadlineExceeded: The time was over before the first response.
    """
    runner = _ConversationRunner(
        model,
        request,
        call_tool=call_tool,
        budget_tracker=budget_tracker,
        max_turns=max_turns,
        on_text=on_text,
        on_turns=on_turns,
    )
    try:
        if deadline_ns is None:
            reason = await runner.run()
        else:
            reason = await _within(runner, (deadline_ns - clock()) / 1e9)
    except RetinueError as error:
        if not runner.usages:
            raise
        reason = error
    return runner.result(reason)


async def _within(runner: "_ConversationRunner", seconds: float) -> RetinueError | None:
    if seconds <= 0:
        raise conversation_errors.deadline_error()
    reason, timely = await in_time(runner.run(), seconds)
    if not timely:
        raise conversation_errors.deadline_error()
    return reason


class _ConversationRunner:
    """One conversation as it goes."""

    def __init__(
        self,
        model: LanguageModel,
        request: Request,
        *,
        call_tool: ToolCaller | None,
        budget_tracker: BudgetTracker | None,
        max_turns: int,
        on_text: OnText | None,
        on_turns: Callable[[Sequence[Turn]], None] | None,
    ) -> None:
        self._model, self._request, self._call_tool = model, request, call_tool
        self._max_turns, self._on_text, self._on_turns = max_turns, on_text, on_turns
        self._turns: list[Turn] = list(request.turns)
        self._budget = ConversationBudget(model, request, budget_tracker) if budget_tracker is not None else None
        self._repetition = RepetitionCounter()
        self._repeats: Sequence[int] = ()
        self._has_retried = False
        self._pieces: list[str] = []
        self.usages: list[Usage] = []

    async def run(self) -> RetinueError | None:
        """Go on until the model has answered; say why it stopped before that."""
        if pending_calls(self._turns)[0]:
            await self._execute_calls()
        while True:
            if len(self.usages) >= self._max_turns:
                raise conversation_errors.max_turns_error(self._max_turns)
            response = await self._request_once()
            turn = response.turn
            if turn.tool_calls:
                self._repeats = self._repetition.count(turn.tool_calls)
                if max(self._repeats) >= conversation_errors.MAX_REPEATS:
                    return conversation_errors.repetition_error(
                        turn.tool_calls[self._repeats.index(max(self._repeats))].name
                    )
                await self._execute_calls()
            elif turn.text.strip():
                return self._incomplete_error(response)
            elif self._has_retried or response.stop in {"refused", "length"}:
                return self._incomplete_error(response) or _empty_answer_error()
            else:
                self._has_retried = True
                self._turns.append(UserMessage(_EMPTY))

    def result(self, error: RetinueError | None) -> Conversation:
        """What there is so far."""
        answers = (turn.text for turn in reversed(self._turns) if isinstance(turn, AssistantMessage) and turn.text)
        return Conversation(
            text="".join(self._pieces) or next(answers, ""),
            turns=tuple(self._turns),
            usage=Usage.total(self.usages) or Usage(),
            requests=len(self.usages),
            error=error,
        )

    async def _request_once(self) -> Response:
        """Make one request, with its size set aside while it is under way."""
        request, reservation = await self._next_request()
        try:
            with model_span(self._model.name) as span:
                response = await self._model.respond(request, on_text=self._on_piece if self._on_text else None)
                span.note_usage(response.usage)
        except BaseException as error:
            if reservation is not None:
                # The request failed: what was set aside is free again if the provider has not begun to
                # answer.
                unreached = isinstance(error, NetworkError) and error.detail.get("reached") is False
                if unreached or isinstance(error, conversation_errors.UNSPENT):
                    reservation.release()
                else:
                    reservation.commit(Usage(requests=1, model=self._model.name))
            raise
        self._pieces.clear()
        self.usages.append(response.usage)
        turn = _normalized(response.turn)
        if turn.tool_calls or turn.text.strip():
            self._turns.append(turn)
        if reservation is not None and self._budget is not None:
            self._budget.commit(reservation, response.usage, self._turns)
        if self._on_turns is not None:
            self._on_turns(self._turns)
        return response if turn is response.turn else replace(response, turn=turn)

    def _on_piece(self, piece: str) -> None:
        """Keep what arrives until its response is whole: when that never comes, this is all there is of it."""
        self._pieces.append(piece)
        if self._on_text is not None:
            self._on_text(piece)

    async def _next_request(self) -> tuple[Request, Reservation | None]:
        request = self._request
        if len(self._turns) == len(request.turns) and self._budget is None:
            return request, None
        turns = tuple(self._turns)
        if self._budget is None:
            return replace(request, turns=turns), None
        max_tokens, reservation = await self._budget.reserve(turns)
        if len(turns) == len(request.turns) and max_tokens == request.max_tokens:
            return request, reservation
        return replace(request, turns=turns, max_tokens=max_tokens), reservation

    async def _execute_calls(self) -> None:
        """Have what the last response wants done, and the answers become the next turn."""
        turns, on_turns = self._turns, self._on_turns
        calls, results = pending_calls(turns)
        if results:
            turns.pop()
        place = len(turns)

        def on_results(new_results: Sequence[ToolResult]) -> None:
            if on_turns is not None:
                on_turns([*turns[:place], ToolResults((*results, *new_results))])

        new_results = await execute_all(
            calls, self._request.tools, self._call_tool, on_results=on_results, repeats=self._repeats
        )
        turns.append(ToolResults((*results, *new_results)))
        if on_turns is not None:
            on_turns(turns)

    def _incomplete_error(self, response: Response) -> RetinueError | None:
        """Why an answer without uses is not whole; None when it is."""
        if len(response.turn.text) >= MAX_TEXT:
            return OutputInvalid(
                f"The model's answer is longer than {MAX_TEXT:,} characters, and was cut there.",
                hint="Ask for a shorter answer.",
            )
        if response.stop == "refused":
            return conversation_errors.refusal_error()
        if response.stop != "length":
            return None
        bound = self._budget.bound if self._budget else None
        return conversation_errors.truncation_error(
            bound or ("request.max_tokens" if self._request.max_tokens else "model.max_output")
        )


def _normalized(turn: AssistantMessage) -> AssistantMessage:
    """The same turn with ids that differ, and no longer than anybody reads."""
    calls = with_unique_ids(turn.tool_calls) if turn.tool_calls else ()
    if len(turn.text) <= MAX_TEXT and calls == turn.tool_calls:
        return turn
    return AssistantMessage(turn.text[:MAX_TEXT], calls)


def _empty_answer_error() -> OutputInvalid:
    return OutputInvalid("The model gave an empty answer twice.", hint="Rephrase the request, or use another model.")
