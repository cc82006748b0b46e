"""The real Claude Code, behind the real SDK, against a provider on loopback: what it asks there, and what comes of it."""

import asyncio
from pathlib import Path

import pytest
from claude_agents import KEY, driven

from retinue.agents.boundary import Boundary
from retinue.agents.grants import Grants
from retinue.agents.registry import Registry
from retinue.contract.event import TextDelta, ToolCallEvent
from retinue.contract.task import Budget, Task
from tests.agents.prompted.given import FILES, GIVES, Made, Person, ask, bodies, context, rules, skill, toolbox
from tests.llm.wire.script import Call, Mishap, Refusal, Reply
from tests.llm.wire.server import WireServer

pytestmark = pytest.mark.slow

LOOKED = Reply("Let me look.", calls=(Call("mcp__retinue__look", {"at": 1}),), tokens_in=30, tokens_out=6)


def looking() -> Made:
    schema = {"type": "object", "properties": {"at": {"type": "integer"}}, "required": ["at"]}
    return Made("look", lambda _: "It is 42.", schema=schema)


def words(server: WireServer, request: int) -> str:
    return str(server.asked[request].body["messages"])


def test_an_answer_comes_with_its_events_its_traces_and_what_it_took() -> None:
    run, made = context(), looking()
    with WireServer([LOOKED, Reply("42.", tokens_in=50, tokens_cached=20)]) as server:
        result = ask(driven(server.url, toolbox=toolbox(made), priced=True), run=run)
    assert (result.outcome, result.content, len(made.calls)) == ("success", "42.", 1)
    assert [trace.tool for trace in result.traces] == ["look"]
    assert [body.text for body in bodies(run, TextDelta)] == ["Let me look.", "42."]
    assert [body.tool for body in bodies(run, ToolCallEvent)] == ["look"]
    usage = result.usage
    assert usage is not None
    assert (usage.tokens_in, usage.tokens_out, usage.tokens_cached, usage.requests) == (80, 11, 20, 2)
    assert usage.cost is not None
    assert usage.cost.price_id == "a test"
    assert run.budget_tracker.spent_tokens == 91
    assert run.budget_tracker.spent_requests == 2


def test_it_is_given_our_tools_alone_and_nothing_of_its_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its user allows everything, has servers, hooks, memories and a model of choice; the project has its own.
    home = tmp_path / "home" / ".claude"
    home.mkdir(parents=True)
    settings = '{"permissions": {"allow": ["Bash(*)", "Read(**)"]}, "model": "opus", "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "touch HOOKED"}]}]}}'
    (home / "settings.json").write_text(settings, encoding="utf-8")
    (home / "CLAUDE.md").write_text("A SECRET OF THE USER", encoding="utf-8")
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "settings.json").write_text(settings, encoding="utf-8")
    for name in ("CLAUDE.md", "AGENTS.md"):
        (project / name).write_text("A SECRET OF THE PROJECT", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home.parent))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    monkeypatch.chdir(project)
    told = "Say what @CLAUDE.md and @/etc/hostname hold. /cost"
    calls = tuple(
        Call(name, {"command": "touch RUN", "file_path": "CLAUDE.md"}, id=name) for name in ("Bash", "Read", "Task")
    )
    made = looking()
    with WireServer([Reply("", calls=calls), LOOKED, Reply("Nothing.")]) as server:
        result = ask(driven(server.url, toolbox=toolbox(made)), told, run=context(project))
    assert result.outcome == "success", result.fault
    asked = server.asked[0]
    assert asked.headers["x-api-key"] == KEY
    assert [tool["name"] for tool in asked.body["tools"]] == ["mcp__retinue__look"]
    assert asked.body["model"] == "claude-haiku-4-5"
    assert "SECRET" not in str([each.body for each in server.asked])
    assert told in str(asked.body["messages"])
    assert not list(tmp_path.rglob("RUN"))
    assert not list(tmp_path.rglob("HOOKED"))
    assert "No such tool" in words(server, 1)


def test_the_real_hands_work_within_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("The code is 4711.", encoding="utf-8")
    calls = (
        Call("mcp__retinue__read", {"path": "notes.md"}, id="a"),
        Call("mcp__retinue__read", {"path": "/etc/passwd"}, id="b"),
    )
    with WireServer([Reply("", calls=calls), Reply("4711")]) as server:
        result = ask(driven(server.url, toolbox=FILES, tools=("read",)), run=context(tmp_path))
    assert (result.outcome, result.files_read) == ("success", ("notes.md",))
    told = words(server, 1)
    assert "from file notes.md" in told
    assert "4711" in told
    assert "root:" not in told
    assert "access_denied" in told


def test_an_answer_that_breaks_its_schema_is_corrected_in_the_same_conversation() -> None:
    lines = [
        LOOKED,
        Reply("Forty-two."),
        Reply("As I said."),
        Reply("", calls=(Call("StructuredOutput", {"score": 42}),)),
    ]
    made = looking()
    with WireServer(lines) as server:
        result = ask(driven(server.url, toolbox=toolbox(made), skills=(skill(output_schema=GIVES),)))
    assert (result.outcome, result.data, result.retries, len(made.calls)) == ("success", {"score": 42}, 1, 1)
    last = words(server, -1)
    assert all(said in last for said in ("Let me look.", "It is 42.", "Forty-two.", "Your answer was refused."))
    assert "You have begun already" not in last  # it is the very same conversation, and not told anew


def test_an_object_that_does_not_fit_is_corrected_by_claude_code_itself() -> None:
    lines = [Reply("", calls=(Call("StructuredOutput", {"score": score}, id=str(score)),)) for score in ("x", 3)]
    run = context()
    with WireServer(lines) as server:
        result = ask(driven(server.url, skills=(skill(output_schema=GIVES),)), run=run)
    assert (result.outcome, result.data, result.retries) == ("success", {"score": 3}, 0)
    assert run.budget_tracker.spent_requests == 2


def test_what_is_denied_is_not_done_whatever_the_model_wants() -> None:
    made = Made("burn", effects=("write",))
    call = Reply("", calls=(Call("mcp__retinue__burn"),))
    for grants, person, done in (
        (Grants(rules=rules(deny="burn")), Person(), 0),
        (Grants(), None, 0),
        (Grants(), Person(value=False), 0),
        (Grants(mode="plan"), Person(), 0),
        (Grants(), Person(), 1),
    ):
        made.calls.clear()
        with WireServer([call, Reply("So be it.")]) as server:
            result = ask(driven(server.url, toolbox=toolbox(made)), run=context(grants=grants, person=person))
        assert (result.outcome, len(made.calls)) == ("success", done), grants
        assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (Refusal(401), "unauthenticated"),
        (Refusal(404), "invalid_input"),
        (Refusal(529), "unavailable"),
        (Refusal(429), "unavailable"),
        (Mishap("garbled"), "network_error"),
    ],
)
def test_what_goes_wrong_at_the_provider_is_a_fault(line: Refusal | Mishap, code: str) -> None:
    with WireServer(lambda _: line) as server:
        result = ask(driven(server.url))
    assert not result.useful
    assert result.fault is not None
    assert (result.fault.code, KEY in result.fault.message) == (code, False)


def test_a_further_request_that_might_pass_the_budget_is_not_made() -> None:
    made = looking()
    lines = [Reply("Let me look.", calls=(Call("mcp__retinue__look", {"at": 1}),), tokens_in=1_500, tokens_out=500)] * 2
    with WireServer(lines) as server:
        result = ask(driven(server.url, toolbox=toolbox(made)), run=context(budget=Budget(tokens=2_500)))
    assert result.fault is not None
    assert (result.outcome, result.fault.code, result.content) == ("partial", "budget_exceeded", "Let me look.")
    assert (len(server.asked), len(made.calls)) == (1, 1)
    assert server.asked[0].body["max_tokens"] <= 2_500


def test_effort_and_turns_are_heeded() -> None:
    endless = [Reply("", calls=(Call("mcp__retinue__look", {"at": n}),)) for n in range(9)]
    made = looking()
    with WireServer(endless) as server:
        result = ask(driven(server.url, toolbox=toolbox(made), runner={"max_turns": 2, "effort": "low"}))
    assert result.fault is not None
    assert (result.fault.code, len(server.asked)) == ("budget_exceeded", 2)
    assert server.asked[0].body["thinking"]["type"] != "disabled"
    assert not [warned for warned in result.warnings if "Not supported" in warned.message]


def test_a_long_answer_of_a_tool_reaches_the_model_whole() -> None:
    made = Made("look", lambda _: "word " * 5_900 + "the end", schema=looking().spec.input_schema)
    with WireServer([LOOKED, Reply("Long.")]) as server:
        result = ask(driven(server.url, toolbox=toolbox(made)))
    assert result.outcome == "success"
    assert "the end" in words(server, 1)


def test_a_cancelled_agent_ends_at_once() -> None:
    async def main(url: str, server: WireServer) -> float:
        loop = asyncio.get_running_loop()
        task = Task(id="t1", agent="helper", instruction="Wait")
        call = asyncio.create_task(Boundary(Registry()).call_agent(driven(url), task, context()))
        await asyncio.to_thread(server.was_asked.wait, 30)
        began = loop.time()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return loop.time() - began

    with WireServer([Mishap("silent")]) as server:
        assert asyncio.run(main(server.url, server)) < 20
