"""The routes of the door. The SDK reads and writes the protocol; who asks, what is let in, and errors are ours."""

import hashlib
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from email.utils import formatdate
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from a2a.server.context import ServerCallContext
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.utils.constants import VERSION_HEADER
from jwt import PyJWK
from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from retinue.contract import json
from retinue.contract.json import JsonValue
from retinue.dialects.a2a.wire import ERRORS, is_exact, keeps_digits
from retinue.errors import InvalidInput, ParseError, RetinueError
from retinue.servers.a2a.cards import CARD_PATH, agent_card, card_signature, modern_card, whole_card
from retinue.servers.a2a.errors import Refusal, refusal_response, sdk_refusal
from retinue.servers.a2a.handler import CALL, AgentHandler
from retinue.servers.a2a.messages import Call
from retinue.servers.a2a.push import PushSender
from retinue.servers.a2a.tasks import DOOR
from retinue.servers.admission import ANONYMOUS, Caller
from retinue.servers.errors import JSON, HttpError, error_response
from retinue.servers.guard import MAX_BODY, MAX_DEPTH
from retinue.servers.requests import (
    SEND_TIMEOUT_S,
    Endpoint,
    RouteGroup,
    agent_of,
    agent_path,
    endpoint,
    get_artifact,
    instrument,
    routes,
)
from retinue.servers.service import Service

if TYPE_CHECKING:
    from retinue.servers.a2a.grpc import GrpcServer

VERSIONS: Final = ("1.0", "0.3")

PATH: Final = "/a2a"
CARD_S: Final = 60
"""How long a client may keep a card, in seconds."""
_SIGNATURES: Final = 1_000
"""Signatures that are kept: each is another, and a card that has not changed must not look as if it had."""
_AGENT: Final = "/agents/{category}/{agent}"
_TYPES: Final = frozenset({JSON, "application/a2a+json"})
_CARD_METHODS: Final = {"GetExtendedAgentCard": "1.0", "agent/getAuthenticatedExtendedCard": "0.3"}
_CARD_PATHS: Final = {"/extendedAgentCard": "1.0", "/v1/card": "0.3"}


class _Context(ServerCallContextBuilder):
    """Hands our call, and the header with the version, through the SDK; nothing else of the request."""

    def build(self, request: Request) -> ServerCallContext:
        version = request.headers.get(VERSION_HEADER) or request.query_params.get(VERSION_HEADER) or ""
        return ServerCallContext(state={CALL: request.scope[CALL], "headers": {VERSION_HEADER: version}})


_RESULTS: Final = {
    "task": "task",
    "message": "message",
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
}
"""The names that 1.0 gives to results, by the kinds of 0.3."""


def _for_fasta2a(run: Endpoint) -> Endpoint:
    """`run` for fasta2a's client too, which sends the methods of 0.3 without kinds and reads results by their names."""

    def name_result(text: str | bytes) -> str:
        answer: Any = json.loads(text)
        if name := _RESULTS.get(answer.get("result", {}).get("kind")):
            answer["result"] = {name: answer["result"]}
        return json.dumps(answer)

    async def name_results(events: Any) -> AsyncGenerator[dict[str, str]]:
        async for event in events:
            yield {**event, "data": name_result(event["data"])}

    async def answer(request: Request) -> Response:
        content = await request.body()
        response = await run(request)
        if b'"message/' not in content or b'"kind"' in content:
            return response
        if isinstance(response, EventSourceResponse):
            response.body_iterator = name_results(response.body_iterator)  # pyright: ignore[reportUnknownMemberType]
            return response
        return Response(name_result(bytes(response.body)), response.status_code, media_type=JSON)

    return answer


class A2aDoor:
    """The door.

    Args:
        service: Where tasks run.
        base_url: The public address, for cards and links.
        versions: The versions of the protocol that are spoken.
        card_key: Signs the cards.
        grpc: Where gRPC comes in too.

    Attributes:
        routes: These come before those of the HTTP door: it takes any word for a skill.
    """

    def __init__(
        self,
        service: Service,
        *,
        base_url: str = "",
        versions: Sequence[str] = VERSIONS,
        card_key: PyJWK | None = None,
        grpc: "GrpcServer | None" = None,
    ) -> None:
        # What the SDK logs quotes requests, and what goes wrong is logged here.
        logging.getLogger("a2a").setLevel(logging.CRITICAL)
        self._service, self._base_url, self._versions = service, base_url, tuple(versions)
        self._sign = card_key and lru_cache(_SIGNATURES)(partial(card_signature, key=card_key))
        self._push = PushSender(service)
        self._handler = AgentHandler(service, self._push, self._card_for)
        self._grpc = grpc
        place = urlsplit(base_url)
        self._grpc_address = f"{place.netloc.removesuffix(f':{place.port}')}:{grpc.port}" if grpc else ""
        self._began = formatdate(usegmt=True)  # no agent changes while it is served
        files = endpoint(service, DOOR, get_artifact)
        cards: list[BaseRoute] = []
        every: list[BaseRoute] = []
        for prefix in (_AGENT, ""):  # most requests are to an agent
            cards += routes(f"{prefix}{CARD_PATH}", self.card, ["GET"])
            every += routes(f"{prefix}{PATH}/runs/{{id}}/artifacts/{{number:int}}", files, ["GET"])
            for path, version in _CARD_PATHS.items():
                if version in versions:
                    every += routes(f"{prefix}{PATH}{path}", partial(self.extended_card, version), ["GET"])
            every += self._protocol_routes(f"{prefix}{PATH}")
        self.routes: list[BaseRoute] = [*cards, RouteGroup("a2a", every)]

    @asynccontextmanager
    async def lifespan(self, app: object) -> AsyncGenerator[None]:
        """Send what the last server had no time for, and stop sending in the end."""
        del app
        await self._push.resume()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._push.close)
            if self._grpc is not None:
                await stack.enter_async_context(self._grpc.serving(self._service, self._handler, self._tenant_call))
            yield

    def _protocol_routes(self, path: str) -> list[BaseRoute]:
        """JSON-RPC and HTTP+JSON under a path."""
        more: dict[str, Any] = {"context_builder": _Context(), "enable_v0_3_compat": "0.3" in self._versions}
        rpc = create_jsonrpc_routes(self._handler, path, **more)
        rest = create_rest_routes(self._handler, path_prefix=path, **more)
        every: list[BaseRoute] = []
        for form, group in (("jsonrpc", rpc), ("http", rest)):
            for route in group:
                # A tenant before the path would match every path there is.
                if isinstance(route, Route) and not isinstance(route, Mount):
                    methods = route.methods - {"HEAD"} if route.methods else set[str]()
                    run = _for_fasta2a(route.endpoint) if form == "jsonrpc" else route.endpoint
                    every += routes(route.path, self._guarded(run, form), sorted(methods))
        return every

    # Cards

    async def card(self, request: Request) -> Response:
        """What there is, for whoever asks; somebody without a key where one is needed sees no agent."""
        admission = self._service.admission
        try:
            has_key = "authorization" in request.headers or "x-api-key" in request.headers
            if not has_key and not admission.anonymous:
                call = Call(ANONYMOUS, None, f"{self._base_url or str(request.base_url).rstrip('/')}{PATH}")
            else:
                caller = admission.authenticate(request.headers)
                admission.check_rate(caller)
                call = self._call(request, caller)
            return self._cached(request, json.dumps(self._card_for(call)))
        except (HttpError, RetinueError) as error:
            return error_response(error)

    def _cached(self, request: Request, card: str) -> Response:
        """A card, with what lets a client keep it for a while."""
        headers = {
            "etag": f'"{hashlib.sha256(card.encode()).hexdigest()[:32]}"',
            "last-modified": self._began,
            "cache-control": f"private, max-age={CARD_S}",
            "vary": "authorization, x-api-key",
        }
        said = request.headers
        if "if-none-match" in said:  # then it counts alone
            is_same = said["if-none-match"] == headers["etag"]
        else:
            is_same = said.get("if-modified-since") == headers["last-modified"]
        return Response(None, 304, headers) if is_same else Response(card, 200, headers, media_type=JSON)

    async def extended_card(self, version: str, request: Request) -> Response:
        """The card with all that the caller may reach, in the words of the version that asks."""

        async def respond(request: Request) -> Response:
            return _json(self._card_for(request.scope[CALL], version))

        return await self._guarded(respond, "http")(request)

    def _card_for(self, call: Call, version: str = "") -> Any:
        """The card of an agent or of all; whoever asks by the methods of 1.0 needs no words of 0.3."""
        places: Any = {"needs_key": not self._service.admission.anonymous, "grpc": self._grpc_address}
        if call.agent is not None:
            card = agent_card(call.agent.definition, call.address, self._versions, **places)
        else:
            definitions = [] if call.caller is ANONYMOUS else self._service.agents(call.caller, DOOR)
            card = whole_card(definitions, call.address, self._versions, **places)
        card = modern_card(card) if version == "1.0" else card
        return card if self._sign is None else {**card, "signatures": [self._sign(json.dumps(card))]}

    # Requests

    def _call(self, request: Request, caller: Caller) -> Call:
        """The call that a request is.

        Raises:
            HttpError: There is no such agent: 404.
            AccessDenied: The key does not open it.
        """
        base_url = self._base_url or str(request.base_url).rstrip("/")
        if "agent" not in request.path_params:
            return Call(caller, None, f"{base_url}{PATH}")
        agent = agent_of(self._service, request, caller, DOOR)
        return Call(caller, agent, f"{base_url}{agent_path(agent)}{PATH}")

    def _tenant_call(self, caller: Caller, tenant: str) -> Call:
        """The same over gRPC, where an agent is a tenant.

        Raises:
            UnknownName: There is no such agent.
            AccessDenied: The key does not open it.
        """
        if not tenant:
            return Call(caller, None, f"{self._base_url}{PATH}")
        agent = self._service.agent(tenant)
        self._service.admission.check_agent(caller, agent.definition.name, DOOR)
        return Call(caller, agent, f"{self._base_url}{agent_path(agent)}{PATH}")

    def _guarded(self, run: Endpoint, form: str) -> Endpoint:
        """`run`, with everything before it that the SDK leaves open, and with errors in our words."""

        async def answer(request: Request) -> Response:
            request_id, is_whole = None, False
            try:
                caller = self._service.admission.authenticate(request.headers)
                self._service.admission.check_rate(caller)
                call = self._call(request, caller)
                request.scope[CALL] = call
                if "1.0" not in self._versions and request.headers.get(VERSION_HEADER, "").startswith("1"):
                    raise sdk_refusal(-32009)
                body = await self._read(request)
                if form == "jsonrpc" and isinstance(body, dict):
                    request_id, method, params = body.get("id"), body.get("method"), body.get("params")
                    is_id = isinstance(request_id, str | int | None) and not isinstance(request_id, bool)
                    is_whole = body.get("jsonrpc") == "2.0" and isinstance(method, str) and is_id
                    body = params
                    if isinstance(method, str) and (version := _CARD_METHODS.get(method)) in self._versions:
                        self._check_version(request, str(version))
                        card = self._card_for(call, str(version))
                        return _json({"jsonrpc": "2.0", "id": request_id, "result": card})
                _check_numbers(body, await request.body())
                response = await run(request)
            except (HttpError, RetinueError) as error:
                return refusal_response(error, form=form, request_id=request_id)
            return self._finish(response, call, form, request_id, is_whole=is_whole)

        return instrument(self._service, DOOR, answer)

    async def _read(self, request: Request) -> JsonValue:
        """The body, read strictly: the SDK takes keys that stand twice, and more.

        Raises:
            RetinueError: It is not to be taken.
        """
        content = await request.body()
        said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method != "POST" or not content:
            return None
        if said not in _TYPES:
            hint = f"Send {' or '.join(sorted(_TYPES))}."
            raise HttpError(415, Refusal("CONTENT_TYPE_NOT_SUPPORTED", f"The body is {said[:80]!r}.", hint))
        try:
            return json.loads(content, max_bytes=MAX_BODY, max_depth=MAX_DEPTH)
        except ParseError as error:
            raise Refusal("JSON_PARSE_ERROR", error.message, error.hint) from None

    def _check_version(self, request: Request, wanted: str) -> None:
        said = request.headers.get(VERSION_HEADER) or "0.3"
        if said.partition(".")[0] != wanted.partition(".")[0]:
            raise sdk_refusal(-32009)

    def _finish(self, response: Response, call: Call, form: str, request_id: Any, *, is_whole: bool) -> Response:
        """The SDK's answer; with errors in our words, and streams that end when the server does."""
        if isinstance(response, EventSourceResponse):
            content: Any = response.body_iterator  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            return EventSourceResponse(
                content, send_timeout=SEND_TIMEOUT_S, shutdown_event=self._service.closing, sep="\n"
            )
        if call.failure is not None:
            return refusal_response(call.failure, form=form, request_id=request_id)
        if response.status_code < 400 and form == "http":
            response.headers["content-type"] = JSON  # as the protocol says; the SDK has a type of its own
            return response
        answer: Any = json.loads(bytes(response.body))
        if "error" in answer:
            code: int = answer["error"]["code"] if form == "jsonrpc" else _code_of(answer["error"])
            if is_whole and code == -32600:  # the request is one; what it says to the method is not
                code = -32602
            return refusal_response(sdk_refusal(code), form=form, request_id=request_id)
        return response


def _check_numbers(body: JsonValue, content: bytes) -> None:
    """See that protobuf loses nothing of a body, whose numbers in free data are doubles.

    Raises:
        InvalidInput: It would.
    """
    if not is_exact(body):
        raise InvalidInput(
            "A whole number beyond 2^53 does not survive in the data of a message.",
            hint="Send the data as JSON in a text part with the media type `application/json`.",
        )
    if not keeps_digits(content.decode()):
        raise InvalidInput("A number has more digits than a double keeps.", hint="Send it as text, or shorter.")


def _code_of(error: Any) -> int:
    """The code in JSON-RPC of an error that the SDK tells in HTTP."""
    reasons = [each.get("reason") for each in error.get("details", [])]
    by_reason = {words.reason: code for code, words in ERRORS.items()}
    return next((by_reason[reason] for reason in reasons if reason in by_reason), -32603)


def _json(body: Any) -> Response:
    return Response(json.dumps(body), media_type=JSON)
