"""Scores by rules: what was asked for counts, and nothing else."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract.fault import Fault
from retinue.contract.result import Result
from retinue.orchestration.comparing_agents import CompareTask, Score, Spread, Trial, contenders, read_tasks, score

DATA = {"totals": {"year": 2024, "name": "Ada Lovelace"}, "rows": [{"n": 1}, {"n": 2.5}], "a/b": True}


def task(**asked: Any) -> CompareTask:
    return read_tasks({"task": [{"name": "t", **asked}]}).tasks[0]


def result(data: object = None, content: str = "", **facts: Any) -> Result:
    whole: dict[str, Any] = {"outcome": "success", **facts}
    return Result(task_id="t", agent="a", data=data, content=content, **whole)


@pytest.mark.parametrize(
    ("place", "wanted", "fits"),
    [
        ("totals.year", 2024, True),
        ("totals.year", 2024.0, True),
        ("totals.year", "2024", False),
        ("totals.year", {"min": 2000, "max": 2025}, True),
        ("totals.year", {"min": 2025}, False),
        ("totals.name", {"contains": "lovelace"}, True),
        ("totals.name", {"one_of": ["Ada Lovelace", "Grace"]}, True),
        ("totals.name", {"min": 1}, False),
        ("rows.1.n", 2.5, True),
        ("rows.2.n", 1, False),
        ("rows", {"contains": {"n": 1}}, True),
        ("/rows/0/n", 1, True),
        ("a/b", True, True),
        ("a/b", 1, False),
        ("totals", {"year": 2024, "name": "Ada Lovelace"}, True),
        ("totals.year.x", 1, False),
        ("nowhere", None, False),
    ],
)
def test_expected_values_are_looked_up_by_their_place(place: str, wanted: object, fits: bool) -> None:
    found = score(task(expect={place: wanted}), result(DATA))
    assert found.fields == (1.0 if fits else 0.0)
    assert bool(found.notes) is not fits


def test_quality_is_the_mean_of_what_was_asked_for() -> None:
    asked = task(expect={"totals.year": 2024, "x": 1}, contains=["Year", "month"], schema={"type": "object"})
    found = score(asked, result(DATA, "The year."))
    assert (found.schema, found.fields, found.words, found.judge) == (1.0, 0.5, 0.5, None)
    assert found.quality == pytest.approx(2 / 3)
    assert found.notes == ("`x` is not there.", "The text does not hold 'month'.")
    assert score(task(), result(DATA)).quality is None
    assert score(task(), result(DATA)).to_json() == {}


def test_data_that_breaks_the_schema_say_how() -> None:
    found = score(task(schema={"type": "object", "required": ["x"]}), result(DATA))
    assert found.schema == 0.0
    assert "x" in found.notes[0]


def test_an_answer_that_never_came_is_worth_nothing_in_all_that_was_asked_for() -> None:
    fault = Fault(code="timeout", message="Too late.")
    asked = task(expect={"x": 1}, rubric="Good.")
    assert score(asked, result(DATA, outcome="failed", fault=fault)).judge is None
    found = score(asked, result(DATA, outcome="failed", fault=fault), judging=True)
    assert (found.schema, found.fields, found.words, found.judge) == (None, 0.0, None, 0.0)
    assert found.notes == ("`timeout`: Too late.",)
    assert score(asked, result(outcome="canceled")).notes == ("It brought no answer.",)


@given(st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.text(max_size=5), max_size=4))
def test_any_expectation_gives_a_share(expect: dict[str, Any]) -> None:
    found = score(task(expect=expect), result(DATA))
    assert found.fields is None if not expect else 0 <= (found.fields or 0) <= 1


# The summary.


def trial(
    agent: str, quality: float | None, *, usd: float | None = None, seconds: float = 1.0, model: str = ""
) -> Trial:
    return Trial("t", agent, model, 1, "success", Score(judge=quality), seconds=seconds, usd=usd)


def test_the_best_stands_first_and_of_equals_the_cheaper() -> None:
    tried = [trial("dear", 0.9, usd=2.0), trial("cheap", 0.9, usd=1.0), trial("poor", 0.1), trial("unjudged", None)]
    assert [each.agent for each in contenders(tried)] == ["cheap", "dear", "poor", "unjudged"]
    assert contenders([]) == ()


def test_a_spread_is_the_middle_with_both_ends() -> None:
    (one,) = contenders([trial("a", 0.2, seconds=3.0), trial("a", 0.6, seconds=1.0), trial("a", 1.0, seconds=2.0)])
    assert one.quality == Spread(0.6, 0.2, 1.0, 3)
    assert one.seconds == Spread(2.0, 1.0, 3.0, 3)
    assert one.usd is None
    assert one.to_json()["tasks"]["t"]["median"] == 0.6
    assert Spread.of([None]) is None
