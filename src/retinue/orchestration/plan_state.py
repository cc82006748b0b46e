"""How far a plan has come, and what follows from one more node having ended; and which agents are called no more.

Pure bookkeeping over ids and yes or no: no results, no engine, no waiting. Every node is looked at once when it ends
and once for each edge, so a plan of n nodes and m edges takes O(n + m) in all, however it goes.
"""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, assert_never

from retinue.contract.event import Decision
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result
from retinue.errors import FaultCode
from retinue.orchestration.planning import decision_of, planning_of

_ROUNDING: Final = 1e-9
"""0.07 of 100 is 7, and not the 7.000000000000001 of floating point."""


@dataclass(frozen=True, slots=True)
class Skip:
    """A node that will not be started.

    Attributes:
        unneeded: Not because something is missing, but because nobody needs it any more.
    """

    node: Delegation
    reason: str
    unneeded: bool


@dataclass(slots=True)
class Actions:
    """What is to be done now.

    Attributes:
        start: These are ready, in the plan's order.
        skip: These will never be started. They count as ended already.
        stop: Ids of nodes that run and are needed no longer.
    """

    start: list[Delegation] = field(default_factory=list)
    skip: list[Skip] = field(default_factory=list)
    stop: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Node:
    delegation: Delegation
    place: int
    needs: int
    followers: list["_Node"] = field(default_factory=list)
    wanted_by: int = 0
    ended_needs: int = 0
    useful_needs: int = 0
    missing_needs: int = 0
    status: Literal["waiting", "running", "stopping", "ended"] = "waiting"


class PlanState:
    """One walk of one plan.

    `all` and `fail_fast` are satisfied when every need is useful (or optional), `quorum` when every need has ended and
    at least the share was useful, `any` at the first useful one. What a satisfied `any` waits for no longer is stopped,
    unless somebody else needs it. `fail_fast` stops the other needs at the first failure; `all` and `quorum` let them
    go on, for their own worth.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._nodes = {node.id: _Node(node, place, len(set(node.needs))) for place, node in enumerate(plan.nodes)}
        for node in self._nodes.values():
            for need in dict.fromkeys(node.delegation.needs):
                self._nodes[need].followers.append(node)
                self._nodes[need].wanted_by += 1
        self._is_settled = False
        # Started in this step and not handed out yet: what ends in the same step may still take them back.
        self._ready: dict[str, Delegation] = {}

    def begin(self) -> Actions:
        """The nodes that need nothing."""
        actions = Actions()
        for node in self._nodes.values():
            if not node.needs:
                self._start(node)
        return self._with_ready_nodes(actions)

    def end(self, name: str, *, useful: bool, ends_run: bool = False) -> Actions:
        """Note that the node called `name` has ended, and say what follows; if it `ends_run`, no other is needed."""
        actions = Actions()
        # A skipped node has ended as well: a queue, since a chain of them may be longer than Python can recurse.
        pending = deque([(self._nodes[name], useful)])
        while pending:
            node, worth = pending.popleft()
            if node.status == "ended":
                continue
            node.status = "ended"
            for follower in node.followers:
                follower.ended_needs += 1
                follower.useful_needs += worth
                follower.missing_needs += not worth and not node.delegation.optional
                if follower.status == "waiting":
                    self._update_node(follower, actions, pending)
            if not self._is_settled:  # what `all` and `quorum` come to is seen at the end
                match self._plan.join:
                    case _ if ends_run:
                        self._is_settled = True
                    case "all" | "quorum":
                        continue
                    case "any":
                        self._is_settled = worth and not node.followers
                    case "fail_fast":
                        self._is_settled = not worth and not node.delegation.optional
                    case _:
                        assert_never(self._plan.join)
                for other in self._nodes.values() if self._is_settled else ():
                    self._drop(other, actions, pending)
        return self._with_ready_nodes(actions)

    def _with_ready_nodes(self, actions: Actions) -> Actions:
        ready, self._ready = self._ready, {}
        actions.start = sorted(ready.values(), key=lambda node: self._nodes[node.id].place)
        return actions

    def _update_node(self, node: _Node, actions: Actions, pending: "deque[tuple[_Node, bool]]") -> None:
        join, needs = node.delegation.join, node.delegation.needs
        is_ready = node.ended_needs == node.needs
        names = ", ".join(f"`{name}`" for name in needs[:5]) + (" …" if len(needs) > 5 else "")
        why_not = f"what it needs has not come ({names})"
        match join:
            case "all" | "fail_fast":
                is_lost = node.missing_needs > 0
            case "any":
                is_lost, is_ready = is_ready and not node.useful_needs, node.useful_needs > 0
            case "quorum":
                required = required_count(node.delegation.quorum, node.needs)
                reachable = node.useful_needs + node.needs - node.ended_needs
                is_lost = reachable < required
                why_not = f"{required} of its {node.needs} needs are wanted, and no more than {reachable} can come"
            case _:
                assert_never(join)
        if is_lost:
            node.status = "stopping"
            actions.skip.append(Skip(node.delegation, f"Not started: {why_not}.", unneeded=False))
            pending.append((node, False))
        elif is_ready:
            self._start(node)
        if (is_lost and join == "fail_fast") or (is_ready and not is_lost):
            # Nobody waits on behalf of this node any more: whatever only it needed may stop.
            queue = [node]
            for one in queue:  # grows during the loop
                for need in dict.fromkeys(one.delegation.needs):
                    need_node = self._nodes[need]
                    need_node.wanted_by -= 1
                    if need_node.wanted_by == 0 and self._drop(need_node, actions, pending):
                        queue.append(need_node)

    def _start(self, node: _Node) -> None:
        node.status = "running"
        self._ready[node.delegation.id] = node.delegation

    def _drop(self, node: _Node, actions: Actions, pending: "deque[tuple[_Node, bool]]") -> bool:
        """Stop `node`, or keep it from starting; whether it was still to be started."""
        if node.status not in {"waiting", "running"}:
            return False
        waiting = node.status == "waiting"
        node.status = "stopping"
        if waiting or self._ready.pop(node.delegation.id, None):
            actions.skip.append(Skip(node.delegation, "Not started: it is not needed any more.", unneeded=True))
            pending.append((node, False))
        else:
            actions.stop.append(node.delegation.id)
        return waiting


def required_count(quorum: float, branches: int) -> int:
    """How many of so many branches a share asks for, at least one."""
    return max(1, math.ceil(quorum * branches - _ROUNDING))


FAILURES: Final = 3
"""So many failures in a row open a circuit. The boundary has retried each of them already."""

COOL_DOWN: Final = 10
"""After so many further calls of the run, finished or left out, one is let through again to see."""

_INFRASTRUCTURE_FAULTS: Final[frozenset[FaultCode]] = frozenset(
    {"network_error", "unavailable", "timeout", "internal_error"}
)
"""Network and 5xx (P9): the skill or its agent is at fault, and not what was asked."""

_RUN_BOUNDS: Final = frozenset({"run.budget.timeout_s", "task.limits.deadline_ns"})
"""Out of time because the caller had no more of it: that says nothing about the agent."""

_Key: TypeAlias = tuple[str, str | None]
"""Agent and skill; the agent as a whole with None."""


@dataclass(slots=True)
class _Circuit:
    """What is known of one skill, or one agent, since it last answered."""

    failures: int = 0
    skills: set[str] = field(default_factory=set[str])
    since: str = ""
    code: str = ""
    cooling: int | None = None
    probe: str = ""

    @property
    def open(self) -> bool:
        return self.cooling is not None


class CircuitBreaker:
    """Which skills and agents a run calls no more.

    A skill's circuit opens after `FAILURES` failures in a row; that of a whole agent too, once these come from two of
    its skills. Any other answer closes it, an error that blames the request included.
    """

    def __init__(self, *, cool_down: int = COOL_DOWN) -> None:
        self._cool_down = cool_down
        self._circuits: dict[_Key, _Circuit] = {}

    @property
    def is_clear(self) -> bool:
        """Nobody has failed since their last answer, which is nearly always so."""
        return not self._circuits

    def record_result(self, node: str, agent: str, skill: str | None, result: Result) -> list[Decision]:
        """Note what the call of a skill on behalf of `node` came to; gives what follows, for the record."""
        self._tick()
        fault = result.fault
        if result.outcome == "canceled":
            self._release_probe(node)
            return []
        if result.useful or fault is None or fault.code not in _INFRASTRUCTURE_FAULTS:
            keys = dict.fromkeys(((agent, skill), (agent, None)))
            closed = [key for key in keys if (circuit := self._circuits.pop(key, None)) is not None and circuit.open]
            return [
                Decision("close_circuit", f"{_name(key)} has answered again.", {"agent": agent, "skill": key[1]})
                for key in closed
            ]
        # The run ran out of time, not the agent: neither a failure nor an answer.
        if fault.detail.get("bound") in _RUN_BOUNDS:
            self._release_probe(node)
            return []
        decisions: list[Decision] = []
        for key in ((agent, skill), (agent, None)) if skill is not None else ((agent, None),):
            circuit = self._circuits.setdefault(key, _Circuit())
            circuit.failures += 1
            circuit.skills.add(skill or "")
            whole = key[1] is None and circuit.skills != {""}
            opens = circuit.failures >= FAILURES and (not whole or len(circuit.skills) > 1)
            if circuit.probe == node if circuit.open else opens:  # one that is open stays so after it was tried
                circuit.since, circuit.code, circuit.cooling, circuit.probe = node, fault.code, self._cool_down, ""
                reason = f"{_name(key)} is judged unreliable: {circuit.failures} calls in a row failed, the last with "
                reason += f"`{circuit.code}`. It is not called again before it has rested."
                decisions.append(Decision("open_circuit", reason, _facts(key, circuit)))
        return decisions

    def skip_decision(self, agent: str, skill: str | None) -> Decision | None:
        """Why this skill must not be called now, if so. A call that is not made counts for the cool-down too."""
        entry = self._blocking_circuit(agent, skill)
        if entry is None:
            return None
        key, circuit = entry
        self._tick()
        reason = f"{_name(key)} is not called: {circuit.failures} calls in a row failed until `{circuit.since}`, "
        reason += f"the last with `{circuit.code}`."
        return Decision("skip_call", reason, _facts(key, circuit))

    def is_unreliable(self, agent: str, skill: str | None) -> bool:
        """Whether a call would be refused."""
        return self._blocking_circuit(agent, skill) is not None

    def allow(self, node: str, agent: str, skill: str | None) -> Decision | None:
        """Note that `node` calls this skill; says so when that is the one call by which an open circuit is tried."""
        probe = None
        for key in ((agent, None), (agent, skill)):
            circuit = self._circuits.get(key)
            if circuit is not None and circuit.open:
                circuit.probe = node
                probe = key, circuit
        if probe is None:
            return None
        reason = f"{_name(probe[0])} is tried once more after {self._cool_down} other calls."
        return Decision("probe_circuit", reason, _facts(*probe))

    def _blocking_circuit(self, agent: str, skill: str | None) -> tuple[_Key, _Circuit] | None:
        for key in dict.fromkeys(((agent, skill), (agent, None))):
            circuit = self._circuits.get(key)
            if circuit is not None and circuit.cooling is not None and (circuit.cooling > 0 or circuit.probe):
                return key, circuit
        return None

    def _tick(self) -> None:
        for circuit in self._circuits.values():
            if circuit.cooling:
                circuit.cooling -= 1

    def _release_probe(self, node: str) -> None:
        """A trial that was stopped has shown nothing: the next one may try."""
        for circuit in self._circuits.values():
            if circuit.probe == node:
                circuit.probe = ""


def _facts(key: _Key, circuit: _Circuit) -> dict[str, object]:
    agent, skill = key
    return {"agent": agent, "skill": skill, "failures": circuit.failures, "since": circuit.since, "code": circuit.code}


def _name(key: _Key) -> str:
    agent, skill = key
    return f"`{agent}`" if skill is None else f"`{agent}.{skill}`"


def planning_decisions(plan: Plan) -> Iterator[tuple[str, Decision]]:
    """What was decided before the walk, by node: whom each was given to, and what nobody does.

    A plan made by hand says no such thing, and then there is nothing to tell.
    """
    if (planning := planning_of(plan)) is not None:
        yield "", decision_of(planning)
    for node in plan.nodes:
        if (chosen := node.chosen) is not None:
            others = ", ".join(f"`{one.agent}.{one.skill}` to {one.share:.2f}" for one in node.alternatives)
            because = f": it {chosen.reason}" if chosen.reason else ""
            reason = f"`{chosen.agent}.{chosen.skill}` fits to {chosen.share:.2f}{because}."
            facts: dict[str, object] = {"agent": chosen.agent, "skill": chosen.skill, "share": chosen.share}
            yield node.id, Decision("choose", f"{reason} Next: {others}." if others else reason, facts)
    for dropped in plan.dropped:
        yield "", Decision("drop", f"{dropped.clause!r} is left out. {dropped.reason}", {"clause": dropped.clause})
