"""The metrics agent: figures with their SQL and rows, over its sample and over the data of a project (G25)."""

import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings, strategies as st

from retinue.agents.registry import Registry
from retinue.catalogue.metrics import Metrics
from retinue.catalogue.metrics.calculator import DateRange, period_of_label
from retinue.contract.result import Result
from retinue.engine.inprocess import InProcessEngine
from retinue.orchestration.orchestrator import Orchestrator
from retinue.tools.data.database import Data
from retinue.tools.workspace import Workspace
from tests.catalogue.conftest import Ask

AskIn = Callable[[Path], Ask]


@pytest.fixture
def sample(tmp_path: Path, ask_in: AskIn) -> Ask:
    """Asks where a project has no metrics of its own."""
    return ask_in(tmp_path)


def purchases() -> Iterator[tuple[int, date, int, Decimal]]:
    """The rows of the sample, without any of the agent's SQL."""
    here = Path(sys.modules[Metrics.__module__].__file__ or "").parent
    with Data(Workspace(here)) as data:
        source = data.open("cdnow.parquet")
        for customer, day, cds, amount in data.query(f'SELECT * FROM "{source.table}"').rows:
            yield int(str(customer)), date.fromisoformat(str(day)), int(str(cds)), Decimal(str(amount))


def year_to_end(ask: Ask, year: int) -> Result:
    return ask("metrics", "get_year_to_end_sales", year=year)


def metric(ask: Ask, name: str, since: str, until: str) -> Result:
    return ask("metrics", "get_metric", metric=name, since=since, until=until)


def data_of(result: Result) -> dict[str, Any]:
    assert result.outcome in {"success", "partial"}, result.fault
    return cast("dict[str, Any]", result.data)


# The sample


@pytest.mark.requirement("G25", "P3")
def test_the_sales_of_a_year_are_the_sum_of_its_purchases(sample: Ask) -> None:
    found = data_of(result := year_to_end(sample, 1997))
    rows = [amount for _, day, _, amount in purchases() if day.year == 1997]
    assert Decimal(str(found["value"])) == sum(rows) == Decimal("201224.82")
    assert (found["unit"], found["basis"]["row_count"]) == ("USD", len(rows))
    assert (result.outcome, found["is_complete"], found["year"]) == ("success", True, 1997)
    assert "sum(amount)" in found["basis"]["sql"]
    assert "201,224.82 USD" in result.content


@pytest.mark.requirement("G25")
def test_half_a_year_of_data_is_said_to_be_half_a_year(sample: Ask) -> None:
    found = data_of(result := year_to_end(sample, 1998))
    assert result.outcome == "partial"
    assert (found["since"], found["until"], found["is_complete"]) == ("1998-01-01", "1998-06-30", False)
    assert "1998-06-30" in result.warnings[0].message


@pytest.mark.requirement("G25", "P3")
def test_a_customer_who_bought_in_the_second_quarter_and_not_in_the_third_has_churned(sample: Ask) -> None:
    quarters: defaultdict[int, set[int]] = defaultdict(set)
    for customer, day, _, _ in purchases():
        if day.year == 1997:
            quarters[(day.month + 2) // 3].add(customer)
    found = data_of(sample("metrics", "calculate_churn_q2_q3", year=1997))
    assert (found["customers"], found["churned"]) == (len(quarters[2]), len(quarters[2] - quarters[3])) == (524, 310)
    assert found["churn_percent"] == 59.16
    assert Metrics.definition.skills[1].samples[0].answer == {**found, "tables": []}


@pytest.mark.requirement("G25")
@pytest.mark.parametrize(
    ("skill", "parameters", "reason"),
    [
        ("get_year_to_end_sales", {"year": 1999}, "no data"),
        ("get_year_to_end_sales", {"year": 1996}, "no data"),
        ("calculate_churn_q2_q3", {"year": 1998}, "no data"),  # nobody *can* have bought in its third quarter
        ("get_metric", {"metric": "profit", "since": "1997-01-01", "until": "1997-12-31"}, "not among the metrics"),
        ("get_metric", {"metric": "sales", "since": "1997-03-01", "until": "1997-02-01"}, "before the first"),
        ("get_metric", {"metric": "sales", "since": "0001-01-01", "until": "0001-02-01"}, "outside"),
    ],
)
def test_what_is_not_there_is_rejected_with_what_is(
    sample: Ask, skill: str, parameters: dict[str, Any], reason: str
) -> None:
    result = sample("metrics", skill, **parameters)
    assert result.outcome == "rejected"
    assert result.fault is not None
    assert reason in result.fault.message
    assert result.fault.hint
    assert result.data is None
    if reason == "not among the metrics":
        assert "average_purchase" in result.fault.suggestions
    if reason == "no data":
        assert "1997-01-01 to 1998-06-30" in result.fault.hint


@pytest.mark.requirement("G25")
def test_a_figure_is_compared_with_the_period_before_the_year_before_and_the_year_to_date(sample: Ask) -> None:
    found = data_of(metric(sample, "sales", "1998-04-01", "1998-06-30"))
    by_kind = {one["kind"]: one for one in found["comparisons"]}
    assert {kind: (one["since"], one["until"]) for kind, one in by_kind.items()} == {
        "previous": ("1998-01-01", "1998-03-31"),
        "year_before": ("1997-04-01", "1997-06-30"),
        "year_to_date": ("1998-01-01", "1998-06-30"),
    }
    before = by_kind["year_before"]
    assert before["change"] == round(found["value"] - before["value"], 2)
    assert before["change_percent"] == round(100 * before["change"] / before["value"], 2)
    assert by_kind["year_to_date"]["value"] == data_of(year_to_end(sample, 1998))["value"]


@pytest.mark.requirement("G25")
def test_half_a_year_is_compared_with_half_a_year(sample: Ask) -> None:
    found = data_of(metric(sample, "customers", "1998-01-01", "1998-12-31"))
    by_kind = {one["kind"]: one for one in found["comparisons"]}
    assert (by_kind["year_before"]["since"], by_kind["year_before"]["until"]) == ("1997-01-01", "1997-06-30")
    assert (by_kind["previous"]["since"], by_kind["previous"]["until"]) == ("1997-07-01", "1997-12-31")


@pytest.mark.requirement("G25")
def test_what_lies_before_the_data_is_compared_with_nothing(sample: Ask) -> None:
    found = data_of(metric(sample, "sales", "1997-01-01", "1997-03-31"))
    assert all("value" not in one and one["note"] for one in found["comparisons"] if one["kind"] != "year_to_date")


@pytest.mark.requirement("G25")
def test_any_two_periods_are_compared(sample: Ask) -> None:
    result = sample(
        "metrics", "compare_periods", metric="items", since="1998-01-01", until="1998-01-31",
        baseline_first_day="1997-06-01", baseline_last_day="1997-06-30",
    )  # fmt: skip
    baseline = data_of(result)["comparisons"][-1]
    expected = sum(cds for _, day, cds, _ in purchases() if (day.year, day.month) == (1997, 6))
    assert (baseline["kind"], baseline["value"]) == ("baseline", expected)


@pytest.mark.requirement("G25")
def test_all_metrics_are_listed_with_definition_unit_and_formula(sample: Ask) -> None:
    found = data_of(sample("metrics", "list_metrics"))
    assert [one["name"] for one in found["metrics"]] == [
        "sales", "purchases", "items", "customers", "average_purchase", "sales_per_customer",
    ]  # fmt: skip
    assert all(one["definition"] and one["unit"] and one["formula"] for one in found["metrics"])
    assert (found["data_since"], found["data_until"]) == ("1997-01-01", "1998-06-30")


@pytest.mark.install
@pytest.mark.slow
def test_the_sample_is_the_one_of_the_published_package(tmp_path: Path) -> None:
    download = [sys.executable, "-m", "pip", "download", "lifetimes==0.11.3", "--no-deps", "-q", "-d", str(tmp_path)]
    subprocess.run(download, check=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        lines = packed.read("lifetimes/datasets/CDNOW_sample.txt").decode().split("\n")
    rows = [line.split() for line in lines if line.strip()]
    assert [
        (int(customer), date.fromisoformat(f"{day[:4]}-{day[4:6]}-{day[6:]}"), int(cds), Decimal(amount))
        for _, customer, day, cds, amount in rows
    ] == list(purchases())


# Periods


def test_labels_name_years_quarters_and_months() -> None:
    assert period_of_label("1997") == DateRange(date(1997, 1, 1), date(1998, 1, 1))
    assert period_of_label("1997-Q4") == DateRange(date(1997, 10, 1), date(1998, 1, 1))
    assert period_of_label("1996-02") == DateRange(date(1996, 2, 1), date(1996, 3, 1))
    assert [period_of_label(label) for label in ("97", "1997-Q5", "1997-13", "1997-1", "1997-", "0000", "٢٠٢٠")] == [
        None
    ] * 7


def test_february_stays_whole_from_leap_year_to_common_year() -> None:
    leap, common = DateRange(date(1996, 2, 1), date(1996, 3, 1)), DateRange(date(1995, 2, 1), date(1995, 3, 1))
    assert leap.year_before() == common
    assert DateRange(date(1997, 2, 1), date(1997, 3, 1)).year_before() == leap
    assert DateRange(date(1996, 2, 29), date(1996, 3, 1)).year_before() == DateRange(
        date(1995, 2, 28), date(1995, 3, 1)
    )
    assert DateRange(date(1996, 3, 1), date(1996, 4, 1)).previous() == leap


@settings(max_examples=200)
@given(st.dates(date(1001, 1, 1), date(8000, 1, 1)), st.integers(1, 1500))
def test_the_previous_period_ends_where_this_one_begins(start: date, days: int) -> None:
    period = DateRange(start, start + timedelta(days=days))
    before = period.previous()
    assert before.end == period.start
    assert before.start < before.end
    if not period.start.day == period.end.day == 1:
        assert before.end - before.start == period.end - period.start
    assert period.year_before().start <= period.year_before().end


# Words


@pytest.mark.requirement("C45", "C47", "G25")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("sales in Q2 1997", {"metric": "sales", "since": "1997-04-01", "until": "1997-06-30"}),
        ("revenue for the fourth quarter of 1997", {"metric": "sales", "since": "1997-10-01", "until": "1997-12-31"}),
        ("customers in 1998 Q1", {"metric": "customers", "since": "1998-01-01", "until": "1998-03-31"}),
        ("average purchase in 1998", {"metric": "average_purchase", "since": "1998-01-01", "until": "1998-12-31"}),
        ("what were the sales in 1997", {"year": 1997}),
        ("sales in the first half of 1997", None),
        ("sales on weekends in 1997", None),
        ("predict the sales of 1998", None),
    ],
)
def test_words_are_read_whole_or_refused(words: str, expected: dict[str, Any] | None) -> None:
    plan = Orchestrator(Registry([Metrics]), InProcessEngine({})).task_plan("metrics", instruction=words)
    (node,) = plan.nodes
    assert (None if node.skill is None else node.parameters) == expected
    assert node.questions == ()
