"""Parameters that came as text (C44)."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.agents.boundary.decode_parameters import Decoding, decode_parameters
from retinue.contract import json, schema
from retinue.contract.model import JsonMapping


def takes(**properties: JsonMapping) -> JsonMapping:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def read(said: object, wanted: JsonMapping) -> object:
    value, _ = decode_parameters({"it": said}, takes(it=wanted))
    return value["it"]


COLOURS: JsonMapping = {"enum": ["dark-red", "Blue", "light green"]}


@pytest.mark.requirement("C44")
@pytest.mark.parametrize(
    ("said", "wanted", "value"),
    [
        ("5", {"type": "integer"}, 5),
        (" -7 ", {"type": "integer"}, -7),
        ("2.5", {"type": "number"}, 2.5),
        ("3", {"type": "number"}, 3),
        (".5e1", {"type": "number"}, 5.0),
        ("yes", {"type": "boolean"}, True),
        ("TRUE", {"type": "boolean"}, True),
        ("off", {"type": "boolean"}, False),
        ("", {"type": ["integer", "null"]}, None),
        ("None", {"anyOf": [{"type": "boolean"}, {"type": "null"}]}, None),
        ("a, b", {"type": "array", "items": {"type": "string"}}, ["a", "b"]),
        ("1;2", {"type": "array", "items": {"type": "integer"}}, [1, 2]),
        ("- x\n- y", {"type": "array", "items": {"type": "string"}}, ["x", "y"]),
        ('["a, b", "c"]', {"type": "array", "items": {"type": "string"}}, ["a, b", "c"]),
        ("one", {"type": "array", "items": {"type": "string"}}, ["one"]),
        ('{"Max Size": "3"}', takes(max_size={"type": "integer"}), {"max_size": 3}),
        ("DARK_RED", COLOURS, "dark-red"),
        ("blue", COLOURS, "Blue"),
        ("Light Green", {"type": "string", **COLOURS}, "light green"),
        ("2", {"enum": [1, 2, 3]}, 2),
        ("red, blue", {"type": "array", "items": {"type": "string", "enum": ["RED", "BLUE"]}}, ["RED", "BLUE"]),
    ],
)
def test_a_text_becomes_what_the_schema_asks_for(said: str, wanted: JsonMapping, value: object) -> None:
    found = read(said, wanted)
    assert found == value
    assert type(found) is type(value)
    assert schema.compile(wanted).is_valid(found)


@pytest.mark.requirement("C44")
@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("five", {"type": "integer"}),
        ("5.0", {"type": "integer"}),
        ("\u0665", {"type": "integer"}),
        ("1_000", {"type": "integer"}),
        ("9" * 400, {"type": "integer"}),
        ("1e999", {"type": "number"}),
        ("nan", {"type": "number"}),
        ("maybe", {"type": "boolean"}),
        ("none", {"type": "integer"}),
        ("pink", COLOURS),
        ("4", {"enum": [1, 2, 3]}),
        ('["a"', {"type": "array"}),
        ("[1", {"type": "object"}),
        ("{]", {"type": "object"}),
        ("[]", {"type": "object"}),
        ("light_green", {"enum": ["light-green", "Light Green"]}),
    ],
)
def test_what_has_no_clear_meaning_stays_as_it_was_said(said: str, wanted: JsonMapping) -> None:
    value, decodings = decode_parameters({"it": said}, takes(it=wanted))
    assert value == {"it": said}
    assert decodings == ()


@pytest.mark.parametrize(
    "wanted",
    [{"type": "string"}, {}, {"type": ["string", "integer"]}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}],
)
def test_a_text_stays_a_text_where_one_may_stand(wanted: JsonMapping) -> None:
    assert read("5", wanted) == "5"
    assert read("no", wanted) == "no"


@pytest.mark.requirement("C44")
def test_names_are_folded_and_every_decoding_is_told() -> None:
    wanted = takes(focus_areas={"type": "array", "items": {"type": "string"}}, maxFiles={"type": "integer"})
    value, decodings = decode_parameters({"Focus areas": "a, b", "max-files": "3"}, wanted)
    assert value == {"focus_areas": ["a", "b"], "maxFiles": 3}
    assert [decoding.to_json() for decoding in decodings] == [
        {"path": "/focus_areas", "said": "Focus areas", "value": "focus_areas", "how": "name"},
        {"path": "/maxFiles", "said": "max-files", "value": "maxFiles", "how": "name"},
        {"path": "/focus_areas", "said": "a, b", "value": ["a", "b"], "how": "array"},
        {"path": "/maxFiles", "said": "3", "value": 3, "how": "integer"},
    ]


def test_a_name_that_is_there_already_is_not_overwritten() -> None:
    value, decodings = decode_parameters({"depth": "1", "Depth": "2"}, takes(depth={"type": "integer"}))
    assert value == {"depth": 1, "Depth": "2"}
    assert decodings == (Decoding("/depth", "1", 1, "integer"),)


def test_references_are_followed_and_circles_end() -> None:
    tree: JsonMapping = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"size": {"type": "integer"}, "inner": {"$ref": "#/$defs/node"}},
            },
            "loop": {"$ref": "#/$defs/loop"},
        },
    }
    value, _ = decode_parameters({"Size": "1", "inner": {"size": "2", "inner": '{"size": "3"}'}}, tree)
    assert value == {"size": 1, "inner": {"size": 2, "inner": {"size": 3}}}
    looping: JsonMapping = {**takes(it={"$ref": "#/$defs/loop"}), "$defs": tree["$defs"]}
    assert decode_parameters({"it": "5"}, looping)[0] == {"it": "5"}


def test_texts_inside_lists_are_decoded_too() -> None:
    wanted: JsonMapping = {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}}
    assert read(["1", "yes", 3, "x"], wanted) == [1, True, 3, "x"]


KINDS = st.sampled_from(["integer", "number", "boolean", "null", "string", "array", "object"])
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({}, optional={"type": KINDS | st.lists(KINDS, min_size=1, unique=True)})
    | st.fixed_dictionaries({"enum": st.lists(st.none() | st.booleans() | st.integers() | st.text(), min_size=1)}),
    lambda inner: (
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)})
        | st.fixed_dictionaries({"type": st.just("array"), "items": inner})
        | st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(st.text(), inner)})
    ),
    max_leaves=6,
)
SAID: st.SearchStrategy[Any] = st.recursive(
    st.text() | st.sampled_from(["5", "yes", "a, b", "none", "[1]", '{"a": "1"}']) | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(said=st.dictionaries(st.text(), SAID, max_size=4), properties=st.dictionaries(st.text(), SCHEMAS, max_size=4))
def test_whatever_was_said_is_decoded_without_loss_and_only_once(said: JsonMapping, properties: JsonMapping) -> None:
    value, decodings = decode_parameters(said, {"properties": properties})
    assert len(value) == len(said)
    json.loads(json.dumps(value))
    assert all(
        decoding.original != decoding.value or type(decoding.original) is not type(decoding.value)
        for decoding in decodings
    )
    assert decode_parameters(value, {"properties": properties})[0] == value
