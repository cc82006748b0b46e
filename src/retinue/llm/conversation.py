"""Drives a model and its tools until it has answered, or a bound is hit.

Before each request its whole size is reserved in a `BudgetTracker`, so that a bound stops it before it is exceeded; the
output until then is kept. Network failures are not retried here: the caller of an attempt decides that. Which tools may
be used, and by whom, is decided by the function that calls them.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from retinue.contract.result import Usage
from retinue.errors import (
    BudgetExceeded,
    DeadlineExceeded,
    InvalidInput,
    NetworkError,
    OutputInvalid,
    RetinueError,
    Unauthenticated,
    Unavailable,
)
from retinue.telemetry import model_span

from .budget_tracker import BudgetTracker
from .conversation_budget import ConversationBudget
from .port import AssistantMessage, LanguageModel, OnText, Request, Response, ToolResults, Turn, UserMessage
from .tool_calls import RepetitionCounter, ToolCaller, execute_all, pending_calls, with_unique_ids

MAX_TURNS: Final = 50
"""Requests in one conversation: weak models go on with tools for ever."""

MAX_TEXT: Final = 1_000_000
"""Characters of one response that are kept."""

MAX_REPEATS: Final = 5
"""So many times in a row the same may be asked of a tool."""

UNSPENT: Final[tuple[type[RetinueError], ...]] = (Unauthenticated, InvalidInput, Unavailable)
"""A provider that says one of these has not begun to answer."""

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
    budget = ConversationBudget(model, request, budget_tracker or BudgetTracker())
    runner = _ConversationRunner(
        model, request, call_tool, budget, max_turns, on_text, on_turns or (lambda _: None), list(request.turns)
    )
    seconds = None if deadline_ns is None else (deadline_ns - clock()) / 1e9
    try:
        if seconds is None:
            reason = await runner.run()
        elif seconds <= 0:
            raise deadline_error()
        else:
            timer = asyncio.timeout(seconds)
            try:
                async with timer:
                    reason = await runner.run()
            except TimeoutError:
                if not timer.expired():
                    raise
                raise deadline_error() from None
    except RetinueError as error:
        if not runner.usages:
            raise
        reason = error
    return runner.result(reason)


@dataclass(slots=True)
class _ConversationRunner:
    """One conversation as it goes."""

    model: LanguageModel
    request: Request
    call_tool: ToolCaller | None
    budget: ConversationBudget
    max_turns: int
    on_text: OnText | None
    on_turns: Callable[[Sequence[Turn]], None]
    turns: list[Turn]
    repetition: RepetitionCounter = field(default_factory=RepetitionCounter)
    repeats: Sequence[int] = ()
    has_retried: bool = False
    pieces: list[str] = field(default_factory=list[str])
    usages: list[Usage] = field(default_factory=list[Usage])

    async def run(self) -> RetinueError | None:
        """Go on until the model has answered; say why it stopped before that."""
        if pending_calls(self.turns)[0]:
            await self._execute_calls()
        while True:
            if len(self.usages) >= self.max_turns:
                raise max_turns_error(self.max_turns)
            response = await self._request_once()
            turn = response.turn
            if turn.tool_calls:
                self.repeats = self.repetition.count(turn.tool_calls)
                if max(self.repeats) >= MAX_REPEATS:
                    return repetition_error(turn.tool_calls[self.repeats.index(max(self.repeats))].name)
                await self._execute_calls()
            elif turn.text.strip():
                return self._incomplete_error(response)
            elif self.has_retried or response.stop in {"refused", "length"}:
                return self._incomplete_error(response) or OutputInvalid(
                    "The model gave an empty answer twice.", hint="Rephrase the request, or use another model."
                )
            else:
                self.has_retried = True
                self.turns.append(UserMessage(_EMPTY))

    def result(self, error: RetinueError | None) -> Conversation:
        """What there is so far."""
        answers = (turn.text for turn in reversed(self.turns) if isinstance(turn, AssistantMessage) and turn.text)
        return Conversation(
            text="".join(self.pieces) or next(answers, ""),
            turns=tuple(self.turns),
            usage=Usage.total(self.usages) or Usage(),
            requests=len(self.usages),
            error=error,
        )

    async def _request_once(self) -> Response:
        """Make one request, with its size set aside while it is under way."""
        turns = tuple(self.turns)
        max_tokens, reservation = await self.budget.reserve(turns)
        request = replace(self.request, turns=turns, max_tokens=max_tokens)
        try:
            with model_span(self.model.name) as span:
                response = await self.model.respond(request, on_text=self._on_piece if self.on_text else None)
                span.note_usage(response.usage)
        except BaseException as error:
            # What was set aside is free again only if the provider has not begun to answer.
            unreached = isinstance(error, NetworkError) and error.detail.get("reached") is False
            if unreached or isinstance(error, UNSPENT):
                reservation.release()
            else:
                reservation.commit(Usage(requests=1, model=self.model.name))
            raise
        self.pieces.clear()
        self.usages.append(response.usage)
        turn = response.turn
        calls = with_unique_ids(turn.tool_calls) if turn.tool_calls else ()
        if len(turn.text) > MAX_TEXT or calls != turn.tool_calls:
            turn = AssistantMessage(turn.text[:MAX_TEXT], calls)
        if turn.tool_calls or turn.text.strip():
            self.turns.append(turn)
        self.budget.commit(reservation, response.usage, self.turns)
        self.on_turns(self.turns)
        return response if turn is response.turn else replace(response, turn=turn)

    def _on_piece(self, piece: str) -> None:
        """Keep what arrives until its response is whole: when that never comes, this is all there is of it."""
        self.pieces.append(piece)
        if self.on_text is not None:
            self.on_text(piece)

    async def _execute_calls(self) -> None:
        """Have what the last response wants done, and the answers become the next turn."""
        calls, results = pending_calls(self.turns)
        if results:
            self.turns.pop()
        before = tuple(self.turns)
        new_results = await execute_all(
            calls,
            self.request.tools,
            self.call_tool,
            on_results=lambda each: self.on_turns([*before, ToolResults((*results, *each))]),
            repeats=self.repeats,
        )
        self.turns.append(ToolResults((*results, *new_results)))
        self.on_turns(self.turns)

    def _incomplete_error(self, response: Response) -> RetinueError | None:
        """Why an answer without uses is not whole; None when it is."""
        if len(response.turn.text) >= MAX_TEXT:
            return OutputInvalid(
                f"The model's answer is longer than {MAX_TEXT:,} characters, and was cut there.",
                hint="Ask for a shorter answer.",
            )
        if response.stop == "refused":
            return refusal_error()
        if response.stop != "length":
            return None
        return truncation_error(
            self.budget.bound or ("request.max_tokens" if self.request.max_tokens else "model.max_output")
        )


# Why a conversation ends before its answer is complete: the same words for every loop. Provider errors: see `failures`.


def deadline_error() -> DeadlineExceeded:
    """Its time is up."""
    return DeadlineExceeded(
        "The time for the conversation with the model is over.",
        hint="Raise the deadline, or ask for less.",
        detail={"bound": "deadline"},
    )


def max_turns_error(max_turns: int) -> BudgetExceeded:
    """The model was asked as often as it may be."""
    return BudgetExceeded(
        f"The model was asked {max_turns} times without giving an answer (`max_turns`).",
        hint="Raise `max_turns`, ask for less, or use a stronger model.",
        detail={"bound": "max_turns"},
    )


def repetition_error(name: str) -> BudgetExceeded:
    """The same was asked of the tool `name` again and again."""
    return BudgetExceeded(
        f"The model asked for the same use of {name[:80]!r} {MAX_REPEATS} times in a row.",
        hint="Rephrase the request, or use a stronger model.",
        detail={"bound": "repeated_uses"},
    )


def refusal_error() -> OutputInvalid:
    """The model will not answer this."""
    return OutputInvalid(
        "The model, or its provider's filter, refused to answer.",
        hint="Rephrase the request, or use another model.",
        detail={"stop": "refused"},
    )


def truncation_error(bound: str) -> BudgetExceeded:
    """The answer ended where the tokens did that `bound` leaves for one."""
    way = "Use a model that can write more" if bound == "model.max_output" else f"Raise `{bound}`"
    hint = f"{way}, or ask for a shorter answer."
    return BudgetExceeded(
        f"The model's answer was cut off: it has no more tokens (`{bound}`).",
        hint=hint,
        suggestions=(hint,),
        detail={"bound": bound},
    )
