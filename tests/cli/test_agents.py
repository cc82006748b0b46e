"""`retinue agents`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Give
from tests.cli.test_lint import GOOD


def test_agents_are_listed_with_skills_and_where_they_come_from(retinue: Give, team: Path) -> None:
    said = retinue("agents")
    assert (said.code, said.err) == (0, "")
    assert "git_state_analyzer 1.0 · small · built in\n" in said.out
    assert "singer 1.0 · .retinue/agents/team.py:13\n" in said.out
    assert "Sings loud songs" in said.out
    assert "unavailable: " in said.out


def test_files_that_were_passed_over_are_said_with_line_and_hint(retinue: Give, folder: Path) -> None:
    agents = folder / ".retinue" / "agents"
    agents.mkdir(parents=True)
    (agents / "team.py").write_text("x = 1\n")
    (agents / "broken.json").write_text('{\n"name": }')
    (agents / "thin.md").write_text("---\nname: thin\ndescription: Thin.\n---\n")
    said = retinue("agents")
    assert "skipped .retinue/agents/team.py: It names code to run, and this folder is not trusted." in said.err
    assert "skipped .retinue/agents/broken.json:2: " in said.err
    assert "next: Review it, then run `retinue trust`" in said.err
    assert "load/no-instructions" in said.err
    assert said.err.count("not trusted") == 1
    data = retinue("agents", "--json").data
    assert {each["path"] for each in data["skipped"]} == {".retinue/agents/team.py", ".retinue/agents/broken.json"}
    assert "thin" in {each["name"] for each in data["agents"]}


def test_one_agent_shows_all_it_says_of_itself(retinue: Give, folder: Path) -> None:
    properties: dict[str, Any] = {
        "place": {"type": ["string", "null"], "description": "The place."},
        "units": {"type": "array", "items": {"enum": ["si", "us"]}, "default": ["si"]},
        "days": {"enum": [1, 2]},
        "odd": True,
    }
    definition = {
        **GOOD,
        "version": "2.1",
        "aliases": ["forecaster"],
        "tags": ["sky"],
        "tools": ["almanac"],
        "deprecated": {"note": "Ask the sky."},
        "surprise": 1,
        "input_schema": {**GOOD["input_schema"], "properties": properties},
    }
    (folder / "agents").mkdir()
    (folder / "agents" / "weather.json").write_text(json.dumps(definition))
    said = retinue("agents", "forecaster")
    assert said.code == 0
    for line in (
        "weather_reporter 2.1 · agents/weather.json:1 · deprecated",
        "aliases: forecaster",
        "tools: almanac",
        "deprecated: Ask the sky.",
        "not understood: surprise",
        "  unavailable: needs a model: set `models.default`, or pass `--model provider:model`",
        "    place (string | null, required): The place.",
        "    units (list of si | us, default ['si'])",
        "    days (1 | 2)",
        "    odd (any)",
    ):
        assert f"{line}\n" in said.out
    assert retinue("agents", "forecaster", "--json").data["name"] == "weather_reporter"


def test_a_built_in_agent_shows_examples(retinue: Give, folder: Path) -> None:
    said = retinue("agents", "researcher_analyst")
    assert "  for example\n" in said.out
    assert "  gives\n" in said.out


@pytest.mark.requirement("B19")
def test_the_light_schema_is_a_line_for_each_agent_and_skill(retinue: Give, team: Path) -> None:
    said = retinue("agents", "--light")
    assert said.code == 0
    paragraphs = said.out.strip().split("\n\n")
    singer = next(each for each in paragraphs if each.startswith("singer — "))
    assert singer.splitlines()[1].startswith("- ")
    assert any(' EX: "' in each for each in paragraphs)
    assert not any("fix_bug" in each for each in paragraphs)  # it cannot be called here
    alone = retinue("agents", "singer", "--light", "--json")
    assert alone.data == {"light_schema": singer}


def test_a_mistyped_name_lists_the_nearest_first(retinue: Give, folder: Path) -> None:
    said = retinue("agents", "reseacher_analyst", "--json")
    assert said.code == 2
    assert said.error["suggestions"][0] == "researcher_analyst"
