"""Tasks over HTTP: routed, followed, answered, canceled, and found again (P1, P2, P17 to P21, C47)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.module import load_module
from retinue.contract.task import Task
from retinue.dialects import markdown_json, task_signal
from retinue.dialects.port import Dialect
from tests.servers.parts import asker, events_of, greet, message, planner, running

TASKS = "/agents/general/{}/tasks"


@pytest.mark.requirement("P1", "C47")
def test_a_task_in_words_is_routed_among_the_skills_of_its_agent(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            response = await server.client.post("/agents/house/desk/tasks", json=message("let some air in"))
            record = response.json()
            assert (response.status_code, record["status"]["state"]) == (200, "completed")
            assert record["response_message"]["parts"][-1]["data"] == "opened"
            refused = await server.client.post("/agents/house/desk/tasks", json=message("paint the ceiling"))
            record = refused.json()
            assert (refused.status_code, record["metadata"]["outcome"]) == (422, "rejected")
            assert "window" in refused.text
            assert "count_up" in refused.text

    asyncio.run(main())


@pytest.mark.requirement("P17", "P18")
def test_a_task_is_found_by_its_callers_id_and_by_ours_and_never_overwritten(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            body = message(data={"name": "Ada"}, id="t1", session_id="s1")
            first = await server.client.post(TASKS.format("greet"), json=body)
            record = first.json()
            assert record["session_id"] == "s1"
            assert record["request_message"] == body["message"]
            assert record["created_at"] <= record["updated_at"]
            for name in ("t1", record["id"]):
                found = await server.client.get(f"{TASKS.format('greet')}/{name}")
                assert (found.status_code, found.json()) == (200, record)
            assert (await server.client.get(f"{TASKS.format('asker')}/{record['id']}")).status_code == 404
            again = await server.client.post(TASKS.format("greet"), json=body)
            assert again.json() == record
            other = await server.client.post(TASKS.format("greet"), json=message(data={"name": "Eve"}, id="t1"))
            assert other.status_code == 409
            canceled = await server.client.delete(f"{TASKS.format('greet')}/t1")
            assert canceled.json() == record

    asyncio.run(main())


@pytest.mark.requirement("P18")
def test_a_task_is_canceled(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            body = message(data={"seconds": 60})
            begun = await server.client.post(TASKS.format("sleeper"), json=body, headers={"prefer": "respond-async"})
            assert begun.status_code == 202
            place = begun.headers["location"]
            assert (await server.client.get(place)).json()["status"]["state"] == "working"
            assert (await server.client.delete(place)).json()["status"]["state"] == "canceled"
            assert (await server.client.get(place)).json()["status"]["state"] == "canceled"

    asyncio.run(main())


@pytest.mark.parametrize("answer", [{"value": "nice"}, {"value": "nice", "question_id": "n1.q"}, message("nice")])
def test_a_question_goes_to_whoever_started_the_task(tmp_path: Path, answer: dict[str, Any]) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            begun = await server.client.post(TASKS.format("asker"), json=message(data={"topic": "rain"}))
            assert (begun.status_code, begun.json()["status"]) == (
                202,
                {"state": "working", "message": "What of rain?"},
            )
            place = begun.headers["location"]
            wrong = await server.client.post(place, json={"value": "nice", "question_id": "other"})
            assert (wrong.status_code, wrong.json()["error"]["suggestions"]) == (422, ["n1.q"])
            ended = await server.client.post(place, json=answer)
            assert (ended.status_code, ended.json()["response_message"]["parts"][0]["text"]) == (200, "You said nice")
            late = await server.client.post(place, json={"value": "nice"})
            assert late.status_code == 422

    asyncio.run(main())


def test_a_question_that_is_not_answered_fails_in_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, answer_timeout_s=0.05) as server:
            begun = await server.client.post(TASKS.format("asker"), json=message(data={"topic": "rain"}))
            await server.engine.result(begun.json()["id"])
            error = (await server.client.get(begun.headers["location"])).json()["metadata"]["error"]
            assert (error["code"], error["detail"]["bound"]) == ("timeout", "question")

    asyncio.run(main())


def test_an_approval_is_for_an_operator(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            operator = server.client_for("boss", approve=True)
            begun = await server.client.post(
                TASKS.format("deleter"), json=message(data={"what": "all"}), headers={"prefer": "respond-async"}
            )
            place, run = begun.headers["location"], begun.json()["id"]
            while not (waiting := (await operator.get("/approvals")).json()["approvals"]):  # noqa: ASYNC110 - as a client
                await asyncio.sleep(0.01)
            assert (waiting[0]["run"], waiting[0]["question"]["text"]) == (run, "May I delete all?")
            own = await server.client.post(place, json={"value": True, "question_id": "n1.ok"})
            assert (own.status_code, own.json()["error"]["code"]) == (403, "access_denied")
            assert (await server.client.get(place)).json()["status"] == {"state": "working"}
            assert (await server.client.get("/approvals")).status_code == 403
            body = {"value": True, "question_id": "n1.ok"}
            assert (await operator.post(f"/runs/{run}/answers", json=body)).status_code == 200
            result = await server.engine.result(run)
            assert result.data == "allowed: True"
            events = [event async for event in server.engine.events(run)]
            assert "key:boss" in str(events)
            assert (await operator.get(f"/runs/{run}")).status_code == 404  # to approve is not to look
            asking = (await server.client.post(TASKS.format("asker"), json=message(data={"topic": "rain"}))).json()[
                "id"
            ]
            meddling = await operator.post(f"/runs/{asking}/answers", json={"value": "x", "question_id": "n1.q"})
            assert meddling.status_code == 422  # nor to answer what only the caller is asked
            assert (await server.client.get(f"/runs/{asking}")).json()["lifecycle"] == "input_required"

    asyncio.run(main())


def test_an_approval_that_nobody_gives_is_denied(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, approval_timeout_s=0.05) as server:
            begun = await server.client.post(TASKS.format("deleter"), json=message(data={"what": "all"}))
            assert (begun.status_code, begun.json()["status"]) == (202, {"state": "working"})
            assert (await server.engine.result(begun.json()["id"])).data == "allowed: False"

    asyncio.run(main())


@pytest.mark.requirement("P19")
def test_the_events_of_a_task(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            good = (await server.client.post(TASKS.format("greet"), json=message(data={"name": "Ada"}))).json()["id"]
            bad = (await server.client.post(TASKS.format("greet"), json=message(data={"name": "boom"}))).json()["id"]
            for run, kinds in ((good, ["content", "eos"]), (bad, ["error", "eos"])):
                events = events_of((await server.client.get(f"{TASKS.format('greet')}/{run}/events")).text)
                assert [event["event"] for event in events] == kinds
                assert json.loads(events[-1]["data"])["id"] == run
            begun = await server.client.post(TASKS.format("asker"), json=message(data={"topic": "rain"}))
            async with server.client.stream("GET", f"{begun.headers['location']}/events") as stream:
                lines = stream.aiter_lines()
                assert await anext(lines) == "event: info"
                await server.client.post(begun.headers["location"], json={"value": "nice"})
                rest = [line async for line in lines]
            assert "event: eos" in rest

    asyncio.run(main())


def test_the_events_of_a_run_go_on_where_its_reader_stopped(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            run = (await server.client.post(TASKS.format("greet"), json=message(data={"name": "Ada"}))).json()["id"]
            whole = events_of((await server.client.get(f"/runs/{run}/events")).text)
            assert (whole[0]["event"], whole[-1]["event"]) == ("started", "finished")
            for place in range(len(whole)):
                last = {"last-event-id": whole[place]["id"]}
                assert (
                    events_of((await server.client.get(f"/runs/{run}/events", headers=last)).text) == whole[place + 1 :]
                )
            after = await server.client.get(f"/runs/{run}/events", params={"after": whole[0]["id"]})
            assert events_of(after.text) == whole[1:]
            assert (await server.client.get(f"/runs/{run}/events", params={"after": "x"})).status_code == 422

    asyncio.run(main())


def test_the_events_of_a_run_are_those_of_its_child_runs_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=(planner, greet)) as server:
            run = (await server.client.post(TASKS.format("planner"), json=message(data={"name": "Ada"}))).json()["id"]
            whole = events_of((await server.client.get(f"/runs/{run}/events")).text)
            runs = {json.loads(event["data"])["run"] for event in whole}
            assert len(runs) == 2
            assert json.loads(whole[-1]["data"])["run"] == run
            for place in range(len(whole)):
                last = {"last-event-id": whole[place]["id"]}
                rest = events_of((await server.client.get(f"/runs/{run}/events", headers=last)).text)
                assert rest == whole[place + 1 :]
            wrong = events_of((await server.client.get(f"/runs/{run}/events", params={"after": "3,2:1"})).text)
            assert wrong[-1]["event"] == "error"

    asyncio.run(main())


def test_a_question_of_a_child_run_reaches_its_caller(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=(planner, asker)) as server:
            begun = await server.client.post(TASKS.format("planner"), json=message(data={"name": "rain"}))
            assert (begun.status_code, begun.json()["status"]["message"]) == (202, "What of rain?")
            ended = await server.client.post(begun.headers["location"], json={"value": "wet"})
            assert (ended.status_code, "You said wet" in ended.text) == (200, True)

    asyncio.run(main())


@pytest.mark.requirement("P21")
def test_an_answer_is_rated(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            run = (await server.client.post(TASKS.format("greet"), json=message(data={"name": "Ada"}))).json()["id"]
            rating = {"verdict": "bad", "comment": "too short"}
            assert (await server.client.post(f"/runs/{run}/rating", json=rating)).status_code == 200
            assert server.engine.journal is not None
            kept = server.engine.journal.rating(run)
            assert (kept and (kept.verdict, kept.comment)) == ("bad", "too short")
            for wrong in ({"verdict": "fine"}, {"verdict": "good", "comment": 7}, {"verdict": "good", "x": 1}, {}):
                assert (await server.client.post(f"/runs/{run}/rating", json=wrong)).status_code == 422

    asyncio.run(main())


def test_a_file_that_an_answer_names_is_handed_out(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            writer = server.client_for("writer", effects=("read", "write"))
            run = (await writer.post("/agents/general/scribe/scribe", json={"text": "Dear"})).headers["retinue-run"]
            file = await writer.get(f"/runs/{run}/artifacts/0")
            assert (file.status_code, file.text) == (200, "Dear")
            assert file.headers["content-disposition"] == 'attachment; filename="note.txt"'
            assert (await writer.get(f"/runs/{run}/artifacts/1")).status_code == 404
            await writer.post("/agents/general/scribe/scribe", json={"text": "Other"})
            assert (await writer.get(f"/runs/{run}/artifacts/0")).status_code == 404  # it holds something else by now
            assert (await server.client.get(f"/runs/{run}/artifacts/0")).status_code == 404

    asyncio.run(main())


def test_runs_are_listed_a_page_at_a_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            for number in range(5):
                await server.client.post(TASKS.format("greet"), json=message(data={"name": str(number)}))
            await server.client.post(TASKS.format("sleeper"), json=message(data={"seconds": 0}))
            names: list[str] = []
            after = ""
            while True:
                page = (await server.client.get("/runs", params={"limit": "2", "after": after})).json()
                names += [run["run"] for run in page["runs"]]
                if not (after := page.get("after", "")):
                    break
            assert len(set(names)) == 6
            assert len((await server.client.get("/runs", params={"agent": "sleeper"})).json()["runs"]) == 1
            assert len((await server.client.get("/runs", params={"label.agent": "greet"})).json()["runs"]) == 5
            for wrong in ({"limit": "0"}, {"limit": "x"}, {"outcome": "fine"}, {"after": "x"}):
                assert (await server.client.get("/runs", params=wrong)).status_code == 422

    asyncio.run(main())


MODULE = """
async def run_agent(prompt, chat_history=None, memory=None, config=None):
    return {"content": f"{prompt} {chat_history} {memory} {config}", "response_time_secs": 0.1, "traces": []}
"""


@pytest.mark.requirement("B15", "B17")
def test_run_agent_asks_the_active_module_with_all_that_came(tmp_path: Path) -> None:
    (tmp_path / "hearer.py").write_text(MODULE)
    module = load_module(Path("hearer.py"), root=tmp_path)

    async def main() -> None:
        async with running(tmp_path, agents=(module,), active=module.definition.name) as server:
            refused = await server.client.post("/run_agent", json={"prompt": "Ada"})
            assert (refused.status_code, "effects" in refused.text) == (403, True)  # it does not say what it touches
            host = server.client_for("host", effects=("read", "write", "network"))
            for body, content in [
                ({"prompt": "Ada", "chat_history": "user: Hi", "memory": "rain"}, "Ada user: Hi rain None"),
                ({"prompt": "Ada", "config": {"tool_root": "x"}}, "Ada None None {'tool_root': 'x'}"),
            ]:
                response = await host.post("/run_agent", json=body)
                assert (response.status_code, response.json()["content"]) == (200, content)
                assert response.json().keys() >= {"content", "response_time_secs", "traces"}
            for wrong in ({}, {"prompt": 7}, {"prompt": "Ada", "config": {"domain_timeout_secs": "soon"}}):
                refused = await host.post("/run_agent", json=wrong)
                assert refused.status_code == 422

    asyncio.run(main())


def test_run_agent_without_an_active_module_is_a_goal_for_all(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            body = {"prompt": "let some air in", "chat_history": "user: Hi", "memory": "rain"}
            answer = (await server.client.post("/run_agent", json=body)).json()
            assert "opened" in answer["content"]
            assert "not used" in str(answer["warnings"])

    asyncio.run(main())


@pytest.mark.parametrize(("media_type", "dialect"), [("text/markdown", markdown_json), ("text/plain", task_signal)])
def test_a_message_of_another_dialect_is_answered_in_it(tmp_path: Path, media_type: str, dialect: Dialect) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            text = dialect.render_task(Task(id="t", agent="desk", skill="window", instruction="open it")).text
            path, kind = "/agents/house/desk/message", {"content-type": f"{media_type}; charset=utf-8"}
            response = await server.client.post(path, content=text, headers=kind)
            assert response.status_code == 200, response.text
            assert response.headers["content-type"].startswith(media_type)
            assert "opened" in response.text
            assert (await server.client.post(path, json={})).status_code == 415
            other = dialect.render_task(Task(id="t", agent="greet", skill="greet", instruction="open it")).text
            assert (await server.client.post(path, content=other, headers=kind)).status_code == 422

    asyncio.run(main())


@pytest.mark.requirement("P2", "P4", "P5", "P7", "C28")
def test_the_cards_say_every_route_and_each_one_answers(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            whole = (await server.client.get("/.well-known/agent.json")).json()
            assert whole["endpoints"] == {"tasks": "/tasks", "run_agent": "/run_agent"}
            assert [one["name"] for one in whole["capabilities"]] == [
                "asker", "deleter", "window", "count_up", "greet", "scribe", "sleeper"
            ]  # fmt: skip
            for one in whole["capabilities"]:
                assert one.keys() >= {"name", "description", "endpoint", "method", "input_schema"}
                answer = await server.client.request(one["method"], one["endpoint"], json={"no such": "field"})
                assert answer.status_code in {422, 403}
            card = (await server.client.get("/agents/house/desk/.well-known/agent.json")).json()
            assert card["endpoints"] == {"tasks": "/agents/house/desk/tasks"}
            assert [one["name"] for one in card["capabilities"]] == ["window", "count_up"]
            goal = await server.client.post(whole["endpoints"]["tasks"], json=message("let some air in"))
            assert (goal.status_code, goal.json()["status"]["state"]) == (200, "completed")
            assert "opened" in goal.text

    asyncio.run(main())
