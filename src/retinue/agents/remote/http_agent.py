"""An agent of spec 004: its skills by their own routes, anything else by its generic endpoint (P7 to P15).

An answer that takes time is a task, which is asked for until it is done, and given up when nobody waits any more.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, cast
from urllib.parse import urlencode

from retinue.agents.port import ABSENT, Reply, RunContext
from retinue.agents.remote.peer import Peer, outgoing_task, read_answer, remote_reply
from retinue.contract import json
from retinue.contract.definition import GENERIC_SKILL, Definition, Skill
from retinue.contract.fault import Fault
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.dialects import agent_http
from retinue.dialects.port import ParseContext, Parsed
from retinue.errors import FaultCode, InvalidInput, NetworkError, OutputInvalid, RetinueError
from retinue.tools.web.client import WebClient, WebResponse, retry_after_s
from retinue.tools.web.url import WebUrl

MAX_ANSWER: Final = 8 * 2**20
"""Bytes of one answer."""

_SILENT_S: Final = 300.0
_FIRST_WAIT_S: Final = 0.25
_LONGEST_WAIT_S: Final = 5.0
_GIVE_UP_S: Final = 2.0
_QUERY_METHODS: Final = frozenset({"GET", "DELETE", "HEAD"})

_CODES: Final[Mapping[int, FaultCode]] = {
    401: "unauthenticated",
    403: "access_denied",
    404: "missing_file",
    408: "timeout",
    410: "missing_file",
    425: "unavailable",
    429: "unavailable",
    501: "internal_error",
    503: "unavailable",
    504: "timeout",
}


def code_of(status: int) -> FaultCode:
    """What an HTTP status that is no success says went wrong (P9).

    Any 5xx may pass and is tried again (P10), but for 501; a 4xx is never sent again unchanged (P11).
    """
    other: FaultCode = "network_error" if status >= 500 else "invalid_input" if status >= 400 else "output_invalid"
    return _CODES.get(status, other)


class HttpAgent:
    """An agent whose card is an `agent.json`.

    Args:
        definition: What its card says.
        peer: Where its card was read.
        client: How it is reached.
    """

    def __init__(self, definition: Definition, *, peer: Peer, client: WebClient) -> None:
        self._definition = definition
        self._peer = peer
        self._client = client

    def __repr__(self) -> str:
        return f"<agent {self._definition.name} at {self._peer.url.text}>"

    @property
    def definition(self) -> Definition:
        """What it says of itself."""
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Call the skill, and wait until it has answered.

        Raises:
            NetworkError: It cannot be reached.
            DeadlineExceeded: It was silent for too long.
            OutputInvalid: What it answered is no answer.
            RetinueError: It wants to know who asks, or an address may not be reached.
        """
        skill = self._definition.skill_for(task.skill)
        if skill is None or skill.path is None:
            raise InvalidInput(f"`{self._definition.name}` has no such skill.", hint="See `retinue agents`.")
        context = ParseContext(task_id=task.id, agent=self._definition.name, skill=skill.name)
        place = cast("str | None", run.checkpoint.get("task"))
        response = None if place is None else await self._send("GET", self._peer.url.join(place))
        if response is None or response.status == 404:
            response = await self._post(skill, self._peer.url.join(skill.path), task, run)
        try:
            parsed = await self._wait(response, context, run)
            while parsed.value.lifecycle == "input_required" and parsed.value.questions:
                for question in parsed.value.questions:
                    answer = await run.ask(question)
                    if answer is None:
                        return remote_reply(parsed, context, self._peer, agent_http.NAME)
                    body = json.dumps({"question_id": question.id, "value": answer.value}).encode()
                    response = await self._send("POST", self._peer.url.join(run.checkpoint["task"]), content=body)
                parsed = await self._wait(response, context, run)
        except asyncio.CancelledError:
            await self._give_up(run)
            raise
        run.checkpoint.pop("task", None)
        reply = remote_reply(parsed, context, self._peer, agent_http.NAME)
        data, wants_object = reply.data, (skill.output_schema or {}).get("type") == "object"
        if parsed.form == "task" and wants_object and data is not ABSENT and not isinstance(data, dict):
            reply.data = {"value": data}  # as the route would have answered at once
        return reply

    async def _post(self, skill: Skill, url: WebUrl, task: Task, run: RunContext) -> WebResponse:
        request = outgoing_task(task, self._definition, run.correction)
        if skill.name == GENERIC_SKILL:
            words = str(request.parameters.get("task") or request.instruction)
            request = request.model_copy(update={"instruction": words, "parameters": {}, "skill": None})
            message = agent_http.render_retry(request, run.correction) if run.correction else None
            text = (message or agent_http.render_task(request, form="task")).text
            return await self._send("POST", url, content=text.encode(), key=request.id)
        method = skill.method or "POST"
        if method in _QUERY_METHODS:
            pairs = {name: _query_text(value) for name, value in request.parameters.items()}
            url = url.join(f"{url.target}?{urlencode(pairs)}" if pairs else url.target)
            return await self._send(method, url)
        return await self._send(method, url, content=json.dumps(request.parameters).encode(), key=request.id)

    async def _send(self, method: str, url: WebUrl, *, content: bytes = b"", key: str = "") -> WebResponse:
        headers = {"Accept": "application/json", **self._peer.headers()}
        if content:
            headers["Content-Type"] = "application/json"
        if key:
            headers["Idempotency-Key"] = key
        return await self._client.send(
            url, method=method, headers=headers, content=content, max_bytes=MAX_ANSWER, read_timeout_s=_SILENT_S
        )

    async def _wait(self, response: WebResponse, context: ParseContext, run: RunContext) -> Parsed[Result]:
        """What it came to, once it has ended or asks something; the place of a task is noted in the checkpoint."""
        wait_s = _FIRST_WAIT_S
        while True:
            parsed = self._parsed(response, context)
            if response.status != 202 and parsed.value.lifecycle == "ended":
                return parsed
            url = self._task_url(response, parsed.value, context)
            run.checkpoint["task"] = url.target
            if parsed.value.lifecycle == "input_required":
                return parsed
            asked_s = retry_after_s(response.headers.get("retry-after", ""))
            await run.sleep(min(max(wait_s, asked_s or 0.0), _LONGEST_WAIT_S))
            wait_s *= 2
            response = await self._send("GET", url)

    def _task_url(self, response: WebResponse, result: Result, context: ParseContext) -> WebUrl:
        """Where a task can be asked for: where it says, else below the endpoint that took it.

        Raises:
            OutputInvalid: It does not say.
        """
        place, here = response.headers.get("location", ""), response.url.target.rstrip("/")
        if not place and result.task_id and result.task_id != context.task_id:
            place = here if here.endswith(f"/{result.task_id}") else f"{here}/{result.task_id}"
        if not place:
            raise OutputInvalid(
                f"{self._peer} is still working, and does not say where the task can be asked for.",
                hint="Ask its author for a `Location`, or for the task's `id`.",
            )
        return self._peer.same_origin(response.url.join(place))

    def _parsed(self, response: WebResponse, context: ParseContext) -> Parsed[Result]:
        """What an answer says; one that is no success is a fault, in its own words where it has some.

        Raises:
            OutputInvalid: It is no answer of spec 004.
            NetworkError: It redirects.
        """
        status = response.status
        if 300 <= status < 400:
            raise NetworkError(
                f"{self._peer} redirects (status {status}), which is not followed with a request.",
                hint="Use the URL that it leads to, if you trust it.",
            )
        if response.truncated:
            raise OutputInvalid(
                f"{self._peer} answered with more than {MAX_ANSWER} bytes, or broke off.", hint="Ask for less."
            )
        if 200 <= status < 300:
            if status == 202 and not response.body.strip():
                return Parsed(Result(task_id=context.task_id, agent=context.agent, lifecycle="working"), "", ())
            return read_answer(response.body, context, self._peer, agent_http.NAME)
        parsed: Parsed[Result] | None = None
        with suppress(RetinueError):
            parsed = agent_http.parse_result(response.body, context=context)
        refusal = parsed.value.fault if parsed is not None else None
        words = refusal.message.rstrip(".") if refusal is not None else ""
        fault = Fault(
            # One that says so itself knows that it is of no use to ask again.
            code="internal_error" if status == 500 and b'"internal_error"' in response.body else code_of(status),
            message=f"{self._peer} answered with status {status}{f': {words}' if words else ''}.",
            hint=refusal.hint if refusal is not None else "",
            path=refusal.path if refusal is not None else "",
            suggestions=refusal.suggestions if refusal is not None else (),
            retry_after_s=retry_after_s(response.headers.get("retry-after", "")),
            detail={"status": status},
        )
        outcome = "rejected" if status == 422 else "error"
        return Parsed(Result(task_id=context.task_id, agent=context.agent, outcome=outcome, fault=fault), "skill", ())

    async def _give_up(self, run: RunContext) -> None:
        """Tell it that nobody waits any more, if it listens."""
        if (place := run.checkpoint.get("task")) is not None:
            with suppress(RetinueError, TimeoutError):
                async with asyncio.timeout(_GIVE_UP_S):
                    await self._send("DELETE", self._peer.url.join(place))


def _query_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
