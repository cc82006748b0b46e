"""Agents that Claude Code drives: the real SDK over the real program, or over a small program that misbehaves."""

import sys
from pathlib import Path
from typing import Any

from retinue_claude import ClaudeCode

from retinue.agents.prompted import EMPTY, PromptedAgent, Toolbox
from retinue.llm.models import Models, ProviderSettings
from retinue.llm.prices import Price
from tests.agents.prompted.given import definition

__all__ = ["KEY", "MODEL", "PRICE", "driven", "fake", "models"]

KEY = "sk-ant-wire-4fQ9zX7b4fQ9zX7b4fQ9zX7b"
MODEL = "anthropic:claude-haiku-4-5"
PRICE = Price(usd_in=2.0, usd_out=10.0, usd_cached=0.2, date="2026-01-01", source="a test")


def models(url: str = "", *, priced: bool = False, key: str = KEY) -> Models:
    """Haiku for everything, asked at `url`."""
    providers = {"anthropic": ProviderSettings(base_url=url)} if url else {}
    environment = {"ANTHROPIC_API_KEY": key} if key else {}
    return Models(default=MODEL, providers=providers, environment=environment, prices={MODEL: PRICE} if priced else {})


def driven(
    url: str = "",
    *,
    program: str = "",
    toolbox: Toolbox = EMPTY,
    priced: bool = False,
    silence_s: float = 30,
    **facts: Any,
) -> PromptedAgent:
    """An agent that asks at `url`."""
    loop = ClaudeCode(program=program, silence_s=silence_s)
    return PromptedAgent(definition(**facts), models=models(url, priced=priced), toolbox=toolbox, loop=loop)


def fake(folder: Path, script: str) -> str:
    """A program that says what `script` does; `say` and `hear` are there, and `greet` is the beginning of all."""
    path = folder / "claude"
    helpers = Path(__file__).with_name("fake_claude.py").read_text(encoding="utf-8")
    path.write_text(f"#!{sys.executable}\n{helpers}\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)
