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
from retinue.contract.task import Task
from retinue.dialects import dialect as dialect_of
from retinue.dialects.port import ParseContext
from retinue.errors import RetinueError, UnknownName
from retinue.orchestration.reader.bind import bind
from retinue.orchestration.reader.router import Router
from retinue.tools.workspace import Workspace

_ID: Final = "task"


def dialect_adapter(
    agent: Agent, dialect: str, *, workspace: Workspace | None = None
) -> Callable[[str], Awaitable[str]]:
    """`agent` as a function that takes and gives the text of `dialect`.

    Args:
        agent: Who answers.
        dialect: What it speaks.
        workspace: The fenced directory it works in.

    Raises:
        UnknownName: There is no such dialect.
    """
    adapter, boundary, definition = dialect_of(dialect), Boundary(Registry()), agent.definition
    parse_context = ParseContext(task_id=_ID, agent=definition.name)

    async def answer(text: str) -> str:
        began_ns = time.perf_counter_ns()
        try:
            read = adapter.parse_task(text, context=parse_context)
            task = _complete_task(definition, read.value)
        except RetinueError as error:
            result = _refusal(definition, error)
        else:
            async with LocalContext(workspace=workspace) as run:
                result = await boundary.call_agent(agent, task, run, correction=read.correction)
            if (correction := read.correction) is not None:
                # The retries are those of whoever asks; after the last of them a failure is final (A14).
                last = correction.max_retries is not None and correction.retry_count >= correction.max_retries
                outcome = "failed" if last and result.outcome == "error" else result.outcome
                retries = result.retries + correction.retry_count
                result = result.model_copy(update={"outcome": outcome, "retries": retries})
        if result.duration_ns is None:  # of a refusal, which formats want to know all the same
            result = result.model_copy(update={"duration_ns": time.perf_counter_ns() - began_ns})
        return adapter.render_result(result).text

    return answer


def _complete_task(definition: Definition, task: Task) -> Task:
    """The task with the skill that is meant, and what its words say of parameters it owes (C45, C47)."""
    names = (definition.name, *definition.aliases)
    if fold(task.agent) not in map(fold, names):
        raise UnknownName(
            f"`{task.agent[:80]}` is another agent.", hint=f"Ask for `{definition.name}` here.", suggestions=names
        )
    name = task.skill
    if name is None or (name == definition.name and definition.skill(name) is None):
        if definition.default_skill is not None:
            name = definition.default_skill.name
        elif (routing := Router([definition]).route(task.instruction)).abstained:
            skills = tuple(skill.name for skill in definition.skills)
            message = f"`{definition.name}` does not do {task.instruction[:80]!r}."
            raise UnknownName(message, hint=f"It does: {', '.join(skills)}.", suggestions=skills)
        else:
            name = routing.candidates[0].skill
    skill = definition.skill(name)
    if skill is None:  # which the boundary says better
        return task
    values = {skill.instruction_field: task.instruction, skill.target_field: task.target, **task.parameters}
    missing = {each for each in skill.input_schema.get("required", ()) if not values.get(each)}
    parameters = bind(skill, task.instruction, target=task.target).parameters if missing else {}
    read = {each: value for each, value in parameters.items() if each in missing}
    return task.model_copy(update={"skill": name, "parameters": {**read, **task.parameters}})


def _refusal(definition: Definition, error: RetinueError) -> Result:
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
