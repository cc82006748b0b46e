"""A project whose agents think, with scripted models behind every tier."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import retinue.cli.project
from retinue.cli.settings import Settings
from retinue.llm.models import Models
from retinue.llm.scripted import Line, ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from retinue.llm.port import Request

POET = """---
name: poet
description: Writes short poems about a theme. Use when a poem must be written. Returns the poem.
tools: Read
---
Write a short poem about what you are asked.
"""
HOUSEKEEPER = """---
name: housekeeper
description: Tidies wooden houses. Use when a house must be tidied. Returns what was tidied.
tools: Read, Write
---
Tidy it.
"""


def add_agents(folder: Path) -> None:
    """Give the project its two agents."""
    place = folder / ".claude" / "agents"
    place.mkdir(parents=True)
    (place / "poet.md").write_text(POET, encoding="utf-8")
    (place / "housekeeper.md").write_text(HOUSEKEEPER, encoding="utf-8")


def use_models(
    monkeypatch: pytest.MonkeyPatch,
    script: "Iterable[Line] | Callable[[Request], Line]",
    *,
    default: str = "",
    large: float | None = 15.0,
) -> dict[str, ScriptedModel]:
    """Put a scripted model behind each tier, the larger the dearer; `large` is the price of the largest."""
    prices = {"small": 1.0, "medium": 3.0, "large": large}
    lines = script if callable(script) else tuple(script)
    found = {
        tier: ScriptedModel(lines, name=f"scripted:{tier}", usd_per_million=price, max_output=1_000)
        for tier, price in prices.items()
    }

    def models_of(settings: Settings, *, default: str | None = default, extra_models: object = ()) -> Models:
        del settings, extra_models
        tiers = {"small": "scripted:small", "medium": "scripted:medium", "large": "scripted:large"}
        return Models(tiers=tiers, default=default or "", ready={each.name: each for each in found.values()})  # type: ignore[arg-type]

    monkeypatch.setattr(retinue.cli.project, "models_of", models_of)
    monkeypatch.setenv("RETINUE_RUN_PLANNER", "rules")
    return found
