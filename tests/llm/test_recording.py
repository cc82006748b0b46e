"""A recording is written while a model works, without its secrets, and answers later in its place."""

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract.credentials import REMOVED, Cleaner
from retinue.contract.definition import ToolSpec
from retinue.contract.result import Cost, Usage
from retinue.errors import (
    AccessDenied,
    InvalidInput,
    MissingFile,
    ParseError,
    RetinueError,
    Unauthenticated,
    Unavailable,
    UnknownName,
)
from retinue.llm.models import Models
from retinue.llm.port import (
    AnswerShape,
    AssistantMessage,
    Request,
    Response,
    ToolCall,
    ToolResult,
    ToolResults,
    UserMessage,
)
from retinue.llm.recording import Recorder, Replay, record_into
from retinue.llm.scripted import Line, ScriptedModel, tool_call
from tests.examples import examples

SECRET = "plain-looking words"
CLEANER = Cleaner({"SHOP_TOKEN": SECRET})
FIND = ToolSpec(name="find", description="Finds.", input_schema={"type": "object"})


def asking(text: str) -> Request:
    return Request((UserMessage(text),), instructions="Be brief.", tools=(FIND,), shape=AnswerShape({"type": "object"}))


def record(path: Path, lines: list[Line], *requests: Request, name: str = "scripted:model") -> list[Response]:
    recorder = Recorder(ScriptedModel(lines, name=name, usd_per_million=2.0), path, cleaner=CLEANER)

    async def ask() -> list[Response]:
        return [await recorder.respond(request) for request in requests]

    return asyncio.run(ask())


def replay(path: Path, *requests: Request) -> list[Response]:
    model = Replay(path, cleaner=CLEANER)

    async def ask() -> list[Response]:
        return [await model.respond(request) for request in requests]

    return asyncio.run(ask())


def refusal(path: Path, *requests: Request) -> RetinueError:
    with pytest.raises(RetinueError) as caught:
        replay(path, *requests)
    return caught.value


def test_a_whole_conversation_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    wanted = tool_call("find", id="one", what="tests")
    later = Request(
        (
            UserMessage("Go."),
            AssistantMessage("", (wanted,), native=object()),
            ToolResults((ToolResult("one", "find", "3"),)),
        )
    )
    said = record(path, [wanted, {"found": 3}], asking("Go."), later)
    assert replay(path, asking("Go."), later) == said
    assert said[1].turn.text == '{"found":3}'
    assert said[0].usage.cost is not None


def test_equal_requests_are_answered_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    record(path, ["first", "other", "second"], asking("a"), asking("b"), asking("a"))
    answers = replay(path, asking("a"), asking("a"), asking("b"))
    assert [each.turn.text for each in answers] == ["first", "second", "other"]


def test_a_fault_is_raised_again(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    busy = Unavailable("Too busy.", hint="Wait.", retry_after_s=7.0)
    with pytest.raises(Unavailable):
        record(path, [busy], asking("a"))
    again = refusal(path, asking("a"))
    assert (type(again), again.message, again.retry_after_s) == (Unavailable, "Too busy.", 7.0)


def test_a_missing_key_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    with pytest.raises(Unauthenticated):
        record(path, [Unauthenticated("No key.")], asking("a"))
    assert Replay(path).remaining == 0


def test_text_is_heard_when_it_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    record(path, ["spoken"], asking("a"))
    heard: list[str] = []
    asyncio.run(Replay(path).respond(asking("a"), on_text=heard.append))
    assert heard == ["spoken"]


def test_no_secret_reaches_the_file_and_the_replay_still_fits(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    request = asking(f"Use {SECRET} and Authorization: Bearer abcdef012345.")
    record(path, [f"I will use {SECRET}.", tool_call("find", password="0pen")], request, request)
    kept = path.read_text(encoding="utf-8")
    assert not [secret for secret in (SECRET, "abcdef012345", "0pen") if secret in kept]
    first, second = replay(path, request, request)
    assert first.turn.text == f"I will use {REMOVED}."
    assert second.turn.tool_calls[0].arguments == {"password": REMOVED}


def test_several_models_share_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    record(path, ["small"], asking("a"), name="scripted:small")
    record(path, ["large"], asking("b"), name="scripted:large")
    small, large = replay(path, asking("a"), asking("b"))
    assert (small.usage.model, large.usage.model) == ("scripted:small", "scripted:large")
    model = Replay(path)
    assert (model.name, model.max_output, model.remaining) == (f"replay:{path}", 1_000, 2)
    assert model.price(tokens_in=500_000, tokens_out=500_000) == pytest.approx(2.0)


def test_a_model_without_a_price_has_none_when_it_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    recorder = Recorder(ScriptedModel(["a"]), path)
    assert recorder.price(tokens_in=1, tokens_out=1) is None
    assert Replay(path).price(tokens_in=1, tokens_out=1) is None


def test_the_bound_on_an_answer_is_no_part_of_a_request(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    record(path, ["yes"], Request((UserMessage("a"),), max_tokens=100, temperature=0.5, effort="low"))
    (answer,) = replay(path, Request((UserMessage("a"),), max_tokens=90, temperature=0.5, effort="low", timeout_s=3))
    assert answer.turn.text == "yes"


def test_what_was_not_recorded_shows_where_the_nearest_differs(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    record(path, ["x", "y"], asking("Count the tests in the shop."), Request((UserMessage("Something else."),)))
    error = refusal(path, asking("Count the tests in the bank."))
    assert isinstance(error, UnknownName)
    assert (error.path, error.detail) == ("/turns/0/said", {"nearest": f"{path}:3"})
    assert "the shop." in error.hint
    assert "the bank." in error.hint
    assert "models.record" in error.hint


def test_a_request_asked_too_often_says_how_often_it_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    record(path, ["x"], asking("a"))
    error = refusal(path, asking("a"), asking("a"))
    assert error.detail == {"recorded": 1}
    assert "once" in error.message


def test_an_empty_recording_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    Recorder(ScriptedModel([]), path)
    assert "no requests" in refusal(path, asking("a")).hint


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_only_its_owner_may_read_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    Recorder(ScriptedModel([]), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_foreign_file_is_never_continued(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="not a recording"):
        Recorder(ScriptedModel([]), path)
    assert path.read_text(encoding="utf-8") == "my notes\n"


def test_an_empty_file_becomes_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.touch()
    Recorder(ScriptedModel([]), path)
    assert Replay(path).remaining == 0


def test_what_cannot_be_reached_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFile) as missing:
        Replay(tmp_path / "absent.jsonl")
    assert missing.value.path == str(tmp_path / "absent.jsonl")
    with pytest.raises(MissingFile) as folder:
        Recorder(ScriptedModel([]), tmp_path / "absent" / "recording.jsonl")
    assert folder.value.path == str(tmp_path / "absent")
    with pytest.raises(MissingFile, match="no recordings"):
        Replay(tmp_path)
    with pytest.raises(AccessDenied):
        Recorder(ScriptedModel([]), tmp_path)


def test_a_process_records_into_one_file_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "recordings"
    for name, line in (("scripted:small", "one"), ("scripted:large", "two")):
        recorder = record_into(folder, ScriptedModel([line], name=name))
        asyncio.run(recorder.respond(asking(line)))
    assert len(list(folder.iterdir())) == 1
    assert [each.turn.text for each in replay(folder, asking("two"), asking("one"))] == ["two", "one"]


def test_models_record_what_they_open(tmp_path: Path) -> None:
    record(tmp_path / "first.jsonl", ["said"], asking("a"))
    models = Models(record=str(tmp_path / "kept"))
    replayed = models.get(f"replay:{tmp_path / 'first.jsonl'}")
    assert isinstance(replayed, Replay)
    opened = models.get("ollama:some-model")
    assert isinstance(opened, Recorder)
    assert models.get("ollama:some-model") is opened
    assert Replay(tmp_path / "kept").remaining == 0


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AccessDenied):
        record_into(tmp_path / "file" / "folder", ScriptedModel([]))


def test_a_folder_of_recordings_is_one(tmp_path: Path) -> None:
    record(tmp_path / "one.jsonl", ["first"], asking("a"))
    record(tmp_path / "two.jsonl", ["second", "other"], asking("a"), asking("b"))
    answers = replay(tmp_path, asking("b"), asking("a"), asking("a"))
    assert [each.turn.text for each in answers] == ["other", "first", "second"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
USES = st.builds(
    ToolCall,
    id=st.text(max_size=8),
    name=st.text(max_size=8),
    arguments=st.none() | st.dictionaries(st.text(max_size=8), JSON, max_size=3),
    raw=st.text(max_size=8),
)
TURNS = st.builds(AssistantMessage, text=st.text(max_size=30), tool_calls=st.lists(USES, max_size=3).map(tuple))


@settings(max_examples=examples(60))
@given(turn=TURNS, said=st.text(max_size=30))
def test_whatever_a_model_says_is_replayed(
    tmp_path_factory: pytest.TempPathFactory, turn: AssistantMessage, said: str
) -> None:
    path = tmp_path_factory.mktemp("recording") / "recording.jsonl"
    request = Request((UserMessage(said), turn, ToolResults((ToolResult("one", "find", said),)), UserMessage("Go on.")))
    response = Response(turn, Usage(requests=1), "tools" if turn.tool_calls else "end")
    assert record(path, [response], request) == [response]
    assert replay(path, request) == [response]


def test_arguments_as_deep_as_json_may_be_are_recorded(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    deep: object = "x"
    for _ in range(127):
        deep = [deep]
    wanted = tool_call("find", id="one", what=deep)
    said = record(path, [wanted], asking("a"))
    assert replay(path, asking("a")) == said


HEADER = '{"retinue_recording":1}\n'
EXCHANGE = '{"model":"m","request":{"turns":[]},'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a recording"),
        ("{}\n", "not a recording"),
        ('{"retinue_recording":2}\n', "not a recording"),
        (HEADER + "{\n", "Line 2"),
        (HEADER + '\n{"model":"m","model":"n"}\n', "Line 3"),
        (HEADER + '{"model":"m","more":1}\n', "more"),
        (HEADER + "[]\n", "object"),
        (HEADER + EXCHANGE + '"answer":{"turn":{"said":"x"}}}\n', "not a turn of a model"),
        (HEADER + EXCHANGE + '"answer":{"turn":{}}}\n', "turn"),
        (HEADER + '{"model":"m","request":{"turns":[]}}\n', "either"),
        (HEADER + EXCHANGE + '"answer":{"turn":{"answered":"x"},"stop":"tired"}}\n', "stop"),
        (HEADER + EXCHANGE + '"answer":{"turn":{"answered":"x"},"usage":{"tokens_in":"3"}}}\n', "tokens_in"),
    ],
)
def test_a_damaged_recording_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParseError, match=said) as caught:
        Replay(path)
    assert caught.value.path.startswith(f"{path}:")
    assert caught.value.detail["line"] == int(caught.value.path.rpartition(":")[2])
    assert caught.value.hint


def test_each_line_is_one_exchange_as_json(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    usage = Usage(tokens_in=3, tokens_out=2, requests=1, cost=Cost(usd=0.5, price_id="p", price_date="2026-01-01"))
    record(path, [Response(AssistantMessage("a\nb"), usage)], asking("x"))
    header, known, exchange = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert header == {"retinue_recording": 1}
    assert known == {"model": "scripted:model", "max_output": 1_000, "usd_in": 2.0, "usd_out": 2.0}
    assert exchange["answer"] == {
        "turn": {"answered": "a\nb"},
        "usage": {
            "tokens_in": 3,
            "tokens_out": 2,
            "requests": 1,
            "cost": {"usd": 0.5, "price_id": "p", "price_date": "2026-01-01"},
        },
        "stop": "end",
    }
