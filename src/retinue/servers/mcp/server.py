"""The door: one low-level server for both revisions of the protocol, over streamable HTTP and over stdio."""

import logging
import re
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import cached_property
from typing import IO, Any, Final

import anyio
import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types.methods import serialize_server_result
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

import retinue
from retinue.contract.definition import Definition
from retinue.contract.fault import Fault, public_fault
from retinue.contract.model import JsonMapping
from retinue.contract.task import Task
from retinue.engine.base import RunRecord
from retinue.engine.blocking import in_thread
from retinue.errors import RetinueError
from retinue.servers.admission import Caller, read_hops
from retinue.servers.errors import error_response
from retinue.servers.mcp.calls import DISCONNECTED, DOOR, RELATED_META, Context, McpCall
from retinue.servers.mcp.prompts import commands, complete_argument, describe_prompt, expand_prompt
from retinue.servers.mcp.tasks import (
    TASK_CAPABILITY,
    TASK_VERSION,
    TASKS,
    TOOL_LABEL,
    TaskParams,
    UpdateTaskParams,
    asks_for_task,
    becomes_task,
    cancel_task,
    check_access,
    find_task,
    list_tasks,
    show_task,
    task_json,
    update_task,
)
from retinue.servers.mcp.tools import (
    BYTES,
    LARGEST_RESOURCE,
    McpSkill,
    artifact_uri,
    error_result,
    resource_contents,
    skill_tools,
)
from retinue.servers.service import Service, UnknownRun, read_artifact
from retinue.telemetry import request_span

_LOGGER: Final = logging.getLogger("retinue.servers")

PATH: Final = "/mcp"
HOPS_META: Final = "retinue/hops"
"""The key of `_meta` that counts the servers a call has passed; the header and this one: the greater counts."""

_ARTIFACT: Final = re.compile(r"retinue://runs/([A-Za-z0-9:_-]{1,80})/artifacts/([0-9]{1,4})", re.ASCII)
_CALLER: Final = "retinue.caller"
_ANSWER_S: Final = 3600.0
"""How long the sealed state of a question can be sent back: as long as a question waits."""
_PRIVATE: Final = CacheHint(ttl_ms=60_000, scope="private")
_CACHE_HINTS: Final[dict[CacheableMethod, CacheHint]] = {
    "tools/list": _PRIVATE,
    "prompts/list": _PRIVATE,
    "resources/list": _PRIVATE,
    "resources/templates/list": _PRIVATE,
    "resources/read": _PRIVATE,
}


class McpDoor:
    """The agents of a service as an MCP server.

    Args:
        service: Where tasks run.
        local: Who calls over stdio; over HTTP it is whoever the key says.
    """

    def __init__(self, service: Service, *, local: Caller | None = None) -> None:
        self._service, self._local = service, local
        self.server: Server[Any] = Server(
            "retinue",
            version=retinue.__version__,
            instructions="Each tool is a skill of an agent. Agents validate what they get and what they answer.",
            cache_hints=_CACHE_HINTS,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )
        security = RequestStateSecurity(keys=service.admission.keys.seals(), ttl=_ANSWER_S)
        security.bind_principal = lambda context: self._caller(context).owner
        self.server.middleware.insert(0, _hide_failures)
        self.server.middleware.append(RequestStateBoundary(security, default_audience="retinue"))
        self.server.middleware.append(self._add_tasks)
        self.server.extensions[TASKS] = {}
        self.server.add_request_handler("tasks/get", TaskParams, self._get_task)
        self.server.add_request_handler("tasks/result", TaskParams, self._get_task_result)
        self.server.add_request_handler("tasks/list", types.PaginatedRequestParams, self._list_tasks)
        self.server.add_request_handler("tasks/update", UpdateTaskParams, self._update_task)
        self.server.add_request_handler("tasks/cancel", TaskParams, self._cancel_task)
        self._sessions = StreamableHTTPSessionManager(self.server)

    # Where it stands

    @property
    def routes(self) -> list[Route]:
        """Its routes, with and without a slash at the end."""
        return [Route(path, _Endpoint(self._service, self._sessions)) for path in (PATH, f"{PATH}/")]

    def lifespan(self, app: object) -> AbstractAsyncContextManager[None]:
        """What must be open while it is served over HTTP."""
        del app
        return self._sessions.run()

    async def serve_stdio(self, stdout: IO[str]) -> None:
        """Serve one client on stdin and `stdout` until it closes them."""
        async with stdio_server(stdout=anyio.wrap_file(stdout)) as (receiving, sending):
            await self.server.run(receiving, sending, self.server.create_initialization_options())

    # Who asks, and for what

    def _caller(self, context: Context) -> Caller:
        caller = context.request.scope[_CALLER] if context.request is not None else self._local
        if caller is None:
            raise MCPError(types.INVALID_REQUEST, "Nobody may call this server here.")
        hops: object = (context.meta or {}).get(HOPS_META, 0)
        return replace(caller, hops=max(caller.hops, read_hops(str(hops))))

    @cached_property
    def _tools(self) -> dict[str, McpSkill]:
        return skill_tools(self._service.registry.agents())

    @cached_property
    def _descriptions(self) -> dict[str, types.Tool]:
        return {name: tool.describe() for name, tool in self._tools.items()}

    def _input_schema(self, name: str) -> JsonMapping | None:
        tool = self._descriptions.get(name)  # a lookup: without it, every call lists all tools
        return None if tool is None else tool.input_schema

    def _tool(self, caller: Caller, name: str) -> McpSkill:
        tool = self._tools.get(name)
        if tool is None or not caller.key.opens(tool.agent.definition.name, DOOR):
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name[:80]}")
        return tool

    # Tools

    async def _list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        _check_cursor(params)
        caller = self._caller(context)
        opened = [name for name, tool in self._tools.items() if caller.key.opens(tool.agent.definition.name, DOOR)]
        return types.ListToolsResult(tools=[self._descriptions[name] for name in opened])

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult | Any:
        caller = self._caller(context)
        tool = self._tool(caller, params.name)
        run, resumed = "", params.request_state is not None
        try:
            if params.request_state is not None:  # opened by the boundary: it is what we sealed, for this caller
                run = (await self._service.find(caller, params.request_state)).run
            elif becomes_task(context, tool):
                return {"resultType": "task", **task_json(await self._start_task(caller, tool, params.arguments))}
            else:
                with anyio.CancelScope(shield=True):  # a run whose id nobody has could not be canceled
                    run = await self._start(caller, tool, params.arguments)
            call = McpCall(self._service, context, caller, tool, run)
            return await call.answer(params.input_responses, resumed=resumed)
        except RetinueError as error:
            return error_result(public_fault(Fault.from_error(error), run=run, root=self._service.root), run=run)

    async def _start(
        self, caller: Caller, tool: McpSkill, arguments: JsonMapping | None, *, is_task: bool = False
    ) -> str:
        definition = tool.agent.definition
        wish = Task(id="", agent=definition.name, skill=tool.skill.name, parameters=arguments or {})
        labels = {TOOL_LABEL: tool.name} if is_task else {}
        return await self._service.start(caller, wish, door=DOOR, agent=tool.agent, skill=tool.skill, labels=labels)

    # Tasks

    async def _add_tasks(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer calls with tasks of 2025-11-25. The SDK cuts these from what handlers say, but not here."""
        if asks_for_task(ctx):
            params = types.CallToolRequestParams.model_validate(ctx.params, by_name=False)
            caller = self._caller(ctx)
            record = await self._start_task(caller, self._tool(caller, params.name), params.arguments)
            return {"task": task_json(record, unit="")}
        result = await call_next(ctx)
        if isinstance(result, dict) and ctx.method == "initialize" and result["protocolVersion"] == TASK_VERSION:
            result["capabilities"]["tasks"] = TASK_CAPABILITY
        return result

    async def _start_task(self, caller: Caller, tool: McpSkill, arguments: JsonMapping | None) -> RunRecord:
        run = await self._start(caller, tool, arguments, is_task=True)
        await self._service.keep()
        return await self._service.find(caller, run)

    async def _get_task(self, context: Context, params: TaskParams) -> JsonMapping:
        check_access(context, params)
        record, tool = await find_task(self._service, self._caller(context), params, self._tools)
        return await show_task(self._service, context, record, tool)

    async def _get_task_result(self, context: Context, params: TaskParams) -> JsonMapping:
        check_access(context, params)
        caller = self._caller(context)
        record, tool = await find_task(self._service, caller, params, self._tools)
        call = McpCall(self._service, context, caller, tool, record.run, is_task=True)
        answer = await call.answer(None, resumed=False)
        answer.meta = {**(answer.meta or {}), RELATED_META: {"taskId": record.run}}
        body = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        return serialize_server_result("tools/call", TASK_VERSION, body)

    async def _list_tasks(self, context: Context, params: types.PaginatedRequestParams) -> JsonMapping:
        check_access(context)
        return await list_tasks(self._service, self._caller(context), params.cursor or "")

    async def _update_task(self, context: Context, params: UpdateTaskParams) -> JsonMapping:
        check_access(context, params)
        caller = self._caller(context)
        record, _ = await find_task(self._service, caller, params, self._tools)
        await update_task(self._service, caller, record, params)
        return {}

    async def _cancel_task(self, context: Context, params: TaskParams) -> JsonMapping:
        check_access(context, params)
        record, _ = await find_task(self._service, self._caller(context), params, self._tools)
        return await cancel_task(self._service, context, record)

    # Prompts

    async def _list_prompts(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        _check_cursor(params)
        prompts = commands(self._service.agents(self._caller(context), DOOR))
        return types.ListPromptsResult(prompts=[describe_prompt(*each) for each in prompts.items()])

    def _command(self, context: Context, name: str) -> Definition:
        definition = commands(self._service.agents(self._caller(context), DOOR)).get(name)
        if definition is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {name[:80]}")
        return definition

    async def _get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return expand_prompt(self._command(context, params.name), params.arguments or {})

    async def _complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        if not isinstance(params.ref, types.PromptReference):
            return types.CompleteResult(completion=types.Completion(values=[]))
        argument = params.argument
        words = complete_argument(self._command(context, params.ref.name), argument.name, argument.value)
        return types.CompleteResult(completion=words)

    # Files that answers name

    async def _list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        _check_cursor(params)
        self._caller(context)
        return types.ListResourcesResult(resources=[])  # a file belongs to the answer that names it

    async def _list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        _check_cursor(params)
        self._caller(context)
        template = types.ResourceTemplate(
            uri_template=artifact_uri("{run}", "{number}"), name="artifact", description="A file that an agent made."
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        caller, match = self._caller(context), _ARTIFACT.fullmatch(params.uri)
        workspace = self._service.orchestrator.workspace
        try:
            if match is None:
                raise UnknownRun(params.uri)
            record = await self._service.find(caller, match[1])
            artifact = (await self._service.state(record)).artifacts[int(match[2])]
            data = await in_thread(read_artifact, artifact, workspace, LARGEST_RESOURCE)
            if data is None:
                raise UnknownRun(params.uri)
        except (UnknownRun, IndexError):
            raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": params.uri}) from None
        return types.ReadResourceResult(contents=[resource_contents(data, params.uri, artifact.media_type or BYTES)])


class _Endpoint:
    """The door as an ASGI application: it knows who asks, and notices when they go away."""

    def __init__(self, service: Service, sessions: StreamableHTTPSessionManager) -> None:
        self._service, self._sessions = service, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and count it."""
        status, is_open = 0, False

        async def watched_send(message: Message) -> None:
            nonlocal status, is_open
            status = message.get("status", status)
            is_open = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        try:
            caller = self._service.admission.authenticate(Headers(scope=scope))
            self._service.admission.check_rate(caller)
        except RetinueError as error:
            await error_response(error, form="mcp")(scope, receive, watched_send)
        else:
            with request_span(scope["method"], dict(Headers(scope=scope))):
                await self._answer(caller, scope, receive, watched_send)
            if is_open and self._service.closing.is_set():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        self._service.metrics.count_request(DOOR, scope["method"], status)

    async def _answer(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        disconnected = anyio.Event()
        # Sessions belong to whoever opened them, by this class and no other. The key itself is not needed for that.
        user = AuthenticatedUser(AccessToken(token="", client_id=caller.owner, scopes=[]))
        scope = {**scope, "user": user, _CALLER: caller, DISCONNECTED: disconnected}

        async def watched_receive() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                disconnected.set()
            return message

        if scope["method"] != "GET":
            await self._sessions.handle_request(scope, watched_receive, send)
            return
        # A stream for messages of the server has no end of its own. It ends when the server stops.
        async with anyio.create_task_group() as group:

            async def serve() -> None:
                await self._sessions.handle_request(scope, watched_receive, send)
                group.cancel_scope.cancel()

            group.start_soon(serve)
            await self._service.closing.wait()
            group.cancel_scope.cancel()


def _check_cursor(params: types.PaginatedRequestParams | None) -> None:
    """See that a list is not asked for a page: there is one only."""
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "There is no such page.")


async def _hide_failures(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Errors as those of JSON-RPC. In older revisions the SDK would send the words of any exception."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except RetinueError as error:
        fault = public_fault(Fault.from_error(error), run="")
        raise MCPError(types.INVALID_PARAMS, " ".join(filter(None, (fault.message, fault.hint)))) from None
    except Exception:
        _LOGGER.exception("%s failed", ctx.method)
        raise MCPError(types.INTERNAL_ERROR, "The server failed. Its operator finds the reason in its log.") from None
