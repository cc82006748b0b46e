"""The door to JSON Schema: every finding, the four guards, and defaults."""

import copy
import enum
import math
from collections import OrderedDict
from typing import Any, NamedTuple, cast

import jsonschema_rs
import pytest
from hypothesis import example, given, settings, strategies as st

from retinue.contract import schema
from retinue.contract.finding import Finding
from retinue.contract.json import MAX_NODES, measure, to_plain_json
from retinue.contract.model import JsonMapping
from retinue.contract.schema import _validator as inside  # pyright: ignore[reportPrivateUsage] - its guards one by one
from retinue.contract.schema._graph import SchemaGraph
from retinue.contract.schema._validator import CheckCosts
from retinue.errors import InvalidDefinition
from tests.contract.nouns import json_values
from tests.examples import examples

RESEARCHER: JsonMapping = {
    "type": "object",
    "properties": {
        "task": {"type": "string", "minLength": 10, "description": "What to find out, and why."},
        "sources": {
            "type": "array",
            "items": {"type": "string", "enum": ["web", "docs", "memory", "code"]},
            "uniqueItems": True,
            "default": ["docs"],
        },
        "depth": {"type": "string", "enum": ["quick_scan", "deep_dive", "comprehensive"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
    },
    "required": ["task", "depth"],
    "additionalProperties": False,
}


def said(value: object, **keywords: Any) -> list[tuple[str, str, str, str]]:
    """Rule, path, message and fix of every finding; keywords are the schema's, `_` standing for `$`."""
    wanted = {
        name.replace("_", "$", 1) if name.startswith("_") else name.rstrip("_"): keywords[name] for name in keywords
    }
    return [(one.rule, one.path, one.message, one.fix) for one in schema.compile(wanted).findings(value)]


def broken(definition: object) -> list[tuple[str, str]]:
    """Rule and path of what is wrong with a schema; `compile` must say the same."""
    found = schema.check_schema(definition)
    if found:
        with pytest.raises(InvalidDefinition) as caught:
            schema.compile(definition)  # pyright: ignore[reportArgumentType] - that it is none is the point
        assert caught.value.detail["findings"] == [one.to_json() for one in found]
        assert (caught.value.path, caught.value.hint) == (found[0].path, found[0].fix)
    return [(one.rule, one.path) for one in found]


def nested(levels: int, leaf: object = 1) -> object:
    value = leaf
    for _ in range(levels):
        value = [value]
    return value


# Findings.


@pytest.mark.requirement("A5", "C7", "A22")
def test_every_finding_is_reported_with_its_place_and_its_fix() -> None:
    found = said(
        {"tsak": "Find it", "sources": ["reddit", "web", "web"], "depth": "deep-dive", "limit": "5"}, **RESEARCHER
    )
    assert found == [
        ("schema/required", "", "`task` is missing.", "Rename `tsak` to `task`."),
        (
            "schema/enum",
            "/depth",
            "'deep-dive' is not allowed here.",
            "Did you mean 'deep_dive'? Use one of 'quick_scan', 'deep_dive', 'comprehensive'.",
        ),
        ("schema/type", "/limit", "'5' is a string, not an integer.", "Give an integer, without quotes."),
        ("schema/uniqueItems", "/sources", "The list holds an item twice.", "Name each item once."),
        ("schema/enum", "/sources/0", "'reddit' is not allowed here.", "Use one of 'web', 'docs', 'memory', 'code'."),
        ("schema/additionalProperties", "/tsak", "Unknown property 'tsak'.", "Did you mean `task`?"),
    ]


def test_what_fits_has_no_findings() -> None:
    validator = schema.compile(RESEARCHER)
    value = {"task": "Find the price list", "depth": "quick_scan", "sources": ("web", "docs")}
    assert validator.findings(value) == validator.findings(value, bounded=True) == []
    assert validator.is_valid(value)
    assert validator.is_valid(value, bounded=True)
    assert not validator.is_valid({})
    assert not validator.is_valid({}, bounded=True)


def test_a_missing_field_is_described_by_its_schema() -> None:
    assert said({"depth": "quick_scan"}, **RESEARCHER) == [
        ("schema/required", "", "`task` is missing.", "Add `task`: What to find out, and why.")
    ]
    assert said({}, required=["a"]) == [("schema/required", "", "`a` is missing.", "Add `a`.")]
    long = said({}, required=["a"], properties={"a": {"description": "word " * 100}})
    assert len(long[0][3]) < 230


def test_an_unknown_field_hears_what_there_is() -> None:
    assert said({"x": 1}, additionalProperties=False) == [
        ("schema/additionalProperties", "/x", "Unknown property 'x'.", "Remove it.")
    ]
    one = said({"x": 1}, properties={"alpha": {}}, additionalProperties=False)
    assert one[0][3] == "Remove it. Available: `alpha`."
    two = said({"x": 1}, properties={"alpha": {}, "beta": {}}, unevaluatedProperties=False)
    assert two[0][0] == "schema/unevaluatedProperties"
    assert two[0][3] == "Remove it. Available: `alpha`, `beta`."
    many = said({"x": 1}, properties={f"alpha{n}": {} for n in range(30)}, additionalProperties=False)
    assert many[0][3].endswith("`alpha19` and 10 more.")


SAYINGS: list[tuple[JsonMapping, object, str, str, str]] = [
    ({"type": "integer"}, True, "type", "`true` is not an integer.", "Give an integer."),
    ({"type": "integer"}, 1.5, "type", "1.5 is not an integer.", "Give an integer."),
    ({"type": "boolean"}, "true", "type", "'true' is a string, not true or false.", "Give true or false, without quotes."),
    ({"type": "string"}, None, "type", "`null` is not a string.", "Give a string."),
    ({"type": ["object", "null"]}, [1], "type", "A list of 1 item is not null or an object.", "Give null or an object."),
    ({"type": "array"}, {"a": 1, "b": 2}, "type", "An object of 2 members is not a list.", "Give a list."),
    ({"const": "a"}, "b", "const", "'b' is not 'a'.", "Use 'a'."),
    ({"enum": [1, None]}, 2, "enum", "2 is not allowed here.", "Use one of 1, None."),
    ({"minimum": 1}, 0, "minimum", "0 is less than 1.", "Use 1 or more."),
    ({"maximum": 1.5}, 2, "maximum", "2 is more than 1.5.", "Use 1.5 or less."),
    ({"exclusiveMinimum": 1}, 1, "exclusiveMinimum", "1 is not more than 1.", "Use more than 1."),
    ({"exclusiveMaximum": 1}, 1, "exclusiveMaximum", "1 is not less than 1.", "Use less than 1."),
    ({"multipleOf": 3}, 4, "multipleOf", "4 is not a multiple of 3.", "Use a multiple of 3."),
    ({"minLength": 3}, "é", "minLength", "'é' has 1 character, fewer than 3.", "Use at least 3 characters."),
    ({"maxLength": 1}, "ab", "maxLength", "'ab' has 2 characters, more than 1.", "Use at most 1 character."),
    ({"minItems": 1}, [], "minItems", "A list of 0 items has 0 items, fewer than 1.", "Give at least 1 item."),
    ({"maxItems": 1}, [1, 2], "maxItems", "A list of 2 items has 2 items, more than 1.", "Give at most 1 item."),
    ({"minProperties": 1}, {}, "minProperties", "An object of 0 members has 0 members, fewer than 1.", "Give at least 1 member."),
    ({"maxProperties": 0}, {"a": 1}, "maxProperties", "An object of 1 member has 1 member, more than 0.", "Give at most 0 members."),
    ({"pattern": "^a+$"}, "b", "pattern", "'b' does not match `^a+$`.", "Write it as the pattern asks."),
    ({"format": "date"}, "soon", "format", "'soon' is not a valid `date`.", "Write it like `2026-01-31`."),
    ({"format": "ipv4"}, "soon", "format", "'soon' is not a valid `ipv4`.", "Write it in the format `ipv4`."),
    ({"contains": {"type": "string"}}, [1], "contains", "The list does not hold as many fitting items as it must.", "See `contains` in the schema."),
    ({"not": {"type": "string"}}, "a", "not", "'a' is what it must not be: {'type': 'string'}.", "Use something else."),
    ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2], "unevaluatedItems", "A list of 2 items has more items than the schema knows.", "Remove the last ones."),
    ({"if": {"type": "string"}, "then": {"minLength": 2}}, "a", "minLength", "'a' has 1 character, fewer than 2.", "Use at least 2 characters."),
    ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "propertyNames", "A name is wrong: 'ab' has 2 characters, more than 1.", "Use at most 1 character."),
]  # fmt: skip


@pytest.mark.requirement("C5")
@pytest.mark.parametrize(("keywords", "value", "rule", "message", "fix"), SAYINGS)
def test_each_keyword_speaks(keywords: JsonMapping, value: object, rule: str, message: str, fix: str) -> None:
    found = schema.compile(keywords).findings(value)
    assert [(one.rule, one.message, one.fix, one.path) for one in found] == [(f"schema/{rule}", message, fix, "")]


def test_a_keyword_without_words_of_ours_has_those_of_the_validator() -> None:
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#", "contentEncoding": "base64"}
    found = schema.compile(draft7).findings("!")
    assert [(one.rule, one.message) for one in found] == [
        ("schema/contentEncoding", 'The value is not compliant with "base64" content encoding.')
    ]


def test_where_nothing_may_stand_nothing_stands() -> None:
    found = said({"a": 1}, properties={"a": False})
    assert found == [("schema/falseSchema", "/a", "1 stands where nothing may stand.", "Remove it.")]


def test_places_are_pointers_and_stand_in_order() -> None:
    found = said(
        {"a/b": {"~": [0] * 11 + ["x"]}, "z": 1},
        additionalProperties={"type": "object", "additionalProperties": {"items": {"type": "string"}}},
    )
    assert [one[1] for one in found[:3]] == ["/a~1b/~0/0", "/a~1b/~0/1", "/a~1b/~0/2"]
    assert [one[1] for one in found[-2:]] == ["/a~1b/~0/10", "/z"]


# Alternatives.

KINDS = {
    "oneOf": [
        {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind"]},
        {"type": "object", "properties": {"kind": {"const": "dog"}, "tricks": {"type": "array"}}, "required": ["kind"]},
        {"type": "null"},
    ]
}  # fmt: skip


def test_the_branch_that_was_meant_speaks() -> None:
    assert said({"kind": "cat", "lives": "nine"}, **KINDS) == [
        ("schema/type", "/lives", "'nine' is a string, not an integer.", "Give an integer, without quotes.")
    ]
    nullable = said({"n": 0}, anyOf=[{"type": "object", "properties": {"n": {"minimum": 1}}}, {"type": "null"}])
    assert [one[0] for one in nullable] == ["schema/minimum"]


def test_when_no_branch_was_meant_all_speak_in_one() -> None:
    assert said({"kind": "cow"}, **KINDS) == [
        (
            "schema/oneOf",
            "",
            "An object of 1 member is none of the 3 alternatives.",
            "Fix one of: 'cow' is not 'cat' (/kind); 'cow' is not 'dog' (/kind).",
        )
    ]
    assert said(1, anyOf=[{"type": "string"}, {"type": ["null", "string"]}]) == [
        ("schema/anyOf", "", "1 is none of the 2 alternatives.", "Give a string or null.")
    ]


def test_more_than_one_branch_is_one_too_many() -> None:
    assert said(5, oneOf=[{"type": "integer"}, {"minimum": 1}, {"maximum": 1}]) == [
        (
            "schema/oneOf",
            "",
            "5 fits 2 of 3 alternatives, and exactly one may fit.",
            "Leave out what belongs to the others.",
        )
    ]


# What is no JSON.


class Word(str):
    __slots__ = ()


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    left: int
    right: int


class Plain(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({1}, "A value of type `set` is not JSON."),
        (b"x", "A value of type `bytes` is not JSON."),
        (object(), "A value of type `object` is not JSON."),
        (Plain.RED, "A value of type `Plain` is not JSON."),
        (math.nan, "`nan` is not a JSON number."),
        (-math.inf, "`-inf` is not a JSON number."),
        (10**400, "An integer has more than 308 digits."),
        ("\ud800", r"The text '\ud800' holds half of a surrogate pair."),
    ],
)
def test_what_is_no_json_is_a_finding(value: object, message: str) -> None:
    anything = schema.compile({})
    assert [(one.rule, one.path, one.message) for one in anything.findings({"a": [0, value]})] == [
        ("schema/json", "/a/1", message)
    ]
    assert not anything.is_valid({"a": [0, value]})


def test_keys_are_strings() -> None:
    found = schema.compile({"type": "object"}).findings({"a": {1: {2}}, "\ud800": 1})
    assert [(one.path, one.message) for one in found] == [
        ("/a", "The key 1 is not a string."),
        ("/a/1", "A value of type `set` is not JSON."),
        ("", r"The text '\ud800' holds half of a surrogate pair."),
    ]


def test_a_promise_that_is_not_kept_does_no_harm() -> None:
    validator = schema.compile({"properties": {"a": {"type": "string"}}})
    assert [one.rule for one in validator.findings({"a": {1}}, bounded=True)] == ["schema/json"]
    assert not validator.is_valid({"a": {1}}, bounded=True)


def test_a_subclass_is_what_it_is_a_kind_of() -> None:
    value = OrderedDict(
        {
            Word("word"): Word("w"),
            "colour": Colour.RED,
            "level": Level.LOW,
            "share": type("F", (float,), {})(0.5),
            "pair": Pair(1, 2),
        }
    )
    exact = {"word": "w", "colour": "red", "level": 1, "share": 0.5, "pair": [1, 2]}
    assert schema.compile({"const": exact}).findings(value) == []
    made, obstacles = to_plain_json(value)
    assert (made, obstacles) == (exact, ())
    pure = cast("dict[object, object]", made)
    assert [type(one) for one in (*pure, *pure.values())] == [str] * 5 + [str, str, int, float, list]


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert [one.message for one in schema.compile({}).findings(loop)] == ["The value contains itself."]
    both: list[object] = [1]
    for _ in range(100):
        both = [both, both]
    assert [one.reason for one in to_plain_json(both, max_nodes=1_000)[1]] == ["size"]


def test_obstacles_come_to_an_end() -> None:
    assert len(schema.compile({}).findings([{1}] * 1_000)) == 50


@given(json_values)
def test_json_data_is_measured_and_copied_as_it_is(value: object) -> None:
    size = measure(value)
    assert size is not None
    assert size.weight >= 1
    assert to_plain_json(value) == (value, ())


# Guards.


@pytest.mark.parametrize(
    "reference", ["http://127.0.0.1:9/x", "file:///etc/passwd", "other.json", "//host/x#/a", "urn:x:y"]
)
def test_nothing_is_fetched(reference: str) -> None:
    assert broken({"properties": {"a": {"$ref": reference}}}) == [("schema/ref", "/properties/a/$ref")]


@pytest.mark.parametrize("levels", [129, 1_000, 200_000])
def test_a_deep_value_is_refused_and_crashes_nothing(levels: int) -> None:
    found = schema.compile({"type": "array"}).findings(nested(levels))
    assert [(one.rule, one.path) for one in found] == [("schema/depth", "/0" * 128)]
    assert schema.compile({"type": "array"}).findings(nested(128)) == []


def test_a_deep_value_that_was_said_to_be_bounded_crashes_nothing() -> None:
    for definition in ({"items": {"items": {"type": "string"}}}, {"items": {"$ref": "#"}}):
        found = schema.compile(definition).findings(nested(200_000), bounded=True)
        assert [one.rule for one in found] == ["schema/depth"]


@pytest.mark.parametrize("levels", [64, 1_000, 200_000])
def test_a_deep_schema_is_refused_and_crashes_nothing(levels: int) -> None:
    deep: JsonMapping = {"type": "string"}
    for _ in range(levels):
        deep = {"items": deep}
    assert [rule for rule, _ in broken(deep)] == ([] if levels == 64 else ["schema/depth"])


def test_a_large_value_is_refused() -> None:
    assert measure([0] * MAX_NODES) is None
    assert measure([0] * (MAX_NODES - 1)) is not None
    assert [one.reason for one in to_plain_json([0] * 20, max_nodes=10)[1]] == ["size"]


def test_a_large_schema_is_refused() -> None:
    assert broken({"enum": list(range(schema.MAX_SCHEMA_NODES))}) == [("schema/size", "")]
    assert broken({"enum": list(range(1_000))}) == []


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?<!a)b", r"(a)\1", "(?:a{1000}){1000}", "(?:(?:a{200}){200}){200}"])
def test_only_patterns_that_run_in_linear_time_are_taken(pattern: str) -> None:
    twice: JsonMapping = {
        "properties": {"a": {"pattern": pattern}, "b": {"items": {"patternProperties": {pattern: {}}}}}
    }
    assert broken(twice) == [
        ("schema/pattern", "/properties/a/pattern"),
        ("schema/patternProperties", "/properties/b/items/patternProperties"),
    ]


def test_no_pattern_is_a_pattern_of_no_regex() -> None:
    assert broken({"properties": {"a": {"pattern": "(a"}}}) == [("schema/format", "/properties/a/pattern")]


def test_a_pattern_that_backtracks_elsewhere_is_quick_here() -> None:
    validator = schema.compile({"pattern": "^(a+)+$"})
    assert not validator.is_valid("a" * 100_000 + "b")


@pytest.mark.requirement("C15")
def test_a_pattern_matches_to_the_end_and_only_ascii_digits() -> None:
    digits = schema.compile({"pattern": r"^\d+$"})
    assert [digits.is_valid(text) for text in ("12", "12\n", "\u0663", "é")] == [True, False, False, False]


def fan(levels: int, keyword: str = "allOf") -> JsonMapping:
    """A schema in which each part applies the next twice to the same value."""
    parts: JsonMapping = {f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**parts, f"a{levels}": {"type": "integer"}}, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_references_that_multiply_are_refused(keyword: str) -> None:
    assert broken(fan(8, keyword)) == []
    for levels in (25, 60, 400):
        assert broken(fan(levels, keyword)) == [("schema/load", "")]


NODE: JsonMapping = {"$ref": "#/$defs/node"}
TREES: list[JsonMapping] = [
    {"properties": {"c": {"allOf": [NODE, NODE]}}},
    {"allOf": [{"properties": {"c": NODE}}, {"properties": {"c": NODE}}]},
    {"anyOf": [{"properties": {"c": NODE}}, {"properties": {"c": NODE}}]},
    {"properties": {"c": NODE}, "patternProperties": {"^c": NODE}},
    {"properties": {"c": NODE}, "unevaluatedProperties": NODE},
    {"properties": {"c": NODE}, "allOf": [{"additionalProperties": NODE}]},
    {"additionalProperties": NODE, "dependentSchemas": {"c": {"additionalProperties": NODE}}},
    {"items": NODE, "contains": NODE},
    {"prefixItems": [NODE], "contains": NODE},
    {"items": NODE, "if": {"prefixItems": [NODE]}},
]


@pytest.mark.parametrize("node", TREES)
def test_recursion_that_multiplies_takes_only_shallow_values(node: JsonMapping) -> None:
    tree = schema.compile({"$defs": {"node": node}, **NODE})
    arrays = "items" in node or "prefixItems" in node

    def value(levels: int) -> object:
        inner: object = {}
        for _ in range(levels):
            inner = [inner] if arrays else {"c": inner}
        return inner

    assert tree.findings(value(5), bounded=True) == []
    for levels in (40, 100):
        assert [one.rule for one in tree.findings(value(levels), bounded=True)] == ["schema/load"]
        assert not tree.is_valid(value(levels), bounded=True)


def test_recursion_that_does_not_multiply_takes_deep_values() -> None:
    node = {
        "type": "object",
        "properties": {side: {"$ref": "#/$defs/node"} for side in ("left", "right")},
        "additionalProperties": False,
    }
    tree = schema.compile({"$defs": {"node": node}, "$ref": "#/$defs/node"})
    value: JsonMapping = {}
    for _ in range(100):
        value = {"left": value, "right": {}}
    assert tree.findings(value) == []
    value["right"]["middle"] = 1
    assert [one.path for one in tree.findings(value)] == ["/right/middle"]


@pytest.mark.parametrize(
    "definition",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"},
        {"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}]}}},
        {"$recursiveRef": "#", "$schema": "https://json-schema.org/draft/2019-09/schema"},
        {"$dynamicAnchor": "x", "anyOf": [{"$dynamicRef": "#x"}]},
        {"dependentSchemas": {"a": {"$ref": "#"}}},
    ],
)
def test_a_circle_that_goes_nowhere_is_refused(definition: JsonMapping) -> None:
    assert [rule for rule, _ in broken(definition)] == ["schema/circle"]


def test_a_chain_of_references_has_an_end() -> None:
    def chain(length: int) -> JsonMapping:
        parts: JsonMapping = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(length)}
        return {"$defs": {**parts, f"a{length}": {"type": "integer"}}, "$ref": "#/$defs/a0"}

    assert broken(chain(500)) == []
    assert {rule for rule, _ in broken(chain(2_000))} == {"schema/circle"}


def test_heavy_work_over_a_large_value_is_refused() -> None:
    parts: JsonMapping = {"items": {"anyOf": [{"$ref": "#/$defs/a"}] * 900}, "$defs": {"a": {"enum": [1, 2, 3]}}}
    assert [one.rule for one in schema.compile(parts).findings([1] * 50_000)] == ["schema/load"]
    assert schema.compile(parts).findings([1] * 1_000) == []


def test_a_large_value_gets_its_first_finding_only() -> None:
    value = {"rows": [["cell"] * 20] * 2_000}
    many = schema.compile({"required": [f"k{n}" for n in range(500)]})
    found = many.findings(value)
    assert [one.rule for one in found] == ["schema/required", "schema/more"]


def test_a_thousand_findings_are_enough() -> None:
    found = schema.compile({"items": {"type": "string"}}).findings([0] * 1_500)
    assert len(found) == 1_001
    assert found[-1].message == "500 more findings."
    found = schema.compile({"items": {"type": "string"}}).findings([0] * 3_000)
    assert len(found) == 1_001
    assert found[-1].message == "2000 more findings."


def test_guesses_are_rationed() -> None:
    known: JsonMapping = {f"name_{n}": {} for n in range(50)}
    found = schema.compile({"properties": known, "additionalProperties": False}).findings(
        {f"nmae_{n}": 1 for n in range(100)}
    )
    assert sum(one.fix.startswith("Did you mean") for one in found) == 25
    assert len(found) == 100


_words = st.sampled_from(["a", "b", "c"])
_leaves = st.fixed_dictionaries(
    {},
    optional={
        "$ref": st.sampled_from(["#/$defs/a", "#/$defs/b", "#/$defs/c"]),
        "type": st.sampled_from(["object", "array", "integer", "string"]),
        "required": st.lists(_words, unique=True, max_size=2),
        "minimum": st.integers(0, 2),
        "enum": st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True),
    },
)


def _around(part: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A schema with one keyword that holds others."""
    two, named = st.lists(part, min_size=1, max_size=2), st.dictionaries(_words, part, min_size=1, max_size=2)
    held = {
        "allOf": two, "anyOf": two, "oneOf": two, "prefixItems": two, "properties": named, "patternProperties": named,
        "not": part, "additionalProperties": part | st.booleans(), "items": part, "contains": part,
    }  # fmt: skip
    one = st.sampled_from(sorted(held)).flatmap(lambda word: held[word].map(lambda inner: {word: inner}))
    return st.tuples(_leaves, one).map(lambda pair: {**pair[0], **pair[1]})


_part = st.recursive(_leaves, _around, max_leaves=5)
_schemas: st.SearchStrategy[JsonMapping] = st.tuples(
    _part, st.fixed_dictionaries({"a": _part, "b": _part, "c": _part})
).map(lambda pair: {**pair[0], "$defs": pair[1]})
_values: st.SearchStrategy[Any] = st.recursive(
    st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=examples(60))
@given(definition=_schemas, value=_values)
def test_the_load_is_never_exceeded_and_the_verdict_is_the_validators(definition: JsonMapping, value: object) -> None:
    graph = SchemaGraph(definition)
    if graph.findings:
        assert schema.check_schema(definition)
        return
    raw = jsonschema_rs.Draft202012Validator(definition)
    size = measure(value)
    assert size is not None
    assert sum(1 for _ in raw.iter_errors(value)) <= size.weight * CheckCosts(graph).at(size.depth)
    validator = schema.compile(definition)
    found = validator.findings(value)
    assert bool(found) is not raw.is_valid(value)
    assert validator.is_valid(value) is validator.is_valid(value, bounded=True) is not found
    assert validator.findings(value, bounded=True) == found


_keywords = st.sampled_from(
    ["type", "properties", "items", "required", "enum", "$ref", "$id", "$anchor", "$schema", "pattern", "minimum",
     "allOf", "not", "dependentRequired", "patternProperties", "format", "default", "$defs", "x"]
)  # fmt: skip
_near_schemas: st.SearchStrategy[Any] = st.recursive(
    json_values
    | st.sampled_from(
        ["object", "string", "#", "#/", "#/x", "#a", "http://x/y", "^a", "(", "date", "%", "#/%7", "#/a/%zz"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keywords, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=examples(150))
@given(definition=st.dictionaries(_keywords, _near_schemas, max_size=5), value=json_values)
@example(definition={"$ref": "#/a", "a": True}, value=1)
@example(definition={"$ref": "#/a", "a": [1]}, value=1)
@example(definition={"$ref": "#/a/1", "a": [{}, {"type": "string"}]}, value=1)
@example(definition={"$ref": "#/a/7", "a": [{}]}, value=1)
@example(definition={"$ref": "#/a/b/c", "a": {"b": 5}}, value=1)
@example(definition={"$ref": "#/a", "a": {"pattern": 5}}, value="x")
@example(definition={"$id": "http://x/y", "$ref": "http://x/y#/a", "a": {"minimum": 3}}, value=1)
def test_whatever_calls_itself_a_schema_is_judged(definition: JsonMapping, value: object) -> None:
    found = schema.check_schema(definition)
    if found:
        with pytest.raises(InvalidDefinition):
            schema.compile(definition)
    else:
        assert isinstance(schema.compile(definition).findings(value), list)


# Broken schemas.


def test_a_broken_schema_says_everything() -> None:
    found = schema.check_schema(
        {"type": "objct", "properties": {"a": {"minLength": -1, "required": True}, "b": {"enum": 5}}}
    )
    assert [(one.rule, one.path, one.fix) for one in found] == [
        ("schema/minimum", "/properties/a/minLength", "Use 0 or more."),
        ("schema/type", "/properties/a/required", "Give a list."),
        ("schema/type", "/properties/b/enum", "Give a list."),
        (
            "schema/enum",
            "/type",
            "Did you mean 'object'? Use one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'.",
        ),
    ]
    with pytest.raises(InvalidDefinition, match=r"-1 is less than 0\. And 3 more\."):
        schema.compile({"type": "objct", "properties": {"a": {"minLength": -1, "required": True}, "b": {"enum": 5}}})


@pytest.mark.parametrize("wrong", [None, 5, "object", [1]])
def test_what_is_no_object_is_no_schema(wrong: object) -> None:
    assert broken(wrong) == [("schema/type", "")]


def test_what_is_no_json_is_no_schema() -> None:
    assert broken({"const": {1}, "properties": {2: {}}}) == [("schema/json", "/const"), ("schema/json", "/properties")]
    assert broken({"minimum": math.nan}) == [("schema/json", "/minimum")]


def test_true_and_false_are_schemas() -> None:
    assert schema.check_schema(True) == schema.check_schema(False) == []
    assert schema.compile(True).is_valid(5)  # pyright: ignore[reportArgumentType] - allowed by the draft
    assert not schema.compile(False).is_valid(5)  # pyright: ignore[reportArgumentType] - allowed by the draft


@pytest.mark.parametrize("stated", schema.DRAFTS)
def test_every_draft_is_known(stated: str) -> None:
    for spelling in (stated, f"{stated}#"):
        validator = schema.compile({"$schema": spelling, "type": "integer"})
        assert validator.is_valid(1)
        assert not validator.is_valid("1")
        assert broken({"$schema": spelling, "type": "intger"}) == [("schema/enum", "/type")]


def test_an_unknown_draft_is_refused() -> None:
    found = schema.check_schema({"$schema": "http://json-schema.org/draft-08/schema#"})
    assert [(one.rule, one.path) for one in found] == [("schema/draft", "/$schema")]
    assert found[0].fix.startswith("Did you mean `http")
    assert schema.check_schema({"$schema": "xyzzy"})[0].fix == "Leave it out; then it is 2020-12."
    assert schema.check_schema({"$schema": 5})[0].fix == "Leave it out; then it is 2020-12."


def test_a_draft_of_its_own_time_is_read_as_it_was_meant() -> None:
    old = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "string"}],
        "additionalItems": {"type": "integer"},
        "dependencies": {"a": ["b"], "c": {"required": ["d"]}},
    }
    validator = schema.compile(old)
    assert validator.is_valid(["a", 1])
    assert [one.path for one in validator.findings([1, "a"])] == ["/0", "/1"]
    assert [one.rule for one in validator.findings({"a": 1, "c": 1})] == ["schema/required", "schema/required"]


@pytest.mark.parametrize(
    "definition",
    [
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer"}}},
        {"$ref": "#/%24defs/a%20b", "$defs": {"a b": {"type": "integer"}}},
        {"$ref": "#whole", "$defs": {"a": {"$anchor": "whole", "type": "integer"}}},
        {"$ref": "#/x-list/1", "x-list": [{}, {"type": "integer"}]},
        {"$ref": "https://x.org/inner", "$defs": {"a": {"$id": "https://x.org/inner", "type": "integer"}}},
        {"$ref": "https://x.org/inner#/$defs/b", "$defs": {"a": {"$id": "https://x.org/inner", "$defs": {"b": {"type": "integer"}}}}},
        {"$id": "https://x.org/whole", "$ref": "https://x.org/whole#/$defs/a", "$defs": {"a": {"type": "integer"}}},
        {"$dynamicRef": "#n", "$defs": {"a": {"$dynamicAnchor": "n", "type": "integer"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "allOf": [{"$ref": "#n"}], "definitions": {"a": {"$id": "#n", "type": "integer"}}},
    ],
)  # fmt: skip
def test_references_inside_are_followed(definition: JsonMapping) -> None:
    validator = schema.compile(definition)
    assert validator.is_valid(1)
    assert not validator.is_valid("1")


def test_a_reference_may_name_true_or_false() -> None:
    assert schema.compile({"$ref": "#/$defs/a", "$defs": {"a": True}}).is_valid(1)
    assert not schema.compile({"$ref": "#/$defs/a", "$defs": {"a": False}}).is_valid(1)


def test_a_schema_may_ask_for_a_schema() -> None:
    validator = schema.compile({"properties": {"answer": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}})
    assert validator.is_valid({"answer": {"type": "string"}})
    assert [one.path for one in validator.findings({"answer": {"type": "strin"}})] == ["/answer/type"]


@pytest.mark.parametrize("reference", ["#/nothing", "#/$defs/a/type", "#nothing", "#/x-list/9", "#/x-list/x"])
def test_a_reference_to_nothing_is_refused(reference: str) -> None:
    definition: JsonMapping = {"items": {"$ref": reference}, "$defs": {"a": {"type": "string"}}, "x-list": [{}]}
    assert broken(definition) == [("schema/ref", "/items/$ref")]


def test_two_parts_of_one_name_are_a_trap() -> None:
    definition = {"$defs": {"a": {"$id": "https://x.org/a"}, "b": {"$id": "https://x.org/a"}}}
    assert [rule for rule, _ in broken(definition)] == ["schema/ref"]


def test_every_reference_and_every_pattern_is_reported_at_once() -> None:
    definition = {"properties": {"a": {"$ref": "#/x"}, "b": {"$ref": "file:///x"}, "c": {"pattern": "(?=a)"}}}
    assert {path for _, path in broken(definition)} == {
        "/properties/a/$ref", "/properties/b/$ref", "/properties/c/pattern",
    }  # fmt: skip


def test_what_only_the_validator_refuses_is_a_finding() -> None:
    definition = {"properties": {"a": {"$ref": "#/x"}}, "x": {"type": "objct"}}
    assert [rule for rule, _ in broken(definition)] == ["schema/refused"]


def test_even_without_the_graph_nothing_is_fetched() -> None:
    with pytest.raises(ValueError, match="is not present in a registry"):
        inside._build({"$ref": "file:///etc/passwd"})  # pyright: ignore[reportPrivateUsage] - the inner guard


def test_a_refusal_without_a_place_is_a_finding_too(monkeypatch: pytest.MonkeyPatch) -> None:
    schema.check_schema({})  # builds the validator of the meta-schema, which is kept

    def refuse(_: object) -> None:
        raise ValueError("too odd")

    monkeypatch.setattr(inside, "_build", refuse)
    found = schema.check_schema({"title": "odd"})
    assert [(one.rule, one.path, one.message) for one in found] == [
        ("schema/refused", "", "The validator refuses the schema: too odd.")
    ]


def test_an_unknown_field_of_an_embedded_document_has_no_names_to_hear() -> None:
    inner: JsonMapping = {
        "$id": "https://x.org/inner",
        "properties": {"a": {"properties": {"b": {}}, "additionalProperties": False}},
    }
    found = schema.compile({"$ref": "https://x.org/inner", "$defs": {"inner": inner}}).findings({"a": {"c": 1}})
    assert [(one.path, one.fix) for one in found] == [("/a/c", "Remove it.")]


def test_what_is_required_together_weighs_what_it_can_find() -> None:
    names = [f"n{index}" for index in range(50)]
    dependent = {"dependentRequired": {"a": names}}
    assert CheckCosts(SchemaGraph(dependent)).at(0) == 51
    assert len(schema.compile(dependent).findings({"a": 1})) == 50


# Remembering.


def test_a_schema_is_made_ready_once_and_copied() -> None:
    definition: JsonMapping = {"type": "object", "properties": {"once": {"type": "integer"}}}
    first = schema.compile(definition)
    assert schema.compile(copy.deepcopy(definition)) is first
    definition["properties"]["once"]["type"] = "string"
    assert first.findings({"once": 1}) == []
    assert schema.compile(definition) is not first
    assert schema.compile({"const": 1}) is not schema.compile({"const": True})


def test_remembering_has_a_bound() -> None:
    for index in range(600):
        schema.compile({"const": index})
    remembered = inside._cached_validator.cache_info()  # pyright: ignore[reportPrivateUsage] - nothing else can count
    assert remembered.currsize <= 512


# Defaults.


def filled(definition: JsonMapping, value: object) -> tuple[object, list[str]]:
    before = copy.deepcopy(value)
    result = schema.compile(definition).apply_defaults(value)
    assert value == before, "what was given must not change"
    return result


def test_defaults_are_filled_in_and_named() -> None:
    assert filled(RESEARCHER, {"task": "t"}) == (
        {"task": "t", "sources": ["docs"], "limit": 5},
        ["/sources", "/limit"],
    )
    assert filled(RESEARCHER, {"limit": None, "sources": []}) == ({"limit": None, "sources": []}, [])


def test_nothing_to_fill_in_gives_the_same_value_back() -> None:
    value = {"a": [1]}
    assert schema.compile({"properties": {"a": {}}}).apply_defaults(value)[0] is value


NESTED: JsonMapping = {
    "properties": {
        "a/b": {"type": "object", "properties": {"deep": {"default": {"x": [1]}}}},
        "list": {"items": {"$ref": "#/$defs/item"}},
        "pair": {"prefixItems": [{"properties": {"no": {"default": 1}}}]},
        "either": {"anyOf": [{"properties": {"no": {"default": 1}}}]},
        "made": {"default": {}, "properties": {"no": {"default": 1}}},
        "plain": {"type": "string"},
    },
    "allOf": [{"properties": {"late": {"$ref": "#/$defs/late"}, "plain": True}}],
    "$defs": {"item": {"properties": {"n": {"default": 0}}}, "late": {"default": "late"}},
}


def test_defaults_reach_through_what_is_certain_only() -> None:
    value: JsonMapping = {"a/b": {}, "list": [{}, {"n": 5}, 7], "pair": [{}], "either": {}, "plain": "p"}
    assert filled(NESTED, value) == (
        {
            "a/b": {"deep": {"x": [1]}}, "list": [{"n": 0}, {"n": 5}, 7], "pair": [{}], "either": {}, "plain": "p",
            "made": {}, "late": "late",
        },
        ["/a~1b/deep", "/list/0/n", "/made", "/late"],
    )  # fmt: skip


def test_a_default_is_not_shared() -> None:
    first, _ = filled(NESTED, {"a/b": {}})
    cast("JsonMapping", first)["a/b"]["deep"]["x"].append(2)
    assert filled(NESTED, {"a/b": {}})[0] != first


def test_defaults_of_a_recursive_schema_end_with_the_value() -> None:
    tree = {"properties": {"child": {"$ref": "#"}, "size": {"default": 1}}}
    value: JsonMapping = {}
    for _ in range(20):
        value = {"child": value}
    assert len(filled(tree, value)[1]) == 21
    loop: JsonMapping = {}
    loop["child"] = loop
    assert len(schema.compile(tree).apply_defaults(loop)[1]) == 129


def test_what_is_no_object_has_no_members_to_fill() -> None:
    values: list[object] = [5, "a", None, [{}], ({},)]
    assert [filled(RESEARCHER, value) for value in values] == [(value, []) for value in values]


@given(value=st.dictionaries(st.sampled_from(["task", "depth", "limit", "sources"]), json_values))
def test_filling_in_twice_is_filling_in_once(value: JsonMapping) -> None:
    once, applied = filled(RESEARCHER, value)
    assert filled(RESEARCHER, once) == (once, [])
    assert {path[1:] for path in applied} == {"limit", "sources"} - value.keys()


def test_a_finding_is_a_noun() -> None:
    found = schema.compile({"type": "string"}).findings(1)
    assert Finding.model_validate_json(found[0].to_json_text()) == found[0]
