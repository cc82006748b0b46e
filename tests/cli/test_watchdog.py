"""An agent that keeps the process to itself: nobody can interrupt it, and yet the command comes to an end."""

import json
import os
from pathlib import Path

import pytest

from retinue.agents.trust import TrustStore
from tests.cli.shell import run

HOG = '''import time
import retinue


@retinue.agent
async def spinner(task: str) -> str:
    """Spins for ever. Use when time must be lost. Returns nothing."""
    while True:
        pass


@retinue.agent
async def sleeper(task: str) -> str:
    """Sleeps for ever. Use when time must be lost. Returns nothing."""
    time.sleep(1000)
'''


@pytest.mark.slow
@pytest.mark.row("C21")
@pytest.mark.parametrize("agent", ["spinner", "sleeper"])
def test_an_agent_that_blocks_everything_ends_the_command_with_a_reason(home: Path, folder: Path, agent: str) -> None:
    file = folder / ".retinue" / "agents" / "hog.py"
    file.parent.mkdir(parents=True)
    file.write_text(HOG, encoding="utf-8")
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(folder)
    done = run(home, folder, "ask", agent, "hello", "--timeout", "500ms")
    assert done.returncode == 7
    assert "kept the whole process to itself for more than 0.5 s" in done.stderr
    assert "run.offload" in done.stderr
    assert "Traceback" not in done.stderr
    (listed,) = json.loads(run(home, folder, "runs", "list", "--json").stdout)
    assert listed["label"] == "hello"
    assert f"`retinue runs resume {listed['run']}` goes on" in done.stderr
    assert f"`retinue runs show {listed['run']} --events` tells what" in done.stderr
