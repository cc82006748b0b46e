"""Spec 001, the first hour: `run_agent`, the module that `ACTIVE_AGENT_PATH` names, and an assistant of domains."""

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import retinue as package
from retinue.catalogue.personal_assistant import PersonalAssistant
from tests.scenarios.conftest import Retinue, Write

# Section "Return shape": the language-agnostic schema, as it is printed.
SHAPE: dict[str, Any] = {
    "type": "object",
    "required": ["content", "response_time_secs", "traces"],
    "properties": {
        "content": {"type": "string"},
        "response_time_secs": {"type": "number"},
        "traces": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "output"],
                "properties": {
                    "tool": {"type": "string"},
                    "output": {"type": "string"},
                    "args": {"type": "object"},
                    "duration_secs": {"type": "number"},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": True,
}

# Sections "Function signature" and "Python reference types", as they are printed, around an agent of the author's own.
HIERARCHICAL = '''
from typing import Optional, List, Dict, Any
import time
from pydantic import BaseModel, Field

class ToolTraceMinimal(BaseModel):
    tool: str
    output: str
    args: Optional[Dict[str, Any]] = None
    duration_secs: Optional[float] = None

class AgentOutputMinimal(BaseModel):
    content: str
    response_time_secs: float
    traces: List[ToolTraceMinimal] = Field(default_factory=list)


async def run_agent(prompt: str, chat_history: Optional[str] = None, memory: Optional[str] = None, config: Optional[dict] = None):
    """Plans the day of one person. Use when somebody asks what is on today. Returns the plan."""
    begun = time.perf_counter()
    trace = ToolTraceMinimal(tool="COACHBYTE_GET_WORKOUT_TODAY", args={"date": "2025-09-10"},
                             output='{"plan":"squats"}', duration_secs=0.34)
    turns = len((chat_history or "").splitlines())
    told = f"Here is your plan for today. You asked: {prompt} Turns: {turns}. Memory: {memory}. Config: {sorted(config or {})}"
    output = AgentOutputMinimal(content=told, response_time_secs=time.perf_counter() - begun, traces=[trace])
    return {**output.model_dump(exclude_none=True), "models": {"router": "none"}}
'''

WINE = '''
"""wine_tool.py"""

import time
from typing import Literal

NAME = "WINE"
SYSTEM_PROMPT = "You keep the wine cellar of one person."
BOTTLES = {"Zweigelt": "red", "Veltliner": "white"}


def WINE_GET_bottles(colour: Literal["red", "white", "any"] = "any") -> list[str]:
    """List the bottles that are left.

    How much red wine is left?
    Example response: A bottle of Zweigelt.
    Example args: {"colour": "red"}
    Notes: What is in the cellar.
    """
    return [name for name, its in BOTTLES.items() if colour in {its, "any"}]


def WINE_GET_taste(wine: str) -> str:
    """Taste a wine."""
    time.sleep(60)
    return wine


TOOLS = [WINE_GET_bottles, WINE_GET_taste]
'''


# The module of the author's own.


@pytest.mark.requirement("B1", "B4", "B17")
def test_the_active_module_is_asked_when_nobody_else_is(retinue: Retinue, write: Write) -> None:
    write("core/agent/hierarchical.py", HIERARCHICAL)
    ended = retinue("ask", "What is on today?", "--json", ACTIVE_AGENT_PATH="core/agent/hierarchical.py")
    assert ended.code == 0
    assert ended.data["outcome"] == "success"
    assert ended.data["content"].startswith("Here is your plan for today. You asked: What is on today?")
    (trace,) = ended.data["traces"]
    assert (trace["tool"], trace["args"]) == ("COACHBYTE_GET_WORKOUT_TODAY", {"date": "2025-09-10"})
    assert json.loads(trace["output"]) == {"plan": "squats"}
    assert trace["duration_ns"] == 340_000_000
    people = retinue("ask", "What is on today?", ACTIVE_AGENT_PATH="core/agent/hierarchical.py")
    assert "Here is your plan for today." in people.out
    missing = retinue("ask", "What is on today?", "--json", ACTIVE_AGENT_PATH="core/agent/none.py")
    assert missing.code != 0
    assert "core/agent/none.py" in missing.error["message"]
    assert retinue("ask", "What is on today?").code == 2


@pytest.mark.requirement("B17", "C10")
def test_a_module_that_is_called_as_a_built_in_agent_is_the_one_that_is_asked(retinue: Retinue, write: Write) -> None:
    write("assistant.py", HIERARCHICAL)
    ended = retinue("ask", "What is on today?", "--json", ACTIVE_AGENT_PATH="assistant.py")
    assert ended.code == 0
    assert ended.data["agent"] == "assistant"
    assert ended.data["content"].startswith("Here is your plan for today.")


@pytest.mark.requirement("B1")
def test_the_module_is_judged_against_the_spec(retinue: Retinue, write: Write) -> None:
    write("core/agent/hierarchical.py", HIERARCHICAL)
    assert retinue("check", "core/agent/hierarchical.py", "--dialect", "run_agent").code == 0
    write("core/agent/broken.py", HIERARCHICAL.replace('"models": {', '"traces": {'))
    broken = retinue("check", "core/agent/broken.py", "--dialect", "run_agent")
    assert broken.code == 8
    assert "traces" in broken.out


# `run_agent` in Python.


def _answered(answer: Any) -> dict[str, Any]:
    jsonschema_rs.validate(SHAPE, answer)
    return answer


@pytest.mark.requirement("B1", "B4", "B5")
def test_any_agent_is_a_run_agent_that_answers_in_the_printed_shape() -> None:
    @package.agent
    async def planner(prompt: str) -> str:
        """Plans a day. Use when somebody asks for a plan. Returns the plan."""
        return f"First {prompt}, then rest."

    async def go() -> dict[str, Any]:
        run_agent = package.as_run_agent(planner)
        return await run_agent(
            "run", chat_history="user: hi\nassistant: hello", memory="likes mornings", config={"x": 1}
        )

    answer = _answered(asyncio.run(go()))
    assert answer["content"] == "First run, then rest."
    assert answer["traces"] == []
    assert answer["response_time_secs"] >= 0


@pytest.mark.requirement("B6", "B8", "B15", "B24")
def test_the_assistant_as_a_run_agent_keeps_tools_in_order_and_config_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOMAIN_TIMEOUT_SECS", "0.000001")
    run_agent = package.as_run_agent(PersonalAssistant.bind(store=tmp_path / "store.db"))
    config = {"domain_timeout_secs": 30, "unknown_key": True}

    async def go(prompt: str, config: dict[str, Any]) -> dict[str, Any]:
        return await run_agent(prompt, config=config)

    answer = _answered(asyncio.run(go("remind me to call Ada tomorrow", config)))
    assert answer["content"].startswith("Added task 1: call Ada")
    assert [trace["tool"] for trace in answer["traces"]] == ["TASKS_ACTION_add"]
    assert "TASKS" in json.dumps(answer["results"])
    noted = _answered(asyncio.run(go("show me the open tasks", {**config, "model_overrides": {"router": "x:y"}})))
    assert noted["content"].startswith("Task 1: call Ada")
    assert "`model_overrides` has no effect" in json.dumps(noted["warnings"])
    only = {**config, "only_domains": ["TASKS"]}
    asked = _answered(asyncio.run(go("what is still on my to-do list", only)))
    assert [trace["tool"] for trace in asked["traces"]] == ["TASKS_GET_open"]
    assert _answered(asyncio.run(go("which notes mention the wifi", only)))["traces"] == []


# The assistant from the shell.


@pytest.mark.requirement("B8", "B20", "B21")
def test_a_tool_root_of_ones_own_answers_once_it_is_trusted(retinue: Retinue, write: Write) -> None:
    write("tools/wine_tool.py", WINE)
    question = ("ask", "personal_assistant", "which red bottles are there?", "--json")
    before = retinue(*question, TOOL_ROOT="tools")
    assert before.code == 5
    assert before.data["fault"]["code"] == "access_denied"
    assert "retinue trust --tool-root" in before.data["fault"]["hint"]
    assert retinue("trust", "--tool-root", "tools", "--yes").code == 0
    after = retinue(*question, TOOL_ROOT="tools")
    assert after.code == 0
    assert after.data["content"] == '["Zweigelt"]'
    assert [(trace["tool"], trace["args"]) for trace in after.data["traces"]] == [
        ("WINE_GET_bottles", {"colour": "red"})
    ]
    write("tools/wine_tool.py", WINE.replace("Zweigelt", "Merlot"))
    assert retinue(*question, TOOL_ROOT="tools").code == 5


@pytest.mark.requirement("B24", "B10")
@pytest.mark.parametrize("mode", ["async", "threads"])
def test_a_domain_that_is_too_slow_is_a_timeout(retinue: Retinue, write: Write, mode: str) -> None:
    write("tools/wine_tool.py", WINE.replace("def WINE_GET_taste", "async def WINE_GET_taste").replace(
        "time.sleep(60)", "await __import__('asyncio').sleep(60)"
    ))  # fmt: skip
    assert retinue("trust", "--tool-root", "tools", "--yes").code == 0
    words = ("-p", "tool=WINE_GET_taste", "-p", 'arguments={"wine": "Zweigelt"}', "-p", f"execution_mode={mode}")
    ended = retinue("ask", "personal_assistant", "taste it", *words, "--json",
                    TOOL_ROOT="tools", DOMAIN_TIMEOUT_SECS="0.3")  # fmt: skip
    assert ended.code == 7
    assert ended.data["outcome"] in {"error", "failed"}  # the latter after having tried again
    assert ended.data["fault"]["code"] == "timeout"
    assert "`WINE` did not answer in time" in ended.data["fault"]["message"]
    assert ended.data["data"]["results"][0]["output"] == "Timed out"


@pytest.mark.requirement("G22", "B13")
@pytest.mark.parametrize(
    "prompt", ["What's the capital of France?", "what's the weather tomorrow", "open the door", "send an email to Bob"]
)
def test_what_is_not_its_own_is_rejected_and_a_question_writes_nothing(retinue: Retinue, prompt: str) -> None:
    ended = retinue("ask", "personal_assistant", prompt, "--json")
    assert ended.code == 5
    assert ended.data["outcome"] == "rejected"
    assert ended.data["traces"] == []
    assert ended.data["fault"]["suggestions"] == ["NOTES", "TASKS", "WORKOUTS"]
    assert retinue("ask", "personal_assistant", "Do I have a task to call Ada?", "--json").code in {0, 5}
    for question, nothing in (
        ("show my newest notes", "There is no note."),
        ("show me the open tasks", "No task is open."),
    ):
        assert retinue("ask", "personal_assistant", question, "--json").data["content"] == nothing


@pytest.mark.requirement("G23")
def test_what_is_told_in_one_process_is_known_in_the_next(retinue: Retinue) -> None:
    assert retinue("ask", "personal_assistant", "jot down that the wifi password is tea2go").code == 0
    found = retinue("ask", "personal_assistant", "which notes mention the wifi", "--json")
    assert "wifi password is tea2go" in found.data["content"]
    asked = retinue("ask", "personal_assistant", "Can you remind me to call Ada tomorrow?", "--json")
    assert asked.data["content"].startswith("Added task 1: call Ada, due ")
