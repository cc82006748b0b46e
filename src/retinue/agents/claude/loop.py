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

from retinue.agents.wrapped.lines import LineProgram, in_peace
from retinue.contract.model import JsonMapping
from retinue.contract.result import Cost, Usage
from retinue.errors import InvalidInput, OutputInvalid, RetinueError, Unavailable
from retinue.llm import endings
from retinue.llm.converse import Conversation
from retinue.llm.models import Models
from retinue.llm.port import Answered, Hear, LanguageModel, Request, Said, ToolAnswer, ToolAnswers, Turn
from retinue.llm.purse import Purse
from retinue.llm.uses import Repetition, Use, answer_all, pending

from . import failures
from .channel import Channel
from .command import argument_vector, environment, find_claude
from .hearing import Ending, Hearing
from .home import Home, Session, read_session
from .model import ClaudeModel, claude_model
from .retold import retold
from .sdk import Client, load_sdk, open_client
from .spending import Spending

__all__ = ["ClaudeCode"]

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
        use: Use,
        purse: Purse,
        max_turns: int,
        hear: Hear,
        keep: Callable[[Sequence[Turn]], None],
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
        talk = _Talk(model, request, use=use, purse=purse, max_turns=max_turns, hear=hear, keep=keep, clock=clock)
        stopped: RetinueError | None = None
        timer = asyncio.timeout(None if deadline_ns is None else max(0.0, (deadline_ns - clock()) / 1e9))
        try:
            async with timer:
                await talk.go(program, silence_s=self._silence_s)
        except TimeoutError:
            if not timer.expired():
                raise
            stopped = endings.over()
        except RetinueError as error:
            stopped = error
        if stopped is not None and not talk.has_begun:
            raise stopped
        return talk.result(stopped)


class _Talk:
    """One attempt as it goes."""

    def __init__(
        self,
        model: ClaudeModel,
        request: Request,
        *,
        use: Use,
        purse: Purse,
        max_turns: int,
        hear: Hear,
        keep: Callable[[Sequence[Turn]], None],
        clock: Callable[[], int],
    ) -> None:
        self._model, self._request, self._use, self._purse = model, request, use, purse
        self._max_turns, self._hear, self._keep, self._clock = max_turns, hear, keep, clock
        self._turns: tuple[Turn, ...] = request.turns
        self._used: list[Usage] = []
        self._hearing = self._listening_to(())
        self._spending = Spending(model, request, purse)
        self._repetition = Repetition()
        self._news = asyncio.Event()
        self._at_work = 0
        self._last_heard = 0.0
        self._session: Session | None = None
        self._usd_before: float | None = None
        self._end: asyncio.Future[RetinueError | None] | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the model has answered at all."""
        return bool(self._hearing.used)

    async def go(self, program: str, *, silence_s: float) -> None:
        """Go on until the model has answered.

        Raises:
            RetinueError: Why it stopped before that.
        """
        await self._do_what_waits()
        session = _resumable(self._turns)
        if session is not None:
            try:
                await self._process(program, session, silence_s=silence_s)
            except (OutputInvalid, Unavailable):
                if self.has_begun:
                    raise
            else:
                return
        await self._process(program, None, silence_s=silence_s)  # what Claude Code does not know any more is told anew

    def result(self, stopped: RetinueError | None) -> Conversation:
        """What there is so far."""
        hearing, ending = self._hearing, self._hearing.ending
        turns = hearing.turns
        if stopped is None and ending is not None:
            text, turns = ending.text, _answered(turns, ending.text, self._native())
        else:
            said = (turn.text for turn in reversed(turns) if isinstance(turn, Answered) and turn.text)
            text = hearing.heard or next(said, "")
        return Conversation(
            text=text, turns=turns, usage=self._usage() or Usage(), requests=len(hearing.used), stopped=stopped
        )

    # One process

    async def _process(self, program: str, session: Session | None, *, silence_s: float) -> None:
        self._usd_before = None if session is None else session.usd
        self._hearing = self._listening_to(self._turns)
        self._spending = Spending(self._model, self._request, self._purse)
        await self._spending.begin(self._turns)
        failed: BaseException | None = None
        home = Home()
        try:
            if session is not None:
                home.put(session)
            channel = Channel(self._program(program, home, session), self)
            client = open_client(load_sdk(), channel, self._request.tools, self._called)
            await self._conversed(client, channel, _prompt(self._turns, session), silence_s=silence_s)
            self._see_whole()
        except BaseException as error:
            failed = error
            raise
        finally:
            self._spending.end(self._usage(), unspent=failed is None or isinstance(failed, endings.UNSPENT))
            self._session = home.taken(self._hearing.session, usd=self._usd())
            home.close()

    def _program(self, program: str, home: Home, session: Session | None) -> LineProgram:
        argv = argument_vector(program, self._model, self._request, home=home, max_turns=self._max_turns)
        if session is not None:
            argv.append(f"--resume={session.id}")
        env = environment(self._model, home=home, max_tokens=self._spending.max_tokens)
        return LineProgram(tuple(argv), cwd=str(home.work), env=env, elsewhere="Use the runner `own`.")

    async def _conversed(self, client: Client, channel: Channel, prompt: str, *, silence_s: float) -> None:
        """Say `prompt`, and wait for the end."""
        loop = asyncio.get_running_loop()
        self._last_heard = loop.time()
        self._end = loop.create_future()
        talking = asyncio.create_task(self._say(client, prompt))
        try:
            await self._until(self._end, silence_s=silence_s)
        except BaseException:
            await in_peace(_closed(client, channel.stop, talking))
            raise
        await in_peace(_closed(client, channel.close, talking))

    async def _until(self, end: "asyncio.Future[RetinueError | None]", *, silence_s: float) -> None:
        loop = asyncio.get_running_loop()
        while not end.done():
            waited = silence_s if self._at_work else silence_s - (loop.time() - self._last_heard)
            if waited <= 0:
                raise failures.silent(silence_s)
            await asyncio.wait({end}, timeout=waited)
        if (error := end.result()) is not None:
            raise error

    async def _say(self, client: Client, prompt: str) -> None:
        try:
            await client.connect()
            await client.query(prompt)
        except RetinueError as error:
            self.ended(error)
        except Exception as error:  # noqa: BLE001 - the SDK's own errors, and it raises bare ones too
            await asyncio.sleep(0)
            self.ended(failures.unreadable(str(error)))

    # What it hears

    def heard(self, message: JsonMapping) -> None:
        """Claude Code said something."""
        self._last_heard = asyncio.get_running_loop().time()
        self._hearing.take(message)
        self._news.set()
        if self._hearing.ending is not None:
            self.ended(None)

    def ended(self, why: RetinueError | None) -> None:
        """It is over; who says so first is right."""
        if self._end is not None and not self._end.done():
            self._end.set_result(why)

    async def _called(self, name: str, arguments: JsonMapping) -> tuple[str, bool]:
        """Use a tool, if there may be a further request with what it says."""
        wanted = self._hearing.begin(name, arguments)
        (count,) = self._repetition.count((wanted,))
        self._at_work += 1
        try:
            if count >= endings.MAX_REPEATS:
                raise endings.going_round(name)
            (answer,) = await answer_all((wanted,), self._request.tools, self._use, told=_nothing, repeats=(count,))
            self._hearing.answer(answer)
            while self._hearing.is_streaming:
                self._news.clear()
                await self._news.wait()
            if len(self._hearing.used) >= self._max_turns:
                raise endings.too_many(self._max_turns)
            await self._spending.go_on(self._hearing.turns)
        except RetinueError as error:
            self.ended(error)
            await asyncio.Event().wait()  # until we are cancelled: an answer would have the model asked again
            raise
        finally:
            self._at_work -= 1
            self._last_heard = asyncio.get_running_loop().time()
        return answer.text, answer.failed

    def _listening_to(self, turns: tuple[Turn, ...]) -> Hearing:
        def answered(usage: Usage) -> None:
            self._spending.answered(usage, self._hearing.turns)

        return Hearing(turns, model=self._model, hear=self._hear, keep=self._keep, answered=answered)

    async def _do_what_waits(self) -> None:
        """Have done what a response wanted done when an earlier attempt was stopped; its answers are told."""
        uses, done = pending(self._turns)
        if not uses:
            return
        turns = self._turns[:-1] if done else self._turns

        def told(answers: Sequence[ToolAnswer]) -> None:
            self._keep([*turns, ToolAnswers((*done, *answers))])

        answers = await answer_all(uses, self._request.tools, self._use, told=told)
        self._turns = (*turns, ToolAnswers((*done, *answers)))
        self._keep(self._turns)

    # What came of it

    def _see_whole(self) -> None:
        """See that the end is an answer.

        Raises:
            RetinueError: It is none, or not a whole one.
        """
        ending = self._hearing.ending
        if ending is None:  # pragma: no cover - it has ended well, so it said how
            return
        if ending.failed:
            raise failures.failed(
                ending.subtype, ending.status, ending.text, model=self._model.name, max_turns=self._max_turns
            )
        error = failures.cut_off(ending.stop, self._spending.bound)
        if error is not None:
            raise error
        if not ending.text.strip():
            raise OutputInvalid("The model gave an empty answer.", hint="Rephrase the request, or use another model.")

    def _usage(self) -> Usage | None:
        """What this attempt took: as Claude Code says at its end, else as its responses said."""
        hearing = self._hearing
        told = Usage.together(hearing.used)
        ending = hearing.ending
        if ending is None or ending.usage is None or told is None:
            return told
        usage = ending.usage
        if self._model.own_price:
            return usage
        return usage.model_copy(update={"cost": self._cost(ending)})

    def _cost(self, ending: Ending) -> Cost | None:
        """What Claude Code says that it cost. At an address of one's own its prices hold for nothing."""
        if ending.usd is None or self._model.address:
            return None
        usd = ending.usd - (self._usd_before or 0.0)
        if usd < 0:
            return None  # it has forgotten what was before
        today = datetime.fromtimestamp(self._clock() / 1e9, tz=UTC).date().isoformat()
        return Cost(usd=usd, price_id=f"claude-code-{self._hearing.version} (as it says)", price_date=today)

    def _usd(self) -> float | None:
        return None if self._hearing.ending is None else self._hearing.ending.usd

    def _native(self) -> JsonMapping | None:
        session = self._session
        if session is None:
            return None
        native: JsonMapping = {"provider": _NATIVE, "session": session.id, "transcript": session.transcript}
        return native if session.usd is None else {**native, "usd": session.usd}


def _nothing(answers: Sequence[ToolAnswer]) -> None:
    """One use is told when it is done, by whoever had it done."""


async def _closed(client: Client, end: Callable[[], Awaitable[None]], talking: "asyncio.Task[None]") -> None:
    talking.cancel()
    with suppress(asyncio.CancelledError):
        await talking
    # Side by side: one ends the program, the other the calls of tools that are under way.
    await asyncio.gather(end(), _disconnected(client))


async def _disconnected(client: Client) -> None:
    with suppress(Exception):  # whatever the SDK finds wrong with its end, the program is gone
        async with asyncio.timeout(_MARGIN_S):
            await client.disconnect()


def _resumable(turns: Sequence[Turn]) -> Session | None:
    """The conversation that `turns` end with and that Claude Code itself can go on with."""
    for place in range(len(turns) - 1, -1, -1):
        turn = turns[place]
        if isinstance(turn, Answered):
            return read_session(turn.native, provider=_NATIVE) if place < len(turns) - 1 else None
        if not isinstance(turn, Said):
            return None
    return None


def _prompt(turns: Sequence[Turn], session: Session | None) -> str:
    if session is None:
        return retold(turns)
    last = max(place for place, turn in enumerate(turns) if isinstance(turn, Answered))
    return retold(turns[last + 1 :])


def _answered(turns: tuple[Turn, ...], text: str, native: JsonMapping | None) -> tuple[Turn, ...]:
    """`turns` ending with the answer, and what Claude Code needs to go on from there."""
    last = turns[-1] if turns else None
    if isinstance(last, Answered) and not last.uses:
        return (*turns[:-1], replace(last, text=text, native=native))
    return (*turns, Answered(text, native=native))
