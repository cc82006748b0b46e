"""What a research report must have."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from retinue.contract.plan import Expected
from retinue.contract.result import Result
from retinue.orchestration.expected import verified
from retinue.orchestration.report_rules import objections
from retinue.orchestration.supervise import supervise
from retinue.tools.workspace import Workspace

GOOD = """# Caching

## Overview
How the cache works, and what it costs. {filler}

## Findings
- It is read in src/cache.py:12 and written in src/store.py:40-52.
- The protocol is described at https://example.org/cache and elsewhere.

## Recommendations
1. Keep it small.
2. Measure it.
3. Throw it away.
""".format(filler="It is a cache like any other. " * 12)


def checked(folder: Path, text: str) -> Result:
    (folder / "r.md").write_text(text, encoding="utf-8")
    result = Result(task_id="t", agent="x", outcome="success")
    return verified(result, (Expected(path="r.md", rules="research"),), Workspace(folder))


@pytest.mark.row("H29")
def test_a_report_that_has_all_of_it_is_as_it_should_be(tmp_path: Path):
    assert objections(GOOD) == []
    assert checked(tmp_path, GOOD).warnings == ()


@pytest.mark.row("H29")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("https://example.org/cache", "a page", "It names 2 sources, and 3 are asked."),
        ("2. Measure it.\n", "", "It lists 2 recommendations, and 3 are asked."),
        ("src/cache.py:12", "src/cache.py", "References without a line number: src/cache.py."),
        ("Keep it small.", "TODO", "Placeholder text stands in it: 'TODO'."),
        ("Keep it small.", "[insert advice here]", "Placeholder text stands in it: '[insert advice here]'."),
    ],
)
def test_what_is_missing_is_a_warning_with_the_figure(tmp_path: Path, old: str, new: str, said: str):
    result = checked(tmp_path, GOOD.replace(old, new))
    assert result.outcome == "success"
    assert [warning.message for warning in result.warnings] == [f"The report 'r.md' is not as it should be. {said}"]


@pytest.mark.row("H29")
def test_a_report_of_fewer_than_500_bytes_was_not_written(tmp_path: Path):
    result = checked(tmp_path, "# Short\n")
    assert result.fault is not None
    assert (result.fault.code, "500" in result.fault.message) == ("output_invalid", True)


def test_code_is_no_placeholder_and_no_source():
    fenced = GOOD.replace("## Findings", "```\nTODO lib/x.py\n```\n## Findings")
    assert objections(fenced) == []


def test_a_supervisor_asks_its_workers_for_such_reports():
    plan = supervise(["a"], agent="w", skill="s", folder="out", rules="research")
    assert plan.nodes[0].expects[0].rules == "research"


@given(st.text(max_size=300))
def test_any_text_is_judged(text: str):
    assert all(said.endswith(".") for said in objections(text))
