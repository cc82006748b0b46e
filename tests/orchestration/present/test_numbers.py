"""Numbers as people read them."""

import pytest
from hypothesis import given, strategies as st

from retinue.contract.result import Cost, Usage
from retinue.contract.table import TableColumn
from retinue.orchestration.present.numbers import (
    clamp,
    column_heading,
    format_duration,
    format_exact,
    format_figure,
    format_grouped,
    format_short,
    is_quantity,
    usage_parts,
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "plain", "with_commas"),
    [
        (None, "", ""),
        (True, "yes", "yes"),
        (1234567, "1234567", "1,234,567"),
        (-1234, "-1234", "-1,234"),
        (0.1 + 0.2, "0.3", "0.3"),
        (1234567.25, "1234567.25", "1,234,567.25"),
        (-0.5, "-0.5", "-0.5"),
        (454.961561206387, "454.961561206387", "454.962"),
        (-1234.5678, "-1234.5678", "-1,234.5678"),
        (41.1304722, "41.1304722", "41.1304722"),
        (0.000123456, "0.000123456", "0.000123456"),
        (260512083.33333334, "260512083.333333", "260,512,083"),
        (float("inf"), "inf", "inf"),
        (1e300, "1e+300", "1e+300"),
        ("1234", "1234", "1234"),
    ],
)
def test_a_cell_is_exact_or_grouped(value: object, plain: str, with_commas: str) -> None:
    assert (format_exact(value), format_grouped(value)) == (plain, with_commas)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (21.920704845814978, "21.9207"),
        (0.00446907107332952, "0.00446907"),
        (123456.78901234567, "123457"),
        (10.357019999999999, "10.35702"),
        (260512083, "260512083"),
        (123456789012.5, "123456789012"),
        (1.2345678901234567e300, "1.23457e+300"),
        (1700000000, "1700000000"),
        (None, ""),
    ],
)
def test_what_was_worked_out_has_six_digits_and_what_was_measured_all(value: object, said: str) -> None:
    assert format_figure(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (950, "950"), (1200, "1.2k"), (3_400_000, "3.4M"), (0.05, "0.05"), (-2500, "-2.5k"), (1e300, "1e+300")],
)
def test_a_tick_is_short(value: float, said: str) -> None:
    assert format_short(value) == said


@pytest.mark.parametrize(
    ("nanoseconds", "said"),
    [(4e7, "40 ms"), (1.2e9, "1.2 s"), (185e9, "3 min 05 s"), (7620e9, "2 h 07 min")],
)
def test_a_time_is_said_as_people_say_it(nanoseconds: float, said: str) -> None:
    assert format_duration(int(nanoseconds)) == said


@pytest.mark.parametrize(
    ("name", "counted"),
    [("commits", True), ("year", False), ("user_id", False), ("HTTP status", False), ("paid", True)],
)
def test_numbers_that_name_something_get_no_commas(name: str, counted: bool) -> None:
    assert is_quantity(TableColumn(name=name, kind="number")) is counted
    assert not is_quantity(TableColumn(name=name))


@pytest.mark.parametrize(
    ("name", "unit", "head"),
    [("time", "ms", "time (ms)"), ("mean ms", "ms", "mean ms"), ("share (%)", "%", "share (%)"), ("x", None, "x")],
)
def test_a_unit_is_said_once(name: str, unit: str | None, head: str) -> None:
    assert column_heading(TableColumn(name=name, unit=unit)) == head


@given(st.integers() | st.floats(allow_nan=False))
def test_any_number_can_be_drawn(value: float) -> None:
    assert -1e300 <= clamp(value) <= 1e300


PRICE = Cost(usd=0.0123, price_id="p", price_date="2026-01-01")


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        (Usage(), []),
        (Usage(tokens_in=1200, tokens_out=30, cost=PRICE), ["1,200 in, 30 out tokens", "$0.0123"]),
        (Usage(tokens_out=30), ["30 out tokens"]),
        (Usage(tokens_total=3200), ["3,200 tokens"]),
        (Usage(tokens_in=5, tokens_out=5, tokens_total=1010), ["1,010 tokens"]),
        (Usage(requests=1, model="local"), ["no known price"]),
        (Usage(model="local"), []),
    ],
)
def test_what_was_measured_is_said_and_a_sum_as_a_sum(usage: Usage, said: list[str]) -> None:
    assert list(usage_parts(usage)) == said


@pytest.mark.requirement("C18")
@pytest.mark.parametrize(
    ("unpriced", "why"),
    [
        (["b"], "1 of 2 models has no known price"),
        (["b", "c"], "2 of 3 models have no known price"),
        ([None], "not all of it has a known price"),
        (["a"], "not all of it has a known price"),
    ],
)
def test_a_cost_of_which_only_a_part_is_known_says_so(unpriced: list[str | None], why: str) -> None:
    usage = Usage.total([Usage(model="a", cost=PRICE), *(Usage(requests=1, model=model) for model in unpriced)])
    assert usage is not None
    assert list(usage_parts(usage)) == [f"at least $0.0123 ({why})"]
