"""Real processes, killed at random moments, and a judge who reads the store and what was done."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from tests.chaos.broken_engines import BROKEN
from tests.chaos.checker import Checker
from tests.postgres import Postgres, Wire
from tests.repository.tree import child_environment

KILLS = int(os.environ.get("RETINUE_CHAOS_KILLS", "24"))
IS_LONG = KILLS > 100

pytestmark = pytest.mark.slow


class Scene(NamedTuple):
    """Where one run is recorded, the file in which its processes write what they do, and who judges both."""

    kind: str
    store: str
    effects: Path
    checker: Checker


def scenes_in(folder: Path, postgres: Postgres | None = None, wire: Wire | None = None) -> Iterator[Scene]:
    for number in count():
        (place := folder / str(number)).mkdir()
        if postgres is None:
            store = url = str(place)
        else:
            url = f"{postgres.fresh()}&application_name={place.name}-{os.getpid()}"
            store = url if wire is None else wire.through(url)
        yield Scene(
            "sqlite" if postgres is None else "postgres", store, place / "effects", Checker(url, place / "effects")
        )


@pytest.fixture(params=["sqlite", "postgres"])
def scenes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    """One after the other, all on one store."""
    return scenes_in(tmp_path, request.getfixturevalue("postgres") if request.param == "postgres" else None)


class Nursery:
    """Starts and ends the processes of `worker`."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.worker"],
            env=child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, scene: Scene, broken: str = "", *, slowness: float = 1) -> int:
        return self._ask(json.dumps([scene.kind, scene.store, str(scene.effects), broken, slowness]))

    def wait(self) -> int:
        """Wait for the process that was started first; gives how it ended."""
        return self._ask("")

    def _ask(self, line: str) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.process.communicate()


def wait_for_work(scene: Scene, size: int) -> None:
    """Wait until more than `size` steps have begun, on a busy machine too."""
    end_s = time.monotonic() + 5
    while size_of_work(scene) <= size and time.monotonic() < end_s:
        time.sleep(0.002)


def size_of_work(scene: Scene) -> int:
    return scene.effects.read_bytes().count(b'"begins"') if scene.effects.exists() else 0


def kill_twice(nursery: Nursery, scene: Scene, broken: str = "", *, at_work: bool = False) -> Checker:
    """Run the plan, kill its process, kill the one that goes on, and let a third one end it.

    With `at_work` each is killed soon after it has begun to work, else at any moment.
    """
    checker = scene.checker
    for _ in range(2):
        before = size_of_work(scene)
        process = nursery.start(scene, broken)
        if at_work:
            wait_for_work(scene, before)
        time.sleep(random.random() * (0.02 if at_work else 0.25))
        os.kill(process, signal.SIGKILL)
        nursery.wait()
        checker.gone.add(process)
        checker.look()
    nursery.start(scene, broken)
    nursery.wait()
    checker.end()
    return checker


def wake_late(nursery: Nursery, scene: Scene, broken: str = "") -> Checker:
    """Stop a process, let another one take over as if it were dead, and wake it meanwhile."""
    checker = scene.checker
    sleeper = nursery.start(scene, broken)
    wait_for_work(scene, 0)
    time.sleep(random.random() * 0.1)
    os.kill(sleeper, signal.SIGSTOP)
    checker.gone.add(sleeper)
    if scene.kind == "postgres":
        with psycopg.connect(scene.store, application_name="chaos") as connection:
            query = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s"
            connection.execute(query, (scene.store.rpartition("=")[2],))
    for lock in scene.effects.parent.glob("*.owners/*"):
        lock.unlink()  # what tells that it lives
    before = size_of_work(scene)
    nursery.start(scene, broken)
    if scene.kind == "postgres":  # else the sleeper, awake, would connect again before anybody has taken over
        wait_for_work(scene, before)
    time.sleep(random.random() * 0.1)
    os.kill(sleeper, signal.SIGCONT)
    nursery.wait()
    nursery.wait()
    checker.end()
    return checker


def test_whenever_a_process_is_killed_the_next_one_goes_on(nursery: Nursery, scenes: Iterator[Scene]):
    epochs: list[int] = []
    for number, scene in enumerate(islice(scenes, KILLS // 2)):
        checker = kill_twice(nursery, scene, at_work=number % 2 == 0)
        assert checker.faults == []
        epochs.append(checker.epoch)
    assert 3 in epochs  # the one that went on was killed as well


def test_a_process_that_only_slept_records_and_tells_nothing_more(nursery: Nursery, scenes: Iterator[Scene]):
    epochs: list[int] = []
    for scene in islice(scenes, KILLS // 2):
        checker = wake_late(nursery, scene)
        assert checker.faults == []
        epochs.append(checker.epoch)
    assert 2 in epochs  # it was taken over


def test_what_was_committed_when_the_connection_was_cut_is_there_once(
    nursery: Nursery, postgres: Postgres, tmp_path: Path
):
    with closing(Wire(postgres)) as wire:
        cuts = 0
        for scene in islice(scenes_in(tmp_path, postgres, wire), KILLS // 12):
            cuts += (cuts_of_scene := random.randint(1, 9))
            wire.cuts += cuts_of_scene
            checker = kill_twice(nursery, scene, at_work=True)
            assert checker.faults == []
        assert wire.cuts < cuts


@pytest.mark.parametrize("seconds", [3, *[3, 3, 60] * IS_LONG])
def test_runs_wait_for_a_database_that_was_stopped_hard_and_nobody_takes_them(
    seconds: int, nursery: Nursery, postgres: Postgres, tmp_path: Path
):
    scenes = list(islice(scenes_in(tmp_path, postgres), 4))
    checkers = [scene.checker for scene in scenes]
    workers = [nursery.start(scene, slowness=60) for scene in scenes]
    for scene in scenes:
        wait_for_work(scene, 0)
    for scene in scenes:  # whoever goes on with a run when its process has died
        nursery.start(scene, slowness=60)
    while any(scene.effects.read_text().count("acknowledges") < 2 for scene in scenes):
        time.sleep(0.002)
    time.sleep(random.random())
    random.choice((postgres.stop_hard, postgres.kill))()
    try:
        os.kill(workers[0], signal.SIGKILL)
        checkers[0].gone.add(workers[0])
        time.sleep(seconds)
    finally:
        postgres.start()
    checkers[0].look()
    for _ in range(2 * len(scenes)):
        nursery.wait()
    for checker in checkers:
        checker.end()
    postgres.settle()
    assert [checker.faults for checker in checkers] == [[], [], [], []]
    assert [checker.epoch for checker in checkers] == [2, 1, 1, 1]


@pytest.mark.parametrize("broken", BROKEN)
def test_the_judge_sees_what_is_broken(broken: str, nursery: Nursery, tmp_path: Path):
    fate = wake_late if broken == "has no epochs" else kill_twice
    for scene in islice(scenes_in(tmp_path), 100):
        if fate(nursery, scene, broken).faults:
            return
    pytest.fail(f"nobody noticed that this engine {broken}")
