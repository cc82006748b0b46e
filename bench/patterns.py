"""What a full survey by `pattern_discovery` costs over a project of 1,000 files that use pytest, cold and warm.

Each measurement is a process of its own: from the call of the agent, through the boundary, to its reply. Cold means
that nothing of the tree is remembered; warm is the same once more. The figures of the reply are held against what was
planted: a wrong one ends the measurement.
"""

import asyncio
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.table import Row, peak_mb
from bench.tree import path_names, text_of

__all__ = ["WrongSurvey", "measure", "plant_patterns"]

_FILES: Final = 1_000
_ROUNDS: Final = 5
_FIXTURES: Final = ("store", "clock", "client")
_TEST: Final = re.compile(r"^def (test_\w+)\(\):$", re.MULTILINE)
_CONFTEST: Final = '''\
"""What the tests of {name} share."""

import pytest


@pytest.fixture(scope="session")
def clock():
    """A clock that is wound by hand."""
    return Clock(start={number})


@pytest.fixture
def store(tmp_path, clock):
    """An empty store of {name}."""
    opened = Store(tmp_path, clock)
    yield opened
    opened.close()


@pytest.fixture
def client(store):
    """A client of {name} with a store of its own."""
    return Client(store)
'''


class WrongSurvey(Exception):
    """The survey is not right: how long it took is of no interest."""


def plant_patterns(root: Path, *, files: int) -> dict[str, int]:
    """Make a project in the empty folder `root`; gives how many fixtures and uses of them it has."""
    folders: set[Path] = set()
    uses = 0
    for path in path_names(files):
        text = text_of(path)
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.startswith("tests/"):
            folders.add(place.parent)
            text, count = _with_fixtures(text)
            uses += count
        place.write_text(text, encoding="utf-8")
    for number, folder in enumerate(sorted(folders)):
        (folder / "conftest.py").write_text(_CONFTEST.format(name=folder.name, number=number), encoding="utf-8")
    # Within each `conftest.py` two fixtures are asked for by another: `clock` by `store`, and `store` by `client`.
    return {"fixtures": len(folders) * len(_FIXTURES), "uses": uses + len(folders) * 2}


def _with_fixtures(text: str) -> tuple[str, int]:
    """A test module whose tests ask for one fixture each, in turn."""
    count = 0

    def asking(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"def {found[1]}({_FIXTURES[count % len(_FIXTURES)]}):"

    return _TEST.sub(asking, text), count


def measure(*, files: int = _FILES, rounds: int = _ROUNDS) -> list[Row]:
    """Medians of `rounds` runs each, cold and warm in turn."""
    with tempfile.TemporaryDirectory(prefix="retinue-bench-") as place:
        root = Path(place, "tree")
        root.mkdir()
        planted = plant_patterns(root, files=files)
        _survey(root, Path(place, "compiles"), planted)
        cold: list[Mapping[str, Any]] = []
        warm: list[Mapping[str, Any]] = []
        for number in range(rounds):
            kept = Path(place, f"kept{number}")
            cold.append(_survey(root, kept, planted))
            warm.append(_survey(root, kept, planted))
    where = f"patterns: a full survey of {files:,} files"
    peak = max(one["peak_mb"] for one in cold)
    return [
        Row(f"{where}, cold", _median(cold), "s", 3.0, note=_best(cold)),
        Row(f"{where}, warm", _median(warm), "s", 0.6, note=_best(warm)),
        Row(
            f"{where}, peak memory",
            peak,
            "MB",
            note=f"the process and all its workers at their largest, cold; warm {warm[0]['peak_mb']:.0f}",
        ),
    ]


def _median(runs: Sequence[Mapping[str, Any]]) -> float:
    return statistics.median(one["seconds"] for one in runs)


def _best(runs: Sequence[Mapping[str, Any]]) -> str:
    worked = statistics.median(one["worked_s"] for one in runs)
    return f"best of {len(runs)}: {min(one['seconds'] for one in runs):.2f} s; processor {worked:.2f} s, start included"


def _survey(root: Path, kept: Path, planted: Mapping[str, int]) -> Mapping[str, Any]:
    """One survey in a process of its own, judged."""
    unset = ("PYTHONDONTWRITEBYTECODE",)
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    command = [sys.executable, "-m", "bench.patterns", str(root), str(kept)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WrongSurvey(done.stderr)
    found: Mapping[str, Any] = json.loads(done.stdout)
    if any(found[name] != count for name, count in planted.items()):
        raise WrongSurvey(f"{found!r}, and there are {planted!r}.")
    return found


async def _called(root: str, kept: str) -> dict[str, float]:
    """One call, with what it found and what it took."""
    from retinue.agents.boundary import Boundary  # noqa: PLC0415 - only the measured process needs them
    from retinue.agents.local import LocalContext  # noqa: PLC0415
    from retinue.agents.registry import Registry  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery import PatternDiscovery  # noqa: PLC0415
    from retinue.contract.task import Task  # noqa: PLC0415
    from retinue.tools.workspace import Workspace  # noqa: PLC0415

    boundary = Boundary(Registry([PatternDiscovery.bind(cache_dir=kept)]))
    task = Task(id="bench", agent="pattern_discovery", skill="full_survey", parameters={"show": "fixtures"})
    async with LocalContext(workspace=Workspace(root)) as run:
        begun = time.perf_counter()
        result = await boundary.call(task, run)
        seconds = time.perf_counter() - begun
    if result.outcome != "success":
        raise WrongSurvey(str(result.fault or result.warnings))
    uses = sum(one["uses"] for one in result.data["fixtures"])
    return {
        "seconds": seconds,
        "fixtures": len(result.data["fixtures"]),
        "uses": uses,
        "peak_mb": _peak(),
        "worked_s": _worked(),
    }


def _worked() -> float:
    """The processor time of this process and its workers; a busy machine hardly changes it."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def _peak() -> float:
    """What this process and its workers held at most, in MB; each worker taken as large as the largest."""
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (os.cpu_count() or 1)
    return peak_mb() + children / unit


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_called(sys.argv[1], sys.argv[2]))))
