"""What an agent made of Python says of itself: its decorators, docstrings and types, as a `Definition`.

A call needs none of it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from retinue.agents.instruction import instruction_field
from retinue.contract import names
from retinue.contract.definition import Definition, Deprecation, Skill, Source, read_tier
from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.model import Model
from retinue.errors import InvalidDefinition

from .decorator_options import AgentOptions
from .docstring import read_docstring
from .signature import Signature

if TYPE_CHECKING:
    from .python_agent import SkillEntry

_ModelT = TypeVar("_ModelT", bound=Model)


def read_skill(entry: "SkillEntry", signature: Signature, *, unavailable: str | None) -> Skill:
    """Read what the function and the decorator say of one skill.

    Args:
        entry: The skill.
        signature: What was read from its types.
        unavailable: Why it cannot be called here, if so.

    Raises:
        InvalidDefinition: It cannot be a skill.
    """
    function, options = entry.function, entry.options
    docstring = read_docstring(function.__doc__)
    input_schema = signature.input_schema
    values: dict[str, Any] = {
        "name": names.canonical_name(options.get("name", function.__name__)),
        "description": options.get("description") or docstring.description or None,
        "input_schema": input_schema,
        "output_schema": signature.output_schema,
        "instruction_field": options.get("instruction_field", instruction_field(input_schema)),
        "target_field": options.get("target_field"),
        "defaults": dict(options.get("defaults", {})),
        "timeout_s": options.get("timeout_s"),
        "effects": _as_tuple(options.get("effects")),
        "examples": _as_tuple(options.get("examples")),
        "samples": _as_tuple(options.get("samples")),
        "method": options.get("method"),
        "path": options.get("path"),
        "unavailable": unavailable,
        "thinks": options.get("thinks"),
        "thinks_within": options.get("thinks_within"),
    }
    for field in ("instruction_field", "target_field"):
        if values[field] is not None and values[field] not in input_schema["properties"]:
            raise InvalidDefinition(
                f"`{function.__qualname__}` says `{field}={values[field]!r}`, which is none of its parameters.",
                hint=f"Name one of: {', '.join(input_schema['properties']) or 'none there are'}.",
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

    Args:
        target: What was decorated.
        options: What the decorator said.
        name: What it is called.
        version: Its version, if one is said.
        skills: Its skills.
        returns_plan: One of them is said to return a `Plan`.

    Raises:
        InvalidDefinition: It cannot be an agent.
    """
    tier = options.get("tier")
    values: dict[str, Any] = {
        "name": name,
        "version": version,
        "description": options.get("description") or read_docstring(target.__doc__).description or None,
        "skills": skills,
        "aliases": _as_tuple(options.get("aliases")),
        "wire_names": dict(options.get("wire_names", {})),
        "category": options.get("category"),
        "tags": _as_tuple(options.get("tags")),
        "tier": (read_tier(tier) or tier) if tier else None,
        "model": options.get("model"),
        "tools": _as_tuple(options.get("tools")),
        "dialect": options.get("dialect"),
        "composes": options.get("composes", returns_plan),
        "deprecated": _deprecation(options.get("deprecated", False)),
        "source": _source(target),
        "extras": dict(options.get("extras", {})),
    }
    return _build(Definition, values, about=target)


def _build(kind: type[_ModelT], values: Mapping[str, Any], *, about: Callable[..., object]) -> _ModelT:
    """Make a noun of what was said; what is None is left to its defaults.

    Raises:
        InvalidDefinition: It is refused, for every reason listed in `detail["findings"]`.
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


def _as_tuple(values: Iterable[Any] | None) -> tuple[Any, ...] | None:
    """The values, frozen; None stays None."""
    return None if values is None else tuple(values)


def _deprecation(option: bool | str | Deprecation) -> Deprecation | None:  # noqa: FBT001 - the option's own type
    if isinstance(option, str):
        return Deprecation(note=option)
    return (Deprecation() if option else None) if isinstance(option, bool) else option


def _source(target: Callable[..., object]) -> Source | None:
    """Where the function or class is written; a class before Python 3.13 does not know its line."""
    code = getattr(target, "__code__", None)
    if code is not None:
        return Source(file=code.co_filename, line=code.co_firstlineno)
    functions = (getattr(member, "__func__", member) for member in vars(target).values())
    files = (member.__code__.co_filename for member in functions if hasattr(member, "__code__"))
    file = next(files, None)
    return Source(file=file, line=getattr(target, "__firstlineno__", None)) if file else None
