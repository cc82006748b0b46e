"""Definitions in the words of a dialect: tools of spec 000 and cards of spec 004, as agents of a file."""

import asyncio
import json
from typing import Any

import pytest

from retinue.agents.load import NEEDS_MODEL
from retinue.agents.load.by_dialect import load_agent_json, load_tool_use
from retinue.agents.load.loaded_agents import RUNS_ELSEWHERE
from retinue.contract.definition import Source
from retinue.contract.task import Task

TAKES: dict[str, Any] = {
    "type": "object",
    "properties": {"question": {"type": "string"}},
    "required": ["question"],
    "additionalProperties": False,
}
TOOL: dict[str, Any] = {"name": "sky", "description": "Knows the sky.", "input_schema": TAKES}
CARD: dict[str, Any] = {
    "name": "Metrics Agent",
    "description": "Knows the figures.",
    "version": "1.0.0",
    "endpoints": {"tasks": "/agents/business/metrics-agent/tasks"},
    "capabilities": [
        {
            "name": "get_year_to_end_sales",
            "description": "Sales of a year.",
            "endpoint": "/agents/business/metrics-agent/year-to-end-sales",
            "method": "POST",
            "input_schema": TAKES,
        },
        {
            "name": "churn",
            "description": "Churn.",
            "endpoint": "/agents/business/metrics-agent/churn",
            "method": "GET",
        },
    ],
}


@pytest.mark.requirement("A4", "C11")
def test_tools_of_one_agent_are_its_skills() -> None:
    tools = [{**TOOL, "name": "sky_v2__today"}, {**TOOL, "name": "sky_v2__tomorrow"}, {**TOOL, "name": "sea"}]
    loaded = load_tool_use(json.dumps(tools).encode(), file="tools.json")
    sky, sea = (agent.definition for agent in loaded.agents)
    assert (sky.name, sky.version, [skill.name for skill in sky.skills]) == ("sky", "2.0", ["today", "tomorrow"])
    assert (sea.name, sea.skills[0].instruction_field, sea.skills[0].unavailable) == ("sea", "question", NEEDS_MODEL)
    assert sky.source == Source(file="tools.json", line=1, column=1)


def test_what_is_wrong_with_a_tool_has_a_place() -> None:
    text = '[\n{"name": "a", "description": "x", "input_schema": {"type": "object"}},\n{"name": "b"}\n]'
    loaded = load_tool_use(text.encode(), file="tools.json")
    assert loaded.agents == ()
    assert {(error.file, error.line) for error in loaded.errors} == {("tools.json", 3)}
    assert len(loaded.errors) == 2


@pytest.mark.requirement("C28", "P5", "P7")
def test_a_card_of_spec_004_becomes_an_agent_that_runs_elsewhere() -> None:
    loaded = load_agent_json(json.dumps(CARD).encode(), file="agent.json")
    (agent,) = loaded.agents
    definition = agent.definition
    assert (definition.name, definition.category, definition.version) == ("metrics_agent", "business", "1.0.0")
    sales, churn = definition.skills
    assert (sales.method, sales.path) == ("POST", "/agents/business/metrics-agent/year-to-end-sales")
    assert (sales.input_schema, churn.input_schema) == (TAKES, {"type": "object"})
    assert {sales.unavailable, churn.unavailable} == {RUNS_ELSEWHERE}
    nobody: Any = None
    reply = asyncio.run(_answer(agent, nobody))
    assert reply == "unavailable"


async def _answer(agent: Any, run: Any) -> str:
    reply = await agent.run(Task(id="t", agent="metrics_agent", skill="churn"), run)
    return reply.fault.code


def test_several_cards_stand_in_one_file() -> None:
    cards = {"agents": [CARD, {**CARD, "name": "other"}]}
    loaded = load_agent_json(json.dumps(cards).encode(), file="agent.json")
    assert [agent.definition.name for agent in loaded.agents] == ["metrics_agent", "other"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"handler": "os.system"}, "/handler"),
        ({"capabilities": [{**CARD["capabilities"][0], "entry-point": "x"}]}, "/capabilities/0/entry-point"),
    ],
)
def test_a_card_names_no_code(change: dict[str, Any], path: str) -> None:
    loaded = load_agent_json(json.dumps({**CARD, **change}).encode(), file="agent.json")
    assert loaded.agents == ()
    assert [(error.rule, error.path) for error in loaded.errors] == [("load/names-code", path)]


def test_a_tool_names_no_code() -> None:
    loaded = load_tool_use(json.dumps([TOOL, {**TOOL, "name": "x", "module": "os"}]).encode(), file="tools.json")
    assert loaded.agents == ()
    assert [(error.rule, error.path) for error in loaded.errors] == [("load/names-code", "/1/module")]


@pytest.mark.parametrize("load", [load_tool_use, load_agent_json])
def test_what_is_no_object_is_refused(load: Any) -> None:
    for text in (b"3", b"[]", b"{}", b'"x"', b"[3]"):
        loaded = load(text, file="x.json")
        assert loaded.agents == ()
        assert loaded.errors
