"""The definitions as data: they load, say what they must, and hold what the requirement rows ask of them."""

import asyncio
from typing import Any

import pytest

from retinue.agents.local import LocalContext
from retinue.agents.port import Agent
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.contract import schema
from retinue.contract.definition import Skill
from retinue.contract.lint import lint
from retinue.contract.task import Task
from retinue.errors import UnknownName
from retinue.orchestration.reader.router import Router
from tests.catalogue.conftest import Ask
from tests.repository.test_imports import loaded_after

NAMES = [
    "code_engineer_executor", "data_analyst", "design_guardian", "discovery_orchestrator", "git_state_analyzer",
    "metrics", "pattern_discovery", "personal_assistant", "requirements_interviewer", "research_supervisor",
    "researcher_analyst", "specification_quality_checker", "system_architect", "ticket_analyzer",
]  # fmt: skip
AGENTS = {agent.definition.name: agent for agent in agents()}


def skill(agent: str, name: str) -> Skill:
    found = AGENTS[agent].definition.skill(name)
    assert found is not None
    return found


RESEARCH = skill("researcher_analyst", "research")


@pytest.mark.requirement("A19")
def test_every_agent_is_there_by_name_and_alias() -> None:
    registry = Registry(agents())
    assert [agent.definition.name for agent in registry] == NAMES
    assert registry.get("researcher").definition.name == "researcher_analyst"
    assert registry.get("git-state-analyzer").definition.name == "git_state_analyzer"


@pytest.mark.requirement("A6", "A20", "A21")
@pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.definition.name)
def test_a_definition_has_no_findings_and_its_samples_pass(agent: Agent) -> None:
    assert lint(agent.definition) == []
    assert any(sample.answer for one in agent.definition.skills for sample in one.samples)


def test_listing_the_room_loads_nothing_heavy() -> None:
    assert loaded_after("import retinue.catalogue") == set()


@pytest.mark.requirement("A5", "A30", "A22")
@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"task": "what is it about", "depth": "quick_scan", "sources": ["docs", "reddit"]}, "/sources/1"),
        ({"task": "too short", "depth": "quick_scan"}, "/task"),
        ({"task": "what is it about", "depth": "quick_scan", "sources": ["docs", "docs"]}, "/sources"),
        ({"task": "what is it about", "depth": "deep"}, "/depth"),
        ({"task": "what is it about", "depth": "deep_dive", "output_format": "json_table"}, "/output_format"),
        ({"task": "what is it about"}, ""),
        ({"depth": "deep_dive"}, ""),
        ({"task": "what is it about", "depth": "deep_dive", "limit": 3}, "/limit"),
    ],
)
def test_the_researcher_refuses_what_its_schema_refuses(parameters: dict[str, Any], path: str) -> None:
    findings = schema.compile(RESEARCH.input_schema).findings(parameters)
    assert [finding.path for finding in findings] == [path]


@pytest.mark.requirement("A5")
def test_the_researcher_takes_all_sources_and_a_summary_by_default() -> None:
    validator = schema.compile(RESEARCH.input_schema)
    filled, _ = validator.apply_defaults({"task": "what is it about", "depth": "comprehensive"})
    assert validator.findings(filled) == []
    assert filled == {
        "task": "what is it about",
        "depth": "comprehensive",
        "sources": ["web", "docs", "memory", "code"],
        "output_format": "summary",
        "paths": [],
        "focus": "explain",
    }


def test_an_unknown_source_is_refused_before_anything_is_searched(ask: Ask) -> None:
    result = ask.research("what is the engine", sources=["reddit"])
    assert (result.outcome, result.fault and result.fault.code) == ("error", "invalid_input")
    assert "reddit" in str(result.fault)


@pytest.mark.requirement("K21")
def test_an_unknown_operation_lists_those_there_are(ask: Ask) -> None:
    result = ask("git_state_analyzer", "branch_stats")
    assert result.fault is not None
    assert result.fault.code == "invalid_input"
    assert set(result.fault.suggestions) >= {"branch_status", "commit_analysis"}
    with pytest.raises(UnknownName, match="has no skill"):
        asyncio.run(_run(AGENTS["git_state_analyzer"], "nothing"))


async def _run(agent: Agent, name: str) -> None:
    await agent.run(Task(id="t", agent=agent.definition.name, skill=name), LocalContext())


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("How does the boundary correct an answer?", "research"),
        ("where is the retry policy defined", "research"),
        ("explain the cache", "research"),
        ("which files mention the journal", "research"),
        ("why is the index split in two", "research"),
        ("who changed the boundary most recently?", "commit_analysis"),
        ("how many commits were made last week", "commit_analysis"),
        ("what changed since March", "commit_analysis"),
        ("who are the main contributors", "commit_analysis"),
        ("is the working tree clean?", "branch_status"),
        ("am I ahead of main", "branch_status"),
        ("what were the sales in 1997", "get_year_to_end_sales"),
        ("how many customers churned between Q2 and Q3 of 1997", "calculate_churn_q2_q3"),
    ],
)
def test_questions_are_routed_to_the_skill_that_answers_them(clause: str, expected: str) -> None:
    routing = Router([agent.definition for agent in AGENTS.values()]).route(clause)
    assert not routing.abstained
    assert routing.candidates[0].skill == expected
