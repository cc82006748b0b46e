"""The bookkeeping of a walk, without an engine: what starts, what is skipped, what is stopped."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract.plan import Delegation, Join, Plan
from retinue.orchestration.plan_state import Actions, PlanState, required_count


def node(name: str, *needs: str, **facts: object) -> Delegation:
    return Delegation(id=name, agent="x", needs=needs, **facts)  # pyright: ignore[reportArgumentType] - test facts


def ids(moves: Actions) -> list[str]:
    return [node.id for node in moves.start]


def skipped(moves: Actions) -> list[str]:
    return [skip.node.id for skip in moves.skip]


@pytest.mark.requirement("A24")
def test_nodes_that_need_nothing_start_together_in_the_order_of_the_plan():
    state = PlanState(Plan(nodes=(node("b"), node("a"), node("c", "a"))))
    assert ids(state.begin()) == ["b", "a"]


@pytest.mark.requirement("A23")
def test_a_node_starts_when_the_last_of_its_needs_is_useful():
    state = PlanState(Plan(nodes=(node("a"), node("b"), node("c", "a", "b"))))
    state.begin()
    assert ids(state.end("a", useful=True)) == []
    assert ids(state.end("b", useful=True)) == ["c"]
    assert ids(state.end("c", useful=True)) == []


@pytest.mark.requirement("C32")
def test_all_skips_at_the_first_failure_and_lets_the_other_needs_go_on():
    state = PlanState(Plan(nodes=(node("a"), node("b"), node("c", "a", "b"))))
    state.begin()
    moves = state.end("a", useful=False)
    assert skipped(moves) == ["c"]
    assert moves.stop == []
    assert not moves.skip[0].unneeded


def test_a_skipped_node_takes_its_followers_with_it_however_long_the_chain():
    chain = [node("n0"), *(node(f"n{place}", f"n{place - 1}") for place in range(1, 3_000))]
    state = PlanState(Plan(nodes=tuple(chain)))
    state.begin()
    assert len(state.end("n0", useful=False).skip) == 2_999


@pytest.mark.requirement("C32")
def test_any_starts_at_the_first_useful_need_and_stops_the_others():
    state = PlanState(Plan(nodes=(node("a"), node("b"), node("c", "a", "b", join="any"))))
    state.begin()
    assert ids(state.end("a", useful=False)) == []
    state = PlanState(Plan(nodes=(node("a"), node("b"), node("c", "a", "b", join="any"))))
    state.begin()
    moves = state.end("a", useful=True)
    assert ids(moves) == ["c"]
    assert moves.stop == ["b"]


def test_any_is_skipped_when_every_need_has_failed():
    state = PlanState(Plan(nodes=(node("a"), node("b"), node("c", "a", "b", join="any"))))
    state.begin()
    assert skipped(state.end("a", useful=False)) == []
    assert skipped(state.end("b", useful=False)) == ["c"]


def test_what_somebody_else_needs_is_not_stopped():
    nodes = (node("a"), node("b"), node("c", "a", "b", join="any"), node("d", "b"))
    state = PlanState(Plan(nodes=nodes))
    state.begin()
    assert state.end("a", useful=True).stop == []


def test_what_only_an_unneeded_node_needs_is_stopped_with_it():
    nodes = (node("a"), node("far"), node("b", "far"), node("c", "a", "b", join="any"))
    state = PlanState(Plan(nodes=nodes))
    state.begin()
    moves = state.end("a", useful=True)
    assert skipped(moves) == ["b"]
    assert moves.skip[0].unneeded
    assert moves.stop == ["far"]


@pytest.mark.requirement("C32", "H25")
@pytest.mark.parametrize(("quorum", "useful"), [(0.5, 2), (0.75, 3), (1.0, 4), (0.1, 1)])
def test_a_quorum_waits_for_all_and_then_asks_for_its_share(quorum: float, useful: int):
    names = ("a", "b", "c", "d")
    for came in range(5):
        state = PlanState(Plan(nodes=(*map(node, names), node("z", *names, join="quorum", quorum=quorum))))
        state.begin()
        moves = [state.end(name, useful=place < came) for place, name in enumerate(names)]
        assert [ids(move) for move in moves[:3]] == [[], [], []]
        assert ids(moves[3]) == (["z"] if came >= useful else [])
        assert not any(move.stop for move in moves)
        assert [skip for move in moves for skip in skipped(move)] == ([] if came >= useful else ["z"])


def test_a_share_that_is_a_whole_number_is_that_number():
    assert [required_count(0.07, 100), required_count(0.5, 3), required_count(1.0, 7), required_count(0.001, 3)] == [
        7,
        2,
        7,
        1,
    ]


def test_a_quorum_is_skipped_as_soon_as_it_cannot_be_reached():
    names = ("a", "b", "c", "d")
    state = PlanState(Plan(nodes=(*map(node, names), node("z", *names, join="quorum", quorum=0.75))))
    state.begin()
    assert skipped(state.end("a", useful=False)) == []
    moves = state.end("b", useful=False)
    assert skipped(moves) == ["z"]
    assert "3 of its 4 needs are wanted, and no more than 2 can come" in moves.skip[0].reason
    assert moves.stop == []


@pytest.mark.requirement("C32")
def test_fail_fast_stops_the_other_needs_at_the_first_failure():
    state = PlanState(Plan(nodes=(node("a"), node("b"), node("c", "a", "b", join="fail_fast"))))
    state.begin()
    moves = state.end("a", useful=False)
    assert skipped(moves) == ["c"]
    assert moves.stop == ["b"]


def test_an_optional_need_may_fail():
    state = PlanState(Plan(nodes=(node("a", optional=True), node("b"), node("c", "a", "b"))))
    state.begin()
    state.end("a", useful=False)
    assert ids(state.end("b", useful=True)) == ["c"]


@pytest.mark.parametrize(
    ("join", "ends", "stopped"),
    [
        ("all", [("a", False)], []),
        ("any", [("a", True)], ["b", "c"]),
        ("quorum", [("a", True), ("b", True)], []),
        ("fail_fast", [("a", False)], ["b", "c"]),
        ("fail_fast", [("a", True)], []),
    ],
)
@pytest.mark.requirement("C32")
def test_the_join_of_the_plan_stops_what_it_waits_for_no_longer(
    join: Join, ends: list[tuple[str, bool]], stopped: list[str]
):
    state = PlanState(Plan(nodes=tuple(map(node, "abc")), join=join, quorum=0.6))
    state.begin()
    moves = Actions()
    for name, useful in ends:
        moves = state.end(name, useful=useful)
    assert moves.stop == stopped


def test_what_is_stopped_before_it_starts_is_skipped():
    state = PlanState(Plan(nodes=(node("a"), node("b", "a"), node("z")), join="fail_fast"))
    state.begin()
    moves = state.end("a", useful=False)
    assert ids(moves) == []
    assert skipped(moves) == ["b"]
    assert moves.stop == ["z"]


@st.composite
def plans(draw: Callable[..., Any]) -> Plan:
    size = draw(st.integers(1, 12))
    joins = st.sampled_from(["all", "any", "quorum", "fail_fast"])
    nodes = [
        node(
            f"n{place}",
            *draw(
                st.lists(st.sampled_from([f"n{other}" for other in range(place)]), unique=True)
                if place
                else st.just([])
            ),
            join=draw(joins),
            optional=draw(st.booleans()),
            quorum=draw(st.floats(0.1, 1)),
        )
        for place in range(size)
    ]
    return Plan(nodes=tuple(draw(st.permutations(nodes))), join=draw(joins))


@given(plans(), st.randoms(use_true_random=False), st.floats(0, 1))
def test_every_node_ends_once_and_none_starts_before_what_it_needs(plan: Plan, chance: Random, failing: float):
    state = PlanState(plan)
    running: list[str] = []
    ended: dict[str, bool] = {}
    started: set[str] = set()

    def take(moves: Actions) -> None:
        for skip in moves.skip:
            assert skip.node.id not in started
            assert skip.node.id not in ended
            ended[skip.node.id] = False
        for name in moves.stop:
            assert name in running
        for delegation in moves.start:
            assert delegation.id not in started
            needs = [ended[need] for need in delegation.needs if need in ended]
            if delegation.join in {"all", "fail_fast"}:
                assert len(needs) == len(delegation.needs)
            elif delegation.needs:
                assert any(needs)
            started.add(delegation.id)
            running.append(delegation.id)

    take(state.begin())
    while running:
        name = running.pop(chance.randrange(len(running)))
        ended[name] = chance.random() >= failing
        take(state.end(name, useful=ended[name]))
    assert set(ended) == {delegation.id for delegation in plan.nodes}
