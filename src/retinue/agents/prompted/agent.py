"""A definition that a model follows: one agent, called like any other.

One call: choose the model, open the tools it may use, say the task, let `llm.converse` go on until there is an answer,
and make a reply of it. Judging the answer, and asking again with what was wrong, is the boundary's work; the same
conversation then goes on. So it does when a person had to be asked first.
"""

from collections import OrderedDict
from collections.abc import Mapping
from secrets import token_hex
from typing import Final

from retinue.agents.grants import Grants
from retinue.agents.load.prompted import NEEDS_MODEL
from retinue.agents.port import Reply, RunContext
from retinue.contract.definition import Definition, Skill
from retinue.contract.event import Decision
from retinue.contract.json import dumps
from retinue.contract.names import fold
from retinue.contract.result import Usage
from retinue.contract.task import Task
from retinue.errors import Canceled, RetinueError
from retinue.llm.converse import MAX_TURNS, Conversation, converse
from retinue.llm.models import Chosen, Models
from retinue.llm.port import Answered, AnswerShape, LanguageModel, Request, Said, ToolAnswers, Turn
from retinue.llm.purse import Purse
from retinue.llm.usage import together
from retinue.tools.port import Grip, Tool

from .delegating import PARENT_MODEL, Delegating
from .granted import own_of
from .memo import Notes, read_notes, write_notes
from .naming import DELEGATE, SKILL
from .prompt import corrected, instructions, opening, shape_of
from .replying import reply_to
from .skills import Skills
from .streaming import Streaming
from .thinking import mind_for
from .toolbox import EMPTY, Toolbox
from .using import Using

__all__ = ["MAX_REQUESTS", "PromptedAgent"]

MAX_REQUESTS: Final = 50
"""Requests of one call, all its attempts together: weak models were seen to call tools for ever."""

_OPEN: Final = 64
"""Conversations whose tools are kept, for the case that they go on."""

_MARGIN_NS: Final = 250_000_000
"""Kept of an attempt's time, so that there is an answer before it is over."""


class PromptedAgent:
    """An agent made of instructions.

        agent = PromptedAgent(definition, models=Models.only(model), toolbox=default_toolbox())
        result = await retinue.call(agent, "Find the dead code")

    Args:
        definition: What it says of itself; how it is to behave stands in its `instructions`.
        models: Where its model comes from.
        toolbox: The tools there are; it gets those that its definition names, within what its caller may use.
    """

    def __init__(self, definition: Definition, *, models: Models, toolbox: Toolbox = EMPTY) -> None:
        self._definition = _callable(definition)
        self._models = models
        self._toolbox = toolbox
        self._own = own_of(definition, toolbox)
        self._instructions: dict[tuple[str, bool, tuple[str, ...]], str] = {}
        self._kits: OrderedDict[str, Mapping[str, Tool]] = OrderedDict()

    @property
    def definition(self) -> Definition:
        """What it says of itself; its skills can be called."""
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Do the task.

        Raises:
            Canceled: A person must be asked first; the next call goes on from here.
            RetinueError: No model can be asked, or it failed before it said anything.
        """
        skill = self._skill(task)
        chosen = self._models.choose(
            model=task.model,
            own=self._definition.model,
            tier=self._definition.tier,
            parent=_text_or_none(task.extras.get(PARENT_MODEL)),
        )
        model = self._models.get(chosen.name)
        call = _Call(self, task, run, skill=skill, chosen=chosen, model=model)
        return await call.reply()

    def _skill(self, task: Task) -> Skill:
        named = None if task.skill is None else self._definition.skill(task.skill)
        return named or self._definition.skills[0]

    def _told(self, skill: Skill, skills: Mapping[str, Definition], *, owed: bool) -> str:
        """The instructions, made once."""
        key = skill.name, owed, tuple(skills)
        known = self._instructions.get(key)
        if known is None:
            known = self._instructions[key] = instructions(self._definition, skill, skills=skills, owed=owed)
        return known

    def _opened(self, notes: Notes) -> dict[str, Tool]:
        """The tools of a conversation: those it had before, else new ones."""
        known = self._kits.get(notes.kit)
        if known is None:
            notes.kit = token_hex(8)
            known = self._kits[notes.kit] = self._toolbox.opened()
            if len(self._kits) > _OPEN:
                self._kits.popitem(last=False)
        return dict(known)


class _Call:
    """One attempt at one task."""

    def __init__(
        self, agent: PromptedAgent, task: Task, run: RunContext, *, skill: Skill, chosen: Chosen, model: LanguageModel
    ) -> None:
        self._agent, self._task, self._run, self._skill = agent, task, run, skill
        self._definition = agent.definition
        self._chosen, self._model = chosen, model
        self._whose = f"{self._definition.name}.{skill.name}"
        self._notes = read_notes(run.memo, whose=self._whose)
        self._grants, refused = agent._own.granted(run.grants)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the two are one
        self._missing = [*agent._own.missing, *refused]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as above
        self._delegating: Delegating | None = None

    async def reply(self) -> Reply:
        """Converse, and make a reply of it."""
        tools, skills = self._tools()
        turns = self._continued() or (Said(await self._opening(tools)),)
        using = Using(
            agent=self._definition.name,
            key=self._task.idempotency_key or self._task.id,
            tools=tools,
            grants=self._grants,
            run=self._run,
            turns=turns,
        )
        using.traces.extend(self._notes.traces)
        try:
            conversation = await self._conversation(using, tools, skills, turns)
        except RetinueError as error:
            self._note(using, None, parked=isinstance(error, Canceled))
            raise
        parked = isinstance(conversation.stopped, Canceled)
        self._note(using, conversation, parked=parked)
        if parked and conversation.stopped is not None:
            raise conversation.stopped
        return self._answered(conversation)

    # What it starts with

    def _tools(self) -> tuple[dict[str, Tool], dict[str, Definition]]:
        """The tools it is offered, and the skills it may look up."""
        definition, run, agent = self._definition, self._run, self._agent
        there = agent._opened(self._notes)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the two are one
        skills = self._skills()
        if skills:
            there[SKILL] = Skills(skills)
        if run.light_schema:
            self._delegating = Delegating(
                agent=definition.name, model=self._chosen.name, grants=self._grants, run=run
            )
            there[DELEGATE] = self._delegating
        return {name: tool for name, tool in there.items() if self._grants.offers(tool.spec)}, skills

    def _skills(self) -> dict[str, Definition]:
        found: dict[str, Definition] = {}
        for name in self._definition.runner.skills:
            definition = self._run.definition_of(fold(name))
            if definition is None:
                self._missing.append(f"Not supported: there is no skill {name[:80]!r} here.")
            else:
                found[definition.name] = definition
        return found

    async def _opening(self, tools: Mapping[str, Tool]) -> str:
        return opening(self._task, self._skill, remembered=await self._remembered(tools))

    async def _remembered(self, tools: Mapping[str, Tool]) -> str:
        """What the agent's memory says about the task, when its definition asks for one."""
        from .remembering import remembered  # noqa: PLC0415 - few agents have a memory

        if not self._definition.runner.memory:
            return ""
        text, why = await remembered(self._definition.runner.memory, self._task, tools, Grip(deadline_ns=self._run.deadline_ns))
        if why:
            self._missing.append(f"Not supported: {why}")
        return text

    def _continued(self) -> tuple[Turn, ...]:
        """The conversation that this attempt goes on with; nothing when it begins."""
        turns, correction = self._notes.turns, self._run.correction
        if not turns:
            return ()
        last = turns[-1]
        if correction is None:
            # An answer that nobody found fault with is no place to go on from.
            return turns if not isinstance(last, Answered) or last.uses else ()
        if isinstance(last, Answered) and last.uses:
            turns = turns[:-1]
        return (*turns, Said(corrected(correction)))

    # The conversation

    async def _conversation(
        self, using: Using, tools: Mapping[str, Tool], skills: Mapping[str, Definition], turns: tuple[Turn, ...]
    ) -> Conversation:
        run, streaming = self._run, Streaming(self._run)
        request = self._request(tools, skills, turns)
        run.emit(Decision("model", self._chosen.why, {"model": self._chosen.name}))
        ends = run.deadline_ns
        if ends is not None:
            ends -= min(_MARGIN_NS, max(0, ends - run.now()) // 20)
        try:
            return await converse(
                self._model,
                request,
                use=using.use,
                purse=self._purse(),
                max_turns=self._definition.runner.max_turns or MAX_TURNS,
                hear=streaming.hear,
                keep=using.keep,
                clock=run.now,
                deadline_ns=ends,
            )
        finally:
            streaming.flush()

    def _request(
        self, tools: Mapping[str, Tool], skills: Mapping[str, Definition], turns: tuple[Turn, ...]
    ) -> Request:
        shape = shape_of(self._skill, self._task, self._definition)
        mind = mind_for(self._task, self._definition)
        if mind.unsupported:
            self._missing.append(f"Not supported: the effort {mind.unsupported[:80]!r}.")
        return Request(
            turns=turns,
            instructions=self._agent._told(self._skill, skills, owed=shape is not None),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the two are one
            tools=tuple(tool.spec for tool in tools.values()),
            shape=None if shape is None else AnswerShape(shape, name=self._skill.name),
            max_tokens=mind.max_tokens,
            effort=mind.effort,
        )

    def _purse(self) -> Purse:
        """The agent's own bounds, within the task's, within the run's; what earlier attempts took is taken off."""
        limits, spent = self._task.limits, self._notes.usage or Usage()
        above = self._run.purse
        if limits.tokens is not None or limits.cost_usd is not None:
            usd = spent.cost.usd if spent.cost else 0.0
            above = Purse(
                tokens=None if limits.tokens is None else max(0, limits.tokens - (spent.tokens or 0)),
                usd=None if limits.cost_usd is None else max(0.0, limits.cost_usd - usd),
                above=above,
                name="task.limits",
            )
        return Purse(requests=max(0, MAX_REQUESTS - self._notes.requests), above=above, name="runner")

    # What remains of it

    def _note(self, using: Using, conversation: Conversation | None, *, parked: bool) -> None:
        """Keep the conversation for an attempt that goes on with it."""
        notes = self._notes
        notes.turns = using.turns if conversation is None or parked else conversation.turns
        notes.traces = using.traces
        notes.files_read.update(using.files_read)
        notes.files_written.update(using.files_written)
        notes.warnings = list(dict.fromkeys((*notes.warnings, *self._missing)))
        if conversation is not None:
            notes.requests += conversation.requests
        delegated = self._delegating.usage if self._delegating else None
        kept = notes
        if parked:
            spent = [each for each in (notes.usage, conversation.usage if conversation else None, delegated) if each]
            notes.usage = together(spent) if spent else None
        else:
            kept = Notes(
                turns=notes.turns, traces=notes.traces, requests=notes.requests, files_read=notes.files_read,
                files_written=notes.files_written, warnings=notes.warnings, kit=notes.kit,
                usage=notes.usage if conversation is None else None,
            )  # fmt: skip
        write_notes(self._run.memo, kept, whose=self._whose)

    def _answered(self, conversation: Conversation) -> Reply:
        read = self._definition.dialect is not None or shape_of(self._skill, self._task, self._definition) is not None
        delegated = self._delegating.usage if self._delegating else None
        return reply_to(conversation, self._notes, read=read, spent=(delegated,))


def _callable(definition: Definition) -> Definition:
    """`definition` with its skills no longer waiting for a model."""
    if all(skill.unavailable != NEEDS_MODEL for skill in definition.skills):
        return definition
    skills = tuple(
        skill.model_copy(update={"unavailable": ""}) if skill.unavailable == NEEDS_MODEL else skill
        for skill in definition.skills
    )
    return definition.model_copy(update={"skills": skills})


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
