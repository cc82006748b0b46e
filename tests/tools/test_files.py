from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from retinue.errors import AccessDenied, InvalidInput, MissingFile
from retinue.tools.builtin.read_tool import read_lines
from retinue.tools.encoding import decode, is_binary
from retinue.tools.workspace import Workspace


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\nthree")
    found = read_lines(Workspace(tmp_path), "a.txt")
    assert (found.text, found.first_line, found.last_line, found.total_lines) == ("one\ntwo\nthree", 1, 3, 3)
    assert (found.encoding, found.certain, found.truncated, found.size) == ("utf-8", True, False, 14)


def test_a_range_of_lines_is_cut_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n\n4\n5\n")
    fence = Workspace(tmp_path)
    assert read_lines(fence, "a.txt", first_line=2, last_line=4).text == "2\n\n4"
    assert read_lines(fence, "a.txt", first_line=5).text == "5"
    beyond = read_lines(fence, "a.txt", first_line=9)
    assert (beyond.text, beyond.first_line, beyond.last_line) == ("", 9, 8)


@pytest.mark.parametrize(("first", "last"), [(0, None), (-1, 3), (5, 3)])
def test_a_range_that_is_none_is_refused(tmp_path: Path, first: int, last: int | None) -> None:
    (tmp_path / "a.txt").write_text("1\n")
    with pytest.raises(InvalidInput, match="not a range"):
        read_lines(Workspace(tmp_path), "a.txt", first_line=first, last_line=last)


@pytest.mark.parametrize(
    ("data", "encoding", "certain"),
    [
        ("grün".encode(), "utf-8", True),
        ("grün".encode("utf-8-sig"), "utf-8-sig", True),
        ("grün".encode("utf-16"), "utf-16", True),
        (b"\xfe\xff" + "grün".encode("utf-16-be"), "utf-16", True),
        ("grün".encode("utf-32"), "utf-32", True),
        ("grün".encode("latin-1"), "latin-1", False),
    ],
)
def test_encodings_are_told_apart(tmp_path: Path, data: bytes, encoding: str, certain: bool) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    found = read_lines(Workspace(tmp_path), "a.txt")
    assert (found.text, found.encoding, found.certain) == ("grün", encoding, certain)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"MZ\0\0")
    with pytest.raises(InvalidInput, match="binary"):
        read_lines(Workspace(tmp_path), "a.bin")


def test_a_sparse_file_of_200_mb_is_refused_at_once(tmp_path: Path) -> None:
    with (tmp_path / "a.log").open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    with pytest.raises(InvalidInput, match="binary"):
        read_lines(Workspace(tmp_path), "a.log")


def test_a_large_file_is_read_through_a_window(tmp_path: Path) -> None:
    lines = [f"line {number} ü" for number in range(1, 60_001)]
    (tmp_path / "a.log").write_text("\n".join(lines) + "\n")
    fence = Workspace(tmp_path, max_bytes=10_000)
    with pytest.raises(InvalidInput, match="more than the cap") as refused:
        read_lines(fence, "a.log")
    assert "first_line" in refused.value.hint
    for first, last in ((1, 1), (25_000, 25_003), (59_999, 60_000), (60_000, 60_000)):
        found = read_lines(fence, "a.log", first_line=first, last_line=last)
        assert found.text.split("\n") == lines[first - 1 : last]
        assert (found.last_line, found.total_lines, found.truncated) == (last, None, False)
    past = read_lines(fence, "a.log", first_line=59_999, last_line=70_000)
    assert past.text.split("\n") == lines[-2:]
    assert read_lines(fence, "a.log", first_line=80_000, last_line=80_001).text == ""


def test_a_large_file_in_wide_characters_has_no_window(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(("x\n" * 9000).encode("utf-16"))
    with pytest.raises(InvalidInput, match="more than the cap"):
        read_lines(Workspace(tmp_path, max_bytes=10_000), "a.log", first_line=1, last_line=2)


def test_caps_cut_whole_lines_and_say_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("12345\n" * 10)
    fence = Workspace(tmp_path)
    by_lines = read_lines(fence, "a.txt", max_lines=3)
    assert (by_lines.last_line, by_lines.truncated, by_lines.total_lines) == (3, True, 10)
    by_bytes = read_lines(fence, "a.txt", max_bytes=12)
    assert (by_bytes.text, by_bytes.truncated) == ("12345\n12345", True)
    (tmp_path / "long.txt").write_text("é" * 100_000)
    assert len(read_lines(fence, "long.txt", max_bytes=50).text) == 50
    window = read_lines(Workspace(tmp_path, max_bytes=1000), "long.txt", last_line=1, max_bytes=51)
    assert (window.text, window.truncated) == ("é" * 25, True)
    (tmp_path / "old.txt").write_bytes(b"\xe9" * 2000)
    old = read_lines(Workspace(tmp_path, max_bytes=1000), "old.txt", last_line=1, max_bytes=51)
    assert (old.text, old.encoding, old.certain) == ("é" * 51, "latin-1", False)


def test_the_fence_holds_for_reading(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    with pytest.raises(AccessDenied):
        read_lines(Workspace(tmp_path / "root"), "../x")
    with pytest.raises(MissingFile):
        read_lines(Workspace(tmp_path / "root"), "x")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    lines=st.lists(
        st.text(st.characters(exclude_characters="\n\r\0", codec="utf-8"), max_size=8), min_size=1, max_size=30
    ),
    first=st.integers(1, 35),
    count=st.integers(1, 35),
    ends=st.booleans(),
)
def test_a_window_shows_the_same_lines_as_the_whole(
    tmp_path: Path, lines: list[str], first: int, count: int, ends: bool
) -> None:
    (tmp_path / "a.txt").write_bytes(("\n".join(lines) + ("\n" if ends else "")).encode())
    last = first + count - 1
    whole = read_lines(Workspace(tmp_path), "a.txt", first_line=first, last_line=last)
    window = read_lines(Workspace(tmp_path, max_bytes=0), "a.txt", first_line=first, last_line=last)
    if not whole.text.startswith("\ufeff"):
        assert (window.text, window.first_line, window.last_line) == (whole.text, whole.first_line, whole.last_line)


@given(st.binary(max_size=200))
def test_every_text_can_be_decoded(data: bytes) -> None:
    decode(data).text.encode("utf-8", "surrogatepass")
    assert is_binary(data) in (True, False)
