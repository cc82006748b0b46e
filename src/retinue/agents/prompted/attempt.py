"""One attempt of a prompted agent at one task: what it starts with, the conversation, and what remains of it.

Whatever way it ends, the conversation is noted, so that a further attempt goes on from there and uses no tool twice.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable

from retinue.agents.port import Reply, RunContext
from retinue.agents.tool_references import DELEGATE, SKILL
from retinue.contract.definition import Definition, Skill
from retinue.contract.event import Decision, TextDelta
from retinue.contract.fault import Fault
from retinue.contract.names import fold
from retinue.contract.result import Usage, Warned
from retinue.contract.sanitize import printable
from retinue.contract.task import Task
from retinue.errors import Canceled, LimitReached, RetinueError
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.conversation import MAX_TURNS, Conversation
from retinue.llm.models import ModelChoice
from retinue.llm.port import EFFORT_OF, AnswerShape, AssistantMessage, Effort, LanguageModel, Request, Turn, UserMessage
from retinue.tools.port import Tool, ToolContext

from .checkpoint import ConversationCheckpoint, read_checkpoint, write_checkpoint
from .definition_permissions import EffectivePermissions
from .delegate_tool import DelegateTool, SkillTool
from .loop import Loop
from .task_prompt import answer_schema_of, as_data_block, correction_text, task_text
from .tool_executor import ToolExecutor

MAX_REQUESTS: Final = 50
"""Requests of one call, all its attempts together: weak models were seen to call tools for ever."""

_MARGIN_NS: Final = 250_000_000
"""Kept of an attempt's time, so that there is an answer before it is over."""

_OpenToolset: TypeAlias = Callable[[str], tuple[str, dict[str, Tool]]]
_Instructions: TypeAlias = Callable[[Skill, Mapping[str, Definition], bool], str]


class PromptedAttempt:
    """One attempt.

    Args:
        definition: The agent.
        task: What is asked.
        run: What it gets beside it.
        skill: Which of its skills is meant.
        permissions: What it may use.
        choice: Its model, and why it is this one.
        model: The model itself.
        loop: Drives it.
        open_toolset: Opens tools, or gives those that were opened before under a name.
        instructions: What the system says.
    """

    def __init__(
        self,
        definition: Definition,
        task: Task,
        run: RunContext,
        *,
        skill: Skill,
        permissions: EffectivePermissions,
        choice: ModelChoice,
        model: LanguageModel,
        loop: Loop,
        open_toolset: _OpenToolset,
        instructions: _Instructions,
    ) -> None:
        self._definition, self._task, self._run, self._skill = definition, task, run, skill
        self._choice, self._model, self._loop, self._instructions = choice, model, loop, instructions
        self._owner = f"{definition.name}.{skill.name}"
        self._shape = answer_schema_of(skill, task, definition)
        self._checkpoint = read_checkpoint(run.checkpoint, owner=self._owner)
        self._grants, self._unsupported = permissions.grants, list(permissions.denied)
        self._checkpoint.toolset, self._tools = open_toolset(self._checkpoint.toolset)
        self._delegate_tool: DelegateTool | None = None

    async def reply(self) -> Reply:
        """Converse, and make a reply of it."""
        skills = self._skills()
        self._add_tools(skills)
        turns = self._resumed_turns() or (UserMessage(await self._task_text()),)
        executor = ToolExecutor(
            agent=self._definition.name,
            key=self._task.idempotency_key or self._task.id,
            tools=self._tools,
            grants=self._grants,
            run=self._run,
            turns=turns,
            traces=self._checkpoint.traces,
        )
        effort, unknown = effort_for(self._task, self._definition)
        request = Request(
            turns=turns,
            instructions=self._instructions(self._skill, skills, self._shape is not None),
            tools=tuple(tool.spec for tool in self._tools.values()),
            shape=None if self._shape is None else AnswerShape(self._shape, name=self._skill.name),
            effort=effort,
        )
        ignored = (*((unknown,) if unknown else ()), *ignored_settings(self._model, request))
        self._unsupported += [f"Not supported: {each}" for each in ignored]
        try:
            conversation = await self._conversation(executor, request)
        except RetinueError as error:
            conversation = _partial_conversation(executor.turns, error)
            if conversation is None:
                self._save_checkpoint(executor)  # nothing is lost: nobody has said anything yet
                raise
        except BaseException:
            self._save_checkpoint(executor)
            raise
        usage = self._record_usage(conversation)
        if isinstance(conversation.error, Canceled):
            self._save_checkpoint(executor, stored="outside")
            raise conversation.error from None
        self._save_checkpoint(executor, conversation.turns)
        read = self._definition.dialect is not None or self._shape is not None
        return build_reply(conversation, self._checkpoint, needs_parsing=read, usage=usage)

    # What it starts with

    def _skills(self) -> dict[str, Definition]:
        """The skills it may look up."""
        definitions: dict[str, Definition] = {}
        for name in self._definition.runner.skills:
            definition = self._run.definition_of(fold(name))
            if definition is None:
                self._unsupported.append(f"Not supported: there is no skill {name[:80]!r} here.")
            else:
                definitions[definition.name] = definition
        return definitions

    def _add_tools(self, skills: Mapping[str, Definition]) -> None:
        """Add the tools that belong to this call alone, and leave out what it may not have."""
        tools, run = self._tools, self._run
        if skills:
            tools[SKILL] = SkillTool(skills)
        if others := run.light_schema:
            name, model = self._definition.name, self._choice.name
            self._delegate_tool = DelegateTool(
                agent=name, model=model, grants=self._grants, run=run, agents_text=others
            )
            tools[DELEGATE] = self._delegate_tool
        self._tools = {name: tool for name, tool in tools.items() if self._grants.offers(tool.spec)}

    async def _task_text(self) -> str:
        scope, correction, memory = self._definition.runner.memory, self._run.correction, ""
        if scope:
            memory, why = await recall_memories(scope, self._task, self._tools, deadline_ns=self._run.deadline_ns)
            if why:
                self._unsupported.append(f"Not supported: {why}")
        text = task_text(self._task, self._skill, memory=memory)
        return text if correction is None else f"{text}\n\n{correction_text(correction)}"

    def _resumed_turns(self) -> tuple[Turn, ...]:
        """The conversation that this attempt goes on with; nothing when it begins."""
        turns, correction = self._checkpoint.turns, self._run.correction
        last = turns[-1] if turns else None
        is_pending = isinstance(last, AssistantMessage) and bool(last.tool_calls)
        if correction is None:
            # An answer that nobody found fault with is no place to go on from.
            return turns if is_pending or not isinstance(last, AssistantMessage) else ()
        history = turns[:-1] if is_pending else turns
        return (*history, UserMessage(correction_text(correction))) if history else ()

    # The conversation

    async def _conversation(self, executor: ToolExecutor, request: Request) -> Conversation:
        run, stream = self._run, TextStream(self._run)

        def on_turns(turns: Sequence[Turn]) -> None:
            stream.flush()  # what was said in one turn is told before its tools are used, and apart from the next
            executor.on_turns(turns)

        run.emit(Decision("model", self._choice.why, {"model": self._choice.name}))
        ends = run.deadline_ns
        if ends is not None:
            ends -= min(_MARGIN_NS, max(0, ends - run.now()) // 20)
        try:
            return await self._loop.converse(
                self._model,
                request,
                call_tool=executor.execute,
                budget_tracker=self._budget_tracker(),
                max_turns=self._definition.runner.max_turns or MAX_TURNS,
                on_text=stream.on_text,
                on_turns=on_turns,
                clock=run.now,
                deadline_ns=ends,
            )
        finally:
            stream.flush()

    def _budget_tracker(self) -> BudgetTracker:
        """The agent's own bounds within the task's within the run's; what was spent before is taken off."""
        limits, parent = self._task.limits, self._run.budget_tracker
        if limits.tokens is not None or limits.cost_usd is not None:
            spent = self._checkpoint.spent or Usage()
            usd = spent.known_usd or 0.0
            parent = BudgetTracker(
                tokens=None if limits.tokens is None else max(0, limits.tokens - (spent.tokens or 0)),
                usd=None if limits.cost_usd is None else max(0.0, limits.cost_usd - usd),
                parent=parent,
                name="task.limits",
            )
        request_count = sum(isinstance(turn, AssistantMessage) for turn in self._checkpoint.turns)
        return BudgetTracker(requests=max(0, MAX_REQUESTS - request_count), parent=parent, name="runner")

    # What remains of it

    def _record_usage(self, conversation: Conversation) -> Usage | None:
        """What this attempt took, those it called included."""
        checkpoint = self._checkpoint
        delegated = self._delegate_tool.usage if self._delegate_tool else None
        usage = conversation.usage if conversation.usage != Usage() else None
        own = Usage.total((usage, delegated))
        checkpoint.spent = Usage.total((checkpoint.spent, own))
        return own

    def _save_checkpoint(
        self,
        executor: ToolExecutor,
        turns: tuple[Turn, ...] | None = None,
        *,
        stored: Literal["here", "outside"] = "here",
    ) -> None:
        """Note the conversation for an attempt that goes on with it."""
        checkpoint = self._checkpoint
        checkpoint.turns = executor.turns if turns is None else turns
        checkpoint.traces = executor.traces
        checkpoint.files_read.update(executor.files_read)
        checkpoint.files_written.update(executor.files_written)
        checkpoint.unapproved.update(executor.unapproved)
        checkpoint.warnings = list(dict.fromkeys((*checkpoint.warnings, *self._unsupported)))
        write_checkpoint(self._run.checkpoint, checkpoint, owner=self._owner, stored=stored)


def _partial_conversation(turns: tuple[Turn, ...], error: RetinueError) -> Conversation | None:
    """What there is of a conversation that an earlier attempt began and this one could not go on with."""
    answers = [turn for turn in turns if isinstance(turn, AssistantMessage)]
    if not answers:
        return None
    text = next((turn.text for turn in reversed(answers) if turn.text), "")
    return Conversation(text=text, turns=turns, usage=Usage(), requests=0, error=error)


EFFORTS: Final[Mapping[str, Effort]] = MappingProxyType(
    {"low": "low", "medium": "medium", "high": "high", "xhigh": "max", "max": "max"}
)
"""What definitions write, and what it means."""


@runtime_checkable
class _ReportsUnsupported(Protocol):
    """A model that knows what of a request it will not heed."""

    def unsupported(self, request: Request) -> tuple[str, ...]:
        """The names of those fields."""
        ...


def effort_for(task: Task, definition: Definition) -> tuple[Effort | None, str]:
    """How hard to think about `task`, as the task says, else the definition; and what nobody knows of the latter."""
    name = definition.runner.effort
    own = EFFORTS.get(fold(name)) if name else None
    unknown = f"the effort {name[:80]!r}." if name and own is None else ""
    task_effort = None if task.thinking is None else EFFORT_OF[task.thinking]
    return task_effort or own, unknown


def ignored_settings(model: LanguageModel, request: Request) -> tuple[str, ...]:
    """What of `request` the model says that it will not heed, each as the end of a sentence."""
    if not isinstance(model, _ReportsUnsupported):
        return ()
    labels = {"effort": f"the effort `{request.effort}`"}
    return tuple(f"{labels.get(name, f'`{name}`')} by the model `{model.name}`." for name in model.unsupported(request))


_MOMENT_NS: Final = 50_000_000
_MANY: Final = 200


class TextStream:
    """Hears text and emits it in pieces of about 200 characters or 50 ms, whichever comes first."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._pieces: list[str] = []
        self._size = 0
        self._since = 0

    def on_text(self, text: str) -> None:
        """Hear the next piece."""
        if not text:
            return
        now = self._run.now()
        if not self._pieces:
            self._since = now
        self._pieces.append(text)
        self._size += len(text)
        if self._size >= _MANY or now - self._since >= _MOMENT_NS:
            self.flush()

    def flush(self) -> None:
        """Emit what is left."""
        if self._pieces:
            self._run.emit(TextDelta("".join(self._pieces)))
            self._pieces.clear()
            self._size = 0


RECALL: Final = "recall"

SCOPES: Final[Mapping[str, str]] = MappingProxyType(
    {"global": "global", "user": "global", "project": "project", "local": "project"}
)
"""What definitions write, and which memories they mean."""

_LONGEST_QUERY: Final = 1_000
_LIMIT: Final = 4_000


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
        return "", f"the memory {scope[:80]!r}; there is `user` and `project`."
    if recall is None:
        return "", f"memory: the agent has no tool `{RECALL}`."
    query = " ".join((task.instruction or task.target or task.context.what).split())[:_LONGEST_QUERY]
    if not query:
        return "", ""
    try:
        output = await recall.use({"query": query, "scope": memory_scope}, ToolContext(None, deadline_ns, _LIMIT))
    except RetinueError as error:
        return "", f"memory: {error.message}"
    if not output.data or not output.data.get("memories"):
        return "", ""
    return (
        f"What you remember that may bear on it:\n{as_data_block(printable(output.text[:_LIMIT]), output.origin)}",
        "",
    )


_GO_ON: Final = "Raise the bound, or ask for less."


def build_reply(
    conversation: Conversation, checkpoint: ConversationCheckpoint, *, needs_parsing: bool, usage: Usage | None
) -> Reply:
    """The reply that a conversation makes.

    Args:
        conversation: How it went.
        checkpoint: What there is beside it, from earlier attempts too.
        needs_parsing: Whether the text is still to be read, as a dialect's or as JSON; else it is the answer as it
            stands.
        usage: What it took.
    """
    reply = (
        _complete_reply(conversation, needs_parsing=needs_parsing)
        if conversation.error is None
        else _partial_reply(conversation, needs_parsing=needs_parsing)
    )
    reply.usage = usage
    reply.traces = tuple(checkpoint.traces)
    reply.files_read = tuple(checkpoint.files_read)
    reply.files_written = tuple(checkpoint.files_written)
    refusals = (_unapproved_warning(each) for each in checkpoint.unapproved)
    reply.warnings = (*reply.warnings, *(unsupported_warning(each) for each in checkpoint.warnings), *refusals)
    return reply


def unsupported_warning(message: str) -> Warned:
    """The warning that something a definition asks for is not done."""
    return Warned(
        type="degraded_analysis",
        message=message,
        impact="The agent ran without it.",
        recovery="Remove it from the definition, or put in what is supported.",
        synthetic=True,
    )


def _unapproved_warning(message: str) -> Warned:
    return Warned(
        type="degraded_analysis",
        message=message,
        impact="The agent went on without it.",
        recovery="Say yes when it asks, or put a rule for it into `permissions.allow`.",
        synthetic=True,
    )


def _complete_reply(conversation: Conversation, *, needs_parsing: bool) -> Reply:
    return Reply(text=conversation.text) if needs_parsing else Reply(content=conversation.text)


def _partial_reply(conversation: Conversation, *, needs_parsing: bool) -> Reply:
    """What there is of an answer that was stopped: a part, where a bound was hit and words are an answer."""
    error = conversation.error
    if error is None:  # pragma: no cover - whoever calls has seen that it was stopped
        return Reply()
    fault = Fault.from_error(error)
    if needs_parsing or not conversation.text or not isinstance(error, LimitReached):
        return Reply(outcome="error", fault=fault, content=conversation.text)
    warning = Warned(
        type="missing_data",
        message=f"The answer is not whole: {_lower(error)}",
        impact="It holds what was known by then.",
        recovery=error.hint or _GO_ON,
        synthetic=True,
    )
    return Reply(outcome="partial", fault=fault, content=conversation.text, warnings=(warning,))


def _lower(error: RetinueError) -> str:
    return error.message[:1].lower() + error.message[1:]
