"""Spec 003, the first hour: agents behind one contract, in Markdown blocks and JSON envelopes."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import retinue as package
from tests.llm.wire.script import Reply
from tests.llm.wire.server import WireServer
from tests.scenarios.conftest import Ended, Retinue, Write

# Section "Operation Name Validation", as an agent that uses it: whoever it is not called is refused.
ANALYZER = """
import json, re, sys, time

AGENT_OPERATIONS = {
    "ticket-analyzer": ["story-deep", "ticket-completeness", "hierarchy-gaps", "task-readiness"],
    "pattern-discovery": ["full-survey", "focused-domain", "fixture-lookup", "test-pattern-search"],
}


def validate_operation(agent_name: str, operation: str) -> str:
    if agent_name not in AGENT_OPERATIONS:
        raise ValueError(f"Unknown agent: {agent_name}")
    valid_ops = AGENT_OPERATIONS[agent_name]
    if operation not in valid_ops:
        raise ValueError(f"Invalid operation '{operation}' for {agent_name}. Supported: {', '.join(valid_ops)}")
    return operation


def answer(request: str) -> dict:
    said = dict(re.findall(r"^\\*\\*(Agent|Operation|Target|Context):\\*\\* (.*)$", request, re.MULTILINE))
    agent, target = said.get("Agent", ""), said.get("Target", "")
    envelope = {"status": "success", "agent": "ticket-analyzer", "version": "1.0",
                "metadata": {"execution_time_ms": int(time.process_time() * 1000)}}
    try:
        operation = validate_operation(agent, said.get("Operation", ""))
    except ValueError as error:
        context = {"operation": said.get("Operation", ""), "target": target, "failed_at": "validate_operation"}
        suggestions = ["Ask for one of: " + ", ".join(AGENT_OPERATIONS["ticket-analyzer"])]
        return {**envelope, "status": "error", "error_type": "invalid_input", "message": str(error),
                "context": context, "partial_results": {}, "recovery_suggestions": suggestions}
    result = {"target": target, "score": 85, "issues": [], "ready": True, "files": []}
    if target == "PARTIAL-DATA-TARGET":
        warning = {"type": "missing_data", "message": "Story references 4 tasks but task files not found",
                   "impact": "Cannot validate task completeness or alignment", "recovery": "Create the task files"}
        envelope |= {"status": "partial", "warnings": [warning]}
        envelope["metadata"]["completeness"] = 75
    return {**envelope, "operation": operation, "result": result}


if __name__ == "__main__":
    print(json.dumps(answer(sys.stdin.read())))
"""


@pytest.fixture
def analyzer(write: Write) -> Callable[..., tuple[str, ...]]:
    """The command that asks the spec's analyzer for an operation."""
    write("ticket-analyzer", ANALYZER, program=True)

    def asked(operation: str, target: str) -> tuple[str, ...]:
        command = ("ask", "--command", "./ticket-analyzer", "--dialect", "markdown_json", "--as", "ticket-analyzer")
        return (*command, operation, f"Check {target}", "--json")

    return asked


@pytest.mark.requirement("K2", "K24")
def test_the_printed_validator_knows_the_agent_by_its_name(
    retinue: Retinue, analyzer: Callable[..., tuple[str, ...]]
) -> None:
    said = retinue(*analyzer("story-deep", "STORY-0001.2.3"))
    assert (said.code, said.data["agent"], said.data["outcome"]) == (0, "ticket_analyzer", "success")
    refused = retinue(*analyzer("story-depth", "STORY-0001.2.3"))
    assert (refused.code, refused.data["fault"]["code"]) == (5, "invalid_input")
    assert "Invalid operation 'story-depth' for ticket-analyzer." in refused.data["fault"]["message"]


@pytest.mark.requirement("K2", "K24")
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_an_orchestrator_asks_by_the_plain_name_too(version: str) -> None:
    """A version that nobody asked for stands in no request."""
    asked: list[str] = []

    def analyze(request: str) -> dict[str, Any]:
        asked.append(request)
        return {
            "status": "success", "agent": "ticket-analyzer", "version": "1.0", "operation": "story-deep",
            "result": {}, "metadata": {"execution_time_ms": 1},
        }  # fmt: skip

    definition = package.Definition(
        name="ticket_analyzer", version=version, description="Analyzes tickets.", dialect="markdown_json",
        skills=(package.Skill(name="story_deep", description="Analyzes a story.", input_schema={"type": "object"}),),
    )  # fmt: skip
    agent = package.TextAgent(analyze, definition=definition)

    async def run() -> package.Result:
        registry = package.Registry([agent])
        async with package.InProcessEngine(package.workflows(registry)) as engine:
            return await package.Orchestrator(registry, engine).run_task("ticket_analyzer", "story_deep")

    assert asyncio.run(run()).outcome == "success"
    assert "**Agent:** ticket-analyzer\n" in asked[0]


# Section "Validation Examples": three wrong types inside of an envelope that is whole.
INVALID: dict[str, Any] = {
    "status": "success", "agent": "ticket-analyzer", "version": "1.0", "operation": "story-deep",
    "result": {"score": "85", "issues": None, "ready": "true", "files": []}, "metadata": {"execution_time_ms": 1250},
}  # fmt: skip
VALID: dict[str, Any] = {"score": 85, "issues": [], "ready": True, "files": []}


@pytest.mark.requirement("C3", "K10", "K12")
@pytest.mark.parametrize("how", ["option", "variable", "settings"])
def test_wrong_types_pass_with_warnings_or_are_refused_or_read_as_the_level_says(
    retinue: Retinue, write: Write, how: str
) -> None:
    write("ticket-analyzer", f"import sys\nsys.stdin.read()\nprint({json.dumps(INVALID)!r})\n", program=True)
    command = ("ask", "--command", "./ticket-analyzer", "--dialect", "markdown_json", "--as", "ticket-analyzer")

    def ask(level: str) -> Ended:
        request = (*command, "story-deep", "Check STORY-0001.2.3", "--json")
        if how == "settings":
            write("../config/config.toml", f'[run]\nlevel = "{level}"\n')
        if how == "variable":
            return retinue(*request, RETINUE_RUN_LEVEL=level)
        return retinue(*request, *(["--level", level] if how == "option" else []))

    standard = ask("standard")
    assert (standard.code, standard.data["data"]) == (0, INVALID["result"])
    assert len(standard.data["warnings"]) == 3
    strict = ask("strict")
    assert (strict.code, strict.data["outcome"], strict.data["fault"]["code"]) == (5, "failed", "output_invalid")
    assert [attempt["fault"]["code"] for attempt in strict.data["attempts"]] == ["output_invalid"] * 3
    lenient = ask("lenient")
    assert (lenient.code, lenient.data["data"]) == (0, VALID)


@pytest.mark.requirement("C3")
def test_a_project_may_only_be_stricter_than_its_user(retinue: Retinue, write: Write) -> None:
    write("retinue.toml", '[run]\nlevel = "strict"\n')
    assert "strict" in retinue("config", "show").out
    write("retinue.toml", '[run]\nlevel = "lenient"\n')
    refused = retinue("config", "show")
    assert "a project may narrow `run.level`, not widen it to 'lenient'" in refused.err + refused.out


# Section "Contract Compliance Testing": the three printed tests, of a program and of a Markdown agent alike.

MARKDOWN_AGENT = """---
name: ticket-analyzer
description: Analyzes tickets for completeness. Use before work on a ticket starts. Returns a score and the issues found.
dialect: markdown_json
tools: Read
---
## Operations

### `story-deep`

Checks one story with all its tasks.

### `task-readiness`

Says whether work on a task can begin.
"""
# The provider's package warns of models that it calls old; that is not what is looked at here.
KEYS: dict[str, Any] = {
    "PYTHONWARNINGS": "default",
    "ANTHROPIC_API_KEY": "x",
    "RETINUE_MODELS_DEFAULT": "anthropic:claude-sonnet-4-6",
}


def following(body: dict[str, Any]) -> Reply:
    """What a model says that follows the Markdown agent."""
    asked = json.dumps(body)
    partial = "PARTIAL-DATA-TARGET" in asked
    envelope = {
        "status": "partial" if partial else "success", "agent": "ticket-analyzer", "version": "1.0",
        "operation": "task-readiness" if "You are asked for `task-readiness`" in asked else "story-deep",
        "result": VALID, "metadata": {"execution_time_ms": 1250},
    }  # fmt: skip
    if partial:
        warning = {"type": "missing_data", "message": "4 task files are missing", "impact": "Tasks are not validated",
                   "recovery": "Create the task files"}  # fmt: skip
        envelope |= {"warnings": [warning], "metadata": {"execution_time_ms": 1250, "completeness": 75}}
    return Reply(json.dumps(envelope))


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[WireServer]:
    """A model provider on loopback, which the user's settings name."""
    with WireServer(following) as server:
        place = tmp_path / "config" / "config.toml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f'[models.base_url]\nanthropic = "{server.url}"\n', encoding="utf-8")
        yield server


Invoke = Callable[[str, str, str], str]


@pytest.fixture(params=["program", "markdown"])
def invoke_agent(request: pytest.FixtureRequest, retinue: Retinue, write: Write, provider: WireServer) -> Invoke:
    """The function of that name in the spec: the input block in, the JSON of the contract out."""
    del provider
    if request.param == "program":
        write("ticket-analyzer", ANALYZER, program=True)
    else:
        write(".claude/agents/ticket-analyzer.md", MARKDOWN_AGENT)

    def invoke(agent_name: str, operation: str, target: str) -> str:
        program = ("--command", "./ticket-analyzer", "--dialect", "markdown_json", "--as", agent_name)
        block = f"**Agent:** {agent_name}\n**Operation:** {operation}\n**Target:** {target}\n**Context:** A test.\n"
        command = ("ask", *(program if request.param == "program" else ()), "--in", "markdown_json")
        return retinue(*command, stdin=block, **KEYS).out

    return invoke


@pytest.mark.requirement("K3", "K29")
@pytest.mark.parametrize("operation", ["story-deep", "task-readiness"])
def test_agent_success_contract(invoke_agent: Invoke, operation: str) -> None:
    data = json.loads(invoke_agent("ticket-analyzer", operation, "VALID-TARGET"))
    assert {"status", "agent", "version", "result", "metadata"} <= set(data)
    assert (data["status"], data["agent"], data["operation"]) == ("success", "ticket-analyzer", operation)
    assert isinstance(data["metadata"]["execution_time_ms"], int)


@pytest.mark.requirement("K6", "K24", "K30")
def test_agent_error_contract(invoke_agent: Invoke) -> None:
    data = json.loads(invoke_agent("ticket-analyzer", "invalid-op", "INVALID"))
    assert (data["status"], data["agent"], data["error_type"]) == ("error", "ticket-analyzer", "invalid_input")
    assert "invalid" in data["message"]
    assert any("story" in suggestion for suggestion in data["recovery_suggestions"])


@pytest.mark.requirement("K5", "K31")
def test_agent_partial_contract(invoke_agent: Invoke) -> None:
    data = json.loads(invoke_agent("ticket-analyzer", "story-deep", "PARTIAL-DATA-TARGET"))
    assert (data["status"], data["metadata"]["completeness"]) == ("partial", 75)
    assert data["result"]["score"] == 85
    assert data["warnings"]
    for warning in data["warnings"]:
        assert {"type", "message", "impact"} <= set(warning)


# Slash commands, and the operations that a Markdown agent lists.

COMMAND = """---
description: Start work on a ticket.
---
Ask with this block and wait for the answer:

**Agent:** ticket-analyzer
**Operation:** {}
**Target:** $ARGUMENTS
**Context:** Work is about to begin.
"""


@pytest.mark.requirement("C27", "K2")
def test_a_slash_command_calls_an_operation_that_the_agent_lists(
    retinue: Retinue, write: Write, provider: WireServer
) -> None:
    write(".claude/agents/ticket-analyzer.md", MARKDOWN_AGENT)
    write(".claude/commands/start.md", COMMAND.format("task-readiness"))
    assert retinue("lint", ".claude").code == 0
    listed = retinue("agents", "ticket-analyzer", "--json").data["skills"]
    assert [skill["name"] for skill in listed] == ["ticket_analyzer", "story_deep", "task_readiness"]
    assert listed[2]["description"] == "Says whether work on a task can begin."
    said = retinue("ask", "ticket-analyzer", "task-readiness", "May TASK-1 start?", "--json", **KEYS)
    assert (said.code, said.data["skill"], said.data["data"]) == (0, "task_readiness", VALID)
    general = retinue("ask", "ticket-analyzer", "Look at STORY-1", "--json", **KEYS)
    assert (general.code, general.data["skill"]) == (0, "ticket_analyzer")
    assert "You are asked for `task-readiness`" in json.dumps(provider.asked[0].body)

    write(".claude/commands/start.md", COMMAND.format("task-ready"))
    unknown = retinue("lint", ".claude")
    assert unknown.code == 6
    assert "task-readiness" in unknown.out
    refused = retinue("ask", "ticket-analyzer", "task-redines", "May TASK-1 start?", **KEYS)
    assert (refused.code, "Did you mean `task_readiness`?" in refused.err) == (2, True)
