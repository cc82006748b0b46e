"""The guards for foreign text."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

import retinue
from retinue.contract import sanitize
from retinue.errors import AccessDenied, InvalidInput

# Paths


@pytest.mark.requirement("K16", "C12", "C13")
@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("src/app.py", "src/app.py"),
        ("foo..bar.py", "foo..bar.py"),
        ("..foo/bar..", "..foo/bar.."),
        ("./a//b/./c/", "a/b/c"),
        (".", "."),
        ("./", "."),
        (".claude/agents", ".claude/agents"),
        ("src", "src"),
        ("%2e%2e/x", "%2e%2e/x"),
        ("~/x", "~/x"),
        ("ab:c", "ab:c"),
        ("bytes\udcff", "bytes\udcff"),
        ("...a", "...a"),
    ],
)
def test_a_path_inside_comes_back_normalised(path: str, normal: str):
    assert sanitize.check_workspace_path(path) == normal


@pytest.mark.requirement("K16", "C12")
@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../x",
        "a/../b",
        "a/..",
        "a/.. /b",
        "a/.../b",
        "/etc/passwd",
        "/",
        "//server/share",
        "C:/x",
        "c:x",
        "/a/../b",
    ],
)
def test_a_path_out_of_the_fence_is_denied(path: str):
    with pytest.raises(AccessDenied) as caught:
        sanitize.check_workspace_path(path)
    assert caught.value.hint


@pytest.mark.requirement("K16")
@pytest.mark.parametrize("path", ["", "a\0b", "a\nb", "a\r", "..\\x", "C:\\x", "\\\\server\\x", "a" * 4097, "a\ud800"])
def test_what_is_no_path_is_invalid(path: str):
    with pytest.raises(InvalidInput) as caught:
        sanitize.check_workspace_path(path)
    assert caught.value.hint
    assert len(caught.value.message) < 200


@given(st.text(st.sampled_from("ab./\\: \0\n\ud800C~")) | st.text())
def test_a_path_that_passes_stays_inside_and_is_its_own_normal_form(path: str):
    try:
        normal = sanitize.check_workspace_path(path)
    except (AccessDenied, InvalidInput):
        return
    assert not normal.startswith("/")
    assert ".." not in normal.split("/")
    assert sanitize.check_workspace_path(normal) == normal


# Names of branches


@pytest.mark.requirement("K18", "C14")
@pytest.mark.parametrize(
    "name", ["main", "feature/v2-api", "release/1.2", "STORY-0001.2.3", "plan/STORY-0001.2.3", "ü"]
)
def test_a_branch_may_be_called_what_git_takes(name: str):
    assert retinue.check_branch_name(name) == name


@pytest.mark.requirement("K18", "C14")
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("", "is empty"),
        ("a..b", "has `..`"),
        ("/a", "begins or ends with `/`"),
        ("a/", "begins or ends with `/`"),
        ("a//b", "or has `//`"),
        ("main\n", "white space or a control character"),
        ("a\x1fb", "white space or a control character"),
        ("HEAD~1", "git reads otherwise"),
        ("a@{1}", "has `@{`"),
        ("@", "is `@`"),
        ("--all", "begins with `-`"),
        ("a.", "ends with `.`"),
        ("a/.b", "begins with `.`"),
        ("a.lock/b", "ends with `.lock`"),
    ],
)
def test_the_rule_that_the_name_of_a_branch_breaks_is_named(name: str, rule: str):
    with pytest.raises(InvalidInput, match=re.escape(rule)):
        retinue.check_branch_name(name)
    git = subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True, check=False)
    assert git.returncode != 0 or name == "@"  # which it reads as HEAD


# Content and text to show


@pytest.mark.requirement("K20")
def test_content_loses_nul_and_odd_line_breaks():
    assert sanitize.clean_content("a\0b\r\nc\rd\n\r") == "ab\nc\nd\n\n"
    assert sanitize.clean_content("x" * 10_000) == "x" * 10_000
    with pytest.raises(InvalidInput, match="10001 characters and 10000 are allowed"):
        sanitize.clean_content("x" * 10_001)
    with pytest.raises(InvalidInput):
        sanitize.clean_content("\0\0", max_length=1)


@pytest.mark.requirement("K19", "C36")
@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\\`*_{}[]()#+-.!", "\\\\\\`\\*\\_\\{\\}\\[\\]\\(\\)\\#\\+\\-\\.\\!"),
        ("<b>|~&", r"\<b\>\|\~\&"),
        ("&amp;", r"\&amp;"),
        ("https://x.y", r"https\://x\.y"),
        ("a@b @ c", r"a\@b @ c"),
        ("===", "\\==="),
        ("a = b", "a = b"),
        ("    code\n\tcode\n \nx", "code code x"),
        ("plain words, 12: done", "plain words, 12: done"),
    ],
)
def test_markdown_is_escaped(text: str, escaped: str):
    assert sanitize.escape_markdown(text) == escaped


def test_markdown_for_one_line_has_one_line():
    assert sanitize.escape_markdown(" a |\r\n\r\n - b\n") == r"a \| \- b"


@pytest.mark.requirement("C36")
@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("Hello, Ada! (v1.2-rc)", "Hello, Ada! (v1.2-rc)"),
        ("snake_case and _loud_", r"snake_case and \_loud\_"),
        ("- no list", r"\- no list"),
        ("12. no list", r"12\. no list"),
        ("1.5 of 2", "1.5 of 2"),
        ("---", r"\-\-\-"),
        ("![x](y) <b> | `c` *d*", r"!\[x\](y) \<b\> \| \`c\` \*d\*"),
        ("https://a.b and a@b.c", r"https\://a.b and a\@b.c"),
    ],
)
def test_one_line_is_escaped_where_it_could_be_markup(text: str, escaped: str):
    assert sanitize.escape_inline(text) == escaped


MARKUP = st.lists(
    st.sampled_from(
        ["# ", "- ", "1. ", "2) ", "> ", "```\n", "~~~\n", "    ", "\t", "\n", "\r", "\n\n", "---\n", "===\n", "| a | b |\n", "|---|---|\n", "<b>", "<!-- ", "&lt;", "[a](b)", "![x](y)", "[r]: http://x\n", "http://x.y/z", "www.example.com", "a@b.cd", "**b**", "_i_", "`c`", "~~s~~", "\\", "x", " ", "=", "* ", "+ "]
    ),
    max_size=10,
).map("".join)  # fmt: skip


@pytest.mark.requirement("K19", "C36")
@given(MARKUP | st.text())
def test_escaped_text_renders_as_text_only(text: str):
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(sanitize.escape_markdown(text))
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    inner = [child for token in tokens for child in token.children or []]
    assert {child.type for child in inner} <= {"text"}
    shown = "".join(child.content for child in inner)
    assert "".join(shown.split()) == "".join(text.replace("\0", "\ufffd").split())


@pytest.mark.requirement("C36")
@given(MARKUP)
def test_escaped_text_stays_in_its_table_cell(text: str):
    cell = sanitize.escape_markdown(text)
    tokens = MarkdownIt("commonmark").enable("table").parse(f"| a | b |\n|---|---|\n| {cell} | end |\n")
    cells = [token.content for token in tokens if token.type == "inline"]
    assert len(cells) == 4
    assert cells[3] == "end"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "plain ünï 😀 👩\u200d💻 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\ttab\nline",
            "plain ünï 😀 👩\u200d💻 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\ttab\nline",
        ),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07", r"\u{1b}]0;title\u{7}"),
        ("\x1b[2J\x1b[H", r"\u{1b}[2J\u{1b}[H"),
        ("\x1b[\x1b[0m31m", r"\u{1b}[31m"),
        ("\x9b31m", r"\u{9b}31m"),
        ("safe\rgone", r"safe\u{d}gone"),
        ("a\r\nb\r\r\n", "a\nb\\u{d}\n"),
        ("\u202etxt.exe", r"\u{202e}txt.exe"),
        ("a\u2066b\u2069\u200f\u061c", r"a\u{2066}b\u{2069}\u{200f}\u{61c}"),
        ("a\U000e0041b", r"a\u{e0041}b"),
        ("a\ud800b", r"a\u{d800}b"),
        ("a\u2028b\u200b\ufeff", r"a\u{2028}b\u{200b}\u{feff}"),
    ],
)
def test_what_a_terminal_obeys_or_hides_becomes_visible(text: str, shown: str):
    assert sanitize.printable(text) == shown


@given(st.text() | st.text(st.sampled_from("\x1b[]0m;1\r\n\x9b\u202e\ud800a\x07")))
def test_printable_text_is_safe_and_stays_as_it_is(text: str):
    shown = sanitize.printable(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert shown.encode().decode() == shown
    assert sanitize.printable(shown) == shown


@pytest.mark.parametrize("text", [" " * 500_000, "=" * 500_000, "\r" * 500_000, "\x1b[" * 250_000, " \n" * 250_000])
def test_long_monotonous_texts_take_linear_time(text: str):
    assert sanitize.escape_markdown(text) is not None
    assert sanitize.printable(text) is not None


# Callers without types


@pytest.mark.requirement("K16", "K18", "K19", "K20")
@pytest.mark.parametrize("value", [None, 5, b"main", ["main"], {"a": 1}, Path("main"), bytearray(b"main")])
@pytest.mark.parametrize(
    "guard",
    [
        sanitize.check_workspace_path,
        sanitize.check_branch_name,
        sanitize.clean_content,
        sanitize.escape_markdown,
        sanitize.printable,
        sanitize.hidden_character,
    ],
)
def test_what_is_no_text_is_a_typed_error(guard: Callable[[Any], object], value: object):
    with pytest.raises(InvalidInput, match=type(value).__name__) as caught:
        guard(value)
    assert caught.value.hint
