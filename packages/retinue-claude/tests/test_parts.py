"""What needs no Claude Code: how it is started, what it says, what is kept of it, and who is driven by it."""

import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from claude_agents import KEY, MODEL, PRICE, models
from hypothesis import given, settings, strategies as st
from retinue_claude import ClaudeCode
from retinue_claude.claude_model import ClaudeModel, claude_model
from retinue_claude.home import ClaudeHome, Session, read_session
from retinue_claude.launch import argument_vector, environment, find_claude, instructions
from retinue_claude.replay_prompt import replay_prompt
from retinue_claude.session_budget import SessionBudget
from retinue_claude.stream_parser import StreamParser

from retinue.agents.prompted import PromptedAgent
from retinue.contract.model import JsonMapping
from retinue.contract.result import Usage
from retinue.errors import BudgetExceeded, InvalidInput, NotInstalled, Unauthenticated
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.models import Models, ProviderSettings
from retinue.llm.port import (
    AnswerShape,
    AssistantMessage,
    Request,
    ToolCall,
    ToolResult,
    ToolResults,
    Turn,
    UserMessage,
)
from tests.agents.prompted.given import Made, ask, definition
from tests.examples import examples

NAME = "00000000-0000-4000-8000-000000000000"


def model(**facts: Any) -> ClaudeModel:
    found = claude_model(MODEL, models(priced=True))
    for name, value in facts.items():
        setattr(found, name, value)
    return found


def unheard(_: object) -> None:
    """Nobody listens."""


def hearing(turns: tuple[Turn, ...] = (), **heard: Any) -> StreamParser:
    ears: dict[str, Any] = dict.fromkeys(("on_text", "on_turns", "on_usage"), unheard) | heard
    return StreamParser(turns, model=model(), **ears)


# How it is started


def test_it_gets_no_tools_no_settings_and_no_servers_of_its_users(tmp_path: Path) -> None:
    home = ClaudeHome()
    try:
        argv = argument_vector("claude", model(), Request((), instructions="Be brief."), home=home, max_turns=7)
        told = Path(argv[argv.index("--system-prompt-file") + 1]).read_text(encoding="utf-8")
    finally:
        home.close()
    assert told == "Be brief."
    assert argv[argv.index("--tools") + 1] == ""
    assert argv[argv.index("--max-turns") + 1] == "7"
    assert argv[argv.index("--permission-mode") + 1] == "default"
    assert argv[argv.index("--thinking") + 1] == "disabled"
    assert {"--bare", "--setting-sources=", "--strict-mcp-config"} <= set(argv)
    assert not home.root.exists()


def test_effort_and_schema_become_words_of_its_command_line() -> None:
    home = ClaudeHome()
    shape = AnswerShape({"type": "object"})
    argv = argument_vector("claude", model(), Request((), shape=shape, effort="max"), home=home, max_turns=1)
    home.close()
    assert argv[argv.index("--effort") + 1] == "max"
    assert argv[argv.index("--json-schema") + 1] == '{"type":"object"}'
    assert "--thinking" not in argv


def test_a_schema_too_long_for_a_command_line_is_told_instead() -> None:
    request = Request((), shape=AnswerShape({"description": "x" * 200_000}), tools=(Made("look").spec,))
    home = ClaudeHome()
    argv = argument_vector("claude", model(), request, home=home, max_turns=1)
    home.close()
    assert "--json-schema" not in argv
    assert "x" * 200_000 in instructions(request)
    assert "mcp__retinue__NAME" in instructions(request)


def test_it_sees_few_variables_and_a_home_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET", "hush")
    monkeypatch.setenv("CLAUDE_CODE_USE_BEDROCK", "1")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    home = ClaudeHome()
    seen = environment(model(address="http://127.0.0.1:1"), home=home, max_tokens=500)
    home.close()
    assert not {"SOME_SECRET", "CLAUDE_CODE_USE_BEDROCK"} & set(seen)
    assert (seen["ANTHROPIC_API_KEY"], seen["ANTHROPIC_BASE_URL"]) == (KEY, "http://127.0.0.1:1")
    assert (seen["CLAUDE_CODE_MAX_OUTPUT_TOKENS"], seen["https_proxy"]) == ("500", "http://127.0.0.1:9")
    assert seen["HOME"] == str(home.root)


def test_the_program_is_that_of_the_sdk_else_of_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sdk = ModuleType("claude_agent_sdk")
    sdk.__file__ = str(tmp_path / "sdk" / "__init__.py")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotInstalled) as caught:
        find_claude(sdk)
    assert "claude-agent-sdk" in caught.value.hint
    for place in (tmp_path / "claude", tmp_path / "sdk" / "_bundled" / "claude"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("#!/bin/sh\n", encoding="utf-8")
        place.chmod(0o755)
        assert find_claude(sdk) == str(place)


# Whom it asks


def test_only_models_of_anthropics_are_asked_and_only_with_a_key() -> None:
    for name in ("openai:gpt-5", "local:x.gguf", "anthropic:"):
        with pytest.raises(InvalidInput, match="Anthropic"):
            claude_model(name, models())
    with pytest.raises(Unauthenticated) as caught:
        claude_model(MODEL, models(key=""))
    assert "ANTHROPIC_API_KEY" in caught.value.hint
    reached = ProviderSettings(base_url="http://127.0.0.1:1")
    keyless = claude_model(MODEL, Models(providers={"anthropic": reached}, environment={}, record="kept"))
    assert (keyless.key, keyless.address, keyless.id) == ("none", "http://127.0.0.1:1", "claude-haiku-4-5")
    assert keyless.unsupported(Request(())) == ("models.record",)
    assert keyless.unsupported(Request((), temperature=0.0, max_tokens=1)) == (
        "temperature",
        "max_tokens",
        "models.record",
    )


def test_an_own_price_holds() -> None:
    found = claude_model(MODEL, models(priced=True))
    assert found.own_price
    assert found.price(tokens_in=1_000_000, tokens_out=0) == PRICE.usd_in


def test_without_the_sdk_an_agent_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "claude_agent_sdk", None)
    result = ask(PromptedAgent(definition(), models=models(), loop=ClaudeCode()))
    assert result.fault is not None
    assert (result.fault.code, "claude-agent-sdk" in result.fault.hint) == ("unavailable", True)


# What it says


def piece(kind: str, **facts: Any) -> JsonMapping:
    return {"type": "stream_event", "event": {"type": kind, **facts}}


def said(*content: JsonMapping, name: str = "claude") -> JsonMapping:
    return {"type": "assistant", "message": {"model": name, "content": list(content)}}


def test_a_streamed_response_is_one_turn_with_all_it_wants() -> None:
    heard: list[str] = []
    took: list[Usage] = []
    ears = hearing((UserMessage("Go"),), on_text=heard.append, on_usage=took.append)
    look = {"type": "tool_use", "id": "a", "name": "mcp__retinue__look", "input": {"n": 1}}
    usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 1}
    ears.feed(piece("message_start", message={"usage": usage}))
    ears.feed(piece("content_block_delta", delta={"text": "Hm"}))
    ears.feed(said({"type": "text", "text": "Hm"}))
    ears.feed(said(look))
    assert ears.is_streaming
    first = ears.begin_call("look", {"n": 1})
    ears.feed(said({**look, "id": "a"}))  # twice the same name
    ears.add_result(ToolResult(first.id, "look", "seen"))
    ears.feed(piece("message_delta", usage={"output_tokens": 9}))
    ears.feed(piece("message_stop"))
    assert (heard, [usage.tokens_in for usage in took], took[0].tokens_out, took[0].tokens_cached) == (
        ["Hm"],
        [17],
        9,
        5,
    )
    second = ears.begin_call("look", {"n": 1})
    assert first.id != second.id
    ears.add_result(ToolResult(second.id, "look", "again"))
    ears.feed(piece("message_start", message={}))
    ears.feed(said({"type": "text", "text": "Done"}))
    begun, wanted, answers, last = ears.turns
    assert begun == UserMessage("Go")
    assert isinstance(wanted, AssistantMessage)
    assert (wanted.text, [use.name for use in wanted.tool_calls]) == ("Hm", ["look", "look"])
    assert isinstance(answers, ToolResults)
    assert [answer.text for answer in answers.results] == ["seen", "again"]
    assert last == AssistantMessage("Done")


def test_what_claude_code_tells_the_model_itself_is_a_turn_too() -> None:
    ears = hearing()
    ears.feed(said({"type": "tool_use", "id": "s", "name": "StructuredOutput", "input": {"n": "x"}}))
    refused = {"type": "tool_result", "tool_use_id": "s", "content": "must be integer", "is_error": True}
    ears.feed({"type": "user", "message": {"content": [refused]}})
    ears.feed({"type": "user", "message": {"content": "Call it now."}})
    ears.feed(said({"type": "text", "text": "API Error"}, name="<synthetic>"))
    _, answers, told = ears.turns
    assert answers == ToolResults((ToolResult("s", "StructuredOutput", "must be integer", failed=True),))
    assert told == UserMessage("Call it now.")
    assert len(ears.usages) == 1


def test_a_call_that_nobody_announced_is_a_use_all_the_same() -> None:
    ears = hearing()
    use = ears.begin_call("look", {})
    assert ears.turns == (AssistantMessage("", (ToolCall(use.id, "look", {}),)),)


def test_subagents_are_not_heard() -> None:
    ears = hearing()
    ears.feed({**said({"type": "text", "text": "x"}), "parent_tool_use_id": "a"})
    assert ears.turns == ()


def test_what_is_no_number_is_no_cost_and_no_status() -> None:
    found = hearing()
    found.feed({"type": "result", "subtype": "success", "total_cost_usd": True, "api_error_status": True})
    assert found.result is not None
    assert (found.result.usd, found.result.status) == (None, None)


def test_an_end_tells_the_object_or_the_words_or_the_errors() -> None:
    for facts, text in (
        ({"structured_output": {"n": 1}, "result": "x"}, '{"n":1}'),
        ({"result": "x"}, "x"),
        ({"errors": ["a", 3, "b"]}, "a; b"),
        ({"result": 3}, ""),
    ):
        ears = hearing()
        ears.feed({"type": "result", "subtype": "success", "is_error": False, **facts})
        assert ears.result is not None
        assert (ears.result.text, ears.result.failed) == (text, False)


KEYS = st.sampled_from(
    ("type", "event", "message", "content", "usage", "delta", "text", "id", "name", "input", "tool_use_id", "is_error",
     "input_tokens", "output_tokens", "errors", "subtype", "result", "structured_output", "total_cost_usd", "session_id")
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
BLOCKS = LEAVES | st.dictionaries(KEYS, LEAVES, max_size=4)
INNER = BLOCKS | st.lists(BLOCKS, max_size=3)
JSON = INNER | st.dictionaries(KEYS, INNER, max_size=4)
KINDS = st.sampled_from(("stream_event", "assistant", "user", "system", "result", "other"))
PIECES = st.sampled_from(("message_start", "content_block_delta", "message_delta", "message_stop", "x"))


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(KINDS, PIECES, st.dictionaries(KEYS, JSON, max_size=5)), max_size=8))
def test_no_message_whatever_it_holds_is_an_exception(messages: list[tuple[str, str, dict[str, Any]]]) -> None:
    ears = hearing()
    for kind, part, facts in messages:
        event = facts.get("event")
        ears.feed({**facts, "type": kind, "event": {**event, "type": part} if isinstance(event, dict) else event})
    ids = [use.id for turn in ears.turns if isinstance(turn, AssistantMessage) for use in turn.tool_calls]
    assert all(ids)


# What is kept of it


def test_a_conversation_is_kept_and_laid_out_again() -> None:
    first, second = ClaudeHome(), ClaudeHome()
    try:
        first.write_session(Session(NAME, "one\ntwo\n"))
        kept = first.read_session_file(NAME, usd=0.5)
        assert kept == Session(NAME, "one\ntwo\n", 0.5)
        assert first.read_session_file("../../etc/passwd", usd=None) is None
        assert second.read_session_file(NAME, usd=None) is None
        assert kept is not None
        second.write_session(kept)
        assert second.read_session_file(NAME, usd=None) == Session(NAME, "one\ntwo\n")
    finally:
        first.close()
        second.close()


def test_what_is_no_conversation_of_ours_is_not_gone_on_with() -> None:
    good = {"provider": "claude-code", "session": NAME, "transcript": "x", "usd": 0.5}
    assert read_session(good, provider="claude-code") == Session(NAME, "x", 0.5)
    wrongs: tuple[object, ...] = (
        None,
        [],
        {},
        {**good, "provider": "x"},
        {**good, "session": "../x"},
        {**good, "transcript": 3},
    )
    for wrong in wrongs:
        assert read_session(wrong, provider="claude-code") is None


def test_a_conversation_is_retold_with_what_was_done_between_marks() -> None:
    turns = (
        UserMessage("Begin"),
        AssistantMessage("Hm", (ToolCall("a", "look", {"n": 1}), ToolCall("b", "look", None, "{"))),
        ToolResults((ToolResult("a", "look", "seen"), ToolResult("b", "look", "bad", failed=True))),
        UserMessage("Not so"),
        AssistantMessage("Yes"),
        UserMessage("Again"),
    )
    told = replay_prompt(turns)
    assert told.startswith("Begin\n\nYou have begun already.")
    assert told.endswith("\n\nAgain")
    for words in (
        "You said: Hm",
        'with {"n":1}',
        "with {",
        "`look` answered: seen",
        "`look` failed: bad",
        "You were told: Not so",
    ):
        assert words in told
    assert "from this conversation so far" in told
    assert replay_prompt((UserMessage("One"), UserMessage("Two"))) == "One\n\nTwo"


# What it may spend


def run(work: Any) -> Any:
    import asyncio

    return asyncio.run(work)


def test_what_claude_code_asked_without_a_word_is_booked_at_the_end() -> None:
    tracker = BudgetTracker(tokens=50_000)
    spending = SessionBudget(model(), Request((UserMessage("Go"),)), tracker)
    run(spending.begin((UserMessage("Go"),)))
    turns = (UserMessage("Go"), AssistantMessage("x"))
    spending.commit(Usage(tokens_in=100, tokens_out=10), turns)
    spending.commit(Usage(tokens_in=200, tokens_out=10), turns)  # nobody was asked before
    spending.end(Usage(tokens_in=1_000, tokens_out=100), unspent=False)
    assert (tracker.spent_tokens, tracker.spent_requests, tracker.has_reservations) == (1_100, 2, False)


def test_what_is_held_is_let_go_only_where_nothing_was_spent() -> None:
    for unspent, spent in ((True, 0), (False, 1)):
        tracker = BudgetTracker(tokens=50_000)
        spending = SessionBudget(model(), Request((UserMessage("Go"),)), tracker)
        run(spending.begin((UserMessage("Go"),)))
        spending.end(None, unspent=unspent)
        assert (tracker.spent_requests, tracker.has_reservations) == (spent, False)


def test_there_must_be_room_for_an_answer_as_long_as_the_first() -> None:
    tracker = BudgetTracker(tokens=6_000)
    spending = SessionBudget(model(), Request((UserMessage("Go"),)), tracker)
    run(spending.begin((UserMessage("Go"),)))
    assert spending.max_tokens is not None
    turns = (UserMessage("Go"), AssistantMessage("x"))
    spending.commit(Usage(tokens_in=5_000, tokens_out=10), turns)
    with pytest.raises(BudgetExceeded):
        run(spending.go_on(turns))
    assert not tracker.has_reservations


def test_nobody_else_asks_its_model() -> None:
    with pytest.raises(InvalidInput, match="Claude Code"):
        run(model().respond(Request(())))
    assert os.environ.get("ANTHROPIC_API_KEY") != KEY
