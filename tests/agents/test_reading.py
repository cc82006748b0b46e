"""Text answers: strict, with one narrow repair that is always told."""

import pytest
from hypothesis import given, strategies as st

from retinue.agents.boundary.parse_reply import parse_text
from retinue.agents.port import ABSENT, Reply
from retinue.contract import json, schema
from retinue.contract.result import Usage
from retinue.errors import OutputInvalid, ParseError
from tests.agents.scripted import GIVES

WORDS = schema.compile(GIVES)


def read(text: str, **facts: object) -> Reply:
    return parse_text(text, Reply(text=text, **facts), reader=None, validator=WORDS)  # pyright: ignore[reportArgumentType] - facts of a test


def test_strict_json_is_read_without_a_word() -> None:
    reply = read(' {"words": 2}\n')
    assert (reply.data, reply.text, reply.warnings) == ({"words": 2}, None, ())


@pytest.mark.parametrize(
    "text",
    ['```json\n{"words": 2}\n```', 'Here it is: {"words": 2}. Anything else?', '~~~\n{"words": 2}\n~~~'],
)
def test_one_object_is_taken_out_of_what_stands_around_it_and_that_is_told(text: str) -> None:
    reply = read(text)
    assert reply.data == {"words": 2}
    (warning,) = reply.warnings
    assert warning.synthetic
    assert warning.type == "degraded_analysis"
    assert "Stripped" in warning.message
    assert warning.recovery


@pytest.mark.requirement("C17")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"words": 2,}', "trailing_comma"),
        ('{"words": NaN}', "not_a_number"),
        ('{"words": 1, "words": 2}', "duplicate_key"),
        ('{"words": 1} {"words": 2}', "two_objects"),
        ('[{"words": 1}]x', "not_alone"),
        ('{"words": ', "truncated"),
        ("two words", "syntax"),
        ("", "empty"),
    ],
)
def test_nothing_is_guessed_and_the_place_is_told(text: str, reason: str) -> None:
    with pytest.raises(OutputInvalid) as caught:
        read(text)
    assert caught.value.detail["reason"] == reason
    assert caught.value.detail["line"] == 1
    assert "JSON object" in caught.value.hint


def test_a_plain_text_is_data_where_the_schema_takes_one() -> None:
    gives = schema.compile({"type": "string"})
    for text, data in (("two words", "two words"), ('"two"', "two"), ("42", "42")):
        assert parse_text(text, Reply(text=text), reader=None, validator=gives).data == data


def test_without_a_schema_only_containers_are_data() -> None:
    for text, data in (('{"a": 1}', {"a": 1}), ("[1]", [1]), ("42", ABSENT), ("{not json", ABSENT), ("Hello", ABSENT)):
        reply = parse_text(text, Reply(text=text), reader=None, validator=None)
        assert reply.data == data
        assert reply.content == text


def test_a_dialect_reads_the_text_and_what_the_runner_knows_stays() -> None:
    usage = Usage(tokens_in=3)
    reply = parse_text(
        "SIGNAL",
        Reply(text="SIGNAL", usage=usage),
        reader=lambda text: Reply(data={"words": len(text)}),
        validator=WORDS,
    )
    assert (reply.data, reply.usage, reply.text) == ({"words": 6}, usage, None)


@given(st.text() | st.from_regex(r"[ -~]*\{(\"words\": [0-9])?\}[ -~]*", fullmatch=True))
def test_any_text_is_read_or_refused_and_what_was_not_json_alone_is_told(text: str) -> None:
    try:
        reply = read(text)
    except OutputInvalid:
        reply = None
    try:
        data = json.loads(text)
    except ParseError:
        assert reply is None or len(reply.warnings) == 1
    else:
        assert reply is not None
        assert (reply.data, reply.warnings) == (data, ())
