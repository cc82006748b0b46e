"""Which ready-made agents think, that each of them is handed the models there are, and that it asks the one it is told."""

from inspect import signature
from typing import TYPE_CHECKING, cast

import pytest

from retinue.catalogue import agents
from retinue.catalogue._model_choice import model_for
from retinue.catalogue.code_engineer_executor import refactor
from retinue.catalogue.researcher_analyst.parameters import DEPTHS
from retinue.catalogue.system_architect import restructuring
from retinue.contract.task import Task
from retinue.contract.tokens import get_counter
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel
from retinue.orchestration import cited_summary
from retinue.orchestration.structured_model import CORRECTIONS

if TYPE_CHECKING:
    from retinue.catalogue._lazy import LazyAgent

DEFINITIONS = {each.definition.name: each.definition for each in agents()}


@pytest.mark.requirement("A17", "A18")
def test_every_skill_says_whether_it_asks_a_model():
    said = {
        f"{name}.{skill.name}": skill.thinks
        for name, definition in DEFINITIONS.items()
        for skill in definition.skills
        if skill.thinks != "never"
    }
    assert said == {
        "code_engineer_executor.fix_bug": "must",
        "code_engineer_executor.add_feature": "must",
        "design_guardian.story_review": "can",
        "design_guardian.task_review": "can",
        "design_guardian.epic_review": "can",
        "personal_assistant.assist": "can",
        "requirements_interviewer.initiative": "can",
        "requirements_interviewer.epic": "can",
        "requirements_interviewer.story": "can",
        "requirements_interviewer.task": "can",
        "researcher_analyst.research": "can",
        "discovery_orchestrator.epic_gaps": "by_others",
        "discovery_orchestrator.initiative_gaps": "by_others",
        "discovery_orchestrator.story_gaps": "by_others",
        "discovery_orchestrator.task_gaps": "by_others",
        "research_supervisor.research_each": "by_others",
        "specification_quality_checker.full_ticket": "can",
        "specification_quality_checker.acceptance_criteria": "can",
        "specification_quality_checker.technical_design": "can",
        "specification_quality_checker.task_steps": "can",
        "system_architect.options": "must",
        "system_architect.assess": "by_others",
        "ticket_analyzer.story_deep": "can",
        "ticket_analyzer.ticket_completeness": "can",
    }


def test_every_agent_that_takes_models_says_that_it_thinks():
    loaded = [cast("LazyAgent", each).agent for each in agents()]
    made = {each.definition.name: getattr(each, "__wrapped__", type(each)) for each in loaded}
    taking = {name for name, kind in made.items() if "models" in signature(kind).parameters}
    thinking = {
        name
        for name, definition in DEFINITIONS.items()
        if any(skill.thinks in ("can", "must") for skill in definition.skills)
    }
    assert taking == thinking


def test_with_a_model_nothing_says_that_it_needs_one():
    models = Models.only(ScriptedModel(["hello"]))
    without = [skill for agent in agents() for skill in agent.definition.skills]
    needing = [skill.name for skill in without if "needs a model" in skill.unavailable]
    assert needing == [skill.name for skill in without if skill.thinks == "must"]
    skills = [skill for agent in agents(models=models) for skill in agent.definition.skills]
    assert [skill.name for skill in skills] == [skill.name for skill in without]
    assert not any("needs a model" in skill.unavailable for skill in skills)


@pytest.mark.requirement("A17", "C19")
def test_what_a_skill_says_it_asks_at_most_is_what_its_code_keeps_to():
    def within(agent: str, skill: str) -> tuple[int | None, int | None, int | None]:
        found = DEFINITIONS[agent].skill_for(skill)
        assert found is not None
        assert found.thinks_within is not None
        bounds = found.thinks_within
        return bounds.requests, bounds.tokens_in, bounds.tokens_out

    rounds = refactor._MAX_CORRECTIONS + 1  # pyright: ignore[reportPrivateUsage] - held against what is said of it
    turns = refactor._MAX_TURNS  # pyright: ignore[reportPrivateUsage] - as above
    assert within("code_engineer_executor", "fix_bug") == (rounds * turns, None, None)
    # A thinker asks once more where an answer was empty.
    asks = 2 * (CORRECTIONS + 1)
    listed = "Each reads like this, a quotation of six hundred characters, and names its place. " * 8
    count = get_counter().count

    research = within("researcher_analyst", "research")
    evidence = max(depth.findings for depth in DEPTHS.values()) * count(listed)
    instructions = count(cited_summary._INSTRUCTIONS)  # pyright: ignore[reportPrivateUsage] - as above
    assert (research[0], research[2]) == (asks, 3_000)
    assert research[1] is not None
    assert evidence + 2 * instructions < research[1]

    weighing = within("system_architect", "options")
    assert (weighing[0], weighing[2]) == (asks, 3_000)
    assert weighing[1] is not None
    assert restructuring._MOST * count(listed) < weighing[1]  # pyright: ignore[reportPrivateUsage] - as above

    checking = within("specification_quality_checker", "full_ticket")
    assert (checking[0], checking[2]) == (2 * asks, 8_000)  # it judges, and then rewrites


@pytest.mark.parametrize(
    ("facts", "must", "named"),
    [
        ({}, None, "m:small"),
        ({"model": "large"}, None, "m:large"),
        ({"model": "large"}, "medium", "m:medium"),
        ({"model": "inherit", "extras": {"parent_model": "m:caller"}}, None, "m:caller"),
    ],
)
def test_what_a_delegation_was_given_is_asked_before_the_agents_own_tier(
    facts: dict[str, object], must: str | None, named: str
):
    tiers = {"small": "m:small", "medium": "m:medium", "large": "m:large"}
    task = Task.model_validate({"id": "t", "agent": "personal_assistant", **facts})
    definition = DEFINITIONS["personal_assistant"]
    assert model_for(task, Models(tiers=tiers), definition, override=must).name == named  # type: ignore[arg-type]
