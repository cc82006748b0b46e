"""One attempt of a prompted agent at one task: what it starts with, the conversation, and what remains of it.

Whatever way it ends, the conversation is noted, so that a further attempt goes on from there and uses no tool twice.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from retinue.agents.port import Reply, RunContext
from retinue.agents.tool_words import DELEGATE, SKILL
from retinue.contract.definition import Definition, Skill
from retinue.contract.event import Decision
from retinue.contract.names import fold
from retinue.contract.result import Usage
from retinue.contract.task import Task
from retinue.errors import Canceled, RetinueError
from retinue.llm.converse import MAX_TURNS, Conversation
from retinue.llm.models import Chosen
from retinue.llm.port import Answered, AnswerShape, LanguageModel, Request, Said, Turn
from retinue.llm.purse import Purse
from retinue.tools.port import Tool

from .delegating import Delegating
from .granted import Granted
from .loop import Loop
from .memo import read_notes, write_notes
from .prompt import corrected, opening, shape_of
from .remembering import remembered
from .replying import reply_to
from .skills import Skills
from .streaming import Streaming
from .thinking import effort_for, ignored_by
from .using import Using

__all__ = ["MAX_REQUESTS", "Call"]

MAX_REQUESTS: Final = 50
"""Requests of one call, all its attempts together: weak models were seen to call tools for ever."""

_MARGIN_NS: Final = 250_000_000
"""Kept of an attempt's time, so that there is an answer before it is over."""

_Opened: TypeAlias = Callable[[str], tuple[str, dict[str, Tool]]]
_Instructions: TypeAlias = Callable[[Skill, Mapping[str, Definition], bool], str]


class Call:
    """One attempt.

    Args:
        definition: The agent.
        task: What is asked.
        run: What it gets beside it.
        skill: Which of its skills is meant.
        granted: What it may use.
        chosen: Its model, and why it is this one.
        model: The model itself.
        loop: Drives it.
        opened: Opens tools, or gives those that were opened before under a name.
        instructions: What the system says.
    """

    def __init__(
        self,
        definition: Definition,
        task: Task,
        run: RunContext,
        *,
        skill: Skill,
        granted: Granted,
        chosen: Chosen,
        model: LanguageModel,
        loop: Loop,
        opened: _Opened,
        instructions: _Instructions,
    ) -> None:
        self._definition, self._task, self._run, self._skill = definition, task, run, skill
        self._chosen, self._model, self._loop, self._instructions = chosen, model, loop, instructions
        self._whose = f"{definition.name}.{skill.name}"
        self._shape = shape_of(skill, task, definition)
        self._notes = read_notes(run.memo, whose=self._whose)
        self._grants, self._unsupported = granted.grants, list(granted.in_vain)
        self._notes.kit, self._tools = opened(self._notes.kit)
        self._delegating: Delegating | None = None

    async def reply(self) -> Reply:
        """Converse, and make a reply of it."""
        skills = self._skills()
        self._offer(skills)
        turns = self._continued() or (Said(await self._opening()),)
        using = Using(
            agent=self._definition.name,
            key=self._task.idempotency_key or self._task.id,
            tools=self._tools,
            grants=self._grants,
            run=self._run,
            turns=turns,
            traces=self._notes.traces,
        )
        request = self._request(skills, turns)
        try:
            conversation = await self._conversation(using, request)
        except RetinueError as error:
            conversation = _broken_off(using.turns, error)
            if conversation is None:
                self._keep(using)  # nothing is lost: nobody has said anything yet
                raise
        except BaseException:
            self._keep(using)
            raise
        usage = self._spent(conversation)
        if isinstance(conversation.stopped, Canceled):
            self._keep(using, stored="outside")
            raise conversation.stopped from None
        self._keep(using, conversation.turns)
        read = self._definition.dialect is not None or self._shape is not None
        return reply_to(conversation, self._notes, read=read, usage=usage)

    # What it starts with

    def _skills(self) -> dict[str, Definition]:
        """The skills it may look up."""
        found: dict[str, Definition] = {}
        for name in self._definition.runner.skills:
            definition = self._run.definition_of(fold(name))
            if definition is None:
                self._unsupported.append(f"Not supported: there is no skill {name[:80]!r} here.")
            else:
                found[definition.name] = definition
        return found

    def _offer(self, skills: Mapping[str, Definition]) -> None:
        """Add the tools that belong to this call alone, and leave out what it may not have."""
        there, run = self._tools, self._run
        if skills:
            there[SKILL] = Skills(skills)
        if others := run.light_schema:
            name, model = self._definition.name, self._chosen.name
            self._delegating = Delegating(agent=name, model=model, grants=self._grants, run=run, others=others)
            there[DELEGATE] = self._delegating
        self._tools = {name: tool for name, tool in there.items() if self._grants.offers(tool.spec)}

    async def _opening(self) -> str:
        scope, correction, memory = self._definition.runner.memory, self._run.correction, ""
        if scope:
            memory, why = await remembered(scope, self._task, self._tools, deadline_ns=self._run.deadline_ns)
            if why:
                self._unsupported.append(f"Not supported: {why}")
        told = opening(self._task, self._skill, remembered=memory)
        return told if correction is None else f"{told}\n\n{corrected(correction)}"

    def _continued(self) -> tuple[Turn, ...]:
        """The conversation that this attempt goes on with; nothing when it begins."""
        turns, correction = self._notes.turns, self._run.correction
        last = turns[-1] if turns else None
        waits = isinstance(last, Answered) and bool(last.uses)
        if correction is None:
            # An answer that nobody found fault with is no place to go on from.
            return turns if waits or not isinstance(last, Answered) else ()
        kept = turns[:-1] if waits else turns
        return (*kept, Said(corrected(correction))) if kept else ()

    def _request(self, skills: Mapping[str, Definition], turns: tuple[Turn, ...]) -> Request:
        effort, unknown = effort_for(self._task, self._definition)
        request = Request(
            turns=turns,
            instructions=self._instructions(self._skill, skills, self._shape is not None),
            tools=tuple(tool.spec for tool in self._tools.values()),
            shape=None if self._shape is None else AnswerShape(self._shape, name=self._skill.name),
            effort=effort,
        )
        ignored = (*((unknown,) if unknown else ()), *ignored_by(self._model, request))
        self._unsupported += [f"Not supported: {each}" for each in ignored]
        return request

    # The conversation

    async def _conversation(self, using: Using, request: Request) -> Conversation:
        run, streaming = self._run, Streaming(self._run)

        def keep(turns: Sequence[Turn]) -> None:
            streaming.flush()  # what was said in one turn is told before its tools are used, and apart from the next
            using.keep(turns)

        run.emit(Decision("model", self._chosen.why, {"model": self._chosen.name}))
        ends = run.deadline_ns
        if ends is not None:
            ends -= min(_MARGIN_NS, max(0, ends - run.now()) // 20)
        try:
            return await self._loop.converse(
                self._model,
                request,
                use=using.use,
                purse=self._purse(),
                max_turns=self._definition.runner.max_turns or MAX_TURNS,
                hear=streaming.hear,
                keep=keep,
                clock=run.now,
                deadline_ns=ends,
            )
        finally:
            streaming.flush()

    def _purse(self) -> Purse:
        """The agent's own bounds within the task's within the run's; what was spent before is taken off."""
        limits, above = self._task.limits, self._run.purse
        if limits.tokens is not None or limits.cost_usd is not None:
            spent = self._notes.spent or Usage()
            usd = spent.known_usd or 0.0
            above = Purse(
                tokens=None if limits.tokens is None else max(0, limits.tokens - (spent.tokens or 0)),
                usd=None if limits.cost_usd is None else max(0.0, limits.cost_usd - usd),
                above=above,
                name="task.limits",
            )
        asked = sum(isinstance(turn, Answered) for turn in self._notes.turns)
        return Purse(requests=max(0, MAX_REQUESTS - asked), above=above, name="runner")

    # What remains of it

    def _spent(self, conversation: Conversation) -> Usage | None:
        """What this attempt took, those it called included."""
        notes = self._notes
        delegated = self._delegating.usage if self._delegating else None
        said = conversation.usage if conversation.usage != Usage() else None
        own = Usage.together((said, delegated))
        notes.spent = Usage.together((notes.spent, own))
        return own

    def _keep(
        self, using: Using, turns: tuple[Turn, ...] | None = None, *, stored: Literal["here", "outside"] = "here"
    ) -> None:
        """Note the conversation for an attempt that goes on with it."""
        notes = self._notes
        notes.turns = using.turns if turns is None else turns
        notes.traces = using.traces
        notes.files_read.update(using.files_read)
        notes.files_written.update(using.files_written)
        notes.unapproved.update(using.unapproved)
        notes.warnings = list(dict.fromkeys((*notes.warnings, *self._unsupported)))
        write_notes(self._run.memo, notes, whose=self._whose, stored=stored)


def _broken_off(turns: tuple[Turn, ...], error: RetinueError) -> Conversation | None:
    """What there is of a conversation that an earlier attempt began and this one could not go on with."""
    answers = [turn for turn in turns if isinstance(turn, Answered)]
    if not answers:
        return None
    text = next((turn.text for turn in reversed(answers) if turn.text), "")
    return Conversation(text=text, turns=turns, usage=Usage(), requests=0, stopped=error)
