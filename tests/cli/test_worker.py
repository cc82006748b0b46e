"""`retinue run --detach` and `retinue worker`: a run is left in the queue, and any worker of its folder takes it."""

import asyncio
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import retinue.cli.worker as cli_worker
from retinue.agents.registry import Registry
from retinue.agents.trust import TrustStore
from retinue.cli.session import open_engine
from retinue.contract.plan import Delegation, Plan
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.stores.postgres import PostgresStore
from retinue.orchestration.orchestrator import Orchestrator, workflows
from tests import forkserver
from tests.cli.conftest import Give
from tests.postgres import Postgres

AGENTS = '''"""Agents that note when they are called."""

import asyncio
import os
import signal
from pathlib import Path

import retinue


def note(what: str) -> None:
    with Path("calls.txt").open("a") as file:
        file.write(f"{what}\\n")


@retinue.agent
async def mason(task: str) -> str:
    """Lays bricks. Use when bricks must be laid. Returns the wall."""
    note("mason")
    return "a wall of forty bricks"


@retinue.agent
async def roofer(task: str) -> str:
    """Covers roofs. Use when a roof must be covered. Returns the roof."""
    note("roofer")
    while not Path("tiles").exists():
        await asyncio.sleep(0.02)
    return "a roof of red tiles"


@retinue.agent
async def counter(task: str) -> int:
    """Counts stones. Use when stones must be counted. Returns the number."""
    note("counter")
    return 7 if Path("mended").exists() else "seven"


@retinue.agent
async def painter(task: str, run: retinue.RunContext) -> str:
    """Paints walls. Use when a wall must be painted. Returns the colour."""
    note("painter")
    colour = await run.ask(retinue.Question(id="colour", text="Which colour?"))
    return f"a wall painted {colour.value}"


@retinue.agent
async def bomb(task: str) -> str:
    """Digs holes. Use when a hole must be dug. Returns the hole."""
    os.kill(os.getpid(), signal.SIGKILL)
    return "a hole"
'''


@pytest.fixture
def site(folder: Path) -> Path:
    """A trusted project with three agents, and plans for a house and for one wall."""
    file = folder / ".retinue" / "agents" / "site.py"
    file.parent.mkdir(parents=True)
    file.write_text(AGENTS, encoding="utf-8")
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(folder)
    house = [{"id": f"n{n}", "agent": name, "instruction": "one"} for n, name in enumerate(("mason", "roofer"), 1)]
    (folder / "house.json").write_text(json.dumps({"goal": "a house", "nodes": house}), encoding="utf-8")
    wall = [{"id": "n1", "agent": "painter", "instruction": "one"}]
    (folder / "wall.json").write_text(json.dumps({"goal": "a wall", "nodes": wall}), encoding="utf-8")
    return folder


def calls(folder: Path) -> list[str]:
    file = folder / "calls.txt"
    return sorted(file.read_text().split()) if file.exists() else []


def wait_for(happened: Callable[[], object], timeout_s: float = 60) -> None:
    end = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@contextmanager
def command(folder: Path, *words: str) -> Generator[subprocess.Popen[str]]:
    """`retinue` with `words` in `folder`, while the context is open."""
    line, pipe = [sys.executable, "-m", "retinue", *words], subprocess.PIPE
    # With an environment it is forked and not started anew, unless that has what is read at a start.
    environment = dict(os.environ)
    with forkserver.Popen(
        line, cwd=folder, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def worker(folder: Path, *options: str) -> AbstractContextManager[subprocess.Popen[str]]:
    return command(folder, "worker", *options)


def test_a_detached_run_is_in_the_queue_until_a_worker_of_its_folder_takes_it(site: Path, retinue: Give) -> None:
    (site / "tiles").touch()
    left = retinue("run", "--detach", "--plan", "house.json")
    assert (left.code, left.err) == (0, f"`retinue worker` runs it; see it with: retinue runs show {left.out}")
    run = left.out.strip()
    assert calls(site) == []
    assert "queued" in retinue("runs", "list").out
    assert "in the queue" in retinue("runs", "show", run).err
    elsewhere = site / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    assert retinue("worker", "--burst", "--workspace", "elsewhere").code == 0
    assert calls(site) == []
    done = retinue("worker", "--burst")
    assert done.code == 0
    assert f"{run}  a house" in done.err
    assert f"{run}  success" in done.err
    assert calls(site) == ["mason", "roofer"]
    shown = retinue("runs", "show", run)
    assert "a wall of forty bricks" in shown.out
    assert retinue("worker", "--burst").code == 0
    assert calls(site) == ["mason", "roofer"]


def test_the_same_id_twice_is_one_run_and_for_another_goal_it_is_refused(site: Path, retinue: Give) -> None:
    (site / "tiles").touch()
    for _ in range(2):
        assert json.loads(retinue("run", "--detach", "--run", "mine", "--plan", "house.json", "--json").out) == {
            "run": "mine"
        }
    refused = retinue("run", "--detach", "--run", "mine", "--plan", "wall.json")
    assert refused.code == 2
    assert "another goal" in refused.err
    assert retinue("run", "--run", "mine", "--plan", "wall.json").code == 2
    assert retinue("run", "--detach", "--no-journal", "--plan", "wall.json").code == 2
    retinue("worker", "--burst")
    assert calls(site) == ["mason", "roofer"]


def test_a_killed_worker_loses_nothing_and_another_goes_on_without_repeating_what_was_finished(
    site: Path, retinue: Give
) -> None:
    run = retinue("run", "--detach", "--plan", "house.json").out.strip()
    history = Path(os.environ["RETINUE_STATE_DIR"]) / "journal.sqlite3"
    with worker(site) as first, Journal(history) as journal:
        wait_for(lambda: journal.get(run).finished_steps == ("n1",) and "roofer" in calls(site))
        with worker(site) as second:
            first.send_signal(signal.SIGKILL)
            first.wait()
            wait_for(lambda: calls(site).count("roofer") == 2)
            (site / "tiles").touch()
            wait_for(lambda: journal.get(run).outcome == "success")
            second.send_signal(signal.SIGTERM)
            assert second.wait(timeout=60) == 0
    assert calls(site) == ["mason", "roofer", "roofer"]


def test_a_run_that_asks_is_let_go_of_and_goes_on_when_it_is_answered(site: Path, retinue: Give) -> None:
    run = retinue("run", "--detach", "--plan", "wall.json").out.strip()
    done = retinue("worker", "--burst")
    assert f"{run}  waits for an answer" in done.err
    shown = retinue("runs", "show", run)
    assert "Which colour?" in shown.err
    assert f"retinue runs answer {run}" in shown.err
    assert "waits for an answer" in retinue("runs", "list").out
    nothing = retinue("runs", "answer", run)
    assert nothing.code == 2
    assert "Which colour?" in nothing.err
    assert retinue("runs", "answer", run, "--question", "size", "big").code == 2
    assert retinue("runs", "answer", run, "sky", "blue").code == 0
    assert retinue("runs", "answer", run, "red").code == 2
    assert retinue("worker", "--burst").code == 0
    assert "a wall painted sky blue" in retinue("runs", "show", run).out
    assert retinue("runs", "answer", run, "red").code == 2


def test_a_worker_that_is_stopped_gives_back_what_it_could_not_finish(site: Path, retinue: Give) -> None:
    run = retinue("run", "--detach", "--plan", "house.json").out.strip()
    with worker(site, "--grace", "100ms") as process:
        wait_for(lambda: "roofer" in calls(site))
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0
    assert "1 run went back to the queue" in err
    assert "queued" in retinue("runs", "list").out
    (site / "tiles").touch()
    retinue("worker", "--burst")
    assert calls(site) == ["mason", "roofer", "roofer"]
    assert "a roof of red tiles" in retinue("runs", "show", run).out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="nothing tells there whether a process is stopped")
@pytest.mark.parametrize("end", [signal.SIGCONT, signal.SIGKILL])
def test_the_run_of_a_process_that_is_stopped_is_listed_as_stalled_until_it_continues_or_dies(
    site: Path, retinue: Give, end: signal.Signals
) -> None:
    def shown() -> list[tuple[bool, int | None]]:
        (listed,), facts = retinue("runs", "list", "--json").data, retinue("runs", "show", run, "--json").data
        return [(each["stalled"], each.get("stopped_pid")) for each in (listed, facts)]

    run = retinue("run", "--detach", "--plan", "house.json").out.strip()
    with worker(site) as process, Journal(Path(os.environ["RETINUE_STATE_DIR"]) / "journal.sqlite3") as journal:
        wait_for(lambda: journal.get(run).finished_steps == ("n1",) and "roofer" in calls(site))
        assert shown() == [(False, None)] * 2
        process.send_signal(signal.SIGSTOP)
        wait_for(lambda: shown() == [(True, process.pid)] * 2)
        assert "stalled" in retinue("runs", "list").out
        assert f"Its process is stopped; 1 result kept. Let it go on: kill -CONT {process.pid}" in (
            retinue("runs", "show", run).err
        )
        refused = retinue("runs", "resume", run)
        assert (refused.code, f"kill -CONT {process.pid}" in refused.err) == (2, True)
        assert retinue("worker", "--burst").code == 0  # nobody takes it
        assert retinue("runs", "prune", "--keep", "0").err == "0 runs deleted.\n"
        process.send_signal(end)
        wait_for(lambda: shown() == [(end == signal.SIGKILL, None)] * 2)
        (site / "tiles").touch()
        if end == signal.SIGKILL:
            assert "Its process has ended" in retinue("runs", "show", run).err
            assert f"{run}  success" in retinue("worker", "--burst").err
        wait_for(lambda: journal.get(run).outcome == "success")
    assert calls(site) == ["mason", *["roofer"] * (1 + (end == signal.SIGKILL))]


CLOCK = """
import os
import time

now_ns, file = time.time_ns, os.environ["CLOCK_AHEAD_S"]


def time_ns():
    with open(file) as ahead_s:
        return now_ns() + int(ahead_s.read() or 0) * 10**9


time.time_ns, time.time = time_ns, lambda: time_ns() / 1e9
"""


@contextmanager
def clock(folder: Path, ahead_s: int) -> Generator[Path]:
    """Processes that are started meanwhile have a clock that is so far ahead; what is written to the file sets it."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(CLOCK, encoding="utf-8")
    (file := folder / "ahead_s").write_text(str(ahead_s), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        patch.setenv("CLOCK_AHEAD_S", str(file))
        yield file


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path | str:
    """Where the history is, for all processes: in a file or in PostgreSQL."""
    if request.param == "sqlite":
        return home / "state" / "journal.sqlite3"
    url = request.getfixturevalue("postgres").fresh()
    monkeypatch.setenv("RETINUE_STORE", url)
    return url


@pytest.mark.slow
@pytest.mark.parametrize("hour_s", [3600, -3600])
def test_clocks_that_are_an_hour_off_or_are_set_take_no_run_from_a_worker_and_no_time_from_a_run(
    site: Path, retinue: Give, place: Path | str, hour_s: int
) -> None:
    names = ("mason", "roofer", "mason")
    row = [{"id": f"n{n}", "agent": name, "needs": [f"n{n - 1}"] * (n > 1)} for n, name in enumerate(names, 1)]
    plan = {"goal": "a row", "nodes": [{**node, "instruction": "one"} for node in row]}
    (site / "row.json").write_text(json.dumps(plan), encoding="utf-8")
    run = retinue("run", "--detach", "--plan", "row.json", "--timeout", "10m").out.strip()
    with clock(site / "ahead", hour_s) as ahead_s, worker(site) as process, Journal(place) as journal:
        wait_for(lambda: journal.get(run).finished_steps == ("n1",) and "roofer" in calls(site))
        with clock(site / "behind", -hour_s), worker(site, "--burst") as other:
            assert other.wait(timeout=60) == 0
        assert "working" in retinue("runs", "list").out
        assert calls(site) == ["mason", "roofer"]
        ahead_s.write_text(str(-hour_s), encoding="utf-8")
        (site / "tiles").touch()
        wait_for(lambda: journal.get(run).ended_ns is not None)
        assert journal.get(run).outcome == "success"
        events = journal.events(run)
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        times = [event.at_ns for event in events]
        assert max(abs(late - early) for early, late in pairwise(times)) > 3600e9
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    assert calls(site) == ["mason", "mason", "roofer"]


@pytest.mark.slow
def test_a_worker_whose_history_has_no_room_stops_and_what_it_had_goes_on_later_however_often(
    site: Path, retinue: Give
) -> None:
    run = retinue("run", "--detach", "--plan", "house.json").out.strip()
    history = Path(os.environ["RETINUE_STATE_DIR"]) / "journal.sqlite3"
    for number in range(1, 3):
        with worker(site) as process, Journal(history) as journal:
            wait_for(lambda: journal.get(run).finished_steps == ("n1",) and calls(site).count("roofer") == number)  # noqa: B023
            size = history.with_name(f"{history.name}-wal").stat().st_size
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))
            (site / "tiles").touch()
            _, err = process.communicate(timeout=60)
            assert process.returncode == 4
            (site / "tiles").unlink()
        assert "has no room" in err
        assert "Free space on the disk" in err
        assert "success" not in err
        assert "went back" not in err
        assert json.loads(retinue("runs", "show", run, "--json").out)["stalled"]
        with Journal(history) as journal:
            assert journal.history(run).attempts == 0  # a run at which five workers died has failed: nobody did
    (site / "tiles").touch()
    assert f"{run}  success" in retinue("worker", "--burst").err
    assert calls(site) == ["mason", *["roofer"] * 3]


@pytest.fixture
def disk(home: Path) -> Generator[Path]:
    """Where the history will be: a disk of its own, of a megabyte."""
    (place := home / "state").mkdir()
    line = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if (tried := subprocess.run(line, capture_output=True, text=True, check=False)).returncode:
        pytest.skip(f"a disk of its own needs root: {tried.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def full(disk: Path) -> Generator[None]:
    """Somebody else has taken all that was left."""
    with (disk / "all").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    yield
    (disk / "all").unlink()


@contextmanager
def read_only(disk: Path) -> Generator[None]:
    """The system has found something wrong with the disk."""
    for how in ("ro", "rw"):
        subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)
        if how == "ro":
            yield


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (full, ("has no room", "Free space on the disk")),
        (read_only, ("is on a disk that is read-only", "Mount the disk")),
    ],
)
def test_a_disk_that_takes_nothing_is_named_and_what_was_in_the_queue_is_run_when_it_takes_something(
    disk: Path,
    site: Path,
    retinue: Give,
    trouble: Callable[[Path], AbstractContextManager[None]],
    words: tuple[str, str],
) -> None:
    (site / "tiles").touch()
    run = retinue("run", "--detach", "--plan", "house.json").out.strip()
    with trouble(disk):
        for line in (["run", "--detach", "--plan", "house.json"], ["worker"]):
            refused = retinue(*line)
            assert refused.code == (4 if trouble is full else 2)
            assert all(each in refused.err for each in words)
        assert calls(site) == []
        assert "queued" in retinue("runs", "list").out
        assert "in the queue" in retinue("runs", "show", run).err
        here = retinue("run", "--plan", "house.json")
        assert (here.code, "a wall of forty bricks" in here.out) == (0, True)
        assert "History is not recorded" in here.err
        assert all(each in here.err for each in words)
    assert [each["run"] for each in retinue("runs", "list", "--json").data] == [run]
    assert f"{run}  success" in retinue("worker", "--burst").err
    assert calls(site) == ["mason", "mason", "roofer", "roofer"]


@pytest.mark.slow
def test_a_disk_that_becomes_full_stops_a_worker_and_no_run_in_the_foreground(
    disk: Path, site: Path, retinue: Give
) -> None:
    run = retinue("run", "--detach", "--plan", "house.json").out.strip()
    history = disk / "journal.sqlite3"
    with worker(site) as process, Journal(history) as journal:
        wait_for(lambda: journal.get(run).finished_steps == ("n1",) and "roofer" in calls(site))
        with full(disk):
            (site / "tiles").touch()
            _, err = process.communicate(timeout=60)
        assert process.returncode == 4
    assert "has no room" in err
    assert "Free space on the disk" in err
    (site / "tiles").unlink()
    with command(site, "runs", "resume", run) as process:
        wait_for(lambda: calls(site).count("roofer") == 2)
        with full(disk):
            (site / "tiles").touch()
            out, err = process.communicate(timeout=60)
        assert (process.returncode, "a roof of red tiles" in out) == (0, True)
    assert "History is not recorded" in err
    assert "Free space on the disk" in err
    assert retinue("runs", "show", run, "--json").data["stalled"]
    assert f"{run}  success" in retinue("worker", "--burst").err
    assert calls(site) == ["mason", *["roofer"] * 3]


@pytest.mark.deep
def test_a_run_at_which_five_workers_died_has_failed(site: Path, retinue: Give) -> None:
    plan = {"goal": "a hole", "nodes": [{"id": "n1", "agent": "bomb", "instruction": "one"}]}
    (site / "hole.json").write_text(json.dumps(plan), encoding="utf-8")
    run = retinue("run", "--detach", "--plan", "hole.json").out.strip()
    for _ in range(5):
        with worker(site) as process:
            assert process.wait(timeout=60) == -signal.SIGKILL
    assert "5 workers have died" in retinue("worker", "--burst").err
    assert retinue("runs", "show", run, "--json").data["outcome"] == "failed"


def test_a_worker_that_cannot_take_a_run_in_a_history_that_is_locked_stops_and_calls_nobody(
    site: Path, retinue: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retinue.engine.stores.sqlite.BUSY_S", 0.2)
    (site / "tiles").touch()
    run = retinue("run", "--detach", "--plan", "house.json").out.strip()
    with closing(
        sqlite3.connect(Path(os.environ["RETINUE_STATE_DIR"]) / "journal.sqlite3", isolation_level=None)
    ) as other:
        other.execute("BEGIN EXCLUSIVE")
        refused = retinue("worker")
        assert refused.code == 4
        assert "is locked by another program" in refused.err
        assert calls(site) == []
    assert f"{run}  success" in retinue("worker", "--burst").err


def test_a_run_can_be_cancelled_in_the_queue_and_while_a_worker_has_it(site: Path, retinue: Give) -> None:
    waiting = retinue("run", "--detach", "--plan", "house.json").out.strip()
    assert retinue("runs", "cancel", waiting).err.strip() == f"Run {waiting} is stopped."
    assert retinue("runs", "cancel", waiting).code == 2
    run = retinue("run", "--detach", "--plan", "house.json").out.strip()
    history = Path(os.environ["RETINUE_STATE_DIR"]) / "journal.sqlite3"
    with worker(site) as process, Journal(history) as journal:
        wait_for(lambda: journal.get(run).finished_steps == ("n1",) and "roofer" in calls(site))
        assert retinue("runs", "cancel", run, "--reason", "No house today.").code == 0
        wait_for(lambda: journal.get(run).ended_ns is not None)
        assert journal.get(run).outcome in {"canceled", "partial"}
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


def test_a_run_that_cannot_be_read_keeps_no_other_from_being_run(site: Path, retinue: Give) -> None:
    (site / "tiles").touch()
    bad, good = (retinue("run", "--detach", "--plan", "house.json").out.strip() for _ in range(2))
    with sqlite3.connect(Path(os.environ["RETINUE_STATE_DIR"]) / "journal.sqlite3") as connection:
        connection.execute("UPDATE runs SET payload = '{' WHERE run = ?", (bad,))
    connection.close()
    done = retinue("worker", "--burst", "--at-once", "1")
    assert done.code == 0
    assert done.err.count(bad) >= 1
    assert "cannot be read" in done.err
    assert f"{good}  success" in done.err
    assert calls(site) == ["mason", "roofer"]


@pytest.mark.requirement("H30", "K36")
def test_a_person_says_of_a_run_in_the_background_what_follows_an_answer_that_breaks_the_contract(
    site: Path, retinue: Give
) -> None:
    plan = {"goal": "two numbers", "nodes": [{"id": "n1", "agent": "counter", "instruction": "one"}]}
    (site / "count.json").write_text(json.dumps(plan), encoding="utf-8")
    run = retinue("run", "--detach", "--plan", "count.json").out.strip()
    assert f"{run}  waits for an answer" in retinue("worker", "--burst").err
    assert "(retry, skip, abort)" in retinue("runs", "show", run).err
    log = (Path(os.environ["RETINUE_STATE_DIR"]) / "faults.production.jsonl").read_text(encoding="utf-8")
    assert {json.loads(line)["error_type"] for line in log.splitlines()} == {"output_invalid"}
    (site / "mended").touch()
    assert retinue("runs", "answer", run, "retry").code == 0
    assert retinue("worker", "--burst").code == 0
    shown = json.loads(retinue("runs", "show", run, "--json").out)
    assert shown["outcome"] == "success"


def test_what_cannot_be_run_any_more_ends_and_says_how_to_go_on(site: Path, retinue: Give) -> None:
    run = retinue("run", "--detach", "--plan", "house.json").out.strip()
    file = site / ".retinue" / "agents" / "site.py"
    file.write_text(AGENTS.replace("Lays bricks.", "Lays stones."), encoding="utf-8")
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(site)
    done = retinue("worker", "--burst")
    assert "`mason` changed, or went" in done.err
    shown = json.loads(retinue("runs", "show", run, "--json").out)
    assert (shown["outcome"], shown["result"]["fault"]["code"]) == ("failed", "unavailable")
    assert f"retinue runs resume {run}" in shown["result"]["fault"]["hint"]
    assert calls(site) == []


def test_a_worker_runs_agents_as_they_are_and_not_as_they_were_when_it_began(site: Path, retinue: Give) -> None:
    file, trust = site / ".retinue" / "agents" / "site.py", TrustStore(Path(os.environ["RETINUE_STATE_DIR"]))
    (site / "tiles").touch()
    changes = (("", "", "forty"), ("forty", "fifty", "fifty"), ("Lays bricks.", "Builds walls.", "fifty"))
    with worker(site) as process:
        for before, after, number in changes:
            file.write_text(file.read_text().replace(before, after), encoding="utf-8")
            trust.trust(site)
            run = retinue("run", "--detach", "--plan", "house.json").out.strip()
            assert retinue("runs", "follow", run).code == 0
            answer = json.loads(retinue("runs", "show", run, "--json").out)["result"]["content"]
            assert f"a wall of {number} bricks" in answer
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("levels", "most_open"),
    [(("strict", "standard", "lenient"), 2), (("strict", "strict", "strict"), 1)],
    ids=["of other options", "of earlier files"],
)
def test_a_worker_closes_agents_that_no_run_has(
    levels: Sequence[str], most_open: int, site: Path, retinue: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / "tiles").touch()
    opened, most = set[object](), 0

    @asynccontextmanager
    async def counted(*words: Any, **more: Any) -> AsyncGenerator[Orchestrator]:
        nonlocal most
        async with open_engine(*words, **more) as orchestrator:
            opened.add(orchestrator)
            most = max(most, len(opened))
            if most_open == 1:
                (site / ".retinue" / "agents" / "site.py").touch()
            yield orchestrator
        opened.remove(orchestrator)

    monkeypatch.setattr(cli_worker, "open_engine", counted)
    monkeypatch.setattr(cli_worker, "_MOST_IDLE", 1)
    for level in levels:
        retinue("run", "--detach", "--plan", "house.json", "--level", level)
    assert retinue("worker", "--burst", "--at-once", "1").code == 0
    assert (len(calls(site)), most, len(opened)) == (6, most_open, 0)


def test_a_run_is_taken_only_on_the_machine_that_has_its_folder_unless_the_machines_share_it(
    site: Path, retinue: Give, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / "tiles").touch()
    monkeypatch.setenv("RETINUE_STORE", postgres.fresh())
    with monkeypatch.context() as there:
        there.setattr(PostgresStore, "host", "build-3")
        run = retinue("run", "--detach", "--plan", "house.json").out.strip()
        assert "waits for" not in retinue("runs", "list").out
    here = retinue("run", "--detach", "--plan", "house.json").out.strip()
    worked = retinue("worker", "--burst")
    assert (worked.code, f"{here}  success" in worked.err, run in worked.err) == (0, True, False)
    assert "queued" in (listed := retinue("runs", "list").out)
    assert "waits for a worker on build-3, or one with `--shared-workspace`: a house" in listed
    assert "It waits for a worker on build-3" in retinue("runs", "show", run).err
    assert f"{run}  success" in retinue("worker", "--burst", "--shared-workspace").err
    assert "build-3" not in retinue("runs", "list").out
    assert calls(site) == ["mason", "mason", "roofer", "roofer"]


def test_no_folder_has_more_runs_at_work_than_it_may(site: Path, retinue: Give) -> None:
    for _ in range(3):
        assert retinue("run", "--detach", "--plan", "house.json").code == 0
    with worker(site, "--burst", "--at-once", "3", "--per-workspace", "1") as process:
        wait_for(lambda: "roofer" in calls(site))
        time.sleep(1.2)  # it has looked for more
        assert calls(site) == ["mason", "roofer"]
        (site / "tiles").touch()
        assert process.wait(timeout=60) == 0
    assert calls(site) == ["mason"] * 3 + ["roofer"] * 3


def test_a_run_of_a_newer_version_stays_in_the_queue_and_the_list_says_why(
    site: Path, retinue: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr("retinue.engine.journal.RUN_FORMAT", 2)
        run = retinue("run", "--detach", "--plan", "house.json").out.strip()
    assert retinue("worker", "--burst").code == 0
    assert calls(site) == []
    assert "queued" in (listed := retinue("runs", "list").out)
    assert "waits for a newer version of retinue: a house" in listed
    assert json.loads(retinue("runs", "list", "--json").out)[0]["waits_for"] == "a newer version of retinue"
    assert "It waits for a newer version of retinue." in retinue("runs", "show", run).err


def test_workers_that_want_the_same_runs_run_each_of_them_once(site: Path) -> None:
    plan = Plan(nodes=(Delegation(id="n1", agent="mason", instruction="one"),))

    async def start(journal: Journal) -> list[str]:
        async with InProcessEngine(workflows(Registry()), journal=journal, place=str(site), queues=True) as engine:
            return [await Orchestrator(Registry(), engine).start(plan) for _ in range(60)]

    with Journal(Path(os.environ["RETINUE_STATE_DIR"]) / "journal.sqlite3") as journal:
        runs = asyncio.run(start(journal))
        with worker(site, "--burst") as first, worker(site, "--burst") as second:
            assert (first.wait(60), second.wait(60)) == (0, 0)
        ends = [event.kind for run in runs for event in journal.events(run) if event.node == ""].count("finished")
    assert (len(calls(site)), ends) == (60, 60)
