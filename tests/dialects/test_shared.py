"""What dialects share without knowing each other: decoding, mending, telling what a text could be."""

from typing import Annotated, Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract import json
from retinue.dialects.decoding import decode_utf8, find_json, quote_keys, unquote_json
from retinue.dialects.diagnostics import (
    NOT_NULL,
    Diagnostics,
    WireModel,
    drop_nulls,
    parse_answer_object,
    read_numbers,
    validate,
)
from retinue.errors import InvalidInput, OutputInvalid, ParseError


@pytest.mark.parametrize(
    ("data", "place", "wrong"),
    [
        (b"a\nb\xff", {"line": 2, "column": 2, "offset": 3}, "byte 0xff"),
        ("ä".encode() + b"\xc3", {"line": 1, "column": 2, "offset": 1}, "byte 0xc3"),
        ("a".encode("utf-16"), {"line": 1, "column": 1, "offset": 0}, "UTF-16"),
    ],
)
def test_bytes_that_are_no_text_are_refused_with_their_place(data: bytes, place: dict[str, int], wrong: str) -> None:
    with pytest.raises(ParseError, match=wrong) as refused:
        decode_utf8(data)
    assert refused.value.detail == {**place, "reason": "encoding"}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_value_that_was_quoted_reads_back(text: str) -> None:
    assert unquote_json(json.dumps(text)) == text


@pytest.mark.parametrize("text", ["", '"', "a", '"a', '"a" "b"', "[1]", '"\\x"'])
def test_what_is_no_json_string_says_nothing(text: str) -> None:
    assert unquote_json(text) is None


@pytest.mark.requirement("C16")
def test_null_is_taken_for_not_there_where_a_key_may_be_absent() -> None:
    value: Any = {"a/b": None, "c": None, "d": 1}
    notes = Diagnostics("x", "standard")
    drop_nulls(value, {"a/b", "d"}, notes, path="/p")
    assert value == {"c": None, "d": 1}
    assert [(each.rule, each.path, each.fix) for each in notes.findings] == [("x/null", "/p/a~1b", "Leave `a/b` out.")]


def test_a_number_in_a_text_is_read_and_nothing_else_is() -> None:
    value: Any = {"a": "1.5", "b": "true", "c": "x", "d": "[1]", "e": 2, "f": "3"}
    notes = Diagnostics("x", "lenient")
    read_numbers(value, ["a", "b", "c", "d", "e", "gone"], notes)
    assert value == {"a": 1.5, "b": "true", "c": "x", "d": "[1]", "e": 2, "f": "3"}
    assert [each.path for each in notes.findings] == ["/a"]


def test_an_answer_without_an_object_is_refused_as_an_answer() -> None:
    assert parse_answer_object('Here: {"a": 1}', Diagnostics("x", "standard")) == {"a": 1}
    with pytest.raises(OutputInvalid) as refused:
        parse_answer_object("[1]", Diagnostics("x", "standard"))
    assert [each["rule"] for each in refused.value.detail["findings"]] == ["x/text"]


@pytest.mark.parametrize(
    ("text", "value"), [('{"a": 1}', {"a": 1}), ('```json\n{"a": 1}\n```', {"a": 1}), ("[1]", [1]), ("words", None), ("", None)]
)  # fmt: skip
def test_json_is_found_in_its_fence_too(text: str, value: object) -> None:
    assert find_json(text) == value


def test_keys_are_named_as_in_a_sentence() -> None:
    assert [quote_keys(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        '"a"',
        '"a" and "b"',
        '"a", "b" and "c"',
    ]


class Sample(WireModel):
    """A shape with a key that may be absent."""

    key: Annotated[int | None, NOT_NULL] = None


@pytest.mark.requirement("C16")
def test_a_null_that_no_level_bears_is_refused_with_the_way_out() -> None:
    notes = Diagnostics("x", "strict")
    assert validate({}, Sample, notes, refusal=InvalidInput).to_json() == {}
    with pytest.raises(InvalidInput):
        validate({"key": None}, Sample, notes, refusal=InvalidInput)
    assert [(each.path, each.message, each.fix) for each in notes.findings] == [
        ("/key", "null is not allowed here.", "Leave `key` out.")
    ]
