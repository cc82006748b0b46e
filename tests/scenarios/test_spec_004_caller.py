"""Spec 004, section 3, as a caller: the card first, then the skill, its failures told apart, never a blind fallback."""

import asyncio
import json
import sys
from collections.abc import Iterator

import pytest
from starlette.responses import JSONResponse, PlainTextResponse

import retinue as package
from tests.agents.remote.metrics_server import CARD, CHURN, SALES, TASKS, Metrics, served
from tests.agents.remote.servers import HONEST
from tests.scenarios.conftest import Ended, Retinue, Write


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def url(metrics: Metrics) -> Iterator[str]:
    with served(metrics.answer) as address:
        yield address


def moves(ended: Ended) -> list[str]:
    """What was decided, retried and ended, in order, from the events of a run."""
    words: list[str] = []
    for line in ended.out.splitlines():
        event = json.loads(line)
        if event.get("kind") == "decision":
            words.append(event["move"])
        elif event.get("kind") == "retried":
            words.append(f"retry {event['code']}")
    return words


@pytest.mark.requirement("P7", "P8", "P15")
def test_the_card_is_read_first_and_the_skill_is_called_and_nothing_else(
    retinue: Retinue, url: str, metrics: Metrics
) -> None:
    asked = retinue("ask", url, "get_year_to_end_sales", "-p", "year=2025", "--json")
    assert (asked.code, asked.data["data"]) == (0, {"sales": 125000.0}), asked.err
    assert metrics.paths == [CARD, CARD, SALES]  # of A2A there is no card, of spec 004 there is
    assert metrics.asked[-1] == ("POST", SALES, {"year": 2025})
    kept = retinue("runs", "show", "--json", "--events")
    assert kept.data["result"]["agent"] == "orchestrator" or kept.data["events"]


@pytest.mark.requirement("P7")
def test_what_a_stranger_offers_is_shown_before_it_is_called(retinue: Retinue, url: str, metrics: Metrics) -> None:
    shown = retinue("agents", url)
    assert shown.code == 0
    assert "get_year_to_end_sales  It says of itself: Sales from the start of a year to its end." in shown.out
    assert set(metrics.paths) == {CARD}


@pytest.mark.requirement("P8")
def test_a_parameter_that_does_not_fit_is_refused_here(retinue: Retinue, url: str, metrics: Metrics) -> None:
    asked = retinue("ask", url, "get_year_to_end_sales", "-p", "year=soon", "--json")
    assert (asked.code, asked.data["fault"]["code"]) == (2, "invalid_input")
    assert TASKS not in metrics.paths
    assert SALES not in metrics.paths


@pytest.mark.requirement("P9", "P10", "P15")
@pytest.mark.parametrize("failure", [503, 502, 500])
def test_a_failure_that_passes_is_tried_again(retinue: Retinue, url: str, metrics: Metrics, failure: int) -> None:
    metrics.failures[SALES] = [failure]
    asked = retinue("ask", url, "get_year_to_end_sales", "-p", "year=2025", "--jsonl")
    assert asked.code == 0, asked.err
    assert metrics.paths.count(SALES) == 2
    assert TASKS not in metrics.paths
    assert [word for word in moves(asked) if word.startswith("retry")] == [
        f"retry {'unavailable' if failure == 503 else 'network_error'}"
    ]


@pytest.mark.requirement("P9", "P11", "P13", "P14", "P15")
def test_a_refused_request_is_not_repeated_but_put_in_words(retinue: Retinue, url: str, metrics: Metrics) -> None:
    refusal = {"error": {"code": "invalid_input", "message": "There is no year 2025.", "path": "/parameters/year"}}
    metrics.failures[SALES] = [JSONResponse(refusal, 422)]
    asked = retinue("ask", url, "get_year_to_end_sales", "-p", "year=2025", "--jsonl")
    assert metrics.paths.count(SALES) == 1
    assert metrics.paths[-1] == TASKS
    said = metrics.asked[-1][2]["message"]["parts"][0]["text"]
    assert said == "get year to end sales"  # what was refused is not said again
    assert moves(asked)[-1] == "rephrase"
    assert asked.code == 0, asked.err


@pytest.mark.requirement("P10", "P12", "P13", "P14", "P15")
def test_a_skill_that_keeps_failing_is_left_and_the_goal_is_put_in_words(
    retinue: Retinue, url: str, metrics: Metrics
) -> None:
    metrics.failures[SALES] = [500] * 9
    asked = retinue("ask", url, "get_year_to_end_sales", "-p", "year=2025", "--jsonl")
    assert asked.code == 0, asked.err
    assert metrics.paths == [CARD, CARD, SALES, SALES, SALES, TASKS]
    assert metrics.asked[-1][2]["message"]["parts"][0]["text"] == "get year to end sales (year: 2025)"
    assert [word for word in moves(asked) if word != "pick"] == [
        "retry network_error", "retry network_error", "stop", "rephrase",
    ]  # fmt: skip


@pytest.mark.requirement("P13")
def test_where_nobody_answers_the_generic_endpoint_is_not_tried(retinue: Retinue, metrics: Metrics) -> None:
    with served(metrics.answer) as address:
        read = retinue("agents", address, "--json")
        assert read.code == 0
    asked = retinue("ask", address, "get_year_to_end_sales", "-p", "year=2025", "--json")
    assert asked.code == 4
    assert "127.0.0.1" in asked.error["message"]


@pytest.mark.requirement("P12", "P15")
def test_a_skill_that_failed_too_often_in_a_run_is_called_no_more(
    retinue: Retinue, write: Write, url: str, metrics: Metrics
) -> None:
    del metrics.card["endpoints"]["tasks"]
    metrics.failures[CHURN] = [500] * 20
    # Sales are asked one after the other, and after each of them the churn, which fails.
    sales = [
        {"id": f"s{at}", "skill": "get_year_to_end_sales", "needs": [f"s{at - 1}"] if at else []} for at in range(10)
    ]
    churn = [{"id": f"c{at}", "skill": "calculate_churn_q2_q3", "needs": [f"s{at}"]} for at in range(10)]
    common = {
        "agent": "metrics_there",
        "instruction": "tell it",
        "parameters": {"year": 2025},
        "limits": {"retries": 0},
    }
    plan = {"goal": "sales and churn", "nodes": [{**common, **node} for node in (*sales, *churn)]}
    write("plan.json", json.dumps(plan))
    ran = retinue("run", "--plan", "plan.json", "--jsonl", RETINUE_REMOTE_URLS=f"metrics_there={url}")
    assert {"open_circuit", "skip_call"} <= set(moves(ran)), ran.err
    assert metrics.paths.count(CHURN) < 10


@pytest.mark.requirement("P7", "P8", "P10", "P14")
def test_python_calls_it_alike(url: str, metrics: Metrics) -> None:
    metrics.failures[SALES] = [503]

    async def ask() -> tuple[package.Result, package.Result]:
        async with package.connect(metrics_there=url) as remote:
            registry = package.Registry(remote.agents)
            policy = package.Policy(first_wait_s=0.01)
            names = package.workflows(registry, boundary=package.Boundary(registry, policy=policy))
            async with package.InProcessEngine(names) as engine:
                orchestrator = package.Orchestrator(registry, engine)
                sales = package.Delegation(
                    id="s", agent="metrics_there", skill="get_year_to_end_sales", parameters={"year": 2025}
                )
                answer = await orchestrator.gather([sales])
            return answer, await package.call(remote.agents[0], "How did sales do?")

    gathered, called = asyncio.run(ask())
    assert gathered.data["results"]["s"] == {"sales": 125000.0}
    assert called.content == "Sales were 125,000."
    assert metrics.paths == [CARD, CARD, SALES, SALES, TASKS]


@pytest.mark.requirement("P9")
def test_a_page_of_html_in_place_of_an_answer_is_no_answer(retinue: Retinue, url: str, metrics: Metrics) -> None:
    del metrics.card["endpoints"]["tasks"]
    metrics.failures[SALES] = [PlainTextResponse("<html>Down for maintenance</html>")] * 3
    asked = retinue("ask", url, "get_year_to_end_sales", "-p", "year=2025", "--json")
    assert (asked.code, asked.data["fault"]["code"]) == (5, "output_invalid")


def test_a_key_goes_to_its_host_and_is_shown_nowhere(retinue: Retinue, url: str, metrics: Metrics) -> None:
    metrics.failures[SALES] = [JSONResponse({"detail": "You sent s3cret-of-ours"}, 403)]
    settings = {
        "RETINUE_REMOTE_URLS": f"sales={url}",
        "RETINUE_REMOTE_KEY_VARIABLE": "sales=SALES_KEY",
        "SALES_KEY": "s3cret-of-ours",
    }
    asked = retinue("ask", "sales", "get_year_to_end_sales", "-p", "year=2025", "--jsonl", **settings)
    assert asked.code == 5
    assert {each.get("authorization") for each in metrics.headers} == {"Bearer s3cret-of-ours"}
    shown = retinue("runs", "show", "--events", "--json")
    assert "answered with status 403" in asked.out + asked.err
    assert "s3cret-of-ours" not in asked.out + asked.err + shown.out
    unset = retinue("ask", "sales", "get_year_to_end_sales", "--json", **{**settings, "SALES_KEY": ""})
    assert (unset.code, "SALES_KEY" in unset.error["hint"]) == (3, True)


def test_a_goal_reaches_a_remote_agent_only_where_the_user_says_so(
    retinue: Retinue, url: str, metrics: Metrics
) -> None:
    metrics.card["capabilities"][0] |= {
        "name": "count_zebra_crossings",
        "description": "Counts the zebra crossings of all streets.",
        "input_schema": {"type": "object", "properties": {}},
        "output_schema": None,
    }
    goal, named = "count the zebra crossings", {"RETINUE_REMOTE_URLS": f"streets={url}"}
    retinue("run", goal, "--json", **named)
    assert metrics.paths == []
    routed = retinue("run", goal, "--json", **named, RETINUE_REMOTE_ROUTE="streets")
    assert metrics.paths[-1] == SALES, routed.err


def test_what_others_found_out_is_not_told_to_a_stranger_unless_the_plan_says_so(url: str, metrics: Metrics) -> None:
    @package.agent(effects=[])
    async def insider() -> dict[str, str]:
        """Knows a secret. Use when one is needed. Returns it."""
        return {"secret": "the-figures-of-next-year"}

    async def ask(level: str | None) -> str:
        async with package.connect(figures=url) as remote:
            registry = package.Registry([insider, *remote.agents])
            async with package.InProcessEngine(package.workflows(registry)) as engine:
                orchestrator = package.Orchestrator(registry, engine)
                context = {} if level is None else {"context": {"a": level}}
                await orchestrator.gather([
                    package.Delegation(id="a", agent="insider", skill="insider"),
                    package.Delegation.model_validate({
                        "id": "b", "agent": "figures", "skill": "tasks", "parameters": {"task": "sum it up"},
                        "needs": ("a",), **context,
                    }),
                ])  # fmt: skip
        return json.dumps(metrics.asked[-1][2])

    quiet = asyncio.run(ask(None))
    assert metrics.paths[-1] == TASKS
    assert "the-figures-of-next-year" not in quiet
    assert "the-figures-of-next-year" in asyncio.run(ask("full"))


def test_a_misspelt_name_of_a_remote_agent_is_told(retinue: Retinue, url: str, metrics: Metrics) -> None:
    asked = retinue("ask", "sails", "How did sales do?", "--json", RETINUE_REMOTE_URLS=f"sales={url}")
    assert (asked.code, asked.error["hint"], metrics.paths) == (2, "Did you mean `sales`?", [])


def test_goals_are_answered_without_a_remote_agent_that_is_not_there(
    retinue: Retinue, url: str, metrics: Metrics
) -> None:
    settings = {
        "RETINUE_REMOTE_URLS": f"sales={url},away=http://127.0.0.1:9/",
        "RETINUE_REMOTE_ROUTE": "sales,away,nobody",
    }
    ran = retinue("run", "Sales from the start of the year 2025 to its end", **settings)
    assert ran.code == 0, ran.err
    assert metrics.paths[-1] == SALES
    left_out = [line for line in ran.err.splitlines() if "is left out" in line]
    assert ["'nobody'" in left_out[0], "127.0.0.1:9" in left_out[1], len(left_out)] == [True, True, 2]
    named = retinue("run", "How did sales do?", "--agent", "away", **settings)
    assert (named.code, "127.0.0.1:9" in named.err) == (4, True)


def test_an_mcp_server_of_the_users_file_is_asked_by_its_name(retinue: Retinue, write: Write) -> None:
    pytest.importorskip("mcp")
    script = write("honest.py", f'{HONEST}\nserver.run("stdio")\n')
    servers = {"sums": {"command": sys.executable, "args": [str(script)]}, "old": {"type": "sse", "url": "http://x/"}}
    own = {"RETINUE_MCP_FILE": str(write("servers.json", json.dumps({"mcpServers": servers})))}
    assert "sums  mcp:sums" in retinue("agents", **own).out
    asked = retinue("ask", "sums", "add", "-p", "a=1", "-p", "b=2", "--json", **own)
    assert (asked.code, asked.data["data"]) == (0, {"result": 3}), asked.err
    wrong = retinue("ask", "sums", "add", "-p", "a=one", "-p", "b=2", "--json", **own)
    assert (wrong.code, wrong.data["fault"]["path"]) == (2, "/parameters/a")
    refused = retinue("ask", "old", "add", "--json", **own)
    assert (refused.code, "SSE" in refused.error["message"]) == (4, True)
