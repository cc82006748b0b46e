"""Real processes, killed at random moments, and a judge who reads the store and what was done."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
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
    """Where one run is recorded, and the file in which its processes write what they do."""

    kind: str
    store: str
    effects: Path


def scenes_in(folder: Path, postgres: Postgres | Wire | None = None) -> Iterator[Scene]:
    for number in count():
        (place := folder / str(number)).mkdir()
        store = str(place) if postgres is None else f"{postgres.fresh()}&application_name={place.name}-{os.getpid()}"
        yield Scene("sqlite" if postgres is None else "postgres", store, place / "effects")


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
    """Wait until more than `size` bytes tell of what was done, on a busy machine too."""
    end_s = time.monotonic() + 5
    while size_of_work(scene) <= size and time.monotonic() < end_s:
        time.sleep(0.002)


def size_of_work(scene: Scene) -> int:
    return scene.effects.stat().st_size if scene.effects.exists() else 0


def kill_twice(nursery: Nursery, scene: Scene, broken: str = "", *, at_work: bool = False) -> Checker:
    """Run the plan, kill its process, kill the one that goes on, and let a third one end it.

    With `at_work` each is killed soon after it has begun to work, else at any moment.
    """
    checker = Checker(scene.store, scene.effects)
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
    checker = Checker(scene.store, scene.effects)
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
    nursery.start(scene, broken)
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


@pytest.mark.parametrize("broken", BROKEN)
def test_the_judge_sees_what_is_broken(broken: str, nursery: Nursery, tmp_path: Path):
    fate = wake_late if broken == "has no epochs" else kill_twice
    for scene in islice(scenes_in(tmp_path), 100):
        if fate(nursery, scene, broken).faults:
            return
    pytest.fail(f"nobody noticed that this engine {broken}")
