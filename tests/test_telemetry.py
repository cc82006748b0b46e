"""Spans, as whoever sets OpenTelemetry up sees them: what stands below what, what failed, and nothing that was said."""

import asyncio
import contextvars
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

import retinue
from retinue.contract.result import Usage
from retinue.errors import InvalidInput
from retinue.llm.scripted import ScriptedModel, tool_call
from retinue.telemetry import model_span, run_span, tool_span
from retinue.tools.workspace import Workspace
from tests.agents.prompted.cast import Cast, delegated, orchestrated

SECRET = "the-code-is-4711"
IN_MEMORY = InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def provider() -> Iterator[None]:
    """What a program that wants spans does: once, for the whole process."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(IN_MEMORY))
    trace.set_tracer_provider(provider)
    yield
    IN_MEMORY.shutdown()


@pytest.fixture(autouse=True)
def nothing_yet() -> None:
    IN_MEMORY.clear()


def tree() -> list[str]:
    """The names of all spans, in the order in which they began, each below its parent."""
    spans = sorted(IN_MEMORY.get_finished_spans(), key=lambda span: span.start_time or 0)

    def below(parent: SpanContext | None, depth: int) -> Iterator[str]:
        for span in spans:
            if (span.parent and span.parent.span_id) == (parent and parent.span_id):
                yield f"{'  ' * depth}{span.name}"
                yield from below(span.get_span_context(), depth + 1)

    lines = list(below(None, 0))
    assert len(lines) == len(spans), "a span has a parent that has not ended"
    return lines


def spans(name: str) -> list[ReadableSpan]:
    return [span for span in IN_MEMORY.get_finished_spans() if span.name == name]


def attributes(name: str) -> dict[str, object]:
    (span,) = spans(name)
    return dict(span.attributes or {})


def everything() -> str:
    return "\n".join(span.to_json() for span in IN_MEMORY.get_finished_spans())


@retinue.agent
async def greet(name: str) -> str:
    """Greets somebody. Use in tests. Returns the greeting."""
    with trace.get_tracer("of the agent").start_as_current_span("look up"):
        return f"Hello, {name}"


@retinue.agent
def count(text: str) -> int:
    """Counts letters, in a thread. Use in tests. Returns their number."""
    trace.get_tracer("of the agent").start_span("count").end()
    return len(text)


@retinue.agent
async def flaky(prompt: str, run: retinue.RunContext) -> int:
    """Fails once. Use in tests. Returns a number."""
    if run.attempt == 1:
        raise ConnectionError(SECRET)
    return len(prompt)


@retinue.agent
async def broken(prompt: str) -> str:
    """Fails. Use in tests. Returns nothing."""
    raise ValueError(f"{prompt}: {SECRET}")


def run_plan(*nodes: retinue.Delegation, agents: tuple[retinue.Agent, ...]) -> retinue.Result:
    async def main() -> retinue.Result:
        registry = retinue.Registry(agents)
        async with retinue.InProcessEngine(retinue.workflows(registry)) as engine:
            return await retinue.Orchestrator(registry, engine).run_plan(retinue.Plan(nodes=nodes))

    return asyncio.run(main())


def node(name: str, agent: str, **facts: object) -> retinue.Delegation:
    return retinue.Delegation(id=name, agent=agent, **facts)  # pyright: ignore[reportArgumentType] - facts of a test


def test_a_call_and_what_the_agent_does_in_it_are_one_trace() -> None:
    async def main() -> None:
        with trace.get_tracer("of the program").start_as_current_span("request"):
            await asyncio.gather(retinue.call(greet, name=SECRET), retinue.call(count, text=SECRET))

    asyncio.run(main())
    assert tree() == [
        "request",
        *("  invoke_agent greet", "    attempt", "      look up"),
        *("  invoke_agent count", "    attempt", "      count"),
    ]
    assert attributes("invoke_agent greet") == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "greet",
        "gen_ai.agent.version": "1.0",
        "retinue.skill.name": "greet",
        "retinue.run.id": "local",
        "retinue.step.id": "call",
        "retinue.outcome": "success",
    }
    assert SECRET not in everything()
    (span,) = spans("invoke_agent greet")
    assert span.instrumentation_scope is not None
    assert (span.instrumentation_scope.name, span.instrumentation_scope.version) == ("retinue", retinue.__version__)


def test_a_plan_with_a_retry_shows_each_attempt_and_why_the_first_failed() -> None:
    result = run_plan(
        node("a", "flaky", parameters={"prompt": SECRET}), node("b", "greet", parameters={"name": "Ada"}, needs=["a"]),
        agents=(flaky, greet),
    )  # fmt: skip
    assert result.outcome == "success"
    assert tree() == [
        "invoke_workflow",
        *("  invoke_agent flaky", "    attempt", "    attempt"),
        *("  invoke_agent greet", "    attempt", "      look up"),
    ]
    assert attributes("invoke_workflow") == {
        "gen_ai.operation.name": "invoke_workflow",
        "retinue.run.id": result.task_id,
        "retinue.outcome": "success",
    }
    assert attributes("invoke_agent flaky")["retinue.run.id"] == result.task_id
    assert attributes("invoke_agent flaky")["retinue.step.id"] == "a"
    told = [(span.attributes, span.status.status_code) for span in spans("attempt")]
    assert told == [
        ({"retinue.attempt.number": 1, "error.type": "network_error"}, StatusCode.ERROR),
        ({"retinue.attempt.number": 2}, StatusCode.UNSET),
        ({"retinue.attempt.number": 1}, StatusCode.UNSET),
    ]
    assert SECRET not in everything()


def test_what_failed_is_an_error_by_its_code_without_its_message() -> None:
    result = run_plan(node("a", "broken", parameters={"prompt": "x"}), agents=(broken,))
    assert not result.useful
    assert tree() == ["invoke_workflow", "  invoke_agent broken", "    attempt"]
    for span in IN_MEMORY.get_finished_spans():
        assert span.status.status_code is StatusCode.ERROR
        assert (span.status.description, span.events) == (None, ())
        assert (span.attributes or {})["error.type"] == "internal_error"
    assert SECRET not in everything()


def test_a_call_that_reaches_nobody_has_its_span() -> None:
    asyncio.run(retinue.call(greet, nobody="x"))
    assert attributes("invoke_agent greet")["error.type"] == "invalid_input"
    IN_MEMORY.clear()
    registry = retinue.Registry([greet])
    task = retinue.Task(id="x", agent="nobody")
    asyncio.run(retinue.Boundary(registry).call(task, retinue.LocalContext()))
    assert attributes("invoke_agent nobody")["error.type"] == "invalid_input"


def test_a_model_and_its_tools_stand_below_the_attempt(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(SECRET)
    lines = [tool_call("read", path="notes.md"), tool_call("read", path=f"{SECRET}.md"), f"It says {SECRET}"]
    cast = Cast(reader=ScriptedModel(lines, name="openai-responses:gpt-5"))
    result = orchestrated(cast.agent("reader", tools=("Read",)), first="reader", workspace=Workspace(tmp_path))
    assert result.outcome == "success"
    assert tree() == [
        "invoke_workflow",
        "  invoke_agent reader",
        "    attempt",
        *("      chat gpt-5", "      execute_tool read", "      chat gpt-5", "      execute_tool read"),
        "      chat gpt-5",
    ]
    asked, *_ = spans("chat gpt-5")
    facts = dict(asked.attributes or {})
    assert asked.kind is SpanKind.CLIENT
    assert facts.pop("gen_ai.usage.input_tokens")
    assert facts.pop("gen_ai.usage.output_tokens")
    assert facts == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.model": "gpt-5",
    }
    taken = [(span.attributes or {})["gen_ai.usage.input_tokens"] for span in spans("chat gpt-5")]
    assert attributes("invoke_agent reader")["gen_ai.usage.input_tokens"] == sum(map(int, map(str, taken)))
    read, missing = spans("execute_tool read")
    called = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read"}
    assert read.attributes == {**called, "gen_ai.tool.call.id": "use_1_1"}
    assert missing.attributes == {**called, "gen_ai.tool.call.id": "use_2_1", "error.type": "missing_file"}
    assert SECRET not in everything()


def test_an_agent_that_asks_another_has_it_below_the_tool_by_which_it_asks() -> None:
    cast = Cast(boss=[delegated("helper"), "Done."], helper=["Looked."])
    orchestrated(cast.agent("boss", tools=("Task",), composes=True), cast.agent("helper"))
    assert tree() == [
        "invoke_workflow",
        "  invoke_agent boss",
        "    attempt",
        *("      chat boss", "      execute_tool delegate", "        invoke_agent helper", "          attempt"),
        *("            chat helper", "      chat boss"),
    ]


def test_the_plan_that_an_agent_answers_with_is_a_workflow_within_the_workflow() -> None:
    @retinue.agent(composes=True)
    async def chief(prompt: str) -> retinue.Plan:
        """Has others work. Use in tests. Returns their work."""
        return retinue.Plan(nodes=[node("x", "greet", parameters={"name": prompt})])

    run_plan(node("a", "chief", parameters={"prompt": "Ada"}), agents=(chief, greet))
    assert tree() == [
        *("invoke_workflow", "  invoke_agent chief", "    attempt", "  invoke_workflow"),
        *("    invoke_agent greet", "      attempt", "        look up"),
    ]


def test_to_be_cancelled_is_no_error() -> None:
    async def main() -> None:
        begun = asyncio.Event()

        @retinue.agent
        async def hangs(prompt: str) -> str:
            """Never ends. Use in tests. Returns nothing."""
            begun.set()
            await asyncio.Event().wait()
            return prompt

        registry = retinue.Registry([hangs])
        async with retinue.InProcessEngine(retinue.workflows(registry)) as engine:
            plan = retinue.Plan(nodes=[node("a", "hangs", parameters={"prompt": "x"})])
            run = await retinue.Orchestrator(registry, engine).start(plan)
            await begun.wait()
            await engine.cancel(run)
            await engine.result(run)

    asyncio.run(main())
    assert tree() == ["invoke_workflow", "  invoke_agent hangs", "    attempt"]
    assert {span.status.status_code for span in IN_MEMORY.get_finished_spans()} == {StatusCode.UNSET}
    assert attributes("invoke_workflow")["retinue.outcome"] == "canceled"


def test_what_is_thrown_out_from_elsewhere_ends_its_span_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        with run_span("r"):
            await asyncio.sleep(0)

    hanging = body()
    contextvars.copy_context().run(hanging.send, None)
    with caplog.at_level(logging.DEBUG):
        hanging.close()
    assert tree() == ["invoke_workflow"]
    assert caplog.records == []
    assert not trace.get_current_span().is_recording()


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("anthropic:claude-haiku-4-5", "anthropic", "claude-haiku-4-5"),
        ("bedrock:eu.anthropic.claude:0", "aws.bedrock", "eu.anthropic.claude:0"),
        ("my-own", None, "my-own"),
    ],
)
def test_a_model_is_named_as_the_conventions_do(model: str, provider: str | None, name: str) -> None:
    with model_span(model) as span:
        span.note_usage(Usage(tokens_in=7, model=f"{model}-0815"))
    facts = attributes(f"chat {name}")
    assert facts.get("gen_ai.provider.name") == provider
    assert facts["gen_ai.request.model"] == name
    assert facts["gen_ai.response.model"] == f"{name}-0815"
    assert facts["gen_ai.usage.input_tokens"] == 7
    assert "gen_ai.usage.output_tokens" not in facts


def test_names_and_numbers_from_outside_can_be_sent_and_hold_no_key() -> None:
    with tool_span("read", f"sk-ant-api03-{'x' * 90}\ud800{'y' * 10_000}"), model_span("a:b") as span:
        span.note_usage(Usage(tokens_in=10**30, model="a:\ud800"))
    told = attributes("execute_tool read")["gen_ai.tool.call.id"]
    assert isinstance(told, str)
    assert len(told.encode()) <= 500
    assert "api03" not in told
    assert attributes("chat b")["gen_ai.usage.input_tokens"] == 2**63 - 1
    assert attributes("chat b")["gen_ai.response.model"] == "?"


@pytest.mark.parametrize(
    ("error", "code"), [(InvalidInput(SECRET), "invalid_input"), (ZeroDivisionError(SECRET), "ZeroDivisionError")]
)
def test_an_exception_that_passes_is_told_by_its_code_or_class(error: Exception, code: str) -> None:
    with pytest.raises(type(error)), model_span("a:b"):
        raise error
    assert attributes("chat b")["error.type"] == code
    assert SECRET not in everything()


def test_a_wrapped_program_is_told_where_its_spans_belong() -> None:
    program = retinue.CommandAgent(["sh", "-c", 'cat >/dev/null; echo "${TRACEPARENT-none}"'])
    (said,) = str(asyncio.run(retinue.call(program, "x")).content).split()
    (attempt,) = spans("attempt")
    context = attempt.get_span_context()
    assert context is not None
    assert said == f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


ONE_CALL = """
import asyncio, retinue, sys
@retinue.agent
async def greet(name: str) -> str:
    '''Greets somebody. Use in tests. Returns the greeting.'''
    return name
program = retinue.CommandAgent(["sh", "-c", 'cat >/dev/null; echo "${TRACEPARENT-none}"'])
async def main():
    return [(await retinue.call(greet, name="Ada")).data, (await retinue.call(program, "x")).content]
print(asyncio.run(main()), "opentelemetry.trace" in sys.modules)
"""


@pytest.mark.parametrize("loaded", ["", "import opentelemetry.trace"])
def test_without_a_provider_nothing_is_made_and_nothing_loaded(loaded: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{loaded}\n{ONE_CALL}"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (f"['Ada', 'none'] {bool(loaded)}\n", "")


# What `opentelemetry-instrument` does: a module that Python loads by itself at its start sets the provider up.
SITE = """
import os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
trace.set_tracer_provider(TracerProvider())
out = open(os.environ["SPANS"], "a")
exporter = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\\n")
trace.get_tracer_provider().add_span_processor(BatchSpanProcessor(exporter))
"""

PROJECT = """
import retinue

@retinue.agent
async def singer(task: str) -> dict[str, str]:
    '''Sings loud songs. Use when a song must be sung. Returns the song.'''
    return {"song": task}
"""


@pytest.mark.slow
@pytest.mark.parametrize("words", [("run", "sing a loud song"), ("ask", "singer", "a loud song")])
def test_the_command_line_hands_its_spans_over_before_it_ends(tmp_path: Path, words: tuple[str, ...]) -> None:
    from tests.cli.shell import run

    site, project = tmp_path / "site", tmp_path / "project"
    (project / ".retinue" / "agents").mkdir(parents=True)
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    (project / ".retinue" / "agents" / "singer.py").write_text(PROJECT)
    assert run(tmp_path, project, "trust", "--yes").returncode == 0
    file = tmp_path / "spans.jsonl"
    done = run(tmp_path, project, *words, PYTHONPATH=str(site), PYTHONWARNINGS="default", SPANS=str(file))
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in file.read_text().splitlines()]
    by_id = {span["context"]["span_id"]: span for span in told}
    (attempt,) = (span for span in told if span["name"] == "attempt")
    agent = by_id[attempt["parent_id"]]
    workflow = by_id[agent["parent_id"]]
    assert (agent["name"], workflow["name"], workflow["parent_id"]) == ("invoke_agent singer", "invoke_workflow", None)
    assert workflow["attributes"]["retinue.run.id"] in run(tmp_path, project, "runs", "list").stdout
