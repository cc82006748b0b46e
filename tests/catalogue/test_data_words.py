"""Questions in words over flights and a longer log, each against SQL that was written by hand (G20)."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.boundary import Boundary
from retinue.agents.grants import ALL
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.catalogue._prose import plain_text
from retinue.catalogue.data_analyst.columns import read_facts
from retinue.catalogue.data_analyst.findings import describe_measure
from retinue.contract.event import Progress
from retinue.contract.result import Result
from retinue.contract.table_query import Measure
from retinue.contract.task import Task
from retinue.orchestration.reader.parameters import reader_environment
from retinue.orchestration.reader.planner import Planner
from retinue.tools.workspace import Workspace
from tests.catalogue.conftest import Ask, Repository

duckdb = pytest.importorskip("duckdb")

AskIn = Callable[[Path], Ask]

CARRIERS, ORIGINS, DESTINATIONS = ("UA", "AA", "DL", "US"), ("JFK", "EWR"), ("LAX", "BOS", "SFO")


def flights() -> str:
    """A table whose numbers follow from the row's place; some cells are `NA`."""
    lines = ["year,month,day,dep_time,dep_delay,arr_delay,carrier,tailnum,origin,dest,air_time,distance,hour,time_hour"]
    for n in range(240):
        month, day, hour = n % 12 + 1, n % 28 + 1, n % 24
        delay = "NA" if n % 17 == 0 else str(n * 7 % 130 - 10)
        tail = "NA" if n % 31 == 0 else f"N{n % 40}"
        at = datetime(2013, month, day, hour, tzinfo=UTC) + timedelta(hours=5)
        lines.append(
            f"2013,{month},{day},{hour * 100},{delay},{n * 3 % 200 - 50},{CARRIERS[n % 4]},{tail},{ORIGINS[n % 2]},"
            f"{DESTINATIONS[n % 3]},{n % 300 + 20},{n * 11 % 2500 + 100},{hour},{at:%Y-%m-%dT%H:%M:%SZ}"
        )
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("flights")
    (root / "flights.csv").write_text(flights(), encoding="utf-8")
    return root


@pytest.fixture
def ask(folder: Path, ask_in: AskIn) -> Ask:
    return ask_in(folder)


def rows(result: Result) -> list[list[Any]]:
    assert result.fault is None, result.fault
    assert result.questions == (), result.questions
    return result.data["tables"][0]["rows"]


def by_hand(folder: Path, statement: str) -> list[list[Any]]:
    """What DuckDB says by itself, times as texts."""
    with duckdb.connect() as connection:
        table = f"read_csv('{folder / 'flights.csv'}', nullstr = ['', 'NA'])"
        found = connection.execute(statement.replace("flights", table)).fetchall()
    return [[cell.isoformat() if hasattr(cell, "isoformat") else cell for cell in row] for row in found]


def alike(found: list[list[Any]], expected: list[list[Any]]) -> bool:
    """The same rows; a day is the same as its midnight."""
    plain = [[cell.removesuffix("T00:00:00") if isinstance(cell, str) else cell for cell in row] for row in found]
    wanted = [[cell.removesuffix("T00:00:00") if isinstance(cell, str) else cell for cell in row] for row in expected]
    return len(plain) == len(wanted) and all(
        len(one) == len(other)
        and all(a == (b if isinstance(b, str) else pytest.approx(b)) for a, b in zip(one, other, strict=True))
        for one, other in zip(plain, wanted, strict=True)
    )


@pytest.mark.requirement("G20")
@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("how many flights from JFK to LAX", "SELECT count(*) FROM flights WHERE origin = 'JFK' AND dest = 'LAX'"),
        ("how many flights to JFK", "SELECT 0"),
        ("flights by US carriers", "SELECT count(*) FROM flights WHERE carrier = 'US'"),
        ("how many flights in march or april", "SELECT count(*) FROM flights WHERE month IN (3, 4)"),
        ("how many flights not in March", "SELECT count(*) FROM flights WHERE month <> 3"),
        ("flights from November to February", "SELECT count(*) FROM flights WHERE month IN (11, 12, 1, 2)"),
        ("flights between May and July", "SELECT count(*) FROM flights WHERE month BETWEEN 5 AND 7"),
        ("flights after October", "SELECT count(*) FROM flights WHERE month > 10"),
        ("how many flights before March", "SELECT count(*) FROM flights WHERE month < 3"),
        ("how many flights in 2013", "SELECT count(*) FROM flights WHERE year = 2013"),
        ("how many flights in March 2013", "SELECT count(*) FROM flights WHERE month = 3"),
        ("how many flights on 5 May 2013", "SELECT count(*) FROM flights WHERE month = 5 AND day = 5"),
        ("how many flights on May 5th, 2013", "SELECT count(*) FROM flights WHERE month = 5 AND day = 5"),
        ("how many flights since 2013-07-01", "SELECT count(*) FROM flights WHERE month >= 7"),
        ("how many flights until 2013-07-10", "SELECT count(*) FROM flights WHERE make_date(year, month, day) <= '2013-07-10'"),
        ("how many flights between 2013-02-01 and 2013-03-05", "SELECT count(*) FROM flights WHERE make_date(year, month, day) BETWEEN '2013-02-01' AND '2013-03-05'"),
        ("flights on mondays and fridays", "SELECT count(*) FROM flights WHERE isodow(make_date(year, month, day)) IN (1, 5)"),
        ("how many flights are not on weekends", "SELECT count(*) FROM flights WHERE isodow(make_date(year, month, day)) NOT IN (6, 7)"),
        ("flights with month 3 or 4", "SELECT count(*) FROM flights WHERE month IN (3, 4)"),
        ("flights with hour = 7", "SELECT count(*) FROM flights WHERE hour = 7"),
        ("flights with hour not equal to 7", "SELECT count(*) FROM flights WHERE hour <> 7"),
        ("flights with hour != 7", "SELECT count(*) FROM flights WHERE hour <> 7"),
        ("distance of at least 1k, how many flights", "SELECT count(*) FROM flights WHERE distance >= 1000"),
        ("how many flights where the arr delay was no more than 0", "SELECT count(*) FROM flights WHERE arr_delay <= 0"),
        ("how many flights without a departure delay", "SELECT count(*) FROM flights WHERE dep_delay IS NULL"),
        ("number of flights with missing tail number", "SELECT count(*) FROM flights WHERE tailnum IS NULL"),
        ("number of flights where dep_delay is not missing", "SELECT count(*) FROM flights WHERE dep_delay IS NOT NULL"),
        ("how many different months", "SELECT count(DISTINCT month), count(*) FROM flights"),
        ("how many distinct destinations and origins", "SELECT count(DISTINCT dest), count(DISTINCT origin), count(*) FROM flights"),
        ("min, max and mean of air time", "SELECT min(air_time), max(air_time), avg(air_time), count(*) FROM flights"),
        ("average departure delay and arrival delay", "SELECT avg(dep_delay), avg(arr_delay), count(*) FROM flights"),
        ("average departure delay and total distance", "SELECT avg(dep_delay), sum(distance), count(*) FROM flights"),
        ("average departure delay and total distance per carrier", "SELECT carrier, avg(dep_delay), sum(distance), count(*) FROM flights GROUP BY 1 ORDER BY 2 DESC, 1"),
        ("what is the standard deviation of distance", "SELECT stddev_samp(distance), count(*) FROM flights"),
        ("departure delay on average per origin", "SELECT origin, avg(dep_delay), count(*) FROM flights GROUP BY 1 ORDER BY 2 DESC"),
        ("average distance grouped by origin and dest", "SELECT origin, dest, avg(distance), count(*) FROM flights GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2"),
        ("number of flights per hour", "SELECT hour, count(*) FROM flights GROUP BY 1 ORDER BY 1"),
        ("flights per week", "SELECT date_trunc('week', make_date(year, month, day)), count(*) FROM flights GROUP BY 1 ORDER BY 1"),
        ("flights by weekday", "SELECT dayname(any_value(make_date(year, month, day))), count(*) FROM flights GROUP BY isodow(make_date(year, month, day)) ORDER BY isodow(make_date(year, month, day))"),
        ("busiest hour", "SELECT hour, count(*) FROM flights GROUP BY 1 ORDER BY 2 DESC, 1"),
        ("which 2 months had the highest total departure delay", "SELECT month, sum(dep_delay), count(*) FROM flights GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 2"),
        ("the carrier with the lowest average arrival delay", "SELECT carrier, avg(arr_delay), count(*) FROM flights GROUP BY 1 ORDER BY 2, 1"),
        ("which carrier has the longest mean air time", "SELECT carrier, avg(air_time), count(*) FROM flights GROUP BY 1 ORDER BY 2 DESC, 1"),
        ("carriers with an average arr_delay above 43.1", "SELECT carrier, avg(arr_delay), count(*) FROM flights GROUP BY 1 HAVING avg(arr_delay) > 43.1 ORDER BY 2 DESC, 1"),
        ("which carrier has the longest air time", "SELECT carrier, air_time FROM flights ORDER BY 2 DESC NULLS LAST LIMIT 1"),
        ("total distance by carrier sorted by carrier ascending", "SELECT carrier, sum(distance), count(*) FROM flights GROUP BY 1 ORDER BY 1"),
        ("total distance by carrier, ordered by distance ascending", "SELECT carrier, sum(distance), count(*) FROM flights GROUP BY 1 ORDER BY 2"),
        ("share of total distance per carrier", "SELECT carrier, 100.0 * sum(distance) / (SELECT sum(distance) FROM flights), count(*) FROM flights GROUP BY 1 ORDER BY 2 DESC, 1"),
        ("what share of total distance was flown by UA", "SELECT 100.0 * sum(distance) FILTER (WHERE carrier = 'UA') / sum(distance), count(*) FROM flights"),
        ("what percentage of flights are by UA", "SELECT 25.0, count(*) FROM flights"),
        ("share of flights with missing dep_delay per origin", "SELECT origin, 100.0 * count(*) FILTER (WHERE dep_delay IS NULL) / count(*), count(*) FROM flights GROUP BY 1 ORDER BY 2 DESC, 1"),
        ("top 3 carriers by mean distance", "SELECT carrier, avg(distance), count(*) FROM flights GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3"),
        ("which origin has the most destinations", "SELECT origin, count(DISTINCT dest), count(*) FROM flights GROUP BY 1 ORDER BY 2 DESC, 1"),
        ("trend of flights over time", "SELECT strftime(make_date(year, month, day), '%Y-%m'), count(*) FROM flights GROUP BY 1 ORDER BY 1"),
        ("how many flights did not go from EWR or to LAX", None),
        ("how many flights with UA or JFK", None),
        ("flights between 8 and 10", None),
        ("flights more than 60", None),
        ("how many flights were delayed more than 60 minutes", None),
        ("the largest flights", None),
        ("top 3 carriers by distance", None),
        ("the slowest carrier", None),
        ("the average of carrier", None),
    ],
)  # fmt: skip
def test_words_give_what_sql_gives_or_no_figure_at_all(
    folder: Path, ask: Ask, question: str, statement: str | None
) -> None:
    result = ask("data_analyst", "aggregate", question=question)
    if statement is None:
        assert result.outcome in (None, "rejected")
        assert result.data["tables"] == []
    else:
        assert alike(rows(result), by_hand(folder, statement))


def test_the_slowest_paths_and_a_burst_are_found_in_a_log(tmp_path: Path, ask_in: AskIn) -> None:
    start, lines = datetime(2024, 5, 6, tzinfo=UTC), list[str]()
    for n in range(600):
        at = start + timedelta(seconds=30 * n if n < 500 else 30 * 500 + n / 10)
        path, seconds = (("/slow", 2.5), ("/quick", 0.01))[n % 2]
        status = 500 if n % 50 == 0 else 200
        lines.append(
            f'10.0.0.{n % 9} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET {path} HTTP/1.1" {status} 10 "-" "M" {seconds:.3f}'
        )
    (tmp_path / "access.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ask = ask_in(tmp_path)
    result = ask("data_analyst", "log_parse", question="what happened?")
    said = {one["topic"]: one for one in result.data["findings"]}
    assert result.data["subjects"] == ["/slow", "/quick"]
    assert "`/slow` with 2.5 s" in said["slowest paths"]["content"]
    assert said["errors by path"]["content"] == "Most errors are at `/slow` (12)."
    assert "100 entries in one minute" in said["burst"]["content"] or "60 entries" in said["burst"]["content"]
    assert any(chart["kind"] == "line" for chart in result.data["charts"])
    only = ask("data_analyst", "log_parse", question="", where=[{"column": "path", "op": "=", "value": "/slow"}])
    assert only.data["metrics"]["entries"] == 300
    none = ask("data_analyst", "log_parse", question="", where=[{"column": "path", "op": "=", "value": "/none"}])
    assert none.outcome == "rejected"


def test_a_log_without_times_is_a_log(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "plain.log").write_text("ERROR one\nINFO two\nERROR one\n", encoding="utf-8")
    result = ask_in(tmp_path)("data_analyst", "log_parse", question="what is in plain.log")
    assert result.useful
    assert "without time stamps" in result.data["findings"][0]["content"]


def test_a_table_is_no_log(ask: Ask) -> None:
    result = ask("data_analyst", "log_parse", question="", files=["flights.csv"])
    assert result.fault is not None
    assert (result.fault.code, result.fault.path) == ("invalid_input", "/parameters/files")


def test_a_comparison_of_one_thing_is_refused(ask: Ask) -> None:
    result = ask("data_analyst", "compare", question="compare the average distance of UA flights")
    assert result.outcome == "rejected"
    assert rows(ask("data_analyst", "compare", question="compare the average distance per origin"))[0][0] in ORIGINS
    assert ask("data_analyst", "compare", question="compare UA and XX flights").outcome == "rejected"


def test_a_side_without_rows_is_said(ask: Ask) -> None:
    result = ask("data_analyst", "compare", question="compare flights in 2013 and 2014")
    assert result.outcome == "rejected"
    assert "No row has `year 2014`" in result.data["answer"]


def test_files_without_a_key_are_compared_by_their_figures(tmp_path: Path, ask_in: AskIn) -> None:
    (tmp_path / "a.csv").write_text("team,goals,old\nred,1,1\nred,3,1\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("team,goals\nred,4\nred,6\n", encoding="utf-8")
    ask = ask_in(tmp_path)
    result = ask("data_analyst", "compare", question="compare the total goals in a.csv and b.csv")
    assert rows(result) == [["total goals", 4, 10, 6, 150.0], ["rows", 2, 2, 0, 0.0]]
    assert any("`key` names such columns" in note for note in result.data["notes"])
    wrong = ask("data_analyst", "compare", question="", files=["a.csv", "b.csv"], key=["old"])
    assert wrong.fault is not None
    assert wrong.fault.path == "/parameters/key"


def test_of_several_files_only_the_first_is_read_and_that_is_said(tmp_path: Path, ask_in: AskIn) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("x\n1\n", encoding="utf-8")
    result = ask_in(tmp_path)("data_analyst", "aggregate", question="how many rows", files=["a.csv", "b.csv"])
    assert result.outcome == "partial"
    assert result.files_read == ("a.csv",)
    assert "b.csv" in result.warnings[0].message


def test_an_unknown_skill_and_an_unknown_column_name_what_there_is(ask: Ask) -> None:
    result = ask("data_analyst", "sum_up", question="")
    assert result.fault is not None
    assert "aggregate" in result.fault.suggestions
    typed = ask("data_analyst", "aggregate", question="", files=["flights.csv"], group_by=[{"column": "carier"}])
    assert typed.fault is not None
    assert typed.fault.suggestions == ("carrier",)


def test_time_that_is_up_stops_the_work(ask: Ask) -> None:
    ticks = iter(range(0, 10**14, 10**9))
    result = ask(
        "data_analyst",
        "profile",
        question="",
        files=["flights.csv"],
        deadline_s=2.0,
        clock=lambda: 1_710_072_000 * 10**9 + next(ticks),
    )
    assert result.fault is not None
    assert result.fault.code == "timeout"


@pytest.mark.parametrize(
    ("where", "statement"),
    [
        ([{"column": "carrier", "op": "!=", "value": "UA"}], "carrier <> 'UA'"),
        ([{"column": "carrier", "op": "not_in", "value": ["UA", "AA"]}], "carrier NOT IN ('UA', 'AA')"),
        ([{"column": "tailnum", "op": "contains", "value": "n1"}], "tailnum LIKE 'N1%'"),
        ([{"column": "tailnum", "op": "not_contains", "value": "%"}], "TRUE"),
        ([{"column": "dep_delay", "op": "is_null"}], "dep_delay IS NULL"),
        ([{"column": "dep_delay", "op": "not_null"}, {"column": "hour", "op": "<=", "value": 3}], "dep_delay IS NOT NULL AND hour <= 3"),
    ],
)  # fmt: skip
def test_typed_conditions_are_those_of_sql(folder: Path, ask: Ask, where: list[dict[str, Any]], statement: str) -> None:
    found = rows(ask("data_analyst", "aggregate", question="", files=["flights.csv"], where=where))
    assert found == by_hand(folder, f"SELECT count(*) FROM flights WHERE {statement}")


def _parquet(folder: Path, columns: str, values: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * FROM (VALUES {values}) t({columns})) TO '{folder / 'rents.parquet'}'")


@pytest.mark.requirement("G20")
def test_times_that_no_calendar_has_are_left_out_of_what_is_known_of_a_column(tmp_path: Path, ask_in: AskIn) -> None:
    times = ("2024-01-01", "2024-03-05", "infinity", "-infinity", "10000-02-03", "0044-03-15 (BC)")
    _parquet(tmp_path, "until, price", ", ".join(f"('{one}'::TIMESTAMP, {place})" for place, one in enumerate(times)))
    (table,) = read_facts(Workspace(tmp_path)).tables
    assert (table.columns[0].least, table.columns[0].most) == ("2024-01-01T00:00:00", "2024-03-05T00:00:00")
    assert rows(ask_in(tmp_path)("data_analyst", "aggregate", question="mean price in rents.parquet")) == [[2.5, 6]]


def test_a_table_that_git_ignores_is_meant_only_where_it_is_named(
    make_repository: Callable[..., Repository], ask_in: AskIn
) -> None:
    made = make_repository("flat")
    made.write("rooms.csv", "room,price\nkitchen,5\n")
    made.write(".gitignore", "*.parquet\n")
    made.commit("feat: rooms")
    _parquet(made.root, "price", "(7), (9)")
    tables = read_facts(Workspace(made.root)).tables
    assert [(one.path, one.is_aside) for one in tables] == [("rooms.csv", False), ("rents.parquet", True)]
    ask = ask_in(made.root)
    assert rows(ask("data_analyst", "aggregate", question="highest price in rents.parquet")) == [[9, 2]]
    assert rows(ask("data_analyst", "aggregate", question="highest price")) == [[5, 1]]


_LOG = "".join(
    f'192.0.2.{n % 3} - - [04/Mar/2025:1{n % 4}:00:00 +0000] "GET /{("cart", "search")[n % 2]} HTTP/1.1"'
    f' {(200, 200, 503, 404, 200)[n % 5]} {n * 13} "-" "curl" {n / 100}\n'
    for n in range(60)
)


@pytest.mark.parametrize(
    ("question", "column", "expected"),
    [
        ("How many 503 responses were there?", 0, [12]),
        ("count the 404s", 0, [12]),
        ("count the 503 responses per hour", 1, [3, 3, 3, 3]),
        ("which endpoint is slowest on average", 0, ["/search"]),
        ("median response time for /cart", 0, [pytest.approx(0.29)]),
        ("hits per ip", 1, [20, 20, 20]),
    ],
)
def test_a_log_is_asked_about_in_the_words_of_logs(
    tmp_path: Path, ask_in: AskIn, question: str, column: int, expected: list[Any]
) -> None:
    (tmp_path / "access.log").write_text(_LOG, encoding="utf-8")
    found = rows(ask_in(tmp_path)("data_analyst", "aggregate", question=question))
    assert [row[column] for row in found[: len(expected)]] == expected


def test_a_figure_that_is_no_number_is_said_to_be_left_out(tmp_path: Path, ask_in: AskIn) -> None:
    _parquet(tmp_path, "price", "(1.5::DOUBLE), ('inf'::DOUBLE)")
    result = ask_in(tmp_path)("data_analyst", "aggregate", question="highest price in rents.parquet")
    assert rows(result) == [[None, 2]]
    assert "Column 'max price' has values that are not a finite number; they are left out." in result.data["notes"]


@pytest.mark.parametrize("question", ["average distance", "average distance in flights.csv"])
def test_reading_the_file_is_told_whether_or_not_it_is_named(folder: Path, question: str) -> None:
    context = LocalContext(workspace=Workspace(folder))
    task = Task(id="t", agent="data_analyst", skill="aggregate", parameters={"question": question})
    assert asyncio.run(Boundary(Registry(agents())).call(task, context)).outcome == "success"
    told = [event.body for event in context.events if isinstance(event.body, Progress)]
    assert [one.status for one in told if one.phase == "reading the file"] == ["flights.csv"]


@pytest.mark.parametrize(
    ("point", "words"),
    [
        (0, "0th"), (1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"),
        (21, "21st"), (22, "22nd"), (23, "23rd"), (99.1, "99.1th"), (100, "100th"),
    ],
)  # fmt: skip
def test_a_percentile_has_the_ending_of_its_number(point: float, words: str) -> None:
    said = plain_text(describe_measure(Measure(function="percentile", column="price", percentile=point)))
    assert said == f"{words} percentile of `price`"


_PEOPLE = """name,class,age,sex,survived,married,joined,skills,year_born,bodywt
"Smith, Ann",1st,34,female,1,Yes,Jan 5 2020,"Python, SQL",1990,60
"Smith, Bob",1st,40,male,0,No,Mar 9 2020,SQL,1984,82
"Jones, Cid",2nd,,male,0,Yes,Mar 30 2020,Python,1999,75
"Weiss, Dora",1st,29,female,1,No,Jun 1 2021,"Go, Python",1995,55
"Young, Eve",3rd,51,female,0,Yes,Mar 2 2021,Go,1973,64
"""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many passengers are female?", [[3]]),
        ("What percentage of the passengers in 1st class survived?", [[pytest.approx(100 * 2 / 3), 3]]),
        ("for how many passengers is the age missing?", [[1]]),
        ('How many passengers have "Smith" in their name?', [[2]]),
        ("how many people joined in March 2020", [[2]]),
        ("How many joined on March 2nd?", [[1]]),
        ("number of people whose skills contain Python", [[3]]),
        ("how many passengers know SQL and are married", None),
        ("how many married passengers are there", [[3]]),
        ("average body weight of those who joined in the 2010s or later", None),
        ("average body weight in the 2020s", [[pytest.approx((60 + 82 + 75 + 55 + 64) / 5), 5]]),
        ("how many sailors are male?", [[2]]),
        ("how many sailors were hired in 2020", None),
        ("lowest and highest age", [[29, 51, 5]]),
        ("what does bodywt mean", None),
        ("mean age of the interest", None),  # it ends like a superlative and is none
        ("mean age per class, oldest first", [["3rd", 51, 1], ["1st", pytest.approx(103 / 3), 3], ["2nd", None, 1]]),
    ],
)
def test_people_are_asked_about_as_people_ask(
    tmp_path: Path, ask_in: AskIn, question: str, expected: list[list[Any]] | None
) -> None:
    (tmp_path / "people.csv").write_text(_PEOPLE, encoding="utf-8")
    result = ask_in(tmp_path)("data_analyst", "aggregate", question=question)
    if expected is None:
        assert result.outcome == "rejected"
    else:
        assert rows(result) == expected


@pytest.mark.parametrize(
    ("question", "skill"),
    [
        ("How many passengers are in 1st or 2nd class?", "aggregate"),
        ("compare the mean age of 1st and 3rd class", "compare"),
    ],
)
def test_only_who_compares_is_given_a_comparison(tmp_path: Path, question: str, skill: str) -> None:
    (tmp_path / "people.csv").write_text(_PEOPLE, encoding="utf-8")
    registry = Registry(agents())
    definitions = [agent.definition for agent in agents()]
    around = reader_environment(registry, Workspace(tmp_path), grants=ALL)
    (node,) = Planner(definitions).plan(question, environment=around).nodes
    assert (node.agent, node.skill) == ("data_analyst", skill)


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("which teapots does people.csv know", [("data_analyst", "aggregate")]),  # which says what it cannot be asked
        ("average shoe size in people.csv", [("data_analyst", "aggregate")]),
        ("people per class, top 2", [("data_analyst", "aggregate")]),
        ("unrelated: mean age in people.csv", [("data_analyst", "aggregate")]),
    ],
)
def test_data_is_not_looked_up_among_documents(tmp_path: Path, goal: str, wanted: list[tuple[str, str]]) -> None:
    (tmp_path / "people.csv").write_text(_PEOPLE, encoding="utf-8")
    around = reader_environment(Registry(agents()), Workspace(tmp_path), grants=ALL)
    plan = Planner([agent.definition for agent in agents()]).plan(goal, environment=around)
    assert [(node.agent, node.skill) for node in plan.nodes] == wanted, plan.dropped
