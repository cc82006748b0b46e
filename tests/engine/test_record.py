"""Event bodies as text and back."""

import json
import math
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from retinue.contract.event import (
    KINDS,
    AttemptRetried,
    Body,
    Checkpoint,
    Decision,
    DelegationFinished,
    Message,
    NodeFinished,
    NodeStarted,
    Progress,
    QuestionAnswered,
    QuestionAsked,
    ToolCallEvent,
    TurnsAdded,
    UsageReported,
)
from retinue.contract.result import Cost, Result, Usage
from retinue.contract.task import Answer, Question
from retinue.engine.event_codec import decode, encode, encode_data, head_of, read_data, read_object
from retinue.errors import InvalidInput, ParseError

WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
COUNTS = st.none() | st.integers(0, 1 << 62)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 53), 1 << 53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
RESULTS = st.builds(
    Result,
    task_id=WORDS,
    agent=WORDS,
    outcome=st.sampled_from(["success", "partial", "error", "failed", "canceled", "rejected", None]),
    lifecycle=st.sampled_from(["submitted", "working", "input_required", "ended"]),
    data=JSON,
    content=WORDS,
    reasoning=st.none() | WORDS,
)
BODIES: st.SearchStrategy[Body] = st.one_of(
    st.builds(NodeStarted, WORDS, WORDS, WORDS),
    st.builds(Progress, WORDS, WORDS, COUNTS, COUNTS),
    st.builds(Checkpoint, WORDS, WORDS, COUNTS),
    st.builds(Decision, WORDS, WORDS, st.dictionaries(WORDS, JSON, max_size=3)),
    st.builds(Message, WORDS, WORDS),
    st.builds(ToolCallEvent, WORDS, COUNTS, st.booleans()),
    st.builds(AttemptRetried, WORDS, WORDS, st.floats(0, 1e9)),
    st.builds(
        UsageReported,
        st.builds(Usage, tokens_in=COUNTS, cost=st.none() | st.just(Cost(usd=0.1, price_id="p", price_date="d"))),
    ),
    st.builds(QuestionAsked, st.builds(Question, id=WORDS, text=WORDS, options=st.lists(WORDS, max_size=2).map(tuple))),
    st.builds(QuestionAnswered, st.builds(Answer, question_id=WORDS, value=JSON)),
    st.builds(DelegationFinished, RESULTS),
    st.builds(TurnsAdded, WORDS, COUNTS, st.lists(st.dictionaries(WORDS, JSON, max_size=2), max_size=2)),
    st.builds(NodeFinished, RESULTS),
)


@given(BODIES)
def test_every_body_comes_back_as_it_was(body: Body) -> None:
    text = encode(body)
    json.loads(text)
    assert decode(KINDS[type(body)], text) == body


@given(RESULTS)
def test_the_head_of_a_result_says_what_the_whole_says(result: Result) -> None:
    text = encode(NodeFinished(result))
    assert head_of(text[:80]) == head_of(json.dumps(json.loads(text), indent=1)) == (result.outcome, result.lifecycle)


@given(st.sampled_from([*KINDS.values(), "nonsense"]), st.text(max_size=40) | JSON.map(json.dumps))
def test_any_text_is_a_body_or_a_parse_error(kind: str, text: str) -> None:
    with suppress(ParseError):
        assert KINDS[type(decode(kind, text))] == kind


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("message", '{"text": 1}'),
        ("message", '{"text": "a", "more": 1}'),
        ("message", "{}"),
        ("progress", '{"phase": "a", "done": true}'),
        ("progress", '{"phase": "a", "done": 1.5}'),
        ("tool_call", '{"tool": "a", "failed": 1}'),
        ("retried", '{"code": "a", "message": "b", "wait_s": true}'),
        ("decision", '{"move": "a", "reason": "b", "facts": []}'),
        ("usage", '{"tokens_in": "1"}'),
        ("asked", "{}"),
        ("finished", "{}"),
        ("finished", '{"lifecycle":"ended","result":{"x":1}}'),
    ],
)
def test_a_body_of_the_wrong_shape_is_refused(kind: str, text: str) -> None:
    with pytest.raises(ParseError):
        decode(kind, text)


@pytest.mark.parametrize("value", [object(), {1, 2}, math.nan, math.inf, "\ud800", b"x"])
def test_what_is_not_json_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        encode_data({"value": value})
    with pytest.raises(InvalidInput, match="`decision`"):
        encode(Decision("a", "b", {"value": value}))


def test_a_circle_is_refused() -> None:
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(InvalidInput):
        encode_data(circle)
    with pytest.raises(InvalidInput):
        encode(NodeFinished(Result(task_id="t", agent="a", data=circle)))


def test_text_that_is_no_json_or_no_object_is_refused() -> None:
    assert read_data("[1]") == [1]
    for text in ("", "{", "[" * 100_000):
        with pytest.raises(ParseError):
            read_data(text)
    with pytest.raises(ParseError, match="object"):
        read_object("[1]")
