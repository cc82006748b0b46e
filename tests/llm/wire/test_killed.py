"""The command line, killed in the middle of a model request: the next command continues the conversation.

The provider is a server on loopback behind a real SDK, so it sees each request that is really made.
"""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from retinue.contract.event import TurnsAdded
from retinue.engine.journal import Journal
from tests.llm.wire.doors import KEY
from tests.llm.wire.script import Call, Line, Mishap, Reply, turns_in
from tests.llm.wire.server import WireServer
from tests.llm.wire.test_command import retinue
from tests.repository.tree import child_environment

READER = """\
---
name: reader
description: Reads files. Use when a file must be read. Returns what it says.
tools: Read
---
Read what you are asked for.
"""


@pytest.mark.slow
@pytest.mark.requirement("A14")
def test_a_command_killed_in_its_second_request_is_resumed_without_the_first(tmp_path: Path) -> None:
    lines: list[Line] = [
        Reply(calls=(Call("read", {"path": "secret.txt"}),), tokens_in=4_000, tokens_out=1_000),
        Mishap("silent"),
        Reply("It says: 42 houses.", tokens_in=6_000, tokens_out=2_000),
    ]
    (tmp_path / ".claude" / "agents").mkdir(parents=True)
    (tmp_path / ".claude" / "agents" / "reader.md").write_text(READER, encoding="utf-8")
    (tmp_path / "secret.txt").write_text("42 houses\n", encoding="utf-8")
    with WireServer(lines) as server:
        config = f'[models.base_url]\nopenai = "{server.url}/v1"\n[models.key_variable]\nopenai = "SHOP_KEY"\n'
        config += '[models.prices]\n"openai:shop" = "1/1 2026-01-31"\n'
        (tmp_path / "own" / "config").mkdir(parents=True)
        (tmp_path / "own" / "config" / "config.toml").write_text(config, encoding="utf-8")
        real = {"RETINUE_MODELS_DEFAULT": "openai:shop", "SHOP_KEY": KEY}
        places = {f"RETINUE_{name}_DIR": str(tmp_path / "own" / name.lower()) for name in ("STATE", "CACHE", "CONFIG")}
        killed = subprocess.Popen(
            [sys.executable, "-m", "retinue", "ask", "reader", "Read secret.txt"],
            cwd=tmp_path,
            env=child_environment(PYTHONDONTWRITEBYTECODE="1") | places | real,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with Journal(tmp_path / "own" / "state" / "journal.sqlite3") as journal:
                while len(server.asked) < 2 or not is_recorded(journal):
                    assert killed.poll() is None
                    time.sleep(0.05)
        finally:
            killed.send_signal(signal.SIGKILL)
            killed.wait()
        shown = retinue(tmp_path, "runs", "show", "--json", **real)
        resumed = retinue(tmp_path, "runs", "resume", "--json", **real)
        again = retinue(tmp_path, "runs", "show", "--json", **real)
        stats = retinue(tmp_path, "stats", "--json", **real)
    assert resumed.returncode == 0, resumed.stderr
    assert "42 houses" in resumed.stdout
    first, second, third = (turns_in(asked.body) for asked in server.asked)
    assert len(first) < len(second)
    assert third == second
    before, after = json.loads(shown.stdout)["usage"], json.loads(again.stdout)["result"]["usage"]
    assert (before["requests"], before["tokens_in"], before["cost"]["usd"]) == (1, 4_000, pytest.approx(0.005))
    (killed_step,), (resumed_step,) = json.loads(shown.stdout)["steps"], json.loads(again.stdout)["steps"]
    assert (killed_step["usage"], resumed_step["usage"]) == (before, after)
    for usage in (after, json.loads(resumed.stdout)["usage"]):
        assert (usage["requests"], usage["tokens_in"], usage["cost"]["usd"]) == (2, 10_000, pytest.approx(0.013))
    tallies = json.loads(stats.stdout)
    for tally in (tallies["runs"], *tallies["agents"], *tallies["skills"], *tallies["models"]):
        assert (tally["calls"], tally["tokens"], tally["cost_usd"]) == (1, 13_000, pytest.approx(0.013)), tally["name"]


def is_recorded(journal: Journal) -> bool:
    """Whether the file that was read is on the disk."""
    bodies = [event.body for run in journal.list() for event in journal.events(run.run)]
    return any("tool_answers" in turn for body in bodies if isinstance(body, TurnsAdded) for turn in body.turns)
