"""Plots: every mark in its place, in both kinds of file, whatever the values."""

import struct
import zlib
from itertools import pairwise
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given, settings, strategies as st

from retinue.orchestration.present.plot import Bar, Panel, Plot, as_png, as_svg
from retinue.orchestration.present.plot.layout import WIDTH, Box, Line, Words, laid_out
from retinue.orchestration.present.plot.letters import columns_of
from tests.examples import examples

BARS = (Bar("one", 10, low=5, high=20), Bar("two", None), Bar("three", 40, target=70, colour=3))
PLOT = Plot("A plot", (Panel("Share", "share (%)", BARS, ceiling=100, note="A note."),), "of nothing")


def words(svg: str) -> list[str]:
    tree = fromstring(svg)
    return [text for each in tree.iter() if each.tag.endswith("}text") and (text := each.text)]


def boxes(plot: Plot) -> list[Box]:
    return [mark for mark in laid_out(plot)[0] if isinstance(mark, Box)]


@pytest.mark.row("P21")
def test_an_svg_names_its_axes_and_describes_itself() -> None:
    svg = as_svg(PLOT)
    assert {"A plot", "of nothing", "Share", "A note.", "share (%)", "one", "10", "not measured"} <= {*words(svg)}
    assert "prefers-color-scheme: dark" in svg
    assert "Share, share (%): one 10, three 40." in svg


def test_bars_are_as_long_as_their_values() -> None:
    one, three = boxes(PLOT)
    assert three.width == pytest.approx(one.width * 4)
    assert three.colour == 3
    lines = [mark.kind for mark in laid_out(PLOT)[0] if isinstance(mark, Line)]
    assert (lines.count("over"), lines.count("target")) == (3, 1)


def test_columns_stand_side_by_side_and_skip_names_for_which_there_is_no_room() -> None:
    bars = tuple(Bar(f"2026-01-{day:02}", day) for day in range(1, 31))
    plot = Plot("Days", (Panel("Runs", "runs", bars, kind="columns"),))
    drawn = boxes(plot)
    assert len(drawn) == 30
    assert all(one.x + one.width <= other.x for one, other in pairwise(drawn))
    assert 2 < sum(text.startswith("2026-01") for text in words(as_svg(plot))) < 30


@pytest.mark.parametrize("kind", ["bars", "columns"])
def test_more_than_can_be_seen_is_counted(kind: str) -> None:
    bars = tuple(Bar(str(place), place) for place in range(100))
    plot = Plot("Many", (Panel("Much", "n", bars, kind="bars" if kind == "bars" else "columns"),))
    assert any(text.startswith("and ") and text.endswith(" more") for text in words(as_svg(plot)))


def test_nothing_measured_can_be_drawn() -> None:
    for panel in (
        Panel("Empty", "n", ()),
        Panel("Empty", "n", (), kind="columns"),
        Panel("None", "n", (Bar("a", None),)),
    ):
        fromstring(as_svg(Plot("Nothing", (panel,))))
        assert as_png(Plot("Nothing", (panel,)))


def test_foreign_names_cannot_leave_their_place() -> None:
    hostile = '</text><script>alert(1)</script>\x1b[31m\u202e"'
    svg = as_svg(Plot(hostile, (Panel(hostile, hostile, (Bar(hostile, 1),)),), hostile))
    fromstring(svg)
    assert "<script>" not in svg
    assert "\x1b" not in svg


VALUES = st.none() | st.floats(min_value=0, allow_nan=False, allow_infinity=False) | st.integers(min_value=0)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(VALUES, max_size=6), st.sampled_from(["bars", "columns"]))
def test_any_values_stay_within_the_picture(values: list[float | None], kind: str) -> None:
    bars = tuple(Bar(str(place), value) for place, value in enumerate(values))
    plot = Plot("Any", (Panel("Values", "n", bars, kind="bars" if kind == "bars" else "columns"),))
    marks, height = laid_out(plot)
    for mark in marks:
        if isinstance(mark, Box):
            assert 0 <= mark.x <= mark.x + mark.width <= WIDTH
            assert 0 <= mark.y <= mark.y + mark.height <= height
        elif isinstance(mark, Words):
            assert 0 <= mark.y <= height
    fromstring(as_svg(plot))


# PNG


def rows_of(png: bytes) -> list[bytes]:
    """The rows of dots, read as any reader of the format would."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    place, chunks = 8, dict[bytes, bytes]()
    while place < len(png):
        (size,) = struct.unpack_from(">I", png, place)
        name, data = png[place + 4 : place + 8], png[place + 8 : place + 8 + size]
        assert struct.unpack_from(">I", png, place + 8 + size) == (zlib.crc32(name + data),)
        chunks[name] = data
        place += size + 12
    width, height, depth, kind = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert (depth, kind, len(chunks[b"PLTE"]) % 3) == (8, 3, 0)
    lines = zlib.decompress(chunks[b"IDAT"])
    assert len(lines) == (width + 1) * height
    assert max(lines) < len(chunks[b"PLTE"]) // 3
    return [lines[start + 1 : start + 1 + width] for start in range(0, len(lines), width + 1)]


def test_a_png_holds_the_same_marks_as_dots() -> None:
    rows = rows_of(as_png(PLOT))
    marks, height = laid_out(PLOT)
    assert (len(rows), len(rows[0])) == (round(height) * 2, WIDTH * 2)
    box = next(mark for mark in marks if isinstance(mark, Box))
    assert rows[round(box.y * 2) + 2][round(box.x * 2) + 2] == 5
    assert rows[0] == bytes(WIDTH * 2)


def test_letters_have_a_shape_each_and_strangers_a_box() -> None:
    shapes = [columns_of(chr(code)) for code in range(32, 127)]
    assert len({*shapes}) == len(shapes) == 95
    assert all(len(shape) == 5 and max(shape) < 128 for shape in shapes)
    assert columns_of(" ") == bytes(5)
    assert columns_of("é") == columns_of("漢") == columns_of("\n")
