"""What somebody was told is on disk: killed right after, the history has it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from retinue.engine.journal import Journal

_PROGRAM = """
import asyncio, os, signal, sys
from retinue.contract.event import NodeFinished
from retinue.contract.result import Result
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal

async def flow(scope, payload):
    return Result(task_id=scope.run, agent="flow", outcome="success", data=payload)

async def main():
    engine = InProcessEngine({"flow": flow}, journal=Journal(sys.argv[1]))
    async with engine:
        run = await engine.start("flow", {"number": 7})
        if sys.argv[2] == "result":
            await engine.result(run)
        else:
            async for event in engine.events(run):
                if isinstance(event.body, NodeFinished):
                    break
        os.write(1, run.encode())
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@pytest.mark.parametrize("told_by", ["result", "events"])
def test_a_process_killed_once_it_told_of_a_success_has_it_in_its_history(told_by: str, tmp_path: Path):
    place = tmp_path / "journal.sqlite3"
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(place), told_by],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        timeout=120,
    )
    assert ended.returncode == -signal.SIGKILL
    with Journal(place) as journal:
        result = journal.result(ended.stdout.decode())
    assert result is not None
    assert (result.outcome, result.data) == ("success", {"number": 7})
