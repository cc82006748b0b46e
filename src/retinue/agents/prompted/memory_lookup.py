"""What an agent's memory says about its task, looked up before it begins (`memory` of a definition).

The tools `remember`, `recall` and `forget` do the work; here only which scope a definition means.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from retinue.contract.names import fold
from retinue.contract.sanitize import printable
from retinue.contract.task import Task
from retinue.errors import RetinueError
from retinue.tools.port import Tool, ToolContext

from .data_block import as_data_block

RECALL: Final = "recall"

SCOPES: Final[Mapping[str, str]] = MappingProxyType(
    {"global": "global", "user": "global", "project": "project", "local": "project"}
)
"""What definitions write, and which memories they mean."""

_LONGEST_QUERY: Final = 1_000
_LIMIT: Final = 4_000


async def recall_memories(
    scope: str, task: Task, tools: Mapping[str, Tool], *, deadline_ns: int | None = None
) -> tuple[str, str]:
    """What is remembered about `task`, between marks; and why nothing could be looked up, if so.

    Args:
        scope: As the definition says it.
        task: What it is about.
        tools: Those the agent may use.
        deadline_ns: When its time is up.
    """
    memory_scope, recall = SCOPES.get(fold(scope)), tools.get(RECALL)
    if memory_scope is None:
        return "", f"the memory {scope[:80]!r}; there is `user` and `project`."
    if recall is None:
        return "", f"memory: the agent has no tool `{RECALL}`."
    query = " ".join((task.instruction or task.target or task.context.what).split())[:_LONGEST_QUERY]
    if not query:
        return "", ""
    try:
        output = await recall.use({"query": query, "scope": memory_scope}, ToolContext(None, deadline_ns, _LIMIT))
    except RetinueError as error:
        return "", f"memory: {error.message}"
    if not output.data or not output.data.get("memories"):
        return "", ""
    return (
        f"What you remember that may bear on it:\n{as_data_block(printable(output.text[:_LIMIT]), output.origin)}",
        "",
    )
