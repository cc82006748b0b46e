"""A plan that somebody wrote: read strictly, every mistake with its place."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract.plan import Candidate, Delegation, Plan
from retinue.errors import InvalidDefinition, ParseError, RetinueError
from retinue.orchestration.plan_checker import read_plan


def told(document: Any) -> list[tuple[str, str, str]]:
    """Rule, place and fix of each finding."""
    with pytest.raises(InvalidDefinition) as caught:
        read_plan(json.dumps(document))
    return [(one["rule"], one["path"], one["fix"]) for one in caught.value.detail["findings"]]


def test_what_a_plan_gives_is_read_back() -> None:
    chosen = Candidate(agent="a", skill="s", score=1.5, share=0.5)
    first = Delegation(id="n1", agent="a", skill="s", chosen=chosen, parameters={"x": [1, {"y": None}]})
    plan = Plan(goal="do it", nodes=(first, Delegation(id="n2", agent="b", needs=("n1",))), join="quorum")
    assert read_plan(plan.to_json_text()) == plan
    assert read_plan(plan.to_json_text(indent=2).encode()) == plan


def test_every_mistake_is_told_with_the_nearest_name() -> None:
    node: dict[str, Any] = {"id": "a", "agent": "b", "neds": [], "limits": {"timout_s": 1}, "chosen": {"agent": "c"}}
    assert told({"nodes": [node, 7], "gaol": "", "join": "al"}) == [
        ("plan/unknown-field", "/nodes/0/limits/timout_s", told_fields("timeout_s", "Limits")),
        ("plan/missing-field", "/nodes/0/chosen/skill", "Add it."),
        ("plan/missing-field", "/nodes/0/chosen/score", "Add it."),
        ("plan/missing-field", "/nodes/0/chosen/share", "Add it."),
        ("plan/unknown-field", "/nodes/0/neds", told_fields("needs", "Delegation")),
        ("plan/value", "/nodes/1", told_fields("", "Delegation")),
        ("plan/value", "/join", "Put a value there that fits."),
        ("plan/unknown-field", "/gaol", told_fields("goal", "Plan")),
    ]


def told_fields(meant: str, noun: str) -> str:
    """How a fix lists the fields of a noun."""
    from retinue.contract.task import Limits

    nouns = {"Limits": Limits, "Delegation": Delegation, "Plan": Plan}
    listed = ", ".join(nouns[noun].model_fields)
    return f"Did you mean `{meant}`? Available: {listed}." if meant else f"It has: {listed}."


def test_a_field_where_nobody_knows_any_is_to_be_taken_out() -> None:
    ((_, path, fix),) = told({"nodes": [{"id": "a", "agent": "b", "questions": [{"id": "q", "text": "?", "zzz": 1}]}]})
    assert path == "/nodes/0/questions/0/zzz"
    assert fix.startswith("Available: id, text, kind")


def test_circles_and_strangers_are_told_together() -> None:
    nodes = [{"id": "a", "agent": "x", "needs": ["b", "nobody"]}, {"id": "b", "agent": "x", "needs": ["a"]}]
    assert [rule for rule, _, _ in told({"nodes": nodes})] == ["plan/needs", "plan/circle"]


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"goal": NaN}', "{", "", "\ufeff{}x", b"\xff\xfe"])
def test_what_is_no_strict_json_is_refused_as_such(text: str | bytes) -> None:
    with pytest.raises(ParseError):
        read_plan(text)


def test_a_long_list_of_mistakes_is_summed_up() -> None:
    with pytest.raises(InvalidDefinition, match=r"And 7 more\.") as caught:
        read_plan(json.dumps({"nodes": list(range(10))}))
    assert caught.value.path == "/nodes/0"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(
            st.sampled_from(["nodes", "id", "agent", "needs", "limits", "chosen", "x"]), inside, max_size=4
        )
    ),
    max_leaves=12,
)


@given(_JSON)
def test_whatever_is_read_is_a_plan_or_refused_with_a_reason(document: object) -> None:
    error = refusal(json.dumps(document))
    assert error is None or (error.hint and error.detail["findings"])


def refusal(text: str) -> RetinueError | None:
    try:
        read_plan(text)
    except RetinueError as error:
        return error
    return None
