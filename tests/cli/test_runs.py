"""`retinue runs`: the history, and going on."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Give
from tests.postgres import Postgres


def run_id(retinue: Give, number: int = 0) -> str:
    return str(retinue("runs", "list", "--json").data[number]["run"])


def test_an_empty_history_says_how_to_begin(retinue: Give, folder: Path) -> None:
    said = retinue("runs", "list")
    assert (said.code, said.out) == (0, "")
    assert "No runs yet" in said.err
    assert retinue("runs", "list", "--json").data == []
    assert retinue("runs", "show").code == retinue("runs", "resume").code == 2


def test_runs_are_listed_newest_first(retinue: Give, team: Path) -> None:
    retinue("run", "sing a loud song")
    retinue("ask", "breaker", "--param", "task=x")
    assert [each["label"] for each in retinue("runs", "list", "--json").data] == ["breaker.breaker", "sing a loud song"]
    first, second = retinue("runs").out.splitlines()
    assert "failed" in first
    assert second.endswith("sing a loud song")
    assert "answered" in second
    assert len(retinue("runs", "list", "-n", "1").out.splitlines()) == 1


def test_a_run_is_shown_with_its_answer(retinue: Give, team: Path) -> None:
    retinue("run", "sing a loud song")
    run = run_id(retinue)
    said = retinue("runs", "show", run)
    assert said.out == "- song: sing a loud song\n"
    assert said.err.startswith("sing a loud song\n")
    assert retinue("runs", "show").out == said.out


def test_events_are_shown_when_wished(retinue: Give, team: Path) -> None:
    retinue("run", "sing a loud song and govern a small village. Paint a wooden fence.")
    lines = retinue("runs", "show", "--events").out.splitlines()
    assert any("n1      started     singer.singer: sing a loud song" in line for line in lines)
    assert any("descend: It answers with a plan of 2 delegations." in line for line in lines)
    assert any("asked" in line and "colour" in line for line in lines)
    data = retinue("runs", "show", "--events", "--json").data
    assert data["events"][-1]["kind"] == "finished"
    assert data["result"]["outcome"] == "partial"


@pytest.mark.slow
def test_the_history_may_be_in_postgresql_and_its_password_is_never_shown(
    retinue: Give, team: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = postgres.fresh().replace("postgres:@", "postgres:s3cret@")
    assert retinue("run", "sing a loud song", "--store", store).code == 0
    assert retinue("runs", "list", "--json").data == []  # none on this computer
    said = retinue("runs", "list", "--json", "--store", store)
    assert [each["label"] for each in said.data] == ["sing a loud song"]
    assert retinue("runs", "rate", said.data[0]["run"], "good", "--store", store).code == 0
    monkeypatch.setenv("RETINUE_STORE", store)
    assert retinue("runs", "show").out == "- song: sing a loud song\n"
    shown = [retinue("config", "show", "--json"), retinue("config", "show"), retinue("doctor"), said]
    assert "s3cret" not in "".join(each.out + each.err for each in shown)
    run = retinue("run", "--detach", "sing a loud song").out.strip()
    assert retinue("worker", "--burst").code == 0
    assert retinue("runs", "show", run).out == "- song: sing a loud song\n"
    monkeypatch.setenv("RETINUE_STORE", "postgresql://retinue:s3cret@127.0.0.1:1/runs")
    refused = retinue("runs", "list")
    assert (refused.code, refused.out) == (4, "")
    assert "`postgresql://retinue@127.0.0.1:1/runs` cannot be reached" in refused.err
    monkeypatch.setenv("RETINUE_STORE", "mysql://127.0.0.1/runs")
    assert retinue("runs", "list").code == 2


def test_the_history_may_be_in_another_file(retinue: Give, team: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "other.sqlite3")
    retinue("run", "sing a loud song", "--store", store)
    assert retinue("runs", "list", "--json").data == []
    assert len(retinue("runs", "--store", store).out.splitlines()) == 1
    assert len(retinue("runs", "list", "--store", store, "--json").data) == 1


def test_a_run_may_be_named_by_either_end_of_its_id(retinue: Give, team: Path) -> None:
    retinue("run", "sing a loud song")
    retinue("run", "print a newspaper")
    run = run_id(retinue)
    assert retinue("runs", "show", run[-5:], "--json").data["run"] == run
    assert retinue("runs", "show", run[:-1], "--json").data["run"] == run
    ambiguous = retinue("runs", "show", run[:2])
    assert (ambiguous.code, "2 runs match" in ambiguous.err) == (2, True)
    unknown = retinue("runs", "show", "zzzz")
    assert (unknown.code, "There is no run 'zzzz'." in unknown.err) == (2, True)
    assert retinue("runs", "show", "").code == 2


def test_a_resumed_run_keeps_what_it_has_finished(retinue: Give, team: Path) -> None:
    assert retinue("run", "sing a loud song and break a glass window").code == 0
    file = team / ".retinue" / "agents" / "team.py"
    mended = file.read_text().replace('raise RuntimeError("the', 'return {"shards": task}\n    raise RuntimeError("the')
    file.write_text(mended.replace('" ".join([task] * times)', '"sung anew"'))
    retinue("trust", "--yes")
    said = retinue("runs", "resume")
    assert said.code == 0
    assert "- song: sing a loud song" in said.out  # not sung anew
    assert "- shards: break a glass window" in said.out


def test_a_resumed_run_tells_only_what_is_new(retinue: Give, team: Path) -> None:
    retinue("run", "sing a loud song and break a glass window")
    before = retinue("runs", "show", "--events", "--json").data["events"]
    lines = retinue("runs", "resume", "--jsonl").lines
    assert lines[0]["sequence"] > before[-1]["sequence"]
    assert (lines[-1]["kind"], lines[-1]["node"]) == ("finished", "")


def test_a_run_that_ended_well_stays_as_it_is(retinue: Give, team: Path) -> None:
    retinue("run", "sing a loud song")
    said = retinue("runs", "resume", "--json")
    assert (said.code, said.data["outcome"]) == (0, "success")


def test_a_run_is_resumed_where_and_as_it_was_started(
    retinue: Give, team: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retinue("run", "--agent", "breaker", "break a glass window")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert "`breaker` raised" in retinue("runs", "resume").err
    assert retinue("runs", "resume", "-C", str(elsewhere)).code == 2  # nobody is called that there


def test_a_question_can_be_asked_again_by_resuming(retinue: Give, team: Path) -> None:
    assert retinue("ask", "painter").code == 9
    assert retinue("runs", "resume").code == 9


def test_old_runs_go_when_told_to(retinue: Give, team: Path) -> None:
    retinue("run", "sing a loud song")
    retinue("run", "print a newspaper")
    assert retinue("runs", "prune").code == 2
    assert "0 runs deleted" in retinue("runs", "prune", "--older-than", "1").err
    assert "1 run deleted" in retinue("runs", "prune", "--keep", "1").err
    assert [each["label"] for each in retinue("runs", "list", "--json").data] == ["print a newspaper"]


def damage(home: Path, statement: str) -> None:
    with sqlite3.connect(home / "state" / "journal.sqlite3") as connection:
        connection.execute(statement)
    connection.close()


def test_a_damaged_run_is_listed_as_such(retinue: Give, team: Path, home: Path) -> None:
    retinue("run", "sing a loud song")
    damage(home, "UPDATE runs SET body = '{'")
    assert "damaged" in retinue("runs", "list").out
    said = retinue("runs", "show")
    assert (said.code, said.out) == (2, "")
    assert "cannot be read" in said.err


def test_a_run_whose_plan_was_edited_is_not_resumed(retinue: Give, team: Path, home: Path) -> None:
    retinue("run", "break a glass window")
    damage(home, "UPDATE runs SET payload = '{\"plan\": 3}'")
    said = retinue("runs", "resume")
    assert (said.code, "Cannot read the plan of run" in said.err) == (2, True)


def test_a_run_whose_process_died_says_how_to_go_on(retinue: Give, team: Path, home: Path) -> None:
    retinue("run", "sing a loud song")
    damage(home, "DELETE FROM events WHERE kind = 'finished'")
    assert "stalled" in retinue("runs", "list").out
    said = retinue("runs", "show")
    assert "Its process has ended; 0 results kept. Continue with: retinue runs resume" in said.err
    assert retinue("runs", "resume", "-q").out == "- song: sing a loud song\n"


def test_a_run_that_goes_on_elsewhere_is_not_touched(retinue: Give, team: Path, home: Path) -> None:
    from retinue.engine.journal import Journal
    from retinue.engine.run_history import RunHistory

    payload: dict[str, Any] = {"plan": {"goal": "x", "nodes": []}}
    with Journal(home / "state" / "journal.sqlite3") as journal:
        journal.begin(RunHistory("theirs", "run_plan", payload, "x", 1))
        journal.flush()
        assert "working" in retinue("runs", "list").out
        assert "still running" in retinue("runs", "show", "theirs").err
        said = retinue("runs", "resume", "theirs")
    assert (said.code, "still running" in said.err) == (2, True)


def test_hostile_goals_in_the_history_are_shown_harmless(retinue: Give, team: Path, home: Path) -> None:
    retinue("run", "sing a loud song")
    body = json.dumps({"workflow": "run_plan", "label": "\x1b[2J\u202egoal", "parent": None, "owner": ""})
    with sqlite3.connect(home / "state" / "journal.sqlite3") as connection:
        connection.execute("UPDATE events SET body = ? WHERE sequence = 0", (body,))
    connection.close()
    said = [retinue("runs", "list"), retinue("runs", "show"), retinue("runs", "list", "--json")]
    assert not {"\x1b", "\u202e"}.intersection("".join(each.out + each.err for each in said))


@pytest.mark.requirement("P21")
def test_a_run_is_rated_and_shown_with_it(retinue: Give, team: Path) -> None:
    retinue("run", "sing a loud song")
    run = run_id(retinue)
    said = retinue("runs", "rate", run[-5:], "bad", "--comment", "too \x1b[31mloud")
    assert (said.code, said.out, said.err) == (0, "", f"Rated run {run} as bad.\n")
    shown = retinue("runs", "show", run).err
    assert "rated bad on" in shown
    assert "\x1b[31mloud" not in shown
    assert retinue("runs", "show", run, "--json").data["rating"]["verdict"] == "bad"
    assert retinue("runs", "rate", run, "good").code == 0
    assert "comment" not in retinue("runs", "show", run, "--json").data["rating"]


@pytest.mark.requirement("P21")
def test_what_cannot_be_rated_says_so(retinue: Give, team: Path) -> None:
    assert retinue("runs", "rate", "zzzz", "good").code == 2
    retinue("run", "sing a loud song")
    assert retinue("runs", "rate", run_id(retinue), "great").code == 2
    assert "the limit is 2,000" in retinue("runs", "rate", run_id(retinue), "good", "--comment", "x" * 2_001).err


@pytest.mark.requirement("C3")
@pytest.mark.parametrize(("level", "code"), [("strict", 5), ("standard", 0)])
def test_a_run_is_resumed_as_strictly_as_it_was_started(retinue: Give, folder: Path, level: str, code: int) -> None:
    envelope = {
        "status": "success", "agent": "scorer", "version": "1.0", "operation": "score",
        "result": {"score": "85"}, "metadata": {"execution_time_ms": 1},
    }  # fmt: skip
    (folder / "scorer").write_text(f"#!/bin/sh\ncat > /dev/null\ncat <<'END'\n{json.dumps(envelope)}\nEND\n")
    (folder / "scorer").chmod(0o755)
    command = ("--command", "./scorer", "--dialect", "markdown_json", "--as", "scorer", "score", "How good is it?")
    assert retinue("ask", "--level", level, *command).code == code
    assert retinue("runs", "resume").code == code


def test_a_store_is_checked_and_its_damage_named(retinue: Give, team: Path, home: Path) -> None:
    file = home / "state" / "journal.sqlite3"
    assert retinue("store", "migrate").err.endswith("nothing there yet.\n")
    retinue("run", "sing a loud song")
    assert retinue("store", "migrate").err.endswith("format 2.\n")
    said = retinue("store", "check")
    assert (said.code, said.out) == (0, "")
    assert said.err.endswith("1 run, 0 problems\n")
    run = run_id(retinue)
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM events WHERE sequence = 2")
    connection.close()
    said = retinue("store", "check", "--store", str(file))
    assert said.code == 6
    assert said.out.startswith(f"{run}: ")
    assert "event 2 is missing" in said.out
    data = retinue("store", "check", "--json").data
    assert (data["runs"], [each["run"] for each in data["problems"]]) == (1, [run])


def test_what_is_no_store_is_said(retinue: Give, folder: Path) -> None:
    assert retinue("store", "check", "--store", "nowhere.db").code == 2
    (folder / "text.db").write_text("no database at all" * 100, encoding="utf-8")
    assert retinue("store", "check", "--store", "text.db").code == 6
    assert retinue("store", "migrate", "--store", "text.db").code != 0
