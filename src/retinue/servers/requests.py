"""What the doors over HTTP share: who asks, which agent is meant, and what is counted of every answer."""

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from retinue.agents.port import Agent
from retinue.dialects import agent_http
from retinue.engine.blocking import in_thread
from retinue.errors import InvalidInput, MissingFile, RetinueError, UnknownName
from retinue.servers.admission import Caller
from retinue.servers.errors import HttpError, error_response
from retinue.servers.service import Service, read_artifact
from retinue.telemetry import request_span

SEND_TIMEOUT_S: Final = 30.0
"""How long a reader of events may leave a full buffer unread."""

_ROUTE: Final = "retinue.route"
_MOST_BYTES: Final = 64 * 2**20
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9.+-]{1,60}/[A-Za-z0-9.+-]{1,60}")

Handler: TypeAlias = Callable[["Service", Request, Caller], Awaitable[Response]]
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def instrument(service: Service, door: str, answer: Endpoint) -> Endpoint:
    """`answer` within a span, with a warning while nothing is recorded, and counted."""

    async def respond(request: Request) -> Response:
        with request_span(request.method, dict(request.headers)):
            response = await answer(request)
        if service.is_unrecorded:
            response.headers["retinue-warning"] = "The history cannot be written."
        service.metrics.count_request(door, request.method, response.status_code)
        return response

    return respond


def endpoint(service: Service, door: str, handler: Handler) -> Endpoint:
    """`handler` as Starlette calls it: authenticated, counted, and with errors told as data."""

    async def answer(request: Request) -> Response:
        try:
            caller = service.admission.authenticate(request.headers)
            service.admission.check_rate(caller)
            return await handler(service, request, caller)
        except (RetinueError, HttpError) as error:
            return error_response(error)

    return instrument(service, door, answer)


def routes(path: str, run: Endpoint, methods: Sequence[str]) -> list[Route]:
    """A route with and without a slash at its end."""
    return [Route(each, run, methods=methods) for each in (path, f"{path}/")]


class RouteGroup(BaseRoute):
    """Routes whose paths all hold `/word`: other requests are spared trying each of them, a tenth of a call."""

    def __init__(self, word: str, routes: Sequence[BaseRoute]) -> None:
        self._part, self._routes = f"/{word}", routes

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether one of them takes the request, as Starlette's router asks; a path is told from a method."""
        best: tuple[Match, Scope] = (Match.NONE, {})
        for route in self._routes if self._part in scope["path"] else ():
            match, child_scope = route.matches(scope)
            if match.value > best[0].value:
                best = match, {**child_scope, _ROUTE: route}
            if match is Match.FULL:
                break
        return best

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the one that matched answer."""
        await scope[_ROUTE].handle(scope, receive, send)


def agent_of(service: Service, request: Request, caller: Caller, door: str) -> Agent:
    """The agent of the route.

    Raises:
        HttpError: There is none: 404.
        AccessDenied: The key does not open it.
    """
    try:
        agent = service.agent(request.path_params["agent"], category=request.path_params["category"])
    except UnknownName as error:
        raise HttpError(404, error) from None
    service.admission.check_agent(caller, agent.definition.name, door)
    return agent


def agent_path(agent: Agent) -> str:
    """The path of an agent's routes, without the last part."""
    definition = agent.definition
    return agent_http.route(definition.category, definition.name, "tasks").removesuffix("/tasks")


def check_type(request: Request, *types: str) -> str:
    """The content type of the body, which must be one of `types`.

    Raises:
        HttpError: It is none of them: 415.
    """
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if said not in types:
        message = f"The body is {said[:80]!r}." if said else "The content type of the body is not said."
        raise HttpError(
            415, InvalidInput(message, hint=f"Send {' or '.join(types)}."), {"accept-post": ", ".join(types)}
        )
    return said


async def get_artifact(service: Service, request: Request, caller: Caller) -> Response:
    """GET `/runs/{id}/artifacts/{n}`: a file that the run's answer names, counted from 0."""
    record = await service.find(caller, request.path_params["id"])
    result = await service.state(record)
    number: int = request.path_params["number"]
    if number >= len(result.artifacts):
        message = f"The run has {len(result.artifacts)} artifacts, counted from 0."
        raise HttpError(404, MissingFile(message, hint="See `result.artifacts` of the run."))
    artifact = result.artifacts[number]
    data = await in_thread(read_artifact, artifact, service.orchestrator.workspace, _MOST_BYTES)
    if data is None:
        raise HttpError(404, MissingFile(f"{artifact.path!r} is not there any more as the run left it."))
    name = re.sub(r"[^A-Za-z0-9._-]", "_", artifact.path.rpartition("/")[2])
    headers = {"content-disposition": f'attachment; filename="{name}"', "x-content-type-options": "nosniff"}
    media_type = artifact.media_type if _MEDIA_TYPE.fullmatch(artifact.media_type or "") else None
    return Response(data, 200, headers, media_type=media_type or "application/octet-stream")


def timestamp(at_ns: int) -> str:
    """RFC 3339, in UTC."""
    return datetime.fromtimestamp(at_ns / 1_000_000_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
