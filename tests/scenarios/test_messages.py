"""Requests and answers as messages of the six dialects, by command."""

import json

import pytest

from tests.scenarios.conftest import Retinue, Write

GREET = '''import retinue


@retinue.agent
async def greet(name: str) -> dict[str, str]:
    """Greets somebody by name. Use when a greeting is due. Returns the greeting."""
    return {"greeting": f"Hello, {name}!"}
'''
HAND_OFF = {
    "source_agent": "orchestrator",
    "target_agent": "greet",
    "message_type": "task_delegation",
    "payload": {
        "task_id": "r_001",
        "instruction": "greet Ada",
        "context_summary": "A guest has come.",
        "constraints": ["max_2_minutes"],
        "required_output_format": "json_table",
    },
}
BLOCK = "**Agent:** greet\n**Operation:** greet\n**Target:** Ada\n**Context:** A guest.\n\n**Optional Parameters:**\n- name: Ada\n"
WORKER = """
import json, re, sys
block = sys.stdin.read()
asked = dict(re.findall(r"^\\*\\*(\\w+):\\*\\* (.*)$", block, re.MULTILINE))
print(json.dumps({"status": "success", "agent": asked["Agent"], "version": "1.0", "operation": asked["Operation"],
                  "result": {"target": asked["Target"], "last": block.splitlines()[-1]}, "metadata": {"execution_time_ms": 1}}))
"""


@pytest.fixture(autouse=True)
def agent(retinue: Retinue, write: Write) -> None:
    write(".retinue/agents/greet.py", GREET)
    assert retinue("trust", "--yes").code == 0


@pytest.mark.requirement("A7", "A11")
def test_a_hand_off_is_answered_with_an_envelope(retinue: Retinue) -> None:
    ended = retinue("ask", "--in", "tool_use", stdin=json.dumps(HAND_OFF))
    assert ended.code == 0, ended.err
    assert ended.data["status"] == "success"
    assert ended.data["result"] == {"greeting": "Hello, Ada!"}
    assert "lost: " in ended.err


@pytest.mark.requirement("K2", "K3")
def test_an_input_block_is_answered_with_the_json_of_its_contract(retinue: Retinue) -> None:
    ended = retinue("ask", "greet", "--in", "markdown_json", stdin=BLOCK)
    assert ended.code == 0, ended.err
    assert (ended.data["agent"], ended.data["operation"]) == ("greet", "greet")
    assert ended.data["result"] == {"greeting": "Hello, Ada!"}


@pytest.mark.requirement("B1", "H6")
def test_one_dialect_in_and_another_out(retinue: Retinue) -> None:
    ended = retinue("ask", "greet", "--in", "run_agent", "--out", "task_signal", stdin='{"prompt": "greet Ada"}')
    assert ended.code == 0, ended.err
    assert ended.out.startswith("STATUS: complete\n")
    ended = retinue("ask", "greet", "greet Ada", "--out", "agent_http")
    assert ended.data["status"]["state"] == "completed"


def test_a_failure_is_a_message_too(retinue: Retinue, write: Write) -> None:
    write(".retinue/agents/greet.py", GREET.replace("return {", 'raise RuntimeError("no voice")\n    return {'))
    assert retinue("trust", "--yes").code == 0
    ended = retinue("ask", "greet", "--in", "markdown_json", stdin=BLOCK)
    assert ended.code == 5
    assert ended.data["status"] == "error"
    assert ended.data["error_type"] == "internal_error"


def test_a_message_orders_nothing(retinue: Retinue) -> None:
    """Its model, limits and paths are wishes; another agent than the command's is refused."""
    wish = {**HAND_OFF, "target_agent": "git_state_analyzer"}
    ended = retinue("ask", "greet", "--in", "tool_use", stdin=json.dumps(wish))
    assert ended.code == 2
    assert "The message is for 'git_state_analyzer'" in ended.err
    ended = retinue("ask", "--in", "tool_use", stdin=json.dumps({**HAND_OFF, "target_agent": "nobody_here"}))
    assert ended.code == 2
    body = {
        "prompt": "greet Ada",
        "config": {"model_overrides": {"domain": "openai:gpt-5"}, "domain_timeout_secs": 1e-9},
    }
    assert retinue("ask", "greet", "--in", "run_agent", stdin=json.dumps(body)).code == 0


def test_what_cannot_be_read_is_refused_with_its_place(retinue: Retinue) -> None:
    ended = retinue("ask", "greet", "--in", "markdown_json", stdin="nonsense")
    assert (ended.code, ended.data["error_type"], ended.data["agent"]) == (6, "invalid_input", "greet")
    assert "stdin:1:1: error markdown_json/no_block" in ended.err
    assert retinue("ask", "greet", "--in", "tool_use", "--json", stdin="{}").code == 2


def test_a_result_as_json_can_be_converted(retinue: Retinue) -> None:
    answer = retinue("ask", "greet", "greet Ada", "--json")
    assert answer.data["data"] == {"greeting": "Hello, Ada!"}
    ended = retinue("convert", "--to", "markdown_json", stdin=answer.out)
    assert (ended.code, ended.data["result"]) == (0, {"greeting": "Hello, Ada!"})
    ended = retinue("parse", "--json", stdin=answer.out)
    assert (ended.data["dialect"], ended.data["kind"]) == ("retinue", "result")


def test_a_message_on_the_command_line_needs_no_spaces(retinue: Retinue) -> None:
    ended = retinue("ask", "greet", "--in", "run_agent", '{"prompt":"Ada"}')
    assert ended.code == 0, ended.err
    assert "Hello, Ada!" in ended.out


def test_a_message_for_nobody_is_refused_or_goes_to_the_active_module(retinue: Retinue, write: Write) -> None:
    body = json.dumps({"prompt": "greet Ada"})
    ended = retinue("ask", "--in", "run_agent", stdin=body)
    assert (ended.code, ended.data["error"]["code"]) == (2, "invalid_input")
    assert "The message does not say which agent it is for." in ended.err
    write(
        "core.py",
        "async def run_agent(prompt, chat_history=None, memory=None, config=None):\n    return {'content': 'Hello!', 'response_time_secs': 0.1, 'traces': []}\n",
    )
    ended = retinue("ask", "--in", "run_agent", stdin=body, ACTIVE_AGENT_PATH="core.py")
    assert ended.code == 0, ended.err
    assert "Hello!" in ended.out


def test_an_operation_that_the_agent_does_not_have_is_refused(retinue: Retinue) -> None:
    ended = retinue("ask", "--in", "markdown_json", stdin=BLOCK.replace("Operation:** greet", "Operation:** great"))
    assert (ended.code, ended.data["status"], ended.data["error_type"]) == (2, "error", "invalid_input")
    assert "`greet` has no skill 'great'." in ended.data["message"]


def test_a_program_is_asked_what_the_message_asks(retinue: Retinue, write: Write) -> None:
    write("worker", WORKER, program=True)
    command = ("ask", "--command", "./worker", "--dialect", "markdown_json", "--as", "greet")
    ended = retinue(*command, "--in", "markdown_json", stdin=BLOCK)
    assert (ended.code, ended.data["operation"], ended.data["result"]) == (
        0,
        "greet",
        {"target": "Ada", "last": "A guest."},
    )
    write("upper", "import sys\nprint(sys.stdin.read().upper())\n", program=True)
    ended = retinue(
        "ask", "--command", "./upper", "--in", "run_agent", "--out", "task_signal", stdin='{"prompt": "hi"}'
    )
    assert ended.code == 0, ended.err
    assert "HI" in ended.out
