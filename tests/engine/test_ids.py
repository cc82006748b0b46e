"""Ids of runs."""

import itertools
from collections.abc import Callable
from contextlib import nullcontext

import pytest
from hypothesis import given, strategies as st

from retinue.engine.ids import LENGTH, RunIds, check_run_id
from retinue.errors import InvalidInput


def replaying(values: list[int]) -> Callable[[], int]:
    moments = itertools.cycle(values)
    return lambda: next(moments)


@given(
    st.lists(st.integers(0, 1 << 68), min_size=1, max_size=30),
    st.floats(0, 1, exclude_max=True),
    st.integers(1, 60),
)
def test_ids_rise_whatever_the_clock_does(moments: list[int], chance: float, count: int) -> None:
    ids = RunIds(replaying(moments), lambda: chance)
    made = [ids.new() for _ in range(count)]
    assert made == sorted(set(made))
    assert {len(one) for one in made} == {LENGTH}
    for one in made:
        check_run_id(one)


def test_a_later_millisecond_gives_a_greater_id_also_from_another_process() -> None:
    early = RunIds(lambda: 1_000_000, lambda: 0.999)
    late = RunIds(lambda: 2_000_000, lambda: 0.0)
    assert early.new() < late.new()


def test_when_a_millisecond_is_used_up_the_next_one_is_taken() -> None:
    ids = RunIds(lambda: 5_000_000, lambda: 0.999)
    first = ids.new()
    ids._last = (1 << 30) - 2  # pyright: ignore[reportPrivateUsage] - a thousand million ids take too long to make
    second, third = ids.new(), ids.new()
    assert first[:10] == second[:10] < third[:10]


@given(st.text(max_size=300))
def test_an_id_is_refused_or_has_no_trap_in_it(text: str) -> None:
    good = bool(text) and len(text) <= 200 and text.isprintable() and not set(text) & set(": ")
    with nullcontext() if good else pytest.raises(InvalidInput):
        check_run_id(text)


@pytest.mark.parametrize("name", ["a", "urn-1", "task/7", "Ä", "x" * 200])
def test_ids_that_people_choose_are_taken(name: str) -> None:
    check_run_id(name)
