"""`retinue run`, with nobody at the terminal."""

from pathlib import Path

import pytest

from retinue.cli import session
from retinue.engine.journal import Journal
from tests.cli.conftest import Give

BOTH = "sing a loud song and paint a wooden fence"


@pytest.mark.requirement("A8", "C20")
def test_the_answer_is_on_stdout_and_everything_about_it_on_stderr(retinue: Give, team: Path) -> None:
    said = retinue("run", "sing a loud song and print a newspaper")
    assert said.code == 0
    assert said.out == (
        "## Sing a loud song\n\n- song: sing a loud song\n\n## Print a newspaper\n\n- paper: print a newspaper\n"
    )
    assert "ink everywhere" in said.err  # an agent's own print is not the answer
    (summary,) = [line for line in said.err.splitlines() if line.startswith("answered")]
    assert " · 2 agents · " in summary
    assert "tokens" not in summary  # how much context was passed on is for --explain
    explained = retinue("run", "sing a loud song and print a newspaper", "--explain")
    assert " tokens (counted by `words`)." in explained.out
    assert "$" not in summary  # nobody measured what it cost


def test_quiet_leaves_only_the_answer(retinue: Give, team: Path) -> None:
    said = retinue("run", "--quiet", "sing a loud song")
    assert (said.code, said.out, said.err) == (0, "- song: sing a loud song\n", "")


def test_the_goal_may_come_as_bare_words_or_from_stdin(retinue: Give, team: Path) -> None:
    bare = retinue("run", "-q", "sing", "a", "loud", "song")
    piped = retinue("run", "-q", "-", stdin="sing a loud song\n")
    assert bare.out == piped.out == "- song: sing a loud song\n"


def test_json_is_one_document(retinue: Give, team: Path) -> None:
    said = retinue("run", "--json", "sing a loud song")
    assert (said.code, said.err) == (0, "")
    assert said.data["outcome"] == "success"
    assert said.data["data"]["answer"][0]["agent"] == "singer"


def test_events_are_lines_and_the_last_one_holds_the_result(retinue: Give, team: Path) -> None:
    said = retinue("run", "--jsonl", "sing a loud song and govern a small village")
    assert (said.code, said.err) == (0, "ink everywhere\n")
    *events, last = said.lines
    run = last["run"]
    assert {event["run"].partition(":")[0] for event in events} == {run}
    assert any(event["run"] != run for event in events)  # the village's own run is there too
    assert (last["kind"], last["node"], last["result"]["outcome"]) == ("finished", "", "success")
    own = [event["sequence"] for event in [*events, last] if event["run"] == run]
    assert own == list(range(1, len(own) + 1))


def test_a_failing_branch_is_said_and_the_rest_is_the_answer(retinue: Give, team: Path) -> None:
    said = retinue("run", "sing a loud song and break a glass window")
    assert said.code == 0
    assert "- song: sing a loud song" in said.out
    assert "What went wrong" in said.out
    assert said.err.startswith("answered in part")
    assert "\x1b" not in said.out + said.err
    assert "\u202e" not in said.out + said.err


def test_a_partial_answer_fails_when_that_is_wished(retinue: Give, team: Path) -> None:
    said = retinue("run", "--fail-on", "partial", "sing a loud song and break a glass window")
    assert said.code == 1
    assert "- song: sing a loud song" in said.out
    assert "error: Break a glass window (`breaker`):" in said.err
    assert "next: " in said.err


def test_a_partial_answer_without_a_failure_fails_too_when_that_is_wished(retinue: Give, team: Path) -> None:
    said = retinue("run", "--fail-on", "partial", "sing a loud song. Bake an enormous cake with cherries.")
    assert said.code == 1
    assert "error: Part of the goal was not answered." in said.err


def test_a_run_that_brings_nothing_fails(retinue: Give, team: Path) -> None:
    said = retinue("run", "break a glass window")
    assert (said.code, said.out) == (1, "")
    assert "error: `breaker` raised `RuntimeError`: the hammer slipped" in said.err
    assert retinue("run", "break a glass window", "--json").error["code"] == "internal_error"


def test_a_goal_that_nobody_can_answer_is_refused_on_one_screen(retinue: Give, team: Path) -> None:
    said = retinue("run", "--agent", "singer", "--agent", "painter", "zxqw vbnm")
    assert said.code == 1
    assert said.out.startswith("## Not answered\n\n- zxqw vbnm: ")
    assert "`painter.painter`" in said.out
    assert said.out.count("`singer.singer`") == 1
    assert said.out.count("\n") < 24
    assert ("error" in said.err, "not answered" in said.err) == (False, True)


def test_a_refusal_names_goals_that_would_be_answered(retinue: Give, folder: Path) -> None:
    said = retinue("run", "bake me a cheesecake")
    assert said.code == 1
    examples = said.out.partition("What could be asked here:\n\n")[2]
    assert examples.startswith("- ")
    assert "flights.csv" not in examples  # no such file is here
    page = retinue("run", "bake me a cheesecake", "--format", "html")
    assert page.code == 1
    assert "<p>What could be asked here:</p>" in page.out
    data = retinue("run", "bake me a cheesecake", "--json")
    assert (data.code, data.data["outcome"]) == (1, "rejected")
    assert data.error["message"] == "No agent here can do any part of this goal."
    (refused,) = data.data["data"]["not_answered"]
    assert refused["clause"] == "bake me a cheesecake"
    assert {"agent", "skill", "share"} <= refused["nearest"][0].keys()
    assert refused["examples"]


@pytest.mark.parametrize("goal", ["", "   ", "x" * 10_001, "bell \x07"])
def test_a_goal_that_is_none_is_refused(retinue: Give, team: Path, goal: str) -> None:
    said = retinue("run", goal)
    assert (said.code, said.out) == (2, "")
    assert "error: The goal" in said.err
    assert "next: " in said.err


def test_a_million_characters_are_refused_at_once(retinue: Give, team: Path) -> None:
    assert retinue("run", "-", stdin="sing " * 200_000).code == 2
    assert "Standard input is larger than" in retinue("run", "-", stdin="x" * (8 * 2**20 + 1)).err


def test_a_question_with_nobody_there_is_in_the_output(retinue: Give, team: Path) -> None:
    said = retinue("run", "paint a wooden fence")
    assert said.code == 9
    assert "## Questions" in said.out
    assert "error: No terminal to ask in: What is `colour`" in said.err
    assert "Put `colour` into the plan" in said.err
    assert "retinue runs resume" in said.err


def test_a_question_beside_an_answer_shows_in_the_exit_code(retinue: Give, team: Path) -> None:
    said = retinue("run", "--json", BOTH)
    assert said.code == 9
    assert said.data["outcome"] == "partial"
    assert said.error["question"]["parameter"] == "colour"


def test_time_is_bounded_and_what_was_done_is_kept(retinue: Give, team: Path) -> None:
    said = retinue("run", "--timeout", "300ms", "sing a loud song and crawl slowly over leaves")
    assert said.code == 7
    assert "- song: sing a loud song" in said.out
    assert "(`--timeout`)" in said.err


@pytest.mark.parametrize("time", ["0", "-1", "soon", "1d", "inf", "nan"])
def test_a_time_that_is_none_is_refused(retinue: Give, team: Path, time: str) -> None:
    said = retinue("run", "--timeout", time, "sing a loud song")
    assert said.code == 2
    assert "is not a duration" in said.err


@pytest.mark.parametrize("amount", ["-1", "much", "inf", "nan"])
def test_an_amount_that_is_none_is_refused(retinue: Give, team: Path, amount: str) -> None:
    assert "is not an amount of money" in retinue("run", f"--max-cost={amount}", "sing a loud song").err


def test_no_tokens_means_no_work(retinue: Give, team: Path) -> None:
    said = retinue("run", "--max-tokens", "0", "--max-cost", "$0.50", "sing a loud song")
    assert (said.code, said.out) == (7, "")
    assert "`--max-tokens`" in said.err


def test_only_the_agents_named_are_used(retinue: Give, team: Path) -> None:
    said = retinue("run", "--json", "--agent", "painter", "sing a loud song")
    assert said.data["outcome"] == "rejected"
    assert retinue("run", "--agent", "paintr", "sing").code == 2


def test_an_edge_carries_what_is_wished(retinue: Give, team: Path) -> None:
    goal = "sing a loud song, then print a newspaper"
    plan = retinue("run", "--json", "--context", "full", goal).data["data"]["plan"]
    assert [node.get("context") for node in plan["nodes"] if node.get("needs")] == [{"n1": "full"}]


def test_history_is_kept_unless_it_is_not_wanted(retinue: Give, team: Path, home: Path) -> None:
    said = retinue("run", "--no-journal", "sing a loud song")
    assert "run " not in said.err.splitlines()[-1]
    assert not (home / "state" / "journal.sqlite3").exists()
    retinue("run", "sing a loud song")
    with Journal(home / "state" / "journal.sqlite3") as journal:
        assert [record.label for record in journal.list()] == ["sing a loud song"]


def test_a_history_that_cannot_be_written_is_a_warning(retinue: Give, team: Path, home: Path) -> None:
    (home / "state" / "journal.sqlite3").mkdir(parents=True)
    said = retinue("run", "sing a loud song")
    assert (said.code, said.out) == (0, "- song: sing a loud song\n")
    assert "warning: History is not recorded" in said.err
    assert "run " not in said.err.splitlines()[0]


def test_nothing_is_written_into_the_project(retinue: Give, team: Path) -> None:
    before = sorted(path for path in team.rglob("*"))
    retinue("run", "sing a loud song")
    assert sorted(path for path in team.rglob("*")) == before


def test_a_folder_that_is_not_there_is_said(retinue: Give, team: Path) -> None:
    said = retinue("run", "-C", "nowhere", "sing")
    assert (said.code, "No such folder: 'nowhere'." in said.err) == (2, True)
    (team / "file").write_text("")
    assert "is not a folder" in retinue("run", "-C", "file", "sing").err


def test_files_that_gave_no_agent_and_settings_that_do_not_hold_are_said(retinue: Give, team: Path) -> None:
    (team / ".retinue" / "agents" / "broken.json").write_text("{")
    (team / "retinue.toml").write_text("[run]\njournal = false\n")
    said = retinue("run", "where is the quick brown fox?")
    assert "a project may not set `run.journal`" in said.err
    assert "skipped: see `retinue agents`" in said.err
    assert "run.journal" not in retinue("run", "-q", "where is the quick brown fox?").err


def test_output_of_an_agent_that_bypasses_python_stays_off_stdout(retinue: Give, team: Path) -> None:
    assert retinue("ask", "leaker", "x", "--quiet").out == "- water: x\n"


def test_what_was_settled_travels_with_the_plan(retinue: Give, team: Path) -> None:
    extras = retinue("run", "--json", "--agent", "singer", "sing a loud song").data["data"]["plan"]["extras"]
    assert extras["cli"] == {"verb": "run", "workspace": str(team), "agents": ["singer"]}


def test_a_plan_that_no_command_made_has_nothing_settled() -> None:
    from retinue.contract.plan import Plan

    assert session.invocation_in(Plan()) is None
