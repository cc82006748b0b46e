"""An agent of Retinue as a function from text to text, and how a process serves it."""

import asyncio
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

import retinue
from retinue.agents.port import Agent, Reply, RunContext
from retinue.conformance.subjects import CallableSubject, SubjectInfo, dialect_adapter
from retinue.conformance.subjects.module_worker import serve
from retinue.contract.definition import Definition, Skill
from retinue.contract.task import Correction, Task
from retinue.dialects import dialect
from retinue.errors import InvalidInput, UnknownName


@retinue.agent
async def greet(name: str) -> dict[str, str]:
    """Greets somebody by name. Use when a greeting is due. Returns the greeting."""
    return {"greeting": f"Hello, {name}"}


def skill(name: str, *examples: str, **facts: Any) -> Skill:
    schema = {
        "type": "object",
        "properties": {"words": {"type": "string"}, "times": {"type": "integer"}},
        "required": ["words", "times"],
        "additionalProperties": False,
    }
    return Skill(
        name=name,
        description=f"It can {name}.",
        input_schema=schema,
        instruction_field="words",
        examples=examples,
        **facts,
    )


class Baker:
    """An agent with two skills, of which words have to say which is meant."""

    definition = Definition(
        name="baker",
        description="Bakes and sells.",
        aliases=("bakery",),
        skills=(
            skill("bake", "bake two loaves of bread", "bake a cake in the oven", defaults={"times": 1}),
            skill("sell", "sell three rolls to a customer", "what is the price of a roll", defaults={"times": 1}),
        ),
    )

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        del run
        return Reply(data={"did": task.skill, "with": task.parameters})


def asked(agent: Agent | Callable[..., object], dialect: str, text: str) -> dict[str, Any]:
    function = dialect_adapter(agent, dialect)  # pyright: ignore[reportArgumentType] - a decorated function is an agent
    return json.loads(asyncio.run(_awaited(function, text)))


async def _awaited(function: Callable[[str], Any], text: str) -> str:
    return await function(text)


def test_it_answers_in_the_dialect_of_the_request() -> None:
    text = "**Agent:** greet\n**Operation:** greet\n**Target:** x\n**Context:** y\n\n**Optional Parameters:**\n- name: Ada\n"
    said = asked(greet, "markdown_json", text)
    assert (said["status"], said["agent"], said["result"]) == ("success", "greet", {"greeting": "Hello, Ada"})


@pytest.mark.requirement("C26")
@pytest.mark.parametrize("text", ["", "Hello!", "**Agent:** greet\n**Target:** x\n", "\0", '{"a": '])
def test_what_is_no_request_gets_an_error_envelope(text: str) -> None:
    said = asked(greet, "markdown_json", text)
    assert (said["status"], said["agent"]) == ("error", "greet")
    assert said["recovery_suggestions"]
    assert isinstance(said["metadata"]["execution_time_ms"], int)


def test_a_request_for_somebody_else_is_refused() -> None:
    text = "**Agent:** butcher\n**Operation:** bake\n**Target:** x\n"
    said = asked(Baker(), "markdown_json", text)
    assert said["status"] == "error"
    assert "another agent" in said["message"]


def test_an_alias_is_a_name_too() -> None:
    text = "**Agent:** bakery\n**Operation:** bake\n**Target:** x\n\nbake bread\n"
    assert asked(Baker(), "markdown_json", text)["result"]["did"] == "bake"


@pytest.mark.requirement("C45")
@pytest.mark.parametrize(
    ("prompt", "did"), [("bake a cake in the oven", "bake"), ("sell a roll to a customer", "sell")]
)
def test_words_say_which_skill_is_meant_and_the_rest_is_read_or_filled_in(prompt: str, did: str) -> None:
    said = asked(Baker(), "run_agent", json.dumps({"prompt": prompt}))
    assert "error" not in said
    assert did in said["content"]


def test_words_that_fit_nothing_are_refused_with_what_there_is() -> None:
    said = asked(Baker(), "run_agent", json.dumps({"prompt": "xyzzy plugh"}))
    assert said["error"]["suggestions"] == ["bake", "sell"]


FALL = Skill(name="fall", description="Falls.", input_schema={"type": "object"})


class Clumsy:
    """An agent that fails, and says which retry it was asked for."""

    definition = Definition(name="clumsy", description="Fails.", skills=(FALL,))

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        del task
        again = "" if run.correction is None else f" again: {run.correction.message}"
        raise InvalidInput(f"It fell{again}", hint="Hold it.")


@pytest.mark.requirement("A13", "A14")
@pytest.mark.parametrize(("retry", "status"), [(1, "error"), (2, "failed")])
def test_a_correction_reaches_the_agent_and_a_failure_after_the_last_retry_is_final(retry: int, status: str) -> None:
    correction = Correction(message="Do not fall.", retry_count=retry, max_retries=2)
    request = Task(id="t", agent="clumsy", skill="fall", parameters={"from": "a tree"})
    said = asked(Clumsy(), "tool_use", dialect("tool_use").render_retry(request, correction).text)
    assert (said["status"], said["retry_count"]) == (status, retry)
    assert said["message"] == "It fell again: Do not fall."


@pytest.mark.requirement("C7")
def test_a_free_parameter_that_a_skill_does_not_know_is_no_reason_to_refuse() -> None:
    text = "**Agent:** greet\n**Operation:** greet\n\n**Optional Parameters:**\n- name: Ada\n- Focus: warmth\n"
    said = asked(greet, "markdown_json", text)
    assert (said["status"], said["result"]) == ("success", {"greeting": "Hello, Ada"})
    assert "'Focus'" in said["warnings"][0]["message"]


def test_the_agents_own_name_as_the_operation_means_the_skill_that_the_words_mean() -> None:
    said = asked(Baker(), "markdown_json", "**Agent:** baker\n**Operation:** baker\n\nbake a cake in the oven\n")
    assert said["result"]["did"] == "bake"


def test_an_unknown_skill_is_refused_by_the_boundary() -> None:
    said = asked(Baker(), "markdown_json", "**Agent:** baker\n**Operation:** burn\n**Target:** x\n")
    assert (said["status"], said["error_type"]) == ("error", "invalid_input")


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(UnknownName):
        dialect_adapter(Baker(), "yaml")


def test_a_process_serves_requests_until_there_are_no_more() -> None:
    async def shout(text: str) -> str:
        await asyncio.sleep(0.01 if text == "slow" else 0)
        return text.upper()

    lines = [{"id": 1, "sent": "slow", "timeout_s": 5}, {"id": 2, "sent": "quick", "timeout_s": 5}]
    into = io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    out = io.StringIO()
    subject = CallableSubject(shout)
    asyncio.run(serve(SubjectInfo(subject, "shout"), into, out))
    subject.close()
    said = {each["id"]: each for each in map(json.loads, out.getvalue().splitlines())}
    assert (said[1]["text"], said[2]["text"], said[1]["error"], said[1]["late"]) == ("SLOW", "QUICK", "", False)
