"""Messages of the base protocol: read as they were written, and nonsense told from them without waiting."""

import asyncio

import pytest
from hypothesis import example, given, settings, strategies as st

from retinue.contract.json import JsonObject
from retinue.errors import OutputInvalid, Unavailable
from retinue.tools.lsp.locations import (
    hover_text,
    parse_calls,
    parse_locations,
    parse_symbols,
    parse_workspace_edits,
    path_of,
)
from retinue.tools.lsp.server import frame, read_message
from tests.examples import examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["uri", "range", "start", "end", "line", "name", "kind", "children", "from", "edits", "changes", "value"]), inner, max_size=4)
    ),
    max_leaves=12,
)  # fmt: skip


def read(data: bytes, *, limit: int = 1_000) -> list[JsonObject]:
    async def all_of_it() -> list[JsonObject]:
        stream = asyncio.StreamReader()
        stream.feed_data(data)
        stream.feed_eof()
        found: list[JsonObject] = []
        while (message := await read_message(stream, max_bytes=limit)) is not None:
            found.append(message)
        return found

    return asyncio.run(all_of_it())


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=3), max_size=3))
def test_what_is_framed_is_read(messages: list[JsonObject]) -> None:
    assert read(b"".join(map(frame, messages)), limit=100_000) == messages


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet="Content-Length: 5\r\n{}", max_size=60).map(str.encode))
@example(b"Content-Length: 2\n\n{}")
@example(b"Content-Length: -1\r\n\r\n{}")
@example(b"X: 1\r\n\r\n{}")
@example(b"A: 1\r\n" * 20)
@example(b"Content-Length: 2\r\n\r\n[]")
def test_any_bytes_are_messages_or_nonsense(data: bytes) -> None:
    try:
        messages = read(data)
    except OutputInvalid as error:
        assert error.message.startswith("The language server sent")  # noqa: PT017 - either may be
    else:
        assert all(type(message) is dict for message in messages)


def test_a_message_that_is_too_long_is_not_read() -> None:
    with pytest.raises(OutputInvalid, match="are allowed"):
        read(b"Content-Length: 1001\r\n\r\n")


@settings(max_examples=examples(200), deadline=None)
@given(JSON)
def test_any_answer_can_be_read(value: JsonObject) -> None:
    assert isinstance(parse_locations(value), list)
    assert isinstance(parse_symbols(value, "file:///a.py"), list)
    assert isinstance(parse_calls(value, "from", "file:///a.py"), list)
    assert isinstance(hover_text(value), str)
    assert isinstance(parse_workspace_edits(value), list)


@settings(max_examples=examples(100), deadline=None)
@given(st.text(max_size=20).map("file://".__add__) | st.text(max_size=20))
@example("file://[")
@example("file:///a%00b")
def test_any_uri_is_a_path_or_none(uri: str) -> None:
    path = path_of(uri)
    assert not path or (path.startswith("/") and "\0" not in path)


def test_edits_come_in_two_forms_and_moving_files_is_refused() -> None:
    span: JsonObject = {"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 2}}
    edit: JsonObject = {"range": span, "newText": "x"}
    old: JsonObject = {"changes": {"file:///a.py": [edit]}}
    new: JsonObject = {"documentChanges": [{"textDocument": {"uri": "file:///a.py"}, "edits": [edit]}]}
    assert parse_workspace_edits(old) == parse_workspace_edits(new)
    assert [(place.uri, place.units, text) for place, text in parse_workspace_edits(old)] == [("file:///a.py", 1, "x")]
    with pytest.raises(Unavailable, match="move files"):
        parse_workspace_edits({"documentChanges": [{"kind": "rename"}]})
