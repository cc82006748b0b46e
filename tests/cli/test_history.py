"""What a person sees of past runs: their steps, what failed in them, and the files that hold them."""

import json
import logging
import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.trust import TrustStore
from retinue.cli.fault_log import FaultFile
from retinue.engine.journal import Journal
from tests.cli import shell
from tests.cli.conftest import Give
from tests.orchestration.present.pages import read
from tests.postgres import Postgres

FLAKY = '''
from pathlib import Path
import asyncio, retinue
from retinue.errors import NetworkError

@retinue.agent
async def dialer(task: str) -> dict[str, str]:
    """Dials old telephones. Use when a telephone must be dialed. Returns the call."""
    mark = Path("dialed")
    if not mark.exists():
        mark.touch()
        raise NetworkError("Nobody answered.", hint="Dial again.")
    return {"call": task}

@retinue.agent
async def waiter(task: str) -> dict[str, str]:
    """Waits at tables. Use when a table must be waited at. Returns the tip."""
    while not Path("bell").exists():
        await asyncio.sleep(0.02)
    return {"tip": task}
'''


def add_agents(team: Path) -> None:
    (team / ".retinue" / "agents" / "flaky.py").write_text(FLAKY)
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(team)


def mend(team: Path) -> None:
    file = team / ".retinue" / "agents" / "team.py"
    file.write_text(
        file.read_text().replace('raise RuntimeError("the', 'return {"shards": task}\n    raise RuntimeError("the')
    )
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(team)


def log_lines(home: Path, environment: str = "production") -> list[Any]:
    file = home / "state" / f"faults.{environment}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def statuses(retinue: Give, *options: str) -> list[str]:
    return [each["status"] for each in retinue("runs", "faults", *options, "--json").data]


# Steps.


def test_a_run_is_shown_as_a_tree_of_steps_with_what_failed(retinue: Give, team: Path) -> None:
    retinue("run", "govern a small village and break a glass window")
    shown = retinue("runs", "show").err.splitlines()
    rows = [" ".join(line.split()[:3]) for line in shown]
    assert rows.index("n1 chief done") < rows.index("a singer done") < rows.index("n2 breaker failed")
    assert any(line.startswith("    internal_error: `breaker` raised") and line.endswith("[ERROR]") for line in shown)
    assert any(line.startswith("    give_up: ") for line in shown)
    steps = retinue("runs", "show", "--json").data["steps"]
    assert [child["id"] for child in steps[0]["children"]] == ["a", "b"]


def test_a_fork_is_shown_with_what_it_has_from_before(retinue: Give, team: Path) -> None:
    retinue("run", "govern a small village and break a glass window")
    run = retinue("runs", "list", "--json").data[0]["run"]
    chief, breaker = retinue("runs", "show", run, "--json").data["steps"]
    retinue("runs", "fork", run)
    forked_chief, forked_breaker = retinue("runs", "show", "--json").data["steps"]
    assert forked_chief["state"] == chief["state"] == "success"
    assert [(each["id"], each["state"], each["is_reused"]) for each in forked_chief["children"]] == [
        (each["id"], "success", True) for each in chief["children"]
    ]
    assert forked_chief["ended_ns"] == chief["ended_ns"]
    assert forked_chief["started_ns"] >= chief["started_ns"]
    assert forked_breaker["started_ns"] > breaker["ended_ns"]


def test_steps_say_what_a_resumed_run_keeps(retinue: Give, team: Path) -> None:
    retinue("run", "govern a small village and break a glass window")
    lines = retinue("runs", "steps").out.splitlines()
    assert [line.split()[0] for line in lines] == ["step", "n1", "n1/a", "n1/b", "n2"]
    assert ["kept" in line for line in lines[1:]] == [True, True, True, False]
    assert "runs again" in lines[-1]
    rows = retinue("runs", "steps", "--json").data
    assert [(each["step"], each["state"], each["kept"]) for each in rows][-1] == ("n2", "error", False)
    assert all(each["attempts"] == 1 for each in rows)


# Faults.


@pytest.mark.requirement("A14")
def test_a_post_mortem_says_what_failed_when_what_was_tried_what_it_cost_and_what_to_do_next(
    retinue: Give, team: Path
) -> None:
    retinue("ask", "breaker", "--param", "task=x")
    lines = retinue("runs", "show", "--faults").out.splitlines()
    heads = [line[2:10].strip() for line in lines if line.startswith("  ") and line[2:10].strip()]
    assert lines[0] == "n1 breaker.breaker"
    assert heads[:6] == ["failed", "when", "tried", "cost", "status", "next"]
    text = "\n".join(lines)
    assert "internal_error, fatal: `breaker` raised `RuntimeError`" in text
    assert "after the start, attempt 1" in text
    assert "give_up: " in text
    assert "The error is inside the agent: fix it" in text
    assert "retinue runs resume" in text


@pytest.mark.requirement("H30")
def test_a_fault_is_resolved_when_the_run_is_resumed_and_its_step_succeeds(
    retinue: Give, team: Path, home: Path
) -> None:
    retinue("run", "sing a loud song and break a glass window")
    assert statuses(retinue) == ["ERROR"]
    mend(team)
    retinue("runs", "resume", "--accept-changes")
    assert statuses(retinue) == ["RESOLVED"]
    lines = log_lines(home)
    assert [each["status"] for each in lines] == ["ERROR", "FIX_PLANNED", "RESOLVED"]
    assert len({each["id"] for each in lines}) == 1


@pytest.mark.requirement("H30")
def test_a_fault_is_resolved_by_a_fork_in_which_its_step_succeeds(retinue: Give, team: Path) -> None:
    retinue("ask", "breaker", "--param", "task=x")
    run = retinue("runs", "list", "--json").data[0]["run"]
    retinue("runs", "fork", run)
    assert statuses(retinue, "--workflow", run) == ["ERROR"]  # the fork failed as well
    mend(team)
    retinue("runs", "fork", run)
    (fault,) = retinue("runs", "faults", "--workflow", run, "--json").data
    fork = retinue("runs", "list", "--json").data[0]["run"]
    assert (fault["status"], fault["context"]["resolution"]) == ("RESOLVED", f"run {fork}: `breaker` answered")


@pytest.mark.requirement("H30")
def test_a_fault_that_another_attempt_mends_is_planned_and_then_resolved(retinue: Give, team: Path, home: Path) -> None:
    add_agents(team)
    assert retinue("ask", "dialer", "--param", "task=x").code == 0
    assert [(each["status"], each["persistence"]) for each in log_lines(home)] == [
        ("FIX_PLANNED", "transient"),
        ("RESOLVED", "transient"),
    ]
    (fault,) = retinue("runs", "faults", "--json").data
    assert (fault["error_type"], fault["status"], fault["source"]["attempt"]) == ("network_error", "RESOLVED", 1)
    assert fault["context"]["hint"] == "Dial again."


@pytest.mark.requirement("H30")
def test_faults_are_filtered_by_command_type_age_and_workflow(retinue: Give, team: Path) -> None:
    retinue("run", "sing a loud song and break a glass window")
    retinue("ask", "breaker", "--param", "task=x")
    newest, oldest = (each["run"] for each in retinue("runs", "list", "--json").data)

    def runs(*options: str) -> list[str]:
        return [each["workflow_id"] for each in retinue("runs", "faults", *options, "--jsonl").lines]

    assert runs() == [newest, oldest]
    assert runs("--command", "ask") == runs("--type", "fatal") == runs("--workflow", newest[-6:]) == [newest]
    assert runs("--command", "run") == runs("--type", "permanent") == [oldest]
    assert runs("--type", "internal_error", "--since", "1h") == [newest, oldest]
    assert runs("--type", "timeout") == runs("--since", "2099-01-01") == runs("--command", "serve") == []
    assert runs("-n", "1") == [newest]
    assert "No faults." in retinue("runs", "faults", "--type", "timeout").err
    assert retinue("runs", "faults").out.splitlines()[0].split() == ["when", "status", "type", "kind", "agent", "run", "step", "what"]  # fmt: skip
    assert retinue("runs", "faults", "--type", "sadness").code == 2


@pytest.mark.requirement("H30")
def test_the_log_has_what_an_error_journal_needs_and_only_its_owner_reads_it(
    retinue: Give, team: Path, home: Path
) -> None:
    retinue("ask", "breaker", "--param", "task=x")
    (line,) = log_lines(home)
    assert {"timestamp", "environment", "command", "workflow_id", "args", "error_type", "message", "source", "stack",
            "context", "status"} <= line.keys()  # fmt: skip
    assert (line["command"], line["environment"], line["args"]["parameters"]) == ("ask", "production", {"task": "x"})
    assert line["stack"][1] == "n1 breaker breaker"
    assert (home / "state" / "faults.production.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("H30")
def test_tests_log_their_faults_apart_and_nothing_is_logged_where_nobody_wants_it(
    retinue: Give, team: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retinue("run", "--no-journal", "break a glass window")
    monkeypatch.setenv("RETINUE_RUN_FAULT_LOG", "false")
    retinue("run", "break a glass window")
    assert not log_lines(home)
    monkeypatch.delenv("RETINUE_RUN_FAULT_LOG")
    monkeypatch.setenv("RETINUE_RUN_ENVIRONMENT", "test")
    retinue("run", "break a glass window")
    assert [each["environment"] for each in log_lines(home, "test")] == ["test"]
    assert not log_lines(home)
    assert [each["environment"] for each in retinue("runs", "faults", "--json").data] == ["test", "production"]


@pytest.mark.requirement("H30")
def test_the_log_is_rotated_at_ten_megabytes_and_five_older_files_are_kept(home: Path) -> None:
    file = home / "state" / "faults.production.jsonl"
    file.parent.mkdir(exist_ok=True)
    record = logging.makeLogRecord({"fault": {"message": "x" * 6_000_000}})
    handler = FaultFile("production")
    for _ in range(8):
        handler.emit(record)
    assert sorted(each.name for each in file.parent.glob("faults*")) == [
        file.name,
        *(f"{file.name}.{number}" for number in range(1, 6)),
    ]
    assert {each.stat().st_mode & 0o777 for each in file.parent.glob("faults*")} == {0o600}


@pytest.mark.requirement("H30")
def test_a_log_that_cannot_be_written_is_said_once_and_stops_no_run(retinue: Give, team: Path, home: Path) -> None:
    (home / "state" / "faults.production.jsonl").mkdir(parents=True)
    said = retinue("run", "break a glass window and break a wooden window")
    assert said.err.count("The log of faults cannot be written") == 1
    assert len(retinue("runs", "faults", "--json").data) == 2


# From another process.


def test_a_run_of_another_process_is_followed_to_its_answer_and_left_alone_by_ctrl_c(
    retinue: Give, team: Path, home: Path
) -> None:
    add_agents(team)
    running = shell.start(home, team, "ask", "waiter", "--param", "task=x")
    try:
        while not retinue("runs", "list", "--json").data:
            time.sleep(0.05)
        left = shell.start(home, team, "runs", "follow", "--jsonl")
        assert left.stdout is not None
        assert json.loads(left.stdout.readline())["kind"] == "started"
        left.send_signal(signal.SIGINT)
        _, err = left.communicate(timeout=30)
        assert left.returncode == 130
        assert "goes on without being followed" in err
        follower = shell.start(home, team, "runs", "follow", "--jsonl")
        assert follower.stdout is not None
        first = json.loads(follower.stdout.readline())
        assert running.poll() is None
        (team / "bell").touch()
        out, _ = follower.communicate(timeout=30)
        last = json.loads(out.splitlines()[-1])
        assert (first["sequence"], last["kind"], last["node"], follower.returncode) == (1, "finished", "", 0)
        assert running.wait(30) == 0
    finally:
        (team / "bell").touch()
        running.communicate(timeout=30)
    said = retinue("runs", "follow")
    assert (said.code, "tip" in said.out) == (0, True)


def test_a_run_whose_process_has_ended_cannot_be_followed(retinue: Give, team: Path, home: Path) -> None:
    add_agents(team)
    running = shell.start(home, team, "ask", "waiter", "--param", "task=x")
    while not retinue("runs", "list", "--json").data:
        time.sleep(0.05)
    running.kill()
    running.communicate(timeout=30)
    said = retinue("runs", "follow")
    assert (said.code, "has ended" in said.err) == (4, True)


# Files.


def test_a_run_is_exported_for_programs(retinue: Give, team: Path, tmp_path: Path) -> None:
    retinue("run", "govern a small village and break a glass window")
    whole = retinue("runs", "export").data
    assert {"run", "steps", "faults", "result", "events", "payload"} <= whole.keys()
    lines = retinue("runs", "export", "--format", "jsonl").lines
    assert lines == whole["events"]
    assert {each["run"] for each in lines} > {whole["run"]}  # child runs too
    assert lines == sorted(lines, key=lambda each: each["at_ns"])
    assert "written to" in retinue("runs", "export", "-o", str(tmp_path / "run.jsonl")).err
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == len(lines)
    assert retinue("runs", "export", "-o", str(tmp_path / "run.txt")).code == 2


def test_a_page_of_a_run_shows_all_of_it_and_nothing_foreign_becomes_markup(retinue: Give, team: Path) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    retinue("ask", "breaker", "--param", f"task={hostile}")
    retinue("run", f"sing a loud song {hostile} and break a glass window")
    said = retinue("runs", "export", "--format", "html")
    page = read(said.out)
    assert all(heading in page.text for heading in ("Steps", "What failed", "Decisions", "Events"))
    assert not {"script", "img", "iframe", "link"} & {*page.tags}
    assert "internal_error" in page.text
    assert "default-src &#x27;none&#x27;" in said.out
    assert not page.unbalanced
    assert not any(mark in said.out for mark in "\x1b\u202e")


def test_a_bundle_brings_a_run_into_another_history_and_back(
    retinue: Give, team: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retinue("run", "govern a small village and break a glass window")
    file = tmp_path / "run.bundle"
    retinue("runs", "export", "-o", str(file))
    before, stats = retinue("runs", "export").data, retinue("stats", "--json").data
    refused = retinue("runs", "import", str(file))
    assert (refused.code, "in the history already" in refused.err, "--as NEW" in refused.err) == (2, True, True)
    monkeypatch.setenv("RETINUE_STATE_DIR", str(tmp_path / "other"))
    TrustStore(tmp_path / "other").trust(team)
    assert retinue("runs", "import", str(file), "--json").data == {
        "run": before["run"],
        "runs": 2,
        "events": len(before["events"]),
    }
    with closing(sqlite3.connect(tmp_path / "other" / "journal.sqlite3")) as connection:
        assert connection.execute("SELECT DISTINCT status FROM runs").fetchall() == [("ended",)]
    after = retinue("runs", "export").data
    assert after["events"] == before["events"]
    assert after["faults"] == before["faults"]
    assert statuses(retinue) == ["ERROR"]
    assert retinue("stats", "--json").data == stats
    assert retinue("runs", "import", str(file), "--as", "copy").code == 0
    assert retinue("runs", "import", str(file), "--as", "a:b").code == 2
    assert [each["step"] for each in retinue("runs", "steps", "copy", "--json").data] == ["n1", "n1/a", "n1/b", "n2"]
    mend(team)
    assert "shards" in retinue("runs", "resume", "copy", "--accept-changes").out


@pytest.mark.slow
def test_runs_go_from_a_file_into_postgresql_and_back_with_all_that_is_known_of_them(
    retinue: Give, team: Path, tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    retinue("run", "govern a small village and break a glass window")
    retinue("runs", "resume")
    retinue("runs", "fork", retinue("runs", "list", "--json").data[0]["run"])
    runs = [each["run"] for each in retinue("runs", "list", "--json").data]

    def shown() -> list[Any]:
        told = [retinue("runs", "show", run, "--events", "--json").data for run in runs]
        return [
            *told,
            *(retinue(*words, "--json").data for words in (("runs", "list"), ("runs", "faults"), ("stats",))),
        ]

    before = shown()
    for number, store in enumerate((postgres.fresh(), str(tmp_path / "other.sqlite3"))):
        files = [str(tmp_path / f"{run}.{number}.bundle") for run in runs]
        for run, file in zip(runs, files, strict=True):
            assert retinue("runs", "export", run, "-o", file).code == 0
        monkeypatch.setenv("RETINUE_STORE", store)
        for file in files:
            assert retinue("runs", "import", file).code == 0
        assert shown() == before


def test_an_imported_run_names_no_folder_program_or_model(
    retinue: Give, team: Path, home: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    (team / "tool").write_text(f"#!/bin/sh\ntouch {mark}\nexit 3\n")
    (team / "tool").chmod(0o755)
    retinue("ask", "--command", "./tool", "--as", "tool", "do", "it")
    assert mark.exists()
    mark.unlink()
    file = tmp_path / "run.bundle"
    retinue("runs", "export", "-o", str(file))
    retinue("runs", "import", str(file), "--as", "theirs")
    with Journal(home / "state" / "journal.sqlite3") as journal:
        assert journal.history("theirs").payload["plan"]["extras"]["cli"] == {"verb": "ask"}
    retinue("runs", "resume", "theirs", "--accept-changes")
    assert not mark.exists()


@pytest.mark.parametrize("text", ["", "{}", "nonsense\nmore"])
def test_what_is_no_bundle_is_refused(retinue: Give, team: Path, text: str) -> None:
    said = retinue("runs", "import", "-", stdin=text)
    assert (said.code, "not a bundle" in said.err) == (2, True)
    assert retinue("runs", "import", "nowhere").code == 2
