"""How far a run is, as a value that events change: its nodes, those of its child runs, and an event as a line of text.

How that is shown is the business of whoever shows it. What agents wrote stands here as it is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, assert_never, cast

from retinue.contract.event import (
    AttemptRetried,
    Body,
    Checkpoint,
    Decision,
    DelegationFinished,
    Event,
    Message,
    NodeFinished,
    NodeStarted,
    Progress,
    QuestionAnswered,
    QuestionAsked,
    TextDelta,
    ToolCallEvent,
    TurnsAdded,
    UsageReported,
)
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Result, Usage
from retinue.engine.ids import CHILD
from retinue.orchestration.run_request import RESERVED


def event_text(body: Body) -> str:
    """The facts of `body`, foreign words as they are."""
    match body:
        case NodeStarted(agent, skill, instruction):
            text = ": ".join(filter(None, (".".join(filter(None, (agent, skill))), instruction)))
        case Progress():
            text = progress_text(body)
        case Checkpoint(phase, status):
            text = f"{phase} {status}"
        case Decision(move, reason):
            text = f"{move}: {reason}"
        case Message(text) | TextDelta(text):
            pass
        case ToolCallEvent(tool, _, failed, about):
            text = f"{tool}{f' {about}' if about else ''}{' failed' if failed else ''}"
        case TurnsAdded(_, start, turns):
            text = f"{start + len(turns):,} turns"
        case UsageReported(usage):
            text = usage.to_json_text()
        case AttemptRetried(code, message):
            text = f"{code}: {message}"
        case QuestionAsked(question):
            text = question.text
        case QuestionAnswered(answer):
            text = f"{answer.value} (by the {answer.by})"
        case DelegationFinished(result):
            text = f"{result.agent}: {_outcome_text(result)}"
        case NodeFinished(result):
            text = _outcome_text(result)
        case never:  # pyright: ignore[reportUnnecessaryComparison] - that it never matches is what is asserted
            assert_never(never)
    return text


def progress_text(body: Progress) -> str:
    """How far a phase is: `reading 3/10`."""
    count = None if body.done is None else f"{body.done:,}{'' if body.total is None else f'/{body.total:,}'}"
    return " ".join(dict.fromkeys(filter(None, (body.phase, body.status, count))))


def node_path(run: str, event: Event) -> str:
    """The node that `event` is about, below the nodes whose plans it belongs to: `n2/a`; "" for the run itself.

    Args:
        run: The run that all belong to.
        event: One of it or of its child runs.
    """
    names = (*event.run.removeprefix(run).split(CHILD), event.node)
    return "/".join(filter(None, map(_base_id, names)))


def _outcome_text(result: Result) -> str:
    return f"{result.outcome or result.lifecycle}{f': {result.fault.message}' if result.fault else ''}"


NodeState: TypeAlias = Literal["waiting", "working", "asking", "success", "partial", "error", "canceled"]

_FINAL_STATES: Final = frozenset({"success", "partial", "error", "canceled"})


@dataclass(slots=True)
class RunNode:
    """One delegation as a person follows it.

    Attributes:
        title: What it is asked.
        started_ns: When it began first, nanoseconds since 1970 UTC; `ended_ns` likewise.
        note: The latest thing worth saying while it works, or why it ended as it did.
        attempts: How often its agent was called; None while nobody told.
        usage: What that took so far, as far as it was measured; with its children, what the whole of it took.
        decisions: What was decided about it on the way.
        children: The delegations of the plan that it answered with.
        is_reused: Its result is from before: a resumed run did not run it again.
        earlier_end: How and when it ended before it began again.
        answered_ids: The questions that it has been answered: it may ask them again when it is run again.
    """

    id: str
    agent: str
    skill: str = ""
    title: str = ""
    state: NodeState = "waiting"
    started_ns: int | None = None
    ended_ns: int | None = None
    note: str = ""
    attempts: int | None = None
    usage: Usage | None = None
    decisions: list[Decision] = field(default_factory=list[Decision])
    is_reused: bool = False
    earlier_end: tuple[NodeState, int | None] | None = None
    answered_ids: set[str] = field(default_factory=set[str])
    children: "list[RunNode]" = field(default_factory=list["RunNode"])

    @property
    def is_over(self) -> bool:
        """It has come to something, good or bad."""
        return self.state in _FINAL_STATES

    @property
    def is_useful(self) -> bool:
        """It brought something, which a resumed run keeps."""
        return self.state in {"success", "partial"}

    @property
    def duration_ns(self) -> int | None:
        """How long it took; None until it has ended."""
        return None if self.started_ns is None or self.ended_ns is None else max(0, self.ended_ns - self.started_ns)

    def to_json(self) -> JsonMapping:
        """This node and its children as JSON; what is empty is left out."""
        facts: JsonMapping = {
            "id": self.id,
            "agent": self.agent,
            "skill": self.skill,
            "title": self.title,
            "state": self.state,
            "note": self.note,
            "attempts": self.attempts,
            "usage": self.usage and self.usage.to_json(),
            "started_ns": self.started_ns,
            "ended_ns": self.ended_ns,
            "is_reused": self.is_reused,
            "children": [child.to_json() for child in self.children],
        }
        return {name: value for name, value in facts.items() if value not in (None, "", []) and value is not False}


class RunNodes:
    """The delegations of one run and of its child runs.

    Attributes:
        top: Those of the run itself, in the plan's order.
        warnings: What the engine has to say about the run as a whole.
    """

    def __init__(self, run: str, plan: Plan, *, reused_ids: Iterable[str] = ()) -> None:
        self.top = [RunNode(node.id, node.agent, node.skill or "", node.instruction) for node in plan.nodes]
        self.warnings: list[str] = []
        self._nodes_by_run = {run: _by_id(self.top)}
        self._questions: set[tuple[str, str]] = set()
        self._told: set[tuple[str, str]] = set()
        names = {_base_id(name) for name in reused_ids}
        for node in self.top:
            if node.id in names:
                node.is_reused, node.state = True, "success"

    def __iter__(self) -> Iterator[tuple[int, RunNode]]:
        """Every node with its depth, each before its children."""
        return _walk(self.top, 0)

    def paths(self) -> Iterator[tuple[str, RunNode]]:
        """Every node with its name, below those whose plans it belongs to: `n2/a`."""
        names: list[str] = []
        for depth, node in self:
            names[depth:] = [node.id]
            yield "/".join(names), node

    def apply(self, event: Event) -> RunNode | None:
        """Note what `event` says; gives the node it speaks of, if it changed."""
        node = self._find(event.run, event.node)
        match event.body:
            case UsageReported(usage) if event.node:
                self._told.update(_places(event))
                self._spend(event, usage)
            case NodeFinished(result) if event.node:  # of what a fork has from before only the result tells
                if self._told.isdisjoint(((event.run, event.node), (event.run, _base_id(event.node)))):
                    self._spend(event, result.usage)
            case _:
                pass
        if node is None:
            if isinstance(event.body, Message) and event.body.level == "warning" and not event.node:
                self.warnings.append(event.body.text)
            return None
        return node if self._update(node, event) else None

    def close(self) -> None:
        """The run has ended: what never came to an end was stopped."""
        for _, node in self:
            if not node.is_over and node.state != "asking":
                node.state = "canceled"

    def _update(self, node: RunNode, event: Event) -> bool:
        match event.body:
            case NodeStarted(agent, skill, instruction):
                node.agent, node.skill = agent or node.agent, skill or node.skill
                node.title = node.title or instruction
                node.earlier_end = (node.state, node.ended_ns) if node.is_useful else node.earlier_end
                node.state, node.note, node.ended_ns, node.is_reused = "working", "", None, False
                node.started_ns = node.started_ns or event.at_ns
            case Progress() as body:
                node.note = progress_text(body)
            case Message(text, "info"):
                node.note = text
            case AttemptRetried(code):
                node.note = f"retrying after {code}"
            case QuestionAsked(question):
                self._questions.add((event.run, event.node))
                node.state, node.note = "asking", question.text
            case QuestionAnswered(answer):
                node.answered_ids.add(answer.question_id)
                node.state, node.note = "working", ""
            case Decision(move, reason) as body:
                node.decisions.append(body)
                if move not in {"skip", "stop"}:
                    return False
                node.state, node.note = "canceled", reason
            case NodeFinished(result):
                if (event.run, event.node) in self._questions:
                    return False  # only an answer
                self._finish(node, result, event)
            case _:
                return False
        return True

    def _finish(self, node: RunNode, result: Result, event: Event) -> None:
        if node.started_ns is None and result.duration_ns is not None:  # a fork has only results from before
            node.started_ns = event.at_ns - result.duration_ns
        node.attempts = (node.attempts or 0) + len(result.attempts) or None
        if result.lifecycle == "working":
            plan: object = result.extras.get("plan")
            nodes: object = cast("dict[str, Any]", plan).get("nodes") if isinstance(plan, dict) else None
            plan_nodes = cast("list[Any]", nodes) if isinstance(nodes, list) else []
            facts = [cast("dict[str, Any]", each) for each in plan_nodes if isinstance(each, dict)]
            texts = [[str(each.get(name) or "") for name in ("id", "agent", "skill", "instruction")] for each in facts]
            node.children = [RunNode(name, agent, skill, title) for name, agent, skill, title in texts]
            return
        node.ended_ns = event.at_ns
        if result.lifecycle == "input_required":
            is_answered = node.answered_ids.issuperset(question.id for question in result.questions)
            if is_answered and node.earlier_end is not None:
                node.state, node.ended_ns = node.earlier_end
                return
            node.state = "asking"
            node.note = result.questions[0].text if result.questions else ""
            return
        match result.outcome:
            case "success" | "partial" | "canceled" as outcome:
                node.state = outcome
            case _:
                node.state = "error"
        node.note = result.fault.message if result.fault and not result.useful else ""
        if node.is_useful and all(child.state == "waiting" for child in node.children):
            for child in node.children:  # their run was before that of which this is a fork, and is not told of
                child.state, child.is_reused = node.state, True

    def _spend(self, event: Event, usage: Usage | None) -> None:
        """Note what was spent where `event` happened, and so above it."""
        for run, name in _places(event):
            if node := self._find(run, name):
                node.usage = Usage.total((node.usage, usage))

    def _find(self, run: str, name: str) -> RunNode | None:
        """The node that `name` belongs to: itself, a further step, a question or a child run of it."""
        return self._nodes_of(run).get(_base_id(name)) if name else None

    def _nodes_of(self, run: str) -> dict[str, RunNode]:
        """The nodes of a run by their ids, put in order once: a plan may have a hundred thousand."""
        if run not in self._nodes_by_run:
            parent_run, _, parent = run.rpartition(CHILD)
            above = self._find(parent_run, parent) if parent_run else None
            if above is None or not above.children:
                return {}
            self._nodes_by_run[run] = _by_id(above.children)
        return self._nodes_by_run[run]


def _by_id(nodes: list[RunNode]) -> dict[str, RunNode]:
    return {node.id: node for node in nodes}


def _places(event: Event) -> Iterator[tuple[str, str]]:
    """Where `event` happened, by run and node, and the child runs that this is in."""
    run, name = event.run, event.node
    while run:
        yield run, name
        run, _, name = run.rpartition(CHILD)


def _walk(nodes: list[RunNode], depth: int) -> Iterator[tuple[int, RunNode]]:
    for node in nodes:
        yield depth, node
        yield from _walk(node.children, depth + 1)


def _base_id(name: str) -> str:
    return name.partition(RESERVED)[0]
