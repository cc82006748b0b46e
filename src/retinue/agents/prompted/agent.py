"""A definition that a model follows: an agent, called like any other.

The boundary validates the answer, and asks again with what was wrong with it; the same conversation then continues.
However an attempt ends, its conversation is saved, so that another attempt continues there and uses no tool twice.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from types import MappingProxyType
from typing import Final, Protocol, runtime_checkable

from retinue.agents.grants import Grants
from retinue.agents.load.loaded_agents import NEEDS_MODEL
from retinue.agents.port import Reply, RunContext
from retinue.agents.tool_references import DELEGATE, SKILL
from retinue.contract.definition import Definition, Skill
from retinue.contract.event import Decision, TextDelta
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.names import fold
from retinue.contract.result import Usage, Warned
from retinue.contract.sanitize import printable
from retinue.contract.task import Task
from retinue.errors import Canceled, LimitReached, RetinueError
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.conversation import MAX_TURNS, Conversation
from retinue.llm.models import ModelChoice, Models
from retinue.llm.port import EFFORT_OF, AnswerShape, AssistantMessage, Effort, LanguageModel, Request, Turn, UserMessage
from retinue.tools.port import Tool, ToolContext

from .checkpoint import ConversationCheckpoint, TurnRecorder, read_checkpoint, write_checkpoint
from .definition_permissions import EffectivePermissions, requested_permissions
from .delegate_tool import PARENT_MODEL, DelegateTool, SkillTool
from .loop import BUILTIN_LOOP, Loop
from .task_prompt import answer_schema_of, as_data_block, correction_text, instructions, task_text
from .tool_executor import ToolExecutor
from .toolbox import EMPTY, Toolbox

MAX_REQUESTS: Final = 50
"""Requests of one call, all its attempts together: weak models were seen to call tools forever."""

_MAX_TOOLSETS: Final = 64
"""Conversations whose tools are kept, in case they continue."""

_MARGIN_NS: Final = 250_000_000
"""Kept of an attempt's time, so that there is an answer before the deadline."""

_NOT_SUPPORTED: Final = "Not supported: "


class PromptedAgent:
    """An agent made of instructions.

        agent = PromptedAgent(definition, models=Models.only(model), toolbox=default_toolbox())
        result = await retinue.call(agent, "Find the dead code")

    Args:
        definition: What it says of itself; its `instructions` say how it behaves.
        models: Where its model comes from.
        toolbox: The tools there are; it gets those that its definition names, within what its caller may use.
        loop: Drives its model.
    """

    def __init__(
        self, definition: Definition, *, models: Models, toolbox: Toolbox = EMPTY, loop: Loop = BUILTIN_LOOP
    ) -> None:
        skills: list[Skill] = []
        for skill in definition.skills:
            unavailable = "" if skill.unavailable == NEEDS_MODEL else skill.unavailable
            # Instructions change nothing but through tools, and every call of one is checked by itself.
            more = {"unavailable": unavailable, "thinks": "must", "effects": skill.effects or ()}
            skills.append(skill.model_copy(update=more))
        self._definition = definition.model_copy(update={"skills": tuple(skills)})
        self._models, self._toolbox, self._loop = models, toolbox, loop
        self._requested = requested_permissions(definition, toolbox)
        self._effective: tuple[Grants, EffectivePermissions] | None = None
        self._instruction_cache: dict[tuple[str, bool, tuple[str, ...]], str] = {}
        self._toolsets: OrderedDict[str, Mapping[str, Tool]] = OrderedDict()

    @property
    def definition(self) -> Definition:
        """What it says of itself; its skills can be called."""
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Do the task.

        Raises:
            Canceled: A person must be asked first; the next call continues from here.
            RetinueError: No model can be asked, or it failed before it said anything.
        """
        definition = self._definition
        parent: object = task.extras.get(PARENT_MODEL)
        choice = self._models.choose(
            model=task.model,
            own=definition.model,
            tier=definition.tier,
            parent=parent if isinstance(parent, str) else None,
        )
        model = self._loop.model(choice.name, self._models)
        skill = (definition.skill(task.skill) if task.skill else None) or definition.skills[0]
        if self._effective is None or self._effective[0] is not run.grants:  # many calls have the same grants
            self._effective = run.grants, self._requested.within(run.grants)
        permissions = self._effective[1]
        checkpoint = read_checkpoint(run.checkpoint, owner=f"{definition.name}.{skill.name}")
        conversation = task.idempotency_key or task.id
        # A later attempt has all that in its checkpoint.
        earlier = [each for each in run.earlier_turns if each.conversation == conversation] if run.attempt < 2 else []
        is_resumed = checkpoint.replay(earlier)
        checkpoint.toolset, tools = self._open_toolset(checkpoint.toolset)
        attempt = _Attempt(
            definition,
            task,
            run,
            skill,
            permissions.grants,
            choice,
            model,
            self._loop,
            answer_schema_of(skill, task, definition),
            checkpoint,
            tools,
            TurnRecorder(run, conversation, checkpoint),
            is_resumed=is_resumed,
            unsupported=list(permissions.denied),
        )
        skills = attempt.add_tools()
        is_structured = attempt.answer_schema is not None
        key = skill.name, is_structured, tuple(skills)
        text = self._instruction_cache.get(key)
        if text is None:
            text = instructions(definition, skill, skills=skills, is_structured=is_structured)
            self._instruction_cache[key] = text
        return await attempt.reply(text)

    def _open_toolset(self, toolset: str) -> tuple[str, dict[str, Tool]]:
        """The tools of a conversation: those it had before, else new ones under a new name."""
        if not self._toolbox.is_stateful:
            return "", self._toolbox.open_tools()
        tools = self._toolsets.get(toolset)
        if tools is None:
            toolset = token_hex(8)
            tools = self._toolsets[toolset] = self._toolbox.open_tools()
            if len(self._toolsets) > _MAX_TOOLSETS:
                self._toolsets.popitem(last=False)
        return toolset, dict(tools)


@dataclass(slots=True)
class _Attempt:
    """One attempt of an agent at one task."""

    definition: Definition
    task: Task
    run: RunContext
    skill: Skill
    grants: Grants
    choice: ModelChoice
    model: LanguageModel
    loop: Loop
    answer_schema: JsonMapping | None
    checkpoint: ConversationCheckpoint
    tools: dict[str, Tool]
    recorder: TurnRecorder
    is_resumed: bool = False
    unsupported: list[str] = field(default_factory=list[str])
    delegate_tool: DelegateTool | None = None
    spent_before: Usage | None = field(init=False)
    usage_start: int = field(init=False)

    def __post_init__(self) -> None:
        self.spent_before, self.usage_start = self.checkpoint.spent, len(self.run.budget_tracker.usages)

    def add_tools(self) -> dict[str, Definition]:
        """Add the tools that belong to this call alone, leave out what it may not have, and give its skills."""
        skills: dict[str, Definition] = {}
        for name in self.definition.runner.skills:
            definition = self.run.definition_of(fold(name))
            if definition is None:
                self.unsupported.append(f"{_NOT_SUPPORTED}there is no skill {name[:80]!r} here.")
            else:
                skills[definition.name] = definition
        if skills:
            self.tools[SKILL] = SkillTool(skills)
        if others := self.run.light_schema:
            name, model = self.definition.name, self.choice.name
            self.delegate_tool = DelegateTool(
                agent=name, model=model, grants=self.grants, run=self.run, agents_text=others
            )
            self.tools[DELEGATE] = self.delegate_tool
        self.tools = {name: tool for name, tool in self.tools.items() if self.grants.offers(tool.spec)}
        return skills

    async def reply(self, instructions_text: str) -> Reply:
        """Converse, and make a reply of it."""
        turns = await self._first_turns()
        executor = ToolExecutor(
            agent=self.definition.name,
            key=self.task.idempotency_key or self.task.id,
            tools=self.tools,
            grants=self.grants,
            run=self.run,
            turns=turns,
            traces=self.checkpoint.traces,
            interrupted=self.checkpoint.interrupted,
            on_change=lambda place: self._record(executor, place),
        )
        self._record(executor)
        # How much to think: as the task says, else the definition.
        name = self.definition.runner.effort
        effort = EFFORTS.get(fold(name)) if name else None
        if name and effort is None:
            self.unsupported.append(f"{_NOT_SUPPORTED}the effort {name[:80]!r}.")
        if self.task.thinking:
            effort = EFFORT_OF[self.task.thinking] or effort
        request = Request(
            turns=turns,
            instructions=instructions_text,
            tools=tuple(tool.spec for tool in self.tools.values()),
            shape=None if self.answer_schema is None else AnswerShape(self.answer_schema, name=self.skill.name),
            effort=effort,
        )
        self.unsupported += ignored_settings(self.model, request)
        try:
            last = turns[-1]
            if self.is_resumed and isinstance(last, AssistantMessage) and not last.tool_calls:
                # The process died when the answer was there already.
                conversation = Conversation(last.text, turns, usage=Usage(), requests=0)
            else:
                conversation = await self._conversation(executor, request)
        except RetinueError as error:
            # What an earlier attempt began and this one could not continue is still an answer in part.
            answers = [turn for turn in executor.turns if isinstance(turn, AssistantMessage)]
            if not answers:
                self._save_checkpoint(executor)
                raise
            text = next((turn.text for turn in reversed(answers) if turn.text), "")
            conversation = Conversation(text=text, turns=executor.turns, usage=Usage(), requests=0, error=error)
        except BaseException:
            self._save_checkpoint(executor)
            raise
        delegated = self.delegate_tool.usage if self.delegate_tool else None
        usage = Usage.total((conversation.usage if conversation.usage != Usage() else None, delegated))
        self.checkpoint.spent = Usage.total((self.spent_before, usage))
        if isinstance(conversation.error, Canceled):
            self._save_checkpoint(executor)
            raise conversation.error from None
        self._save_checkpoint(executor, conversation.turns)
        if conversation.error is None:
            self.recorder.record(self.checkpoint)
        needs_parsing = self.definition.dialect is not None or self.answer_schema is not None
        return build_reply(conversation, self.checkpoint, needs_parsing=needs_parsing, usage=usage)

    async def _first_turns(self) -> tuple[Turn, ...]:
        """The conversation that this attempt continues, else the task."""
        turns, correction = self.checkpoint.turns, self.run.correction
        last = turns[-1] if turns else None
        is_pending = isinstance(last, AssistantMessage) and bool(last.tool_calls)
        # After an answer that was not rejected there is nothing to continue.
        if turns and correction is None and (self.is_resumed or not self.checkpoint.has_answer):
            return turns
        history = turns[:-1] if is_pending else turns
        if history and correction is not None:
            return (*history, UserMessage(correction_text(correction)))
        memory = ""
        if scope := self.definition.runner.memory:
            memory, why = await recall_memories(scope, self.task, self.tools, deadline_ns=self.run.deadline_ns)
            if why:
                self.unsupported.append(f"{_NOT_SUPPORTED}{why}")
        text = task_text(self.task, self.skill, memory=memory)
        return (UserMessage(text if correction is None else f"{text}\n\n{correction_text(correction)}"),)

    async def _conversation(self, executor: ToolExecutor, request: Request) -> Conversation:
        run, stream = self.run, TextStream(self.run)

        def on_turns(turns: Sequence[Turn]) -> None:
            stream.flush()  # text is emitted before the tools of its turn are called, and apart from the next turn's
            executor.on_turns(turns)
            self._record(executor)

        # The agent's own bounds within the task's within the run's; what earlier attempts spent is subtracted.
        limits, tracker = self.task.limits, run.budget_tracker
        if limits.tokens is not None or limits.cost_usd is not None:
            spent = self.checkpoint.spent or Usage()
            tracker = BudgetTracker(
                tokens=None if limits.tokens is None else max(0, limits.tokens - (spent.tokens or 0)),
                usd=None if limits.cost_usd is None else max(0.0, limits.cost_usd - (spent.known_usd or 0.0)),
                parent=tracker,
                name="task.limits",
            )
        request_count = sum(isinstance(turn, AssistantMessage) for turn in self.checkpoint.turns)
        tracker = BudgetTracker(requests=max(0, MAX_REQUESTS - request_count), parent=tracker, name="runner")
        run.emit(Decision("model", self.choice.why, {"model": self.choice.name}))
        ends = run.deadline_ns
        if ends is not None:
            ends -= min(_MARGIN_NS, max(0, ends - run.now()) // 20)
        try:
            return await self.loop.converse(
                self.model,
                request,
                call_tool=executor.execute,
                budget_tracker=tracker,
                max_turns=self.definition.runner.max_turns or MAX_TURNS,
                on_text=stream.on_text,
                on_turns=on_turns,
                clock=run.now,
                deadline_ns=ends,
            )
        finally:
            stream.flush()

    def _save_checkpoint(self, executor: ToolExecutor, turns: tuple[Turn, ...] | None = None) -> None:
        self._update_checkpoint(executor)
        checkpoint = self.checkpoint
        if turns is not None:
            checkpoint.turns = turns
        checkpoint.warnings = list(dict.fromkeys((*checkpoint.warnings, *self.unsupported)))
        write_checkpoint(self.run.checkpoint, checkpoint, owner=f"{self.definition.name}.{self.skill.name}")

    def _record(self, executor: ToolExecutor, call_place: str = "") -> None:
        """Record what is new, but for an answer: whether it is whole is seen when the conversation is over."""
        self._update_checkpoint(executor)
        checkpoint, usages = self.checkpoint, self.run.budget_tracker.usages[self.usage_start :]
        delegated = self.delegate_tool.usage if self.delegate_tool else None
        checkpoint.spent = Usage.total((self.spent_before, *usages, delegated))
        if not checkpoint.has_answer:
            self.recorder.record(checkpoint, call_place=call_place)

    def _update_checkpoint(self, executor: ToolExecutor) -> None:
        checkpoint = self.checkpoint
        checkpoint.turns = executor.turns
        checkpoint.traces = executor.traces
        checkpoint.files_read.update(executor.files_read)
        checkpoint.files_written.update(executor.files_written)
        checkpoint.unapproved.update(executor.unapproved)


EFFORTS: Final[Mapping[str, Effort]] = MappingProxyType(
    {"low": "low", "medium": "medium", "high": "high", "xhigh": "max", "max": "max"}
)
"""The efforts of definitions (C43)."""


@runtime_checkable
class _ReportsUnsupported(Protocol):
    """A model that knows what of a request it ignores."""

    def unsupported(self, request: Request) -> tuple[str, ...]:
        """The names of those fields."""
        ...


def ignored_settings(model: LanguageModel, request: Request) -> list[str]:
    """What of `request` the model says that it ignores, one sentence each."""
    if not isinstance(model, _ReportsUnsupported):
        return []
    labels = {"effort": f"the effort `{request.effort}`"}
    return [
        f"{_NOT_SUPPORTED}{labels.get(name, f'`{name}`')} by the model `{model.name}`."
        for name in model.unsupported(request)
    ]


_FLUSH_AFTER_NS: Final = 50_000_000
_FLUSH_AT: Final = 200


class TextStream:
    """Emits the model's text in pieces of about 200 characters or 50 ms, so that there are few events."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._pieces: list[str] = []
        self._size = 0
        self._since = 0

    def on_text(self, text: str) -> None:
        """Take the next piece."""
        if not text:
            return
        now = self._run.now()
        if not self._pieces:
            self._since = now
        self._pieces.append(text)
        self._size += len(text)
        if self._size >= _FLUSH_AT or now - self._since >= _FLUSH_AFTER_NS:
            self.flush()

    def flush(self) -> None:
        """Emit what is left."""
        if self._pieces:
            self._run.emit(TextDelta("".join(self._pieces)))
            self._pieces.clear()
            self._size = 0


# Memory

RECALL: Final = "recall"

SCOPES: Final[Mapping[str, str]] = MappingProxyType(
    {"global": "global", "user": "global", "project": "project", "local": "project"}
)
"""The values of `memory` in a definition, and the scope of the tool `recall` that each means."""

_LONGEST_QUERY: Final = 1_000
_RECALL_LIMIT: Final = 4_000


async def recall_memories(
    scope: str, task: Task, tools: Mapping[str, Tool], *, deadline_ns: int | None = None
) -> tuple[str, str]:
    """What is remembered about `task`, between marks; and why nothing could be looked up, if so.

    Args:
        scope: As the definition says it.
        task: What it is about.
        tools: Those the agent may use.
        deadline_ns: When its time is up.
    """
    memory_scope, recall = SCOPES.get(fold(scope)), tools.get(RECALL)
    if memory_scope is None:
        return "", f"the memory {scope[:80]!r}; use `user` or `project`."
    if recall is None:
        return "", f"memory: the agent has no tool `{RECALL}`."
    query = " ".join((task.instruction or task.target or task.context.what).split())[:_LONGEST_QUERY]
    if not query:
        return "", ""
    context = ToolContext(None, deadline_ns, _RECALL_LIMIT)
    try:
        output = await recall.use({"query": query, "scope": memory_scope}, context)
    except RetinueError as error:
        return "", f"memory: {error.message}"
    if not output.data or not output.data.get("memories"):
        return "", ""
    block = as_data_block(printable(output.text[:_RECALL_LIMIT]), output.origin)
    return f"What you remember that may bear on it:\n{block}", ""


# The reply


def build_reply(
    conversation: Conversation, checkpoint: ConversationCheckpoint, *, needs_parsing: bool, usage: Usage | None
) -> Reply:
    """The reply that a conversation makes: the answer, or the part of it that there is and why it stopped.

    Args:
        conversation: How it went.
        checkpoint: What earlier attempts left beside it.
        needs_parsing: Whether the text is still to be parsed, as a dialect's or as JSON; else it is the answer.
        usage: What it took.
    """
    error, text = conversation.error, conversation.text
    warnings = [
        *(_warning(each, "The agent ran without it.", _UNSUPPORTED_FIX) for each in checkpoint.warnings),
        *(_warning(each, "The agent continued without it.", _UNAPPROVED_FIX) for each in checkpoint.unapproved),
    ]
    if error is None:
        reply = Reply(text=text) if needs_parsing else Reply(content=text)
    elif needs_parsing or not text or not isinstance(error, LimitReached):
        reply = Reply(outcome="error", fault=Fault.from_error(error), content=text)
    else:
        reply = Reply(outcome="partial", fault=Fault.from_error(error), content=text)
        warning = Warned(
            type="missing_data",
            message=f"The answer is not complete: {error.message[:1].lower()}{error.message[1:]}",
            impact="It holds what was known by then.",
            recovery=error.hint or "Raise the limit, or ask for less.",
            synthetic=True,
        )
        warnings.insert(0, warning)
    reply.usage = usage
    reply.traces = tuple(checkpoint.traces)
    reply.files_read = tuple(checkpoint.files_read)
    reply.files_written = tuple(checkpoint.files_written)
    reply.warnings = tuple(warnings)
    return reply


_UNSUPPORTED_FIX: Final = "Remove it from the definition, or use what is supported."
_UNAPPROVED_FIX: Final = "Say yes when it asks, or put a rule for it into `permissions.allow`."


def _warning(message: str, impact: str, recovery: str) -> Warned:
    return Warned(type="degraded_analysis", message=message, impact=impact, recovery=recovery, synthetic=True)
