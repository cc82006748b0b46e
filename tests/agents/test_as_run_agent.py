"""Any agent as a `run_agent` function (B1 to B17), and the traces of many calls at once, both ways."""

import asyncio
import contextvars
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import Field

import retinue
from retinue.agents.as_run_agent import RunAgent, as_run_agent
from retinue.agents.module import ModuleAgent, in_context_copy, load_module
from retinue.agents.port import Reply, RunContext
from retinue.contract import schema
from retinue.contract.result import Result, Trace, Warned
from retinue.contract.task import Correction, Task
from retinue.dialects.run_agent import ANSWER_SCHEMA, parse_value, render_arguments
from retinue.tools.workspace import Workspace
from tests.examples import examples


@retinue.agent
async def counter(prompt: Annotated[str, Field(min_length=1)]) -> int:
    """Counts words. Use when a length is asked for. Returns the number."""
    return len(prompt.split())


@retinue.agent(output=dict[str, Any])
async def teller(prompt: str, task: Task, run: RunContext) -> Reply:
    """Tells what it was given. Use in tests. Returns it."""
    await asyncio.sleep(0)
    return Reply(
        data={
            "prompt": prompt,
            "history": list(task.context.history),
            "memory": task.context.memory,
            "model": task.model,
            "config": task.extras.get("run_agent", {}).get("config"),
            "seconds": None if run.deadline_ns is None else round((run.deadline_ns - run.now()) / 1e9),
        },
        traces=(Trace(tool="LOOK", output=prompt), Trace(tool="LOOK", output=prompt, args={"again": True})),
    )


@retinue.agent
async def breaker(prompt: str) -> str:
    """Fails. Use in tests. Returns nothing."""
    raise RuntimeError(prompt)


def answered(agent: Any, *arguments: Any, **named: Any) -> dict[str, Any]:
    """What the agent comes to as a `run_agent`; always what the spec's own schema takes."""
    options: dict[str, Any] = {name: named.pop(name) for name in ("environment", "workspace", "skill") if name in named}
    options.setdefault("environment", {})
    run_agent = as_run_agent(agent, **options)
    answer = asyncio.run(run_agent(*arguments, **named))
    assert schema.compile(ANSWER_SCHEMA).findings(answer) == []
    return answer


@pytest.mark.requirement("B1", "B4")
def test_an_agent_answers_as_the_spec_says_and_its_time_is_measured() -> None:
    answer = answered(counter, "three short words")
    assert answer["content"]
    assert answer["results"] == 3
    assert answer["traces"] == []
    assert 0 < answer["response_time_secs"] < 60
    assert "error" not in answer


@pytest.mark.requirement("B2", "B3", "B8", "B9", "B10", "B11", "B12")
def test_arguments_and_settings_reach_the_agent() -> None:
    config = {
        "tool_root": "tools",
        "only_domains": ["calendar"],
        "execution_mode": "threads",
        "domain_timeout_secs": 30,
        "model_overrides": {"domain": "small-1"},
    }
    answer = answered(teller, "do", chat_history="user: a\nassistant: b", memory="m", config=config)
    assert answer["results"] == {
        "prompt": "do",
        "history": ["user: a", "assistant: b"],
        "memory": "m",
        "model": "small-1",
        "config": config,
        "seconds": 30,
    }
    assert [trace["tool"] for trace in answer["traces"]] == ["LOOK", "LOOK"]
    assert "ignored" not in answer


@pytest.mark.requirement("B13")
def test_config_beats_the_environment_for_that_call() -> None:
    environment = {"DOMAIN_TIMEOUT_SECS": "20", "EXECUTION_MODE": "async"}
    assert answered(teller, "x", environment=environment)["results"]["seconds"] == 20
    said = answered(teller, "x", config={"domain_timeout_secs": 40}, environment=environment)["results"]
    assert (said["seconds"], said["config"]["execution_mode"]) == (40, "async")


@pytest.mark.requirement("B14", "C7")
def test_unknown_settings_are_listed_and_reach_the_agent_and_wrong_ones_are_warnings() -> None:
    config = {"only_domain": ["a"], "domain_timeout_secs": "soon", "a/b": 2, "broken": object()}
    answer = answered(teller, "x", config=config, tool_root="t", odd=1)
    assert answer["ignored"] == ["/odd", "/only_domain", "/a~1b", "/broken"]
    assert answer["results"]["config"] == {"odd": 1, "only_domain": ["a"], "a/b": 2, "tool_root": "t"}
    assert [each["message"] for each in answer["warnings"]] == [
        "config/domain_timeout_secs: Input should be a valid number."
    ]


@pytest.mark.requirement("K24", "C25")
def test_a_failure_is_an_answer_with_an_error() -> None:
    answer = answered(breaker, "oh")
    assert answer["content"]
    assert answer["error"]["code"] == "internal_error"
    assert "RuntimeError" not in str(answer)
    refused = answered(counter, "")
    assert refused["error"]["code"] == "invalid_input"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((1,), "`prompt` is a `int`, not a text"),
        ((None,), "`prompt` is a `NoneType`"),
        (("x", ["a"]), "`chat_history` is a `list`"),
        (("x", None, 3), "`memory` is a `int`"),
        (("x", None, None, "fast"), "`config` is a `str`, not a dictionary"),
    ],
)
def test_wrong_arguments_are_an_answer_too(arguments: tuple[Any, ...], part: str) -> None:
    assert part in answered(counter, *arguments)["error"]["message"]


def test_a_setting_that_no_json_can_name_is_listed_harmlessly() -> None:
    answer = answered(teller, "x", config={"\ud800\x1b[2J": 1})
    assert answer["ignored"] == [r"/\u{d800}\u{1b}[2J"]
    assert answer["results"].get("config") is None


def test_an_agent_without_a_definition_is_an_answer_too() -> None:
    class Nobody:
        @property
        def definition(self) -> Any:
            raise ZeroDivisionError

    assert answered(Nobody(), "x")["error"]["code"] == "internal_error"


@pytest.mark.requirement("C26")
def test_a_skill_that_is_not_there_is_said(tmp_path: Path) -> None:
    answer = answered(counter, "x", skill="cont", workspace=Workspace(tmp_path))
    assert answer["error"]["code"] == "invalid_input"
    assert "counter" in answer["error"]["hint"]


def test_cancelling_a_call_cancels_the_agent() -> None:
    seen: list[str] = []
    asleep = asyncio.Event()

    @retinue.agent
    async def sleeper(prompt: str) -> str:
        """Sleeps. Use in tests. Returns nothing."""
        seen.append(prompt)
        asleep.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("ended")
        return ""

    async def main() -> None:
        call = asyncio.ensure_future(as_run_agent(sleeper)("x"))
        await asleep.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(main())
    assert seen == ["x", "ended"]


@settings(max_examples=examples(100), deadline=None)
@given(
    st.text() | st.none() | st.integers(),
    st.dictionaries(
        st.sampled_from(["tool_root", "only_domains", "domain_timeout_secs", "model_overrides", "x"]),
        st.recursive(st.none() | st.text() | st.floats() | st.binary(), st.lists),
    ),
)
def test_no_arguments_raise(prompt: Any, config: dict[str, Any]) -> None:
    answer = answered(counter, prompt, config=config)
    assert parse_value(answer, level="strict").value.traces == ()


def test_an_agent_may_go_through_both_adapters() -> None:
    agent = ModuleAgent(as_run_agent(teller, environment={}), file="teller.py", about="")
    result = asyncio.run(retinue.call(agent, "do"))
    assert (result.outcome, result.data["prompt"]) == ("success", "do")
    assert [trace.output for trace in result.traces] == ["do", "do"]
    failed = asyncio.run(retinue.call(ModuleAgent(as_run_agent(breaker), file="breaker.py", about=""), "oh"))
    assert failed.fault is not None
    assert (failed.outcome, failed.fault.code) == ("error", "internal_error")


def test_what_is_partial_stays_partial() -> None:
    @retinue.agent(output=str)
    async def half(prompt: str) -> Reply:
        """Does half. Use in tests. Returns half."""
        warning = Warned(type="missing_data", message="No second half.", impact="Half.", recovery="Ask again.")
        return Reply(data=prompt[: len(prompt) // 2], outcome="partial", warnings=(warning,))

    answer = answered(half, "abcd")
    assert (answer["content"], answer["results"]) == ("ab", "ab")
    assert answer["warnings"][0]["message"] == "No second half."


# Many calls at once.

MODULE = '''"""Keeps the traces of a call in a context variable. Returns them."""
import asyncio, contextvars

TRACES = contextvars.ContextVar("traces")

def traces():
    kept = TRACES.get(None)
    if kept is None:
        TRACES.set(kept := [])
    return kept

async def tool(prompt):
    await asyncio.sleep(0)
    traces().append({"tool": "T", "output": prompt})

async def run_agent(prompt, chat_history=None, memory=None, config=None):
    for _ in range(3):
        await tool(prompt)
        await asyncio.sleep(0)
    return {"content": prompt, "response_time_secs": 0.0, "traces": traces()}
'''


def module(tmp_path: Path) -> ModuleAgent:
    (tmp_path / "keeper.py").write_text(MODULE)
    return load_module(Path("keeper.py"), root=tmp_path)


@pytest.mark.requirement("B17")
def test_the_traces_of_fifty_calls_of_a_module_never_mix(tmp_path: Path) -> None:
    agent = module(tmp_path)

    async def main() -> list[Result]:
        at_once = await asyncio.gather(*(retinue.call(agent, f"call {number}") for number in range(50)))
        return [*at_once, *[await retinue.call(agent, f"then {number}") for number in range(3)]]

    for result in asyncio.run(main()):
        assert [trace.output for trace in result.traces] == [result.content] * 3


@pytest.mark.requirement("B17")
def test_the_traces_of_fifty_calls_of_an_agent_as_run_agent_never_mix(tmp_path: Path) -> None:
    functions: list[RunAgent] = [as_run_agent(teller), as_run_agent(module(tmp_path))]

    async def main() -> list[tuple[str, dict[str, Any]]]:
        prompts = [f"call {number}" for number in range(50)]
        calls = [functions[at % 2](prompt) for at, prompt in enumerate(prompts)]
        at_once = await asyncio.gather(*calls)
        return [*zip(prompts, at_once, strict=True), ("then", await functions[1]("then"))]

    for prompt, answer in asyncio.run(main()):
        assert {trace["output"] for trace in answer["traces"]} == {prompt}
        assert len(answer["traces"]) in {2, 3}


def test_a_call_apart_sees_the_context_and_leaves_nothing_in_it() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    async def call() -> str:
        before = variable.get()
        variable.set("inside")
        await asyncio.sleep(0)
        return before + variable.get()

    async def main() -> tuple[str, str]:
        variable.set("outside")
        return await in_context_copy(call()), variable.get()

    assert asyncio.run(main()) == ("outsideinside", "outside")


def test_what_is_thrown_into_a_call_apart_arrives() -> None:
    seen: list[str] = []

    async def call() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("told")
            await asyncio.sleep(0)
            raise
        finally:
            seen.append("left")

    async def main() -> None:
        task = asyncio.ensure_future(_awaiting(in_context_copy(call())))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        closed = _awaiting(in_context_copy(call()))
        closed.send(None)
        closed.close()

    asyncio.run(main())
    assert seen == ["told", "left", "left"]


async def _awaiting(call: Any) -> Any:
    return await call


@pytest.mark.requirement("C6", "A13")
def test_a_correction_reaches_the_agent_and_is_no_part_of_its_prompt() -> None:
    seen: list[object] = []

    @retinue.agent
    async def listener(prompt: str, run: RunContext) -> str:
        """Listens. Use in tests. Returns what it heard."""
        seen.append(run.correction)
        return prompt

    correction = Correction(message="Say more.", retry_count=1)
    arguments = render_arguments(Task(id="", agent="listener", instruction="Speak."), correction=correction)
    assert answered(listener, **arguments)["content"] == "Speak."
    assert seen == [correction]
