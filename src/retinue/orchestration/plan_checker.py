"""Whether a plan can be walked with the agents at hand, told before anything runs: every finding, not the first.

That it is a graph without circles, the noun itself has seen to. Whether an answer is any good is the boundary's
business.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Final, get_args

from pydantic import BaseModel, ValidationError

from retinue.contract import names, schema
from retinue.contract.definition import Definition, Skill
from retinue.contract.finding import Finding
from retinue.contract.json import as_mappings, dumps, loads, pointer
from retinue.contract.plan import Delegation, Plan
from retinue.contract.sanitize import check_workspace_path
from retinue.contract.task import Task
from retinue.errors import InvalidDefinition, InvalidInput, RetinueError
from retinue.orchestration.expected_files import overlap_findings
from retinue.orchestration.run_request import RESERVED, Caller

ASK_LESS: Final = "Ask for less than what was asked, or answer it."
"""What to do instead of asking again what is being answered."""

_MAX_FINDINGS: Final = 1_000
"""More findings than this help nobody, and a plan may have a hundred thousand nodes."""


def findings(plan: Plan, definitions: Iterable[Definition]) -> list[Finding]:
    """Everything that keeps `plan` from being walked with agents that say `definitions` of themselves.

    An unknown or ambiguous agent or skill, one that is unavailable, parameters that are missing or do not fit, files
    outside the workspace or expected of two branches, and what is handed on from a node that is not needed. `path` is
    the JSON Pointer into the plan; `fix` names the nearest there is. Warnings keep nothing from being walked.
    """
    return PlanChecker(definitions).findings(plan)


@dataclass(frozen=True, slots=True)
class _ResolvedSkill:
    definition: Definition
    skill: Skill
    input_validator: schema.Validator | None


class PlanChecker:
    """The agents of one registry, prepared for checking many plans."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._majors: dict[str, dict[int, Definition]] = {}
        self._names: dict[str, str] = {}
        self._resolve = cache(self._find_skill)  # once for each way of naming: most nodes of a plan share a few
        for definition in definitions:
            self._majors.setdefault(definition.name, {})[definition.major] = definition
            for name in (definition.name, *definition.aliases, *definition.wire_names.values()):
                self._names.setdefault(names.fold(name), definition.name)

    def definition(self, name: str) -> Definition | None:
        """What the agent called `name` says of itself, the oldest major; None when nobody is called that."""
        majors = self._majors.get(name) or self._majors.get(self._names.get(names.fold(name), ""))
        return majors[min(majors)] if majors else None

    def skill(self, agent: str, skill: str | None) -> Skill | None:
        """The skill of the agent called `agent` that a request for `skill` is meant for; None when there is none."""
        definition = self.definition(agent)
        return definition.skill_for(skill) if definition else None

    def findings(self, plan: Plan) -> list[Finding]:
        """As the function of this name."""
        findings: list[Finding] = []
        for place, node in enumerate(plan.nodes):
            findings += self._node_findings(node, pointer(["nodes", place]))
            if len(findings) >= _MAX_FINDINGS:
                more = Finding(rule="plan/more", message=f"Only the first {_MAX_FINDINGS} findings are listed.")
                return [*findings[:_MAX_FINDINGS], more]
        return [*findings, *overlap_findings(plan)]

    def cycles(self, plan: Plan, above: tuple[Caller, ...]) -> list[Finding]:
        """The nodes of `plan` that ask again exactly what is being answered above them, each with its chain."""
        findings: list[Finding] = []
        askers = {(caller.agent, caller.skill) for caller in above}
        for place, node in enumerate(plan.nodes):
            if self._agent_and_skill(node) not in askers:
                continue
            chain = call_cycle(above, self.caller(node, node.id))
            if chain:
                message = f"`{node.id}` asks again exactly what is being answered: {chain}."
                findings.append(
                    Finding(rule="plan/again", message=message, path=pointer(["nodes", place]), fix=ASK_LESS)
                )
        return findings

    def caller(self, request: Delegation | Task, node: str) -> Caller:
        """Who is asked, and for what, in a form that is the same for the same request."""
        agent, skill = self._agent_and_skill(request)
        ready = self._resolve(request.agent, request.major, request.skill)
        major, fields = None, (None, None)
        if not isinstance(ready, Finding):  # one major may well ask another the same
            major, fields = ready.definition.major, (ready.skill.instruction_field, ready.skill.target_field)
        parameters, words = dict(request.parameters), list[str]()
        for name, text in zip(fields, (request.instruction, request.target), strict=True):
            line = " ".join((text or "").split())
            if name is None:
                words.append(line)
            elif line:
                parameters.setdefault(name, line)
        # A parameter as it is compared: more or fewer spaces make no other request.
        spaced = {name: " ".join(one.split()) if isinstance(one, str) else one for name, one in parameters.items()}
        parts = json.dumps([agent, skill, major, words, spaced], sort_keys=True, default=repr)
        digest = sha256(parts.encode()).hexdigest()
        return Caller(node=node, agent=agent, skill=skill, request=digest)

    def _agent_and_skill(self, request: Delegation | Task) -> tuple[str, str]:
        ready = self._resolve(request.agent, request.major, request.skill)
        if isinstance(ready, Finding):
            return request.agent, request.skill or ""
        return ready.definition.name, ready.skill.name

    def _node_findings(self, node: Delegation, path: str) -> Iterator[Finding]:
        if RESERVED in node.id:
            message = f"`{RESERVED}` is reserved, and is in the id `{node.id}`."
            yield Finding(rule="plan/id", message=message, path=f"{path}/id", fix="Use letters, digits, dots, dashes.")
        ready = self._resolve(node.agent, node.major, node.skill)
        if isinstance(ready, Finding):
            yield ready.model_copy(update={"message": f"`{node.id}`: {ready.message}", "path": path + ready.path})
        else:
            yield from _parameter_findings(node, ready, path)
        for place, candidate in enumerate(node.alternatives):
            other = self._resolve(candidate.agent, None, candidate.skill)
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
        for place, expected in enumerate(node.expects):
            try:
                check_workspace_path(expected.path)
            except RetinueError as error:
                there = f"{path}/expects/{place}/path"
                yield Finding(rule="plan/file", message=f"`{node.id}`: {error.message}", path=there, fix=error.hint)

    def _find_skill(self, agent: str, major: int | None, skill: str | None) -> _ResolvedSkill | Finding:
        """Who is meant; a finding without its place when nobody is."""
        name = agent if agent in self._majors else self._names.get(names.fold(agent))
        if name is None:
            fix = _suggestion(agent, sorted(self._majors))
            return Finding(rule="plan/agent", message=f"No agent is called `{agent}`.", path="/agent", fix=fix)
        majors = self._majors[name]
        definition = majors.get(min(majors) if major is None else major)
        if definition is None:
            fix = f"Available: {', '.join(map(str, sorted(majors)))}."
            return Finding(rule="plan/agent", message=f"`{name}` has no major {major}.", path="/major", fix=fix)
        target_skill = definition.default_skill if skill is None else definition.skill(skill)
        if target_skill is None:
            message = f"`{name}` has several skills, and none is named."
            if skill is not None:
                message = f"`{name}` has no skill `{skill}`."
            fix = _suggestion(skill or "", [one.name for one in definition.skills])
            return Finding(rule="plan/skill", message=message, path="/skill", fix=fix)
        if target_skill.unavailable:
            message = f"`{name}.{target_skill.name}` is not available."
            return Finding(rule="plan/unavailable", message=message, path="/skill", fix=target_skill.unavailable)
        try:
            validator = schema.compile(target_skill.input_schema)
        except InvalidDefinition:
            validator = None  # lint says what is wrong with it; the boundary refuses it
        return _ResolvedSkill(definition, target_skill, validator)


def call_cycle(above: tuple[Caller, ...], again: Caller) -> str:
    """The chain that leads round to `again`, which asks what is being answered above it; empty when none does."""
    same = next((at for at, caller in enumerate(above) if caller.request == again.request), None)
    return "" if same is None else " → ".join(f"`{one.agent}.{one.skill}`" for one in (*above[same:], again))


def _suggestion(name: str, there: list[str]) -> str:
    """The nearest of the names that there are, and all of them; of very many the first."""
    near = names.nearest(name, there)
    available = f"Available: {', '.join(there[:20])}{' …' if len(there) > 20 else ''}." if there else "There is none."
    return f"Did you mean `{near[0]}`? {available}" if near else available


def _parameter_findings(node: Delegation, ready: _ResolvedSkill, path: str) -> Iterator[Finding]:
    """What the skill's schema has against the parameters, but for what will be asked or handed on."""
    skill, validator = ready.skill, ready.input_validator
    if validator is None:
        return
    parameters = dict(node.parameters)
    for name, text in ((skill.instruction_field, node.instruction), (skill.target_field, node.target)):
        if name is not None and text:
            parameters.setdefault(name, text)
    filled, _ = validator.apply_defaults(parameters)
    if validator.is_valid(filled):
        return
    question_messages = tuple(f"`{question.parameter}` is missing" for question in node.questions)
    for finding in validator.findings(filled):
        if finding.rule == "schema/required" and not finding.path and finding.message.startswith(question_messages):
            continue
        yield finding.model_copy(
            update={"message": f"`{node.id}`: {finding.message}", "path": f"{path}/parameters{finding.path}"}
        )


_MAX_SHOWN: Final = 3


def read_plan(text: str | bytes) -> Plan:
    """The plan that `text` says as JSON: what `Plan.to_json` gives, edited or made by hand.

    Raises:
        ParseError: It is no JSON, or not strict: keys twice, numbers that nobody can hold, too deep, too large.
        InvalidDefinition: It is no plan. `detail["findings"]` lists every unknown field, with the nearest name, every
            value that does not fit, and every id or circle that keeps it from being an order of work.
    """
    document = loads(text)
    try:
        return Plan.model_validate_json(dumps(document))
    except ValidationError as error:
        findings: list[Finding] = []
        for each in error.errors()[:_MAX_FINDINGS]:
            place = each["loc"]
            rule, message, fix = "plan/value", f"{each['msg']}.", "Put a value there that fits."
            match each["type"]:
                case "extra_forbidden":
                    rule, message = "plan/unknown-field", f"There is no field `{place[-1]}`."
                    fix = _suggestion(str(place[-1]), fields) if (fields := list(_fields(place[:-1]))) else "Remove it."
                case "missing":
                    rule, message, fix = "plan/missing-field", f"`{place[-1]}` is missing.", "Add it."
                case "model_type" | "model_attributes_type":
                    message, fix = "An object belongs here.", f"It has: {', '.join(_fields(place))}."
                case _:
                    pass
            findings.append(Finding(rule=rule, message=message, path=pointer(place), fix=fix))
    except InvalidInput as error:  # no graph: the noun has said so itself
        findings = [Finding.model_validate_json(dumps(one)) for one in as_mappings(error.detail.get("findings"))]
    summary = " ".join(f"{one.message} (at `{one.path or '/'}`)" for one in findings[:_MAX_SHOWN])
    more = f" And {len(findings) - _MAX_SHOWN} more." if len(findings) > _MAX_SHOWN else ""
    raise InvalidDefinition(
        f"This is not a plan: {summary}{more}",
        hint="Fix what is said of each place; `retinue plan --json` shows the form.",
        path=findings[0].path if findings else "",
        detail={"findings": [one.to_json() for one in findings]},
    )


def _fields(place: Sequence[str | int]) -> Iterator[str]:
    model: type[BaseModel] | None = Plan
    for part in place:
        if model is None:
            return
        if isinstance(part, str):
            field = model.model_fields.get(part)
            model = None if field is None else _model_in(field.annotation)
    if model is not None:
        yield from (field.alias or name for name, field in model.model_fields.items())


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for inside in get_args(annotation) if (model := _model_in(inside)) is not None), None)
