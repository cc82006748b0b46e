"""The routes of the door of spec 004, its cards, and what operators ask of a server."""

from functools import partial
from typing import cast
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from retinue.contract import json
from retinue.contract.definition import Definition
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping
from retinue.dialects import agent_http
from retinue.errors import InternalError, InvalidInput, Unavailable
from retinue.orchestration.run_request import RUN_AGENT
from retinue.servers.admission import Caller
from retinue.servers.errors import JSON, HttpError, error_response, form_of_path
from retinue.servers.http import runs, tasks
from retinue.servers.http.answers import DOOR
from retinue.servers.http.openapi import docs_page, openapi
from retinue.servers.requests import Handler, RouteGroup, agent_of, endpoint, get_artifact, routes
from retinue.servers.service import Service

_CARD = "/.well-known/agent.json"
_PAGE_HEADERS = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_AGENT = "/agents/{category}/{agent}"
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


def http_app(service: Service, *, base_url: str = "", probes_only: bool = False) -> Starlette:
    """The door as an ASGI application.

    Args:
        service: Where tasks run.
        base_url: The public address. Cards say the paths on it (P5).
        probes_only: Only what tells whether the server runs: the agents are behind other doors.
    """

    async def show_health(request: Request) -> Response:
        del request
        return Response('{"status":"ok"}', media_type=JSON)

    async def show_ready(request: Request) -> Response:
        del request
        if problem := service.problem():
            return error_response(Unavailable(problem, hint="See the log of the server.", retry_after_s=5.0))
        return Response('{"status":"ready"}', media_type=JSON)

    route, base = partial(_route, service), urlsplit(base_url).path.rstrip("/")
    probes = [Route("/health", show_health), Route("/ready", show_ready), *route("/metrics", GET=show_metrics)]
    agents = [
        *route(f"{_AGENT}{_CARD}", GET=partial(show_agent_card, base)),
        *route(f"{_AGENT}/tasks", POST=tasks.create_task),
        *route(f"{_AGENT}/tasks/{{id}}", GET=tasks.get_task, DELETE=tasks.delete_task, POST=tasks.answer_task),
        *route(f"{_AGENT}/tasks/{{id}}/events", GET=tasks.follow_task),
        *route(f"{_AGENT}/message", POST=tasks.post_message),
        *route(f"{_AGENT}/{{skill}}", **dict.fromkeys(_METHODS, tasks.call_skill)),
    ]
    every = [
        RouteGroup("agents", agents),
        *route(_CARD, GET=partial(show_whole_card, base)),
        *route("/openapi.json", GET=partial(show_openapi, base_url)),
        *route("/docs", GET=show_docs),
        *probes,
        *route("/tasks", POST=tasks.create_goal),
        *route("/run_agent", POST=tasks.call_run_agent),
        *route("/runs", GET=runs.list_runs),
        *route("/runs/{id}", GET=runs.show_run, DELETE=runs.cancel_run),
        *route("/runs/{id}/events", GET=runs.follow_run),
        *route("/runs/{id}/answers", POST=runs.answer_run),
        *route("/runs/{id}/artifacts/{number:int}", GET=get_artifact),
        *route("/runs/{id}/rating", POST=runs.rate_run),
        *route("/approvals", GET=runs.list_approvals),
    ]
    handlers = {HTTPException: _http_error, Exception: _internal_error}
    return Starlette(routes=probes if probes_only else every, exception_handlers=handlers)


def _route(service: Service, path: str, **handlers: Handler) -> list[Route]:
    """A route with and without a slash at its end, and a handler for each method."""

    async def dispatch(service: Service, request: Request, caller: Caller) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        if method not in handlers:
            allowed = ", ".join(sorted(handlers))
            message = f"This route takes {allowed}, not {method[:20]}."
            raise HttpError(405, InvalidInput(message, hint=f"Send {allowed}."), {"allow": allowed})
        return await handlers[method](service, request, caller)

    return routes(path, endpoint(service, DOOR, dispatch), _METHODS)


async def show_whole_card(base: str, service: Service, request: Request, caller: Caller) -> Response:
    """GET `/.well-known/agent.json`: every skill of every agent, and the endpoint of the orchestrator (P2, P4)."""
    del request
    capabilities: list[JsonValue] = []
    for each in service.agents(caller, DOOR):
        capabilities += cast("list[JsonValue]", _card(each, base)["capabilities"])
    card: JsonMapping = {
        "name": RUN_AGENT,
        "description": "Answers goals with the agents of this server.",
        "endpoints": {"tasks": f"{base}/tasks", "run_agent": f"{base}/run_agent"},
        "capabilities": capabilities,
    }
    return Response(json.dumps(card), media_type=JSON)


async def show_agent_card(base: str, service: Service, request: Request, caller: Caller) -> Response:
    """GET `/agents/{category}/{agent}/.well-known/agent.json`: the card of one agent."""
    card = _card(agent_of(service, request, caller, DOOR).definition, base)
    return Response(json.dumps(card), media_type=JSON)


async def show_openapi(base_url: str, service: Service, request: Request, caller: Caller) -> Response:
    """GET `/openapi.json`: every route that the caller may use, with the skills' own schemas."""
    del request
    return Response(json.dumps(openapi(service.agents(caller, DOOR), base_url=base_url)), media_type=JSON)


async def show_docs(service: Service, request: Request, caller: Caller) -> Response:
    """GET `/docs`: the same as a page, which loads nothing."""
    del request
    return Response(docs_page(service.agents(caller, DOOR)), 200, _PAGE_HEADERS, media_type="text/html")


async def show_metrics(service: Service, request: Request, caller: Caller) -> Response:
    """GET `/metrics`: counters in the text format of Prometheus."""
    del request, caller
    return Response(service.metrics.text(), media_type=_METRICS_TYPE)


def _card(definition: Definition, base: str) -> JsonObject:
    # A definition read from a card elsewhere keeps the paths of there; here it stands on our own routes.
    skills = tuple(
        each.model_copy(update={"path": None, "output_schema": agent_http.body_schema(each.output_schema)})
        for each in definition.skills
    )
    own = definition.model_copy(update={"skills": skills, "extras": {}})
    return cast("JsonObject", json.loads(agent_http.render_card([own], base=base).text))


async def _http_error(request: Request, error: Exception) -> Response:
    """An error of the router, as any other."""
    if not isinstance(error, HTTPException):
        raise error
    refusal = InvalidInput(error.detail, hint="See `/openapi.json`, or `/docs`.")
    refused = HttpError(error.status_code, refusal, dict(error.headers or {}))
    return error_response(refused, form=form_of_path(request.url.path))


async def _internal_error(request: Request, error: Exception) -> Response:
    """A failure of our own: its words are for the log."""
    del error
    return error_response(InternalError("The server failed.", hint="See its log."), form=form_of_path(request.url.path))
