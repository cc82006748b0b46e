"""The registry in a few lines, for whoever has to choose."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.agents.python import agent
from retinue.agents.registry import Registry, light_schema, light_schema_of
from retinue.contract.definition import Definition, Skill


def definition(name: str = "forecaster", *skills: Skill, **facts: Any) -> Definition:
    facts.setdefault("description", "Tells the weather of a city. Use it before going out.")
    return Definition(name=name, skills=skills or (skill(),), **facts)


def skill(name: str = "forecast", **facts: Any) -> Skill:
    facts.setdefault("description", "Says what the weather will be. Returns a word.")
    return Skill(name=name, input_schema={"type": "object"}, **facts)


@pytest.mark.requirement("B19")
def test_an_agent_is_its_first_sentence_and_a_line_for_each_skill():
    text = light_schema(
        [
            definition(
                "forecaster",
                skill(examples=("  ", "will it rain tomorrow", "and on Sunday")),
                skill("history", description="Says what the weather was"),
            ),
            definition("singer", description="Sings.\nLoud."),
        ]
    )
    assert text == (
        "forecaster — Tells the weather of a city\n"
        '- forecast: Says what the weather will be EX: "will it rain tomorrow"\n'
        "- history: Says what the weather was\n"
        "\n"
        "singer — Sings\n"
        "- forecast: Says what the weather will be"
    )


@pytest.mark.requirement("B19")
def test_what_cannot_be_called_is_left_out():
    gone = skill("gone", unavailable="install retinue[data]")
    assert light_schema([definition("a", gone), definition("b", gone, skill())]).startswith("b — ")
    assert "gone" not in light_schema([definition("b", gone, skill())])
    assert light_schema([]) == ""


def test_of_two_majors_the_oldest_answers_to_the_bare_name():
    newer = definition(version="2.0", description="The new one")
    older = definition(version="1.3", description="The old one")
    assert "The old one" in light_schema([newer, older])
    assert light_schema([newer, older]) == light_schema([older, newer]) == light_schema([older])


@agent(description="Sings loud songs.")
async def sings() -> str:
    """Sings."""
    return "la"


@agent(description="Draws maps.")
async def draws() -> str:
    """Draws."""
    return "map"


@pytest.mark.requirement("B19")
def test_it_is_made_once_and_anew_when_an_agent_was_added():
    registry = Registry([sings])
    first = light_schema_of(registry)
    assert light_schema_of(registry) is first
    registry.add(draws)
    assert light_schema_of(registry) == light_schema(registry.definitions()) != first


@given(st.text(min_size=1), st.text())
def test_no_text_of_an_author_makes_a_line_of_its_own(description: str, example: str):
    text = light_schema([definition("a", skill(description=description, examples=(example,)), description=description)])
    assert len(text.splitlines()) == 2
    assert not any(unicodedata.category(letter) == "Cc" for letter in text.replace("\n", ""))
    assert len(text) < 1_000
