"""What an agent made of Python says of itself: its decorators, docstrings and types, as a `Definition`.

A call needs none of it.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema, core_schema, to_jsonable_python

from retinue.contract import names
from retinue.contract.definition import Definition, Deprecation, Skill, Source, instruction_field, read_tier
from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.model import JsonMapping, Model
from retinue.errors import InvalidDefinition

from .decorator_options import AgentOptions, checking_types_of

if TYPE_CHECKING:
    from .python_agent import Signature, SkillEntry

_ModelT = TypeVar("_ModelT", bound=Model)

_SECTIONS: Final = {
    "args": "args", "arguments": "args", "parameters": "args", "keyword args": "args",
    "returns": "returns", "return": "returns",
    "attributes": "", "example": "", "examples": "", "note": "", "notes": "", "raises": "", "todo": "", "warning": "",
    "yields": "",
}  # fmt: skip
_SECTION = re.compile(r"([A-Z][A-Za-z ]*):[ \t]*")
_ARGUMENT = re.compile(r"\*{0,2}(\w+)[ \t]*(?:\([^)]*\))?:[ \t]*(.*)")


def read_skill(entry: "SkillEntry", signature: "Signature", *, unavailable: str | None) -> Skill:
    """Read what the function and the decorator say of one skill; `unavailable` is why it cannot be called here.

    Raises:
        InvalidDefinition: It cannot be a skill.
    """
    function, options = entry.function, entry.options
    docstring = read_docstring(function.__doc__)
    with checking_types_of(function):
        parameters = input_schema(
            signature.input_adapter, defaults=signature.defaults, descriptions=docstring.arguments
        )
        answer = output_schema(signature.output_adapter) if signature.output_adapter else None
    values = {
        "instruction_field": instruction_field(parameters),
        **_options_of(Skill, options),
        "name": names.canonical_name(options.get("name", function.__name__)),
        "description": options.get("description") or docstring.description or None,
        "input_schema": parameters,
        "output_schema": answer,
        "unavailable": unavailable,
    }
    for option in ("instruction_field", "target_field"):
        if values.get(option) is not None and values[option] not in parameters["properties"]:
            raise InvalidDefinition(
                f"`{function.__qualname__}` says `{option}={values[option]!r}`, which is not a parameter of it.",
                hint=f"Name one of: {', '.join(parameters['properties']) or 'it has none'}.",
            )
    return _build(Skill, values, about=function)


def read_definition(
    target: Callable[..., object],
    options: AgentOptions,
    *,
    name: str,
    version: str | None,
    skills: tuple[Skill, ...],
    returns_plan: bool,
) -> Definition:
    """Read what a function or class and its decorator say of the agent.

    Raises:
        InvalidDefinition: It cannot be an agent.
    """
    tier, deprecated = options.get("tier"), options.get("deprecated", False)
    if not isinstance(deprecated, Deprecation):
        note = deprecated if isinstance(deprecated, str) else None
        deprecated = Deprecation(note=note) if note is not None else Deprecation() if deprecated else None
    values = {
        "composes": returns_plan,
        **_options_of(Definition, options),
        "name": name,
        "version": version,
        "description": options.get("description") or read_docstring(target.__doc__).description or None,
        "skills": skills,
        "tier": (read_tier(tier) or tier) if tier else None,
        "deprecated": deprecated,
        "source": _source(target),
    }
    return _build(Definition, values, about=target)


def _build(kind: type[_ModelT], values: Mapping[str, Any], *, about: Callable[..., object]) -> _ModelT:
    """Make a model of the values; what is None is left to its default.

    Raises:
        InvalidDefinition: A value is wrong; `detail["findings"]` lists every reason.
    """
    try:
        return kind(**{name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        findings = findings_of(error, rule="agent/value")
        raise InvalidDefinition(
            f"`{about.__module__}.{about.__qualname__}` cannot be an agent: {summarise_findings(findings)}.",
            hint="Fix the decorator or the docstring.",
            detail=as_detail(findings),
        ) from None


def _options_of(kind: type[Model], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are fields of `kind`, copied as a frozen model holds them."""
    values = {name: value for name, value in options.items() if name in kind.model_fields}
    for name, value in values.items():
        if isinstance(value, Mapping):
            values[name] = dict(cast("Mapping[str, Any]", value))
        elif isinstance(value, Iterable) and not isinstance(value, (str, Model)):
            values[name] = tuple(cast("Iterable[Any]", value))
    return values


def _source(target: Callable[..., object]) -> Source | None:
    """Where the function or class is written; a class before Python 3.13 does not know its line."""
    code = getattr(target, "__code__", None)
    if code is not None:
        return Source(file=code.co_filename, line=code.co_firstlineno)
    functions = (getattr(member, "__func__", member) for member in vars(target).values())
    files = (member.__code__.co_filename for member in functions if hasattr(member, "__code__"))
    file = next(files, None)
    return Source(file=file, line=getattr(target, "__firstlineno__", None)) if file else None


# Schemas


class _SchemaGenerator(GenerateJsonSchema):
    """Without the titles that only repeat the name of a field."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonMapping:
        """As pydantic does it, with only the first paragraph of the docstring."""
        json_schema = super().model_schema(schema)
        if isinstance(description := json_schema.get("description"), str):
            json_schema["description"] = description.partition("\n\n")[0]
        return json_schema

    def field_title_should_be_set(self, schema: CoreSchema | core_schema.ComputedField | Any) -> bool:
        del schema
        return False


def input_schema(
    adapter: TypeAdapter[Any], *, defaults: Mapping[str, object], descriptions: Mapping[str, str]
) -> JsonMapping:
    """What a skill takes: a closed object (A6, A20). `defaults` and `descriptions` are by parameter."""
    schema = adapter.json_schema(schema_generator=_SchemaGenerator, mode="validation")
    for unwanted in ("title", "description"):
        schema.pop(unwanted, None)
    # Put the values of an enum where they are used: a model that fills in a parameter looks there.
    enums = {f"#/$defs/{name}": facts for name, facts in schema.get("$defs", {}).items() if "enum" in facts}

    def inline(part: Any) -> Any:
        if isinstance(part, list):
            return [inline(item) for item in cast("list[Any]", part)]
        if not isinstance(part, dict):
            return part
        facts = cast("JsonMapping", part)
        if facts.get("$ref") in enums:
            facts = {**enums[facts["$ref"]], **{key: value for key, value in facts.items() if key != "$ref"}}
            facts.pop("title", None)
        return {key: inline(value) for key, value in facts.items()}

    result: JsonMapping = inline(schema)
    remaining = {name: facts for name, facts in result.pop("$defs", {}).items() if f"#/$defs/{name}" not in enums}
    schema = {**result, "$defs": remaining} if remaining else result
    schema.setdefault("properties", {})
    schema.setdefault("required", [])
    schema["additionalProperties"] = False
    for name, parameter in _properties(schema).items():
        if name in defaults and "default" not in parameter:
            with suppress(TypeError, ValueError, RecursionError):  # a default that JSON cannot say is not shown
                parameter["default"] = to_jsonable_python(defaults[name])
        if parameter.get("default", ...) is None:
            # An optional parameter is left out, never sent as null (C16).
            del parameter["default"]
            kinds = [kind for kind in parameter.get("anyOf", ()) if kind != {"type": "null"}]
            if len(kinds) == 1:
                del parameter["anyOf"]
                for key, value in kinds[0].items():
                    parameter.setdefault(key, value)
            elif kinds:
                parameter["anyOf"] = kinds
        if name in descriptions and "description" not in parameter:
            parameter["description"] = descriptions[name]
    return schema


def output_schema(adapter: TypeAdapter[Any]) -> JsonMapping:
    """What a skill gives. What may be null may also be absent, and is left out when it is null (C16)."""
    schema = adapter.json_schema(schema_generator=_SchemaGenerator, mode="serialization")
    for part in (schema, *schema.get("$defs", {}).values()):
        nullable = {
            name
            for name, facts in _properties(part).items()
            if (facts.get("type") == "null" or {"type": "null"} in facts.get("anyOf", ()))
        }
        for name in nullable:
            _properties(part)[name].pop("default", None)
        if nullable and "required" in part:
            part["required"] = [name for name in part["required"] if name not in nullable]
    return schema


def _properties(schema: JsonMapping) -> dict[str, JsonMapping]:
    return cast("dict[str, JsonMapping]", schema.get("properties", {}))


# Docstrings


@dataclass(frozen=True, slots=True)
class Docstring:
    """The parts of a docstring, each as running text on one line.

    Attributes:
        text: What stands before the first section; its paragraphs joined.
        arguments: Descriptions by name.
    """

    text: str = ""
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    returns: str = ""

    @property
    def description(self) -> str:
        """What it does and what it returns: what a definition's description must say (A6)."""
        if not self.returns:
            return self.text
        return f"{self.text} Returns: {self.returns}".strip()


def read_docstring(docstring: str | None) -> Docstring:
    """Take a docstring apart. Sections of other kinds are left out."""
    sections: dict[str, list[str]] = {"text": []}
    current = sections["text"]
    for line in inspect.cleandoc(docstring or "").splitlines():
        match = _SECTION.fullmatch(line)
        kind = _SECTIONS.get(match[1].lower()) if match else None
        if kind is None:
            current.append(line)
        else:
            current = sections.setdefault(kind, []) if kind else []
    # One argument for each line at the outer indentation; deeper lines continue the one above.
    lines = sections.get("args", [])
    outer = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    entries: dict[str, list[str]] = {}
    current = []
    for line in lines:
        match = _ARGUMENT.fullmatch(line.strip()) if len(line) - len(line.lstrip()) == outer else None
        if match:
            current = entries.setdefault(match[1], [])
            current.append(match[2])
        else:
            current.append(line)
    return Docstring(
        text=_join_lines(sections["text"]),
        arguments={name: _join_lines(parts) for name, parts in entries.items()},
        returns=_join_lines(sections.get("returns", [])),
    )


def _join_lines(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
