"""How hard a goal asks to be thought about."""

import pytest
from hypothesis import given, strategies as st

from retinue.contract.plan import Delegation, Plan
from retinue.llm.port import EFFORT_OF
from retinue.orchestration.budget import EXTRA_TOKENS, harder, thinking_in, with_thinking


@pytest.mark.requirement("C43", "H4", "H26")
@pytest.mark.parametrize(
    ("goal", "mode", "rest"),
    [
        ("think hard about why the parser fails", "think_hard", "why the parser fails"),
        ("Think about why the parser fails", "think", "why the parser fails"),
        ("why does the parser fail? think harder.", "think_hard", "why does the parser fail?"),
        ("please think deeply: why does it fail", "think_hard", "please why does it fail"),
        ("ultrathink about caching", "ultrathink", "caching"),
        ("who changed it, and think carefully about the reasons", "think_hard", "who changed it, and the reasons"),
        ("think it through: what is a blueprint", None, "think it through: what is a blueprint"),
        ("what do you think about the parser?", None, "what do you think about the parser?"),
        ("I think the parser is broken", None, "I think the parser is broken"),
        ("think of three names", None, "think of three names"),
        ("think tank reports of 2025", None, "think tank reports of 2025"),
        ("who wrote the thinking module", None, "who wrote the thinking module"),
        ("think hard", "think_hard", "think hard"),
        ("", None, ""),
    ],
)
def test_an_order_to_think_is_read_and_taken_out_and_nothing_else_is(goal: str, mode: str | None, rest: str):
    assert thinking_in(goal) == (mode, rest)


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["think", "hard", "about", "it", ".", ",", "ultrathink", "why"])).map(" ".join)
)
def test_whatever_is_said_something_stays_to_be_done(goal: str):
    mode, rest = thinking_in(goal)
    assert mode is None or any(character.isalnum() for character in rest) or rest == goal
    assert mode is not None or rest == goal


def test_modes_are_ordered_and_every_mode_is_known_everywhere():
    assert list(EXTRA_TOKENS.values()) == [0, 1_000, 2_000, 4_000]
    assert set(EXTRA_TOKENS) == set(EFFORT_OF)
    assert harder("think", "ultrathink") == "ultrathink"
    assert harder(None, "think") == "think"
    assert harder(None, None) is None


def test_a_node_with_a_mode_of_its_own_keeps_it():
    nodes = (Delegation(id="a", agent="x", thinking="think"), Delegation(id="b", agent="x"))
    marked = with_thinking(Plan(nodes=nodes), "ultrathink")
    assert [node.thinking for node in marked.nodes] == ["think", "ultrathink"]
    assert with_thinking(Plan(nodes=nodes), None).nodes == nodes
