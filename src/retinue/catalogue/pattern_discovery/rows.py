"""The lists of a result: fixtures, patterns, steps, helpers and rules as plain data, each at most so long."""

from typing import Any, Final

from retinue.catalogue._prose import one_line
from retinue.catalogue.pattern_discovery.gather import Gathered
from retinue.catalogue.pattern_discovery.inventory import Helper, Inventory, Pattern, StepUse
from retinue.catalogue.pattern_discovery.report import Report
from retinue.catalogue.pattern_discovery.scoping import Known
from retinue.contract.model import JsonMapping

__all__ = [
    "MOST",
    "counts_of",
    "fixture_row",
    "helper_row",
    "lists_of",
    "note_cuts",
    "pattern_row",
    "range_of",
    "step_row",
    "with_relevance",
]

MOST: Final = 500
"""Rows of one list; `counts` says how many there are."""

_FILES: Final = 20


def lists_of(found: Inventory) -> JsonMapping:
    """All lists of a survey."""
    return {
        "fixtures": [fixture_row(one) for one in found.fixtures[:MOST]],
        "test_patterns": [pattern_row(one) for one in found.patterns[:MOST]],
        "steps": [step_row(one) for one in found.steps[:MOST]],
        "helpers": [helper_row(one) for one in found.helpers[:MOST]],
        "anti_patterns": [
            {"text": one_line(rule.text), "path": path, "line": rule.line} for path, rule in found.rules[:MOST]
        ],
    }


def counts_of(found: Inventory, gathered: Gathered) -> JsonMapping:
    """How many there are of everything."""
    return {
        "files": len(found.facts),
        "files_parsed": gathered.parsed,
        "files_remembered": gathered.remembered,
        "tests": len(found.tests),
        "fixtures": len(found.fixtures),
        "test_patterns": len(found.patterns),
        "steps": len(found.steps),
        "undefined_steps": len(found.undefined),
        "helpers": len(found.helpers),
        "anti_patterns": len(found.rules),
    }


def fixture_row(one: Known) -> JsonMapping:
    """A fixture."""
    fixture = one.fixture
    row: dict[str, Any] = {
        "name": one_line(fixture.name),
        "path": one.path,
        "line_start": fixture.line,
        "line_end": fixture.end,
        "doc": one_line(fixture.doc),
        "scope": fixture.scope,
        "autouse": fixture.autouse,
        "params": list(fixture.params),
        "yields": one_line(fixture.gives),
        "tears_down": fixture.tears_down,
        "depends_on": [one_line(name) for name in fixture.depends_on],
        "used_in": one.files[:_FILES],
        "uses": len(one.asked_by),
    }
    return {**row, "class": fixture.owner} if fixture.owner else row


def pattern_row(one: Pattern) -> JsonMapping:
    """The tests of one file written in one way."""
    row: dict[str, Any] = {
        "kind": one.kind,
        "path": one.path,
        "lines": [range_of(case.line, case.end) for case in one.tests[:_FILES]],
        "count": len(one.tests),
    }
    if one.kind == "mock":
        row["by"] = list(dict.fromkeys(name for case in one.tests for name in case.mocks))
    return row


def step_row(one: StepUse) -> JsonMapping:
    """A step."""
    return {
        "kind": one.step.kind,
        "text": one_line(one.step.text),
        "path": one.path,
        "line": one.step.line,
        "used_in": one.used_in[:_FILES],
        "uses": len(one.used_in),
    }


def helper_row(one: Helper) -> JsonMapping:
    """A symbol that others use."""
    return {
        "symbol": one.symbol.name,
        "kind": one.kind,
        "signature": one_line(one.symbol.signature),
        "doc": one_line(one.symbol.doc),
        "path": one.path,
        "line": one.symbol.line,
        "used_in": one.used_in[:_FILES],
        "uses": len(one.used_in),
    }


def range_of(start: int, end: int) -> str:
    """Lines as people write them."""
    return f"{start}-{end}"


def with_relevance(row: JsonMapping, score: float | None) -> JsonMapping:
    """The row with how well it fits, when that was measured."""
    return row if score is None else {**row, "relevance": round(score, 3)}


def note_cuts(found: Inventory, report: Report) -> None:
    """Say which lists hold only the first of what there is."""
    lists = {
        "fixtures": found.fixtures, "test_patterns": found.patterns, "steps": found.steps, "helpers": found.helpers,
        "anti_patterns": found.rules,
    }  # fmt: skip
    for name, things in lists.items():
        if len(things) > MOST:
            report.note(f"`{name}` lists the first {MOST} of {len(things):,}.")
