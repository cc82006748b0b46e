"""How a body is read, an answer waited for and written, by the door of spec 004."""

import asyncio
import math
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from retinue.contract import json
from retinue.contract.event import QuestionAsked
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.dialects import agent_http
from retinue.engine.base import RunRecord
from retinue.errors import InvalidInput, ParseError
from retinue.orchestration.follow import follow_run
from retinue.servers.admission import Caller
from retinue.servers.errors import JSON, HttpError
from retinue.servers.guard import MAX_BODY, MAX_DEPTH
from retinue.servers.requests import check_type, timestamp
from retinue.servers.service import LONGEST_S, Service

DOOR: Final = "http"

RUN_HEADER: Final = "retinue-run"
"""The header of every answer that a run stands behind."""


async def read_json(request: Request) -> JsonValue:
    """The body, read strictly.

    Raises:
        HttpError: It is of another type: 415; or no JSON: 400.
    """
    check_type(request, JSON)
    try:
        return json.loads(await request.body(), max_bytes=MAX_BODY, max_depth=MAX_DEPTH)
    except ParseError as error:
        raise HttpError(400, error) from None


async def json_body(request: Request) -> JsonObject:
    """The body, a JSON object.

    Raises:
        HttpError: See `read_json`.
        InvalidInput: It is JSON, and no object.
    """
    value = await read_json(request)
    if not isinstance(value, dict):
        raise InvalidInput("The body is a JSON object.", hint="Send `{…}`.")
    return value


def is_deferred(request: Request, timeout_s: float | None = None) -> bool:
    """Whether the caller wants no answer but the task (RFC 7240), or the skill takes longer than a caller waits."""
    preferences = ",".join(request.headers.getlist("prefer")).lower().split(",")
    return any(each.split(";")[0].strip() == "respond-async" for each in preferences) or (timeout_s or 0) > LONGEST_S


async def wait_for_result(service: Service, request: Request, caller: Caller, run: str, *, cancel: bool) -> Result:
    """What a run has come to, or what it asks its caller.

    Args:
        service: Where it runs.
        request: Whoever waits.
        caller: The same, as admitted.
        run: The run.
        cancel: The run is canceled when its caller goes away; otherwise it goes on.
    """

    async def follow() -> None:
        async with aclosing(follow_run(service.engine, run)) as events:
            async for each in events:
                # One that still waits: also what an operator must approve, which takes its time.
                if isinstance(each.event.body, QuestionAsked) and await service.engine.questions(run):
                    return

    waiting, leaving = asyncio.ensure_future(follow()), asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if cancel and not waiting.done():
            await service.engine.cancel(run, reason="The client went away.")
    finally:
        waiting.cancel()
        leaving.cancel()
    return await service.state(await service.find(caller, run))


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """A result as a door of spec 004 answers it.

    Attributes:
        location: Where the task stands.
        record: Of its run.
        task: What was asked.
    """

    result: Result
    run: str
    location: str
    record: RunRecord | None = None
    task: Task | None = None

    def response(self, form: str) -> Response:
        """The answer: `task` for its record, `skill` for the bare output."""
        result, record = self.result, self.record
        status = agent_http.status_of(result)
        headers = {RUN_HEADER: self.run}
        if status == 202:
            headers |= {"location": self.location, "retry-after": "1"}
        elif result.fault is not None and status in {429, 503}:
            headers["retry-after"] = str(math.ceil(result.fault.retry_after_s or 1))
        if form == "task" and record is not None:
            moments: dict[str, object] = {"created_at": timestamp(record.started_ns)}
            if record.ended_ns is not None:
                moments["updated_at"] = timestamp(record.ended_ns)
            if (task := self.task) is not None:
                data = [task.parameters] if task.parameters else []
                text = task.instruction if task.instruction or not data else None
                moments["request_message"] = agent_http.build_message("user", text, data)
            if session := record.labels.get("context"):
                moments["session_id"] = session
            result = result.model_copy(update={"extras": {agent_http.NAME: moments}})
        try:
            text = agent_http.render_result(result, form=form).text
        except InvalidInput:  # an output that looks like an error or a record can only be told in a record
            text = agent_http.render_result(result, form="task").text
        return Response(text, status, headers, media_type=JSON)
