"""Charts out of characters fit their width, keep their order, and survive any number."""

import pytest
from hypothesis import given, strategies as st

from retinue.contract.table import Chart, Series
from retinue.orchestration.present.text_chart import cells_of, chart_lines

NUMBERS = st.none() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)


def bars(*pairs: tuple[str, float | None], unit: str | None = None) -> Chart:
    labels, values = zip(*pairs, strict=True)
    return Chart(labels=labels, series=(Series(name="n", values=values),), unit=unit)


def drawn(chart: Chart, *, width: int = 40, in_ascii: bool = False) -> list[str]:
    return [str(line) for line in chart_lines(chart, width=width, in_ascii=in_ascii)]


def test_bars_are_as_long_as_their_values() -> None:
    lines = drawn(bars(("a", 8), ("bb", 4), ("c", 0), ("d", None), unit="ms"))
    assert lines[0].startswith("a   ██")
    assert lines[0].count("█") == 2 * lines[1].count("█")
    assert lines[2] == "c    0 ms"
    assert lines[3] == "d    no value"


def test_a_small_value_still_shows() -> None:
    assert "▏" in drawn(bars(("a", 10_000), ("b", 1)))[1]


def test_negative_bars_grow_to_the_left_of_nought() -> None:
    up, down = drawn(bars(("a", 10), ("b", -10)))
    assert up.index("█") == down.rindex("█") + 1


def test_ascii_is_ascii() -> None:
    line = Chart(labels=("1", "2"), kind="line", series=(Series(name="n", values=(1, 2)),))
    for chart in (bars(("a" * 50, 3), ("b", 1)), line):
        assert "\n".join(drawn(chart, in_ascii=True)).isascii()


def test_wide_letters_are_counted_as_wide() -> None:
    lines = drawn(bars(("日本語", 1), ("abc", 1)))
    assert cells_of(lines[0]) == cells_of(lines[1])
    assert cells_of("e\u0301") == 1


def test_more_labels_than_fit_are_counted() -> None:
    lines = drawn(bars(*((f"l{place}", place) for place in range(80))))
    assert len(lines) == 51
    assert lines[-1] == "and 30 more"


def test_several_series_stand_under_each_label() -> None:
    chart = Chart(labels=("/a", "/b"), series=(Series(name="p50", values=(1, 2)), Series(name="p99", values=(3, 4))))
    assert [line[:7] for line in drawn(chart)] == ["/a  p50", "    p99", "/b  p50", "    p99"]


def test_a_line_says_where_it_is_low_and_high() -> None:
    values = (3, 9, None, 1)
    chart = Chart(labels=("2010", "2011", "2012", "2013"), kind="line", series=(Series(name="n", values=values),))
    first, last = drawn(chart, width=72)
    assert first == "n  ▃█ ▁  lowest 1 (2013), highest 9 (2011)"
    assert last == "   2010 … 2013"


def test_a_narrow_line_puts_the_extremes_below() -> None:
    chart = Chart(labels=("2010", "2011"), kind="line", series=(Series(name="n", values=(1, 2)),))
    assert drawn(chart, width=20) == ["n  ▅█", "   lowest 1 (2010), highest 2 (2011)", "   2010 … 2011"]


def test_many_values_are_means_and_that_is_said() -> None:
    labels = tuple(map(str, range(1000)))
    chart = Chart(labels=labels, kind="line", series=(Series(values=tuple(range(1000))),))
    lines = drawn(chart, width=50)
    assert "a mark is the mean of" in lines[-1]
    assert len(lines[0]) <= 50


@pytest.mark.parametrize(("values", "said"), [((None, None), "no values"), ((2, 2), "always 2")])
def test_a_flat_line_says_so(values: tuple[int | None, ...], said: str) -> None:
    assert said in drawn(Chart(labels=("a", "b"), kind="line", series=(Series(values=values),)))[0]


@given(st.lists(st.tuples(st.text(max_size=40), NUMBERS), min_size=1, max_size=8), st.booleans(), st.booleans())
def test_no_value_and_no_label_breaks_a_line(
    pairs: list[tuple[str, float | None]], is_line: bool, in_ascii: bool
) -> None:
    chart = bars(*pairs, unit="\x1b[31m\u202e")
    chart = chart.model_copy(update={"kind": "line" if is_line else "bar"})
    for line in drawn(chart, in_ascii=in_ascii):
        assert not any(character < " " or character in "\x7f\u202e\u2028" for character in line)
