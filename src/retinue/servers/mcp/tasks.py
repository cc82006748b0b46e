"""Long calls as tasks: the extension `io.modelcontextprotocol/tasks`. A task is a run, and its id the run's."""

from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from retinue.contract.model import JsonMapping
from retinue.engine.base import RunRecord
from retinue.errors import Canceled
from retinue.servers.admission import Caller
from retinue.servers.mcp.calls import Context, can_ask, take_responses
from retinue.servers.mcp.questions import by_key, input_requests
from retinue.servers.mcp.tools import McpSkill, tool_result
from retinue.servers.requests import timestamp
from retinue.servers.service import LONGEST_S, Service, UnknownRun

TASKS: Final = "io.modelcontextprotocol/tasks"
TOOL_LABEL: Final = "tool"
"""The label of a run that says by which tool it was started."""

_TTL_MS: Final = 3_600_000
_POLL_MS: Final = 1_000


class TaskParams(types.RequestParams):
    """Which task is meant."""

    task_id: str


class UpdateTaskParams(TaskParams):
    """What a client says to the questions of a task."""

    input_responses: dict[str, Any] | None = None


def becomes_task(context: Context, tool: McpSkill) -> bool:
    """Whether a call is answered with a task: it may take long, and the client knows what a task is."""
    return _knows_tasks(context) and (tool.skill.timeout_s or 0) > LONGEST_S


def check_access(context: Context, params: TaskParams) -> None:
    """See that a request about a task may be answered.

    Raises:
        MCPError: The client does not know tasks, or the header names another one.
    """
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
    if not _knows_tasks(context):
        needed: JsonMapping = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, f"The client does not declare `{TASKS}`.", needed)
    if context.request is not None and context.request.headers.get("mcp-name") != params.task_id:
        raise MCPError(types.HEADER_MISMATCH, "`Mcp-Name` is not the id of the task.")


def task_json(record: RunRecord, *, status: str = "working") -> JsonMapping:
    """A run as a task."""
    return {
        "taskId": record.run,
        "status": status,
        "createdAt": timestamp(record.started_ns),
        "lastUpdatedAt": timestamp(record.ended_ns or record.started_ns),
        "ttlMs": _TTL_MS,
        "pollIntervalMs": _POLL_MS,
    }


async def show_task(service: Service, context: Context, record: RunRecord, tool: McpSkill) -> JsonMapping:
    """What a task is at, what it asks, or what it came to."""
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
