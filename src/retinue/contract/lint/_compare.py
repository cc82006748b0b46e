"""Two versions of one definition: what a caller of the old one would notice (spec 000 §10).

A change is judged by structure. Where only a person can tell, it says so instead of guessing.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from retinue.contract.definition import Definition, Skill
from retinue.contract.finding import Finding, Severity
from retinue.contract.formatting import short_repr
from retinue.contract.json import pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import fold

from ._fields import as_mapping, as_texts, flatten
from .rules import make_finding

_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_TIGHTENING: Final = ("pattern", "format", "multipleOf", "not", "contains", "propertyNames", "dependentRequired")
"""Keywords that can only take away, so that adding one narrows; how two of a kind compare, nobody can say."""
_OPAQUE: Final = (*_TIGHTENING, "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas",
                  "patternProperties", "prefixItems", "unevaluatedItems", "unevaluatedProperties",
                  "$dynamicRef")  # fmt: skip
_ALL_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_MAX_DEPTH: Final = 64

_BREAKING: Final = frozenset(
    {"compatibility/skill-removed", "compatibility/name-removed", "compatibility/field-removed",
     "compatibility/field-required", "compatibility/narrowed", "compatibility/answer-removed",
     "compatibility/answer-widened", "compatibility/undecided", "compatibility/effects"}
)  # fmt: skip


def compare(old: Definition, new: Definition) -> list[Finding]:
    """Say what in `new` would break a caller of `old` (A27, A28, C33).

    Append-only changes say nothing: new skills, new optional fields, wider values. With a higher major version breaking
    is allowed, and the same findings are for information. Paths are JSON Pointers into `new.to_json()`, or into `old`'s
    for what is gone.
    """
    if new.name != old.name and old.name not in {fold(alias) for alias in new.aliases}:
        message = f"`{new.name}` is not a version of `{old.name}`."
        fix = f"Keep `{old.name}` as it is beside it, or name it as an alias."
        return [make_finding("compatibility/subject", "/name", message, fix)]
    findings = [*_names(old, new), *_skills(old, new)]
    if new.major > old.major:
        findings = [_soften(finding) for finding in findings]
    return [*_version(old, new), *findings]


def _soften(finding: Finding) -> Finding:
    severity: Severity = "info" if finding.rule in _BREAKING else finding.severity
    return make_finding(finding.rule, finding.path, finding.message, finding.fix, severity=severity)


def _version(old: Definition, new: Definition) -> Iterator[Finding]:
    before, after = _numbers(old.version), _numbers(new.version)
    if after < before:
        message = f"Version {new.version} comes after {old.version}."
        yield make_finding("compatibility/version", "/version", message, f"Use {old.major}.{before[1] + 1} or more.")
    elif after == before and (_contract_of(old) != _contract_of(new) or old.name != new.name):
        message = f"The contract has changed, and its version is still {old.version}."
        fix = f"Raise it to {old.major}.{before[1] + 1}, or to {old.major + 1}.0 if callers must change."
        yield make_finding("compatibility/version", "/version", message, fix, severity="warning")


def _contract_of(definition: Definition) -> list[object]:
    """What callers rely on: everything but words."""
    return [
        (skill.name, skill.input_schema, skill.output_schema, skill.effects, skill.method, skill.path)
        for skill in definition.skills
    ]


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in version.split(".")]
    return (*numbers, 0)[:3]


def _names(old: Definition, new: Definition) -> Iterator[Finding]:
    names = {fold(name) for name in (new.name, *new.aliases, *new.wire_names.values())}
    for name in dict.fromkeys((*old.aliases, *old.wire_names.values())):
        if fold(name) not in names:
            message = f"No agent is called {short_repr(name)} any more."
            yield make_finding("compatibility/name-removed", "/aliases", message, "Keep it as an alias.")


def _skills(old: Definition, new: Definition) -> Iterator[Finding]:
    places = {skill.name: index for index, skill in enumerate(new.skills)}
    for index, before in enumerate(old.skills):
        after = new.skill(before.name)
        if old.skill(before.name) is not before:
            continue  # lint reports the name that stands twice
        if after is None:
            message = f"The skill `{before.name}` is gone."
            yield make_finding(
                "compatibility/skill-removed", f"/skills/{index}", message, "Keep it, and mark it deprecated."
            )
        else:
            yield from _skill(before, after, f"/skills/{places[before.name]}")


def _skill(old: Skill, new: Skill, path: str) -> Iterator[Finding]:
    yield from _Input(old.input_schema, new.input_schema).compare(f"{path}/input_schema")
    if old.output_schema is not None and new.output_schema is None:
        message = f"The skill `{new.name}` promises nothing of its answer any more."
        yield make_finding("compatibility/answer-removed", f"{path}/output_schema", message, "Keep the output schema.")
    elif old.output_schema is not None and new.output_schema is not None:
        yield from _Output(old.output_schema, new.output_schema).compare(f"{path}/output_schema")
    for effect in new.effects or ():
        if effect not in (old.effects or ()):
            message = f"The skill `{new.name}` has a new effect: `{effect}`."
            yield make_finding("compatibility/effects", f"{path}/effects", message, "Raise the major version.")


class _Comparison(ABC):
    """One walk over two schemas side by side. A pair that was seen is not looked at again, so recursion ends."""

    def __init__(self, old: JsonMapping, new: JsonMapping) -> None:
        self._old = old
        self._new = new
        self._seen: set[tuple[str, str]] = set()

    def compare(self, path: str) -> Iterator[Finding]:
        """What a caller notices, `path` being the place of the whole."""
        yield from self._pair(self._old, self._new, path, depth=0)

    def _pair(self, old: JsonMapping, new: JsonMapping, path: str, *, depth: int) -> Iterator[Finding]:
        references = as_texts(old.get("$ref")), as_texts(new.get("$ref"))
        if depth > _MAX_DEPTH:
            return
        if all(references):
            pair = references[0][0], references[1][0]
            if pair in self._seen:
                return
            self._seen.add(pair)
        old, new = flatten(old, self._old), flatten(new, self._new)
        yield from self._values(old, new, path)
        before, after = as_mapping(old.get("properties")), as_mapping(new.get("properties"))
        yield from self._members(old, new, path)
        for name in before:
            if name in after:
                place = path + pointer(["properties", name])
                yield from self._pair(as_mapping(before[name]), as_mapping(after[name]), place, depth=depth + 1)
        if "items" in old and "items" in new:
            yield from self._pair(as_mapping(old["items"]), as_mapping(new["items"]), f"{path}/items", depth=depth + 1)

    @abstractmethod
    def _values(self, old: JsonMapping, new: JsonMapping, path: str) -> Iterator[Finding]:
        """What the keywords of the pair itself say."""

    @abstractmethod
    def _members(self, old: JsonMapping, new: JsonMapping, path: str) -> Iterator[Finding]:
        """Which members came, went, or became required."""


class _Input(_Comparison):
    """What was sent must still be taken."""

    def _values(self, old: JsonMapping, new: JsonMapping, path: str) -> Iterator[Finding]:
        for word, what in _narrowings(old, new):
            message = f"It takes less than before: {what}."
            yield make_finding("compatibility/narrowed", _at(path, word), message, "Take what was taken before.")
        yield from _undecidable(old, new, path)

    def _members(self, old: JsonMapping, new: JsonMapping, path: str) -> Iterator[Finding]:
        before, after = as_mapping(old.get("properties")), as_mapping(new.get("properties"))
        for name in before:
            if name not in after:
                place = path + pointer(["properties", name])
                message = f"The field `{name}` is gone."
                yield make_finding("compatibility/field-removed", place, message, "Keep it, and mark it deprecated.")
        needed = frozenset(as_texts(old.get("required")))
        for name in as_texts(new.get("required")):
            if name not in needed:
                what = "was optional and is required" if name in before else "is new and required"
                fix = "Leave it optional, with a default."
                yield make_finding(
                    "compatibility/field-required", f"{path}/required", f"The field `{name}` {what}.", fix
                )
        if old.get("additionalProperties", True) is not False and new.get("additionalProperties", True) is False:
            message = "It takes less than before: no members beside those listed."
            yield make_finding(
                "compatibility/narrowed", _at(path, "additionalProperties"), message, "Raise the major version."
            )


class _Output(_Comparison):
    """What could be relied on must still be there."""

    def _values(self, old: JsonMapping, new: JsonMapping, path: str) -> Iterator[Finding]:
        new_types = _types(new) - _types(old)
        if new_types:
            message = f"The answer may now be {', '.join(f'`{kind}`' for kind in sorted(new_types))}."
            yield make_finding(
                "compatibility/answer-widened", _at(path, "type"), message, "Keep the type.", severity="error"
            )
        for word, what in _narrowings(new, old):
            if word != "type":
                message = f"The answer may now hold what it did not: {what} before."
                yield make_finding(
                    "compatibility/answer-widened", _at(path, word), message, "Keep to what readers know."
                )
        yield from _undecidable(old, new, path)

    def _members(self, old: JsonMapping, new: JsonMapping, path: str) -> Iterator[Finding]:
        after = as_mapping(new.get("properties"))
        for name in as_mapping(old.get("properties")):
            if name not in after:
                message = f"The answer's field `{name}` is gone."
                place = path + pointer(["properties", name])
                yield make_finding("compatibility/answer-removed", place, message, "Keep it, and mark it deprecated.")
        required_names = frozenset(as_texts(new.get("required")))
        for name in as_texts(old.get("required")):
            if name in after and name not in required_names:
                message = f"The answer's field `{name}` may now be absent."
                yield make_finding("compatibility/answer-removed", f"{path}/required", message, "Keep it required.")


# What narrower means, keyword by keyword.


def _narrowings(wide: JsonMapping, narrow: JsonMapping) -> Iterator[tuple[str, str]]:
    """Each keyword by which `narrow` takes less than `wide`, with what it takes."""
    missing_types = _types(wide) - _types(narrow)
    if missing_types:
        yield "type", f"no {', '.join(f'`{kind}`' for kind in sorted(missing_types))}"
    yield from _lost_choices(wide, narrow)
    for words, sign in ((_LOWER, 1), (_UPPER, -1)):
        for word in words:
            limit, before = _number(narrow.get(word)), _number(wide.get(word))
            if (
                limit is not None
                and (before is None or limit * sign > before * sign)
                and not (limit <= 0 and word in {"minLength", "minItems", "minProperties"})
            ):
                yield word, f"`{word}` {limit:g}"
    for word in _TIGHTENING:
        if word in narrow and word not in wide:
            yield word, f"only what passes `{word}`"
    if narrow.get("uniqueItems") is True and wide.get("uniqueItems") is not True:
        yield "uniqueItems", "no item twice"


def _lost_choices(wide: JsonMapping, narrow: JsonMapping) -> Iterator[tuple[str, str]]:
    before, after = _allowed(wide), _allowed(narrow)
    if after is None:
        return
    if before is None:
        yield "enum", f"only {', '.join(map(short_repr, after[:10]))}"
    elif removed_values := [value for value in before if not _contains(after, value)]:
        yield "enum", f"no {', '.join(map(short_repr, removed_values[:10]))}"


def _undecidable(old: JsonMapping, new: JsonMapping, path: str) -> Iterator[Finding]:
    for word in _OPAQUE:
        decided = word in _TIGHTENING and (word in old) != (word in new)
        if old.get(word) != new.get(word) and not decided:
            message = f"`{word}` has changed, and only a person can say whether that breaks a caller."
            yield make_finding(
                "compatibility/undecided", _at(path, word), message, "Look, and raise the version to fit."
            )


def _types(schema: JsonMapping) -> frozenset[str]:
    stated = frozenset(as_texts(schema.get("type"))) or _ALL_TYPES
    return stated | {"integer"} if "number" in stated else stated


def _allowed(schema: JsonMapping) -> list[object] | None:
    if "const" in schema:
        return [schema["const"]]
    options: object = schema.get("enum")
    return [*options] if isinstance(options, list) else None


def _contains(values: Iterable[object], target: object) -> bool:
    """Membership as JSON sees it: 1 is not true."""
    return any(value == target and isinstance(value, bool) == isinstance(target, bool) for value in values)


def _number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _at(path: str, word: str) -> str:
    return f"{path}/{word}"


@dataclass(frozen=True, slots=True)
class EarlierDefinition:
    """A definition as it was.

    Attributes:
        file: Where it stood, as the file is called today.
    """

    definition: Definition
    file: str


@dataclass(frozen=True, slots=True)
class ContractChange:
    """Something that a caller notices.

    Attributes:
        definition: The agent as it is now; None when there is none any more.
    """

    definition: Definition | None
    finding: Finding


def compare_trees(earlier: Iterable[EarlierDefinition], now: Sequence[Definition]) -> Iterator[ContractChange]:
    """Say what in a tree would break callers of what was there before.

    An earlier agent is the one of its name and major version today, first the one in the same file; else the one that
    took its name as an alias. A new major version beside the old one breaks nobody.
    """
    by_name: dict[str, list[Definition]] = {}
    for definition in now:
        for name in dict.fromkeys((definition.name, *map(fold, definition.aliases))):
            by_name.setdefault(name, []).append(definition)
    for each in earlier:
        old = each.definition
        heirs = by_name.get(old.name, [])
        new = min(heirs, key=lambda heir: _distance(each, heir), default=None)
        if new is None:
            yield ContractChange(None, _removed(each))
            continue
        if new.major > old.major:
            yield ContractChange(new, _superseded(old, new))
        for finding in compare(old, new):
            yield ContractChange(new, finding)


def _distance(earlier: EarlierDefinition, heir: Definition) -> tuple[bool, bool, bool, int]:
    """How far an agent of today is from what an earlier one was."""
    old = earlier.definition
    is_moved = heir.source is None or heir.source.file != earlier.file
    return heir.major != old.major, heir.name != old.name, is_moved, -heir.major


def _removed(earlier: EarlierDefinition) -> Finding:
    old = earlier.definition
    # Who was told to go elsewhere had time to.
    severity: Severity = "warning" if old.deprecated else "error"
    message = f"The agent `{old.name}` is gone, and nobody answers to its name."
    fix = "Keep it and mark it deprecated, or make its name an alias of the one that takes over."
    return make_finding(
        "compatibility/agent-removed", "", message, fix, severity=severity, file=earlier.file, line=1, column=1
    )


def _superseded(old: Definition, new: Definition) -> Finding:
    message = f"Version {new.version} of `{new.name}` took the place of {old.version}, which is gone."
    fix = f"Keep {old.version} beside it, as `{old.name}_v{old.major}`, for as long as it has callers."
    return make_finding("compatibility/agent-removed", "/version", message, fix, severity="warning")
