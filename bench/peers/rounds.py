"""Taking turns: every subject measured once a round, so that whatever else the machine does hits all of them alike."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self, cast

from bench.peers.environments import Subject, python_of, variables

__all__ = ["Process", "branches", "costs", "crowds", "starts"]

_SCRIPTS: Final = Path(__file__).parent / "subjects"
_LIMIT_S: Final = 120.0


class Process:
    """A subject that runs and answers commands."""

    def __init__(self, subject: Subject) -> None:
        self._name = subject.name
        self._process = subprocess.Popen(
            [python_of(subject), _SCRIPTS / f"{subject.module}.py", *subject.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=variables(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=_LIMIT_S)

    def ask(self, **command: object) -> dict[str, Any]:
        """What the subject answers to one command.

        Raises:
            RuntimeError: It ended instead, with what it wrote on stderr.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("The process has no pipes.")
        stdin.write(f"{json.dumps(command)}\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise RuntimeError(f"{self._name} ended: {self._process.communicate()[1][-2000:]}")
        return cast("dict[str, Any]", json.loads(line))


def branches(subjects: Sequence[Subject], size: int, *, rounds: int, times: int) -> dict[str, list[float]]:
    """Milliseconds of a fan-out of `size` with its join, for each subject `rounds` times `times`."""
    return costs(subjects, size, rounds=rounds, times=times)[0]


def costs(
    subjects: Sequence[Subject], size: int, *, rounds: int, times: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """The same, and the milliseconds of the processor."""
    taken: dict[str, list[float]] = {subject.name: [] for subject in subjects}
    busy: dict[str, list[float]] = {subject.name: [] for subject in subjects}
    with ExitStack() as stack:
        running = {subject.name: stack.enter_context(Process(subject)) for subject in subjects}
        for turn in range(rounds):
            _tell(f"{size:,} branches, round {turn + 1} of {rounds}")
            for name, process in running.items():
                answer = process.ask(do="branches", branches=size, times=times)
                taken[name] += answer["ms"]
                busy[name] += answer["processor_ms"]
    return taken, busy


def crowds(subjects: Sequence[Subject], runs: int, *, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Three-way orchestrations a second with `runs` begun at once, and the peak in MB, each in a fresh process."""
    taken: dict[str, list[tuple[float, float]]] = {subject.name: [] for subject in subjects}
    for turn in range(rounds):
        _tell(f"{runs:,} at once, round {turn + 1} of {rounds}")
        for subject in subjects:
            with Process(subject) as process:
                answer = process.ask(do="crowd", runs=runs)
            taken[subject.name].append((answer["per_s"], answer["peak_mb"]))
    return taken


def starts(subjects: Sequence[Subject], *, rounds: int) -> dict[str, list[float]]:
    """Milliseconds from nothing until a process has imported and defined what it needs to run, and has ended."""
    taken: dict[str, list[float]] = {subject.name: [] for subject in subjects}
    for turn in range(rounds + 1):  # the first round compiles byte code and fills the disk cache
        _tell(f"start, round {turn} of {rounds}")
        for subject in subjects:
            command = [python_of(subject), _SCRIPTS / f"{subject.module}.py", *subject.arguments]
            begun = time.perf_counter()
            subprocess.run(command, stdin=subprocess.DEVNULL, check=True, capture_output=True, env=variables())
            if turn:
                taken[subject.name].append((time.perf_counter() - begun) * 1000)
    return taken


def _tell(text: str) -> None:
    print(f"{text} …", file=sys.stderr, flush=True)
