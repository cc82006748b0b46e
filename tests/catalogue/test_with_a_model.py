"""Which ready-made agents take models, and that each of them is handed those there are."""

from inspect import signature

from retinue.catalogue import WITH_A_MODEL, agents
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel


def test_every_agent_that_takes_models_says_what_they_add() -> None:
    taking = {each.definition.name for each in agents() if "models" in signature(type(each)).parameters}
    assert taking == set(WITH_A_MODEL)


def test_with_a_model_nothing_says_that_it_needs_one() -> None:
    models = Models.only(ScriptedModel(["hello"]))
    without = [skill for agent in agents() for skill in agent.definition.skills]
    needing = [skill.name for skill in without if "needs a model" in skill.unavailable]
    assert needing == ["fix_bug", "add_feature", "options"]
    skills = [skill for agent in agents(models=models) for skill in agent.definition.skills]
    assert [skill.name for skill in skills] == [skill.name for skill in without]
    assert not any("needs a model" in skill.unavailable for skill in skills)
