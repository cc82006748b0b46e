"""Long calls as tasks: those of 2025-11-25, and the extension `io.modelcontextprotocol/tasks` of 2026-07-28.

A task is a run, and its id the run's.
"""

from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from retinue.contract.model import JsonMapping
from retinue.engine.base import RunFilter, RunRecord
from retinue.errors import Canceled
from retinue.servers.admission import Caller
from retinue.servers.mcp.calls import DOOR, Context, can_ask, take_responses
from retinue.servers.mcp.questions import by_key, input_requests
from retinue.servers.mcp.tools import McpSkill, tool_result
from retinue.servers.requests import timestamp
from retinue.servers.service import LONGEST_S, Service, UnknownRun

TASKS: Final = "io.modelcontextprotocol/tasks"
TASK_VERSION: Final = "2025-11-25"
"""The revision in which a client says of a call that it shall be a task. In later ones the server says so."""
TASK_CAPABILITY: Final[JsonMapping] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
"""What a server says of itself in that revision."""
TOOL_LABEL: Final = "tool"
"""The label of a run that is a task: by which tool it was started."""

_TTL_MS: Final = 3_600_000
_POLL_MS: Final = 1_000
_PAGE: Final = 50
_METHODS: Final = {
    TASK_VERSION: ("tasks/get", "tasks/result", "tasks/list", "tasks/cancel"),
    **dict.fromkeys(MODERN_PROTOCOL_VERSIONS, ("tasks/get", "tasks/update", "tasks/cancel")),
}


class TaskParams(types.RequestParams):
    """Which task is meant."""

    task_id: str


class UpdateTaskParams(TaskParams):
    """What a client says to the questions of a task."""

    input_responses: dict[str, Any] | None = None


def becomes_task(context: Context, tool: McpSkill) -> bool:
    """Whether a call is answered with a task: it may take long, and the client knows what a task is."""
    return _knows_tasks(context) and (tool.skill.timeout_s or 0) > LONGEST_S


def asks_for_task(context: Context) -> bool:
    """Whether a client of 2025-11-25, which has introduced itself, wants a task in place of an answer."""
    is_known = context.protocol_version == TASK_VERSION and context.session.client_capabilities is not None
    return is_known and context.method == "tools/call" and isinstance((context.params or {}).get("task"), dict)


def check_access(context: Context, params: TaskParams | None = None) -> None:
    """See that a request about a task may be answered.

    Raises:
        MCPError: The revision has no such method, the client does not know tasks, or the header names another one.
    """
    if context.method not in _METHODS.get(context.protocol_version, ()):
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
    if params is None or context.protocol_version == TASK_VERSION:
        return
    if not _knows_tasks(context):
        needed: JsonMapping = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, f"The client does not declare `{TASKS}`.", needed)
    if context.request is not None and context.request.headers.get("mcp-name") != params.task_id:
        raise MCPError(types.HEADER_MISMATCH, "`Mcp-Name` is not the id of the task.")


def task_json(record: RunRecord, *, status: str = "working", unit: str = "Ms") -> JsonMapping:
    """A run as a task; 2025-11-25 does not name the `unit`."""
    return {
        "taskId": record.run,
        "status": status,
        "createdAt": timestamp(record.started_ns),
        "lastUpdatedAt": timestamp(record.ended_ns or record.started_ns),
        f"ttl{unit}": _TTL_MS,
        f"pollInterval{unit}": _POLL_MS,
    }


async def old_task_json(service: Service, record: RunRecord) -> JsonMapping:
    """A run as a task of 2025-11-25: what it is at, and nothing else."""
    if record.ended_ns is None:
        status = "input_required" if await service.questions(record) else "working"
    elif record.outcome == "canceled":
        status = "cancelled"
    else:
        status = "completed" if record.outcome in {"success", "partial"} else "failed"
    return task_json(record, status=status, unit="")


async def list_tasks(service: Service, caller: Caller, cursor: str) -> JsonMapping:
    """A page of the caller's tasks, the newest first.

    Raises:
        InvalidInput: The cursor is none.
    """
    where = RunFilter(owner=caller.owner, labels={"door": DOOR}, after=cursor)
    records = await service.engine.list(limit=_PAGE + 1, where=where)
    page = records[:_PAGE]
    tasks = [await old_task_json(service, each) for each in page if TOOL_LABEL in each.labels]
    return {"tasks": tasks, **({"nextCursor": page[-1].cursor} if len(records) > _PAGE else {})}


async def cancel_task(service: Service, context: Context, record: RunRecord) -> JsonMapping:
    """Stop a task. Only in 2025-11-25 it matters whether it had ended.

    Raises:
        MCPError: It had.
    """
    if context.protocol_version != TASK_VERSION:
        await service.cancel(record)
        return {}
    if record.ended_ns is not None:
        raise MCPError(types.INVALID_PARAMS, "The task has ended.")
    await service.cancel(record)
    return await old_task_json(service, await service.engine.get(record.run))


async def show_task(service: Service, context: Context, record: RunRecord, tool: McpSkill) -> JsonMapping:
    """What a task is at, what it asks, or what it came to."""
    if context.protocol_version == TASK_VERSION:
        return await old_task_json(service, record)
    if record.ended_ns is None:
        questions = by_key(await service.questions(record))
        if questions and can_ask(context):
            requests = {
                key: each.model_dump(mode="json", by_alias=True, exclude_none=True)
                for key, each in input_requests(questions).items()
            }
            return {**task_json(record, status="input_required"), "inputRequests": requests}
        return task_json(record)
    result = await service.result(record.run)
    if result.outcome == "canceled":
        return task_json(record, status="cancelled")
    if result.fault is not None and result.fault.code == "internal_error":
        error = {"code": types.INTERNAL_ERROR, "message": result.fault.message}
        return {**task_json(record, status="failed"), "error": error}
    answer = await tool_result(result, tool, run=record.run, workspace=service.orchestrator.workspace)
    return {
        **task_json(record, status="completed"),
        "result": answer.model_dump(mode="json", by_alias=True, exclude_none=True),
    }


async def update_task(service: Service, caller: Caller, record: RunRecord, params: UpdateTaskParams) -> None:
    """Answer questions of a task. Whoever does not want to answer cancels it."""
    questions = by_key(await service.questions(record))
    try:
        await take_responses(service, caller, record, questions, params.input_responses or {})
    except Canceled:
        await service.cancel(record)


async def find_task(
    service: Service, caller: Caller, params: TaskParams, tools: dict[str, McpSkill]
) -> tuple[RunRecord, McpSkill]:
    """The run of a task, and its tool.

    Raises:
        MCPError: There is none, or it is another's: nobody can tell which.
    """
    try:
        record = await service.find(caller, params.task_id)
        tool = tools.get(record.labels.get(TOOL_LABEL, ""))
        if tool is None:
            raise UnknownRun(params.task_id)
    except UnknownRun as error:
        raise MCPError(types.INVALID_PARAMS, error.message) from None
    return record, tool


def _knows_tasks(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    extensions = capabilities.extensions if capabilities is not None else None
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS and TASKS in (extensions or {})
