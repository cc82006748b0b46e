"""Two versions of one definition: what a caller of the old one would notice (spec 000 §10).

A change is judged by structure. Where only a person can tell, it says so instead of guessing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from retinue.contract.definition import Definition
from retinue.contract.finding import Finding, Severity
from retinue.contract.formatting import short_repr
from retinue.contract.json import as_mapping, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import fold
from retinue.contract.version import Version

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


def compare(old: Definition, new: Definition) -> list[Finding]:
    """Say what in `new` would break a caller of `old` (A27, A28, C33).

    Append-only changes say nothing: new skills, new optional fields, wider values. With a higher major version breaking
    is allowed, and the same findings are for information. Paths are JSON Pointers into `new.to_json()`, or into `old`'s
    for what is gone.
    """
    if new.name != old.name and old.name not in {fold(alias) for alias in new.aliases}:
        message = f"`{new.name}` is not a version of `{old.name}`."
        return [_finding("subject", "/name", message, f"Keep `{old.name}` as it is, or name it as an alias.")]
    findings: list[Finding] = []
    names = {fold(name) for name in (new.name, *new.aliases, *new.wire_names.values())}
    for name in dict.fromkeys((*old.aliases, *old.wire_names.values())):
        if fold(name) not in names:
            message = f"No agent is called {short_repr(name)} any more."
            findings.append(_finding("name-removed", "/aliases", message, "Keep it as an alias."))
    places = {skill.name: index for index, skill in enumerate(new.skills)}
    for index, before in enumerate(old.skills):
        after = new.skill(before.name)
        if old.skill(before.name) is not before:
            continue  # lint reports the name that stands twice
        if after is None:
            message = f"The skill `{before.name}` is gone."
            fix = "Keep it, and mark it deprecated."
            findings.append(_finding("skill-removed", f"/skills/{index}", message, fix))
            continue
        path = f"/skills/{places[before.name]}"
        findings += _Comparison(before.input_schema, after.input_schema, of_input=True).pair(
            path=f"{path}/input_schema"
        )
        if before.output_schema is not None and after.output_schema is None:
            message = f"The skill `{after.name}` promises nothing of its answer any more."
            findings.append(_finding("answer-removed", f"{path}/output_schema", message, "Keep the output schema."))
        elif before.output_schema is not None and after.output_schema is not None:
            comparison = _Comparison(before.output_schema, after.output_schema, of_input=False)
            findings += comparison.pair(path=f"{path}/output_schema")
        for effect in (each for each in after.effects or () if each not in (before.effects or ())):
            message = f"The skill `{after.name}` has a new effect: `{effect}`."
            findings.append(_finding("effects", f"{path}/effects", message, "Raise the major version."))
    if new.major > old.major:
        findings = [each.model_copy(update={"severity": "info"}) for each in findings]
    return [*_check_version(old, new), *findings]


def _check_version(old: Definition, new: Definition) -> Iterator[Finding]:
    before, after = Version.parse(old.version), Version.parse(new.version)
    following = f"{old.major}.{before.minor + 1}"
    # What callers rely on: everything but words.
    contracts = [
        [
            (each.name, each.input_schema, each.output_schema, each.effects, each.method, each.path)
            for each in one.skills
        ]
        for one in (old, new)
    ]
    if after < before:
        message = f"Version {new.version} comes after {old.version}."
        yield _finding("version", "/version", message, f"Use {following} or more.")
    elif after == before and (contracts[0] != contracts[1] or old.name != new.name):
        message = f"The contract has changed, and its version is still {old.version}."
        fix = f"Raise it to {following}, or to {old.major + 1}.0 if callers must change."
        yield _finding("version", "/version", message, fix, severity="warning")


def _finding(rule: str, path: str, message: str, fix: str, *, severity: Severity | None = None) -> Finding:
    return make_finding(f"compatibility/{rule}", path, message, fix, severity=severity)


class _Comparison:
    """One walk over two schemas side by side. A pair that was seen is not looked at again, so recursion ends.

    Of an input, what was sent must still be taken; of an answer, what could be relied on must still be there.
    """

    def __init__(self, old: JsonMapping, new: JsonMapping, *, of_input: bool) -> None:
        self._old = old
        self._new = new
        self._of_input = of_input
        self._seen: set[tuple[str, str]] = set()

    def pair(
        self, old: JsonMapping | None = None, new: JsonMapping | None = None, *, path: str, depth: int = 0
    ) -> Iterator[Finding]:
        """What a caller notices of a pair of schemas, first of the two whole ones; `path` is where the new one is."""
        old, new = self._old if old is None else old, self._new if new is None else new
        references = as_texts(old.get("$ref")), as_texts(new.get("$ref"))
        if depth > _MAX_DEPTH:
            return
        if all(references):
            pair = references[0][0], references[1][0]
            if pair in self._seen:
                return
            self._seen.add(pair)
        old, new = flatten(old, self._old), flatten(new, self._new)
        before, after = as_mapping(old.get("properties")), as_mapping(new.get("properties"))
        yield from self._check_input(old, new, path) if self._of_input else self._check_output(old, new, path)
        for word in _OPAQUE:
            decided = word in _TIGHTENING and (word in old) != (word in new)
            if old.get(word) != new.get(word) and not decided:
                message = f"`{word}` has changed, and only a person can say whether that breaks a caller."
                yield _finding("undecided", f"{path}/{word}", message, "Look, and raise the version to fit.")
        for name in before:
            place = path + pointer(["properties", name])
            if name in after:
                yield from self.pair(as_mapping(before[name]), as_mapping(after[name]), path=place, depth=depth + 1)
            else:
                rule, what = ("field-removed", "field") if self._of_input else ("answer-removed", "answer's field")
                yield _finding(rule, place, f"The {what} `{name}` is gone.", "Keep it, and mark it deprecated.")
        if "items" in old and "items" in new:
            items = as_mapping(old["items"]), as_mapping(new["items"])
            yield from self.pair(*items, path=f"{path}/items", depth=depth + 1)

    def _check_input(self, old: JsonMapping, new: JsonMapping, path: str) -> Iterator[Finding]:
        for word, what in _narrowings(old, new):
            message = f"It takes less than before: {what}."
            yield _finding("narrowed", f"{path}/{word}", message, "Take what was taken before.")
        needed = frozenset(as_texts(old.get("required")))
        for name in as_texts(new.get("required")):
            if name not in needed:
                is_old = name in as_mapping(old.get("properties"))
                message = f"The field `{name}` {'was optional and is required' if is_old else 'is new and required'}."
                yield _finding("field-required", f"{path}/required", message, "Leave it optional, with a default.")
        if old.get("additionalProperties", True) is not False and new.get("additionalProperties", True) is False:
            message = "It takes less than before: no members beside those listed."
            yield _finding("narrowed", f"{path}/additionalProperties", message, "Raise the major version.")

    def _check_output(self, old: JsonMapping, new: JsonMapping, path: str) -> Iterator[Finding]:
        if new_types := _types(new) - _types(old):
            message = f"The answer may now be {', '.join(f'`{kind}`' for kind in sorted(new_types))}."
            yield _finding("answer-widened", f"{path}/type", message, "Keep the type.", severity="error")
        for word, what in _narrowings(new, old):
            if word != "type":
                message = f"The answer may now hold what it did not: {what} before."
                yield _finding("answer-widened", f"{path}/{word}", message, "Keep to what readers know.")
        required_names = frozenset(as_texts(new.get("required")))
        for name in as_texts(old.get("required")):
            if name in as_mapping(new.get("properties")) and name not in required_names:
                message = f"The answer's field `{name}` may now be absent."
                yield _finding("answer-removed", f"{path}/required", message, "Keep it required.")


def _narrowings(wide: JsonMapping, narrow: JsonMapping) -> Iterator[tuple[str, str]]:
    """Each keyword by which `narrow` takes less than `wide`, with what it takes."""
    if missing_types := _types(wide) - _types(narrow):
        yield "type", f"no {', '.join(f'`{kind}`' for kind in sorted(missing_types))}"
    before, after = _allowed(wide), _allowed(narrow)
    if before is None and after is not None:
        yield "enum", f"only {', '.join(map(short_repr, after[:10]))}"
    elif before is not None and after is not None:
        # Membership as JSON has it: 1 is not true.
        allowed_values = [(value, isinstance(value, bool)) for value in after]
        if removed_values := [value for value in before if (value, isinstance(value, bool)) not in allowed_values]:
            yield "enum", f"no {', '.join(map(short_repr, removed_values[:10]))}"
    for words, sign in ((_LOWER, 1), (_UPPER, -1)):
        for word in words:
            limit, old_limit = _number(narrow.get(word)), _number(wide.get(word))
            if (
                limit is not None
                and (old_limit is None or limit * sign > old_limit * sign)
                # At least none is no limit at all.
                and not (limit <= 0 and word in {"minLength", "minItems", "minProperties"})
            ):
                yield word, f"`{word}` {limit:g}"
    for word in _TIGHTENING:
        if word in narrow and word not in wide:
            yield word, f"only what passes `{word}`"
    if narrow.get("uniqueItems") is True and wide.get("uniqueItems") is not True:
        yield "uniqueItems", "no item twice"


def _types(schema: JsonMapping) -> frozenset[str]:
    stated = frozenset(as_texts(schema.get("type"))) or _ALL_TYPES
    # Every integer is a number.
    return stated | {"integer"} if "number" in stated else stated


def _allowed(schema: JsonMapping) -> list[object] | None:
    if "const" in schema:
        return [schema["const"]]
    options: object = schema.get("enum")
    return [*options] if isinstance(options, list) else None


def _number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


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

        def distance(heir: Definition, each: EarlierDefinition = each) -> tuple[bool, bool, bool, int]:
            is_moved = heir.source is None or heir.source.file != each.file
            old = each.definition
            return heir.major != old.major, heir.name != old.name, is_moved, -heir.major

        new = min(by_name.get(old.name, []), key=distance, default=None)
        if new is None:
            # Callers that were told to go elsewhere had time to.
            severity: Severity = "warning" if old.deprecated else "error"
            message = f"The agent `{old.name}` is gone, and no other answers to its name."
            fix = "Keep it and mark it deprecated, or make its name an alias of the one that takes over."
            finding = _finding("agent-removed", "", message, fix, severity=severity)
            place = {"file": each.file, "line": 1, "column": 1}
            yield ContractChange(None, finding.model_copy(update=place))
            continue
        if new.major > old.major:
            message = f"Version {new.version} of `{new.name}` took the place of {old.version}, which is gone."
            fix = f"Keep {old.version} beside it, as `{old.name}_v{old.major}`, for as long as it has callers."
            yield ContractChange(new, _finding("agent-removed", "/version", message, fix, severity="warning"))
        for finding in compare(old, new):
            yield ContractChange(new, finding)


_SCHEMA_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMA_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE_SCHEMAS: Final = ("items", "additionalProperties", "contains", "if", "then", "else")


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One member of an object.

    Attributes:
        stated: Its schema as it stands there.
        schema: The same with what it refers to drawn in, and of one alternative beside `null`, that alternative.
    """

    name: str
    path: str
    required: bool
    stated: JsonMapping
    schema: JsonMapping

    @property
    def description(self) -> str:
        """Its description, its own before that of what it refers to."""
        text = self.schema.get("description")
        return text if isinstance(text, str) else ""


def subschemas(schema: JsonMapping) -> Iterator[tuple[str, JsonMapping]]:
    """Every schema inside `schema`, itself first, each with its JSON Pointer."""
    pending: list[tuple[str, object]] = [("", schema)]
    for path, part in pending:  # grows during the loop
        if not isinstance(part, dict):
            continue
        source = cast("JsonMapping", part)
        yield path, source
        for word in _SCHEMA_MAPS:
            pending += [(path + pointer([word, name]), inner) for name, inner in as_mapping(source.get(word)).items()]
        for word in (*_SCHEMA_LISTS, "items"):
            inner = source.get(word)
            if isinstance(inner, list):
                pending += [(f"{path}/{word}/{index}", one) for index, one in enumerate(cast("list[object]", inner))]
        pending += [(f"{path}/{word}", source[word]) for word in _SINGLE_SCHEMAS if word in source]


def fields_of(schema: JsonMapping) -> Iterator[SchemaField]:
    """Every field of every object that `schema` describes, outer ones first."""
    for path, part in subschemas(schema):
        required = frozenset(as_texts(part.get("required")))
        for name, stated in as_mapping(part.get("properties")).items():
            whole = as_mapping(stated)
            yield SchemaField(
                name=name,
                path=path + pointer(["properties", name]),
                required=name in required,
                stated=whole,
                schema=flatten(whole, schema),
            )


def resolve_ref(schema: JsonMapping, root: JsonMapping) -> JsonMapping:
    """`schema` with a local `$ref` drawn in; what stands beside the reference wins."""
    for _ in range(32):  # a circle of references is reported elsewhere
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        target: object = root
        for part in reference.split("/")[1:]:
            target = as_mapping(target).get(part.replace("~1", "/").replace("~0", "~"))
        schema = {**as_mapping(target), **{word: value for word, value in schema.items() if word != "$ref"}}
    return schema


def flatten(schema: JsonMapping, root: JsonMapping) -> JsonMapping:
    """`schema` as one flat object: references, a lone `allOf`, and the only alternative beside `null` drawn in."""
    schema = resolve_ref(schema, root)
    for word in ("allOf", "anyOf", "oneOf"):
        inner = schema.get(word)
        if not isinstance(inner, list):
            continue
        branches = [resolve_ref(as_mapping(one), root) for one in cast("list[object]", inner)]
        real = [one for one in branches if one.get("type") != "null"]
        if len(real) == 1:
            flat = {**real[0], **{key: value for key, value in schema.items() if key != word}}
            if len(real) < len(branches):
                flat["type"] = [*as_texts(real[0].get("type")), "null"]
            return flat
    return schema


def as_texts(value: object) -> list[str]:
    """The strings in `value`, or `value` itself as the only one."""
    if isinstance(value, str):
        return [value]
    items = cast("Iterable[object]", value) if isinstance(value, (list, tuple)) else ()
    return [item for item in items if isinstance(item, str)]
