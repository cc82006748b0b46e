"""The circuit breaker of one run: who failed too often in a row is left alone for a while (P12).

Pure bookkeeping over the results of calls, in the order in which they came: no clock, no waiting, no calls of its own.
The cool-down is counted in calls and not in time, because that order is what a replay repeats; the clock of a workflow
can only be read by waiting for the engine. What is not known here is whether anybody else could do the work: that is
for `escalate`.
"""

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from retinue.contract.event import Decision
from retinue.contract.result import Result
from retinue.errors import FaultCode

__all__ = ["COOL_DOWN", "FAILURES", "Breaker"]

FAILURES: Final = 3
"""So many failures in a row open a circuit. The boundary has retried each of them already."""

COOL_DOWN: Final = 10
"""After so many further calls of the run, finished or left out, one is let through again to see."""

_COUNTED: Final[frozenset[FaultCode]] = frozenset({"network_error", "unavailable", "timeout", "internal_error"})
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


class Breaker:
    """Which skills and agents a run calls no more.

    A skill's circuit opens after `failures` failures in a row; that of a whole agent too, once these come from two of
    its skills. Any other answer closes it, an error that blames the request included.
    """

    def __init__(self, *, failures: int = FAILURES, cool_down: int = COOL_DOWN) -> None:
        self._most = failures
        self._cool_down = cool_down
        self._circuits: dict[_Key, _Circuit] = {}

    @property
    def calm(self) -> bool:
        """Nobody has failed since their last answer, which is nearly always so."""
        return not self._circuits

    def hear(self, node: str, agent: str, skill: str | None, result: Result) -> list[Decision]:
        """Note what the call of a skill on behalf of `node` came to; gives what follows, for the record."""
        self._pass_time()
        fault = result.fault
        if result.outcome == "canceled":
            self._give_back(node)
            return []
        if result.useful or fault is None or fault.code not in _COUNTED:
            return self._answered(agent, skill)
        if fault.detail.get("bound") in _RUN_BOUNDS:
            self._give_back(node)
            return []
        said: list[Decision] = []
        for key in ((agent, skill), (agent, None)) if skill is not None else ((agent, None),):
            circuit = self._circuits.setdefault(key, _Circuit())
            circuit.failures += 1
            circuit.skills.add(skill or "")
            if self._opens(key, circuit, node):
                circuit.since, circuit.code, circuit.cooling, circuit.probe = node, fault.code, self._cool_down, ""
                said.append(_opened(key, circuit))
        return said

    def objection(self, agent: str, skill: str | None) -> Decision | None:
        """Why this skill must not be called now, if so. A call that is not made counts for the cool-down too."""
        closed = self._closed_door(agent, skill)
        if closed is None:
            return None
        key, circuit = closed
        self._pass_time()
        reason = f"{_name(key)} is not called: {circuit.failures} calls in a row failed until `{circuit.since}`, "
        reason += f"the last with `{circuit.code}`."
        return Decision("skip_call", reason, _facts(key, circuit))

    def unreliable(self, agent: str, skill: str | None) -> bool:
        """Whether a call would be refused."""
        return self._closed_door(agent, skill) is not None

    def let_through(self, node: str, agent: str, skill: str | None) -> Decision | None:
        """Note that `node` calls this skill; says so when that is the one call by which an open circuit is tried."""
        probed = None
        for key in ((agent, None), (agent, skill)):
            circuit = self._circuits.get(key)
            if circuit is not None and circuit.open:
                circuit.probe = node
                probed = key, circuit
        if probed is None:
            return None
        reason = f"{_name(probed[0])} is tried once more after {self._cool_down} other calls."
        return Decision("probe_circuit", reason, _facts(*probed))

    def _closed_door(self, agent: str, skill: str | None) -> tuple[_Key, _Circuit] | None:
        for key in dict.fromkeys(((agent, skill), (agent, None))):
            circuit = self._circuits.get(key)
            if circuit is not None and circuit.cooling is not None and (circuit.cooling > 0 or circuit.probe):
                return key, circuit
        return None

    def _opens(self, key: _Key, circuit: _Circuit, node: str) -> bool:
        """Whether one more failure opens a circuit, or leaves it open after it was tried."""
        if circuit.open:
            return circuit.probe == node
        whole = key[1] is None and circuit.skills != {""}
        return circuit.failures >= self._most and (not whole or len(circuit.skills) > 1)

    def _answered(self, agent: str, skill: str | None) -> list[Decision]:
        said: list[Decision] = []
        for key in dict.fromkeys(((agent, skill), (agent, None))):
            circuit = self._circuits.pop(key, None)
            if circuit is not None and circuit.open:
                reason = f"{_name(key)} has answered again."
                said.append(Decision("close_circuit", reason, {"agent": agent, "skill": key[1]}))
        return said

    def _pass_time(self) -> None:
        for circuit in self._circuits.values():
            if circuit.cooling:
                circuit.cooling -= 1

    def _give_back(self, node: str) -> None:
        """A trial that was stopped has shown nothing: the next one may try."""
        for circuit in self._circuits.values():
            if circuit.probe == node:
                circuit.probe = ""


def _opened(key: _Key, circuit: _Circuit) -> Decision:
    reason = f"{_name(key)} is judged unreliable: {circuit.failures} calls in a row failed, "
    reason += f"the last with `{circuit.code}`. It is not called again before it has rested."
    return Decision("open_circuit", reason, _facts(key, circuit))


def _facts(key: _Key, circuit: _Circuit) -> dict[str, object]:
    agent, skill = key
    return {"agent": agent, "skill": skill, "failures": circuit.failures, "since": circuit.since, "code": circuit.code}


def _name(key: _Key) -> str:
    agent, skill = key
    return f"`{agent}`" if skill is None else f"`{agent}.{skill}`"
