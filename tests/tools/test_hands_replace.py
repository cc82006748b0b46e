"""Exact replacement, what is said of a miss, and diffs: words over words."""

import subprocess
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given, settings, strategies as st

from retinue.errors import InvalidInput
from retinue.tools.builtin.replace import Replacement, apply_replacements
from retinue.tools.builtin.write_tool import unified
from retinue.tools.encoding import decode, encode
from tests.examples import examples

TEXT = dedent(
    '''
    def area(width, height):
        """The area."""
        return width * height


    def name(thing):
        return thing.name or "nobody"
    '''
).lstrip()


def refused(text: str, *replacements: Replacement) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        apply_replacements(text, replacements)
    assert caught.value.hint
    return caught.value


def tried(text: str, *replacements: Replacement) -> str | InvalidInput:
    try:
        return apply_replacements(text, replacements)
    except InvalidInput as error:
        return error


def test_the_one_place_is_replaced() -> None:
    assert apply_replacements("a b c", [Replacement("b", "x")]) == "a x c"
    assert apply_replacements("a b a", [Replacement("a", "x", everywhere=True)]) == "x b x"


def test_edits_are_done_one_after_the_other() -> None:
    assert apply_replacements("one", [Replacement("one", "two"), Replacement("two", "three")]) == "three"


def test_what_stands_there_often_names_its_lines() -> None:
    error = refused("x = 1\ny\nx = 1\n", Replacement("x = 1", "x = 2"))
    assert error.message == "The old text stands 2 times: lines 1, 3."
    assert "replace_all" in error.hint
    assert refused("aaa", Replacement("aa", "b")).message == "The old text stands 2 times: line 1."
    assert "1,000 times or more: lines 1, 2" in refused("a\n" * 2000, Replacement("a", "b")).message
    assert "and 990 more" in refused("a\n" * 2000, Replacement("a", "b")).message


def test_every_edit_that_fails_is_told_and_none_is_done() -> None:
    error = refused(TEXT, Replacement("area", "size"), Replacement("", "x"), Replacement("name", "name"))
    assert error.message.startswith("3 of 3 edits cannot be done, so none was: ")
    assert [one["path"] for one in error.detail["findings"]] == ["/edits/0/old", "/edits/1/old", "/edits/2/new"]
    assert "/edits/2/new" in error.hint


@pytest.mark.parametrize(
    ("wanted", "slip"),
    [
        ("def area(width, height): \n", "in blanks at the ends of lines"),
        ("\treturn width * height", "in indentation"),
        ('def area(width, height):\n  """The area."""', "in indentation"),
        ("return width*height", ""),
        ("return  width * height", "in white space"),
        ("return thing.name or 'nobody'", "in quotes, dashes or white space"),
        ("return thing.name or “nobody”", "in quotes, dashes or white space"),
        ("RETURN WIDTH * HEIGHT", "in case"),
    ],
)
def test_a_miss_says_what_differs_and_shows_the_place(wanted: str, slip: str) -> None:
    error = refused(TEXT, Replacement(wanted, "x"))
    assert "does not stand there" in error.message
    assert error.message.endswith(f"differs only {slip}." if slip else "nearest is line 3.")
    assert "Copy it as it stands: " in error.hint


def test_line_ends_that_differ_are_named() -> None:
    assert "differs only in line ends" in refused("a\r\nb\nc\n", Replacement("a\nb", "x")).message


def test_copied_line_numbers_are_recognised() -> None:
    error = refused(TEXT, Replacement("     2\t    return width * height", "x"))
    assert "line numbers" in refused(TEXT, Replacement("     3\t    return width * height", "x")).message
    assert error.hint == "Leave them out."


def test_a_miss_in_the_middle_says_where_it_parts() -> None:
    error = refused(TEXT, Replacement("\ndef area(width, height):\n    return width * height\n\n", "x"))
    assert error.message == "The old text does not stand there; nearest is what begins in line 1."
    first = "def area(width, height):\n    total = 1\n    return width * height"
    assert (
        "In line 2 the file says"
        in refused(TEXT.replace('    """The area."""\n', "    pass\n"), Replacement(first, "")).hint
    )
    assert "the file has ended" in refused("a = first\nb", Replacement("a = first\nb\nc = third", "")).hint


def test_nothing_alike_says_so() -> None:
    assert "nor anything like it" in refused(TEXT, Replacement("completely unlike anything", "")).message
    assert "nor anything like it" in refused("a\nb", Replacement("\n\n\n", "")).message


def test_line_ends_and_the_last_one_are_kept() -> None:
    assert apply_replacements("a\r\nb\r\n", [Replacement("a\nb", "x\ny")]) == "x\r\ny\r\n"
    assert apply_replacements("a\nb\n", [Replacement("a\r\nb", "x\r\ny")]) == "x\ny\n"
    assert apply_replacements("a\nb\n", [Replacement("b\n", "c")]) == "a\nc\n"
    assert apply_replacements("a\nb", [Replacement("b", "c")]) == "a\nc"
    assert apply_replacements("a\nb\n", [Replacement("a\nb\n", "")]) == ""
    assert apply_replacements("a\r\nb\nc", [Replacement("b\nc", "x")]) == "a\r\nx"


LINES = st.lists(st.sampled_from(["a", "b", "  a", "", "long line", "a\r", "é", "\x0c"]), max_size=12)


@settings(max_examples=examples(150), deadline=None)
@given(
    text=LINES.map("\n".join),
    edits=st.lists(st.tuples(st.text("ab \n\r", max_size=4), st.text("ab\n", max_size=3)), min_size=1, max_size=3),
)
def test_all_edits_hold_or_none_does(text: str, edits: list[tuple[str, str]]) -> None:
    now = tried(text, *(Replacement(old, new) for old, new in edits))
    if isinstance(now, InvalidInput):
        assert now.detail["findings"]
        return
    if "\r" in text or any("\r" in old for old, _ in edits):
        return
    step = text
    for old, new in edits:
        assert step.count(old) == 1
        step = step.replace(old, new)
    assert now in (step, step + "\n")


@settings(max_examples=examples(100), deadline=None)
@given(text=st.text('ab“" \n\t1', max_size=60), wanted=st.text('ab“" \n\t1', min_size=1, max_size=30))
def test_any_miss_is_explained(text: str, wanted: str) -> None:
    now = tried(text, Replacement(wanted, wanted + "x"))
    if isinstance(now, InvalidInput):
        assert now.message.endswith(".")
        assert now.hint
    else:
        assert wanted + "x" in now


@pytest.mark.slow
def test_a_diff_takes_the_old_to_the_new_and_back(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)

    @settings(max_examples=examples(40), deadline=None)
    @given(before=LINES.map("\n".join), after=LINES.map("\n".join), spaced=st.booleans())
    def check(before: str, after: str, *, spaced: bool) -> None:
        name = "a file" if spaced else "file"
        diff = unified(name, before, after)
        if before == after:
            assert diff == ""
            return
        path = tmp_path / name
        for start, end, options in ((before, after, []), (after, before, ["--reverse"])):
            if (not start or not end) and start != end:
                continue  # git takes an empty file for none
            path.write_bytes(start.encode())
            words = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", *options, "-"]
            done = subprocess.run(words, cwd=tmp_path, input=diff.encode(), capture_output=True, check=False)
            assert (done.returncode, done.stderr) == (0, b"")
            assert path.read_bytes() == end.encode()

    check()


def test_a_diff_names_new_files_and_far_changes_apart() -> None:
    assert unified("a.py", None, "x\n") == "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,1 @@\n+x\n"
    before = "".join(f"{number}\n" for number in range(50))
    after = before.replace("3\n", "three\n", 1).replace("40\n", "forty\n")
    assert unified("a", before, after).count("@@ -") == 2
    long = "".join(f"{number}\n" for number in range(9000))
    changed = long.replace("10\n", "x\n", 1).replace("8990\n", "y\n")
    assert unified("a", long, changed).count("\n") > 8000


@settings(max_examples=examples(100), deadline=None)
@given(text=st.text(max_size=20), codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"]))
def test_a_text_goes_back_into_the_encoding_it_came_from(text: str, codec: str) -> None:
    data = ("\ufeff" + text).encode("utf-16-be") if codec == "utf-16-be" else text.encode(codec)
    read = decode(data)
    assert encode(read.text, data) == data
