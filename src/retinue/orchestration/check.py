"""Whether a plan can be walked with the agents at hand, told before anything runs: every finding, not the first.

That it is a graph without circles, the noun itself has seen to. Whether an answer is any good is the boundary's
business.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from retinue.contract import names, schema
from retinue.contract.definition import Definition, Skill
from retinue.contract.finding import Finding
from retinue.contract.json import pointer
from retinue.contract.plan import Delegation, Plan
from retinue.contract.sanitize import workspace_path
from retinue.contract.schema import Validator
from retinue.contract.task import Task
from retinue.errors import InvalidDefinition, RetinueError
from retinue.orchestration.expected import overlapping
from retinue.orchestration.order import RESERVED, Caller

__all__ = ["ASK_LESS", "Check", "findings", "ring"]

ASK_LESS: Final = "Ask for less than what was asked, or answer it."
"""What to do instead of asking again what is being answered."""

_MOST: Final = 1_000
"""More findings than this help nobody, and a plan may have a hundred thousand nodes."""


def findings(plan: Plan, definitions: Iterable[Definition]) -> list[Finding]:
    """Everything that keeps `plan` from being walked with agents that say `definitions` of themselves.

    An unknown or ambiguous agent or skill, one that is unavailable, parameters that are missing or do not fit, files
    outside the workspace or expected of two branches, and what is handed on from a node that is not needed. `path` is
    the JSON Pointer into the plan; `fix` names the nearest there is. Warnings keep nothing from being walked.
    """
    return Check(definitions).findings(plan)


@dataclass(frozen=True, slots=True)
class _Ready:
    definition: Definition
    skill: Skill
    takes: Validator | None


class Check:
    """The agents of one registry, prepared for checking many plans."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._majors: dict[str, dict[int, Definition]] = {}
        self._named: dict[str, str] = {}
        self._known: dict[tuple[str, int | None, str | None], _Ready | Finding] = {}
        for definition in definitions:
            self._majors.setdefault(definition.name, {})[definition.major] = definition
            for name in (definition.name, *definition.aliases, *definition.wire_names.values()):
                self._named.setdefault(names.fold(name), definition.name)

    def definition(self, name: str) -> Definition | None:
        """What the agent called `name` says of itself, the oldest major; None when nobody is called that."""
        majors = self._majors.get(name) or self._majors.get(self._named.get(names.fold(name), ""))
        return majors[min(majors)] if majors else None

    def skill(self, agent: str, skill: str | None) -> Skill | None:
        """The skill of the agent called `agent` that a request for `skill` is meant for; None when there is none."""
        definition = self.definition(agent)
        return definition.asked(skill) if definition else None

    def findings(self, plan: Plan) -> list[Finding]:
        """As the function of this name."""
        found: list[Finding] = []
        for place, node in enumerate(plan.nodes):
            found += self._of_node(node, pointer(["nodes", place]))
            if len(found) >= _MOST:
                more = Finding(rule="plan/more", message=f"Only the first {_MOST} findings are told.")
                return [*found[:_MOST], more]
        return [*found, *overlapping(plan)]

    def circles(self, plan: Plan, above: tuple[Caller, ...]) -> list[Finding]:
        """The nodes of `plan` that ask again exactly what is being answered above them, each with its chain."""
        found: list[Finding] = []
        askers = {(caller.agent, caller.skill) for caller in above}
        for place, node in enumerate(plan.nodes):
            if self._named_as(node) not in askers:
                continue
            chain = ring(above, self.caller(node, node.id))
            if chain:
                message = f"`{node.id}` asks again exactly what is being answered: {chain}."
                found.append(Finding(rule="plan/again", message=message, path=pointer(["nodes", place]), fix=ASK_LESS))
        return found

    def caller(self, asked: Delegation | Task, node: str) -> Caller:
        """Who is asked, and for what, in a form that is the same for the same request."""
        from hashlib import sha256  # noqa: PLC0415 - only agents that compose need it; it costs the quick path 2 ms

        agent, skill = self._named_as(asked)
        ready = self._ready(asked.agent, asked.major, asked.skill)
        major, fields = None, (None, None)
        if not isinstance(ready, Finding):  # one major may well ask another the same
            major, fields = ready.definition.major, (ready.skill.instruction_field, ready.skill.target_field)
        given, words = dict(asked.parameters), list[str]()
        for name, text in zip(fields, (asked.instruction, asked.target), strict=True):
            plain = " ".join((text or "").split())
            if name is None:
                words.append(plain)
            elif plain:
                given.setdefault(name, plain)
        said = [agent, skill, major, words, {name: _plain(value) for name, value in given.items()}]
        digest = sha256(json.dumps(said, sort_keys=True, default=repr).encode()).hexdigest()
        return Caller(node=node, agent=agent, skill=skill, request=digest)

    def _named_as(self, asked: Delegation | Task) -> tuple[str, str]:
        ready = self._ready(asked.agent, asked.major, asked.skill)
        if isinstance(ready, Finding):
            return asked.agent, asked.skill or ""
        return ready.definition.name, ready.skill.name

    # One node

    def _of_node(self, node: Delegation, path: str) -> Iterator[Finding]:
        if RESERVED in node.id:
            message = f"`{RESERVED}` is reserved, and stands in the id `{node.id}`."
            yield Finding(rule="plan/id", message=message, path=f"{path}/id", fix="Use letters, digits, dots, dashes.")
        ready = self._ready(node.agent, node.major, node.skill)
        if isinstance(ready, Finding):
            yield ready.model_copy(update={"message": f"`{node.id}`: {ready.message}", "path": path + ready.path})
        else:
            yield from _of_parameters(node, ready, path)
        for place, candidate in enumerate(node.alternatives):
            other = self._ready(candidate.agent, None, candidate.skill)
            if isinstance(other, Finding):
                message = f"`{node.id}` cannot fall back to this: {other.message}"
                there = f"{path}/alternatives/{place}{other.path}"
                yield other.model_copy(update={"message": message, "path": there, "severity": "warning"})
        for need in node.context:
            if need not in node.needs:
                message = f"`{node.id}` says how much of `{need}` it is handed, and does not need it."
                fix = f"Add `{need}` to its `needs`, or remove it from `context`."
                there = path + pointer(["context", need])
                yield Finding(rule="plan/context", message=message, path=there, fix=fix, severity="warning")
        yield from _of_files(node, path)

    def _ready(self, agent: str, major: int | None, skill: str | None) -> "_Ready | Finding":
        """Who is meant, looked up once for each way of naming; a finding without its place when nobody is."""
        key = agent, major, skill
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._looked_up(agent, major, skill)
        return known

    def _looked_up(self, agent: str, major: int | None, skill: str | None) -> "_Ready | Finding":
        name = agent if agent in self._majors else self._named.get(names.fold(agent))
        if name is None:
            return _unknown("plan/agent", f"No agent is called `{agent}`.", "/agent", agent, sorted(self._majors))
        majors = self._majors[name]
        definition = majors.get(min(majors) if major is None else major)
        if definition is None:
            there = ", ".join(map(str, sorted(majors)))
            message = f"`{name}` has no major {major}."
            return Finding(rule="plan/agent", message=message, path="/major", fix=f"Available: {there}.")
        found = definition.default_skill if skill is None else definition.skill(skill)
        if found is None:
            message = f"`{name}` has several skills, and none is named."
            if skill is not None:
                message = f"`{name}` has no skill `{skill}`."
            return _unknown("plan/skill", message, "/skill", skill or "", [one.name for one in definition.skills])
        if found.unavailable:
            message = f"`{name}.{found.name}` is not available."
            return Finding(rule="plan/unavailable", message=message, path="/skill", fix=found.unavailable)
        try:
            return _Ready(definition, found, schema.compile(found.input_schema))
        except InvalidDefinition:
            return _Ready(definition, found, None)  # lint says what is wrong with it; the boundary refuses it


def ring(above: tuple[Caller, ...], again: Caller) -> str:
    """The chain that leads round to `again`, which asks what is being answered above it; empty when none does."""
    same = next((at for at, caller in enumerate(above) if caller.request == again.request), None)
    return "" if same is None else " → ".join(f"`{one.agent}.{one.skill}`" for one in (*above[same:], again))


def _plain(value: object) -> object:
    """A parameter as it is compared: more or fewer spaces make no other request."""
    return " ".join(value.split()) if isinstance(value, str) else value


def _unknown(rule: str, message: str, path: str, name: str, there: list[str]) -> Finding:
    near = names.nearest(name, there)
    listed = f"Available: {', '.join(there[:20])}{' …' if len(there) > 20 else ''}." if there else "There is none."
    return Finding(rule=rule, message=message, path=path, fix=f"Did you mean `{near[0]}`? {listed}" if near else listed)


def _of_parameters(node: Delegation, ready: _Ready, path: str) -> Iterator[Finding]:
    """What the skill's schema has against the parameters, but for what will be asked or handed on."""
    skill, takes = ready.skill, ready.takes
    if takes is None:
        return
    given = dict(node.parameters)
    for name, text in ((skill.instruction_field, node.instruction), (skill.target_field, node.target)):
        if name is not None and text:
            given.setdefault(name, text)
    filled, _ = takes.apply_defaults(given)
    if takes.accepts(filled):
        return
    asked = tuple(f"`{question.parameter}` is missing" for question in node.questions)
    for finding in takes.findings(filled):
        if finding.rule == "schema/required" and not finding.path and finding.message.startswith(asked):
            continue
        yield finding.model_copy(
            update={"message": f"`{node.id}`: {finding.message}", "path": f"{path}/parameters{finding.path}"}
        )


def _of_files(node: Delegation, path: str) -> Iterator[Finding]:
    for place, expected in enumerate(node.expects):
        try:
            workspace_path(expected.path)
        except RetinueError as error:
            there = f"{path}/expects/{place}/path"
            yield Finding(rule="plan/file", message=f"`{node.id}`: {error.message}", path=there, fix=error.hint)
