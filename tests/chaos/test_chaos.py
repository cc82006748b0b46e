"""Real processes, killed at random moments, and a judge who reads the store and what was done."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.broken_engines import BROKEN
from tests.chaos.checker import Checker
from tests.repository.tree import child_environment

KILLS = int(os.environ.get("RETINUE_CHAOS_KILLS", "24"))
DURABLE = ["sqlite"]
"""The checker reads its file by itself."""

pytestmark = pytest.mark.slow


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

    def start(self, kind: str, place: Path, broken: str = "") -> int:
        return self._ask(json.dumps([kind, str(place), broken]))

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


def wait_for_work(place: Path, size: int) -> None:
    """Wait until more than `size` bytes tell of what was done, on a busy machine too."""
    end_s = time.monotonic() + 5
    while size_of_work(place) <= size and time.monotonic() < end_s:
        time.sleep(0.002)


def size_of_work(place: Path) -> int:
    effects = place / "effects"
    return effects.stat().st_size if effects.exists() else 0


def kill_twice(nursery: Nursery, kind: str, place: Path, broken: str = "", *, at_work: bool = False) -> Checker:
    """Run the plan, kill its process, kill the one that goes on, and let a third one end it.

    With `at_work` each is killed soon after it has begun to work, else at any moment.
    """
    checker = Checker(place)
    for _ in range(2):
        before = size_of_work(place)
        process = nursery.start(kind, place, broken)
        if at_work:
            wait_for_work(place, before)
        time.sleep(random.random() * (0.02 if at_work else 0.25))
        os.kill(process, signal.SIGKILL)
        nursery.wait()
        checker.look()
    nursery.start(kind, place, broken)
    nursery.wait()
    checker.end()
    return checker


def wake_late(nursery: Nursery, kind: str, place: Path, broken: str = "") -> Checker:
    """Stop a process, let another one take over as if it were dead, and wake it meanwhile."""
    checker = Checker(place)
    sleeper = nursery.start(kind, place, broken)
    wait_for_work(place, 0)
    time.sleep(random.random() * 0.1)
    os.kill(sleeper, signal.SIGSTOP)
    for lock in place.glob("*.owners/*"):
        lock.unlink()  # what tells that it lives
    nursery.start(kind, place, broken)
    time.sleep(random.random() * 0.1)
    os.kill(sleeper, signal.SIGCONT)
    nursery.wait()
    nursery.wait()
    checker.end()
    return checker


@pytest.mark.parametrize("kind", DURABLE)
def test_whenever_a_process_is_killed_the_next_one_goes_on(kind: str, nursery: Nursery, tmp_path: Path):
    epochs: list[int] = []
    for number in range(KILLS // 2):
        (place := tmp_path / str(number)).mkdir()
        checker = kill_twice(nursery, kind, place, at_work=number % 2 == 0)
        assert checker.faults == []
        epochs.append(checker.epoch)
    assert 3 in epochs  # the one that went on was killed as well


@pytest.mark.parametrize("kind", DURABLE)
def test_a_process_that_only_slept_records_and_tells_nothing_more(kind: str, nursery: Nursery, tmp_path: Path):
    epochs: list[int] = []
    for number in range(KILLS // 2):
        (place := tmp_path / str(number)).mkdir()
        checker = wake_late(nursery, kind, place)
        assert checker.faults == []
        epochs.append(checker.epoch)
    assert 2 in epochs  # it was taken over


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("kind", DURABLE)
def test_the_judge_sees_what_is_broken(kind: str, broken: str, nursery: Nursery, tmp_path: Path):
    fate = wake_late if broken == "has no epochs" else kill_twice
    for number in range(100):
        (place := tmp_path / str(number)).mkdir()
        if fate(nursery, kind, place, broken).faults:
            return
    pytest.fail(f"nobody noticed that this engine {broken}")
