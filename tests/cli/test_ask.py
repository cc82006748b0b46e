"""`retinue ask`, with nobody at the terminal."""

from pathlib import Path

import pytest

from tests.cli.conftest import Give

MODULE = '''"""Echoes whatever it is told."""


async def run_agent(prompt, chat_history=None, memory=None, config=None):
    return {"content": f"heard {prompt}", "response_time_secs": 0.0, "traces": []}
'''

SEEKER = '''
import retinue
from retinue.errors import MissingFile

@retinue.agent
async def seeker(task: str) -> str:
    """Looks for a map. Use when one was lost. Returns where it is."""
    raise MissingFile("There is no map.", path="map.md")
'''


def test_one_agent_answers_with_its_own_result(retinue: Give, team: Path) -> None:
    said = retinue("ask", "singer", "a hymn", "--json")
    assert (said.code, said.err) == (0, "")
    assert said.data["agent"] == "singer"
    assert said.data["data"] == {"song": "a hymn"}


@pytest.mark.requirement("C44")
def test_parameters_that_come_as_text_are_read_as_the_schema_says(retinue: Give, team: Path) -> None:
    said = retinue("ask", "singer", "--param", "Task=la", "-p", "times=3", "--json")
    assert said.data["data"] == {"song": "la la la"}
    decoded = {each["path"]: each["value"] for each in said.data["extras"]["decoded"]}
    assert decoded == {"/task": "task", "/times": 3}


def test_parameters_as_json_are_taken_as_they_are(retinue: Give, team: Path) -> None:
    assert retinue("ask", "singer", "--params", '{"task": "la", "times": 2}', "-q").out == "- song: la la\n"
    piped = retinue("ask", "singer", "--params", "-", "-q", stdin='{"task": "la"}')
    assert piped.out == "- song: la\n"
    refused = retinue("ask", "singer", "--params", '{"task": "la", "times": "2"}')
    assert refused.code == 2
    assert "times" in refused.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--param", "task"), "'task' is not a parameter. Use --param NAME=VALUE."),
        (("--param", "=x"), "is not a parameter"),
        (("-p", "task=a", "-p", "task=b"), "The parameter 'task' is given twice."),
        (("-p", "task=a", "--params", '{"task": "b"}'), "given by both"),
        (("--params", "[1]"), "must be a JSON object"),
        (("--params", '{"task": "a", "task": "b"}'), "`--params` is not valid JSON"),
        (("--param", "tsk=a"), "tsk"),
    ],
)
def test_parameters_that_are_none_are_refused(retinue: Give, team: Path, words: tuple[str, ...], message: str) -> None:
    said = retinue("ask", "singer", "la", *words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert "next: " in said.err


def test_an_agent_that_fails_exits_5(retinue: Give, team: Path) -> None:
    said = retinue("ask", "breaker", "x")
    assert (said.code, said.out) == (5, "")
    assert "error: `breaker` raised `RuntimeError`" in said.err
    assert retinue("ask", "breaker", "x", "--json").data["fault"]["code"] == "internal_error"


@pytest.mark.slow
@pytest.mark.requirement("H27", "C29")
def test_how_often_a_failed_attempt_is_made_again_is_a_policy_by_name(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / ".retinue" / "agents" / "seeker.py"
    file.parent.mkdir(parents=True)
    file.write_text(SEEKER, encoding="utf-8")
    retinue("trust", "--yes")
    usual = retinue("ask", "seeker", "the map", "--json")
    monkeypatch.setenv("RETINUE_RUN_POLICY", "research")
    research = retinue("ask", "seeker", "the map", "--json")
    assert [len(said.data["attempts"]) for said in (usual, research)] == [1, 3]


def test_who_is_not_there_is_not_asked(retinue: Give, team: Path) -> None:
    said = retinue("ask", "singr", "x")
    assert (said.code, said.out) == (2, "")
    assert "Available: singer" in said.err


def test_a_skill_that_is_not_there_is_recognised(retinue: Give, team: Path) -> None:
    assert "Did you mean `branch_status`?" in retinue("ask", "git_state_analyzer", "branch_statu").err
    assert "has no skill 'qqq'" in retinue("ask", "git_state_analyzer", "qqq", "what changed?").err


def test_an_agent_of_several_skills_must_be_told_which(retinue: Give, team: Path) -> None:
    said = retinue("ask", "git_state_analyzer")
    assert (said.code, "so name one" in said.err) == (2, True)
    assert retinue("ask", "git_state_analyzer", "zxqw vbnm").code == 2


def test_the_instruction_chooses_among_several_skills(retinue: Give, folder: Path) -> None:
    said = retinue("ask", "git_state_analyzer", "is the work tree clean", "--json")
    assert said.data["skill"] == "branch_status"


def test_a_skill_that_cannot_be_called_here_says_the_way_out(retinue: Give, folder: Path) -> None:
    said = retinue("ask", "code_engineer_executor", "fix_bug", "x")
    assert (said.code, said.out) == (4, "")
    assert "cannot be called here" in said.err


def test_too_many_words_want_quotes(retinue: Give, team: Path) -> None:
    assert "Put the instruction in quotes" in retinue("ask", "singer", "singer", "two words", "three").err


def test_a_skill_may_be_named_before_the_instruction(retinue: Give, team: Path) -> None:
    assert retinue("ask", "singer", "Singer", "-q", "-", stdin="piped").out == "- song: piped\n"


def test_an_agent_that_delegates_answers_in_its_own_name(retinue: Give, team: Path) -> None:
    said = retinue("ask", "chief", "govern", "--json")
    assert (said.data["agent"], said.data["outcome"]) == ("chief", "success")
    assert [section["agent"] for section in said.data["data"]["parts"]] == ["singer", "printer"]


def test_an_agent_may_ask_and_nobody_is_there(retinue: Give, team: Path) -> None:
    assert retinue("ask", "curious", "dig", "-q").out == "- hole: none\n"


def test_text_of_an_agent_cannot_move_the_cursor(retinue: Give, team: Path) -> None:
    drawn = retinue("ask", "hostile", "x")
    assert not {"\x1b", "\u202e", "\x9b"}.intersection(drawn.out + drawn.err)
    exact = retinue("ask", "hostile", "x", "--json")
    assert not {"\x1b", "\u202e", "\x9b"}.intersection(exact.out)
    assert exact.data["data"] == "\x1b[2J\x1b[31mred\x1b[0m \u202etxt \x9b31m"


# The module of `ACTIVE_AGENT_PATH`.


@pytest.fixture
def module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = folder / "core" / "echo.py"
    file.parent.mkdir()
    file.write_text(MODULE)
    monkeypatch.setenv("ACTIVE_AGENT_PATH", "core/echo.py")
    return file


def test_without_an_agent_the_module_is_asked(retinue: Give, module: Path) -> None:
    assert retinue("ask", "hello there", "-q").out == "heard hello there\n"
    assert retinue("ask", "hello", "-q").out == "heard hello\n"
    assert retinue("ask", "-q", "-", stdin="piped").out == "heard piped\n"


@pytest.mark.requirement("B16")
def test_the_tools_it_used_are_named_once_in_order(retinue: Give, module: Path) -> None:
    traces = [{"tool": tool, "output": ""} for tool in ("MAIL_SEND", "CALENDAR_GET", "MAIL_SEND", "\x1b[2JX")]
    module.write_text(MODULE.replace('"traces": []', f'"traces": {traces!r}'))
    assert "tools: MAIL_SEND, CALENDAR_GET, \\u{1b}[2JX\n" in retinue("ask", "hello").err
    module.write_text(
        MODULE.replace('"traces": []', f'"traces": {[{"tool": f"T{n}", "output": ""} for n in range(12)]!r}')
    )
    assert "T9 and 2 more\n" in retinue("ask", "hello").err


def test_a_named_agent_wins_over_the_module(retinue: Give, module: Path) -> None:
    assert (
        retinue("ask", "git_state_analyzer", "is the work tree clean", "--json").data["agent"] == "git_state_analyzer"
    )
    assert retinue("ask", "git_state_analyser", "x").code == 2


def test_neither_agent_nor_module_is_a_mistake(retinue: Give, folder: Path) -> None:
    said = retinue("ask", "hello there")
    assert (said.code, "or set ACTIVE_AGENT_PATH to a module" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("path", "code"), [("core/gone.py", 2), ("../outside.py", 2), ("core/none.py", 6), ("core/broken.py", 6)]
)
def test_a_module_that_is_none_says_why(
    retinue: Give, module: Path, monkeypatch: pytest.MonkeyPatch, path: str, code: int
) -> None:
    (module.parent / "none.py").write_text("x = 1\n")
    (module.parent / "broken.py").write_text("def (\n")
    monkeypatch.setenv("ACTIVE_AGENT_PATH", path)
    said = retinue("ask", "hello there")
    assert (said.code, said.out) == (code, "")
    assert "next: " in said.err


def test_a_run_of_a_module_can_be_resumed(retinue: Give, module: Path) -> None:
    module.write_text(MODULE.replace("return", "raise RuntimeError(prompt)\n    return"))
    assert retinue("ask", "hello there").code == 5
    module.write_text(MODULE)
    assert retinue("runs", "resume", "-q").out == "heard hello there\n"


# The same module, for a goal.


@pytest.mark.requirement("B17")
def test_a_goal_may_be_answered_by_the_module(retinue: Give, module: Path) -> None:
    said = retinue("run", "echoes whatever it is told", "--agent", "echo", "-q")
    assert (said.code, "heard echoes whatever it is told" in said.out) == (0, True)
    assert "echo" in retinue("plan", "echoes whatever it is told", "--agent", "echo").out


@pytest.mark.requirement("B17")
def test_a_module_that_is_none_here_does_not_end_a_goal(
    retinue: Give, module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTIVE_AGENT_PATH", "core/gone.py")
    said = retinue("plan", "is the work tree clean")
    assert said.code == 0
    assert "ACTIVE_AGENT_PATH does not give an agent" in said.err
    assert "gives no agent" not in retinue("plan", "is the work tree clean", "--json").err


def test_an_agent_that_was_passed_over_is_told_of_with_the_reason(retinue: Give, folder: Path) -> None:
    agents = folder / ".retinue" / "agents"
    agents.mkdir(parents=True)
    (agents / "code-reviewer.json").write_text(
        '{"name": "code_reviewer", "description": "Reviews a change. Use before a merge. Returns the issues.",'
        ' "input_schema": {"type": "object", "properties": {}}, "command": ["true"]}'
    )
    said = retinue("ask", "code_reviewer", "Review the change")
    assert said.code == 2
    assert "`.retinue/agents/code-reviewer.json` was skipped. It names a program to run" in said.err
    assert "retinue trust" in said.err
    assert "was skipped" not in retinue("ask", "code_reviewers", "Review the change").err
