"""Spec 004, the first hour: a metrics agent with two typed skills, a generic task, and a card that advertises them."""

import asyncio
from typing import Any

import pytest

import retinue as package
from retinue.catalogue.metrics import Metrics
from tests.scenarios.conftest import Retinue, Write

ROUTE = "/agents/business/metrics"


@pytest.mark.requirement("P2", "P3", "P4", "P5", "P6")
def test_the_card_advertises_both_skills_of_the_document_at_its_own_paths(retinue: Retinue, write: Write) -> None:
    described = retinue("agents", "metrics", "--json")
    assert described.code == 0, described.err
    write("metrics.json", described.out)
    written = retinue("convert-definition", "metrics.json", "--to", "agent_json")
    assert written.code == 0, written.err
    card = written.data
    assert (card["name"], card["endpoints"]) == ("metrics", {"tasks": f"{ROUTE}/tasks"})
    capabilities: dict[str, Any] = {one["name"]: one for one in card["capabilities"]}
    for name, path in (
        ("get_year_to_end_sales", "year-to-end-sales"),
        ("calculate_churn_q2_q3", "calculate-churn-q2-q3"),
    ):
        capability = capabilities[name]
        assert (capability["endpoint"], capability["method"]) == (f"{ROUTE}/{path}", "POST")
        assert capability["input_schema"]["properties"]["year"]["type"] == "integer"
        assert capability["input_schema"]["required"] == ["year"]
        assert capability["output_schema"]["properties"]["answer"]["description"]


@pytest.mark.requirement("P1", "P3", "P9")
def test_requests_and_answers_go_through_the_dialect(retinue: Retinue) -> None:
    judged = retinue("check", "retinue.catalogue.metrics:Metrics", "--dialect", "agent_http", "--json")
    assert judged.code == 0, judged.err or judged.out
    assert retinue("check", "retinue.catalogue.metrics:Metrics", "--dialect", "tool_use").code == 0


@pytest.mark.requirement("P3", "G25")
def test_both_skills_are_asked_by_name(retinue: Retinue) -> None:
    sales = retinue("ask", "metrics", "get_year_to_end_sales", "-p", "year=1997", "--json")
    assert (sales.code, sales.data["outcome"]) == (0, "success")
    assert (sales.data["data"]["value"], sales.data["data"]["unit"]) == (201224.82, "USD")
    assert sales.data["data"]["basis"]["row_count"] == 5728
    churn = retinue("ask", "metrics", "calculate-churn-q2-q3", "-p", "year=1997", "--json")
    assert (churn.code, churn.data["data"]["customers"], churn.data["data"]["churned"]) == (0, 524, 310)
    assert churn.data["skill"] == "calculate_churn_q2_q3"


@pytest.mark.requirement("P1", "P8", "C47", "G25")
@pytest.mark.parametrize(
    ("words", "skill"),
    [
        ("what were the sales in 1997?", "get_year_to_end_sales"),
        ("how many customers churned between Q2 and Q3 of 1997", "calculate_churn_q2_q3"),
        ("sales in Q2 1997", "get_metric"),
    ],
)
def test_words_reach_the_skill_that_they_ask_for(retinue: Retinue, words: str, skill: str) -> None:
    asked = retinue("ask", "metrics", words, "--json")
    assert (asked.code, asked.data["skill"]) == (0, skill)


@pytest.mark.requirement("C47", "G25")
@pytest.mark.parametrize(
    "words",
    [
        "forecast the sales of 1998",
        "should we lower our prices?",
        "what was the profit margin in 1997",
        "sales in Texas in 1997",
    ],
)
def test_a_forecast_advice_and_what_is_not_listed_are_refused_with_what_there_is(retinue: Retinue, words: str) -> None:
    asked = retinue("ask", "metrics", words, "--json")
    assert asked.code != 0
    assert asked.out == ""
    assert "get_year_to_end_sales" in asked.error["hint"]


@pytest.mark.requirement("G25")
def test_a_year_without_data_is_rejected_and_half_a_year_is_told_to_be_half(retinue: Retinue) -> None:
    none = retinue("ask", "metrics", "get_year_to_end_sales", "-p", "year=2024", "--json")
    assert (none.code, none.data["outcome"]) == (5, "rejected")
    assert "1997-01-01 to 1998-06-30" in none.data["fault"]["hint"]
    half = retinue("ask", "metrics", "get_year_to_end_sales", "-p", "year=1998", "--json")
    assert (half.code, half.data["outcome"], half.data["data"]["until"]) == (0, "partial", "1998-06-30")
    churn = retinue("ask", "metrics", "calculate_churn_q2_q3", "-p", "year=1998", "--json")
    assert churn.data["outcome"] == "rejected"


@pytest.mark.requirement("G25")
def test_a_goal_reaches_the_metrics_agent(retinue: Retinue) -> None:
    answered = retinue("run", "what were the sales in 1997?", "--json")
    assert answered.code == 0
    assert "201,224.82 USD" in answered.out


@pytest.mark.requirement("G25")
def test_a_project_names_its_own_data_and_metrics(retinue: Retinue, write: Write) -> None:
    write("orders.csv", "client,day,net\na,2024-04-02,10.10\nb,2024-05-02,20.20\na,2024-08-01,5\n")
    write(
        ".retinue/metrics.toml",
        """
        [source]
        file = "orders.csv"
        date = "day"
        customer = "client"
        first_day = 2024-01-01
        last_day = 2024-12-31
        [metrics.sales]
        definition = "Sum of net amounts"
        unit = "EUR"
        sql = "sum(CAST(net AS DECIMAL(18, 2)))"
        targets = { 2024 = 30 }
        """,
    )
    sales = retinue("ask", "metrics", "get_year_to_end_sales", "-p", "year=2024", "--json")
    assert (sales.code, sales.data["data"]["value"], sales.data["data"]["unit"]) == (0, 35.3, "EUR")
    churn = retinue("ask", "metrics", "calculate_churn_q2_q3", "-p", "year=2024", "--json")
    assert (churn.data["data"]["customers"], churn.data["data"]["churned"]) == (2, 1)
    figure = retinue(
        "ask",
        "metrics",
        "get_metric",
        "-p",
        "metric=sales",
        "-p",
        "since=2024-01-01",
        "-p",
        "until=2024-12-31",
        "--json",
    )
    assert figure.data["data"]["target"] == {"value": 30, "better": "higher", "status": "met"}
    write(".retinue/metrics.toml", '[source]\nfile = "orders.csv"\ndate = "dya"\n[metrics.sales]\nsql = "sum(net)"\n')
    wrong = retinue("ask", "metrics", "get_year_to_end_sales", "-p", "year=2024", "--json")
    assert wrong.code == 5
    assert "/metrics/sales/definition" in wrong.data["fault"]["path"]


@pytest.mark.requirement("P1", "P3", "C47")
def test_skills_and_the_generic_task_are_called_from_python() -> None:
    async def ask() -> tuple[package.Result, package.Result, package.Result]:
        registry = package.Registry([Metrics])
        async with package.InProcessEngine(package.workflows(registry)) as engine:
            orchestrator = package.Orchestrator(registry, engine)
            sales = package.Delegation(
                id="sales", agent="metrics", skill="get_year_to_end_sales", parameters={"year": 1997}
            )
            return (
                await orchestrator.gather([sales]),
                await orchestrator.run_task("metrics", instruction="what were the sales in 1997?"),
                await orchestrator.run_task("metrics", instruction="should we lower our prices?"),
            )

    typed, in_words, refused = asyncio.run(ask())
    assert typed.data["results"]["sales"]["value"] == 201224.82
    assert in_words.data["answer"][0]["skill"] == "get_year_to_end_sales"
    assert "201,224.82 USD" in in_words.content
    assert refused.outcome == "rejected"
    assert refused.fault is not None
    assert {"get_year_to_end_sales", "calculate_churn_q2_q3"} <= set(refused.fault.suggestions)
