"""Where the parts of a JSON text stand."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract.json import dumps, loads, pointer, source_map

scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b/c", "~", "", "é"]), inner),
    max_leaves=12,
)


def pointers(value: Any, path: tuple[str | int, ...] = ()) -> set[str]:
    inside: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inside = list(value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON
    elif isinstance(value, list):
        inside = list(enumerate(value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON
    return {pointer(path)}.union(*(pointers(item, (*path, key)) for key, item in inside))


def test_each_key_and_item_has_its_place() -> None:
    assert source_map('{"a": [1,\n  {"b": 2}],\n "c~/": {}}') == {
        "": (1, 1),
        "/a": (1, 2),
        "/a/0": (1, 8),
        "/a/1": (2, 3),
        "/a/1/b": (2, 4),
        "/c~0~1": (3, 2),
    }


def test_an_object_in_a_fence_is_placed_in_the_whole_text() -> None:
    assert source_map('Here:\n```json\n{"a": 1}\n```')["/a"] == (3, 2)


@pytest.mark.parametrize(
    "text", ["", "word", "17", "{", "[", '{"a"', '{"a":', '{"a" 1}', "[1", "[1,,", '{"a":nope}', "[note] {"]
)
def test_what_is_no_json_has_no_places(text: str) -> None:
    assert source_map(text) == {}


def test_what_is_too_deep_has_no_places() -> None:
    assert source_map("[" * 200_000) == {}


@given(st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=3), values))
def test_every_pointer_of_a_value_has_a_place(value: Any) -> None:
    text = dumps(value)
    assert set(source_map(text)) == pointers(loads(text))


@given(st.text(st.sampled_from('[]{}",:1a \n')))
def test_any_text_is_borne(text: str) -> None:
    source_map(text)
