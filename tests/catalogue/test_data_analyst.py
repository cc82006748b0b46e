"""The analyst over real files: every figure is checked against SQL or counting done here (G20)."""

import asyncio
import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import retinue.catalogue.data_analyst.agent as analyst
from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.catalogue.data_analyst import DataAnalyst
from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.query import resolve_query, select_sql
from retinue.contract.result import Result
from retinue.contract.table import Chart, Table
from retinue.contract.table_query import Condition, TableQuery
from retinue.contract.task import Context, Task
from retinue.orchestration.reader.router import Router
from retinue.orchestration.reader.tables import read_table_question
from retinue.tools.data.database import Data
from retinue.tools.workspace import Workspace
from tests.catalogue.conftest import Ask
from tests.examples import examples

duckdb = pytest.importorskip("duckdb")

AskIn = Callable[[Path], Ask]

SALES = """day,city,product,price,units,carrier_delay,ship_delay,note
2024-01-03,Bern,tea,10,1,5,NA,
2024-01-20,Bern,tea,20,2,15,1,late
2024-02-02,Rome,tea,4,3,NA,2,
2024-02-14,Rome,coffee,6,4,0,3,
2024-02-14,Rome,coffee,6,5,,4,gift
2024-03-01,New York,coffee,50,6,100,5,
"""
LOG = """10.0.0.1 - - [06/May/2024:10:00:01 +0000] "GET /api/a HTTP/1.1" 200 100 "-" "M" 0.100
10.0.0.2 - - [06/May/2024:10:00:02 +0000] "GET /api/b?x=1 HTTP/1.1" 500 200 "-" "M" 2.000
10.0.0.1 - - [06/May/2024:11:00:03 +0000] "POST /api/b HTTP/1.1" 200 300 "-" "M" 1.000
10.0.0.3 - - [06/May/2024:11:00:04 +0000] "GET /api/a HTTP/1.1" 404 400 "-" "M" 0.300
"""


@pytest.fixture
def ask(tmp_path: Path, ask_in: AskIn) -> Ask:
    (tmp_path / "sales.csv").write_text(SALES, encoding="utf-8")
    return ask_in(tmp_path)


@pytest.fixture
def logged(tmp_path: Path, ask_in: AskIn) -> Ask:
    (tmp_path / "access.log").write_text(LOG, encoding="utf-8")
    return ask_in(tmp_path)


def figures(ask: Ask, question: str, skill: str = "aggregate", **parameters: Any) -> list[list[Any]]:
    """The rows of the first table."""
    return data(ask("data_analyst", skill, question=question, **parameters))["tables"][0]["rows"]


def data(result: Result) -> dict[str, Any]:
    assert result.fault is None, result.fault
    assert result.questions == (), result.questions
    for table in result.data["tables"]:
        Table.model_validate_json(json.dumps(table))
    for chart in result.data["charts"]:
        Chart.model_validate_json(json.dumps(chart))
    return result.data


@pytest.mark.requirement("G20")
def test_an_aggregate_says_figures_rows_sql_and_sources(ask: Ask) -> None:
    result = ask("data_analyst", "aggregate", question="What is the average price per city in sales.csv?")
    found = data(result)
    assert found["tables"][0]["rows"] == [["New York", 50.0, 1], ["Bern", 15.0, 2], ["Rome", pytest.approx(16 / 3), 3]]
    assert [column["name"] for column in found["tables"][0]["columns"]] == ["city", "mean price", "rows"]
    assert found["charts"][0]["labels"] == ["New York", "Bern", "Rome"]
    assert found["subjects"] == ["New York", "Bern", "Rome"]
    assert (found["row_count"], found["matched_rows"], found["files"]) == (6, 6, ["sales.csv"])
    assert found["understood"] == {"measure": ["mean of `price`"], "group": ["city"]}
    assert found["findings"][0]["source"] == "sales.csv"
    assert "`New York`: 50" in found["answer"]
    assert result.files_read == ("sales.csv",)
    assert result.confidence is None


@pytest.mark.requirement("G20")
@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("how many rows are there", [[6]]),
        ("how many sales in Bern", [[2]]),
        ("how many sales were there in Bern or Rome?", [[5]]),
        ("number of sales not in Rome", [[3]]),
        ("sales without coffee", [[3]]),
        ("how many sales except tea and coffee", [[0]]),
        ("how many sales in New York", [[1]]),
        ("how many different cities", [[3, 6]]),
        ("how many products are there", [[2, 6]]),
        ("total units", [[21, 6]]),
        ("sum of units for tea in February", [[3, 1]]),
        ("the maximum price", [[50, 6]]),
        ("what is the highest price", [[50, 6]]),
        ("median of price", [[8.0, 6]]),
        ("min and max price", [[4, 50, 6]]),
        ("how many sales have a price of at least 10", [[3]]),
        ("sales with price between 5 and 20", [[4]]),
        ("sales with more than 3 units", [[3]]),
        ("how many sales on 2024-02-14", [[2]]),
        ("how many sales since February", [[4]]),
        ("how many sales between January and February", [[5]]),
        ("how many sales have no note", [[4]]),
        ("how many sales where the note is missing", [[4]]),
        ("how many sales have the note 'gift'", [[1]]),
        ("what share of sales were coffee", [[50.0, 6]]),
        ("what percentage of sales in Rome had a price above 5", [[pytest.approx(200 / 3), 3]]),
        ("avrage prise for tea", [[pytest.approx(34 / 3), 3]]),
        ("averge price in Rmoe", [[pytest.approx(16 / 3), 3]]),
        ("units by product", [["coffee", 5.0, 15, 3], ["tea", 2.0, 6, 3]]),
        ("total units per month", [["2024-01", 3, 2], ["2024-02", 12, 3], ["2024-03", 6, 1]]),
        ("top 1 city by number of sales", [["Rome", 3]]),
        ("which city has the most sales", [["Rome", 3], ["Bern", 2], ["New York", 1]]),
        ("maximum of units", [[6, 6]]),
        ("which product has the lowest mean price", [["tea", pytest.approx(34 / 3), 3], ["coffee", pytest.approx(62 / 3), 3]]),
        ("cities with more than 1 sale", [["Rome", 3], ["Bern", 2]]),
        ("share of sales per product", [["coffee", 50.0, 3], ["tea", 50.0, 3]]),
        ("average sales per city", [[2.0, 3]]),
        ("total price per product and city, top 2", [["coffee", "New York", 50, 1], ["tea", "Bern", 30, 2]]),
        ("mean carrier delay", [[30.0, 6]]),
        ("how many sales on weekends", [[1]]),
    ],
)  # fmt: skip
def test_words_become_figures(ask: Ask, question: str, rows: list[list[Any]]) -> None:
    assert [[_plain(cell) for cell in row] for row in figures(ask, question)] == rows


def _plain(cell: Any) -> Any:
    return cell.removesuffix("T00:00:00") if isinstance(cell, str) else cell


@pytest.mark.requirement("G20")
@pytest.mark.parametrize(
    "question",
    [
        "What is the average price per city?",
        "how many sales in Bern or Rome",
        "mean carrier delay per product",
        "number of sales not in Rome since February",
        "what share of sales were coffee",
        "average sales per city",
        "p90 of units by product",
    ],
)
def test_the_stated_sql_gives_the_same_rows_in_duckdb_alone(
    ask: Ask, question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = data(ask("data_analyst", "aggregate", question=question))
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as connection:
        alone = connection.execute(found["sql"]).fetchall()
    assert [list(row) for row in alone] == [pytest.approx(row) for row in found["tables"][0]["rows"]]


@pytest.mark.requirement("G20")
@pytest.mark.parametrize(
    ("question", "asked", "options"),
    [
        ("the average delay per city", "delay", ("carrier_delay", "ship_delay")),
        ("what is the average speed per city", "speed", None),
        ("how many sales were cancelled", "cancelled", None),
        ("sales in Tokyo", "Tokyo", None),
        ("the average per city", "average", ("price", "units", "carrier_delay", "ship_delay")),
    ],
)
def test_what_names_nothing_is_refused_and_what_is_ambiguous_is_asked(
    ask: Ask, question: str, asked: str, options: tuple[str, ...] | None
) -> None:
    result = ask("data_analyst", "aggregate", question=question)
    assert (result.data["tables"], result.data["metrics"], result.data["sql"]) == ([], {}, "")
    if options is not None:
        assert (result.lifecycle, result.outcome) == ("input_required", None)
        assert f"`{asked}`" in result.questions[0].text
        assert result.questions[0].options == options
        return
    assert result.outcome == "rejected"
    assert result.fault is not None
    assert f"`{asked}`" in result.fault.message
    assert "carrier_delay" in result.fault.hint  # the columns that there are
    examples_of = result.fault.hint.partition("Ask for example: ")[2].removesuffix(".").split("; ")
    assert len(examples_of) == 2
    for example in examples_of:
        assert data(ask("data_analyst", "aggregate", question=example))["tables"]


def test_an_answer_to_the_question_settles_it(ask: Ask) -> None:
    result = ask("data_analyst", "aggregate", question="average delay", meanings={"delay": "ship_delay"})
    assert data(result)["tables"][0]["rows"] == [[3.0, 6]]


def test_a_misspelling_that_is_set_right_is_said(ask: Ask) -> None:
    notes = data(ask("data_analyst", "aggregate", question="avrage price"))["notes"]
    assert "“avrage” is read as “average”." in notes


def test_empty_cells_are_counted_and_left_out(ask: Ask) -> None:
    notes = data(ask("data_analyst", "aggregate", question="mean carrier delay"))["notes"]
    assert any("has no value in 2 of 6 rows" in note for note in notes)


@pytest.mark.requirement("G20")
def test_typed_parameters_win_over_words(ask: Ask) -> None:
    found = data(
        ask(
            "data_analyst",
            "aggregate",
            question="average price per city",
            files=["sales.csv"],
            measures=[{"function": "sum", "column": "units"}],
            group_by=[{"column": "day", "unit": "month"}],
            where=[
                {"column": "city", "op": "in", "value": ["Rome", "Bern"]},
                {"column": "price", "op": ">", "value": 4},
            ],
            order={"by": "sum"},
            limit=1,
        )
    )
    assert found["tables"][0]["rows"] == [["2024-02", 9, 2]]
    assert found["tables"][0]["total_rows"] == 2


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"measures": [{"function": "mean", "column": "city"}]}, "/parameters/measures/0/column"),
        ({"measures": [{"function": "mean"}]}, "/parameters/measures/0"),
        ({"measures": [{"function": "mean", "column": "prices"}]}, "/parameters/measures/0/column"),
        ({"group_by": [{"column": "city", "unit": "month"}]}, "/parameters/group_by/0/unit"),
        ({"where": [{"column": "price", "op": ">", "value": "ten"}]}, "/parameters/where/0/value"),
        ({"where": [{"column": "price", "op": "in", "value": 3}]}, "/parameters/where/0/value"),
        ({"measures": [{"function": "count"}], "order": {"by": "city"}}, "/parameters/order/by"),
    ],
)
def test_typed_parameters_that_do_not_fit_are_refused_with_their_place(
    ask: Ask, parameters: dict[str, Any], path: str
) -> None:
    result = ask("data_analyst", "aggregate", question="", files=["sales.csv"], **parameters)
    assert result.fault is not None
    assert (result.fault.code, result.fault.path) == ("invalid_input", path)
    assert result.fault.hint


@pytest.mark.requirement("G20")
def test_a_profile_describes_each_column(ask: Ask) -> None:
    found = data(ask("data_analyst", "profile", question="What is in sales.csv?"))
    rows = {row[0]: row for row in found["tables"][0]["rows"]}
    assert rows["price"][1:8] == ["integer", 0, 5, 4, 50, 16.0, 8.0]
    assert rows["city"][1:4] == ["text", 0, 3]
    assert rows["city"][8] == "Rome (3), Bern (2), New York (1)"
    assert rows["carrier_delay"][2] == 2
    assert found["metrics"] == {"rows": 6, "columns": 8, "bytes": len(SALES), "duplicate_rows": 0}
    assert "day" in found["subjects"]


def test_a_question_that_only_names_a_file_is_answered_by_its_profile(ask: Ask) -> None:
    assert data(ask("data_analyst", "aggregate", question="what is in sales.csv?"))["metrics"]["columns"] == 8


def test_a_profile_names_what_looks_wrong(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "odd.csv").write_text("id,same,none,name\n1,x,,a\n2,x,,a\n2,x,,a\n", encoding="utf-8")
    found = data(ask_in(tmp_path)("data_analyst", "profile", question="is odd.csv clean?"))
    topics = {one["topic"]: one["content"] for one in found["findings"]}
    assert "`same`" in topics["constant"]
    assert "`none`" in topics["empty"]
    assert topics["duplicates"].startswith("1 row repeats")


@pytest.mark.requirement("G20")
def test_percentiles_are_the_usual_four_or_those_asked_for(ask: Ask) -> None:
    assert figures(ask, "percentiles of price", "percentiles") == [[8.0, 35.0, 42.5, 48.5, 6]]
    assert figures(ask, "the 25th and 75th percentile of price", "percentiles")[0][:2] == [6.0, 17.5]
    assert figures(ask, "price", "percentiles", percentiles=[50]) == [[8.0, 6]]
    by_product = figures(ask, "p50 of units by product", "percentiles")
    assert by_product == [["coffee", 5.0, 3], ["tea", 2.0, 3]]


def test_percentiles_of_nothing_named_are_refused_with_the_columns(ask: Ask) -> None:
    result = ask("data_analyst", "percentiles", question="show the percentiles")
    assert result.outcome == "rejected"
    assert result.fault is not None
    assert "price" in result.fault.hint


@pytest.mark.requirement("G20")
def test_a_log_is_summarised_with_lines_as_sources(logged: Ask) -> None:
    found = data(logged("data_analyst", "log_parse", question="summarise access.log"))
    assert found["metrics"] == {"entries": 4, "errors": 2}
    topics = {one["topic"]: one for one in found["findings"]}
    assert topics["errors"]["source"] == "access.log:2"
    assert "2024-05-06T10:00:01" in topics["span"]["content"]
    assert found["row_count"] == 4


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("how many requests returned status 500", [[1]]),
        ("how many requests have more than 0.5 seconds", [[2]]),
        ("average seconds of POST requests", [[1.0, 1]]),
        ("requests per hour", [["2024-05-06 10:00", 2], ["2024-05-06 11:00", 2]]),
        ("total bytes per method", [["GET", 700, 3], ["POST", 300, 1]]),
    ],
)
def test_a_log_is_asked_like_a_table(logged: Ask, question: str, rows: list[list[Any]]) -> None:
    assert [
        pytest.approx(row) if all(not isinstance(one, str) for one in row) else row for row in figures(logged, question)
    ] == rows


def test_a_log_of_an_application_has_levels_and_messages(tmp_path: Path, ask_in: AskIn) -> None:
    lines = [f"2024-05-06 10:00:{n:02} {'ERROR' if n % 3 == 0 else 'INFO'} app.db: item {n} failed\n" for n in range(9)]
    (tmp_path / "app.log").write_text("".join(lines), encoding="utf-8")
    ask = ask_in(tmp_path)
    found = data(ask("data_analyst", "log_parse", question="what happened in app.log"))
    assert found["metrics"] == {"entries": 9, "errors": 3}
    topics = [one["topic"] for one in found["findings"]]
    assert "levels" in topics
    assert any(one["content"].startswith("3 times:") and one["source"] == "app.log:1" for one in found["findings"])
    assert figures(ask, "how many errors in app.log") == [[3]]


@pytest.mark.requirement("G20")
def test_two_groups_are_set_side_by_side(ask: Ask) -> None:
    rows = figures(ask, "compare the average price of Bern and Rome", "compare")
    assert rows[1] == ["rows", 2, 3, 1, 50.0]
    assert rows[0] == [
        "mean price",
        15.0,
        pytest.approx(16 / 3),
        pytest.approx(16 / 3 - 15),
        pytest.approx(100 * (16 / 3 - 15) / 15),
    ]


def test_no_percentage_of_nothing(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "zero.csv").write_text("team,goals\nred,0\nblue,3\n", encoding="utf-8")
    rows = figures(ask_in(tmp_path), "compare total goals of red and blue", "compare")
    assert rows[0] == ["total goals", 0, 3, 3, None]


def test_two_periods_are_compared(ask: Ask) -> None:
    assert figures(ask, "compare total units in January and February", "compare")[0][:4] == ["total units", 3, 12, 9]


@pytest.mark.requirement("G20")
def test_two_files_are_compared_by_their_key(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "old.csv").write_text("id,price\n1,10\n2,20\n3,30\n", encoding="utf-8")
    (tmp_path / "new.csv").write_text("id,price\n2,20\n3,33\n4,40\n", encoding="utf-8")
    found = data(ask_in(tmp_path)("data_analyst", "compare", question="how do old.csv and new.csv differ"))
    assert found["metrics"] == {"added_rows": 1, "removed_rows": 1, "changed_rows": 1}
    assert sorted(found["tables"][0]["rows"]) == [["added", 4], ["changed", 3], ["removed", 1]]
    assert found["files"] == ["old.csv", "new.csv"]


def test_files_with_nothing_in_common_are_refused(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("y\n1\n", encoding="utf-8")
    result = ask_in(tmp_path)("data_analyst", "compare", question="", files=["a.csv", "b.csv"])
    assert result.fault is not None
    assert (result.fault.code, result.fault.path) == ("invalid_input", "/parameters/files")


def test_which_file_is_found_out_or_asked(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "sales.csv").write_text(SALES, encoding="utf-8")
    (tmp_path / "people.csv").write_text("name,age\nAda,36\nAlan,41\n", encoding="utf-8")
    ask = ask_in(tmp_path)
    found = data(ask("data_analyst", "aggregate", question="how many sales"))
    assert found["files"] == ["sales.csv"]
    assert any("No file was named" in note for note in found["notes"])
    assert data(ask("data_analyst", "aggregate", question="average age"))["files"] == ["people.csv"]
    result = ask("data_analyst", "aggregate", question="how many rows")
    assert result.lifecycle == "input_required"
    assert result.questions[0].options == ("people.csv", "sales.csv")


@pytest.mark.requirement("K14")
def test_a_file_that_is_not_there_is_a_fault_with_near_names(ask: Ask) -> None:
    result = ask("data_analyst", "aggregate", question="how many rows are in sale.csv")
    assert result.fault is not None
    assert result.fault.code == "missing_file"
    assert "sales.csv" in result.fault.suggestions


def test_no_data_at_all_is_a_fault(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "README.md").write_text("# Nothing\n", encoding="utf-8")
    result = ask_in(tmp_path)("data_analyst", "aggregate", question="how many rows")
    assert result.fault is not None
    assert result.fault.code == "missing_file"


def test_no_row_that_fits_is_no_answer(ask: Ask) -> None:
    result = ask("data_analyst", "aggregate", question="average price of tea in New York")
    assert result.outcome == "rejected"
    assert result.fault is not None
    assert "No row fits" in result.data["answer"]
    assert result.data["matched_rows"] == 0


def test_a_column_whose_name_is_sql_stays_a_name(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "evil.csv").write_text('"x""; DROP TABLE evil; --",city\n1,a\n3,b\n', encoding="utf-8")
    ask = ask_in(tmp_path)
    name = 'x"; DROP TABLE evil; --'
    rows = figures(ask, "", files=["evil.csv"], measures=[{"function": "sum", "column": name}])
    assert rows == [[4, 2]]
    rows = figures(ask, "", files=["evil.csv"], where=[{"column": "city", "op": "=", "value": "' OR 1=1 --"}])
    assert rows == [[0]]


def test_many_columns_take_no_longer_than_they_must(tmp_path: Path, ask_in: AskIn) -> None:
    names = ",".join(f"c{number}" for number in range(2_000))
    (tmp_path / "wide.csv").write_text(f"{names}\n{','.join(['1'] * 2_000)}\n", encoding="utf-8")
    ask = ask_in(tmp_path)
    assert figures(ask, "the maximum of c999") == [[1, 1]]
    result = ask("data_analyst", "profile", question="describe wide.csv")
    assert result.outcome == "partial"
    assert result.data["metrics"]["columns"] == 1_000


@pytest.mark.parametrize("text", ["name\n", "a,b\n,\n,\n"])
def test_nothing_to_measure_is_said(tmp_path: Path, ask_in: AskIn, text: str) -> None:
    (tmp_path / "poor.csv").write_text(text, encoding="utf-8")
    ask = ask_in(tmp_path)
    assert ask("data_analyst", "profile", question="describe poor.csv").useful
    result = ask("data_analyst", "percentiles", question="percentiles of poor.csv")
    assert result.fault is None or result.fault.code == "invalid_input"
    assert not result.useful


def test_lines_that_cannot_be_read_make_the_answer_partial(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "events.jsonl").write_text('{"kind": "a", "n": 1}\n{broken\n{"kind": "b", "n": 3}\n', encoding="utf-8")
    result = ask_in(tmp_path)("data_analyst", "aggregate", question="total n per kind")
    assert result.outcome == "partial"
    assert "events.jsonl:2" in result.warnings[0].message
    assert result.data["tables"][0]["rows"] == [["b", 3, 1], ["a", 1, 1]]


def test_without_duckdb_every_skill_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyst, "find_spec", Mock(return_value=None))
    without = DataAnalyst.bind()
    definition = without.definition
    assert {skill.unavailable for skill in definition.skills} == {"install retinue[data]"}
    boundary, task = Boundary(Registry([without])), Task(id="t", agent="data_analyst", skill="aggregate")
    result = asyncio.run(boundary.call(task, LocalContext()))
    assert result.fault is not None
    assert result.fault.code == "unavailable"


@pytest.mark.parametrize(
    "question", ["sales in Bern or of coffee", "price above 10 or units below 2", "price not between 5 and 10"]
)
def test_what_no_query_can_say_is_refused(ask: Ask, question: str) -> None:
    result = ask("data_analyst", "aggregate", question=question)
    assert result.outcome == "rejected"
    assert result.data["tables"] == []


def test_rows_themselves_are_listed_in_order(ask: Ask) -> None:
    found = data(ask("data_analyst", "aggregate", question="the 2 sales with the highest price"))
    assert [row[1:4] for row in found["tables"][0]["rows"]] == [["New York", "coffee", 50], ["Bern", "tea", 20]]
    assert found["tables"][0]["total_rows"] == 6


def test_a_planner_that_takes_a_comparison_for_a_limit_does_not_cut_the_answer(ask: Ask) -> None:
    assert len(figures(ask, "average price per city with units of at most 6", limit=6)) == 3
    assert len(figures(ask, "average price per city", limit=2)) == 2


def test_what_a_schema_fills_in_by_itself_is_not_taken_for_typed(ask: Ask) -> None:
    filled: dict[str, Any] = {
        "order": {"by": "", "descending": True},
        "measures": [],
        "group_by": [],
        "where": [],
        "limit": 0,
    }
    result = ask("data_analyst", "aggregate", question="average delay per city", **filled)
    assert result.lifecycle == "input_required"
    months = figures(ask, "total units per month", **filled)
    assert [row[1] for row in months] == [3, 12, 6]
    some = ask("data_analyst", "aggregate", question="average delay", group_by=[{"column": "city"}])
    assert some.lifecycle == "input_required"


def test_an_answer_given_during_a_run_is_heard(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "sales.csv").write_text(SALES, encoding="utf-8")
    task = Task(
        id="t",
        agent="data_analyst",
        skill="aggregate",
        parameters={"question": "average delay"},
        context=Context(constraints=("meaning_delay: ship_delay",)),
    )
    boundary = ask_in(tmp_path).boundary
    result = asyncio.run(boundary.call(task, LocalContext(workspace=Workspace(tmp_path))))
    assert data(result)["tables"][0]["rows"] == [[3.0, 6]]


@given(
    st.lists(
        st.sampled_from(
            [
                "average",
                "sum",
                "of",
                "price",
                "units",
                "city",
                "per",
                "by",
                "not",
                "Bern",
                "Rome",
                "top",
                "3",
                "more",
                "than",
                "10",
                "between",
                "and",
                "or",
                "in",
                "March",
                "share",
                "the",
                "which",
                "most",
                "highest",
                "p95",
                "delay",
                "`",
                "'",
                '"',
                ";",
                "--",
                ")",
                "tea",
                "2024-02-14",
                "5xx",
                "missing",
                "over",
                "time",
                "compare",
                "`price`",
                "how",
                "many,",
                "sorted",
            ]
        )
        | st.text(max_size=8),
        max_size=14,
    )
)
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_words_are_a_query_that_runs_or_are_not_read(opened: tuple[Data, Columns], words: list[str]) -> None:
    database, columns = opened
    reading = read_table_question(" ".join(words), columns.facts())
    if reading.query is not None:
        database.query(select_sql(resolve_query(reading.query, columns), columns), limit=5)


@given(st.text(max_size=20))
@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_is_compared_as_the_value_it_is(opened: tuple[Data, Columns], value: str) -> None:
    database, columns = opened
    wanted = TableQuery(where=(Condition(column="city", op="=", value=value.replace("\0", "")),))
    rows = database.query(select_sql(wanted, columns)).rows
    assert rows == [({"Bern": 2, "Rome": 3, "New York": 1}.get(value.replace("\0", ""), 0),)]


@pytest.fixture
def opened(tmp_path: Path) -> Generator[tuple[Data, Columns]]:
    (tmp_path / "sales.csv").write_text(SALES, encoding="utf-8")
    with Data(Workspace(tmp_path)) as database:
        yield database, Columns(database, database.open("sales.csv"), check=lambda: None)


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("what is the average departure delay by carrier in flights.csv", "aggregate"),
        ("how many requests returned status 500 in access.log", "aggregate"),
        ("describe the columns of orders.csv", "profile"),
        ("p99 of the response time per endpoint", "percentiles"),
        ("summarise the log server.log", "log_parse"),
    ],
)
def test_questions_about_data_are_routed_to_the_skill_that_answers_them(clause: str, expected: str) -> None:
    routing = Router([agent.definition for agent in agents()]).route(clause)
    assert (routing.candidates[0].agent, routing.candidates[0].skill) == ("data_analyst", expected)
