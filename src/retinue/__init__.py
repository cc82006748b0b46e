"""Retinue makes agent contracts executable.

    import retinue

    @retinue.agent
    async def greet(name: str) -> dict[str, str]:
        '''Greets somebody by name. Use when a greeting is due. Returns the greeting.'''
        return {"greeting": f"Hello, {name}"}

    result = await retinue.call(greet, name="Ada")

Importing this costs next to nothing: what you use is loaded when you use it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from retinue.agents.as_run_agent import as_run_agent
    from retinue.agents.boundary import Boundary
    from retinue.agents.grants import Grants, ToolRule
    from retinue.agents.local import call
    from retinue.agents.port import Agent, Reply, RunContext
    from retinue.agents.prompted import PromptedAgent, Toolbox, default_toolbox
    from retinue.agents.python import agent, skill
    from retinue.agents.registry import Registry
    from retinue.agents.wrapped import CommandAgent, Scripted, TextAgent, scripted
    from retinue.contract.budget import Budget
    from retinue.contract.correction import Correction
    from retinue.contract.definition import Definition, Skill
    from retinue.contract.event import Event
    from retinue.contract.fault import Fault
    from retinue.contract.finding import Finding
    from retinue.contract.plan import Delegation, Expected, Plan
    from retinue.contract.question import Answer, Question
    from retinue.contract.result import Artifact, Result, Warned
    from retinue.contract.task import Task
    from retinue.engine.inprocess import InProcessEngine
    from retinue.errors import RetinueError
    from retinue.llm.models import Models, ProviderSettings
    from retinue.llm.recording import Recorder, Replay
    from retinue.llm.scripted import ScriptedModel
    from retinue.orchestration.orchestrator import Orchestrator, workflows
    from retinue.orchestration.supervise import supervise
    from retinue.tools.workspace import Workspace

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "Answer",
    "Artifact",
    "Boundary",
    "Budget",
    "CommandAgent",
    "Correction",
    "Definition",
    "Delegation",
    "Event",
    "Expected",
    "Fault",
    "Finding",
    "Grants",
    "InProcessEngine",
    "Models",
    "Orchestrator",
    "Plan",
    "PromptedAgent",
    "ProviderSettings",
    "Question",
    "Recorder",
    "Registry",
    "Replay",
    "Reply",
    "Result",
    "RetinueError",
    "RunContext",
    "Scripted",
    "ScriptedModel",
    "Skill",
    "Task",
    "TextAgent",
    "ToolRule",
    "Toolbox",
    "Warned",
    "Workspace",
    "__version__",
    "agent",
    "as_run_agent",
    "call",
    "default_toolbox",
    "scripted",
    "skill",
    "supervise",
    "workflows",
]

_HOMES: Final = {
    "Agent": "agents.port",
    "Answer": "contract.question",
    "Artifact": "contract.result",
    "Boundary": "agents.boundary",
    "Budget": "contract.budget",
    "CommandAgent": "agents.wrapped",
    "Correction": "contract.correction",
    "Definition": "contract.definition",
    "Delegation": "contract.plan",
    "Event": "contract.event",
    "Expected": "contract.plan",
    "Fault": "contract.fault",
    "Finding": "contract.finding",
    "Grants": "agents.grants",
    "InProcessEngine": "engine.inprocess",
    "Models": "llm.models",
    "Orchestrator": "orchestration.orchestrator",
    "Plan": "contract.plan",
    "PromptedAgent": "agents.prompted",
    "ProviderSettings": "llm.models",
    "Question": "contract.question",
    "Recorder": "llm.recording",
    "Registry": "agents.registry",
    "Replay": "llm.recording",
    "Reply": "agents.port",
    "Result": "contract.result",
    "RetinueError": "errors",
    "RunContext": "agents.port",
    "Scripted": "agents.wrapped",
    "ScriptedModel": "llm.scripted",
    "Skill": "contract.definition",
    "Task": "contract.task",
    "TextAgent": "agents.wrapped",
    "ToolRule": "agents.grants",
    "Toolbox": "agents.prompted",
    "Warned": "contract.result",
    "Workspace": "tools.workspace",
    "agent": "agents.python",
    "as_run_agent": "agents.as_run_agent",
    "call": "agents.local",
    "default_toolbox": "agents.prompted",
    "scripted": "agents.wrapped",
    "skill": "agents.python",
    "supervise": "orchestration.supervise",
    "workflows": "orchestration.orchestrator",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
