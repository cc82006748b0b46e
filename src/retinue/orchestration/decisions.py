"""Which skills a run calls no more, and its decisions as the record and people see them (P15).

Whether a circuit is open is decided by `CircuitBreaker`, without time or waiting; what happens then, by `executor`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from retinue.contract.event import Decision
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Result
from retinue.errors import FaultCode
from retinue.orchestration.planning import decision_of, planning_of

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


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """One decision of a run.

    Attributes:
        node: Whom it was about, `n1/n2` for a node of a child run; empty for the run.
        facts: What it rests on.
    """

    node: str
    move: str
    reason: str
    facts: JsonMapping = field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, node: str, decision: Decision) -> "RecordedDecision":
        """A decision as it was recorded."""
        return cls(node, decision.move, decision.reason, decision.facts)


def planning_decisions(plan: Plan) -> Iterator[tuple[str, Decision]]:
    """What was decided before the walk: whom each node was given to, and what nobody does.

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
