"""Plans: an order for every DAG, and every finding for what is none."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract.plan import Delegation, Plan, topological_order
from retinue.errors import InvalidInput


def node(name: str, *needs: str) -> Delegation:
    return Delegation(id=name, agent="a", needs=needs)


def findings(*nodes: Delegation) -> list[dict[str, Any]]:
    with pytest.raises(InvalidInput) as caught:
        topological_order(nodes)
    assert caught.value.path == "/nodes"
    assert caught.value.hint
    return caught.value.detail["findings"]


@st.composite
def dags(draw: st.DrawFn) -> tuple[Delegation, ...]:
    """Nodes whose needs point to earlier ones, shuffled."""
    size = draw(st.integers(0, 12))
    earlier = [draw(st.lists(st.integers(0, index - 1), max_size=4)) if index else [] for index in range(size)]
    nodes = [node(f"n{index}", *(f"n{need}" for need in needs)) for index, needs in enumerate(earlier)]
    return tuple(draw(st.permutations(nodes)))


@pytest.mark.requirement("C32")
@given(dags())
def test_each_node_stands_after_what_it_needs(nodes: tuple[Delegation, ...]) -> None:
    ordered = topological_order(nodes)
    assert sorted(ordered) == sorted(one.id for one in nodes)
    place = {name: index for index, name in enumerate(ordered)}
    assert all(place[need] < place[one.id] for one in nodes for need in one.needs)
    assert Plan(nodes=nodes).nodes == nodes


def test_what_needs_nothing_stays_as_written() -> None:
    assert topological_order((node("c"), node("a"), node("b"))) == ["c", "a", "b"]
    assert topological_order((node("c", "a"), node("a"), node("b"), node("d", "a"))) == ["a", "b", "c", "d"]


def test_nothing_is_an_order_of_nothing() -> None:
    assert topological_order(()) == []


def test_needing_the_same_twice_is_needing_it_once() -> None:
    assert topological_order((node("b", "a", "a"), node("a"))) == ["a", "b"]


def test_everything_that_is_wrong_is_said_at_once() -> None:
    found = findings(node("a", "x"), node("a"), node("b", "y", "z"), node("c", "d"), node("d", "c"), node("e", "e"))
    assert [(one["rule"], one["path"], one["message"]) for one in found] == [
        ("plan/needs", "/nodes/0/needs", "`a` needs `x`, which is not there."),
        ("plan/id", "/nodes/1/id", "`a` appears twice."),
        ("plan/needs", "/nodes/2/needs", "`b` needs `y`, which is not there."),
        ("plan/needs", "/nodes/2/needs", "`b` needs `z`, which is not there."),
        ("plan/circle", "/nodes/3/needs", "`c` needs `d` needs `c`."),
        ("plan/circle", "/nodes/5/needs", "`e` needs `e`."),
    ]


def test_a_circle_is_spelled_without_what_only_waits_for_it() -> None:
    found = findings(node("z", "a"), node("a", "b"), node("b", "c"), node("c", "a"), node("free"))
    assert [one["message"] for one in found] == ["`a` needs `b` needs `c` needs `a`."]


def test_a_long_circle_is_shortened() -> None:
    found = findings(*(node(f"n{index}", f"n{(index + 1) % 5_000}") for index in range(5_000)))
    assert len(found) == 1
    assert found[0]["message"].startswith("`n0` needs `n1` needs `n2`")
    assert "4991 more" in found[0]["message"]


def test_a_message_stays_short_however_much_is_wrong() -> None:
    with pytest.raises(InvalidInput) as caught:
        topological_order(tuple(node(f"n{index}", "gone") for index in range(5_000)))
    assert len(caught.value.message) < 1_000
    assert "And 4990 more." in caught.value.message
    assert len(caught.value.detail["findings"]) == 5_000


def test_a_plan_refuses_nodes_without_an_order() -> None:
    with pytest.raises(InvalidInput, match="needs `b`, which is not there"):
        Plan(nodes=(node("a", "b"),))
    with pytest.raises(InvalidInput, match="`a` needs `a`"):
        Plan.model_validate_json('{"nodes":[{"id":"a","agent":"x","needs":["a"]}]}')


@pytest.mark.parametrize("wrong", ["", "-a", "a b", "a/b", "a:b", "ä", "a\n", "a" * 81])
def test_an_id_can_stand_in_a_file_name_and_a_run_id(wrong: str) -> None:
    with pytest.raises(ValueError, match="id"):
        Delegation(id=wrong, agent="a")


def test_a_large_plan_and_a_long_chain_have_an_order() -> None:
    wide = tuple(
        node(f"n{index}", *(f"n{need}" for need in range(max(0, index - 3), index))) for index in range(10_000)
    )
    assert topological_order(tuple(reversed(wide))) == [f"n{index}" for index in range(10_000)]
    chain = tuple(node(f"n{index}", *([f"n{index + 1}"] if index < 999 else [])) for index in range(1_000))
    assert topological_order(chain) == [f"n{index}" for index in reversed(range(1_000))]
    assert len(Plan(nodes=wide).nodes) == 10_000
