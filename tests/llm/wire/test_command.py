"""The command line with a real SDK behind it: recorded once, and replayed when the provider is gone."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import forkserver
from tests.llm.wire.doors import KEY
from tests.llm.wire.script import Reply
from tests.llm.wire.server import WireServer
from tests.repository.tree import child_environment

GREETER = """\
---
name: greeter
description: Greets somebody by name. Use when a greeting is due. Returns the greeting.
---
You greet people. Answer in one short sentence.
"""


def retinue(folder: Path, *words: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    """One command in `folder`, with nothing of whoever runs the tests."""
    places = {f"RETINUE_{name}_DIR": str(folder / "own" / name.lower()) for name in ("STATE", "CACHE", "CONFIG")}
    return forkserver.run(
        [sys.executable, "-m", "retinue", *words],
        cwd=folder,
        env=child_environment(PYTHONDONTWRITEBYTECODE="1") | places | settings,
        text=True,
        timeout=60,
    )


@pytest.mark.slow
def test_a_request_is_recorded_and_replayed_when_the_provider_is_gone(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "agents").mkdir(parents=True)
    (tmp_path / ".claude" / "agents" / "greeter.md").write_text(GREETER, encoding="utf-8")
    (tmp_path / "own" / "config").mkdir(parents=True)
    with WireServer([Reply(f"Good day, Ada! {KEY}", tokens_in=120)]) as server:
        config = f'[models.base_url]\nopenai = "{server.url}/v1"\n[models.key_variable]\nopenai = "SHOP_KEY"\n'
        (tmp_path / "own" / "config" / "config.toml").write_text(config, encoding="utf-8")
        real = {"RETINUE_MODELS_DEFAULT": "openai:some-model", "RETINUE_MODELS_RECORD": "kept", "SHOP_KEY": KEY}
        first = retinue(tmp_path, "ask", "greeter", "Greet Ada", **real)
    assert first.returncode == 0, first.stderr
    assert "Good day, Ada!" in first.stdout
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    (kept,) = (tmp_path / "kept").iterdir()
    assert KEY not in kept.read_text(encoding="utf-8")

    replayed = {"RETINUE_MODELS_DEFAULT": "replay:kept"}
    again = retinue(tmp_path, "ask", "greeter", "Greet Ada", **replayed)
    assert (again.returncode, again.stdout) == (0, first.stdout.replace(KEY, "[removed]"))
    other = retinue(tmp_path, "ask", "greeter", "Greet Bob", **replayed)
    assert other.returncode != 0
    assert "Greet Ada" in other.stderr
    assert "Greet Bob" in other.stderr


@pytest.mark.slow
@pytest.mark.requirement("A16")
def test_an_agent_that_is_asked_alone_gets_the_model_of_its_tier(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "agents").mkdir(parents=True)
    (tmp_path / ".claude" / "agents" / "greeter.md").write_text(GREETER, encoding="utf-8")
    with WireServer([Reply("Good day, Ada!")]) as server:
        tiers = {f"RETINUE_MODELS_{tier.upper()}": f"openai:{tier}-one" for tier in ("small", "medium", "large")}
        address = {"RETINUE_MODELS_BASE_URL": f"openai={server.url}/v1"}
        asked = retinue(tmp_path, "ask", "greeter", "Design a greeting for Ada", **tiers, **address)
    assert (asked.returncode, asked.stdout) == (0, "Good day, Ada!\n"), asked.stderr
    assert [request.body["model"] for request in server.asked] == ["medium-one"]
