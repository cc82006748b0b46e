"""Foreign text in Markdown: shown as it is, whatever it holds."""

from hypothesis import example, given, strategies as st
from markdown_it import MarkdownIt

from retinue.catalogue._prose import code, code_span, escape_line, markdown, name, one_line, plain_text, quote, title

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
ODD = st.text(alphabet="ab1_*`[]()<>~&#;:/.@!-+=|\\ w\"'\n", max_size=25)
LINES = ODD.map(lambda text: " ".join(text.split())).filter(bool)


def shown(markdown: str) -> str:
    """What a reader sees of one paragraph that must hold nothing but text and code."""
    blocks = MARKDOWN.parse(markdown)
    assert [block.type for block in blocks] == ["paragraph_open", "inline", "paragraph_close"]
    children = blocks[1].children or []
    assert {child.type for child in children} <= {"text", "text_special", "code_inline"}
    return "".join(child.content for child in children)


@given(LINES)
@example("1. a")
@example("www.x.org me@x.org http://x")
@example("_a_ b_c_d __e__")
def test_an_escaped_line_reads_as_it_was(text: str) -> None:
    assert shown(escape_line(text)) == text
    assert shown(f"x {escape_line(text)}") == f"x {text}"


@given(LINES)
def test_a_code_span_reads_as_it_was(text: str) -> None:
    assert shown(f"x {code_span(text)}") == f"x {text}"


@given(LINES)
def test_a_quotation_keeps_its_code_and_no_other_markup(text: str) -> None:
    assert shown(markdown(f"x {quote(text)}")).replace("`", "") == f"x {text}".replace("`", "")


def test_plain_words_need_no_backslashes() -> None:
    assert escape_line("fix(engine): say 2, not #1 - see a_b & c.") == "fix(engine): say 2, not #1 - see a_b & c."


def test_terminal_codes_and_bidirectional_marks_are_made_visible() -> None:
    assert one_line("a\x1b[31mred\x1b[0m \u202eb\n\nc\x07") == r"ared \u{202e}b c\u{7}"


def test_a_long_line_is_cut_where_it_is_said() -> None:
    assert one_line("abc " * 10, limit=10) == "abc abc a…"


def test_one_sentence_is_said_in_two_forms() -> None:
    sentence = f"{name('A*')} wrote 2 in {code('a`b')}: {title('x <b>')} ({quote('`c` *d*')})"
    assert plain_text(sentence) == "A* wrote 2 in `a`b`: “x <b>” (`c` *d*)"
    assert markdown(sentence) == r"A\* wrote 2 in ``a`b``: `x <b>` (`c` \*d\*)"
    assert (plain_text(name("")), plain_text(title("\n"))) == ("(no name)", "“(no subject)”")


def test_no_text_can_end_its_piece() -> None:
    assert plain_text(code("a\x03*b*\x02nc")) == r"`a\u{3}*b*\u{2}nc`"
