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

from . import endings
from ._timed import in_time
from .allowance import Allowance
from .port import Answered, Hear, LanguageModel, Request, Response, Said, ToolAnswer, ToolAnswers, Turn
from .purse import Hold, Purse
from .uses import Repetition, Use, answer_all, named_apart, pending

__all__ = ["MAX_TEXT", "MAX_TURNS", "Conversation", "converse"]

MAX_TURNS: Final = 50
"""Requests in one conversation: weak models go on with tools for ever."""

MAX_TEXT: Final = 1_000_000
"""Characters of one response that are kept."""

_EMPTY: Final = "Your answer was empty. Answer now, or use a tool."


@dataclass(frozen=True, slots=True)
class Conversation:
    """What came of a conversation.

    Attributes:
        text: The last that the model said in words; the answer, unless `stopped`: then it may be a piece of one.
        turns: All turns, those it began with included.
        usage: What all requests took together.
        requests: How many were made.
        stopped: Why it ended before the answer was whole; what there is until then is kept.
    """

    text: str
    turns: tuple[Turn, ...]
    usage: Usage
    requests: int
    stopped: RetinueError | None = None


async def converse(
    model: LanguageModel,
    request: Request,
    *,
    use: Use | None = None,
    purse: Purse | None = None,
    max_turns: int = MAX_TURNS,
    hear: Hear | None = None,
    keep: Callable[[Sequence[Turn]], None] | None = None,
    clock: Callable[[], int] = time.time_ns,
    deadline_ns: int | None = None,
) -> Conversation:
    """Ask `model`, do what it wants done, tell it what came of it, until it answers.

    A request whose turns end in the middle (a tool was asked for, and not answered yet) goes on from there.

    Args:
        model: Who is asked.
        request: What it is asked first; every later request is the same with more turns.
        use: Uses a tool. What it raises is told to the model.
        purse: What may be spent; nothing bounds it when absent.
        max_turns: The most requests.
        hear: Hears the text as it arrives.
        keep: Hears all turns whenever there is something new, so that a conversation can be taken up again.
        clock: Nanoseconds since 1970 UTC.
        deadline_ns: When it must be over, by `clock`.

    Raises:
        RetinueError: Whatever kept the first response from coming, as `LanguageModel.respond` raises it.
        BudgetExceeded: Not even one request fits.
        DeadlineExceeded: The time was over before the first response.
    """
    talk = _Talk(model, request, use=use, purse=purse, max_turns=max_turns, hear=hear, keep=keep)
    try:
        if deadline_ns is None:
            stopped = await talk.go()
        else:
            stopped = await _within(talk, (deadline_ns - clock()) / 1e9)
    except RetinueError as error:
        if not talk.used:
            raise
        stopped = error
    return talk.result(stopped)


async def _within(talk: "_Talk", seconds: float) -> RetinueError | None:
    if seconds <= 0:
        raise endings.over()
    stopped, timely = await in_time(talk.go(), seconds)
    if not timely:
        raise endings.over()
    return stopped


class _Talk:
    """One conversation as it goes."""

    def __init__(
        self,
        model: LanguageModel,
        request: Request,
        *,
        use: Use | None,
        purse: Purse | None,
        max_turns: int,
        hear: Hear | None,
        keep: Callable[[Sequence[Turn]], None] | None,
    ) -> None:
        self._model, self._request, self._use = model, request, use
        self._max_turns, self._hear, self._keep = max_turns, hear, keep
        self._turns: list[Turn] = list(request.turns)
        self._allowance = Allowance(model, request, purse) if purse is not None else None
        self._repetition = Repetition()
        self._repeats: Sequence[int] = ()
        self._asked_again = False
        self._heard: list[str] = []
        self.used: list[Usage] = []

    async def go(self) -> RetinueError | None:
        """Go on until the model has answered; say why it stopped before that."""
        if pending(self._turns)[0]:
            await self._do()
        while True:
            if len(self.used) >= self._max_turns:
                raise endings.too_many(self._max_turns)
            response = await self._ask()
            turn = response.turn
            if turn.uses:
                self._repeats = self._repetition.count(turn.uses)
                if max(self._repeats) >= endings.MAX_REPEATS:
                    return endings.going_round(turn.uses[self._repeats.index(max(self._repeats))].name)
                await self._do()
            elif turn.text.strip():
                return self._incomplete(response)
            elif self._asked_again or response.stop in {"refused", "length"}:
                return self._incomplete(response) or _nothing_said()
            else:
                self._asked_again = True
                self._turns.append(Said(_EMPTY))

    def result(self, stopped: RetinueError | None) -> Conversation:
        """What there is so far."""
        answers = (turn.text for turn in reversed(self._turns) if isinstance(turn, Answered) and turn.text)
        return Conversation(
            text="".join(self._heard) or next(answers, ""),
            turns=tuple(self._turns),
            usage=Usage.together(self.used) or Usage(),
            requests=len(self.used),
            stopped=stopped,
        )

    async def _ask(self) -> Response:
        """Make one request, with its size set aside while it is under way."""
        request, hold = await self._fitting()
        try:
            with model_span(self._model.name) as span:
                response = await self._model.respond(request, hear=self._listen if self._hear else None)
                span.note_usage(response.usage)
        except BaseException as error:
            if hold is not None:
                _let_go(hold, error, self._model.name)
            raise
        self._heard.clear()
        self.used.append(response.usage)
        turn = _bounded(response.turn)
        if turn.uses or turn.text.strip():
            self._turns.append(turn)
        if hold is not None and self._allowance is not None:
            self._allowance.settle(hold, response.usage, self._turns)
        if self._keep is not None:
            self._keep(self._turns)
        return response if turn is response.turn else replace(response, turn=turn)

    def _listen(self, piece: str) -> None:
        """Keep what arrives until its response is whole: when that never comes, this is all there is of it."""
        self._heard.append(piece)
        if self._hear is not None:
            self._hear(piece)

    async def _fitting(self) -> tuple[Request, Hold | None]:
        request = self._request
        if len(self._turns) == len(request.turns) and self._allowance is None:
            return request, None
        turns = tuple(self._turns)
        if self._allowance is None:
            return replace(request, turns=turns), None
        max_tokens, hold = await self._allowance.hold(turns)
        if len(turns) == len(request.turns) and max_tokens == request.max_tokens:
            return request, hold
        return replace(request, turns=turns, max_tokens=max_tokens), hold

    async def _do(self) -> None:
        """Have what the last response wants done, and the answers become the next turn."""
        turns, keep = self._turns, self._keep
        uses, done = pending(turns)
        if done:
            turns.pop()
        place = len(turns)

        def told(answers: Sequence[ToolAnswer]) -> None:
            if keep is not None:
                keep([*turns[:place], ToolAnswers((*done, *answers))])

        answers = await answer_all(uses, self._request.tools, self._use, told=told, repeats=self._repeats)
        turns.append(ToolAnswers((*done, *answers)))
        if keep is not None:
            keep(turns)

    def _incomplete(self, response: Response) -> RetinueError | None:
        """Why an answer without uses is not whole; None when it is."""
        if len(response.turn.text) >= MAX_TEXT:
            return OutputInvalid(
                f"The model's answer is longer than {MAX_TEXT:,} characters, and was cut there.",
                hint="Ask for a shorter answer.",
            )
        if response.stop == "refused":
            return endings.refused()
        if response.stop != "length":
            return None
        bound = self._allowance.bound if self._allowance else None
        return endings.cut_off(bound or ("request.max_tokens" if self._request.max_tokens else "model.max_output"))


def _bounded(turn: Answered) -> Answered:
    """The same turn with ids that differ, and no longer than anybody reads."""
    uses = named_apart(turn.uses) if turn.uses else ()
    if len(turn.text) <= MAX_TEXT and uses == turn.uses:
        return turn
    return Answered(turn.text[:MAX_TEXT], uses)


def _let_go(hold: Hold, error: BaseException, model: str) -> None:
    """The request failed: what was set aside is free again if the provider has not begun to answer."""
    unreached = isinstance(error, NetworkError) and error.detail.get("reached") is False
    if unreached or isinstance(error, endings.UNSPENT):
        hold.release()
    else:
        hold.settle(Usage(requests=1, model=model))


def _nothing_said() -> OutputInvalid:
    return OutputInvalid("The model gave an empty answer twice.", hint="Rephrase the request, or use another model.")
