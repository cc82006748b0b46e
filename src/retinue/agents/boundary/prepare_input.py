"""What an agent is given: a task made safe, with the parameters its skill asks for (K20, C44, C45).

Nothing a caller holds is shared with the agent, and nothing is filled in silently: every note ends up in the result.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from retinue.agents.boundary.policy import Policy
from retinue.agents.boundary.prepare_skill import PreparedSkill
from retinue.agents.boundary.validate_claims import json_copy
from retinue.contract import names, schema
from retinue.contract.finding import Finding
from retinue.contract.model import JsonMapping
from retinue.contract.schema import Validator
from retinue.contract.task import Task
from retinue.errors import InvalidDefinition, InvalidInput

if TYPE_CHECKING:
    from retinue.agents.boundary.decode_parameters import Decoding


@dataclass(slots=True)
class PreparedInput:
    """A task as the agent will get it.

    Attributes:
        findings: Why it cannot be given; empty when it can.
        decodings: Texts that were read as something else.
        notes: What was filled in or passed over: `filled`, `defaults`, `unknown`, `ignored`.
        answer: Checks the answer by the schema that the caller wishes for; None when there is none.
    """

    task: Task
    findings: list[Finding]
    decodings: "tuple[Decoding, ...]"
    notes: JsonMapping
    answer: Validator | None = None


def prepare_input(task: Task, prepared: PreparedSkill) -> PreparedInput:
    """Check and complete `task` for a skill. Wrong input is a finding, never an exception."""
    skill = prepared.skill
    findings: list[Finding] = []
    notes: JsonMapping = {}
    changes: JsonMapping = {"skill": skill.name, "agent": prepared.definition.name, "untyped": False}
    changes["instruction"] = instruction = _instruction(task.instruction, prepared.policy, findings)
    parameters = _copy(task.parameters, "/parameters", findings)
    if task.context.inputs:
        inputs = _copy(task.context.inputs, "/context/inputs", findings)
        changes["context"] = task.context.model_copy(update={"inputs": inputs})
    if task.extras:
        changes["extras"] = _copy(task.extras, "/extras", findings)

    decodings: tuple[Decoding, ...] = ()
    if task.untyped:
        from retinue.agents.boundary.decode_parameters import decode_parameters  # noqa: PLC0415 - typed callers do not need it

        parameters, decodings = decode_parameters(parameters, skill.input_schema)
        ignored = _ignored_parameters(parameters, prepared)
        if ignored:
            notes["ignored"] = ignored
            parameters = {name: value for name, value in parameters.items() if name not in ignored}
    # Put the instruction and the target where the skill takes them, unless something stands there already
    # (C45).
    fields = ((skill.instruction_field, instruction), (skill.target_field, task.target))
    filled = {name: text for name, text in fields if name is not None and text and name not in parameters}
    parameters.update(filled)
    if filled:
        notes["filled"] = filled
    parameters, defaults = _with_defaults(parameters, prepared)
    if defaults:
        notes["defaults"] = defaults
    if not findings and not prepared.input_validator.is_valid(parameters, bounded=True):
        findings += [
            finding.model_copy(update={"path": f"/parameters{finding.path}"})
            for finding in prepared.input_validator.findings(parameters, bounded=True)
        ]
    if unknown := _unknown_parameters(parameters, prepared):
        notes["unknown"] = unknown
    changes["parameters"] = parameters
    return PreparedInput(task.model_copy(update=changes), findings, decodings, notes, _answer_validator(task, findings))


def _answer_validator(task: Task, findings: list[Finding]) -> Validator | None:
    wish = task.output.answer_schema
    try:
        return None if wish is None else schema.compile(wish)
    except InvalidDefinition as error:
        path = f"/output/schema{error.path}"
        findings.append(Finding(rule="input/schema", message=error.message, path=path, fix=error.hint))
        return None


def _instruction(text: str, policy: Policy, findings: list[Finding]) -> str:
    """The instruction without what has no business in a text (K20)."""
    if not text.isascii() and not _encodes(text):
        findings.append(
            _instruction_finding("The instruction holds half of a surrogate pair.", "Send whole characters.")
        )
    if len(text) <= policy.instruction_limit and "\0" not in text and "\r" not in text:
        return text
    from retinue.contract import sanitize  # noqa: PLC0415 - most instructions are clean

    try:
        return sanitize.clean_content(text, max_length=policy.instruction_limit)
    except InvalidInput:
        size = f"{len(text):,} characters, and {policy.instruction_limit:,} are allowed"
        findings.append(
            _instruction_finding(f"The instruction has {size}.", "Say it shorter, or hand the text over as a file.")
        )
        return ""


def _instruction_finding(message: str, fix: str) -> Finding:
    return Finding(rule="input/instruction", message=message, path="/instruction", fix=fix)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _copy(members: JsonMapping, path: str, findings: list[Finding]) -> JsonMapping:
    try:
        return cast("JsonMapping", json_copy(members))
    except InvalidInput as error:
        findings.append(Finding(rule="input/json", message=error.message, path=path + error.path, fix=error.hint))
        return {}


def _with_defaults(parameters: JsonMapping, prepared: PreparedSkill) -> tuple[JsonMapping, JsonMapping]:
    value, paths = prepared.input_validator.apply_defaults(parameters)
    return cast("JsonMapping", value), {path: json_copy(_value_at(value, path)) for path in paths}


def _value_at(value: object, path: str) -> object:
    for part in path.split("/")[1:]:
        if isinstance(value, list):
            value = cast("list[object]", value)[int(part)]
        else:
            value = cast("JsonMapping", value)[part.replace("~1", "/").replace("~0", "~")]
    return value


def _ignored_parameters(parameters: JsonMapping, prepared: PreparedSkill) -> JsonMapping:
    """What came as text and a closed schema does not know, with what was probably meant (C7).

    Formats of text have free parameters: one too many is no reason to refuse the call, unless the policy is strict. It
    is never passed over silently.
    """
    schema = prepared.input_validator.schema
    if (
        prepared.policy.level == "strict"
        or schema.get("additionalProperties") is not False
        or "patternProperties" in schema
    ):
        return {}
    value: object = schema.get("properties")
    properties = cast("JsonMapping", value) if isinstance(value, dict) else {}
    unknown = [name for name in parameters if name not in properties]
    return {
        name: list(names.nearest(name, properties)) if at < _MAX_SUGGESTED else [] for at, name in enumerate(unknown)
    }


_MAX_SUGGESTED: Final = 50
"""Unknown names that are each compared with those there are."""


def _unknown_parameters(parameters: JsonMapping, prepared: PreparedSkill) -> JsonMapping:
    """Parameters that the schema lets pass without knowing them, with what they were probably meant to be (C7)."""
    value: object = prepared.input_validator.schema.get("properties")
    if not isinstance(value, dict) or parameters.keys() <= cast("JsonMapping", value).keys():
        return {}
    properties = cast("JsonMapping", value)
    return {name: list(names.nearest(name, properties)) for name in parameters if name not in properties}


def ignored_text(ignored: JsonMapping) -> str:
    """What is said of parameters that were passed over."""
    descriptions = [f"{name[:80]!r}{_suggestion(near)}" for name, near in list(ignored.items())[:_SHOWN]]
    more = f" and {len(ignored) - _SHOWN} more" if len(ignored) > _SHOWN else ""
    return f"Unknown parameters, ignored: {', '.join(descriptions)}{more}."


_SHOWN: Final = 10


def _suggestion(near: list[str]) -> str:
    return f" (did you mean {near[0]!r}?)" if near else ""
