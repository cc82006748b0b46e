"""Charts as SVG: every value in its place, in a page and in a file of their own, whatever the values and labels."""

import re
import subprocess
import sys
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract.table import Chart, Series
from retinue.orchestration.present.html_chart import chart_svg, charts_file
from tests.examples import examples

SVG = "{http://www.w3.org/2000/svg}"
LATENCY = Chart(
    title="Latency",
    labels=("/a", "/b"),
    series=(Series(name="p50", values=(10, None)), Series(name="p99", values=(40, 1234.5))),
    unit="ms",
)
DAYS = Chart(
    title="Runs over time",
    kind="line",
    labels=tuple(f"2026-01-{day:02}" for day in range(1, 31)),
    series=(Series(name="runs", values=(*range(10), None, 3, None, *range(17))),),
)


def tree_of(chart: Chart) -> Element:
    return fromstring(chart_svg(chart))


def words(tree: Element) -> list[str]:
    return [each.text or "" for each in tree.iter() if each.tag.removeprefix(SVG) == "text"]


def bars(chart: Chart) -> list[tuple[float, float, str]]:
    """Where each bar begins, how long it is, and its colour."""
    groups = tree_of(chart).iterfind(".//g[@class='series bars']")
    return [
        (float(bar.get("x", "")), float(bar.get("width", "")), bar.get("fill", ""))
        for g in groups
        for bar in g.iter("rect")
    ]


@pytest.mark.requirement("P21")
def test_a_file_names_its_charts_and_describes_itself() -> None:
    svg = charts_file("Past runs", [LATENCY, DAYS], subtitle="of nothing")
    tree = fromstring(svg)
    assert {"Past runs", "of nothing", "Latency (ms)", "Runs over time", "/a", "p50", "p99", "1,234.5"} <= {
        *words(tree)
    }
    described = tree.findtext(f"{SVG}desc") or ""
    assert "p99: lowest 40 at /a, highest 1,234.5 at /b" in described
    assert "prefers-color-scheme: dark" in svg


def test_bars_are_as_long_as_their_values_and_each_series_has_its_colour() -> None:
    (start, ten, blue), (_, long, orange), (_, forty, same) = bars(LATENCY)
    assert (forty, long) == (pytest.approx(ten * 4), pytest.approx(ten * 123.45))
    assert same == orange != blue
    up, down = bars(Chart(labels=("up", "down"), series=(Series(values=(5, -5)),)))[::-1]
    assert up[0] == pytest.approx(down[0] + down[1])
    assert start == 0


def test_two_bars_of_one_name_are_two_bars() -> None:
    twice = Chart(labels=("same", "same"), series=(Series(values=(1, 2)),))
    assert len(bars(twice)) == 2
    assert words(tree_of(twice)).count("same") == 2


def test_a_line_has_gaps_where_nothing_was_measured_and_a_lone_value_is_a_dot() -> None:
    paths = [path.get("d", "") for path in tree_of(DAYS).iter("path")]
    assert len(paths) == 3
    assert [path.endswith(" h 0") for path in paths] == [False, True, False]
    assert 2 < sum(text.startswith("2026-01") for text in words(tree_of(DAYS))) < 30


def test_more_bars_than_can_be_seen_are_counted() -> None:
    many = Chart(title="Many", labels=tuple(map(str, range(100))), series=(Series(values=tuple(range(100))),))
    assert len(bars(many)) == 60
    assert "Many, the first 60 of 100" in words(fromstring(charts_file("All", [many])))


@pytest.mark.parametrize("kind", ["bar", "line"])
def test_nothing_measured_can_be_drawn(kind: str) -> None:
    nothing = Chart(kind="bar" if kind == "bar" else "line", labels=("a",), series=(Series(values=(None,)),))
    assert words(tree_of(nothing)) == ["no values"]
    fromstring(charts_file("Nothing", []))


def test_wide_letters_have_room_beside_their_bars() -> None:
    def left(label: str) -> float:
        return float(tree_of(Chart(labels=(label,), series=(Series(values=(1,)),))).get("viewBox", "").split()[0])

    assert left("abcdef") == 0
    assert left("\u65e5\u672c\u8a9e") < 0


@pytest.mark.parametrize("kind", ["bar", "line"])
def test_foreign_names_cannot_leave_their_place_and_nothing_is_loaded(kind: str) -> None:
    hostile = '</text></style><script>alert(1)</script><a href="http://a.example">\x1b[31m\u202e"&#x3c;'
    chart = Chart(
        title=hostile, kind="bar" if kind == "bar" else "line", labels=(hostile, hostile), unit=hostile,
        series=(Series(name=hostile, values=(1, 2)), Series(name=hostile, values=(2, None))),
    )  # fmt: skip
    for svg in (chart_svg(chart), charts_file(hostile, [chart], subtitle=hostile)):
        tags = {each.tag.removeprefix(SVG) for each in fromstring(svg).iter()}
        assert tags <= {"svg", "title", "desc", "style", "g", "rect", "line", "path", "text"}
        assert not re.search("[\x1b\u202e]|url\\(|@import", svg)
        assert not any(name.endswith(("href", "src")) for each in fromstring(svg).iter() for name in each.attrib)


VALUES = st.none() | st.integers(-(2**1100), 2**1100) | st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=6), st.sampled_from(["bar", "line"]))
def test_any_values_stay_within_the_picture(values: list[float | None], kind: str) -> None:
    labels = tuple(map(str, range(len(values))))
    chart = Chart(kind="bar" if kind == "bar" else "line", labels=labels, series=(Series(values=tuple(values)),))
    tree = tree_of(chart)
    _, _, width, height = map(float, tree.get("viewBox", "").split())
    for rect in tree.iter("rect"):
        assert 0 <= float(rect.get("x", "")) <= float(rect.get("x", "")) + float(rect.get("width", "")) <= width
        assert 0 <= float(rect.get("y", "")) <= float(rect.get("y", "")) + float(rect.get("height", "")) <= height
    for path in tree.iter("path"):
        assert all(0 <= float(number) <= width for number in re.findall(r"[-+.\dE]+", path.get("d", "")))


def test_the_libraries_are_loaded_only_where_something_is_drawn() -> None:
    code = "import sys, retinue.orchestration.present.html_page, retinue.orchestration.present.blocks_markdown; print({'leather', 'rich'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
