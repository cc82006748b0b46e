"""The validator's errors in our words: each with its place, what is wrong, and what would be right.

Decides nothing: what is valid, the validator has said.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, TypeAlias, cast

import jsonschema_rs

from retinue.contract.finding import Finding
from retinue.contract.formatting import short_repr
from retinue.contract.json import pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest

_MAX_FINDINGS: Final = 1_000
"""So many findings are listed; a last one counts the others."""

_MAX_GUESSES: Final = 25
"""So many unknown names get a "did you mean": comparing spellings takes longer than anything else here."""

_MAX_LISTED: Final = 20

_KINDS: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}


def explain(errors: Iterable[jsonschema_rs.ValidationError], *, instance: object, schema: JsonMapping) -> list[Finding]:
    """Give every error as a finding, once, in the order of the places in `instance`."""
    explainer = _Explainer(instance, schema)
    rest = iter(errors)
    unique = dict.fromkeys(
        finding for error in islice(rest, 2 * _MAX_FINDINGS) for finding in explainer.findings_for(error)
    )
    findings = sorted(unique, key=_place)
    further = sum(1 for _ in rest) + max(len(findings) - _MAX_FINDINGS, 0)
    if further:
        more = f"{further} more findings."
        findings[_MAX_FINDINGS:] = [Finding(rule="schema/more", message=more, fix="Fix those above, then check again.")]
    return findings


class _Explainer:
    def __init__(self, instance: object, schema: JsonMapping) -> None:
        self._instance = instance
        self._schema = schema
        self._guesses = _MAX_GUESSES

    def findings_for(self, error: jsonschema_rs.ValidationError) -> Iterator[Finding]:
        """One error as findings: several for unknown keys, those of the branch that was meant for an `anyOf`."""
        keyword = error.kind.name
        facts = {} if keyword in _BRANCHING else error.kind.as_dict()
        value = _at(self._instance, error.instance_path)
        match keyword:
            case "required":
                yield self._missing_property(error, str(facts["property"]), value)
            case "additionalProperties" | "unevaluatedProperties":
                for name in cast("list[str]", facts["unexpected"]):
                    yield self._unknown_property(error, keyword, name)
            case "falseSchema" if _is_closed_object(error) and isinstance(value, dict):
                for name in cast("JsonMapping", value):
                    yield self._unknown_property(error, "additionalProperties", name)
            case "anyOf" | "oneOf":
                yield from self._branches(error, keyword, value)
            case "propertyNames":
                inner = cast("jsonschema_rs.ValidationError", facts["error"])
                describe = _DESCRIBERS.get(inner.kind.name, _describe_other)
                what, fix = describe(cast("object", inner.instance), inner.kind.as_dict(), inner.message)
                yield _finding(error, keyword, f"A name is wrong: {what}", fix)
            case _:
                what, fix = _DESCRIBERS.get(keyword, _describe_other)(value, facts, error.message)
                yield _finding(error, keyword, what, fix)

    def _missing_property(self, error: jsonschema_rs.ValidationError, name: str, value: object) -> Finding:
        """A required name. When the object holds a misspelling of it, that is the thing to mend."""
        properties = self._properties(error)
        strangers = [key for key in cast("JsonMapping", value) if key not in properties]
        matches = self._nearest(name, strangers)
        fix = f"Rename `{matches[0]}` to `{name}`." if matches else f"Add `{name}`."
        about = _field(properties.get(name)).get("description")
        if not matches and isinstance(about, str) and about:
            fix = f"Add `{name}`: {_line(about)}"
        return _finding(error, "required", f"`{name}` is missing", fix)

    def _unknown_property(self, error: jsonschema_rs.ValidationError, keyword: str, name: str) -> Finding:
        properties = self._properties(error)
        matches = self._nearest(name, properties)
        if matches:
            fix = f"Did you mean {' or '.join(f'`{one}`' for one in matches)}?"
        elif properties:
            fix = f"Remove it. Available: {_join_limited(f'`{one}`' for one in properties)}."
        else:
            fix = "Remove it."
        return Finding(
            rule=f"schema/{keyword}",
            message=f"Unknown property {short_repr(name)}.",
            path=pointer([*error.instance_path, name]),
            fix=fix,
        )

    def _nearest(self, name: str, names: Iterable[str]) -> tuple[str, ...]:
        if not self._guesses:
            return ()
        self._guesses -= 1
        return nearest(name, names)

    def _properties(self, error: jsonschema_rs.ValidationError) -> JsonMapping:
        """The `properties` beside the keyword that complained."""
        owner = _at(self._schema, error.schema_path[:-1])
        return _field(_field(owner).get("properties"))

    # Alternatives.

    def _branches(self, error: jsonschema_rs.ValidationError, keyword: str, value: object) -> Iterator[Finding]:
        context = cast("jsonschema_rs.ValidationErrorKind.AnyOf", error.kind).context
        fit_count = sum(not branch for branch in context)
        if fit_count:
            what = f"{_quoted(value)} fits {fit_count} of {len(context)} alternatives, and exactly one may fit"
            yield _finding(error, keyword, what, "Leave out what belongs to the others.")
            return
        likely = _likely_branches(context, error.instance_path)
        if len(likely) == 1:
            for inner in likely[0]:
                yield from self.findings_for(inner)
            return
        whys = [finding for branch in likely for inner in branch[:1] for finding in self.findings_for(inner)]
        kinds = _expected_types(likely)
        what = f"{_quoted(value)} is none of the {len(context)} alternatives"
        reasons = dict.fromkeys(f"{finding.message.removesuffix('.')} ({finding.path})" for finding in whys)
        yield _finding(
            error, keyword, what, f"Give {kinds}." if kinds else f"Fix one of: {_join_limited(reasons, '; ')}."
        )


def _place(finding: Finding) -> list[tuple[int, str]]:
    """Sort by place, the tenth item after the ninth."""
    return [(len(part) if part.isdigit() else 0, part) for part in finding.path.split("/")]


def _is_closed_object(error: jsonschema_rs.ValidationError) -> bool:
    """Say whether a `false` that refused something is that of `additionalProperties` in an object without any."""
    word = error.schema_path[-1:]
    return word == ["additionalProperties"] and error.instance_path[-1:] != word


_BRANCHING: Final = {"anyOf", "oneOf"}


def _likely_branches(
    branches: list[list[jsonschema_rs.ValidationError]], place: list[str | int]
) -> list[list[jsonschema_rs.ValidationError]]:
    """The branches that a value was probably meant for: of its type, with its `const` where one tells kinds apart."""
    typed = [branch for branch in branches if not any(_is_of(error, "type", place, below=0) for error in branch)]
    if len(typed) > 1:
        return [one for one in typed if not any(_is_of(error, "const", place, below=1) for error in one)] or typed
    return typed or branches


def _is_of(error: jsonschema_rs.ValidationError, keyword: str, place: list[str | int], *, below: int) -> bool:
    return error.kind.name == keyword and len(error.instance_path) == len(place) + below


def _expected_types(branches: list[list[jsonschema_rs.ValidationError]]) -> str:
    """What to give when every branch only asks for another type."""
    types: list[str] = []
    for branch in branches:
        first = branch[0].kind
        if first.name != "type" or len(branch[0].instance_path) != len(branches[0][0].instance_path):
            return ""
        types += first.as_dict()["types"]
    return _type_names(types)


def _finding(error: jsonschema_rs.ValidationError, keyword: str, what: str, fix: str) -> Finding:
    return Finding(rule=f"schema/{keyword}", message=f"{what}.", path=pointer(error.instance_path), fix=fix)


# What each keyword has to say, as a clause and a fix. Limits are shown as the schema states them.

_Describer: TypeAlias = Callable[[object, JsonMapping, str], tuple[str, str]]


def _type(value: object, facts: JsonMapping, _: str) -> tuple[str, str]:
    types = cast("list[str]", facts["types"])
    if isinstance(value, str):
        quotes = ", without quotes" if {"integer", "number", "boolean"} & set(types) else ""
        return f"{short_repr(value)} is a string, not {_type_names(types)}", f"Give {_type_names(types)}{quotes}."
    return f"{_quoted(value)} is not {_type_names(types)}", f"Give {_type_names(types)}."


def _enum(value: object, facts: JsonMapping, _: str) -> tuple[str, str]:
    options = cast("list[object]", facts["options"])
    words = [option for option in options if isinstance(option, str)]
    matches = nearest(value, words, limit=1) if isinstance(value, str) and len(words) <= 1_000 else ()
    hint = f"Did you mean {matches[0]!r}? " if matches else ""
    return f"{_quoted(value)} is not allowed here", f"{hint}Use one of {_join_limited(map(short_repr, options))}."


def _const(value: object, facts: JsonMapping, _: str) -> tuple[str, str]:
    expected = short_repr(facts["expected_value"])
    return f"{_quoted(value)} is not {expected}", f"Use {expected}."


def _pattern(value: object, facts: JsonMapping, _: str) -> tuple[str, str]:
    return f"{_quoted(value)} does not match `{facts['pattern']}`", "Write it as the pattern asks."


def _format(value: object, facts: JsonMapping, _: str) -> tuple[str, str]:
    example = _FORMATS.get(str(facts["format"]), "")
    fix = f"Write it like {example}." if example else f"Write it in the format `{facts['format']}`."
    return f"{_quoted(value)} is not a valid `{facts['format']}`", fix


_FORMATS: Final = {
    "date": "`2026-01-31`",
    "date-time": "`2026-01-31T09:30:00Z`",
    "duration": "`PT30M`",
    "email": "`name@example.org`",
    "time": "`09:30:00Z`",
    "uri": "`https://example.org/page`",
    "uuid": "`123e4567-e89b-12d3-a456-426614174000`",
}


def _bound(word: str, fix: str) -> _Describer:
    return lambda value, facts, _: (f"{_quoted(value)} is {word} {facts['limit']}", fix.format(facts["limit"]))


def _length(unit: str, word: str, fix: str) -> _Describer:
    def describe(value: object, facts: JsonMapping, _: str) -> tuple[str, str]:
        limit = cast("int", facts["limit"])
        size = len(cast("str | list[object] | JsonMapping", value))
        return f"{_quoted(value)} has {_pluralise(size, unit)}, {word} {limit}", fix.format(_pluralise(limit, unit))

    return describe


def _multiple(value: object, facts: JsonMapping, _: str) -> tuple[str, str]:
    return f"{_quoted(value)} is not a multiple of {facts['multiple_of']}", f"Use a multiple of {facts['multiple_of']}."


def _contains(_value: object, _facts: JsonMapping, _: str) -> tuple[str, str]:
    return "The list does not hold as many fitting items as it must", "See `contains` in the schema."


def _unique(_value: object, _facts: JsonMapping, _: str) -> tuple[str, str]:
    return "The list holds an item twice", "Name each item once."


def _false_schema(value: object, _facts: JsonMapping, _: str) -> tuple[str, str]:
    return f"{_quoted(value)} stands where nothing may stand", "Remove it."


def _not(value: object, facts: JsonMapping, _: str) -> tuple[str, str]:
    return f"{_quoted(value)} is what it must not be: {short_repr(facts['schema'])}", "Use something else."


def _extra_items(value: object, _facts: JsonMapping, _: str) -> tuple[str, str]:
    return f"{_quoted(value)} has more items than the schema knows", "Remove the last ones."


def _describe_other(_value: object, _facts: JsonMapping, message: str) -> tuple[str, str]:
    """A keyword without words of ours: the validator's own, in which `mask` has replaced the value."""
    return message[:1].upper() + message[1:500].rstrip("."), ""


_DESCRIBERS: Final[Mapping[str, _Describer]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "pattern": _pattern,
    "format": _format,
    "minimum": _bound("less than", "Use {} or more."),
    "maximum": _bound("more than", "Use {} or less."),
    "exclusiveMinimum": _bound("not more than", "Use more than {}."),
    "exclusiveMaximum": _bound("not less than", "Use less than {}."),
    "multipleOf": _multiple,
    "minLength": _length("character", "fewer than", "Use at least {}."),
    "maxLength": _length("character", "more than", "Use at most {}."),
    "minItems": _length("item", "fewer than", "Give at least {}."),
    "maxItems": _length("item", "more than", "Give at most {}."),
    "minProperties": _length("member", "fewer than", "Give at least {}."),
    "maxProperties": _length("member", "more than", "Give at most {}."),
    "uniqueItems": _unique,
    "contains": _contains,
    "falseSchema": _false_schema,
    "not": _not,
    "additionalItems": _extra_items,
    "unevaluatedItems": _extra_items,
}


def _quoted(value: object) -> str:
    """`value` in a sentence: a scalar as it is, a container by its size, never its whole contents."""
    if isinstance(value, dict):
        return f"An object of {_pluralise(len(cast('JsonMapping', value)), 'member')}"
    if isinstance(value, (list, tuple)):
        return f"A list of {_pluralise(len(cast('list[object]', value)), 'item')}"
    if value is None or isinstance(value, bool):
        return {None: "`null`", True: "`true`", False: "`false`"}[value]
    return short_repr(value)


def _pluralise(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"


def _type_names(types: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(_KINDS.get(one, one) for one in types))


def _join_limited(words: Iterable[str], between: str = ", ") -> str:
    all_of_them = list(words)
    more = len(all_of_them) - _MAX_LISTED
    return between.join(all_of_them[:_MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:199]}…"


def _field(value: object) -> JsonMapping:
    return cast("JsonMapping", value) if isinstance(value, dict) else {}


def _at(value: object, path: Iterable[str | int]) -> object:
    """What stands at `path`; None when it leads nowhere, as into an embedded resource."""
    for part in path:
        if isinstance(value, dict):
            value = cast("JsonMapping", value).get(str(part))
        elif isinstance(value, (list, tuple)) and isinstance(part, int):
            value = cast("list[object]", value)[part]
        else:
            return None
    return value
