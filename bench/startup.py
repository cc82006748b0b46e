"""What it costs until the command line answers: processes from start to end, beside a bare interpreter.

Every measurement is a process of its own. Those that are compared take turns, so that whatever else the machine does
meets all of them alike.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.table import Row

ROUNDS = 15
AGENTS = 1_000
_ECHO = '''
import retinue

@retinue.agent
async def echo(task: str) -> dict[str, str]:
    """Echoes a text. Use when an echo is wanted. Returns it."""
    return {"said": task}
'''
_MARKDOWN = """---
name: reviewer-{0}
description: Reviews part {0} of the store. Use when part {0} changed. Returns what is wrong with it.
tools: Read, Grep
model: sonnet
---

You review part {0}. For each file of it:
1. Read it, and the tests beside it.
2. Say what is wrong, with its file and line.
"""


def measure(*, rounds: int = ROUNDS) -> list[Row]:
    """Medians of `rounds` runs each, in milliseconds; the first round fills caches and does not count."""
    with tempfile.TemporaryDirectory() as place:
        folder, environment = _project(Path(place))
        retinue = (sys.executable, "-m", "retinue")
        commands = {
            "bare": (sys.executable, "-c", "pass"),
            "import": (sys.executable, "-c", "import retinue"),
            "version": (*retinue, "--version"),
            "help": (*retinue, "--help"),
            "verb help": (*retinue, "run", "--help"),
            "agents": (*retinue, "agents"),
            "ask": (*retinue, "ask", "echo", "hello", "--quiet"),
        }
        took = _medians(commands, rounds, folder, environment)
        _add_agents(folder)
        took |= _medians({"ask many": commands["ask"], "agents many": commands["agents"]}, rounds, folder, environment)
    bare = took["bare"]
    note = f"a bare interpreter takes {bare:.0f} ms of it"
    return [
        Row("startup: `import retinue`, beyond a bare interpreter", took["import"] - bare, "ms"),
        Row("startup: `retinue --version`", took["version"], "ms", 150, note=note),
        Row("startup: `retinue --help`", took["help"], "ms", note=note),
        Row("startup: `retinue run --help`", took["verb help"], "ms", note=note),
        Row("startup: `retinue agents`, one of them from a trusted file", took["agents"], "ms", note=note),
        Row("startup: `retinue ask` of an agent that does nothing, history kept", took["ask"], "ms", note=note),
        Row(f"startup: `retinue ask` of it among {AGENTS:,} Markdown agents", took["ask many"], "ms", 800, note=note),
        Row(f"startup: `retinue agents` with {AGENTS:,} Markdown agents", took["agents many"], "ms", note=note),
    ]


def _medians(
    commands: Mapping[str, Sequence[str]], rounds: int, folder: Path, environment: Mapping[str, str]
) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds + 1):
        for name, command in commands.items():
            times[name].append(_milliseconds(command, folder, environment))
    return {name: statistics.median(each[1:]) for name, each in times.items()}


def _milliseconds(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - began) * 1e3


def _project(place: Path) -> tuple[Path, dict[str, str]]:
    """A trusted project with one agent, and an environment in which nothing of the user's is touched."""
    unset = ("PYTHON", "RETINUE_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    environment |= {f"RETINUE_{name}_DIR": str(place / name.lower()) for name in ("STATE", "CACHE", "CONFIG")}
    environment["PYTHONPYCACHEPREFIX"] = str(place / "bytecode")
    agents = place / "project" / ".retinue" / "agents"
    agents.mkdir(parents=True)
    (agents / "echo.py").write_text(_ECHO, encoding="utf-8")
    command = [sys.executable, "-m", "retinue", "trust", str(place / "project"), "--yes"]
    subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, check=True)
    return place / "project", environment


def _add_agents(folder: Path) -> None:
    agents = folder / ".claude" / "agents"
    agents.mkdir(parents=True)
    for number in range(AGENTS):
        (agents / f"reviewer-{number}.md").write_text(_MARKDOWN.format(number), encoding="utf-8")
