"""Charts out of characters fit their width, keep their order, and survive any number."""

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from retinue.contract.table import Chart, Series
from retinue.orchestration.present.text_chart import chart_text

NUMBERS = st.none() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)


def bars(*pairs: tuple[str, float | None], unit: str | None = None) -> Chart:
    labels, values = zip(*pairs, strict=True)
    return Chart(labels=labels, series=(Series(name="n", values=values),), unit=unit)


def drawn(chart: Chart, *, width: int = 40, in_ascii: bool = False) -> list[str]:
    return chart_text(chart, width=width, is_ascii=in_ascii).splitlines()


def test_bars_are_as_long_as_their_values() -> None:
    lines = drawn(bars(("a", 8), ("bb", 4), ("c", 0), ("d", None), unit="ms"))
    assert lines[0].startswith("a       8 ms  ██")
    assert lines[0].count("█") == 2 * lines[1].count("█")
    assert lines[2:] == ["c       0 ms", "d   no value"]


def test_a_small_value_still_shows() -> None:
    assert "▏" in drawn(bars(("a", 10_000), ("b", 1)))[1]


def test_negative_bars_grow_to_the_left_of_nought() -> None:
    up, down = drawn(bars(("a", 10), ("b", -10)))
    assert abs(up.index("█") - down.rindex("█")) <= 1
    assert down.index("█") < up.index("█")


@pytest.mark.parametrize("width", [20, 40, 200])
def test_bars_fit_any_width_and_values_are_not_cut(width: int) -> None:
    lines = drawn(bars(("a" * 90, 12_345), ("日本語" * 9, 3)), width=width)
    assert all(cell_len(line) <= width for line in lines)
    assert all(value in line for value, line in zip(("12,345", "3"), lines, strict=True))


def test_ascii_is_ascii() -> None:
    line = Chart(labels=("1", "2"), kind="line", series=(Series(name="n", values=(1, 2)),))
    for chart in (bars(("a" * 50, 3), ("b", 1)), line):
        assert "\n".join(drawn(chart, in_ascii=True)).isascii()


def test_wide_letters_are_counted_as_wide() -> None:
    wide, narrow = drawn(bars(("日本語", 1), ("abc", 1)))
    assert cell_len(wide) == cell_len(narrow)


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
    assert drawn(chart, width=72) == ["n  ▃█ ▁", "   lowest 1 (2013), highest 9 (2011)", "   2010 … 2013"]


def test_many_values_are_means_and_that_is_said() -> None:
    labels = tuple(map(str, range(1000)))
    chart = Chart(labels=labels, kind="line", series=(Series(values=tuple(range(1000))),))
    lines = drawn(chart, width=50)
    assert "a mark is the mean of" in lines[-1]
    assert len(lines[0]) <= 50


@pytest.mark.parametrize(("values", "said"), [((None, None), "no values"), ((2, 2), "always 2")])
def test_a_flat_line_says_so(values: tuple[int | None, ...], said: str) -> None:
    assert said in drawn(Chart(labels=("a", "b"), kind="line", series=(Series(values=values),)))[1]


@given(st.lists(st.tuples(st.text(max_size=40), NUMBERS), min_size=1, max_size=8), st.booleans(), st.booleans())
def test_no_value_and_no_label_breaks_a_line(
    pairs: list[tuple[str, float | None]], is_line: bool, in_ascii: bool
) -> None:
    chart = bars(*pairs, unit="\x1b[31m\u202e")
    chart = chart.model_copy(update={"kind": "line" if is_line else "bar"})
    for line in drawn(chart, in_ascii=in_ascii):
        assert not any(character < " " or character in "\x7f\u202e\u2028" for character in line)
