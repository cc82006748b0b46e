"""What a call begins with: its skill, made ready once, the task made safe for it (K20, C44, C45), and its limits.

Nothing a caller holds is shared with the agent, and nothing is filled in silently: every note ends up in the result.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, cast

from retinue.agents.boundary.policy import POLICY, Policy
from retinue.agents.port import Agent
from retinue.contract import CONTRACT_VERSION, json, names, sanitize, schema
from retinue.contract.definition import Definition, Effect, Skill
from retinue.contract.finding import Finding
from retinue.contract.json import JsonValue
from retinue.contract.model import JsonMapping
from retinue.contract.result import Usage, Versions
from retinue.contract.schema import Validator
from retinue.contract.task import Budget, Task
from retinue.errors import (
    BudgetExceeded,
    DeadlineExceeded,
    InvalidDefinition,
    InvalidInput,
    NotInstalled,
    UnknownName,
)

_MAX_SUGGESTED: Final = 50
"""Unknown names that are each compared with those there are."""

_MAX_SHOWN: Final = 10
_SECOND: Final = 1_000_000_000
_FOREVER_S: Final = 1_000_000_000.0
"""More than thirty years: more is the same."""


class Agents(Protocol):
    """Where agents are looked up: a `Registry`, or anything like it."""

    def get(self, name: str, /, *, major: int | None = None) -> Agent:
        """The agent that answers to `name`.

        Raises:
            UnknownName: No agent does; `suggestions` lists the names there are, nearest first.
        """
        ...


@dataclass(frozen=True, slots=True)
class PreparedSkill:
    """One skill of one agent, ready to be called.

    Attributes:
        input_validator: Checks parameters.
        output_validator: Checks the answer; None when the skill has no output schema.
        override: Where the agent's policy differs from the default one; shown in its results (K33).
        effects: What it may touch.
        may_fill: Its input schema may have defaults to fill in; most have none.
    """

    definition: Definition
    skill: Skill
    input_validator: Validator
    output_validator: Validator | None
    policy: Policy
    override: JsonMapping
    versions: Versions
    effects: tuple[Effect, ...]
    may_fill: bool


def prepare_skill(agent: Agent, skill_name: str | None, policy: Policy) -> PreparedSkill:
    """Get a skill ready: find it, and compile its schemas.

    Raises:
        UnknownName: The agent has no such skill, or several and none is named; all of them are listed.
        NotInstalled: The skill cannot be called here; the hint says what to do.
        InvalidDefinition: A schema of the skill cannot be used.
    """
    definition = agent.definition
    # Formats that require the name of a skill send the agent's own when none is meant.
    if skill_name in {None, definition.name} and definition.default_skill is not None:
        skill = definition.default_skill
    elif skill_name is None and definition.generic_skill is not None:
        skill = definition.generic_skill
    elif skill_name is None or (skill := definition.skill(skill_name)) is None:
        available = [each.name for each in definition.skills]
        suggestions = (*names.nearest(skill_name, available), *available) if skill_name else tuple(available)
        suggestions = tuple(dict.fromkeys(suggestions))
        clause = f"has no skill {skill_name!r}" if skill_name else f"has {len(available)} skills, and none is named"
        raise UnknownName(
            f"`{definition.name}` {clause}.",
            hint=f"Available: {', '.join(suggestions)}.",
            path="/skill",
            suggestions=suggestions,
        )
    if skill.unavailable:
        raise NotInstalled(
            f"`{definition.name}.{skill.name}` cannot be called here: {skill.unavailable}",
            hint=skill.unavailable,
            suggestions=tuple(each.name for each in definition.skills if not each.unavailable) or (skill.unavailable,),
        )
    return PreparedSkill(
        definition=definition,
        skill=skill,
        input_validator=schema.compile(skill.input_schema),
        output_validator=None if skill.output_schema is None else schema.compile(skill.output_schema),
        policy=policy,
        override={} if policy is POLICY else policy.differences(),
        versions=Versions(agent=definition.version, contract=CONTRACT_VERSION),
        effects=skill.possible_effects,
        may_fill='"default"' in json.dumps(skill.input_schema),
    )


@dataclass(slots=True)
class PreparedInput:
    """A task as the agent will get it.

    Attributes:
        findings: Why the agent cannot be called with it; empty when it can.
        notes: What was changed or ignored: `decoded`, `filled`, `defaults`, `unknown`, `ignored`.
        answer: Checks the answer by the schema that the caller asks for; None when there is none.
    """

    task: Task
    findings: list[Finding]
    notes: JsonMapping
    answer: Validator | None = None


def prepare_input(task: Task, prepared: PreparedSkill) -> PreparedInput:
    """Check and complete `task` for a skill. Wrong input is a finding, never an exception."""
    skill, validator = prepared.skill, prepared.input_validator
    findings: list[Finding] = []
    notes: JsonMapping = {}
    changes: JsonMapping = {"skill": skill.name, "agent": prepared.definition.name, "untyped": False}
    changes["instruction"] = instruction = _clean_instruction(task.instruction, prepared.policy, findings)
    parameters = _copy(task.parameters, "/parameters", findings)
    if task.context.inputs:
        inputs = _copy(task.context.inputs, "/context/inputs", findings)
        changes["context"] = task.context.model_copy(update={"inputs": inputs})
    if task.extras:
        changes["extras"] = _copy(task.extras, "/extras", findings)
    if task.untyped:
        from retinue.agents.boundary.decode_parameters import decode_parameters  # noqa: PLC0415 - typed callers do not need it

        parameters, decodings = decode_parameters(parameters, skill.input_schema)
        if decodings:
            notes["decoded"] = [decoding.to_json() for decoding in decodings]
        # Formats of text have free parameters: one too many is no reason to refuse the call, unless the policy is
        # strict (C7). It is never ignored silently.
        closed = validator.schema.get("additionalProperties") is False and "patternProperties" not in validator.schema
        if (
            closed
            and prepared.policy.level != "strict"
            and (ignored := _unknown_names(parameters, validator.schema.get("properties", {})))
        ):
            notes["ignored"] = ignored
            parameters = {name: value for name, value in parameters.items() if name not in ignored}
    # The instruction and the target go where the skill takes them, unless there is a value already (C45).
    fields = ((skill.instruction_field, instruction), (skill.target_field, task.target))
    filled = {name: text for name, text in fields if name is not None and text and name not in parameters}
    if filled:
        parameters.update(filled)
        notes["filled"] = filled
    completed, paths = validator.apply_defaults(parameters) if prepared.may_fill else (parameters, ())
    if paths:
        parameters = cast("JsonMapping", completed)
        notes["defaults"] = {path: json_copy(_value_at(completed, path)) for path in paths}
    if not findings and not validator.is_valid(parameters, bounded=True):
        findings = prefix_paths("/parameters", validator.findings(parameters, bounded=True))
    if unknown := _unknown_names(parameters, validator.schema.get("properties", parameters)):
        notes["unknown"] = unknown
    changes["parameters"] = parameters
    answer: Validator | None = None
    if task.output.answer_schema is not None:
        try:
            answer = schema.compile(task.output.answer_schema)
        except InvalidDefinition as error:
            path = f"/output/schema{error.path}"
            findings.append(Finding(rule="input/schema", message=error.message, path=path, fix=error.hint))
    return PreparedInput(task.model_copy(update=changes), findings, notes, answer)


def prefix_paths(path: str, findings: list[Finding]) -> list[Finding]:
    """`findings` about a part of a document, as findings about the document."""
    return [finding.model_copy(update={"path": path + finding.path}) for finding in findings]


def ignored_text(ignored: JsonMapping) -> str:
    """The warning about parameters that were ignored."""
    descriptions = [
        f"{name[:80]!r} (did you mean {near[0]!r}?)" if near else f"{name[:80]!r}"
        for name, near in list(ignored.items())[:_MAX_SHOWN]
    ]
    more = f" and {len(ignored) - _MAX_SHOWN} more" if len(ignored) > _MAX_SHOWN else ""
    return f"Unknown parameters, ignored: {', '.join(descriptions)}{more}."


def _clean_instruction(text: str, policy: Policy, findings: list[Finding]) -> str:
    """The instruction without what does not belong into a text (K20)."""

    def add(message: str, fix: str) -> None:
        findings.append(Finding(rule="input/instruction", message=message, path="/instruction", fix=fix))

    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            add("The instruction holds half of a surrogate pair.", "Send whole characters.")
    if len(text) <= policy.instruction_limit and "\0" not in text and "\r" not in text:
        return text
    try:
        return sanitize.clean_content(text, max_length=policy.instruction_limit)
    except InvalidInput:
        size = f"{len(text):,} characters, and {policy.instruction_limit:,} are allowed"
        add(f"The instruction has {size}.", "Shorten it, or send the text as a file.")
        return ""


def _unknown_names(parameters: JsonMapping, properties: JsonMapping) -> JsonMapping:
    """Parameters that are not listed, with what was probably meant (C7)."""
    unknown = [name for name in parameters if name not in properties]
    return {
        name: list(names.nearest(name, properties)) if at < _MAX_SUGGESTED else [] for at, name in enumerate(unknown)
    }


def _value_at(value: object, path: str) -> object:
    for part in path.split("/")[1:]:
        if isinstance(value, list):
            value = cast("list[object]", value)[int(part)]
        else:
            value = cast("JsonMapping", value)[part.replace("~1", "/").replace("~0", "~")]
    return value


# Limits: when a call must end (C21), and whether anything is left to spend (C6). The tightest counts, by its name.


class TimeLimit(NamedTuple):
    """A moment, in nanoseconds since 1970 UTC, and who set it."""

    name: str
    at_ns: int

    def remaining_s(self, now_ns: int) -> float:
        """Seconds until then; negative once it has passed."""
        return (self.at_ns - now_ns) / _SECOND

    def error(self, agent: str, *, seconds: float | None = None) -> DeadlineExceeded:
        """What to say when it has passed. `seconds` is how long the agent had; None when it was not called."""
        clause = "was not called: its time was up before"
        if seconds is not None:  # not 0.998 s where 1 s was set
            clause = f"did not end within {round(seconds, 2) or seconds:.3g} s"
        return DeadlineExceeded(
            f"`{agent}` {clause} (`{self.name}`).",
            hint=f"Allow more time by `{self.name}`, or ask for less.",
            suggestions=(f"Raise `{self.name}`.", "Ask for a part of it."),
            detail={"bound": self.name, **({} if seconds is None else {"seconds": round(seconds, 3)})},
        )


def call_time_limit(task: Task, *, run_deadline_ns: int | None, started_ns: int) -> TimeLimit | None:
    """What bounds the whole call, all attempts together; None when nothing does."""
    limits = task.limits
    time_limits: list[TimeLimit] = []
    if limits.timeout_s is not None:
        time_limits.append(TimeLimit("task.limits.timeout_s", _after(started_ns, limits.timeout_s)))
    if limits.deadline_ns is not None:
        time_limits.append(TimeLimit("task.limits.deadline_ns", limits.deadline_ns))
    if run_deadline_ns is not None:
        time_limits.append(TimeLimit("run.budget.timeout_s", run_deadline_ns))
    return min(time_limits, key=lambda limit: limit.at_ns, default=None)


def attempt_time_limit(
    call: TimeLimit | None,
    task: Task,
    *,
    now_ns: int,
    own_timeout_s: float | None,
    skill_timeout_s: float | None,
    default_timeout_s: float,
) -> TimeLimit:
    """What bounds the attempt that starts now.

    A skill's own time is for one attempt; what the user sets for its agent takes its place. The default (K32) applies
    only where neither task nor skill sets one: a task that asks for ten minutes has ten minutes.
    """
    time_limits = [] if call is None else [call]
    if own_timeout_s is not None:
        time_limits.append(TimeLimit("policy.timeouts", _after(now_ns, own_timeout_s)))
    elif skill_timeout_s is not None:
        time_limits.append(TimeLimit("skill.timeout_s", _after(now_ns, skill_timeout_s)))
    elif task.limits.timeout_s is None and task.limits.deadline_ns is None:
        time_limits.append(TimeLimit("policy.timeout_s", _after(now_ns, default_timeout_s)))
    return min(time_limits, key=lambda limit: limit.at_ns)


def _after(now_ns: int, seconds: float) -> int:
    return now_ns + int(min(seconds, _FOREVER_S) * _SECOND)


def budget_error(task: Task, budget: Budget, spent: Usage | None) -> BudgetExceeded | None:
    """Why a task may not be called (again), by its own limits and the run's budget; None when it may.

    Args:
        task: With its limits and its depth.
        budget: What the run may still spend.
        spent: What this call has spent so far; what was not measured counts as nothing.
    """
    if task.depth > budget.depth:
        return _budget_exceeded("run.budget.depth", f"{budget.depth} nested delegations", "Delegate less deeply.")
    tokens = (spent.tokens or 0) if spent else 0
    usd = (spent.known_usd or 0.0) if spent else 0.0
    for name, limit, used, unit in (
        ("task.limits.tokens", task.limits.tokens, tokens, "tokens"),
        ("run.budget.tokens", budget.tokens, tokens, "tokens"),
        ("task.limits.cost_usd", task.limits.cost_usd, usd, "USD"),
        ("run.budget.cost_usd", budget.cost_usd, usd, "USD"),
    ):
        if limit is not None and used >= limit:
            return _budget_exceeded(name, f"{limit:g} {unit}", f"Raise `{name}`, or ask for less.")
    return None


def _budget_exceeded(bound: str, what: str, hint: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"Nothing is left of {what} (`{bound}`).", hint=hint, suggestions=(hint,), detail={"bound": bound}
    )


# Copies


def _copy(members: JsonMapping, path: str, findings: list[Finding]) -> JsonMapping:
    try:
        return cast("JsonMapping", json_copy(members))
    except InvalidInput as error:
        findings.append(Finding(rule="input/json", message=error.message, path=path + error.path, fix=error.hint))
        return {}


def json_copy(value: object) -> JsonValue:
    """A copy of `value` made of dicts, lists, strings, numbers, booleans and None.

    Tuples become lists; subclasses (`OrderedDict`, `StrEnum`) become what they stand for.

    Raises:
        InvalidInput: The value holds what JSON cannot say, or goes beyond a limit; `path` is its JSON Pointer.
    """
    try:
        return _fast_copy(value, json.MAX_DEPTH, [_MAX_FAST])
    except (_NotFastError, UnicodeEncodeError):
        return json.loads(json.dumps(value))


_MAX_FAST: Final = 2**20
"""Members and characters of long texts that the fast copy takes."""

_LONG: Final = 4096
_INFINITE: Final = float("inf")
_WORD: Final = 2**63


class _NotFastError(Exception):
    """Not for the fast copy: the strict writer decides, and says where and why."""


def _fast_copy(value: Any, depth: int, allowance: list[int]) -> Any:
    """Copy the common case in one pass. `allowance` counts down, so that no bomb of shared parts is unrolled."""
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType] - of anything at all
    if kind is str:
        if not value.isascii():
            value.encode()  # half of a surrogate pair raises
        if len(value) > _LONG:
            allowance[0] -= len(value)
            if allowance[0] < 0:
                raise _NotFastError
        return value
    if kind is dict or kind is list or kind is tuple:
        allowance[0] -= len(value)
        if allowance[0] < 0 or not depth:
            raise _NotFastError
        if kind is not dict:
            return [_fast_copy(item, depth - 1, allowance) for item in value]
        copy: dict[str, Any] = {}
        for key, item in value.items():
            if type(key) is not str:
                raise _NotFastError
            if not key.isascii():
                key.encode()
            copy[key] = _fast_copy(item, depth - 1, allowance)
        return copy
    if kind is bool or value is None:
        return value
    if (kind is int and -_WORD <= value < _WORD) or (kind is float and -_INFINITE < value < _INFINITE):
        return value
    raise _NotFastError
