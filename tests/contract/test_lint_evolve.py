"""A whole tree that changed: who is an earlier agent's heir, and what its callers notice (A27, A28, C34)."""

import pytest

from retinue.contract.definition import Definition, Deprecation, Skill, Source
from retinue.contract.lint import EarlierDefinition, compare, compare_trees

SCHEMA: dict[str, object] = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
LESS: dict[str, object] = {"type": "object", "properties": {}, "required": []}


def agent(
    name: str, version: str = "1.0", *, file: str = "a.json", takes: dict[str, object] | None = None, **more: object
) -> Definition:
    skill = Skill(name="look", description=str(more.pop("about", "Looks.")), input_schema=takes or SCHEMA)
    facts = {"name": name, "version": version, "description": "Looks.", "skills": (skill,), "source": Source(file=file)}
    return Definition.model_validate({**facts, **more})


def rules(old: Definition, *now: Definition, file: str = "a.json") -> list[tuple[str, str]]:
    return [(each.finding.rule, each.finding.severity) for each in compare_trees([EarlierDefinition(old, file)], now)]


@pytest.mark.requirement("A27", "A28")
def test_an_agent_that_is_gone_breaks_its_callers_and_says_where_it_was() -> None:
    (change,) = compare_trees([EarlierDefinition(agent("weather"), "w.json")], [agent("forecast")])
    assert change.definition is None
    assert (change.finding.rule, change.finding.severity) == ("compatibility/agent-removed", "error")
    assert (change.finding.file, change.finding.line, change.finding.column) == ("w.json", 1, 1)


@pytest.mark.requirement("C34")
def test_one_that_was_deprecated_may_go_with_a_warning() -> None:
    assert rules(agent("weather", deprecated=Deprecation())) == [("compatibility/agent-removed", "warning")]


def test_whoever_takes_the_name_as_an_alias_is_the_heir() -> None:
    assert rules(agent("weather"), agent("forecast", "1.1", aliases=("Weather",))) == []


@pytest.mark.requirement("A28")
def test_a_new_major_version_beside_the_old_breaks_nobody() -> None:
    assert rules(agent("weather"), agent("weather", "2.0", takes=LESS), agent("weather")) == []


@pytest.mark.requirement("A28")
def test_a_new_major_version_in_place_of_the_old_is_a_warning() -> None:
    found = rules(agent("weather"), agent("weather", "2.0", takes=LESS))
    assert found[0] == ("compatibility/agent-removed", "warning")
    assert {severity for _, severity in found[1:]} == {"info"}


def test_of_several_with_one_name_the_one_in_the_same_file_is_the_heir() -> None:
    here, elsewhere = agent("weather"), agent("weather", file="b.json", takes=LESS)
    assert rules(agent("weather"), elsewhere, here) == []
    assert ("compatibility/field-removed", "error") in rules(agent("weather"), elsewhere, here, file="b.json")


@pytest.mark.requirement("A27")
def test_other_words_are_no_new_contract() -> None:
    assert compare(agent("weather"), agent("weather", about="Looks well.")) == []
    assert [each.rule for each in compare(agent("weather"), agent("weather", takes={**SCHEMA, "properties": {
        "place": {"type": "string"}, "unit": {"type": "string"}}}))] == ["compatibility/version"]  # fmt: skip
