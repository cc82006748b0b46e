"""One skill of a Python agent: what its function says, as a `Skill`, and how to call it."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from retinue.agents.instruction import instruction_field
from retinue.contract import names
from retinue.contract.definition import Skill
from retinue.contract.model import Model
from retinue.contract.refused import as_detail, findings_of, in_short
from retinue.errors import InvalidDefinition

from .docstring import read_docstring
from .options import SkillOptions
from .signature import Signature, read_signature

__all__ = ["Entry", "as_tuple", "build", "read_entry"]

_Noun = TypeVar("_Noun", bound=Model)


@dataclass(frozen=True, slots=True)
class Entry:
    """One skill, ready to be called."""

    skill: Skill
    signature: Signature
    call: Callable[..., Any]
    asynchronous: bool


def read_entry(
    function: Callable[..., Any],
    call: Callable[..., Any],
    options: SkillOptions,
    *,
    bound: bool,
    signature: Signature | None = None,
) -> Entry:
    """Read what `function` and the decorator say of one skill.

    Args:
        function: What the author wrote.
        call: How it is called, by keyword arguments.
        options: What the decorator said.
        bound: It is a method: its first parameter is the object.
        signature: What was read from its types before.

    Raises:
        InvalidDefinition: It cannot be a skill.
    """
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidDefinition(
            f"`{function.__qualname__}` yields.", hint="Return one answer; `run.emit` tells of progress."
        )
    docstring = read_docstring(function.__doc__)
    if signature is None:
        signature = read_signature(function, bound=bound, docstring=docstring, output=options.get("output"))
    takes, unavailable = signature.input_schema, options.get("unavailable")
    facts: dict[str, Any] = {
        "name": names.canonical_name(options.get("name", function.__name__)),
        "description": options.get("description") or docstring.description or None,
        "input_schema": takes,
        "output_schema": signature.output_schema,
        "instruction_field": options.get("instruction_field", instruction_field(takes)),
        "target_field": options.get("target_field"),
        "defaults": dict(options.get("defaults", {})),
        "timeout_s": options.get("timeout_s"),
        "effects": as_tuple(options.get("effects")),
        "examples": as_tuple(options.get("examples")),
        "samples": as_tuple(options.get("samples")),
        "method": options.get("method"),
        "path": options.get("path"),
        "unavailable": cast("Callable[[], str]", unavailable)() if callable(unavailable) else unavailable,
        "thinks": options.get("thinks"),
        "thinks_within": options.get("thinks_within"),
    }
    for field in ("instruction_field", "target_field"):
        if facts[field] is not None and facts[field] not in takes["properties"]:
            raise InvalidDefinition(
                f"`{function.__qualname__}` says `{field}={facts[field]!r}`, which is none of its parameters.",
                hint=f"Name one of: {', '.join(takes['properties']) or 'none there are'}.",
            )
    return Entry(build(Skill, facts, about=function), signature, call, inspect.iscoroutinefunction(function))


def build(kind: type[_Noun], facts: Mapping[str, Any], *, about: Callable[..., object]) -> _Noun:
    """Make a noun of what was said; what is None is left to its defaults.

    Raises:
        InvalidDefinition: It is refused, for every reason listed in `detail["findings"]`.
    """
    try:
        return kind(**{name: value for name, value in facts.items() if value is not None})
    except ValidationError as error:
        findings = findings_of(error, rule="agent/value")
        raise InvalidDefinition(
            f"`{about.__module__}.{about.__qualname__}` cannot be an agent: {in_short(findings)}.",
            hint="Fix the decorator or the docstring.",
            detail=as_detail(findings),
        ) from None


def as_tuple(values: Iterable[Any] | None) -> tuple[Any, ...] | None:
    """The values, frozen; None stays None."""
    return None if values is None else tuple(values)
