"""The budget of a run: how it is shared out before the start (H26), and what is spent of it while the run goes on (C6).

Of 100,000 tokens the orchestrator gets 30,000, a supervisor 20,000, and 10,000 stay in reserve; the workers share the
rest in equal parts. A share bounds one node; the budget itself binds all of them together, and the `BudgetTracker` of
the run keeps it.

A tracker learns of a call of a model when it is made. Of what a program spent, and of what was spent before a run was
resumed, only the result tells. `RunBudget` reconciles the two, so that nothing is counted twice or left out.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from retinue.contract.definition import Definition
from retinue.contract.event import Decision, Event, NodeFinished, NodeStarted, UsageReported
from retinue.contract.fault import Fault
from retinue.contract.plan import Plan
from retinue.contract.result import Result, Usage
from retinue.contract.task import Budget, Thinking
from retinue.engine.base import REAL, Outside
from retinue.engine.run_history import is_kept
from retinue.errors import BudgetExceeded
from retinue.llm.budget_tracker import BudgetTracker, OnUsage
from retinue.orchestration.run_request import RESERVED

GO_ON: Final = "go_on"
"""The move of a resumed run that has charged what is lost of its earlier lives."""


@dataclass(slots=True)
class RunBudget:
    """The budget of one run, and what is spent of it.

    Attributes:
        tracker: What models may still spend; part of the parent's, for a child run in the same process.
        nodes: How many agents were called.
        tokens: What is spent, by what was measured; `cost_usd` likewise.
        usages: What everything took that the run paid for, in order.
        overhead: What the orchestrator itself took of that: planning, reconsidering, writing the answer.
    """

    budget: Budget
    tracker: BudgetTracker = field(default_factory=BudgetTracker)
    nodes: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    usages: list[Usage] = field(default_factory=list)
    overhead: list[Usage] = field(default_factory=list)
    _step_trackers: dict[str, BudgetTracker] = field(default_factory=dict)

    def limit_fault(self) -> Fault | None:
        """Why no further node may start, if so."""
        budget = self.budget
        if self.nodes >= budget.nodes:
            bound, message = "nodes", f"All {budget.nodes} delegations of the budget are used up."
        elif budget.tokens is not None and self.tokens >= budget.tokens:
            bound, message = "tokens", f"{self.tokens:,} of {budget.tokens:,} tokens are spent."
        elif budget.cost_usd is not None and self.cost_usd >= budget.cost_usd and self.cost_usd > 0:
            bound, message = "cost_usd", f"${self.cost_usd:.4f} of ${budget.cost_usd:.4f} are spent."
        else:
            return None
        hint = "Raise the budget, or ask for less; what was finished is kept."
        return Fault.from_error(BudgetExceeded(message, hint=hint, detail={"bound": bound}))

    def charge(self, usage: Usage | None) -> None:
        """Note what something cost."""
        if usage is not None:
            self.tokens += usage.tokens or 0
            self.cost_usd += usage.known_usd or 0.0

    def remaining(self) -> Budget:
        """What may still be spent; time is bounded by the deadline instead."""
        budget = self.budget
        if budget.tokens is None and budget.cost_usd is None and budget.timeout_s is None:
            return budget
        return Budget(
            tokens=None if budget.tokens is None else max(budget.tokens - self.tokens, 0),
            cost_usd=None if budget.cost_usd is None else max(budget.cost_usd - self.cost_usd, 0.0),
            nodes=budget.nodes,
            depth=budget.depth,
        )

    def grant(self, *, sharers: int, reserved: int = 0) -> Budget | None:
        """A fair part of what is left for a child run, taken from this budget; None when nothing is left.

        The nodes are given for good until `refund`, so that no nesting can exceed them; `reserved` of them stay here,
        for what this run has still to start while the child runs.
        """
        # Tokens and money are not divided: the tracker of the run binds all who share them, whoever is first.
        nodes = (self.budget.nodes - self.nodes - reserved) // max(sharers, 1)
        if nodes < 1 or self.limit_fault() is not None:
            return None
        self.nodes += nodes
        remaining = self.remaining()
        return Budget(tokens=remaining.tokens, cost_usd=remaining.cost_usd, nodes=nodes, depth=remaining.depth)

    def refund(self, granted: Budget, used: int) -> None:
        """Take back the nodes that a child run did not use."""
        self.nodes -= max(granted.nodes - used, 0)

    def open(self, name: str, *, tokens: int | None = None, on_usage: OnUsage | None = None) -> BudgetTracker:
        """The tracker of a step or child run, which may spend `tokens` at most; what it spends is spent here."""
        scope = "run.budget" if tokens is None else "orchestrator"
        tracker = BudgetTracker(tokens=tokens, parent=self.tracker, name=scope, separate=True, on_usage=on_usage)
        self._step_trackers[name] = tracker
        return tracker

    def open_overhead(self, name: str, *, on_usage: OnUsage | None = None) -> BudgetTracker:
        """The tracker of a step of the orchestrator itself: what its share of the budget has left (H26)."""
        if self.budget.tokens is None:
            return self.open(name, on_usage=on_usage)
        used = self.overhead_usage
        remaining = orchestrator_share(self.budget.tokens) - ((used.tokens if used else None) or 0)
        return self.open(name, tokens=max(remaining, 0), on_usage=on_usage)

    def close(self, name: str, usage: Usage | None, *, overhead: bool = False) -> None:
        """Charge what a step says it took; what its tracker has not seen of that is booked there too.

        Where it says nothing, because it was stopped, its tracker says what it asked models for.
        """
        step_tracker = self._step_trackers.pop(name, None)
        if usage is None and step_tracker is not None:
            usage = Usage.total(step_tracker.usages)
        if usage is None:
            return
        self.charge(usage)
        self.usages.append(usage)
        if overhead:
            self.overhead.append(usage)
        # What the tracker of the step saw is booked in its parent already; only what it did not see comes on top.
        tracker = step_tracker or BudgetTracker()
        tokens = max((usage.tokens or 0) - tracker.spent_tokens, 0)
        usd = max((usage.known_usd or 0.0) - tracker.spent_usd, 0.0)
        requests = max((usage.requests or 0) - tracker.spent_requests, 0)
        if tokens or usd or requests:
            self.tracker.charge(tokens=tokens, usd=usd, requests=requests)

    def charge_earlier(self, planning: Usage | None, events: Sequence[Event] = ()) -> Usage | None:
        """Charge what was spent before: on the plan, and by earlier lives of the run on what is not kept of them.

        That are steps that failed, and those that were under way when the process was killed; gives what they took.
        Child runs see to their own.
        """
        self.close("", planning, overhead=True)
        lost_usage: list[Usage | None] = [usage for _, _, usage in lost_usages(events)]
        children = {event.node for event in events if isinstance(event.body, NodeStarted) and RESERVED in event.node}
        results: dict[str, Result] = {}
        for event in events:
            if isinstance(event.body, NodeFinished) and event.node and event.node not in children:
                lost_usage += [earlier.usage] if (earlier := results.get(event.node)) else []
                results[event.node] = event.body.result
        # A step that is kept is replayed, and charged then.
        lost_usage += [one.usage for one in results.values() if not is_kept(one)]
        total = Usage.total(lost_usage)
        self.close("", total)
        return total

    @property
    def overhead_usage(self) -> Usage | None:
        """What the orchestrator itself took; None when it asked no model."""
        return Usage.total(self.overhead)


def lost_usages(events: Iterable[Event]) -> list[tuple[str, str, Usage]]:
    """What attempts of one run spent and no result says, as they were killed, or stopped before they could say it.

    Each with its node and its agent, "" for a step of the orchestrator itself; agents that others asked inside their
    step are named in the usage.
    """
    losses: list[tuple[str, str, Usage]] = []
    reports: dict[str, Usage] = {}
    agents: dict[str, str] = {}

    def lose(nodes: Iterable[str]) -> None:
        losses.extend((node, agents.get(node, ""), reports.pop(node)) for node in nodes if node in reports)

    for event in events:
        node = event.node.partition(RESERVED)[0] or event.node
        match event.body:
            case NodeStarted(agent) if agent:  # the first is its own, those behind it are asked by that one
                agents.setdefault(node, agent)
            case UsageReported(usage) if node:  # what planning took is charged apart
                reports[node] = Usage.total((reports.get(node), usage)) or usage
            case NodeFinished(result) if event.node:
                lose([node] if result.usage is None else ())
                reports.pop(node, None)
                agents.pop(node, None)
            case Decision(move) if move == GO_ON:  # nothing that was under way before this came to a result
                lose(tuple(reports))
            case _:
                pass
    lose(tuple(reports))
    return losses


@dataclass(slots=True)
class Deadline:
    """When a run and its child runs must be over. It stands still while a person is asked.

    Attributes:
        ends_ns: When, unless a person is asked now or the clock is set; None when nothing bounds it.
        outside: Time.
    """

    ends_ns: int | None
    outside: Outside = REAL
    _clock: Callable[[], int] = field(init=False)
    _questions: int = 0
    _since_ns: int = 0

    def __post_init__(self) -> None:
        """The time that is left passes steadily."""
        self._clock = self.outside.stopwatch()

    @property
    def at_ns(self) -> int | None:
        """When it is over, as far as is known now, by the clock as it is set now."""
        if self.ends_ns is None:
            return None
        now_ns = self._since_ns if self._questions else self._clock()
        return self.outside.clock() + self.ends_ns - now_ns

    def pause(self) -> None:
        """A person is asked."""
        if not self._questions:
            self._since_ns = self._clock()
        self._questions += 1

    def resume(self) -> None:
        """One question is over."""
        self._questions -= 1
        if not self._questions and self.ends_ns is not None:
            self.ends_ns += self._clock() - self._since_ns


_ORCHESTRATOR_SHARE: Final = 0.30
"""For planning, reconsidering and writing the answer."""

_SUPERVISOR_SHARE: Final = 0.20
"""For all agents that answer with a plan, together."""

_RESERVE_SHARE: Final = 0.10
"""For nobody in particular: retries, and thinking modes that take more."""

EXTRA_TOKENS: Final[Mapping[Thinking, int]] = MappingProxyType(
    {"standard": 0, "think": 1_000, "think_hard": 2_000, "ultrathink": 4_000}
)
"""What each mode adds to the budget of a node (H26)."""

_ORDER: Final[tuple[Thinking, ...]] = tuple(EXTRA_TOKENS)

_ULTRA: Final = re.compile(r"(?<![\w-])ultra-?think(?:[ \t]+(?:about|on|through))?(?![\w-])[:,.]?", re.IGNORECASE)
_THINK: Final = re.compile(
    r"(?P<before>\A|[.;:!?,\n][ \t]*|\b(?:please|and|then|but|so)[ \t]+)"
    r"think"
    r"(?:[ \t]+(?:it[ \t]+|this[ \t]+)?(?:very[ \t]+|really[ \t]+|extra[ \t]+)?"
    r"(?P<hard>hard(?:er)?|deep(?:ly)?|deeper|intensely|thoroughly|carefully))?"
    r"(?P<link>[ \t]+(?:about|on|through|over)(?:[ \t]+(?:it|this)(?![\w-]))?)?"
    r"(?P<end>[ \t]*[:,.!]|(?=[ \t\n])|\Z)",
    re.IGNORECASE,
)
_NOT_AN_ORDER: Final = re.compile(r"[ \t]*(?:of|that|so|tank|twice|again|like)\b", re.IGNORECASE)


def thinking_in(goal: str) -> tuple[Thinking | None, str]:
    """The mode that `goal` asks for, None when it asks for none, and the goal without the words that say so."""
    # Nearly every goal ends here, before the patterns are tried.
    if "think" not in goal and "hink" not in goal.lower():
        return None, goal
    if _ULTRA.search(goal):
        return "ultrathink", _without(goal, [match.span() for match in _ULTRA.finditer(goal)])
    mode: Thinking | None = None
    spans: list[tuple[int, int]] = []
    for match in _THINK.finditer(goal):
        marker = match["hard"] or match["link"] or match["end"].strip() or match.end() == len(goal)
        if not marker or _NOT_AN_ORDER.match(goal, match.end()):
            continue
        mode = harder(mode, "think_hard" if match["hard"] else "think")
        spans.append((match.end("before"), match.end()))
    return mode, _without(goal, spans) if spans else goal


def harder(first: Thinking | None, second: Thinking | None) -> Thinking | None:
    """The harder of two modes; one that nobody asked for is no mode."""
    if first is None or second is None:
        return first or second
    return first if _ORDER.index(first) > _ORDER.index(second) else second


def with_thinking(plan: Plan, mode: Thinking | None) -> Plan:
    """`plan` with this mode on the nodes that have none of their own."""
    if mode is None or not plan.nodes:
        return plan
    nodes = [node if node.thinking else node.model_copy(update={"thinking": mode}) for node in plan.nodes]
    return plan.model_copy(update={"nodes": tuple(nodes)})


def _without(goal: str, spans: list[tuple[int, int]]) -> str:
    """`goal` without these parts; all of it when nothing would be left."""
    parts: list[str] = []
    place = 0
    for start, end in spans:
        parts.append(goal[place:start])
        place = end
    rest = re.sub(r"[ \t]{2,}", " ", " ".join((*parts, goal[place:]))).strip(" \t\n,;:")
    return rest if any(character.isalnum() for character in rest) else goal


def orchestrator_share(tokens: int) -> int:
    """What the orchestrator itself may take of a budget of `tokens`."""
    return round(tokens * _ORCHESTRATOR_SHARE)


def allocate_tokens(plan: Plan, tokens: int | None, definitions: Mapping[str, Definition]) -> Plan:
    """`plan` with a bound of tokens on every node that may ask a model and has none yet.

    A single delegation has the whole budget: there is nobody to share it with.
    """
    definition_by_node = {node.id: definitions[node.agent] for node in plan.nodes if node.agent in definitions}
    model_nodes = [
        node
        for node in plan.nodes
        if node.id in definition_by_node and definition_by_node[node.id].uses_model(node.skill)
    ]
    if tokens is None or not model_nodes or len(plan.nodes) == 1:
        return plan
    supervisors: list[str] = []
    for node in model_nodes:
        definition = definition_by_node[node.id]
        skill = definition.skill_for(node.skill)
        by_others = skill is not None and skill.thinks == "by_others"
        # Where an agent tells its skills apart in this, only those supervise that say so.
        if by_others if any(each.thinks == "by_others" for each in definition.skills) else definition.composes:
            supervisors.append(node.id)
    overhead = _ORCHESTRATOR_SHARE + _RESERVE_SHARE + (_SUPERVISOR_SHARE if supervisors else 0.0)
    workers = len(model_nodes) - len(supervisors)
    each = round(tokens * max(1.0 - overhead, 0.0) / workers) if workers else 0
    tokens_by_node = {node.id: each for node in model_nodes}
    tokens_by_node |= {name: round(tokens * _SUPERVISOR_SHARE / len(supervisors)) for name in supervisors}
    nodes = list(plan.nodes)
    for place, node in enumerate(nodes):
        if node.id in tokens_by_node and node.limits.tokens is None:
            bound = max(tokens_by_node[node.id], 1) + EXTRA_TOKENS[node.thinking or "standard"]
            limits = node.limits.model_copy(update={"tokens": bound})
            nodes[place] = node.model_copy(update={"limits": limits})
    return plan.model_copy(update={"nodes": tuple(nodes)})
