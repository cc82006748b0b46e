"""Tasks of one agent, or of the whole: the generic endpoint, a route a skill, `run_agent`, and messages (P1 to P3)."""

from collections.abc import AsyncGenerator
from typing import Final

from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response

from retinue.agents.port import Agent
from retinue.contract import json
from retinue.contract.event import Message, NodeFinished, Progress, QuestionAsked, TextDelta
from retinue.contract.json import JsonObject
from retinue.contract.result import Result, Warned
from retinue.contract.task import Task
from retinue.dialects import agent_http, markdown_json, run_agent, task_signal
from retinue.dialects.port import ParseContext
from retinue.engine.base import RunRecord
from retinue.errors import InvalidInput
from retinue.orchestration.run_request import RUN_AGENT
from retinue.servers.admission import Caller
from retinue.servers.errors import JSON, HttpError
from retinue.servers.http.answers import DOOR, TaskAnswer, is_deferred, json_body, read_json, wait_for_result
from retinue.servers.requests import SEND_TIMEOUT_S, agent_of, agent_path, check_type
from retinue.servers.service import Service, skill_of_route

# One skill


async def call_skill(service: Service, request: Request, caller: Caller) -> Response:
    """POST or GET `/agents/{category}/{agent}/{skill}`: the parameters in, the output out (P3)."""
    agent = agent_of(service, request, caller, DOOR)
    try:
        skill = skill_of_route(agent.definition, request.path_params["skill"])
    except InvalidInput as error:
        raise HttpError(404, error) from None
    method = skill.method or "POST"
    if request.method not in (method, "POST"):
        message = f"`{skill.name}` is called by {method}, not {request.method}."
        raise HttpError(
            405, InvalidInput(message, hint=f"Send {method}."), {"allow": ", ".join(sorted({method, "POST"}))}
        )
    if request.method == "GET":
        parameters: JsonObject = dict(request.query_params.items())
        if len(parameters) != len(request.query_params.multi_items()):
            raise InvalidInput("A parameter stands twice in the query.", hint="Send each once, or use POST.")
    else:
        parameters = await json_body(request)
    wish = Task(
        id="", agent=agent.definition.name, skill=skill.name, parameters=parameters, untyped=request.method == "GET"
    )
    key = request.headers.get("idempotency-key", "")
    run = await service.start(caller, wish, door=DOOR, agent=agent, skill=skill, key=key)
    location = f"{agent_path(agent)}/tasks/{run}"
    if is_deferred(request, skill.timeout_s):
        await service.keep()
        return TaskAnswer(_started(agent, run), run, location).response("task")
    result = await wait_for_result(service, request, caller, run, cancel=True)
    return TaskAnswer(result, run, location).response("skill")


# The generic endpoint


async def create_task(service: Service, request: Request, caller: Caller) -> Response:
    """POST `…/tasks`: any task or question, routed among this agent's own skills (P1, C47)."""
    agent = agent_of(service, request, caller, DOOR)
    await read_json(request)
    context = ParseContext(agent=agent.definition.name)
    wish = agent_http.parse_task(await request.body(), context=context, level="strict").value
    key = request.headers.get("idempotency-key") or wish.id
    session = wish.extras.get(agent_http.NAME, {}).get("session_id")
    labels = {"context": session} if isinstance(session, str) and len(session) <= _LONGEST_LABEL else {}
    run = await service.start(caller, wish, door=DOOR, agent=agent, key=key, labels=labels)
    skill = agent.definition.skill(wish.skill) if wish.skill else agent.definition.default_skill
    if is_deferred(request, skill.timeout_s if skill else None):
        await service.keep()
        result = _started(agent, run)
    else:
        result = await wait_for_result(service, request, caller, run, cancel=False)
    return await _record_response(service, agent, await service.find(caller, run), result)


_LONGEST_LABEL: Final = 200


async def get_task(service: Service, request: Request, caller: Caller) -> Response:
    """GET `…/tasks/{id}`: what it is at, or has come to (P18)."""
    agent = agent_of(service, request, caller, DOOR)
    record = await service.find(caller, request.path_params["id"], agent=agent.definition.name)
    response = await _record_response(service, agent, record, await service.state(record))
    response.status_code = 200
    return response


async def delete_task(service: Service, request: Request, caller: Caller) -> Response:
    """DELETE `…/tasks/{id}`: cancel it. One that has ended stays as it is (P17, P18)."""
    agent = agent_of(service, request, caller, DOOR)
    record = await service.find(caller, request.path_params["id"], agent=agent.definition.name)
    await service.cancel(record)
    return await get_task(service, request, caller)


async def answer_task(service: Service, request: Request, caller: Caller) -> Response:
    """POST `…/tasks/{id}`: answer a question of it, `{"question_id": …, "value": …}` or a message."""
    agent = agent_of(service, request, caller, DOOR)
    record = await service.find(caller, request.path_params["id"], agent=agent.definition.name)
    body = await json_body(request)
    if "value" in body and body.keys() <= {"value", "question_id"}:
        question, value = str(body.get("question_id") or ""), body["value"]
    else:
        wish = agent_http.parse_task(json.dumps(body), context=ParseContext(agent=agent.definition.name)).value
        question, value = "", wish.parameters.get("value", wish.instruction) if wish.parameters else wish.instruction
    await service.answer(caller, record, question, value)
    result = await wait_for_result(service, request, caller, record.run, cancel=False)
    return await _record_response(service, agent, await service.find(caller, record.run), result)


async def follow_task(service: Service, request: Request, caller: Caller) -> Response:
    """GET `…/tasks/{id}/events`: content, info, error and eos as server-sent events (P19)."""
    agent = agent_of(service, request, caller, DOOR)
    record = await service.find(caller, request.path_params["id"], agent=agent.definition.name)

    async def lines() -> AsyncGenerator[dict[str, str]]:
        async for each in service.events(record.run):
            event = each.event
            match event.body:
                case TextDelta(text):
                    yield {"event": "content", "data": json.dumps({"text": text})}
                case Message(text, level) if level == "error":
                    yield {"event": "error", "data": json.dumps({"message": text})}
                case Progress() | Message() | QuestionAsked():
                    yield {"event": "info", "data": json.dumps(event.to_json())}
                case NodeFinished(result) if not event.node and event.run == record.run:
                    answer = await _record_response(service, agent, await service.find(caller, record.run), result)
                    if result.fault is not None:
                        fault = agent_http.error_json(result.fault)
                        yield {"event": "error", "data": json.dumps(fault)}
                    elif result.content:
                        yield {"event": "content", "data": json.dumps({"text": result.content})}
                    yield {"event": "eos", "data": bytes(answer.body).decode()}
                case _:
                    pass

    return EventSourceResponse(lines(), send_timeout=SEND_TIMEOUT_S, shutdown_grace_period=5, sep="\n")


# The whole


async def create_goal(service: Service, request: Request, caller: Caller) -> Response:
    """POST `/tasks`: a goal for all agents together, planned and answered by the orchestrator."""
    service.admission.check_agent(caller, RUN_AGENT, DOOR)
    await read_json(request)
    wish = agent_http.parse_task(await request.body(), context=ParseContext(agent=RUN_AGENT), level="strict").value
    run = await service.start_goal(caller, wish, door=DOOR)
    location = f"/runs/{run}"
    if is_deferred(request):
        await service.keep()
        result = Result(task_id=run, agent=RUN_AGENT, lifecycle="working")
    else:
        result = await wait_for_result(service, request, caller, run, cancel=False)
    return TaskAnswer(result, run, location, await service.find(caller, run)).response("task")


async def call_run_agent(service: Service, request: Request, caller: Caller) -> Response:
    """POST `/run_agent`: the arguments of spec 001 in, its answer out, from the active agent or the orchestrator."""
    await read_json(request)
    active = service.active
    context = ParseContext(agent=active or RUN_AGENT)
    wish = run_agent.parse_task(await request.body(), context=context, level="strict").value
    warnings: tuple[Warned, ...] = ()
    if active:
        run = await service.start(caller, wish, door=DOOR, agent=service.agent(active))
    else:
        run = await service.start_goal(caller, wish, door=DOOR)
        if wish.context.memory:
            message = "`memory` is not used for a goal."
            warnings = (Warned(type="incomplete_context", message=message, recovery="Say it in the prompt."),)
    result = await wait_for_result(service, request, caller, run, cancel=True)
    result = result.model_copy(update={"warnings": result.warnings + warnings})
    headers = {"retinue-run": run}
    return Response(run_agent.render_result(result).text, agent_http.status_of(result), headers, media_type=JSON)


_MESSAGES: Final = {"text/plain": task_signal, "text/markdown": markdown_json}
"""The dialects of specs 002 and 003, by the type of a body."""


async def post_message(service: Service, request: Request, caller: Caller) -> Response:
    """POST `…/message`: a body of spec 002 (`text/plain`) or 003 (`text/markdown`); the answer has the same form."""
    agent = agent_of(service, request, caller, DOOR)
    media_type = check_type(request, *_MESSAGES)
    dialect = _MESSAGES[media_type]
    context = ParseContext(agent=agent.definition.name)
    wish = dialect.parse_task(await request.body(), context=context, level="standard").value
    run = await service.start(caller, wish, door=DOOR, agent=agent)
    result = await wait_for_result(service, request, caller, run, cancel=True)
    headers = {"retinue-run": run}
    return Response(dialect.render_result(result).text, agent_http.status_of(result), headers, media_type=media_type)


async def _record_response(service: Service, agent: Agent, record: RunRecord, result: Result) -> Response:
    """The record of a task (P17)."""
    location = f"{agent_path(agent)}/tasks/{record.run}"
    task = await service.orchestrator.task_of(record.run)
    return TaskAnswer(result, record.run, location, record, task).response("task")


def _started(agent: Agent, run: str) -> Result:
    return Result(task_id=run, agent=agent.definition.name, lifecycle="working")
