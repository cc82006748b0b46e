"""Wrapped agents of all three kinds through the boundary: asked in their dialect, read, corrected, and never lost."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings, strategies as st

import retinue
from retinue.agents.boundary import Boundary
from retinue.agents.boundary.policy import Policy
from retinue.agents.local import LocalContext
from retinue.agents.port import Agent, Reply
from retinue.agents.registry import Registry
from retinue.agents.wrapped import CommandAgent, Scripted, TextAgent, scripted
from retinue.contract.definition import Definition, Skill
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Context, Limits, OutputWish, Task
from retinue.dialects import DIALECTS, dialect as dialect_of
from retinue.errors import InvalidInput, Unavailable
from tests.agents.programs import ANSWERS, BROKEN, telling
from tests.examples import examples
from tests.repository.tree import child_environment

STRUCTURED: tuple[DialectName, ...] = ("tool_use", "run_agent", "markdown_json", "agent_http", "a2a")
GIVES: JsonMapping = {
    "type": "object",
    "properties": {"words": {"type": "integer"}},
    "required": ["words"],
    "additionalProperties": False,
}


def asked(
    agent: Agent, instruction: str = "Count the words.", /, *, policy: Policy | None = None, **facts: Any
) -> Result:
    """What one call of `agent` comes to."""
    task = Task(id="t1", agent=agent.definition.name, instruction=instruction, **facts)
    boundary = Boundary(Registry([agent]), policy=policy or Policy(first_wait_s=0.001))
    return asyncio.run(boundary.call(task, LocalContext()))


def counter(dialect: DialectName | None = None, *, gives: JsonMapping | None = GIVES) -> Definition:
    """A definition that somebody wrote."""
    takes: JsonMapping = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "limit": {"type": "integer", "default": 5}},
        "required": ["text"],
    }
    skill = Skill(
        name="count", description="Counts.", input_schema=takes, output_schema=gives, instruction_field="text"
    )
    return Definition(name="counter", description="Counts words.", skills=(skill,), dialect=dialect)


# Every dialect, every kind.


@pytest.mark.requirement("A11", "B4", "K3", "C1")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_program_is_asked_and_read_in_its_dialect(tmp_path: Path, dialect: DialectName) -> None:
    agent = CommandAgent(telling(tmp_path, ANSWERS[dialect]), dialect=dialect)
    assert agent.definition.name == "counter"
    result = asked(agent, target="README.md")
    if dialect == "task_signal":  # it claims a file that was never written
        assert result.fault is not None
        assert "was not written" in result.fault.message
        return
    assert (result.outcome, result.retries, result.fault) == ("success", 0, None)
    assert result.data == {"words": 2}
    assert result.native == ANSWERS[dialect]
    read = dialect_of(dialect).parse_task((tmp_path / "request0.txt").read_bytes()).value
    assert "Count the words." in read.instruction
    assert "README.md" in (read.target or read.instruction)


@pytest.mark.requirement("A12", "A13", "C6")
@pytest.mark.parametrize("dialect", STRUCTURED)
def test_an_answer_that_breaks_its_dialect_is_asked_for_again_in_it(tmp_path: Path, dialect: DialectName) -> None:
    agent = CommandAgent(telling(tmp_path, BROKEN[dialect], ANSWERS[dialect]), dialect=dialect)
    result = asked(agent)
    assert (result.outcome, result.retries, result.data) == ("success", 1, {"words": 2})
    assert result.attempts[0].fault is not None
    assert result.attempts[0].fault.code == "output_invalid"
    again = dialect_of(dialect).parse_task((tmp_path / "request1.txt").read_bytes())
    assert again.correction is not None
    assert again.correction.message == result.attempts[0].fault.message
    assert "Count the words." in again.value.instruction


@pytest.mark.requirement("A13", "A14", "K24")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_that_is_never_one_fails_with_every_attempt_kept(dialect: DialectName) -> None:
    agent = scripted(*[BROKEN[dialect]] * 3, name="counter", dialect=dialect)
    result = asked(agent)
    assert (result.outcome, result.retries, len(result.attempts), agent.remaining) == ("failed", 2, 3, 0)
    assert [attempt.fault.code for attempt in result.attempts if attempt.fault] == ["output_invalid"] * 3
    assert result.native == BROKEN[dialect]
    assert [bool(each.correction) for each in agent.calls] == [False, True, True]
    assert result.fault is not None
    assert result.fault.detail["findings"]


@pytest.mark.parametrize("dialect", STRUCTURED)
def test_data_that_breaks_the_skill_s_schema_is_corrected_too(dialect: DialectName) -> None:
    broken = ANSWERS[dialect].replace('{"words": 2}', '{"words": "two"}')
    agent = scripted(broken, ANSWERS[dialect], definition=counter(dialect))
    result = asked(agent)
    assert (result.outcome, result.data, result.retries) == ("success", {"words": 2}, 1)
    correction = agent.calls[1].correction
    assert correction is not None
    assert correction.findings[0]["path"] == "/data/words"
    assert correction.previous == {"words": "two"}


@pytest.mark.requirement("C44")
@pytest.mark.parametrize("dialect", STRUCTURED)
def test_parameters_are_told_in_every_dialect(dialect: DialectName) -> None:
    agent = scripted(ANSWERS[dialect], definition=counter(dialect))
    asked(agent, parameters={"limit": 3})
    assert "limit" in agent.calls[0].text
    assert "3" in agent.calls[0].text


@pytest.mark.requirement("B5", "A11")
def test_what_an_agent_says_beside_its_data_is_kept() -> None:
    traced = asked(scripted(ANSWERS["run_agent"], name="counter", dialect="run_agent"))
    assert [trace.tool for trace in traced.traces] == ["COUNT"]
    assert traced.content == "There are two words."
    assert traced.extras["spoken"]["said"]["duration_ns"] == 500_000_000
    assert traced.duration_ns != 500_000_000
    told = asked(scripted(ANSWERS["tool_use"], name="counter", dialect="tool_use"))
    assert told.confidence == 0.9
    assert told.usage is not None
    assert told.usage.model == "small-1"


@pytest.mark.requirement("C3")
def test_what_was_borne_is_a_warning_and_strict_bears_nothing() -> None:
    fenced = f"Here you are:\n```json\n{ANSWERS['markdown_json']}\n```\n"
    result = asked(scripted(fenced, name="counter", dialect="markdown_json"))
    assert (result.outcome, result.retries) == ("success", 0)
    assert any(warning.synthetic and "JSON alone" in warning.message for warning in result.warnings)
    strict = Policy(level="strict", max_retries=0)
    refused = asked(scripted(fenced, name="counter", dialect="markdown_json"), policy=strict)
    assert refused.fault is not None
    assert refused.fault.code == "output_invalid"


@pytest.mark.requirement("K25", "K9")
def test_an_agent_that_was_named_must_answer_in_that_name(tmp_path: Path) -> None:
    answer = ANSWERS["markdown_json"]
    named = asked(scripted(*[answer] * 3, name="somebody_else", dialect="markdown_json"))
    assert named.fault is not None
    assert named.fault.code == "output_invalid"
    folder = tmp_path / "guessed"
    guessed = CommandAgent(telling(folder, answer.replace("counter", "ticket-analyzer")), dialect="markdown_json")
    result = asked(guessed)
    assert result.outcome == "success"
    assert result.extras["spoken"]["said"]["agent"] == "ticket_analyzer"


@pytest.mark.requirement("C46")
def test_an_agent_s_name_on_the_wire_is_the_one_it_is_asked_by() -> None:
    definition = counter("markdown_json").model_copy(update={"wire_names": {"markdown_json": "word-counter"}})
    answer = ANSWERS["markdown_json"].replace('"agent": "counter"', '"agent": "word-counter"')
    agent = scripted(answer, definition=definition)
    assert asked(agent).outcome == "success"
    assert "word-counter" in agent.calls[0].text


@pytest.mark.requirement("C8")
def test_words_are_the_data_where_the_skill_takes_words() -> None:
    definition = counter("run_agent", gives={"type": "string"})
    answer = json.dumps({"content": "two", "response_time_secs": 0, "traces": []})
    assert asked(scripted(answer, definition=definition)).data == "two"


def test_an_answer_that_still_works_or_asks_is_no_success() -> None:
    working = json.dumps({"id": "t1", "status": {"state": "working"}})
    result = asked(scripted(*[working] * 3, name="counter", dialect="agent_http"))
    assert result.outcome != "success"
    asking = json.dumps(
        {"content": "Which file?", "response_time_secs": 0, "traces": [], "questions": [{"id": "1", "text": "Which?"}]}
    )
    questioned = asked(scripted(asking, name="counter", dialect="run_agent"))
    assert questioned.lifecycle == "input_required"
    assert questioned.questions[0].text == "Which?"


# Without a dialect.


def test_without_a_dialect_an_agent_is_asked_in_words_and_its_text_is_the_answer() -> None:
    agent = scripted("Two words.", name="counter")
    result = asked(
        agent,
        target="README.md",
        parameters={"context": "For the index.", "limit": 3},
        context=Context(why="It is due.", constraints=("be quick", "be right"), inputs={"n1": {"a": 1}}),
    )
    assert (result.outcome, result.content, result.data) == ("success", "Two words.", None)
    assert agent.calls[0].text == (
        "Count the words.\n\nTarget: README.md\nContext: For the index.\nReason: It is due.\n"
        'Constraints: be quick; be right\nResults of others: {"n1":{"a":1}}\nlimit: 3\n'
    )


def test_with_a_definition_and_no_dialect_an_agent_is_asked_with_json() -> None:
    agent = scripted('{"words": "two"}', '{"words": 2}', definition=counter())
    result = asked(agent)
    assert (result.outcome, result.data) == ("success", {"words": 2})
    assert json.loads(agent.calls[0].text) == {"text": "Count the words.", "limit": 5}
    assert json.loads(agent.calls[1].text)["correction"]["retry_count"] == 1


@pytest.mark.requirement("A12")
def test_a_correction_is_said_in_words_too() -> None:
    wish = OutputWish(schema=GIVES)
    agent = scripted("two", '{"words": 2}', name="counter")
    result = asked(agent, output=wish)
    assert (result.outcome, result.data, result.retries) == ("success", {"words": 2}, 1)
    assert "Your last answer was refused." in agent.calls[1].text


@pytest.mark.parametrize("dialect", ["run_agent", "markdown_json"])
def test_a_text_that_is_certainly_of_a_dialect_is_read_by_it(dialect: DialectName) -> None:
    result = asked(scripted(ANSWERS[dialect], name="counter"))
    assert result.data == {"words": 2}
    assert any(f"answered in `{dialect}`" in warning.message for warning in result.warnings)


def test_an_error_in_a_dialect_nobody_named_is_still_an_error() -> None:
    answer = {
        "status": "error",
        "agent": "counter",
        "version": "1.0",
        "error_type": "missing_file",
        "message": "There is no README.md.",
        "context": {"operation": "count"},
        "recovery_suggestions": ["Create README.md."],
        "metadata": {"execution_time_ms": 3},
    }
    result = asked(scripted(json.dumps(answer), name="counter"))
    assert result.fault is not None
    assert (result.outcome, result.fault.code) == ("error", "missing_file")


def test_an_agent_s_own_schema_comes_before_a_guess() -> None:
    gives: JsonMapping = {"type": "object", "required": ["content", "response_time_secs", "traces"]}
    result = asked(scripted(ANSWERS["run_agent"], definition=counter(gives=gives)))
    assert result.data["content"] == "There are two words."


@pytest.mark.parametrize("text", ["It is 5: fine.", '{"a": 1}', "NOTE: nothing", "# Title\n\ntext", "[1, 2]"])
def test_other_texts_are_left_as_they_are(text: str) -> None:
    result = asked(scripted(text, name="counter"))
    assert (result.outcome, result.native, result.warnings) == ("success", text, ())


# A function from text to text.


def test_functions_of_both_kinds_are_agents() -> None:
    def shout(request: str) -> str:
        """Shouts. Never whispers."""
        return request.upper()

    async def later(request: str) -> str:
        return request.lower()

    def promising(request: str) -> object:
        return later(request)

    class Model:
        async def __call__(self, request: str) -> str:
            return f"{len(request.split())}"

    assert asked(TextAgent(shout)).content == "COUNT THE WORDS.\n"
    assert TextAgent(shout).definition.description.startswith("Shouts.")
    assert asked(TextAgent(later)).content == "count the words.\n"
    assert asked(TextAgent(Model())).content == "3"
    assert TextAgent(Model()).definition.name == "model"
    assert asked(TextAgent(promising)).content == "count the words.\n"


def test_what_a_function_returns_may_be_many_things() -> None:
    envelope = json.loads(ANSWERS["markdown_json"])
    assert asked(TextAgent(lambda _: envelope, name="counter", dialect="markdown_json")).data == {"words": 2}
    assert asked(TextAgent(lambda _: {"words": 2}, definition=counter())).data == {"words": 2}
    assert asked(TextAgent(lambda _: Reply(data={"words": 2}), definition=counter())).data == {"words": 2}
    assert asked(TextAgent(lambda _: ANSWERS["run_agent"].encode(), name="c", dialect="run_agent")).data == {"words": 2}


@pytest.mark.parametrize("value", [None, 3, object(), {"a": object()}, {1: 2}])
def test_what_a_function_returns_may_be_nonsense(value: Any) -> None:
    result = asked(TextAgent(lambda _: value, name="counter", dialect="markdown_json"))
    assert result.fault is not None
    assert (result.fault.code, result.retries) == ("output_invalid", 2)


def test_a_function_that_raises_is_a_fault() -> None:
    def broken(request: str) -> str:
        raise ConnectionError(request)

    result = asked(TextAgent(broken, dialect="tool_use"), limits=Limits(retries=0))
    assert result.fault is not None
    assert result.fault.code == "network_error"


@settings(max_examples=examples(100), deadline=None)
@given(st.text() | st.binary(), st.sampled_from((None, *get_args(DialectName))))
def test_any_text_of_any_agent_is_a_result(said: str | bytes, dialect: DialectName | None) -> None:
    result = asked(TextAgent(lambda _: said, name="counter", dialect=dialect))
    assert result.outcome is not None or result.lifecycle == "input_required"
    Result.model_validate_json(result.to_json_text())


# Prepared answers.


def test_prepared_answers_are_given_in_their_order_and_what_was_asked_is_kept() -> None:
    agent = retinue.scripted({"words": "2"}, lambda request: {"words": len(request)}, definition=counter())
    result = asked(agent)
    assert result.retries == 1
    assert [each.task.instruction for each in agent.calls] == ["Count the words."] * 2
    assert result.data == {"words": len(agent.calls[1].text)}
    assert (agent.remaining, repr(agent)) == (0, "<scripted agent counter: 0 of 2 answers left>")


def test_prepared_answers_may_be_exceptions() -> None:
    agent = scripted(Unavailable("Not now."), ConnectionError, "fine", name="counter")
    result = asked(agent)
    assert [attempt.fault.code for attempt in result.attempts if attempt.fault] == ["unavailable", "network_error"]
    assert result.content == "fine"


def test_used_up_answers_say_so() -> None:
    result = asked(scripted(name="counter"))
    assert result.fault is not None
    assert result.fault.code == "invalid_input"
    assert "was asked 1 times and has 0 prepared answers" in result.fault.message
    assert "asked[-1]" in result.fault.hint


def test_a_scripted_agent_is_an_agent_of_any_registry() -> None:
    registry = Registry([scripted("a", name="one"), scripted("b", name="two")])
    assert [each.name for each in registry.definitions()] == ["one", "two"]
    assert isinstance(registry.get("one"), Scripted)


# Names.


@pytest.mark.parametrize("name", ["", "---", "…"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="is not a valid name"):
        scripted(name=name)


def test_a_definition_says_name_and_dialect_alone() -> None:
    with pytest.raises(InvalidInput, match="another name or dialect"):
        TextAgent(str.upper, definition=counter(), dialect="tool_use")
    with pytest.raises(InvalidInput, match="another name or dialect"):
        CommandAgent("cat", definition=counter(), name="other")
    assert CommandAgent("cat", definition=counter("tool_use"), name="Counter", dialect="tool_use").argv == ("cat",)


def test_a_call_without_a_dialect_loads_none() -> None:
    source = (
        "import asyncio, sys, retinue\n"
        "agent = retinue.scripted('a b', {'a': 1}, name='x')\n"
        "for _ in range(2): assert asyncio.run(retinue.call(agent, 'go')).outcome == 'success'\n"
        "print(*[name for name in sys.modules if name.startswith('retinue.dialects')])"
    )
    done = subprocess.run([sys.executable, "-c", source], env=child_environment(), capture_output=True, check=True)
    assert done.stdout.strip() == b""
