"""Words that once gave a wrong figure, or a question too many: each is settled by counting done here (G20)."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retinue.contract.result import Result
from tests.catalogue.conftest import Ask

pytest.importorskip("duckdb")

AskIn = Callable[[Path], Ask]

ORDERS = """order_id,ordered_at,customer,country,category,quantity,unit_price,total,status
1,2024-01-06T10:00:00,Ann,DE,books,2,10.5,21.0,paid
2,2024-02-05T10:00:00,Bob,FR,toys,1,30.0,30.0,returned
3,2024-04-07T10:00:00,Ann,DE,books,3,10.0,30.0,cancelled
4,2024-07-08T10:00:00,Cy,US,toys,3,11.0,33.0,returned
"""
FLIGHTS = """month,carrier,origin,tailnum,dep_delay,arr_delay,tzone
1,UA,JFK,N1,10,70,US/Eastern
1,DL,JFK,N2,-5,NA,US/Eastern
6,UA,LGA,NA,90,130,US/Eastern
7,DL,JFK,N2,0,5,US/Central
"""
PLANES = """tailnum,built_by,year,seats
N1,BOEING,1999,200
N2,AIRBUS,2007,150
N3,BOEING,2008,400
"""
LOG = """2024-02-09T23:59:00Z INFO shop: started
2024-02-10T08:00:00Z WARNING shop: slow answer
2024-02-10T08:05:00Z INFO mail: sent
2024-02-11T00:00:00Z INFO shop: stopped
"""


@pytest.fixture
def ask(tmp_path: Path, ask_in: AskIn) -> Ask:
    (tmp_path / "hits.csv").write_text("page,seconds\n/a,2.0\n/b,0.5\n/b,9.5\n", encoding="utf-8")
    for name, text in (("orders.csv", ORDERS), ("flights.csv", FLIGHTS), ("planes.csv", PLANES), ("app.log", LOG)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return ask_in(tmp_path)


def data(result: Result) -> dict[str, Any]:
    assert result.fault is None, result.fault
    assert result.questions == (), result.questions
    return result.data


def rows(ask: Ask, question: str, *, skill: str = "aggregate", **parameters: Any) -> list[list[Any]]:
    """The rows of the first table."""
    return data(ask("data_analyst", skill, question=question, **parameters))["tables"][0]["rows"]


@pytest.mark.requirement("G20")
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("average order total in orders.csv", [[28.5, 4]]),
        ("average order total in orders.csv without the cancelled ones", [[28.0, 3]]),
        ("average quantity of orders in orders.csv", [[2.25, 4]]),
        ("average number of seats in planes.csv", [[250.0, 3]]),
        ("how many of them were returned? (orders.csv)", [[2]]),
        ("how many orders in Q1 in orders.csv", [[2]]),
        ("orders from Q2 to Q3 in orders.csv", [[2]]),
        ("orders per month in orders.csv", [["2024-01", 1], ["2024-02", 1], ["2024-04", 1], ["2024-07", 1]]),
        ("orders per quarter in orders.csv", [["2024-Q1", 2], ["2024-Q2", 1], ["2024-Q3", 1]]),
        ("orders per year in orders.csv", [["2024", 4]]),
        ("orders per weekday in orders.csv", [["Monday", 2], ["Saturday", 1], ["Sunday", 1]]),
        ("how many orders on 2024-02-05 in orders.csv", [[1]]),
        ("how many orders since 2024-04-01 in orders.csv", [[2]]),
        ("how many orders after 2024-04-07 in orders.csv", [[1]]),
        ("how many orders between 2024-01-01 and 2024-02-28 in orders.csv", [[2]]),
        ("how many orders from November to February in orders.csv", [[2]]),
        ("how many orders before April in orders.csv", [[2]]),
        ("how many orders until Q1 in orders.csv", [[2]]),
        ("how many orders not in January in orders.csv", [[3]]),
        ("how many orders on weekends in orders.csv", [[2]]),
        ("orders with status returned or paid in orders.csv", [[3]]),
        ("orders where the status is not returned in orders.csv", [[2]]),
        ("orders with a total between 25 and 31 in orders.csv", [[2]]),
        ("orders with a total above 30 in orders.csv", [[1]]),
        ("orders with a total above 25 but below 31 in orders.csv", [[2]]),
        (
            "how many orders per customer and country in orders.csv",
            [["Ann", "DE", 2], ["Bob", "FR", 1], ["Cy", "US", 1]],
        ),
        ("orders by country sorted by country ascending in orders.csv", [["DE", 2], ["FR", 1], ["US", 1]]),
        ("customers with at least 2 orders in orders.csv", [["Ann", 2]]),
        ("which customer has the fewest orders in orders.csv", [["Bob", 1], ["Cy", 1], ["Ann", 2]]),
        ("number of orders with order_id `2` in orders.csv", [[1]]),
        ("flights excluding months 6 and 7 in flights.csv", [[2]]),
        ("flights not in month 6 in flights.csv", [[3]]),
        ("how many flights have a missing tail number in flights.csv", [[1]]),
        ("how many planes were built by BOEING after 2005 in planes.csv", [[1]]),
        ("how many seats do BOEING planes have in planes.csv", [[600, 2]]),
    ],
)
def test_words_are_read_as_people_mean_them(ask: Ask, question: str, expected: list[list[Any]]) -> None:
    assert rows(ask, question) == expected


@pytest.mark.requirement("G20")
@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("how many flights in flights.csv are missing", "missing"),
        ("how many orders last month in orders.csv", "last month"),
        ("how many flights departed more than 2 hours late in flights.csv", "2 late"),
        ("how many flights were late in flights.csv", "late"),
        ("how many flights except the nice in flights.csv", "except"),
    ],
)
def test_words_that_would_change_a_figure_are_never_dropped(ask: Ask, question: str, asked: str) -> None:
    result = ask("data_analyst", "aggregate", question=question)
    assert result.outcome == "rejected"
    assert result.fault is not None
    assert all(f"`{word}`" in result.fault.message for word in asked.split())


@pytest.mark.requirement("G20")
@pytest.mark.parametrize(
    "question",
    [
        "total quantity * unit_price in orders.csv",
        "sum of quantity*unit_price per customer in orders.csv",
        "average unit_price minus quantity in orders.csv",
        "unit price / quantity by customer in orders.csv",
        "`quantity` \u00d7 `unit_price` in orders.csv",
        "mean unit_price + total in orders.csv",
        "total of quantity times the unit price in orders.csv",
        "quantity times 2 in orders.csv",
        "difference between total and unit_price in orders.csv",
        "ratio of total to quantity in orders.csv",
        "average unit_price weighted by quantity in orders.csv",
        "cumulative quantity by month in orders.csv",
        "running total of quantity in orders.csv",
        "growth of total per month in orders.csv",
        "variance of quantity in orders.csv",
        "correlation between total and quantity in orders.csv",
        "the customer with the second highest total in orders.csv",
        "half of the total quantity in orders.csv",
    ],
)
def test_a_calculation_that_no_query_can_say_is_refused(ask: Ask, question: str) -> None:
    result = ask("data_analyst", "aggregate", question=question)
    assert result.outcome == "rejected"
    assert result.fault is not None
    assert result.fault.code == "invalid_input"
    assert result.data["findings"] == result.data["tables"] == []
    assert result.data["metrics"] == {}


@pytest.mark.requirement("G20")
def test_what_looks_like_arithmetic_and_is_none_is_answered(ask: Ask) -> None:
    assert rows(ask, "the *total* quantity in orders.csv") == [[9, 4]]
    assert rows(ask, "the **total** `quantity` - please - in orders.csv") == [[9, 4]]
    assert rows(ask, "orders with a quantity over 2 in orders.csv") == [[2]]


@pytest.mark.requirement("G20")
@pytest.mark.parametrize(
    ("question", "words", "meaning", "expected"),
    [
        ("top 2 customers by quantity in orders.csv", "quantity", "sum", [["Ann", 5, 2], ["Cy", 3, 1]]),
        ("top 1 customer by quantity in orders.csv", "quantity", "mean", [["Cy", 3.0, 1]]),
    ],
)
def test_groups_are_put_in_no_order_that_nobody_asked_for(
    ask: Ask, question: str, words: str, meaning: str, expected: list[list[Any]]
) -> None:
    result = ask("data_analyst", "aggregate", question=question)
    (one,) = result.questions
    assert meaning in one.options
    assert result.data["tables"] == []
    assert rows(ask, question, meanings={words: meaning})[: len(expected)] == expected


@pytest.mark.requirement("G20")
def test_where_every_group_is_one_row_its_value_is_the_figure(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "a.csv").write_text("country,population\nA,5\nB,9\nC,1\n", encoding="utf-8")
    assert rows(ask_in(tmp_path), "top 2 countries by population") == [["B", 9], ["A", 5]]


@pytest.mark.requirement("G20")
def test_all_of_a_tie_are_named(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "b.csv").write_text("day,customer,units\n" + "".join(
        f"2024-0{month}-01,{who},{units}\n"
        for month, who, units in ((1, "Ann", 4), (2, "Bob", 7), (3, "Cy", 7), (4, "Dan", 4), (5, "Eve", 5))
    ), encoding="utf-8")  # fmt: skip
    ask = ask_in(tmp_path)
    first = data(ask("data_analyst", "aggregate", question="top 1 customer by total units in b.csv"))
    assert [row[0] for row in first["tables"][0]["rows"]] == ["Bob", "Cy"]
    assert "From place 1 on 2 are equal, so that 2 are shown and not 1." in first["notes"]
    assert "LIMIT 2" in first["sql"]
    row = data(ask("data_analyst", "aggregate", question="which row has the largest units in b.csv"))
    assert [each[1] for each in row["tables"][0]["rows"]] == ["Bob", "Cy"]
    months = data(ask("data_analyst", "aggregate", question="total units per month in b.csv"))["answer"]
    assert "The highest is `2024-02` and `2024-03` with 7, the lowest `2024-01` and `2024-04` with 4." in months


@pytest.mark.requirement("G20")
@pytest.mark.parametrize(
    ("skill", "question", "first"),
    [
        ("aggregate", "mean dep_delay of UA vs DL in flights.csv", ["UA", 50.0, 2]),
        ("compare", "compare the mean dep_delay of UA and DL in flights.csv", ["mean dep_delay", 50.0, -2.5, -52.5]),
        (
            "compare",
            "compare mean dep_delay between January and July in flights.csv",
            ["mean dep_delay", 2.5, 0.0, -2.5],
        ),
    ],
)
def test_two_sides_are_compared_and_not_added_up(ask: Ask, skill: str, question: str, first: list[Any]) -> None:
    line = rows(ask, question, skill=skill)[0]
    assert line[: len(first)] == pytest.approx(first)


def test_a_median_is_one_figure_and_no_four_percentiles(ask: Ask) -> None:
    assert rows(ask, "median seats in planes.csv", skill="percentiles") == [[200.0, 3]]


def test_counts_and_totals_by_group_say_what_they_come_to(ask: Ask) -> None:
    found = data(ask("data_analyst", "aggregate", question="how many orders per country in orders.csv"))
    assert "All together: 4 rows." in [one["content"] for one in found["findings"]]
    assert found["metrics"]["all rows"] == 4
    assert "count(*)" in found["sql"].rpartition(";\n")[2]


def test_a_superlative_over_many_groups_gives_the_first_ten(tmp_path: Path, ask_in: AskIn) -> None:
    lines = [f"u{number:03}" for number in range(60) for _ in range(number + 1)]
    (tmp_path / "visits.csv").write_text("user\n" + "\n".join(lines) + "\n", encoding="utf-8")
    result = ask_in(tmp_path)("data_analyst", "aggregate", question="which user has the most visits")
    assert result.outcome == "success"
    table = data(result)["tables"][0]
    assert table["rows"][0] == ["u059", 60]
    assert len(table["rows"]) == 10
    assert table["total_rows"] == 60


def test_rows_in_order_are_named_by_what_is_their_own(ask: Ask) -> None:
    found = data(ask("data_analyst", "aggregate", question="which planes in planes.csv have the most seats"))
    assert "`N3` with 400" in found["findings"][0]["content"]


def test_a_share_says_how_many_and_what_has_no_value(ask: Ask) -> None:
    question = "what share of flights in flights.csv have an arr_delay above 60"
    found = data(ask("data_analyst", "aggregate", question=question))
    assert found["findings"][0]["content"].startswith("50 % (2) of the 4 rows")
    assert "`arr_delay` has no value in 1 of 4 rows; they are part of the whole." in found["notes"]


@pytest.mark.requirement("G20")
def test_a_log_is_summarised_for_the_time_that_is_said(ask: Ask) -> None:
    found = data(ask("data_analyst", "log_parse", question="what happened in app.log on 2024-02-10"))
    assert found["metrics"]["entries"] == 2
    assert found["understood"]["filter"]
    by_level = next(table for table in found["tables"] if table["title"] == "Entries by level")
    assert [row[:2] for row in by_level["rows"]] == [["INFO", 1], ["WARNING", 1]]
    whole = data(ask("data_analyst", "log_parse", question="summarise the warnings of app.log"))
    assert whole["metrics"]["entries"] == 4


def test_what_is_read_alike_of_several_columns_is_said_once(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,NA\nNA,2\n", encoding="utf-8")
    found = data(ask_in(tmp_path)("data_analyst", "profile", question="profile a.csv"))
    assert "In columns 'x', 'y', 'NA' is read as no value." in found["notes"]


@pytest.mark.requirement("G20")
@pytest.mark.parametrize("question", ["average total sales per store", "who wrote the parser and why", "far in total?"])
def test_words_that_speak_of_no_data_here_are_rejected(tmp_path: Path, ask_in: AskIn, question: str) -> None:
    for name, text in (("flights.csv", FLIGHTS), ("planes.csv", PLANES)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    for_both = ask_in(tmp_path)("data_analyst", "aggregate", question=question)
    assert for_both.outcome == "rejected"
    (tmp_path / "flights.csv").unlink()
    for_one = ask_in(tmp_path)("data_analyst", "aggregate", question=question)
    assert for_one.outcome == "rejected"


def test_the_file_with_most_of_the_words_is_read(ask: Ask) -> None:
    found = data(ask("data_analyst", "aggregate", question="average arr_delay from JFK"))
    assert found["files"] == ["flights.csv"]
    assert any("No file was named" in note for note in found["notes"])


@pytest.mark.requirement("G20")
@pytest.mark.parametrize("parameters", [{}, {"files": ["daily.csv"]}])
def test_a_data_file_that_git_ignores_is_read_when_it_is_named(
    tmp_path: Path, ask_in: AskIn, parameters: dict[str, Any]
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("data/\nnode_modules/\n", encoding="utf-8")
    for folder in ("data", "node_modules/x"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "daily.csv").write_text("high\n1\n3\n", encoding="utf-8")
    found = data(ask_in(tmp_path)("data_analyst", "aggregate", question="highest high in daily.csv", **parameters))
    assert found["files"] == ["data/daily.csv"]
    assert found["tables"][0]["rows"] == [[3, 2]]
    assert json.loads(json.dumps(found)) == found
