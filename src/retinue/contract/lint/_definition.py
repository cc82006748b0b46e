"""The rules over a whole definition (spec 000 §2)."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, cast

from retinue.contract import schema as schemas
from retinue.contract.definition import Definition, Skill
from retinue.contract.finding import Finding
from retinue.contract.formatting import short_repr
from retinue.contract.json import as_mapping, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import fold, nearest
from retinue.errors import InvalidDefinition

from ._compare import SchemaField, as_texts, fields_of, resolve_ref, subschemas
from .rules import make_finding

_NOT_JSON: Final = {"schema/json", "schema/depth", "schema/size"}


def lint(definition: Definition, *, previous: Definition | None = None) -> list[Finding]:
    """Say everything there is to say about a definition (A6, A20, A21).

    Paths are JSON Pointers into `definition.to_json()`.

    Args:
        definition: What to judge.
        previous: The version before. Fields that are new since may be optional (C33); `compare` judges the change.
    """
    findings = [
        *_check_description(definition.description, definition.name),
        *_check_deprecation(definition.description, marked=definition.deprecated is not None, path="/description"),
        *_check_names(definition),
    ]
    for index, skill in enumerate(definition.skills):
        before = previous.skill(skill.name) if previous else None
        new = frozenset[str]()
        if before:
            old_properties = as_mapping(before.input_schema.get("properties"))
            new = frozenset(as_mapping(skill.input_schema.get("properties")).keys() - old_properties.keys())
        findings += _prefix_paths(_check_skill(skill, alone=len(definition.skills) == 1, new=new), f"/skills/{index}")
    # The sample inputs that some tool definitions carry beside their schema.
    examples: object = definition.extras.get("input_examples")
    for index, value in enumerate(cast("list[object]", examples) if isinstance(examples, list) else ()):
        for violation in _violations(definition.skills[0].input_schema, value):
            place = f"/extras/input_examples/{index}{violation.path}"
            message = f"The example does not pass: {violation.message}"
            findings.append(make_finding("input/example", place, message, violation.fix))
    for name in definition.extras:
        message = f"{short_repr(name)} has no meaning here; it is kept and has no effect."
        place = pointer(["extras", name])
        findings.append(make_finding("definition/extras", place, message, "Remove it, or leave it be."))
    file = definition.source.file if definition.source else None
    return findings if file is None else [finding.model_copy(update={"file": file}) for finding in findings]


def _check_names(definition: Definition) -> Iterator[Finding]:
    suffix = re.fullmatch(r"(.+)_v([1-9][0-9]*)", definition.name)
    if suffix:
        fix = f"Call it `{suffix[1]}`, version {suffix[2]}.0; keep `{definition.name}` as an alias."
        yield make_finding("definition/name-version", "/name", f"The name `{definition.name}` states a version.", fix)
    names = {definition.name}
    for index, alias in enumerate(definition.aliases):
        if fold(alias) in names:
            message, fix = f"The alias {short_repr(alias)} says nothing new.", "Remove it; spelling is folded anyway."
            yield make_finding("definition/alias", f"/aliases/{index}", message, fix)
        names.add(fold(alias))
    skills: set[str] = set()
    for index, skill in enumerate(definition.skills):
        if skill.name in skills:
            message = f"There are two skills called `{skill.name}`."
            yield make_finding("definition/skill-twice", f"/skills/{index}/name", message, "Rename one of them.")
        skills.add(skill.name)


def _check_description(text: str, name: str) -> Iterator[Finding]:
    place = "/description"
    if not text.strip():
        fix = "Say what it does, when, and what comes back."
        yield make_finding("definition/description", place, "There is no description.", fix)
        return
    tells_result = _matches(_RETURNS, text) or _matches(_MAKES, text)
    for rule, is_said, what, fix in (
        ("what", says_what(text, name), "begin with what the agent does", "Begin with a sentence on what it does."),
        ("when", _matches(_WHEN, text), "say when to use the agent", "Add a sentence that begins “Use when”."),
        ("returns", tells_result, "say what comes back", "Add a sentence that begins “Returns:”."),
    ):
        if not is_said:
            message = f"The description does not {what}."
            yield make_finding(f"definition/description-{rule}", place, message, fix)


def _check_deprecation(text: str, *, marked: bool, path: str) -> Iterator[Finding]:
    """Deprecation is said in both places (C34): the keyword, and the description."""
    is_said = _matches(_DEPRECATED, text)
    if marked and not is_said:
        message = "It is deprecated, but its description does not say so."
        fix = "Add `deprecated: true` to the description, and what to use instead."
        yield make_finding("definition/deprecated", path, message, fix)
    if is_said and not marked:
        message = "Its description says `deprecated: true`, but it is not marked."
        yield make_finding("definition/deprecated", path, message, "Set the keyword `deprecated` too.")


def _check_skill(skill: Skill, *, alone: bool, new: frozenset[str]) -> Iterator[Finding]:
    if not skill.description.strip():
        message = f"The skill `{skill.name}` has no description."
        yield make_finding("definition/description", "/description", message, "Say what it does.")
    elif not alone and not says_what(skill.description, skill.name):
        message = f"The description of the skill `{skill.name}` does not say what it does."
        fix = "Begin with a sentence on what it does."
        yield make_finding("definition/description-what", "/description", message, fix)
    yield from _prefix_paths(_check_input(skill.input_schema, new=new), "/input_schema")
    if skill.output_schema is None:
        message = f"The skill `{skill.name}` has no output schema."
        yield make_finding("skill/output", "", message, "Describe the answer in `output_schema`.")
    else:
        yield from _prefix_paths(schemas.check_schema(skill.output_schema), "/output_schema")
    if not skill.examples and not skill.unavailable:
        message = f"The skill `{skill.name}` has no example utterances."
        yield make_finding("skill/examples", "", message, "Add about five, as people would ask.")
    properties = as_mapping(skill.input_schema.get("properties"))
    for role, name in (("instruction_field", skill.instruction_field), ("target_field", skill.target_field)):
        if name is not None and name not in properties:
            near = nearest(name, properties, limit=1)
            message = f"{short_repr(name)} is not a parameter of `{skill.name}`."
            fix = f"Did you mean `{near[0]}`?" if near else "Name one of its `properties`."
            yield make_finding("skill/field", f"/{role}", message, fix)
        elif name is not None:
            kinds = as_texts(resolve_ref(as_mapping(properties[name]), skill.input_schema).get("type"))
            if kinds and "string" not in kinds:
                message = f"The parameter {short_repr(name)} takes no text, and `{role}` gives it one."
                yield make_finding("skill/field", f"/{role}", message, "Name a parameter of `type: string`.")
    partial = {word: value for word, value in skill.input_schema.items() if word not in {"required", "minProperties"}}
    for violation in _violations(partial, skill.defaults) if skill.defaults else ():
        yield make_finding("skill/default", f"/defaults{violation.path}", violation.message, violation.fix)
    for index, sample in enumerate(skill.samples):
        pairs = (("parameters", skill.input_schema), ("answer", skill.output_schema))
        for side, schema in pairs:
            value = getattr(sample, side)
            for violation in _violations(schema, value) if value is not None and schema is not None else ():
                place = f"/samples/{index}/{side}{violation.path}"
                message = f"The sample does not pass: {violation.message}"
                yield make_finding("skill/sample", place, message, violation.fix)


def _violations(schema: JsonMapping, value: object) -> list[Finding]:
    """What is wrong with `value`; nothing for a broken schema, which is reported by itself."""
    try:
        return schemas.compile(schema).findings(value)
    except InvalidDefinition:
        return []


def _prefix_paths(findings: Iterable[Finding], prefix: str) -> Iterator[Finding]:
    for finding in findings:
        yield finding.model_copy(update={"path": prefix + finding.path})


# Input schemas.

_KEYWORDS: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema", "$vocabulary",
     "additionalItems", "additionalProperties", "allOf", "anyOf", "const", "contains", "contentEncoding",
     "contentMediaType", "contentSchema", "default", "definitions", "dependencies", "dependentRequired",
     "dependentSchemas", "deprecated", "description", "else", "enum", "enumDescriptions", "examples",
     "exclusiveMaximum", "exclusiveMinimum", "format", "if", "items", "maxContains", "maxItems", "maxLength",
     "maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf",
     "not", "oneOf", "pattern", "patternProperties", "prefixItems", "properties", "propertyNames", "readOnly",
     "required", "then", "title", "type", "unevaluatedItems", "unevaluatedProperties", "uniqueItems", "writeOnly"}
)  # fmt: skip
_MAX_GUESSES: Final = 100
"""So many names of one schema get a "did you mean": comparing spellings takes longer than anything else here."""

_BOUNDS: Final = {
    "string": ("minLength", "maxLength", "pattern", "format", "contentEncoding"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_SAYS_WHAT: Final = frozenset(
    {"type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if", "properties", "items"}
)


def _check_input(root: JsonMapping, *, new: frozenset[str] = frozenset()) -> Iterator[Finding]:
    """Everything to say about an input schema. A broken one is judged for style too, as far as it is JSON.

    Args:
        root: The schema.
        new: Top-level fields that may be optional because they came later (C33).
    """
    findings = schemas.check_schema(root)
    yield from findings
    if any(finding.rule in _NOT_JSON for finding in findings):
        return
    properties = as_mapping(root.get("properties"))
    # What spec 000 §2.2 demands of every input schema.
    if root.get("type") != "object":
        message, fix = "The input schema is not of `type: object`.", 'Set `"type": "object"`.'
        yield make_finding("input/type-object", "", message, fix)
    if "properties" not in root:
        yield make_finding("input/properties", "", "The input schema lists no `properties`.", "List every parameter.")
    if properties and "required" not in root:
        names = ", ".join(f'"{name}"' for name, field in properties.items() if "default" not in as_mapping(field))
        fix = f'Add `"required": [{names}]`, less what may be left out.'
        yield make_finding("input/required", "", "The input schema does not say what is `required`.", fix)
    if root.get("additionalProperties") is not False and root.get("unevaluatedProperties") is not False:
        message = "The input schema takes parameters that it does not list."
        yield make_finding("input/open", "", message, 'Set `"additionalProperties": false`.')
    if properties and "required" in root and not as_texts(root["required"]):
        message = "Every parameter is optional."
        yield make_finding("input/all-optional", "/required", message, "Require what the agent cannot do without.")
    guesses = iter(range(_MAX_GUESSES))
    for path, part in subschemas(root):
        yield from _check_part(part, path, guesses)
    for field in fields_of(root):
        is_new = field.path == f"/properties/{field.name}" and field.name in new
        yield from _check_field(field, root, exempt=is_new)


def _check_part(part: JsonMapping, path: str, guesses: Iterator[int]) -> Iterator[Finding]:
    """Rules for any schema, wherever it stands."""
    for word in part:
        if word in _KEYWORDS or word.startswith(("x-", "$")) or len(word) < 4 or next(guesses, None) is None:
            continue
        for near in nearest(word, _KEYWORDS, limit=1):
            message = f"The keyword {short_repr(word)} means nothing in a schema."
            yield make_finding("input/keyword", f"{path}/{word}", message, f"Did you mean `{near}`?")
    properties = as_mapping(part.get("properties"))
    strange = [name for name in as_texts(part.get("required")) if name not in properties]
    for name in strange if properties or part.get("additionalProperties") is False else ():
        near = nearest(name, properties, limit=1) if next(guesses, None) is not None else ()
        fix = f"Did you mean `{near[0]}`?" if near else "Describe it in `properties`, or do not require it."
        message = f"{short_repr(name)} is required, but is not a property."
        yield make_finding("input/required-unknown", f"{path}/required", message, fix)
    if path and properties and not any(word in part for word in ("additionalProperties", "unevaluatedProperties")):
        message = "The object takes members that it does not list."
        yield make_finding("input/open-inside", path, message, 'Set `"additionalProperties": false`.')
    if "array" in as_texts(part.get("type")) and "prefixItems" not in part and part.get("items", True) in ({}, True):
        yield make_finding("input/loose", path, "The list may hold anything.", "Say in `items` what it holds.")


def _check_field(field: SchemaField, root: JsonMapping, *, exempt: bool) -> Iterator[Finding]:
    """Rules for one field: how it is described, and what happens when it is left out."""
    text, schema = field.description, field.schema
    if not text.strip():
        message = f"`{field.name}` has no description."
        yield make_finding("input/description", field.path, message, "Say what to put there: it is the prompt.")
    elif not _new_words(text[:_MAX_LENGTH], field.name):
        message = f"The description of `{field.name}` only repeats its name."
        yield make_finding("input/description-name", field.path, message, "Say what a good value looks like.")
    yield from _check_deprecation(text, marked=schema.get("deprecated") is True, path=field.path)
    yield from _check_stated_values(field, root)
    is_open = not field.required and "default" not in schema
    if is_open and _matches(_DEFAULT, text):
        message = f"The default of `{field.name}` is in its description only."
        fix = "Set `default`; it is then filled in and shown."
        yield make_finding("input/default-in-words", field.path, message, fix)
    elif is_open and not exempt and schema.get("deprecated") is not True:
        message = f"`{field.name}` is optional and has no default."
        yield make_finding("input/optional", field.path, message, "Require it, or give it a `default`.")
    yield from _check_values(field)


def _check_values(field: SchemaField) -> Iterator[Finding]:
    """Rules for what a field takes."""
    schema = field.schema
    kinds = as_texts(schema.get("type"))
    is_untyped = not _SAYS_WHAT & schema.keys()
    is_shapeless = {*kinds} - {"null"} == {"object"} and not {
        "properties",
        "additionalProperties",
        "patternProperties",
    } & schema.keys()
    if is_untyped or is_shapeless:
        message = f"`{field.name}` takes {'anything' if is_untyped else 'any object'}."
        yield make_finding("input/loose", field.path, message, "Say what it holds: `type`, `properties`, `enum`, …")
    inside = as_mapping(schema.get("items")) if "array" in kinds else schema
    fixed = {"enum", "const", "pattern", "format", "$ref", "anyOf", "oneOf"} & inside.keys()
    if "string" in as_texts(inside.get("type")) and not fixed and lists_choices(field.description):
        message = f"The choices for `{field.name}` are in its description only."
        yield make_finding("input/choices-in-words", field.path, message, "List them in `enum`.")
    for kind, words in _BOUNDS.items():
        if kind in kinds and not {"enum", "const", *words} & schema.keys():
            message = f"`{field.name}` is a {'text' if kind == 'string' else 'number'} without bounds."
            fix = f"Set {' or '.join(f'`{one}`' for one in words[:2])}."
            yield make_finding("input/constraint", field.path, message, fix)


def _check_stated_values(field: SchemaField, root: JsonMapping) -> Iterator[Finding]:
    """The default and the examples must pass what they stand in for."""
    examples: object = field.stated.get("examples")
    values = [("default", "default", field.stated["default"])] if "default" in field.stated else []
    if isinstance(examples, list):
        values += [("example", f"examples/{at}", value) for at, value in enumerate(cast("list[object]", examples))]
    if not values:
        return
    shared = {word: root[word] for word in ("$schema", "$defs", "definitions") if word in root}
    try:
        validator = schemas.compile({**shared, **field.stated})
    except InvalidDefinition:
        return  # the schema itself is reported, or it refers to a place that only the whole has
    for what, place, value in values:
        for violation in validator.findings(value):
            message = f"The {what} of `{field.name}` does not pass its own schema: {violation.message}"
            yield make_finding(f"input/{what}", f"{field.path}/{place}{violation.path}", message, violation.fix)


_MAX_LENGTH = 10_000

_WHEN = re.compile(
    r"\b(?:used? (?:it |this (?:agent |tool |skill |command )?)?(?:[a-z]+ly |also |as |only |always )?"
    r"(?:when|whenever|for|to|if|after|before|during|while|at|on|in)|use proactively|whenever|"
    r"when (?:[a-z]+ing|a|an|the|you|users?|callers?|somebody|asked|there|it)\b|call (?:it|this|when)|"
    r"invoke|runs (?:for|when|if|after|before|on)|"
    r"ask (?:for|it)|triggers?|triggered|(?:best|suited|intended|meant|useful|good) (?:for|when|if|to))\b",
    re.IGNORECASE,
)
_RETURNS = re.compile(
    r"\b(?:returns?|returning|outputs?|produces?|yields?|gives?|answers?|responds?|reports?|emits?|delivers?|"
    r"the (?:result|answer|output)s? (?:is|are|has|have|contains?|holds?|lists?))\b",
    re.IGNORECASE,
)
_MAKES = re.compile(r"\b(?:generates?|creates?|drafts?|writes?|provides?|ends? with)\b", re.IGNORECASE)
"""What says what is done and, in doing so, what there is afterwards."""
_DEFAULT = re.compile(r"\bdefaults?(?: value)?(?:\s*[:=]|\s+(?:is|to|are)\b)|\bby default\b", re.IGNORECASE)
_DEPRECATED = re.compile(r"\bdeprecated\s*[:=]\s*true\b", re.IGNORECASE)
_QUOTED = r"(?:'[\w-]+'|\"[\w-]+\"|`[\w-]+`)"
_MARKED = r"[a-z]+(?:_[a-z0-9]+)+"
_FURTHER = r"(?:, \w+){0,20}"
_CHOICES = re.compile(
    rf"\b(?:{_MARKED}{_FURTHER},? or \w+|\w+{_FURTHER}, {_MARKED},? or \w+)\b|"
    r"\b(?:one of|allowed values|valid values|choose (?:from|between))\b|"
    rf"{_QUOTED}(?:\s*(?:,|/|\||\bor\b|,\s*or\b)\s*{_QUOTED})+|(?<![|\w])\w+(?:\|\w+)+(?![|\w])",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"\b(?:e\.g\.|for example|for instance|such as|examples?\b|like)", re.IGNORECASE)
_SMALL = frozenset(
    {"a", "an", "and", "agent", "for", "in", "is", "it", "of", "or", "the", "this", "to", "value", "with"}
)
_OCCASION = frozenset(
    {"any", "asked", "are", "asks", "command", "need", "needed", "needs", "proactively", "request", "requests", "skill",
     "somebody", "someone", "that", "tool", "use", "used", "user", "users", "want", "wants", "when", "whenever", "you"}
)  # fmt: skip
"""Words that say when an agent is used, and nothing of what it does."""


def says_what(text: str, name: str) -> bool:
    """Say whether `text` tells more about what is done than the name already does.

    It may do so before it speaks of the occasion, or while it does: “Use when translating a contract into Dutch”.
    """
    text = text[:_MAX_LENGTH]
    ends = [match.start() for match in (_WHEN.search(text), _RETURNS.search(text)) if match]
    if len(_new_words(text[: min(ends, default=len(text))], name)) >= 2:
        return True
    sentences = re.split(r"[.!?:](?:\s|$)", text)
    return any(len(_new_words(each, name) - _OCCASION) >= 4 for each in sentences if not _RETURNS.match(each.strip()))


def _matches(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.search(text[:_MAX_LENGTH]) is not None


def lists_choices(text: str) -> bool:
    """Say whether `text` lists the values there are; a list of examples does not count."""
    match = _CHOICES.search(text[:_MAX_LENGTH])
    return match is not None and _EXAMPLE.search(text[: match.start()]) is None


def _new_words(text: str, name: str) -> set[str]:
    words = {fold(word) for word in re.findall(r"\w+", text)}
    return words - set(fold(name).split("_")) - _SMALL - {""}
