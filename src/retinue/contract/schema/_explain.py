"""The validator's errors in our words: each with its place, what is wrong, and what would be right.

Decides nothing: what is valid, the validator has said.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, cast

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
    # In the order of the places, the tenth item after the ninth.
    findings = sorted(
        unique, key=lambda one: [(len(part) if part.isdigit() else 0, part) for part in one.path.split("/")]
    )
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
        facts = {} if keyword in {"anyOf", "oneOf"} else error.kind.as_dict()
        value = _at(self._instance, error.instance_path)
        # The `false` of `additionalProperties` in an object that has no others, and not of a member so called.
        closed = ["additionalProperties"]
        is_closed = error.schema_path[-1:] == closed != error.instance_path[-1:]
        match keyword:
            case "required":
                name, properties = str(facts["property"]), self._properties(error)
                # When the object holds a misspelling of it, that is the thing to mend.
                matches = self._nearest(name, [key for key in cast("JsonMapping", value) if key not in properties])
                about = _field(properties.get(name)).get("description")
                line = " ".join(about.split()) if isinstance(about, str) else ""
                line = line if len(line) <= 200 else f"{line[:199]}…"
                fix = f"Add `{name}`: {line}" if line else f"Add `{name}`."
                fix = f"Rename `{matches[0]}` to `{name}`." if matches else fix
                yield _finding(error, "required", f"`{name}` is missing", fix)
            case "additionalProperties" | "unevaluatedProperties":
                for name in cast("list[str]", facts["unexpected"]):
                    yield self._unknown_property(error, keyword, name)
            case "falseSchema" if is_closed and isinstance(value, dict):
                for name in cast("JsonMapping", value):
                    yield self._unknown_property(error, "additionalProperties", name)
            case "anyOf" | "oneOf":
                yield from self._branches(error, keyword, value)
            case "propertyNames":
                inner = cast("jsonschema_rs.ValidationError", facts["error"])
                facts, instance = inner.kind.as_dict(), cast("object", inner.instance)
                what, fix = _describe(inner.kind.name, instance, facts, inner.message)
                yield _finding(error, keyword, f"A name is wrong: {what}", fix)
            case _:
                what, fix = _describe(keyword, value, facts, error.message)
                yield _finding(error, keyword, what, fix)

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


# A text with `{value}` in it is about the value; the other names are what the validator knows of the keyword.
_SIMPLE: Final[Mapping[str, tuple[str, str]]] = {
    "pattern": ("{value} does not match `{pattern}`", "Write it as the pattern asks."),
    "const": ("{value} is not {expected_value}", "Use {expected_value}."),
    "minimum": ("{value} is less than {limit}", "Use {limit} or more."),
    "maximum": ("{value} is more than {limit}", "Use {limit} or less."),
    "exclusiveMinimum": ("{value} is not more than {limit}", "Use more than {limit}."),
    "exclusiveMaximum": ("{value} is not less than {limit}", "Use less than {limit}."),
    "multipleOf": ("{value} is not a multiple of {multiple_of}", "Use a multiple of {multiple_of}."),
    "uniqueItems": ("The list holds an item twice", "Name each item once."),
    "contains": ("The list does not hold as many fitting items as it must", "See `contains` in the schema."),
    "falseSchema": ("{value} stands where nothing may stand", "Remove it."),
    "not": ("{value} is what it must not be: {schema}", "Use something else."),
    "additionalItems": ("{value} has more items than the schema knows", "Remove the last ones."),
    "unevaluatedItems": ("{value} has more items than the schema knows", "Remove the last ones."),
}
_LENGTHS: Final = {
    "minLength": ("character", "fewer than", "Use at least"),
    "maxLength": ("character", "more than", "Use at most"),
    "minItems": ("item", "fewer than", "Give at least"),
    "maxItems": ("item", "more than", "Give at most"),
    "minProperties": ("member", "fewer than", "Give at least"),
    "maxProperties": ("member", "more than", "Give at most"),
}
_FORMATS: Final = {
    "date": "`2026-01-31`",
    "date-time": "`2026-01-31T09:30:00Z`",
    "duration": "`PT30M`",
    "email": "`name@example.org`",
    "time": "`09:30:00Z`",
    "uri": "`https://example.org/page`",
    "uuid": "`123e4567-e89b-12d3-a456-426614174000`",
}


def _describe(keyword: str, value: object, facts: JsonMapping, message: str) -> tuple[str, str]:
    """What one keyword has against `value`, as a clause, and a fix. Limits are shown as the schema states them."""
    if keyword in _SIMPLE:
        words = {
            name: short_repr(fact) if name in {"expected_value", "schema"} else fact for name, fact in facts.items()
        }
        what, fix = (text.format(**{**words, "value": _quoted(value)}) for text in _SIMPLE[keyword])
        return what, fix
    if keyword in _LENGTHS:
        unit, word, fix = _LENGTHS[keyword]
        size = len(cast("str | list[object] | JsonMapping", value))
        what = f"{_quoted(value)} has {_pluralise(size, unit)}, {word} {facts['limit']}"
        return what, f"{fix} {_pluralise(cast('int', facts['limit']), unit)}."
    match keyword:
        case "type":
            types = cast("list[str]", facts["types"])
            if isinstance(value, str):
                quotes = ", without quotes" if {"integer", "number", "boolean"} & set(types) else ""
                what = f"{short_repr(value)} is a string, not {_type_names(types)}"
                return what, f"Give {_type_names(types)}{quotes}."
            return f"{_quoted(value)} is not {_type_names(types)}", f"Give {_type_names(types)}."
        case "enum":
            options = cast("list[object]", facts["options"])
            words = [option for option in options if isinstance(option, str)]
            matches = nearest(value, words, limit=1) if isinstance(value, str) and len(words) <= 1_000 else ()
            hint = f"Did you mean {matches[0]!r}? " if matches else ""
            fix = f"{hint}Use one of {_join_limited(map(short_repr, options))}."
            return f"{_quoted(value)} is not allowed here", fix
        case "format":
            example = _FORMATS.get(str(facts["format"]), "")
            fix = f"Write it like {example}." if example else f"Write it in the format `{facts['format']}`."
            return f"{_quoted(value)} is not a valid `{facts['format']}`", fix
        case _:  # the validator's own words, in which `mask` has replaced the value
            return message[:1].upper() + message[1:500].rstrip("."), ""


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
