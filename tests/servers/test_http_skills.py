"""A route for each skill: parameters in, output out, and a status for all that can be wrong (P3 to P6, C2)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.port import RunContext
from retinue.agents.python import agent, skill
from retinue.contract.event import NodeFinished
from retinue.errors import Unavailable
from tests.agents.prompted.given import helper, scripted
from tests.servers.a2a_parts import URN, call, request
from tests.servers.mcp_parts import client_of
from tests.servers.parts import SECRET, running


@pytest.mark.requirement("P3", "P6")
def test_a_skill_answers_on_its_own_route(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            response = await server.client.post("/agents/general/greet/greet", json={"name": "Ada"})
            assert (response.status_code, response.json()) == (200, {"value": "Hello, Ada"})
            run = (await server.client.get(f"/runs/{response.headers['retinue-run']}")).json()
            assert (run["outcome"], run["result"]["data"]) == ("success", "Hello, Ada")
            for path in ("/agents/house/desk/count-up", "/agents/house/desk/count_up", "/agents/house/desk/count-up/"):
                assert (await server.client.get(path, params={"number": "7"})).json() == {"number": 7}
                assert (await server.client.post(path, json={"number": 7})).json() == {"number": 7}

    asyncio.run(main())


@pytest.mark.requirement("P9", "C2")
def test_what_is_wrong_has_its_status_and_says_what_would_fit(tmp_path: Path) -> None:
    cases: list[tuple[str, str, dict[str, Any], int, str, str]] = [
        ("POST", "/agents/general/greet/greet", {"json": {"name": 7}}, 422, "invalid_input", "/parameters/name"),
        ("POST", "/agents/general/greet/greet", {"json": {}}, 422, "invalid_input", "/parameters"),
        ("POST", "/agents/general/greet/greet", {"json": {"name": "a", "x": 1}}, 422, "invalid_input", "/parameters/x"),
        ("POST", "/agents/general/greet/greet", {"json": [1]}, 422, "invalid_input", ""),
        (
            "GET",
            "/agents/house/desk/count-up",
            {"params": {"number": "many"}},
            422,
            "invalid_input",
            "/parameters/number",
        ),
        ("GET", "/agents/house/desk/count-up?number=1&number=2", {}, 422, "invalid_input", ""),
        ("POST", "/agents/general/scribe/scribe", {"json": {"text": "x"}}, 403, "access_denied", ""),
        ("POST", "/agents/general/greet/wave", {"json": {}}, 404, "invalid_input", "/skill"),
        ("POST", "/agents/general/nobody/greet", {"json": {}}, 404, "invalid_input", "/name"),
        ("POST", "/agents/house/greet/greet", {"json": {}}, 404, "invalid_input", "/agent"),
        ("GET", "/agents/general/greet/greet", {}, 405, "invalid_input", ""),
        ("PUT", "/agents/house/desk/count-up", {"json": {}}, 405, "invalid_input", ""),
        ("GET", "/nothing", {}, 404, "invalid_input", ""),
    ]

    async def main() -> None:
        async with running(tmp_path) as server:
            for method, path, given, status, code, place in cases:
                response = await server.client.request(method, path, **given)
                error = response.json()["error"]
                assert (response.status_code, error["code"]) == (status, code), (path, given, error)
                assert error["message"]
                assert error.get("path", "") in (place, ""), (path, error)
            assert (await server.client.get("/agents/general/greet/greet")).headers["allow"] == "POST"

    asyncio.run(main())


def test_what_an_exception_says_is_kept_from_the_caller_and_not_from_the_operator(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            response = await server.client.post("/agents/general/greet/greet", json={"name": "boom"})
            run = response.headers["retinue-run"]
            assert response.status_code == 500
            told = [response.text, (await server.client.get(f"/runs/{run}")).text]
            told.append((await server.client.get(f"/runs/{run}/events")).text)
            told.append((await server.client.get(f"/agents/general/greet/tasks/{run}/events")).text)
            for text in told:
                assert "hunter2" not in text
                assert "ValueError" not in text
                assert run in text
            results = [
                event.body.result async for event in server.engine.events(run) if isinstance(event.body, NodeFinished)
            ]
            assert any(result.fault is not None and SECRET in result.fault.message for result in results)

    asyncio.run(main())


def test_a_skill_that_takes_long_is_answered_at_once_with_its_task(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            wish = {"prefer": "wait=1, respond-async"}
            response = await server.client.post("/agents/general/sleeper/sleeper", json={"seconds": 0.05}, headers=wish)
            assert (response.status_code, response.json()["status"]["state"]) == (202, "working")
            await server.engine.result(response.headers["retinue-run"])
            record = (await server.client.get(response.headers["location"])).json()
            assert record["status"]["state"] == "completed"
            assert record["response_message"]["parts"][-1] == {"type": "data", "data": "awake"}

    asyncio.run(main())


def test_the_run_of_a_caller_who_went_away_is_canceled(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            asking = asyncio.create_task(server.client.post("/agents/general/sleeper/sleeper", json={"seconds": 60}))
            while not (records := await server.engine.list()):  # noqa: ASYNC110 - another client starts it
                await asyncio.sleep(0.01)
            asking.cancel()
            result = await asyncio.wait_for(server.engine.result(records[0].run), 10)
            assert result.outcome == "canceled"

    asyncio.run(main())


def test_one_key_is_one_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            path, key = "/agents/general/greet/greet", {"idempotency-key": "order-7"}
            first = await server.client.post(path, json={"name": "Ada"}, headers=key)
            again = await server.client.post(path, json={"name": "Ada"}, headers=key)
            assert first.json() == again.json()
            assert first.headers["retinue-run"] == again.headers["retinue-run"]
            other = await server.client.post(path, json={"name": "Eve"}, headers=key)
            assert other.status_code == 409
            assert "order-7" in other.json()["error"]["message"]
            assert len(await server.engine.list()) == 1
            counted = (await server.client.get("/metrics")).text
            assert 'retinue_runs_total{agent="greet",door="http",outcome="success"} 1.0' in counted
            # Nor does it take another of the runs that a key may have at once.
            ada = server.client_for("ada", concurrent=1)
            slow, deferred = "/agents/general/sleeper/sleeper", {**key, "prefer": "respond-async"}
            begun = await ada.post(slow, json={"seconds": 60}, headers=deferred)
            same = await ada.post(slow, json={"seconds": 60}, headers=deferred)
            assert (same.status_code, same.headers["location"]) == (202, begun.headers["location"])
            await ada.delete(begun.headers["location"])

    asyncio.run(main())


@agent
class Weather:
    """Knows the weather."""

    @skill(effects=[])
    async def forecast(self) -> str:
        """Looks it up elsewhere. Use for the weather. Returns it."""
        raise Unavailable("The station is down.", hint="Ask later.", retry_after_s=90.4)

    @skill(effects=[], timeout_s=0.05)
    async def climate(self, run: RunContext) -> str:
        """Looks far back. Use for the climate. Returns it."""
        await run.sleep(60)
        return "mild"


@pytest.mark.slow
@pytest.mark.requirement("C2")
@pytest.mark.parametrize(
    ("name", "status", "code", "wait"), [("forecast", 503, "unavailable", "91"), ("climate", 504, "timeout", None)]
)
def test_a_skill_that_is_down_or_too_slow_is_told_with_one_code_by_all_doors(
    tmp_path: Path, name: str, status: int, code: str, wait: str | None
) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=(Weather,)) as server:
            path = "/agents/general/weather"
            response = await server.client.post(f"{path}/{name}", json={})
            assert (response.status_code, response.json()["error"]["code"]) == (status, code)
            assert response.headers.get("retry-after") == wait
            answer = await call(server, "SendMessage", request("Now", block={"skill": name}), at=f"{path}/a2a")
            task = answer["result"]["task"]
            assert task["status"]["state"] == "TASK_STATE_FAILED"
            assert task["metadata"][URN]["fault"]["code"] == code
            async with client_of(server, "legacy") as client:
                result = await client.call_tool(f"weather__{name}", {})
            assert result.is_error
            assert result.structured_content is not None
            assert result.structured_content["error"]["code"] == code
            runs = await server.engine.list()
            assert [each.labels["door"] for each in runs] == ["mcp", "a2a", "http"]
            assert {each.outcome for each in runs} == {"failed"}

    asyncio.run(main())


def test_the_conversation_of_an_agent_with_its_model_is_recorded_and_not_told(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=(helper(scripted("Good day.", usd_per_million=0.0)),)) as server:
            response = await server.client.post("/agents/general/helper/helper", json={"task": "Greet"})
            run = response.headers["retinue-run"]
            kinds = [event.kind async for event in server.engine.events(run)]
            told = (await server.client.get(f"/runs/{run}/events")).text
            assert "turns" in kinds
            assert "event: usage" in told
            assert "event: turns" not in told

    asyncio.run(main())
