"""The runs of a caller: listed, shown, followed, canceled, rated, and their files handed out."""

import re
import time
from collections.abc import AsyncGenerator
from typing import Any, Final, cast, get_args

from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Lifecycle, Outcome
from retinue.engine.base import RunFilter, RunRecord
from retinue.engine.statistics import Rating, Verdict
from retinue.errors import InvalidInput
from retinue.orchestration.follow import RunCursor
from retinue.servers.admission import Caller
from retinue.servers.errors import JSON
from retinue.servers.http.answers import json_body
from retinue.servers.requests import SEND_TIMEOUT_S, timestamp
from retinue.servers.service import Service

_MOST: Final = 200
_LONGEST_COMMENT: Final = 2_000
_MOST_BYTES: Final = 64 * 2**20
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9.+-]{1,60}/[A-Za-z0-9.+-]{1,60}")


async def list_runs(service: Service, request: Request, caller: Caller) -> Response:
    """GET `/runs`: the newest first, a page at a time."""
    query = request.query_params
    limit = query.get("limit", "50")
    if not (limit.isascii() and limit.isdecimal() and 1 <= int(limit[:9]) <= _MOST):
        raise InvalidInput(f"`limit` is a count of 1 to {_MOST}.", path="/limit")
    for name, words in (("lifecycle", get_args(Lifecycle)), ("outcome", get_args(Outcome))):
        if query.get(name) not in (None, *words):
            raise InvalidInput(f"`{name}` is one of {', '.join(words)}.", path=f"/{name}", suggestions=words)
    where = RunFilter(
        owner=caller.owner,
        labels={name.removeprefix("label."): query[name] for name in query if name.startswith("label.")},
        lifecycle=cast("Lifecycle | None", query.get("lifecycle")),
        outcome=cast("Outcome | None", query.get("outcome")),
        agent=query.get("agent"),
        text=query.get("text", ""),
        after=query.get("after", ""),
    )
    records = await service.engine.list(limit=int(limit) + 1, where=where)
    page = records[: int(limit)]
    body: JsonMapping = {"runs": [record_json(each) for each in page]}
    if len(records) > len(page):
        body["after"] = page[-1].cursor
    return _json(body)


async def show_run(service: Service, request: Request, caller: Caller) -> Response:
    """GET `/runs/{id}`: its record, and what it is at or has come to."""
    record = await _find(service, request, caller)
    return _json({**record_json(record), "result": (await service.state(record)).to_json()})


async def cancel_run(service: Service, request: Request, caller: Caller) -> Response:
    """DELETE `/runs/{id}`: cancel it. One that has ended stays as it is."""
    await service.cancel(await _find(service, request, caller))
    return await show_run(service, request, caller)


async def follow_run(service: Service, request: Request, caller: Caller) -> Response:
    """GET `/runs/{id}/events`: everything that happens in it, as server-sent events."""
    record = await _find(service, request, caller)
    after = RunCursor.parse(request.headers.get("last-event-id") or request.query_params.get("after") or "0")

    async def lines() -> AsyncGenerator[dict[str, str]]:
        try:
            async for each in service.events(record.run, after=after):
                yield {"id": str(each.cursor), "event": each.event.kind, "data": json.dumps(each.event.to_json())}
        except InvalidInput as error:  # a cursor of another run, which shows only now
            yield {"event": "error", "data": json.dumps(Fault.from_error(error).to_json())}

    return EventSourceResponse(lines(), send_timeout=SEND_TIMEOUT_S, shutdown_grace_period=5, sep="\n")


async def answer_run(service: Service, request: Request, caller: Caller) -> Response:
    """POST `/runs/{id}/answers`: `{"question_id": …, "value": …}`. An operator answers approvals of any run."""
    body = await json_body(request)
    if "value" not in body or not body.keys() <= {"value", "question_id"}:
        raise InvalidInput('The body is `{"question_id": …, "value": …}`.', hint="Send these two.")
    record = await service.find(caller, request.path_params["id"], of_others=caller.key.approve)
    await service.answer(caller, record, str(body.get("question_id") or ""), body["value"])
    return _json({"run": record.run, "answered": True})


async def list_approvals(service: Service, request: Request, caller: Caller) -> Response:
    """GET `/approvals`: what waits for an operator."""
    del request
    return _json({"approvals": await service.approvals(caller)})


async def rate_run(service: Service, request: Request, caller: Caller) -> Response:
    """POST `/runs/{id}/rating`: `{"verdict": "good" | "bad", "comment": …}`; a new one replaces the old (P21)."""
    record = await _find(service, request, caller)
    body = await json_body(request)
    verdict, comment = body.get("verdict"), body.get("comment", "")
    if verdict not in get_args(Verdict) or not isinstance(comment, str) or not body.keys() <= {"verdict", "comment"}:
        raise InvalidInput('The body is `{"verdict": "good" or "bad", "comment": …}`.', path="/verdict")
    if len(comment) > _LONGEST_COMMENT:
        raise InvalidInput(f"The comment has more than {_LONGEST_COMMENT:,} characters.", path="/comment")
    if record.ended_ns is None:
        raise InvalidInput("The run has no answer yet.", hint="Rate it when it has finished.")
    await service.rate(record, Rating(cast("Verdict", verdict), comment, time.time_ns()))
    return _json({"run": record.run, "verdict": verdict, "comment": comment})


def record_json(record: RunRecord) -> JsonMapping:
    """A record as its owner sees it."""
    facts: dict[str, Any] = {
        "run": record.run,
        "lifecycle": record.lifecycle,
        "outcome": record.outcome,
        "label": record.label,
        "labels": {name: value for name, value in record.labels.items() if name != "digest"},
        "started_at": timestamp(record.started_ns),
        "ended_at": None if record.ended_ns is None else timestamp(record.ended_ns),
        "stalled": record.stalled or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


async def _find(service: Service, request: Request, caller: Caller) -> RunRecord:
    return await service.find(caller, request.path_params["id"])


def _json(body: JsonMapping) -> Response:
    return Response(json.dumps(body), media_type=JSON)
