"""Rows that show only where a dialect meets agents and callers: both sides of each, over real calls."""

import asyncio
import json
from typing import Any, get_args

import pytest

from retinue.agents.boundary import Boundary
from retinue.agents.boundary.policy import Policy
from retinue.agents.load import load_markdown
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.agents.wrapped import Scripted, scripted
from retinue.contract.result import Outcome, Result
from retinue.contract.task import ContextLevel, OutputWish, Task
from retinue.dialects import markdown_json, tool_use
from retinue.dialects.port import ParseContext
from retinue.orchestration.handoff import hand_on


def asked(agent: Scripted, **facts: Any) -> Result:
    """What one call comes to, with no waiting between attempts."""
    boundary = Boundary(Registry([agent]), policy=Policy(first_wait_s=0.001))
    task = Task(id="t", agent=agent.definition.name, instruction="Count the words.", **facts)
    return asyncio.run(boundary.call(task, LocalContext()))


# Spec 000.


@pytest.mark.requirement("C37", "A11")
def test_the_whole_has_a_confidence_and_so_has_each_finding() -> None:
    findings = [{"content": "a", "confidence": 0.9}, {"content": "b", "confidence": 0.4}]
    envelope = {"status": "success", "result": {"findings": findings}, "metadata": {"confidence": 0.4}}
    result = tool_use.parse_result(json.dumps(envelope), level="strict").value
    assert (result.confidence, result.data["findings"]) == (0.4, findings)
    assert json.loads(tool_use.render_result(result).text) == envelope
    # One that says nothing of the whole is given nothing: nobody measured it.
    silent = tool_use.parse_result(json.dumps({**envelope, "metadata": {}}), level="strict").value
    assert silent.confidence is None
    assert json.loads(tool_use.render_result(silent).text)["metadata"] == {}


@pytest.mark.requirement("C9", "A11")
def test_what_an_agent_thought_is_kept_and_handed_to_nobody() -> None:
    thought = "First I looked."
    envelope = {"status": "success", "result": {"words": 2}, "metadata": {}, "reasoning_log": thought}
    result = asked(scripted(json.dumps(envelope), name="counter", dialect="tool_use"))
    assert result.reasoning == thought
    assert result.native == json.dumps(envelope)
    for level in get_args(ContextLevel):
        assert thought not in str(hand_on(result, level, None).inputs)


# Spec 002.

BEHAVIOUR = """---
name: word-counter
description: Counts words. Use when a length is asked for. Returns the number.
---
You are a counter of words.

STEP 1: Read every file twice, aloud.
"""


@pytest.mark.requirement("H9", "H2", "C40")
def test_an_agent_is_pointed_to_its_behaviour_and_told_only_what_is_new() -> None:
    (loaded,) = load_markdown(BEHAVIOUR.encode(), file=".claude/agents/word-counter.md").agents
    skills = tuple(skill.model_copy(update={"unavailable": None}) for skill in loaded.definition.skills)
    definition = loaded.definition.model_copy(update={"dialect": "task_signal", "skills": skills})
    agent = scripted("STATUS: complete\n\nTwo.", definition=definition)
    result = asked(agent, output=OutputWish(path="reports/words.md"))
    text = agent.calls[0].text
    assert "Read and follow: .claude/agents/word-counter.md" in text
    assert "Count the words." in text
    assert "reports/words.md" in text
    assert "aloud" not in text
    assert result.attempts


# Spec 003.

FAILURE: dict[str, Any] = {
    "status": "error",
    "agent": "counter",
    "version": "1.0",
    "error_type": "missing_file",
    "message": "There is no file words.txt.",
    "recovery_suggestions": ["Create words.txt."],
    "metadata": {"execution_time_ms": 1},
}


@pytest.mark.requirement("C4", "K6", "K9")
@pytest.mark.parametrize(
    "said", [{"operation": "count"}, {"context": {"operation": "count"}}, {"operation": "count", "context": {}}]
)
def test_a_failure_may_say_its_operation_in_either_place(said: dict[str, Any]) -> None:
    failed = markdown_json.parse_result(json.dumps({**FAILURE, **said}), context=ParseContext(agent="counter")).value
    assert failed.skill == "count"
    written = json.loads(markdown_json.render_result(failed).text)
    assert written["context"]["operation"] == "count"
    assert "operation" not in written
    wide = json.loads(markdown_json.render_result(failed, form="wide").text)
    assert (wide["operation"], wide["context"]["operation"]) == ("count", "count")


ENVELOPE: dict[str, Any] = {"agent": "counter", "version": "1.0", "operation": "counter"}
WARNING = {"type": "missing_data", "message": "b.md is gone", "impact": "It was not counted", "recovery": "Bring it"}
SUCCESS = json.dumps({**ENVELOPE, "status": "success", "result": {"words": 2}, "metadata": {"execution_time_ms": 1}})
PARTIAL = json.dumps(
    {**ENVELOPE, "status": "partial", "result": {"words": 1}, "warnings": [WARNING],
     "metadata": {"execution_time_ms": 1, "completeness": 50}}
)  # fmt: skip


@pytest.mark.requirement("K24", "C25", "C6")
@pytest.mark.parametrize(
    ("answer", "outcome", "code"),
    [
        (SUCCESS, "success", None),
        (PARTIAL, "partial", None),
        (json.dumps(FAILURE), "error", "missing_file"),
        ("{", "failed", "output_invalid"),
        (SUCCESS.replace('"counter", "version"', '"another", "version"'), "failed", "output_invalid"),
        (SUCCESS.replace('"success"', '"finished"'), "failed", "output_invalid"),
    ],
)
def test_whatever_an_agent_answers_its_caller_gets_a_result(answer: str, outcome: Outcome, code: str | None) -> None:
    result = asked(scripted(*[answer] * 3, name="counter", dialect="markdown_json"))
    assert (result.outcome, result.fault and result.fault.code) == (outcome, code)
    if outcome == "partial":
        assert (result.data, result.warnings[0].recovery, result.completeness) == ({"words": 1}, "Bring it", 50)
    if outcome == "error":
        assert result.fault is not None
        assert (result.fault.message, result.fault.hint) == (FAILURE["message"], "Create words.txt.")
        assert result.retries == 0
    if outcome == "failed":
        assert result.retries == 2


COMMAND = """\
Use Task tool with agent specification:

**Agent:** ticket-analyzer
**Operation:** story-deep
**Target:** STORY-0001.2.3
**Context:** Pre-work validation

Execute the analysis and return structured JSON output per AGENT_CONTRACT.md.
"""


@pytest.mark.requirement("K23")
def test_a_command_asks_by_a_block_and_the_sentence_below_it() -> None:
    read = markdown_json.parse_task(COMMAND)
    assert (read.form, read.value.agent, read.value.skill) == ("invocation", "ticket_analyzer", "story_deep")
    assert read.value.instruction == ""
    written = markdown_json.render_task(read.value, form="invocation")
    assert written.text.rstrip().endswith("Execute per AGENT_CONTRACT.md.")
    assert markdown_json.parse_task(written.text, level="strict").value == read.value


@pytest.mark.requirement("K34", "C35", "K9")
@pytest.mark.parametrize(
    ("version", "rules"),
    [("1.0", []), ("1.7", []), ("1.0.3", []), (None, ["markdown_json/no_version"]), ("2.0", ["markdown_json/version"])],
)
def test_the_same_major_is_compatible_and_a_missing_version_with_a_warning(
    version: str | None, rules: list[str]
) -> None:
    envelope: dict[str, Any] = json.loads(SUCCESS)
    del envelope["version"]
    said = {**envelope, "version": version} if version else envelope
    read = markdown_json.parse_result(json.dumps(said), context=ParseContext(agent="counter"))
    assert [(each.rule, each.severity) for each in read.findings] == [(rule, "warning") for rule in rules]
