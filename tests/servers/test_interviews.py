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
from tests.servers.mcp_parts import client_of
from tests.servers.parts import Server, message, running

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


async def result_of(server: Server, run: str) -> Any:
    result = await server.engine.result(run)
    assert result.fault is None, result.fault
    return result.data


def test_over_http_every_question_waits_for_its_answer(tmp_path: Path) -> None:
    async def main() -> Any:
        async with running(tmp_path, agents=(INTERVIEWER,)) as server:
            plant_tickets(tmp_path / "work")
            client = server.client_for("ada", effects=("read", "write"))
            begun = await client.post(SKILL, json=STORY, headers={"prefer": "respond-async"})
            assert begun.status_code == 202, begun.text
            place = begun.headers["location"]
            asked: list[str] = []
            for _ in range(len(ANSWERS["story"])):
                record = (await client.get(f"/runs/{run}")).json()
                assert record["lifecycle"] == "input_required"
                (question,) = record["questions"]
                asked.append(question_of(question["id"]))
                assert question["answer_schema" if question["kind"] == "question" else "options"]
                answer = {"value": ANSWERS["story"][asked[-1]].replace("\n", "\r\n"), "question_id": question["id"]}
                sent = await client.post(place, json=answer)
                assert sent.status_code in {200, 202}, sent.text
            assert asked == list(ANSWERS["story"])
            return await result_of(server, run)

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
            async with client_of(server, "2026-07-28", key=key, elicitation_callback=person) as client:
                name = next(tool.name for tool in (await client.list_tools()).tools if "story" in tool.name)
                called = await client.call_tool(name, STORY)
                assert not called.is_error, called
                return called.structured_content

    data = asyncio.run(main())
    assert len(asked) == len(ANSWERS["story"])
    assert data["ticket"]["text"] == at_once(tmp_path / "work")
