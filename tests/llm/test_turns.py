"""Conversations as JSON data and back."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract.json import dumps, loads
from retinue.errors import ParseError
from retinue.llm.port import AssistantMessage, ToolCall, ToolResult, ToolResults, Turn, UserMessage
from retinue.llm.turns import turn_from_json, turn_to_json, turns_from_json, turns_to_json

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
uses = st.builds(
    ToolCall,
    id=texts,
    name=texts,
    arguments=st.none() | st.dictionaries(texts, st.integers() | texts | st.booleans(), max_size=3),
    raw=texts,
)
answers = st.builds(ToolResult, id=texts, name=texts, text=texts, failed=st.booleans())
turns = st.one_of(
    st.builds(UserMessage, texts),
    st.builds(AssistantMessage, texts, st.lists(uses, max_size=3).map(tuple)),
    st.builds(ToolResults, st.lists(answers, max_size=3).map(tuple)),
)


@given(st.lists(turns, max_size=5))
def test_what_is_written_is_read_back(conversation: list[Turn]) -> None:
    text = dumps(turns_to_json(conversation))
    assert turns_from_json(loads(text)) == tuple(conversation)


def test_absent_facts_are_left_out() -> None:
    assert turn_to_json(AssistantMessage("yes")) == {"answered": "yes"}
    assert turn_to_json(ToolResults((ToolResult("1", "read", "text"),))) == {
        "tool_answers": [{"id": "1", "name": "read", "text": "text"}]
    }


def test_the_native_form_rides_along_where_it_can_be_written() -> None:
    class Own:
        def to_json(self) -> dict[str, object]:
            return {"signed": "thought"}

    assert turn_to_json(AssistantMessage("yes", native=Own()))["native"] == {"signed": "thought"}
    assert "native" not in turn_to_json(AssistantMessage("yes", native=object()))
    read = turn_from_json({"answered": "yes", "native": {"signed": "thought"}})
    assert isinstance(read, AssistantMessage)
    assert read.native == {"signed": "thought"}
    assert turn_to_json(read)["native"] == {"signed": "thought"}


BROKEN: list[tuple[Any, str]] = [
    ("text", ""),
    (["text"], "/0"),
    ([{}], "/0"),
    ([{"said": 5}], "/0/said"),
    ([{"said": "a"}, {"answered": "b", "uses": {}}], "/1/uses"),
    ([{"answered": "b", "uses": [{"id": "1"}]}], "/0/uses/0/name"),
    ([{"answered": "b", "uses": [{"id": "1", "name": "n", "arguments": []}]}], "/0/uses/0/arguments"),
    ([{"answered": "b", "native": 1}], "/0/native"),
    ([{"tool_answers": [{"id": "1", "name": "n"}]}], "/0/tool_answers/0/text"),
    ([{"tool_answers": 1}], "/0/tool_answers"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "path"), BROKEN)
def test_something_else_is_refused_with_its_place(data: object, path: str) -> None:
    with pytest.raises(ParseError) as raised:
        turns_from_json(data)
    assert raised.value.path == path


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["said", "answered", "uses", "tool_answers", "id", "name", "text", "arguments", "native"]) | texts, inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@given(json_values)
def test_whatever_is_stored_is_read_or_refused(data: object) -> None:
    try:
        read = turns_from_json(data)
    except ParseError:
        return
    assert turns_from_json(turns_to_json(read)) == read
