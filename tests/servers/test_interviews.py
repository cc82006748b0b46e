"""An interview over the doors: each question comes as one that waits, and the ticket is the same by every way (G15)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import types

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue.requirements_interviewer import RequirementsInterviewer
from retinue.contract.task import Task
from retinue.servers.keys import ApiKey
from retinue.tools.workspace import Workspace
from tests.catalogue.interviews import ANSWERS, plant_tickets, question_of
from tests.servers.a2a_parts import client_of as a2a_client_of, proto_request, send
from tests.servers.mcp_parts import client_of
from tests.servers.parts import running

SKILL = "/agents/planning/requirements_interviewer/story"
STORY = {"target": "EPIC-0001.1"}
INTERVIEWER = getattr(RequirementsInterviewer, "bind")()  # noqa: B009 - what the decorator adds

pytestmark = pytest.mark.requirement("G15")


def at_once(root: Path) -> str:
    """The ticket of somebody who gives all answers in one call, without any server."""
    task = Task(
        id="t", agent="requirements_interviewer", skill="story", parameters={**STORY, "answers": ANSWERS["story"]}
    )
    call = Boundary(Registry([INTERVIEWER])).call(task, LocalContext(workspace=Workspace(root)))
    data: Any = asyncio.run(call).data
    return data["ticket"]["text"]


def test_over_http_every_question_waits_for_its_answer(tmp_path: Path) -> None:
    async def main() -> Any:
        async with running(tmp_path, agents=(INTERVIEWER,)) as server:
            plant_tickets(tmp_path / "work")
            client = server.client_for("ada", effects=("read", "write"))
            begun = await client.post(SKILL, json=STORY)
            assert begun.status_code == 202, begun.text
            record, place = begun.json(), begun.headers["location"]
            asked: list[str] = []
            while record["status"]["state"] == "working":
                if "questions" not in record["metadata"]:  # the agent is at work
                    record = (await client.get(place)).json()
                    continue
                (question,) = record["metadata"]["questions"]
                asked.append(question_of(question["id"]))
                answer = {"value": ANSWERS["story"][asked[-1]].replace("\n", "\r\n"), "question_id": question["id"]}
                record = (await client.post(place, json=answer)).json()
            assert asked == list(ANSWERS["story"])
            return (await server.engine.result(record["id"])).data

    data = asyncio.run(main())
    assert data["completeness"]["target_met"]
    assert data["ticket"]["text"] == at_once(tmp_path / "work")


def test_over_mcp_a_person_is_asked_by_the_client(tmp_path: Path) -> None:
    asked: list[str] = []

    async def person(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        del context
        assert isinstance(params, types.ElicitRequestFormParams)
        name = list(ANSWERS["story"])[len(asked)]
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"value": ANSWERS["story"][name]})

    async def main() -> Any:
        async with running(tmp_path, agents=(INTERVIEWER,)) as server:
            plant_tickets(tmp_path / "work")
            key = server.keys.add(ApiKey(name="ada", effects=("read", "write")))
            async with client_of(
                server, "2026-07-28", key=key, elicitation_callback=person, input_required_max_rounds=40
            ) as client:
                name = next(tool.name for tool in (await client.list_tools()).tools if "story" in tool.name)
                called = await client.call_tool(name, STORY)
                assert not called.is_error, called
                return called.structured_content

    data = asyncio.run(main())
    assert len(asked) == len(ANSWERS["story"])
    assert data["ticket"]["text"] == at_once(tmp_path / "work")


def test_over_a2a_every_answer_is_a_further_message(tmp_path: Path) -> None:
    async def main() -> Any:
        async with running(tmp_path, agents=(INTERVIEWER,)) as server:
            plant_tickets(tmp_path / "work")
            http = server.client_for("ada", effects=("read", "write"))
            client = await a2a_client_of(server, at=SKILL.rpartition("/")[0], http=http, streaming=False)
            (answer,) = await send(client, proto_request(None, STORY, block={"skill": "story"}))
            for text in ANSWERS["story"].values():
                assert answer["task"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
                (answer,) = await send(client, proto_request(text, taskId=answer["task"]["id"]))
            return answer["task"]

    task = asyncio.run(main())
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    (data,) = [part["data"] for each in task["artifacts"] for part in each["parts"] if "data" in part]
    assert data["ticket"]["text"] == at_once(tmp_path / "work")
