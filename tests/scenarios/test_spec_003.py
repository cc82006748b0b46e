"""Spec 003, the first hour: agents behind one contract, in Markdown blocks and JSON envelopes."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import retinue as package
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


@pytest.mark.row("K2", "K24")
def test_the_printed_validator_knows_the_agent_by_its_name(
    retinue: Retinue, analyzer: Callable[..., tuple[str, ...]]
) -> None:
    said = retinue(*analyzer("story-deep", "STORY-0001.2.3"))
    assert (said.code, said.data["agent"], said.data["outcome"]) == (0, "ticket_analyzer", "success")
    refused = retinue(*analyzer("story-depth", "STORY-0001.2.3"))
    assert (refused.code, refused.data["fault"]["code"]) == (5, "invalid_input")
    assert "Invalid operation 'story-depth' for ticket-analyzer." in refused.data["fault"]["message"]


@pytest.mark.row("K2", "K24")
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


@pytest.mark.row("C3", "K10", "K12")
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


@pytest.mark.row("C3")
def test_a_project_may_only_be_stricter_than_its_user(retinue: Retinue, write: Write) -> None:
    write("retinue.toml", '[run]\nlevel = "strict"\n')
    assert "strict" in retinue("config", "show").out
    write("retinue.toml", '[run]\nlevel = "lenient"\n')
    refused = retinue("config", "show")
    assert "a project may narrow `run.level`, not widen it to 'lenient'" in refused.err + refused.out
