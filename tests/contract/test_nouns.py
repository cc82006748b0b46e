"""What holds of every noun of the contract."""

import math
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import ValidationError

from retinue.contract import schema
from retinue.contract.definition import Definition, Skill, read_tier
from retinue.contract.json import dumps, loads
from retinue.contract.model import Model
from retinue.contract.plan import Plan
from retinue.contract.result import Artifact, Attempt, Cost, Result, Usage
from retinue.contract.schemas import NOUNS as PUBLISHED, load
from retinue.contract.task import Budget, Limits, OutputWish, Task
from tests.contract.nouns import NOUNS, values_of
from tests.examples import examples

every_noun = pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.__name__)


def refusal(noun: type[Model], **fields: Any) -> str:
    """What pydantic says to wrong fields."""
    with pytest.raises(ValidationError) as caught:
        noun(**fields)
    return str(caught.value)


def test_all_the_nouns_are_looked_at() -> None:
    names = {noun.__name__ for noun in NOUNS}
    assert {"Definition", "Skill", "Task", "Result", "Fault", "Plan", "Delegation", "Question", "Answer"} <= names
    assert {"Budget", "Finding", "Loss", "Usage", "Limits", "Context", "Candidate", "Binding", "Dropped"} <= names
    assert len(names) >= 28


@every_noun
@given(data=st.data())
@settings(max_examples=examples(12))
def test_a_noun_comes_back_from_its_json(noun: type[Model], data: st.DataObject) -> None:
    value = data.draw(values_of(noun))
    text = value.to_json_text()
    assert noun.model_validate_json(text) == value
    assert loads(text) == loads(dumps(value.to_json()))


@every_noun
@given(data=st.data())
@settings(max_examples=examples(12))
@pytest.mark.requirement("C16")
def test_absent_keys_are_left_out_and_never_null(noun: type[Model], data: st.DataObject) -> None:
    value = data.draw(values_of(noun))
    written = value.to_json()
    for name, info in type(value).model_fields.items():
        key = info.alias or name
        assert (key in written) == (getattr(value, name) is not None)
        assert written.get(key, "something") is not None


@every_noun
@given(data=st.data())
@settings(max_examples=examples(5))
@pytest.mark.requirement("C7")
def test_an_unknown_field_is_refused(noun: type[Model], data: st.DataObject) -> None:
    value = data.draw(values_of(noun))
    with pytest.raises(ValidationError, match=r"extra_forbidden|Extra inputs"):
        noun.model_validate_json(dumps({**value.to_json(), "no_such_field": 1}))


@every_noun
@given(data=st.data())
@settings(max_examples=examples(5))
def test_a_noun_is_frozen(noun: type[Model], data: st.DataObject) -> None:
    value = data.draw(values_of(noun))
    for name in type(value).model_fields:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(value, name, getattr(value, name))


@pytest.mark.requirement("C5")
@pytest.mark.parametrize("wrong", [True, "1", 1.5, -1, math.nan, [1], {}])
def test_a_count_is_an_integer_and_nothing_else(wrong: object) -> None:
    assert "duration_ns" in refusal(Result, task_id="t", agent="a", duration_ns=wrong)
    assert "depth" in refusal(Task, id="t", agent="a", depth=wrong)
    assert "tokens_in" in refusal(Usage, tokens_in=wrong)
    assert "size" in refusal(Artifact, path="a", size=wrong)


@pytest.mark.requirement("C5")
@pytest.mark.parametrize("wrong", ["true", 1, 0, "yes"])
def test_a_boolean_is_no_number_and_no_word(wrong: object) -> None:
    assert "untyped" in refusal(Task, id="t", agent="a", untyped=wrong)


@pytest.mark.requirement("C5")
def test_a_boolean_is_no_number_in_json_either() -> None:
    with pytest.raises(ValidationError, match="depth"):
        Task.model_validate_json('{"id":"t","agent":"a","depth":true}')
    with pytest.raises(ValidationError, match="confidence"):
        Result.model_validate_json('{"task_id":"t","agent":"a","confidence":true}')
    with pytest.raises(ValidationError, match="confidence"):
        Result.model_validate_json('{"task_id":"t","agent":"a","confidence":"0.5"}')


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_number_is_finite(wrong: float) -> None:
    assert "confidence" in refusal(Result, task_id="t", agent="a", confidence=wrong)
    assert "timeout_s" in refusal(Limits, timeout_s=wrong)
    assert "cost_usd" in refusal(Budget, cost_usd=wrong)
    assert "usd" in refusal(Cost, usd=wrong, price_id="p", price_date="2026-01-01")


def test_bounds_are_kept() -> None:
    assert "confidence" in refusal(Result, task_id="t", agent="a", confidence=1.01)
    assert "completeness" in refusal(Result, task_id="t", agent="a", completeness=101)
    assert "number" in refusal(Attempt, number=0, duration_ns=1)
    assert "timeout_s" in refusal(Limits, timeout_s=0.0)
    assert "retries" in refusal(Limits, retries=11)
    assert "skills" in refusal(Definition, name="a", description="d", skills=())


@pytest.mark.requirement("C10", "C46")
@pytest.mark.parametrize("wrong", ["", "A", "1a", "a-b", "a_", "_a", "a__b", "a b", "ä", "a\n", "a" * 65, "a_\u0663"])
def test_a_canonical_name_is_snake_case(wrong: str) -> None:
    assert "agent" in refusal(Task, id="t", agent=wrong)


@pytest.mark.requirement("C35", "C15")
@pytest.mark.parametrize("wrong", ["", "1", "v1.0", "1.0.0.0", "01.0", "1.0\n", "1.-1", "\u0661.0", "1.0-rc1"])
def test_a_version_is_two_or_three_numbers(wrong: str) -> None:
    skill = Skill(name="s", description="d", input_schema={})
    assert "version" in refusal(Definition, name="a", description="d", skills=(skill,), version=wrong)


def test_how_an_answer_is_sent_and_how_it_reads_are_two_things() -> None:
    wish = OutputWish(transport="json_table", style="summary", schema={"type": "object"})
    assert wish.to_json() == {"transport": "json_table", "style": "summary", "schema": {"type": "object"}}
    assert OutputWish.model_validate_json(wish.to_json_text()) == wish


def test_a_definition_finds_its_skills_and_its_major() -> None:
    skill = Skill(name="find", description="d", input_schema={})
    definition = Definition(name="a", version="12.3.4", description="d", skills=(skill,))
    assert definition.skill("find") is skill
    assert definition.skill("lose") is None
    assert definition.major == 12


@pytest.mark.parametrize(
    ("word", "tier"),
    [("haiku", "small"), (" Sonnet ", "medium"), ("OPUS", "large"), ("large", "large"), ("inherit", None), ("", None)],
)
def test_tiers_have_aliases(word: str, tier: str | None) -> None:
    assert read_tier(word) == tier


@pytest.mark.parametrize(
    ("outcome", "useful"),
    [("success", True), ("partial", True), ("error", False), ("failed", False), ("canceled", False), (None, False)],
)
def test_a_result_is_useful_when_it_brought_something(outcome: Any, *, useful: bool) -> None:
    assert Result(task_id="t", agent="a", outcome=outcome).useful is useful


# The published schemas.


@every_noun
@given(data=st.data())
@settings(max_examples=examples(12))
def test_a_published_schema_takes_what_the_noun_writes(noun: type[Model], data: st.DataObject) -> None:
    name = noun.__name__.lower()
    if name not in PUBLISHED:
        return
    value = data.draw(values_of(noun))
    assert schema.compile(load(name)).findings(value.to_json()) == []


def test_a_published_schema_refuses_what_the_noun_refuses() -> None:
    task, plan = schema.compile(load("task")), schema.compile(load("plan"))
    assert [found.path for found in task.findings({"id": "t", "agent": "a-b", "depth": -1, "nope": 1})] == [
        "/agent", "/depth", "/nope",
    ]  # fmt: skip
    assert [found.path for found in task.findings({"id": "t", "agent": "a", "skill": None})] == ["/skill"]
    assert plan.is_valid(Plan().to_json())
    assert not plan.is_valid({"format": 2})
