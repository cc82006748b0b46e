"""The command as a process: streams, signals, exit codes, and what it leaves behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.shell import COMMAND, children_of, environment, run, start
from tests.repository.tree import child_environment

pytestmark = pytest.mark.slow


def test_data_and_talk_are_on_two_streams(team: Path, home: Path) -> None:
    done = run(home, team, "ask", "leaker", "x", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["data"] == {"water": "x"}
    assert done.stderr == "water everywhere\n"


def test_nothing_moves_the_cursor_in_a_pipe(team: Path, home: Path) -> None:
    done = run(home, team, "run", "write a rude letter and break a glass window")
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("words", [("run", "sing a loud song"), ("run", "sing a loud song", "--jsonl"), ("agents",)])
def test_a_reader_that_has_gone_is_no_error(team: Path, home: Path, words: tuple[str, ...]) -> None:
    gone, ours = os.pipe()
    os.close(gone)
    with os.fdopen(ours, "wb") as nowhere:
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=team,
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=nowhere,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 0
    assert "Broken" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_stream_that_has_not_every_character_gets_the_rest(team: Path, home: Path, encoding: str) -> None:
    done = run(home, team, "ask", "singer", "naïve 💡 —", "--json", encoding=encoding)
    assert done.returncode == 0
    assert json.loads(done.stdout)["data"] == {"song": "naïve 💡 —"}
    (*_, last) = run(home, team, "run", "sing a loud naïve 💡 song", "--jsonl", encoding=encoding).stdout.splitlines()
    assert "naïve 💡" in json.loads(last)["result"]["content"]
    plain = run(home, team, "ask", "singer", "naïve 💡 —", encoding=encoding)
    assert plain.returncode == 0
    assert "song: na" in plain.stdout


def test_closed_streams_are_no_error(team: Path, home: Path) -> None:
    command = f"{' '.join(COMMAND)} run 'sing a loud song' <&- >&- 2>&-"
    done = subprocess.run(["sh", "-c", command], cwd=team, env=environment(home), check=False)
    assert done.returncode == 0


def test_words_arrive_as_they_were_typed_where_the_locale_knows_no_accents(team: Path, home: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run(home, team, "ask", "singer", "--params", '{"task": "naïve"}', "--json", execute=True, **plain)
    assert (done.returncode, json.loads(done.stdout)["data"]) == (0, {"song": "naïve"})
    done = run(home, team, "ask", "singer", "a naïve song", "--json", execute=True, **plain)
    assert (done.returncode, json.loads(done.stdout)["data"]) == (0, {"song": "a naïve song"})


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_an_error_that_cannot_be_told_still_has_its_exit_code(team: Path, home: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, "run", ""], cwd=team, env=environment(home), stderr=full, check=False)
    assert done.returncode == 2


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_keeps_what_was_finished_and_leaves_nothing_behind(
    team: Path, home: Path, how: signal.Signals
) -> None:
    goal = "sing a loud song and crawl slowly over leaves and sleep in a soft bed"
    with start(home, team, "run", goal, "--jsonl") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if '"crawling"' in line:
                break
        process.send_signal(how)
        rest, err = process.communicate()
    assert process.returncode == 130
    last = json.loads(rest.splitlines()[-1])
    assert (last["kind"], last["node"], last["result"]["outcome"]) == ("finished", "", "canceled")
    error = json.loads(err.splitlines()[-1])["error"]
    assert error["code"] == "canceled"
    assert f"retinue runs resume {last['run']}" in error["hint"]
    if sys.platform == "linux":
        assert children_of([process.pid]) == []
    record = json.loads(run(home, team, "runs", "list", "--json").stdout)[0]
    assert (record["outcome"], record["finished_steps"]) == ("canceled", ["n1"])
    assert list(team.rglob("*")) == [path for path in team.rglob("*") if not path.name.endswith((".tmp", "-wal"))]


def test_a_second_interrupt_does_not_wait(team: Path, home: Path) -> None:
    file = team / ".retinue" / "agents" / "team.py"
    stubborn = file.read_text().replace(
        '    return {"song"',
        "    while True:\n        try:\n            await asyncio.sleep(60)\n        except asyncio.CancelledError:\n            pass\n    return {'song'",
    )
    file.write_text(stubborn.replace("return {'song': \"", 'return {"song": "'))
    assert run(home, team, "trust", "--yes").returncode == 0
    with start(home, team, "run", "sing a loud song", "--jsonl") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if '"node": "n1"' in line:
                break
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)  # two at once would be one
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    error = json.loads(err.splitlines()[-1])["error"]
    run_id = json.loads(run(home, team, "runs", "list", "--json").stdout)[0]["run"]
    assert error["code"] == "canceled"
    assert f"`retinue runs resume {run_id}`" in error["hint"]


def test_an_interrupt_before_anything_has_begun_is_one_too(team: Path, home: Path) -> None:
    file = team / ".retinue" / "agents" / "slow_import.py"
    file.write_text("import os, sys, time\nos.write(2, b'importing\\n')\ntime.sleep(60)\n")
    assert run(home, team, "trust", "--yes").returncode == 0
    with start(home, team, "run", "sing a loud song") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_the_version_is_told_without_loading_anything_heavy() -> None:
    code = "import sys; sys.argv = ['retinue', '--version']\nfrom retinue.cli import main\nmain(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=child_environment(), capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded.isdisjoint({"asyncio", "jsonschema_rs", "platformdirs", "pydantic", "rich", "ruamel", "sqlite3"})


def test_help_of_a_verb_loads_nothing_heavy() -> None:
    for verb in ("run", "plan", "ask", "runs", "agents", "lint", "trust", "config", "doctor"):
        code = f"import sys\nfrom retinue.cli import main\nmain(['{verb}', '--help']); print(*sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", code], env=child_environment(), capture_output=True, text=True, check=True
        )
        loaded = {name.partition(".")[0] for name in done.stdout.split()}
        assert loaded.isdisjoint({"asyncio", "jsonschema_rs", "pydantic", "rich", "sqlite3"}), verb
