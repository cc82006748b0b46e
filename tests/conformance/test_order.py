"""An order becomes a subject that can be judged: found, asked validly, and its dialect known or found out."""

import asyncio
import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from retinue.conformance.check_request import CheckRequest, PreparedCheck, guess_dialect, prepare, template_of
from retinue.conformance.port import RequestTemplate
from retinue.conformance.subjects import CallableSubject
from retinue.contract.definition import Definition, Sample, Skill
from retinue.errors import InvalidDefinition, InvalidInput, MissingFile, UnknownName
from tests.conformance.kits import JUDGED, broken
from tests.conformance.mutants.markdown_json import GOOD, TEMPLATE
from tests.repository.tree import ROOT

CLOSED = {"type": "object", "additionalProperties": False}


def definition(**facts: Any) -> Definition:
    greet = Skill(
        name="greet",
        description="Greets.",
        input_schema=CLOSED,
        instruction_field="words",
        target_field="whom",
        defaults={"loud": False},
        examples=("greet Ada",),
        samples=(Sample(answer={}), Sample(parameters={"whom": "Ada", "words": "hello", "times": 2})),
    )
    closed = Skill(name="closed", description="Is not here.", input_schema=CLOSED, unavailable="install it")
    return Definition(name="greeter", description="Greets people.", skills=(closed, greet), **facts)


def prepared(order: CheckRequest) -> PreparedCheck:
    ready = asyncio.run(prepare(order))
    ready.close()
    return ready


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    code = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
    code += "from tests.conformance.mutants.markdown_json import GOOD as answer\ndef mute(text): return None\n"
    (tmp_path / "agent.py").write_text(code, encoding="utf-8")
    return tmp_path


# How it is asked.


def test_a_definition_says_how_its_agent_is_asked() -> None:
    asking = template_of(definition())
    assert asking == RequestTemplate(
        agent="greeter",
        skill="greet",
        instruction="hello",
        target="Ada",
        parameters={"loud": False, "times": 2, "whom": "Ada", "words": "hello"},
    )
    assert template_of(definition(), skill="closed").skill == "closed"


def test_without_a_sample_an_example_is_asked() -> None:
    skill = Skill(name="greet", description="Greets.", input_schema=CLOSED, examples=("greet Ada", "greet Bob"))
    asking = template_of(Definition(name="greeter", description="Greets.", skills=(skill,)))
    assert (asking.instruction, asking.target, asking.parameters) == ("greet Ada", None, {})


def test_a_skill_that_is_not_there_lists_what_there_is() -> None:
    with pytest.raises(UnknownName) as refused:
        template_of(definition(), skill="gret")
    assert refused.value.suggestions == ("greet",)
    assert refused.value.hint == "It has: closed, greet."


def test_what_the_order_says_comes_before_the_definition(folder: Path) -> None:
    (folder / "definition.json").write_text(definition().to_json_text(), encoding="utf-8")
    order = CheckRequest(
        words="agent.py:answer",
        dialect="markdown_json",
        definition=Path("definition.json"),
        operation="greet",
        target="Bob",
        partial_target="nobody",
        parameters={"times": 3},
    )
    asking = prepared(order).template
    assert (asking.target, asking.partial_target, asking.instruction) == ("Bob", "nobody", "hello")
    assert asking.parameters == {"loud": False, "times": 3, "whom": "Bob", "words": "hello"}


def test_without_a_definition_the_module_gives_the_name(folder: Path) -> None:
    ready = prepared(CheckRequest(words="agent.py:answer", dialect="markdown_json", operation="story-deep"))
    assert (ready.template.agent, ready.template.skill) == ("agent", "story_deep")
    assert ready.facts == {"asked": "agent agent, operation story_deep"}
    named = prepared(CheckRequest(words="agent.py:answer", dialect="markdown_json", agent="Ticket-Analyzer"))
    assert named.template.agent == "ticket_analyzer"


@pytest.mark.parametrize(
    ("agent", "text", "error", "told"),
    [
        (None, None, MissingFile, "No such file"),
        (None, "{", InvalidDefinition, "no definition that can be used"),
        ("somebody", "whole", InvalidDefinition, "no agent named 'somebody'"),
    ],
)
def test_a_definition_that_cannot_be_used_is_said(
    folder: Path, agent: str | None, text: str | None, error: type[Exception], told: str
) -> None:
    if text is not None:
        said = definition().to_json_text() if text == "whole" else text
        (folder / "definition.json").write_text(said, encoding="utf-8")
    with pytest.raises(error, match=told):
        prepared(CheckRequest(words="agent.py:answer", agent=agent, definition=Path("definition.json")))


@pytest.mark.parametrize(("agent", "operation"), [("1st", None), ("a", "9"), ("x" * 65, None), ("a", "---")])
def test_names_that_are_none_are_said(folder: Path, agent: str, operation: str | None) -> None:
    with pytest.raises(InvalidInput, match="Invalid request"):
        prepared(CheckRequest(words="agent.py:answer", dialect="markdown_json", agent=agent, operation=operation))


def test_a_variable_that_is_not_set_is_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SET_IN_TEST", "x")
    order = CheckRequest(
        words="cat", is_command=True, dialect="run_agent", environment=("SET_IN_TEST", "UNSET_IN_TEST")
    )
    ready = asyncio.run(prepare(order))
    ready.close()
    assert ready.facts["not set here"] == "UNSET_IN_TEST"


def test_variables_are_for_commands(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="for commands"):
        prepared(CheckRequest(words="agent.py:answer", environment=("KEY",)))


AGENT = """
import retinue

@retinue.agent
async def greet(name: str) -> dict[str, str]:
    '''Greets somebody by name. Use when a greeting is due. Returns the greeting.'''
    return {"greeting": f"Hello, {name}"}
"""


@pytest.mark.requirement("K29", "K30")
def test_an_agent_of_retinue_is_judged_as_a_stranger(folder: Path) -> None:
    (folder / "ours.py").write_text(textwrap.dedent(AGENT), encoding="utf-8")
    order = CheckRequest(words="ours.py:greet", dialect="markdown_json", parameters={"name": "Ada"})

    async def run() -> dict[str, tuple[str, ...]]:
        ready = await prepare(order)
        try:
            report = await ready.judge()
        finally:
            ready.close()
        return {each.requirement.id: each.wrong for each in report.verdicts if each.outcome == "failed"}

    assert asyncio.run(run()) == {}


# What it speaks.


def test_the_dialect_is_what_the_answers_are_in(folder: Path) -> None:
    order = CheckRequest(
        words="agent.py:answer", agent="ticket_analyzer", operation="story_deep", target="STORY-0001.2.3"
    )
    ready = prepared(order)
    assert ready.dialect == "markdown_json"
    assert ready.facts["dialect"].startswith("found out (")


def test_a_run_agent_needs_not_be_asked_what_it_speaks(folder: Path) -> None:
    code = "def run_agent(prompt, chat_history=None, memory=None, config=None): raise ValueError"
    (folder / "hierarchical.py").write_text(code, encoding="utf-8")
    ready = prepared(CheckRequest(words="hierarchical.py"))
    assert (ready.dialect, ready.template.agent) == ("run_agent", "hierarchical")


def test_answers_in_no_dialect_are_said_to_be_so(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="It returned `None`, and no answer") as refused:
        prepared(CheckRequest(words="agent.py:mute"))
    assert "markdown_json" in refused.value.suggestions


def test_one_that_hangs_is_not_asked_in_every_dialect() -> None:
    asked: list[str] = []

    async def hangs(text: str) -> None:
        asked.append(text)
        await asyncio.Event().wait()

    subject = CallableSubject(hangs)
    with pytest.raises(InvalidInput, match=r"There was no answer within 0\.05 s\."):
        asyncio.run(guess_dialect(subject, template=TEMPLATE, timeout_s=0.05))
    subject.close()
    assert len(asked) == 1


@pytest.mark.parametrize("noise", ["I cannot do that.", json.dumps({"a": 1})])
def test_one_good_answer_among_others_decides(noise: str) -> None:
    subject = CallableSubject(lambda text: GOOD(text) if text.startswith("**Agent:**") else noise)
    found = asyncio.run(guess_dialect(subject, template=TEMPLATE, timeout_s=10))
    assert found.dialect == "markdown_json"
    assert found.why


@pytest.mark.parametrize("dialect", JUDGED)
def test_the_good_agent_of_each_dialect_is_known_by_its_answers(dialect: str) -> None:
    subject = CallableSubject(broken(dialect).GOOD)
    found = asyncio.run(guess_dialect(subject, template=broken(dialect).TEMPLATE, timeout_s=10))
    subject.close()
    assert found.dialect == dialect
