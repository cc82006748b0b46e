"""What one goal costs, as a person meets it: whole processes of `retinue run` over a fixed tree, made by `bench.tree`.

Cold means that no index is cached and no history is there; the files themselves are in the system's memory, and the
byte code of the package is compiled. Warm is the same command once more. Every answer is judged: a wrong one ends the
measurement with `WrongAnswer`.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Final

from bench.table import Row
from bench.tree import PEOPLE, Tree, plant

__all__ = ["GOAL", "Run", "WrongAnswer", "judge", "measure"]

GOAL: Final = "How does the retry policy of the scheduler work, and who changed the scheduler most recently?"

_NAMED: Final = 1_000
_TIMES: Final = {100: 3, _NAMED: 7, 10_000: 3}
_GOALS: Final = {"first": 0.5, "cold": 3.0, "warm": 1.0, "peak": 250.0}
_EVERY_S: Final = 0.003
_MB: Final = 1024 * 1024


class WrongAnswer(Exception):
    """The goal was answered, but not rightly: how long that took is of no interest."""


@dataclass(frozen=True, slots=True)
class Run:
    """One process, from its start to its end.

    Attributes:
        first_s: Until its first event was read.
        whole_s: Until it had ended.
        worked_s: Processor time of it and its children; a busy machine hardly changes it.
    """

    first_s: float
    whole_s: float
    worked_s: float


def judge(tree: Tree, printed: str) -> None:
    """See whether the events of a run end with the right answer about `tree`.

    Raises:
        WrongAnswer: They do not: a fact is missing, or somebody else is named first.
    """
    if not printed:
        raise WrongAnswer("It printed nothing: see what it said on stderr.")
    last: dict[str, Any] = json.loads(printed.splitlines()[-1])
    result: dict[str, Any] = last.get("result", {})
    answer = " ".join(str(result.get("content", "")).split())
    facts = ("up to five times", "/scheduler/", tree.author, tree.latest[:7])
    missing = [fact for fact in facts if fact not in answer]
    others = [name for name in PEOPLE if name in answer.partition(tree.author)[0]]
    if result.get("outcome") != "success" or missing or others:
        raise WrongAnswer(
            f"outcome {result.get('outcome')!r}, without {missing!r}, {others!r} before {tree.author}: {answer}"
        )


def measure() -> list[Row]:
    rows: list[Row] = []
    for files, times in _TIMES.items():
        with tempfile.TemporaryDirectory(prefix="retinue-bench-") as place:
            rows += _rows_of(Path(place), files=files, times=times)
    return sorted(rows, key=lambda row: row.goal is None)


def _rows_of(place: Path, *, files: int, times: int) -> list[Row]:
    root = place / "tree"
    root.mkdir()
    tree = plant(root, files=files)
    _ask(tree, place / "compiles-the-byte-code")
    cold: list[Run] = []
    warm: list[Run] = []
    for number in range(times):
        kept = place / f"kept{number}"
        cold.append(_ask(tree, kept))
        warm.append(_ask(tree, kept))
    goals = _GOALS if files == _NAMED else dict[str, float]()
    where = f"a goal over {files:,} files"
    size = f"{tree.size / 1e6:.0f} MB, {tree.commits:,} commits"
    one, other = _peak(tree, place / "watched"), _peak(tree, place / "watched")
    return [
        Row(
            f"{where}: first event",
            _median(cold, "first_s"),
            "s",
            goals.get("first"),
            note=f"cold; best {min(run.first_s for run in cold):.2f} s",
        ),
        Row(f"{where}: answer, cold", _median(cold, "whole_s"), "s", goals.get("cold"), note=f"{size}; {_load(cold)}"),
        Row(f"{where}: answer, warm", _median(warm, "whole_s"), "s", goals.get("warm"), note=_load(warm)),
        Row(
            f"{where}: peak memory", max(one, other), "MB", goals.get("peak"), note=f"cold {one:.0f}, warm {other:.0f}"
        ),
    ]


def _load(runs: Sequence[Run]) -> str:
    best = min(run.whole_s for run in runs)
    return f"best of {len(runs)}: {best:.2f} s; processor {_median(runs, 'worked_s'):.2f} s"


def _median(runs: Sequence[Run], what: str) -> float:
    return statistics.median(getattr(run, what) for run in runs)


def _started(tree: Tree, kept: Path) -> "subprocess.Popen[str]":
    """`retinue run`, with state and cache of its own in `kept`, and nothing of ours in its environment."""
    ours = ("RETINUE_", "PYTHON", "ACTIVE_AGENT")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    places = {f"RETINUE_{name}_DIR": str(kept / name.lower()) for name in ("STATE", "CACHE", "CONFIG")}
    command = [sys.executable, "-m", "retinue", "run", "--jsonl", "--workspace", str(tree.root), GOAL]
    return subprocess.Popen(
        command, env=clean | places, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )


def _ask(tree: Tree, kept: Path) -> Run:
    worked, begun = _worked(), time.perf_counter()
    with _started(tree, kept) as process:
        assert process.stdout is not None
        printed = process.stdout.readline()
        first = time.perf_counter() - begun
        printed += process.stdout.read()
        process.wait()
    whole = time.perf_counter() - begun
    judge(tree, printed)
    return Run(first, whole, _worked() - worked)


def _worked() -> float:
    """The processor time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _peak(tree: Tree, kept: Path) -> float:
    """The most memory that the process and all its children held at one moment, in MB.

    It is looked up many times a second in a run of its own, so that looking does not slow what is timed. Pages that
    two processes share count twice. Without `/proc` it is what the system noted of the largest process alone.
    """
    with _started(tree, kept) as process:
        stream = process.stdout
        assert stream is not None
        lines: list[str] = []
        reader = Thread(target=lambda: lines.extend(stream))
        reader.start()
        most = 0.0
        while reader.is_alive():
            most = max(most, _held(process.pid))
            reader.join(_EVERY_S)
    judge(tree, "".join(lines))
    return most or _largest_child()


def _held(root: int) -> float:
    """The memory that `root` and all that descends from it hold now, in MB; 0 where there is no `/proc`."""
    children: dict[int, list[int]] = {}
    held: dict[int, tuple[int, int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (place / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(place.name))
            held[int(place.name)] = int(fields[25]), int(fields[21])
    family = [root]
    for member in family:
        family += children.get(member, ())
    # By where its stack begins: until a child runs a program of its own it is its parent, memory and all.
    pages = dict(held[member] for member in family if member in held)
    return sum(pages.values()) * os.sysconf("SC_PAGE_SIZE") / _MB


def _largest_child() -> float:
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return most / (_MB if sys.platform == "darwin" else 1024)
