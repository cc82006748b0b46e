"""The rules over definitions: what each finds, what the specification's own samples honestly get, what breaks callers."""

import copy
import re
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract.definition import Definition, Deprecation, Sample, Skill, Source
from retinue.contract.finding import Finding
from retinue.contract.lint import RULES, compare, find_rule, lint
from retinue.contract.model import JsonMapping
from tests.contract.nouns import json_values, values_of
from tests.examples import examples

# The samples of spec 000, section 2.1 and section 7.2, as they stand there.

RESEARCHER: JsonMapping = {
    "name": "researcher_analyst",
    "description": (
        "Research and analyze information from web, docs, and memory. Use when user needs: data collection, fact "
        "verification, literature review, competitive analysis. Returns: structured findings with citations."
    ),
    "input_schema": {
        "type": "object",
        "properties": {
            "task": {
                "type": "string",
                "description": (
                    "The research question or analysis objective. Be specific about what information is needed and why."
                ),
            },
            "sources": {
                "type": "array",
                "items": {"type": "string", "enum": ["web", "docs", "memory", "code"]},
                "description": "Which sources to search. Default: all available.",
            },
            "depth": {
                "type": "string",
                "enum": ["quick_scan", "deep_dive", "comprehensive"],
                "description": "Research rigor level. quick_scan=5 min, deep_dive=15 min, comprehensive=30 min.",
            },
            "output_format": {
                "type": "string",
                "enum": ["summary", "detailed_report", "bullet_points"],
                "description": "How to structure findings. Default: summary.",
            },
        },
        "required": ["task", "depth"],
        "additionalProperties": False,
    },
}

STRICT: JsonMapping = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": "Search query. Use precise keywords, not full sentences.",
            "minLength": 3,
            "maxLength": 200,
        },
        "category": {
            "type": "string",
            "enum": ["technical", "business", "research"],
            "description": "Domain filter. Affects which sources are searched.",
        },
        "max_results": {
            "type": "integer",
            "description": "Maximum documents to return. Default: 5.",
            "minimum": 1,
            "maximum": 20,
            "default": 5,
        },
    },
    "required": ["query", "category"],
    "additionalProperties": False,
}

ANSWER: JsonMapping = {
    "type": "object",
    "properties": {
        "documents": {"type": "array", "items": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}},
        "total": {"type": "integer"},
        "note": {"type": "string", "enum": ["cut", "whole"]},
    },
    "required": ["documents", "total"],
}  # fmt: skip

GOOD = "Search the catalogue by keywords. Use when the words are known. Returns: matching documents."


def without(document: JsonMapping, path: str) -> JsonMapping:
    """A copy of `document` in which one member is gone."""
    return changed(document, path)


def changed(document: JsonMapping, path: str, *value: object) -> JsonMapping:
    """A copy of `document` in which one member is another, or gone when no value is given."""
    result = copy.deepcopy(document)
    *above, last = path.split("/")
    place: Any = result
    for name in above:
        place = place[name]
    if value:
        place[last] = value[0]
    else:
        del place[last]
    return result


def skill(input_schema: JsonMapping = STRICT, output_schema: JsonMapping | None = ANSWER, **others: Any) -> Skill:
    known: dict[str, Any] = {
        "name": "search",
        "description": "Find documents by words.",
        "examples": ("find the price list",),
    }
    return Skill(input_schema=input_schema, output_schema=output_schema, **{**known, **others})


def definition(*skills: Skill, **others: Any) -> Definition:
    known: dict[str, Any] = {"name": "catalogue", "description": GOOD, "skills": skills or (skill(),)}
    return Definition(**{**known, **others})


def brief(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.rule, finding.path) for finding in findings]


def judged(input_schema: JsonMapping) -> list[Finding]:
    """What is found in an agent with one skill that takes this; paths are those in the skill."""
    found = lint(definition(skill(input_schema)))
    return [finding.model_copy(update={"path": finding.path.removeprefix("/skills/0")}) for finding in found]


def field(**keywords: Any) -> list[str]:
    """The rules that an input with one required field of these keywords breaks."""
    described = {"description": "What to look for in the shelves.", **keywords}
    schema = {
        "type": "object",
        "properties": {"query": described},
        "required": ["query"],
        "additionalProperties": False,
    }
    return [finding.rule for finding in judged(schema)]


# The samples of the specification.


@pytest.mark.requirement("A6", "A20", "A21")
def test_the_researcher_of_the_specification_gets_what_it_honestly_deserves() -> None:
    said = {name: RESEARCHER[name] for name in ("name", "description")}
    found = lint(definition(skill(RESEARCHER["input_schema"]), **said))
    assert [(one.severity, one.rule, one.path) for one in found] == [
        ("info", "input/constraint", "/skills/0/input_schema/properties/task"),
        ("warning", "input/default-in-words", "/skills/0/input_schema/properties/sources"),
        ("warning", "input/default-in-words", "/skills/0/input_schema/properties/output_format"),
    ]


@pytest.mark.requirement("A22")
def test_the_strict_schema_of_the_specification_is_clean() -> None:
    assert lint(definition()) == []


# Names.


@pytest.mark.requirement("A28", "C11")
def test_a_name_does_not_state_its_version() -> None:
    found = lint(definition(name="researcher_analyst_v2"))
    assert brief(found) == [("definition/name-version", "/name")]
    assert found[0].fix.startswith("Call it `researcher_analyst`, version 2.0;")


@pytest.mark.requirement("C10")
def test_an_alias_that_says_nothing_new_is_found() -> None:
    found = lint(definition(aliases=("Catalogue", "shelf", "SHELF", "catalogue-search")))
    assert brief(found) == [("definition/alias", "/aliases/0"), ("definition/alias", "/aliases/2")]


@pytest.mark.requirement("C10")
def test_two_skills_of_one_name_collide() -> None:
    one = skill(description="Find many documents by words.")
    assert brief(lint(definition(one, one))) == [("definition/skill-twice", "/skills/1/name")]


# Descriptions.


@pytest.mark.requirement("A6")
@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (GOOD, []),
        (RESEARCHER["description"], []),
        ("Reviews code for defects. Invoke after each change. Gives a list of issues.", []),
        ("Plans a migration step by step whenever the schema moves; the result is a checklist.", []),
        ("", ["description"]),
        (" \n", ["description"]),
        ("Search the catalogue by keywords.", ["description-when", "description-returns"]),
        ("Search the catalogue by keywords. Returns: documents.", ["description-when"]),
        ("Creates unit tests from the code of a module.", ["description-when"]),
        ("Checks the pages in a browser. Only runs for frontend tasks.", ["description-returns"]),
        ("Search the catalogue by keywords. Use when words are known.", ["description-returns"]),
        ("Use when words are known. Returns: documents.", ["description-what"]),
        ("Catalogue search. Use when words are known. Returns: documents.", ["description-what"]),
        ("The catalogue search agent.", ["description-what", "description-when", "description-returns"]),
    ],
)
def test_a_description_says_what_when_and_what_comes_back(text: str, rules: list[str]) -> None:
    found = lint(definition(name="catalogue_search", description=text))
    assert [one.rule for one in found] == [f"definition/{name}" for name in rules]
    assert all(one.path == "/description" for one in found)


def test_each_of_several_skills_says_what_it_does() -> None:
    one, two, three = skill(), skill(name="count", description="Count."), skill(name="weigh", description="")
    assert brief(lint(definition(one, two, three))) == [
        ("definition/description-what", "/skills/1/description"),
        ("definition/description", "/skills/2/description"),
    ]


@pytest.mark.requirement("A27", "C34")
def test_deprecation_is_said_in_both_places() -> None:
    text = f"{GOOD} deprecated: true, use `shelf` instead."
    assert brief(lint(definition(description=text, deprecated=Deprecation(use="shelf")))) == []
    assert brief(lint(definition(description=text))) == [("definition/deprecated", "/description")]
    assert brief(lint(definition(deprecated=Deprecation()))) == [("definition/deprecated", "/description")]
    assert field(type="string", minLength=1, deprecated=True) == ["definition/deprecated"]
    assert field(type="string", minLength=1, description="The old words. deprecated: true") == ["definition/deprecated"]
    assert field(type="string", minLength=1, deprecated=True, description="The old words. Deprecated: true") == []


@pytest.mark.requirement("C7")
def test_what_has_no_meaning_here_is_reported() -> None:
    found = lint(definition(extras={"colour": "red"}))
    assert [(one.severity, one.rule, one.path) for one in found] == [("info", "definition/extras", "/extras/colour")]


# The input schema.


SHAPES: list[tuple[str, tuple[object, ...], str, str]] = [
    ("type", (), "input/type-object", ""),
    ("type", ("array",), "input/type-object", ""),
    ("properties", (), "input/properties", ""),
    ("required", (), "input/required", ""),
    ("additionalProperties", (), "input/open", ""),
    ("additionalProperties", (True,), "input/open", ""),
    ("required", ([],), "input/all-optional", "/required"),
    ("required", (["query", "category", "kategory"],), "input/required-unknown", "/required"),
]


@pytest.mark.requirement("A6")
@pytest.mark.parametrize(("path", "value", "rule_id", "place"), SHAPES)
def test_an_input_schema_has_its_four_parts(path: str, value: tuple[object, ...], rule_id: str, place: str) -> None:
    found = judged(changed(STRICT, path, *value))
    assert (rule_id, f"/input_schema{place}") in brief(found)
    others = {one.rule for one in found} - {rule_id}
    assert others <= {"input/optional", "input/required-unknown", "input/loose"}


@pytest.mark.requirement("A6")
def test_the_fix_lists_what_to_require() -> None:
    found = judged(without(STRICT, "required"))
    assert found[0].fix == 'Add `"required": ["query", "category"]`, less what may be left out.'
    found = judged(changed(STRICT, "required", ["query", "kategory"]))
    assert found[0].fix == "Did you mean `category`?"
    found = judged(changed(STRICT, "required", ["query", "category", "xyzzy"]))
    assert found[0].fix == "Describe it in `properties`, or do not require it."


def test_no_parameters_need_no_list_of_required_ones() -> None:
    empty: JsonMapping = {"type": "object", "properties": {}, "additionalProperties": False}
    assert judged(empty) == []
    assert judged({**without(STRICT, "additionalProperties"), "unevaluatedProperties": False}) == []


@pytest.mark.requirement("A6")
def test_a_broken_schema_is_reported_and_still_judged() -> None:
    found = judged(changed(STRICT, "properties/query/type", "strin"))
    assert brief(found) == [("schema/enum", "/input_schema/properties/query/type")]
    assert brief(judged({"type": "objct"})) == [
        ("schema/enum", "/input_schema/type"),
        ("input/type-object", "/input_schema"),
        ("input/properties", "/input_schema"),
        ("input/open", "/input_schema"),
    ]
    assert brief(judged({"type": {1}})) == [("schema/json", "/input_schema/type")]


@pytest.mark.requirement("A20", "C33")
def test_a_field_is_required_or_has_a_default() -> None:
    optional = changed(STRICT, "required", ["query"])
    assert brief(judged(optional)) == [
        ("input/optional", "/input_schema/properties/category"),
    ]
    assert judged(changed(optional, "properties/category/default", "business")) == []


@pytest.mark.requirement("C33")
def test_a_field_that_came_later_may_be_optional() -> None:
    language = {"type": "string", "maxLength": 5, "description": "Language of the documents, as a code."}
    old, new = definition(), definition(skill(changed(STRICT, "properties/language", language)), version="1.1")
    assert brief(lint(new)) == [("input/optional", "/skills/0/input_schema/properties/language")]
    assert lint(new, previous=old) == []
    assert compare(old, new) == []
    assert brief(lint(new, previous=definition(skill(name="other")))) == brief(lint(new))


@pytest.mark.requirement("A20", "A21")
@pytest.mark.parametrize(
    ("keywords", "rules"),
    [
        ({"type": "string", "minLength": 1}, []),
        ({"type": "string", "pattern": "^a"}, []),
        ({"type": "string", "const": "a"}, []),
        ({"type": "string"}, ["input/constraint"]),
        ({"type": "integer"}, ["input/constraint"]),
        ({"type": "number", "maximum": 5}, []),
        ({"type": ["string", "null"]}, ["input/constraint"]),
        ({"type": "boolean"}, []),
        ({"type": "string", "minLength": 1, "description": ""}, ["input/description"]),
        ({"type": "string", "minLength": 1, "description": 5}, ["schema/type", "input/description"]),
        ({"type": "string", "minLength": 1, "description": "The query."}, ["input/description-name"]),
        ({}, ["input/loose"]),
        ({"title": "Query"}, ["input/loose"]),
        ({"type": "object"}, ["input/loose"]),
        ({"type": ["object", "null"]}, ["input/loose"]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, []),
        ({"type": "object", "properties": {}, "additionalProperties": False}, []),
        ({"type": "array"}, ["input/loose"]),
        ({"type": "array", "items": {}}, ["input/loose"]),
        ({"type": "array", "items": True}, ["input/loose"]),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, []),
        ({"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}, []),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["input/constraint"]),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, []),
        ({"enum": ["a", "b"], "description": "One of a, b."}, []),
        ({"type": "string", "minLength": 1, "description": "One of red, green."}, ["input/choices-in-words"]),
        (
            {"type": "string", "minLength": 1, "description": "Colour: 'red', 'green' or 'blue'."},
            ["input/choices-in-words"],
        ),
        ({"type": "string", "minLength": 1, "description": "Colour, red|green|blue."}, ["input/choices-in-words"]),
        (
            {"type": "string", "minLength": 1, "description": "How deep: quick_scan, deep_dive or comprehensive."},
            ["input/choices-in-words"],
        ),
        ({"type": "string", "minLength": 1, "description": "Words, numbers or dates as the user said them."}, []),
        ({"type": "string", "minLength": 1, "description": "Colour, e.g. 'red' or 'green'."}, []),
        ({"type": "string", "minLength": 1, "description": "A path or an address."}, []),
        (
            {"type": "array", "items": {"type": "string"}, "description": "Any of `red`, `green`."},
            ["input/choices-in-words"],
        ),
        ({"type": "array", "items": {"type": "string", "enum": ["red"]}, "description": "Any of `red`, `green`."}, []),
        ({"type": "string", "minLength": 1, "default": "x"}, []),
        ({"type": "string", "minLength": 3, "default": "x"}, ["input/default"]),
        ({"type": "string", "minLenght": 3}, ["input/keyword", "input/constraint"]),
        ({"type": "string", "minLength": 3, "x-minLenght": 3, "color": 1}, []),
    ],
)
def test_a_field_says_what_it_takes(keywords: JsonMapping, rules: list[str]) -> None:
    assert field(**keywords) == rules


@pytest.mark.requirement("A21")
@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("How many there are. Default: 5.", ["input/default-in-words"]),
        ("How many there are, 5 by default.", ["input/default-in-words"]),
        ("How many there are (defaults to 5).", ["input/default-in-words"]),
        ("How many there are.", ["input/optional"]),
    ],
)
def test_a_default_in_words_fills_nothing_in(text: str, rules: list[str]) -> None:
    schema = changed(STRICT, "properties/max_results", {"type": "integer", "minimum": 1, "description": text})
    assert [one.rule for one in judged(schema)] == rules


@pytest.mark.requirement("A20")
def test_objects_inside_are_closed_too_and_their_fields_described() -> None:
    inside = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 80}}, "required": ["city"]}
    where = {"type": "array", "items": {"$ref": "#/$defs/place"}, "description": "Places to search in, nearest first."}
    schema = changed({**STRICT, "$defs": {"place": inside}}, "properties/where", where)
    schema["required"] = ["query", "category", "where"]
    assert brief(judged(schema)) == [
        ("input/open-inside", "/input_schema/$defs/place"),
        ("input/description", "/input_schema/$defs/place/properties/city"),
    ]


def test_a_field_is_described_by_what_it_refers_to() -> None:
    shared = {"type": "string", "enum": ["a"], "description": "Which shelf to look at first."}
    for stated in ({"$ref": "#/$defs/shelf"}, {"allOf": [{"$ref": "#/$defs/shelf"}]}):
        schema = changed({**STRICT, "$defs": {"shelf": shared}}, "properties/category", stated)
        assert judged(schema) == []
    circle = changed({**STRICT, "$defs": {"a": {"$ref": "#/$defs/a"}}}, "properties/category", {"$ref": "#/$defs/a"})
    assert "schema/circle" in {one.rule for one in judged(circle)}


def test_a_default_of_a_schema_that_refers_is_checked() -> None:
    schema = {**STRICT, "$defs": {"small": {"type": "integer", "maximum": 3}}}
    described = {"$ref": "#/$defs/small", "default": 5, "description": "How many there are."}
    found = judged(changed(schema, "properties/max_results", described))
    assert brief(found) == [("input/default", "/input_schema/properties/max_results/default")]
    lost = {"$ref": "#/properties/query", "default": 5, "description": "How many there are."}
    assert judged(changed(schema, "properties/max_results", lost)) == []


# Skills.


@pytest.mark.requirement("C45")
def test_the_fields_for_instruction_and_target_are_there_and_take_text() -> None:
    good = skill(instruction_field="query", target_field="category")
    assert lint(definition(good)) == []
    found = lint(definition(skill(instruction_field="qurey", target_field="max_results")))
    assert [(one.rule, one.path, one.fix) for one in found] == [
        ("skill/field", "/skills/0/instruction_field", "Did you mean `query`?"),
        ("skill/field", "/skills/0/target_field", "Name a parameter of `type: string`."),
    ]
    assert lint(definition(skill(target_field="xyzzy")))[0].fix == "Name one of its `properties`."


@pytest.mark.requirement("C45")
def test_the_defaults_of_a_skill_pass_its_schema() -> None:
    assert lint(definition(skill(defaults={"category": "business"}))) == []
    found = lint(definition(skill(defaults={"category": "pleasure", "limit": 1})))
    assert brief(found) == [
        ("skill/default", "/skills/0/defaults/category"),
        ("skill/default", "/skills/0/defaults/limit"),
    ]


@pytest.mark.requirement("A22")
def test_samples_pass_the_schemas() -> None:
    fine = Sample(parameters={"query": "prices", "category": "business"}, answer={"documents": [], "total": 0})
    wrong = Sample(parameters={"query": "pr", "category": "reddit"}, answer={"documents": [{}], "total": True})
    found = lint(definition(skill(samples=(fine, Sample(title="empty"), wrong))))
    assert brief(found) == [
        ("skill/sample", "/skills/0/samples/2/parameters/category"),
        ("skill/sample", "/skills/0/samples/2/parameters/query"),
        ("skill/sample", "/skills/0/samples/2/answer/documents/0"),
        ("skill/sample", "/skills/0/samples/2/answer/total"),
    ]
    assert found[1].message == "The sample does not pass: 'pr' has 2 characters, fewer than 3."
    assert lint(definition(skill(output_schema=None, samples=(fine,))))[0].rule == "skill/output"


def test_a_skill_can_be_checked_and_found() -> None:
    found = lint(definition(skill(output_schema=None, examples=())))
    assert [(one.severity, one.rule, one.path) for one in found] == [
        ("info", "skill/output", "/skills/0"),
        ("info", "skill/examples", "/skills/0"),
    ]
    assert lint(definition(skill(examples=(), unavailable="needs the tickets"))) == []
    broken = lint(definition(skill(output_schema={"type": "objct"}, samples=(Sample(answer={}),))))
    assert brief(broken) == [("schema/enum", "/skills/0/output_schema/type")]


def test_a_finding_names_the_file() -> None:
    found = lint(definition(name="catalogue_v2", source=Source(file="agents/catalogue.json", line=3)))
    assert [one.file for one in found] == ["agents/catalogue.json"]


# Two versions.


def breaks(old: JsonMapping, new: JsonMapping, **versions: str) -> list[tuple[str, str, str]]:
    """What comparing two input schemas finds."""
    later = definition(skill(new), version=versions.get("version", "1.1"))
    return [
        (one.severity, one.rule.removeprefix("compatibility/"), one.path.removeprefix("/skills/0/input_schema"))
        for one in compare(definition(skill(old)), later)
    ]


@pytest.mark.requirement("A27", "C33")
@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("properties/max_results", (), [("error", "field-removed", "/properties/max_results")]),
        ("required", (["query", "category", "max_results"],), [("error", "field-required", "/required")]),
        ("required", (["query"],), []),
        ("properties/category/enum", (["technical"],), [("error", "narrowed", "/properties/category/enum")]),
        ("properties/category/enum", (["technical", "business", "research", "art"],), []),
        ("properties/category/enum", (), []),
        ("properties/category", ({"type": "string", "const": "art"},), [("error", "narrowed", "/properties/category/enum")]),
        ("properties/query/enum", (["a"],), [("error", "narrowed", "/properties/query/enum")]),
        ("properties/query/type", ("integer",), [("error", "narrowed", "/properties/query/type")]),
        ("properties/query/type", (["string", "null"],), []),
        ("properties/query/type", (), []),
        ("properties/max_results/type", ("number",), []),
        ("properties/query/minLength", (4,), [("error", "narrowed", "/properties/query/minLength")]),
        ("properties/query/minLength", (0,), []),
        ("properties/query/maxLength", (100,), [("error", "narrowed", "/properties/query/maxLength")]),
        ("properties/query/maxLength", (), []),
        ("properties/category/maxLength", (3,), [("error", "narrowed", "/properties/category/maxLength")]),
        ("properties/category/minLength", (0,), []),
        ("properties/query/pattern", ("^a",), [("error", "narrowed", "/properties/query/pattern")]),
        ("properties/query/uniqueItems", (True,), [("error", "narrowed", "/properties/query/uniqueItems")]),
        ("properties/query/if", ({"minLength": 4},), [("warning", "undecided", "/properties/query/if")]),
        ("properties/query", ({"anyOf": [STRICT["properties"]["query"], {"type": "null"}]},), []),
        ("properties/query", ({"oneOf": [{"type": "string"}, {"type": "integer"}]},), [("warning", "undecided", "/properties/query/oneOf")]),
        ("properties/query/description", ("Other words.",), []),
        ("properties/extra", ({"type": "string"},), []),
        ("additionalProperties", (True,), []),
    ],
)  # fmt: skip
def test_what_was_sent_must_still_be_taken(path: str, value: tuple[object, ...], expected: list[Any]) -> None:
    assert breaks(STRICT, changed(STRICT, path, *value)) == expected


@pytest.mark.requirement("A27", "C33")
def test_a_new_field_is_optional() -> None:
    new = changed(changed(STRICT, "properties/extra", {"type": "string"}), "required", ["query", "category", "extra"])
    assert breaks(STRICT, new) == [("error", "field-required", "/required")]
    open_ = without(STRICT, "additionalProperties")
    assert breaks(open_, STRICT) == [("error", "narrowed", "/additionalProperties")]


def test_changes_are_found_below_references_and_in_lists() -> None:
    old = {
        **STRICT,
        "$defs": {
            "place": {"type": "object", "properties": {"city": {"type": "string"}, "near": {"$ref": "#/$defs/place"}}}
        },
    }
    old = changed(old, "properties/where", {"type": "array", "items": {"$ref": "#/$defs/place"}})
    new = without(old, "$defs/place/properties/city")
    assert breaks(old, new) == [("error", "field-removed", "/properties/where/items/properties/city")]
    patterned = changed(changed(old, "properties/query/pattern", "^a"), "properties/query/pattern", "^b")
    assert breaks(changed(old, "properties/query/pattern", "^a"), patterned) == [
        ("warning", "undecided", "/properties/query/pattern")
    ]


def test_comparing_goes_no_deeper_than_anybody_reads() -> None:
    old: JsonMapping = {"minLength": 1}
    new: JsonMapping = {"minLength": 2}
    for _ in range(70):
        old, new = {"items": old}, {"items": new}
    assert breaks(old, new) == []


def test_true_is_not_one() -> None:
    old = changed(STRICT, "properties/category", {"enum": [1, 2]})
    assert breaks(old, changed(old, "properties/category/enum", [True, 2])) == [
        ("error", "narrowed", "/properties/category/enum")
    ]


@pytest.mark.requirement("A27")
@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("properties/note", (), [("error", "answer-removed", "/properties/note")]),
        ("required", (["documents"],), [("error", "answer-removed", "/required")]),
        ("required", (["documents", "total", "note"],), []),
        ("properties/more", ({"type": "string"},), []),
        ("properties/total/type", ("string",), [("error", "answer-widened", "/properties/total/type")]),
        ("properties/total/type", (["integer", "null"],), [("error", "answer-widened", "/properties/total/type")]),
        ("properties/note/enum", (["cut", "whole", "lost"],), [("warning", "answer-widened", "/properties/note/enum")]),
        ("properties/note/enum", (["cut"],), []),
        ("properties/total/minimum", (0,), []),
        (
            "properties/documents/items/properties/title",
            (),
            [("error", "answer-removed", "/properties/documents/items/properties/title")],
        ),
    ],
)
def test_what_an_answer_promised_stays_promised(path: str, value: tuple[object, ...], expected: list[Any]) -> None:
    new = definition(skill(output_schema=changed(ANSWER, path, *value)), version="1.1")
    found = compare(definition(), new)
    prefix = "/skills/0/output_schema"
    assert [
        (one.severity, one.rule.removeprefix("compatibility/"), one.path.removeprefix(prefix)) for one in found
    ] == expected


def test_an_output_schema_may_come_and_not_go() -> None:
    assert compare(definition(skill(output_schema=None)), definition(version="1.1")) == []
    gone = compare(definition(), definition(skill(output_schema=None), version="1.1"))
    assert brief(gone) == [("compatibility/answer-removed", "/skills/0/output_schema")]


@pytest.mark.requirement("A27", "A28")
def test_a_skill_stays_and_more_may_come() -> None:
    one, two = skill(), skill(name="count")
    assert compare(definition(one), definition(two, one, version="1.1")) == []
    found = compare(definition(one, two), definition(one, version="1.1"))
    assert [(one.severity, *pair) for one, pair in zip(found, brief(found), strict=True)] == [
        ("error", "compatibility/skill-removed", "/skills/1")
    ]


@pytest.mark.requirement("A28", "C11")
def test_a_new_major_version_may_break() -> None:
    new = changed(STRICT, "properties/category/enum", ["technical"])
    assert breaks(STRICT, new, version="2.0") == [("info", "narrowed", "/properties/category/enum")]


@pytest.mark.requirement("A28", "C11")
def test_versions_go_up() -> None:
    assert brief(compare(definition(version="1.2"), definition(version="1.1.9"))) == [
        ("compatibility/version", "/version")
    ]
    assert compare(definition(version="1.2"), definition(version="1.2.0")) == []
    same = compare(definition(), definition(skill(), skill(name="count")))
    assert [(one.severity, one.rule, one.fix) for one in same] == [
        ("warning", "compatibility/version", "Raise it to 1.1, or to 2.0 if callers must change.")
    ]


@pytest.mark.requirement("A28", "C10")
def test_names_that_callers_use_stay() -> None:
    old = definition(aliases=("shelf", "books"), wire_names={"markdown_json": "cat-alogue"})
    found = compare(old, definition(aliases=("Books",), version="1.1"))
    assert [(one.rule, one.message) for one in found] == [
        ("compatibility/name-removed", "No agent is called 'shelf' any more."),
        ("compatibility/name-removed", "No agent is called 'cat-alogue' any more."),
    ]
    assert brief(compare(definition(), definition(name="other"))) == [("compatibility/subject", "/name")]
    assert compare(definition(), definition(name="other", aliases=("catalogue",), version="1.1")) == []


def test_a_new_effect_is_noticed() -> None:
    found = compare(definition(skill(effects=("read",))), definition(skill(effects=("read", "write")), version="1.1"))
    assert brief(found) == [("compatibility/effects", "/skills/0/effects")]


# The table.


def test_rules_have_stable_ids_and_say_why() -> None:
    for key, one in RULES.items():
        assert key == one.id
        assert re.fullmatch(r"[a-z_]+(?:/[a-z]+(?:-[a-z]+)*)?", key)
        assert one.title.endswith(".")
        assert one.why.endswith((".", "”"))
        assert all(re.fullmatch(r"[A-Z][0-9]+", row) for row in one.rows)


def test_a_finding_leads_to_its_rule() -> None:
    assert find_rule("input/open") is RULES["input/open"]
    assert find_rule("schema/required") is RULES["schema"]
    assert find_rule("no/such") is None


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "type",
                "properties",
                "required",
                "items",
                "$ref",
                "$defs",
                "allOf",
                "anyOf",
                "default",
                "enum",
                "description",
                "additionalProperties",
            ]
        ),
        st.recursive(
            json_values | st.sampled_from(["object", "#/$defs/a", "a"]),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(st.sampled_from(["a", "type", "properties", "$ref"]), inner, max_size=3)
            ),
            max_leaves=6,
        ),
        max_size=5,
    )
)
def test_whatever_calls_itself_an_input_schema_is_judged(schema: JsonMapping) -> None:
    for finding in judged(schema):
        assert find_rule(finding.rule)
    assert compare(definition(skill(schema)), definition(skill(schema))) == []
    assert isinstance(compare(definition(), definition(skill(schema), version="1.1")), list)


@settings(max_examples=examples(25))
@given(values_of(Definition))
def test_any_definition_can_be_judged_and_is_compatible_with_itself(subject: Definition) -> None:
    assert all(find_rule(finding.rule) for finding in lint(subject))
    assert compare(subject, subject) == []
