"""Requirements are whole, frozen, and each is known to be able to fail."""

import tomllib
from pathlib import Path

import pytest

from retinue.conformance.judge import ALL, kit, requirements
from retinue.conformance.port import HOSTILE, KITS, PROTOCOLS
from retinue.errors import UnknownName
from tests.conformance.kits import FILES, JUDGED, broken, digest, judged, verdict
from tests.requirements.rows import read_rows

FROZEN = tomllib.loads(Path(__file__).with_name("frozen.toml").read_text(encoding="utf-8"))
BROKEN = [(dialect, name) for dialect in JUDGED for name in broken(dialect).MUTANTS]
HEADINGS = {
    "markdown_json": {
        "Overview", "Standard Input Format", "Standard Output Format", "Success Response", "Partial Success Response",
        "Error Response", "Standard Error Types", "invalid_input", "Output Validation Requirements", "JSON Structure",
        "Required Fields", "Data Types", "Content Quality", "Graceful Degradation Strategy", "When to Error",
        "Input Sanitization Requirements", "File Path Validation", "Operation Name Validation",
        "Slash Command Integration", "Parsing Agent Output", "Contract Compliance Testing", "test_agent_success_contract",
        "test_agent_error_contract", "test_agent_partial_contract",
    },
    "agent_http": {
        "Agent API Structure", "Generic /tasks Endpoint", "Interaction Patterns",
        "Handling Specific Skill Failures", "Error Analysis", "Fallback to Generic /tasks Endpoint", "Logging",
        "Benefits of This Design", "Structured Data", "Testability",
    },
}  # fmt: skip
"""Headings of the two specs, and the first words of their lists, that a clause may name."""
ROWS = {row.id for row in read_rows()}


@pytest.mark.parametrize("dialect", FILES)
def test_requirements_change_only_with_their_version(dialect: str) -> None:
    version, _ = requirements(dialect)
    assert FROZEN[dialect].get(version) == digest(dialect), (
        f"the requirements of {dialect} were changed: raise their version, and add to frozen.toml: "
        f'"{version}" = "{digest(dialect)}"'
    )


@pytest.mark.parametrize("dialect", JUDGED)
def test_every_requirement_is_whole(dialect: str) -> None:
    by = kit(dialect)
    ids = [each.id for each in by.requirements]
    assert len(set(ids)) == len(ids)
    assert ids == list(by.checks), "the checks stand in the order of the requirements"
    assert set(ids) == set(broken(dialect).MUTANTS)
    for each in by.requirements:
        assert each.force in {"MUST", "SHOULD"}, each.id
        assert each.text.endswith("."), each.id
        assert each.fix, each.id
        assert each.clause, each.id
        assert each.rows, each.id
        assert set(each.rows) <= ROWS, each.id
        assert each.probes, each.id
        assert each.probes == ALL or set(each.probes) <= set(by.probes), each.id


@pytest.mark.parametrize("dialect", HEADINGS)
def test_every_clause_names_headings_of_its_spec(dialect: str) -> None:
    named = {heading for each in kit(dialect).requirements for heading in each.clause.split(": ")}
    assert named == HEADINGS[dialect]


@pytest.mark.requirement("P17")
def test_what_spec_004_does_not_show_is_no_must() -> None:
    musts = {each.id.partition("/")[2] for each in kit("agent_http").requirements if each.force == "MUST"}
    assert musts == {"answers", "json", "any-task", "refuses", "not-ascii", "unmixed"}


@pytest.mark.parametrize("dialect", JUDGED)
def test_every_probe_is_judged_and_goes_by_its_name(dialect: str) -> None:
    by = kit(dialect)
    used = {name for each in by.requirements for name in (by.probes if each.probes == ALL else each.probes)}
    assert used == set(by.probes)
    probes = {name: ask(broken(dialect).TEMPLATE) for name, ask in by.probes.items()}
    assert {name: probe.name for name, probe in probes.items()} == {name: name for name in by.probes}
    assert all(probe.about for probe in probes.values())


@pytest.mark.parametrize("dialect", JUDGED)
def test_the_good_agent_passes_everything(dialect: str) -> None:
    report = judged(broken(dialect).GOOD, dialect)
    assert {
        each.requirement.id: (each.wrong, each.mistake) for each in report.verdicts if each.outcome != "passed"
    } == {}
    assert report.passed


@pytest.mark.parametrize(("dialect", "requirement"), BROKEN)
def test_every_broken_agent_is_caught(dialect: str, requirement: str) -> None:
    report = judged(broken(dialect).MUTANTS[requirement], dialect)
    caught = verdict(report, requirement)
    assert caught.outcome == {"MUST": "failed", "SHOULD": "warned"}[caught.requirement.force]
    assert caught.wrong
    assert [each.mistake for each in report.verdicts if each.mistake] == []


def test_an_unknown_dialect_lists_what_there_is() -> None:
    with pytest.raises(UnknownName) as refused:
        kit("markdown-json")
    assert refused.value.suggestions[0] == "markdown_json"


def test_every_file_of_requirements_is_a_kit_that_can_be_asked_for() -> None:
    assert {*FILES} == {*KITS, *PROTOCOLS, HOSTILE}


@pytest.mark.parametrize("name", [*PROTOCOLS, HOSTILE])
def test_every_requirement_of_a_protocol_is_whole_and_has_a_check(name: str) -> None:
    by = kit(name)
    assert [each.id for each in by.requirements] == list(by.checks)
    for each in by.requirements:
        assert each.force in {"MUST", "SHOULD"}, each.id
        assert each.text.endswith("."), each.id
        assert each.fix, each.id
        assert each.clause, each.id
        assert set(each.rows) <= ROWS, each.id
        assert each.probes, each.id
