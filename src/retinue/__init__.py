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
    from retinue.agents.as_run_agent import RunAgent, as_run_agent
    from retinue.agents.boundary import Boundary
    from retinue.agents.boundary.policy import Policy, Rule
    from retinue.agents.boundary.prepare import Agents
    from retinue.agents.grants import Grants, ToolRule
    from retinue.agents.local import LocalContext, call
    from retinue.agents.port import Agent, Reply, RunContext
    from retinue.agents.prompted import PromptedAgent, Toolbox, default_toolbox
    from retinue.agents.prompted.loop import Loop
    from retinue.agents.python import AgentOptions, Choices, FromFacts, PythonAgent, SkillOptions, agent, skill
    from retinue.agents.registry import Registry, Skipped
    from retinue.agents.remote.discovery import RemoteAgents, connect
    from retinue.agents.wrapped import CommandAgent, Scripted, ScriptedCall, TextAgent, scripted
    from retinue.contract.credentials import Cleaner
    from retinue.contract.definition import (
        Definition,
        Deprecation,
        Runner,
        Sample,
        Skill,
        Source,
        ThinkingBounds,
        ToolSpec,
    )
    from retinue.contract.event import Checkpoint, Event, Message, Progress
    from retinue.contract.facts import ColumnFacts, Facts, TableFacts
    from retinue.contract.fault import Fault
    from retinue.contract.finding import Finding
    from retinue.contract.plan import Binding, Candidate, Delegation, Dropped, Expected, Plan
    from retinue.contract.result import Artifact, Attempt, Cost, Result, Trace, Usage, UsagePart, Versions, Warned
    from retinue.contract.sanitize import check_branch_name, check_workspace_path, clean_content, escape_markdown
    from retinue.contract.task import Answer, Budget, Context, Correction, Limits, OutputWish, Question, Task
    from retinue.engine.base import Capabilities, Engine, Outside, PendingQuestion, RunFilter, RunRecord
    from retinue.engine.inprocess import InProcessEngine
    from retinue.engine.journal import Journal
    from retinue.engine.offload import Pool
    from retinue.errors import RetinueError
    from retinue.llm.budget_tracker import BudgetScope, BudgetTracker
    from retinue.llm.models import Models, ProviderSettings
    from retinue.llm.port import AnswerShape, LanguageModel, Request, Response, ToolCall
    from retinue.llm.prices import Price
    from retinue.llm.recording import Recorder, Replay
    from retinue.llm.scripted import ScriptedModel
    from retinue.orchestration.orchestrator import Orchestrator, workflows
    from retinue.orchestration.reader.embedding import SentenceEmbedder
    from retinue.orchestration.reader.planner import Planner
    from retinue.orchestration.supervise import supervise
    from retinue.tools.port import Tool, ToolOutput
    from retinue.tools.workspace import Workspace

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AgentOptions",
    "Agents",
    "Answer",
    "AnswerShape",
    "Artifact",
    "Attempt",
    "Binding",
    "Boundary",
    "Budget",
    "BudgetScope",
    "BudgetTracker",
    "Candidate",
    "Capabilities",
    "Checkpoint",
    "Choices",
    "Cleaner",
    "ColumnFacts",
    "CommandAgent",
    "Context",
    "Correction",
    "Cost",
    "Definition",
    "Delegation",
    "Deprecation",
    "Dropped",
    "Engine",
    "Event",
    "Expected",
    "Facts",
    "Fault",
    "Finding",
    "FromFacts",
    "Grants",
    "InProcessEngine",
    "Journal",
    "LanguageModel",
    "Limits",
    "LocalContext",
    "Loop",
    "Message",
    "Models",
    "Orchestrator",
    "OutputWish",
    "Outside",
    "PendingQuestion",
    "Plan",
    "Planner",
    "Policy",
    "Pool",
    "Price",
    "Progress",
    "PromptedAgent",
    "ProviderSettings",
    "PythonAgent",
    "Question",
    "Recorder",
    "Registry",
    "RemoteAgents",
    "Replay",
    "Reply",
    "Request",
    "Response",
    "Result",
    "RetinueError",
    "Rule",
    "RunAgent",
    "RunContext",
    "RunFilter",
    "RunRecord",
    "Runner",
    "Sample",
    "Scripted",
    "ScriptedCall",
    "ScriptedModel",
    "SentenceEmbedder",
    "Skill",
    "SkillOptions",
    "Skipped",
    "Source",
    "TableFacts",
    "Task",
    "TextAgent",
    "ThinkingBounds",
    "Tool",
    "ToolCall",
    "ToolOutput",
    "ToolRule",
    "ToolSpec",
    "Toolbox",
    "Trace",
    "Usage",
    "UsagePart",
    "Versions",
    "Warned",
    "Workspace",
    "__version__",
    "agent",
    "as_run_agent",
    "call",
    "check_branch_name",
    "check_workspace_path",
    "clean_content",
    "connect",
    "default_toolbox",
    "escape_markdown",
    "scripted",
    "skill",
    "supervise",
    "workflows",
]

_NAMES: Final = {
    "agents.as_run_agent": "RunAgent as_run_agent",
    "agents.boundary": "Boundary",
    "agents.boundary.policy": "Policy Rule",
    "agents.boundary.prepare": "Agents",
    "agents.grants": "Grants ToolRule",
    "agents.local": "LocalContext call",
    "agents.port": "Agent Reply RunContext",
    "agents.prompted": "PromptedAgent Toolbox default_toolbox",
    "agents.prompted.loop": "Loop",
    "agents.python": "AgentOptions Choices FromFacts PythonAgent SkillOptions agent skill",
    "agents.registry": "Registry Skipped",
    "agents.remote.discovery": "RemoteAgents connect",
    "agents.wrapped": "CommandAgent Scripted ScriptedCall TextAgent scripted",
    "contract.credentials": "Cleaner",
    "contract.definition": "Definition Deprecation Runner Sample Skill Source ThinkingBounds ToolSpec",
    "contract.event": "Checkpoint Event Message Progress",
    "contract.facts": "ColumnFacts Facts TableFacts",
    "contract.fault": "Fault",
    "contract.finding": "Finding",
    "contract.plan": "Binding Candidate Delegation Dropped Expected Plan",
    "contract.result": "Artifact Attempt Cost Result Trace Usage UsagePart Versions Warned",
    "contract.sanitize": "check_branch_name check_workspace_path clean_content escape_markdown",
    "contract.task": "Answer Budget Context Correction Limits OutputWish Question Task",
    "engine.base": "Capabilities Engine Outside PendingQuestion RunFilter RunRecord",
    "engine.inprocess": "InProcessEngine",
    "engine.journal": "Journal",
    "engine.offload": "Pool",
    "errors": "RetinueError",
    "llm.budget_tracker": "BudgetScope BudgetTracker",
    "llm.models": "Models ProviderSettings",
    "llm.port": "AnswerShape LanguageModel Request Response ToolCall",
    "llm.prices": "Price",
    "llm.recording": "Recorder Replay",
    "llm.scripted": "ScriptedModel",
    "orchestration.orchestrator": "Orchestrator workflows",
    "orchestration.reader.embedding": "SentenceEmbedder",
    "orchestration.reader.planner": "Planner",
    "orchestration.supervise": "supervise",
    "tools.port": "Tool ToolOutput",
    "tools.workspace": "Workspace",
}
_RENAMED: Final = {"Ledger": "BudgetScope", "Purse": "BudgetTracker", "ToolUse": "ToolCall"}
"""Names of before 0.2, still there with a warning."""
_HOMES: Final = {name: home for home, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _RENAMED:
        import warnings  # noqa: PLC0415 - only old code needs it

        warnings.warn(f"`retinue.{name}` is now `retinue.{_RENAMED[name]}`.", DeprecationWarning, stacklevel=2)
        name = _RENAMED[name]
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
