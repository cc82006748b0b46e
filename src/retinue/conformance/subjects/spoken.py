"""An agent of Retinue's own as a function from text to text: it reads and answers in a dialect, through the boundary.

So it can be judged as a stranger would be.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Final

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.port import Agent
from retinue.agents.registry import Registry
from retinue.contract import CONTRACT_VERSION
from retinue.contract.definition import Definition
from retinue.contract.fault import Fault
from retinue.contract.names import fold
from retinue.contract.result import Result, Versions
from retinue.dialects import dialect as dialect_of
from retinue.dialects.port import Known
from retinue.errors import RetinueError, UnknownName
from retinue.tools.workspace import Workspace

__all__ = ["spoken"]

_ID: Final = "task"


def spoken(agent: Agent, dialect: str, *, workspace: Workspace | None = None) -> Callable[[str], Awaitable[str]]:
    """`agent` as a function that takes and gives the text of `dialect`.

    Args:
        agent: Who answers.
        dialect: What it speaks.
        workspace: The fenced directory it works in.

    Raises:
        UnknownName: There is no such dialect.
    """
    speaks, boundary, definition = dialect_of(dialect), Boundary(Registry()), agent.definition
    known = Known(task_id=_ID, agent=definition.name)

    async def answer(text: str) -> str:
        began_ns = time.perf_counter_ns()
        try:
            task = speaks.parse_task(text, known=known).value
            _see_it_is_meant(definition, task.agent)
        except RetinueError as error:
            result = _refused(definition, error)
        else:
            async with LocalContext(workspace=workspace) as run:
                result = await boundary.call_agent(agent, task, run)
        if result.duration_ns is None:  # of a refusal, which formats want to know all the same
            result = result.model_copy(update={"duration_ns": time.perf_counter_ns() - began_ns})
        return speaks.render_result(result).text

    return answer


def _see_it_is_meant(definition: Definition, asked: str) -> None:
    names = (definition.name, *definition.aliases)
    if fold(asked) not in map(fold, names):
        raise UnknownName(
            f"`{asked[:80]}` is somebody else.", hint=f"Ask for `{definition.name}` here.", suggestions=names
        )


def _refused(definition: Definition, error: RetinueError) -> Result:
    """The result of a request that could not be read, or was for another."""
    fault = Fault.from_error(error, failed_at="read the request", timestamp_ns=time.time_ns())
    if not fault.suggestions:
        skills = ", ".join(skill.name for skill in definition.skills)
        fault = fault.model_copy(update={"suggestions": (f"Ask `{definition.name}` for one of: {skills}.",)})
    return Result(
        task_id=_ID,
        agent=definition.name,
        versions=Versions(agent=definition.version, contract=CONTRACT_VERSION),
        outcome="error",
        fault=fault,
    )
