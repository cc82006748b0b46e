"""Any agent as a `run_agent` function, spec 001's entry point (B1 to B17): for hosts that load agents of that kind.

The way back, a module with `run_agent` as an agent, is `module`.
"""

import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Protocol, cast

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.module import in_context_copy
from retinue.agents.port import Agent
from retinue.agents.registry import Registry
from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result, public_result
from retinue.contract.sanitize import printable
from retinue.contract.task import Context, Limits, Task
from retinue.dialects.run_agent import ParsedConfig, read_config, read_correction, read_history, render_result
from retinue.engine.base import REAL
from retinue.engine.ids import RunIds
from retinue.errors import InvalidInput, RetinueError
from retinue.tools.workspace import Workspace

_LOGGER: Final = logging.getLogger(__name__)


class RunAgent(Protocol):
    """A `run_agent` function."""

    async def __call__(
        self,
        prompt: str,
        chat_history: str | None = None,
        memory: str | None = None,
        config: Mapping[str, Any] | None = None,
        **extra: Any,
    ) -> dict[str, Any]:
        """Answer `prompt`. Never raises but on cancellation: a failure is an answer with `error`."""
        ...


def as_run_agent(
    agent: Agent,
    *,
    skill: str | None = None,
    boundary: Boundary | None = None,
    workspace: Workspace | None = None,
    environment: Mapping[str, str] | None = None,
) -> RunAgent:
    """Give `agent` the form that spec 001 asks for.

        # core/agent/reviewer.py, for ACTIVE_AGENT_PATH
        run_agent = retinue.as_run_agent(reviewer)

    Every call passes the boundary, so what comes out is checked. What an exception of the agent says goes to the log
    (`logging.getLogger("retinue")`), and to the caller only the id under which it stands there. `response_time_secs` is
    the wall clock of the call.
    In `config`, `domain_timeout_secs` bounds the call and `model_overrides.domain` names its model; `tool_root`,
    `only_domains` and `execution_mode` reach the agent in `task.extras["run_agent"]["config"]`. Keys that the spec does
    not know reach it there too, as they may be the agent's own; they are listed in the answer's `ignored` (B14), and
    what is wrong with a known one in its `warnings`.

    Args:
        agent: The agent that answers.
        skill: Which of its skills; needed when it has several.
        boundary: What it is called through; one of its own when absent.
        workspace: The fenced directory for it.
        environment: Where settings are looked up that `config` leaves out (B13); the process's when absent.
    """
    gateway = boundary or Boundary(Registry())
    environ = os.environ if environment is None else environment
    ids = RunIds(REAL.clock, REAL.chance)

    async def run_agent(
        prompt: str,
        chat_history: str | None = None,
        memory: str | None = None,
        config: Mapping[str, Any] | None = None,
        **extra: Any,
    ) -> dict[str, Any]:
        began_ns = time.perf_counter_ns()
        name = "agent"
        try:
            name = agent.definition.name
            arguments = _check_arguments(prompt, chat_history, memory, config)
            arguments["prompt"], correction = read_correction(arguments["prompt"], arguments["config"] or {})
            task, read = _build_task(name, skill, arguments, extra, environ)
            async with LocalContext(workspace=workspace) as run:
                run.run = ids.new()
                result = await in_context_copy(gateway.call_agent(agent, task, run, correction=correction))
            answer = _answer(public_result(result, run=run.run), read)
        except Exception as error:  # whatever it is, it is an answer here
            failure = Result(task_id="", agent=name, outcome="error", fault=Fault.from_error(error))
            if not isinstance(error, RetinueError):
                id_ = ids.new()
                _LOGGER.exception("run %s: `%s` could not be called", id_, name)
                failure = public_result(failure, run=id_)
            answer = _answer(failure, None)
        answer["response_time_secs"] = (time.perf_counter_ns() - began_ns) / 1e9
        return answer

    return run_agent


def _check_arguments(prompt: object, chat_history: object, memory: object, config: object) -> JsonMapping:
    """The four arguments by name.

    Raises:
        InvalidInput: They are not what the spec says.
    """
    arguments = {"prompt": prompt, "chat_history": chat_history, "memory": memory, "config": config}
    problems = [
        f"`{name}` is a `{type(arguments[name]).__name__}`, not a text"
        for name in ("prompt", "chat_history", "memory")
        if not isinstance(arguments[name], str) and (name == "prompt" or arguments[name] is not None)
    ]
    if config is not None and not isinstance(config, Mapping):
        problems.append(f"`config` is a `{type(config).__name__}`, not a dictionary")
    if problems:
        raise InvalidInput(
            f"`run_agent` cannot be called like this: {'; '.join(problems)}.",
            hint="Call it as `run_agent(prompt, chat_history=None, memory=None, config=None)`.",
        )
    return arguments


def _build_task(
    name: str, skill: str | None, arguments: JsonMapping, extra: JsonMapping, environment: Mapping[str, str]
) -> tuple[Task, ParsedConfig]:
    """The call as a task, and its parsed `config`."""
    # What is passed beside the four counts as settings too, when it is called like one; `config` itself comes first.
    raw_config: JsonMapping = {**extra, **(arguments["config"] or {})}
    read = read_config(raw_config, environment)
    config = read.config
    overrides = config.model_overrides
    settings: JsonMapping = {}
    for key, value in raw_config.items():
        if json.pointer([key]) in read.ignored:
            with suppress(RetinueError):  # what is not JSON is left out
                json.dumps({key: value})
                settings[key] = value
    settings.update(config.model_dump(exclude_none=True))
    task = Task(
        id="run_agent",
        agent=name,
        skill=skill,
        instruction=arguments["prompt"],
        context=Context(history=read_history(arguments["chat_history"] or ""), memory=arguments["memory"] or ""),
        limits=Limits(timeout_s=config.domain_timeout_secs),
        model=overrides.domain if overrides else None,
        extras={"run_agent": {"config": settings}} if settings else {},
    )
    return task, read


def _answer(result: Result, read: ParsedConfig | None) -> dict[str, Any]:
    """The answer as the dictionary that the spec describes; the time is the caller's to add."""
    try:
        text = render_result(result).text
    except RetinueError as error:  # a value that JSON cannot hold: even that failure is an answer
        text = render_result(
            Result(task_id="", agent=result.agent, outcome="error", fault=Fault.from_error(error))
        ).text
    answer = cast("dict[str, Any]", json.loads(text))
    if read is not None and read.ignored:
        answer["ignored"] = [printable(each) for each in read.ignored]
    problems = [] if read is None else [finding for finding in read.findings if finding.severity != "info"]
    if problems:
        warnings = [{"type": "degraded_analysis", "message": f"config{each.path}: {each.message}"} for each in problems]
        answer["warnings"] = [*cast("list[Any]", answer.get("warnings", [])), *warnings]
    return answer
