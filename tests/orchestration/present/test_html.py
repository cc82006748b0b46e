"""An answer as one page: whole, valid, reachable without eyes, and deaf to whatever the text in it wants."""

import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract.fault import Fault
from retinue.contract.result import Cost, Result, Usage
from retinue.contract.sanitize import printable
from retinue.orchestration.present.html_markup import markdown_to_html
from retinue.orchestration.present.html_page import as_html
from tests.orchestration.present.answers import good, merged, whole
from tests.orchestration.present.pages import read

PROSE_TAGS = {
    "a", "blockquote", "code", "em", "h3", "hr", "li", "ol", "p", "pre", "strong", "table", "tbody", "td", "th",
    "thead", "tr", "ul",
}  # fmt: skip
PROSE_ATTRIBUTES = {("a", "href"), ("a", "rel"), ("th", "scope")}
PAGE_TAGS = PROSE_TAGS | {
    "b", "body", "caption", "desc", "details", "div", "figcaption", "figure", "footer", "h1", "h2", "head",
    "header", "html", "i", "g", "line", "main", "meta", "path", "rect", "section", "span", "style", "summary",
    "svg", "text", "title",
}  # fmt: skip
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "[x](javascript:alert(1))",
    '[x](https://a.example"onclick=alert(1))',
    "[x](data:text/html,<script>)",
    "![x](https://a.example/pixel.png)",
    "&lt;script&gt;&#x3c;b&#x3e;",
    "</style><script>",
    "</title>--><!--",
    "]]><![CDATA[<?php",
    "\x1b[31mred\x1b]8;;http://x\x07\u202eback\u2066",
    "`</code><b>`",
    "```\n</code></pre><b>\n```",
    "| a |\n|---|\n| <b> |",
]
FOREIGN = st.sampled_from(HOSTILE) | st.text(max_size=80) | st.text("<>&\"'`*_[]()#|-!\\\n ab:/", max_size=120)


def test_a_whole_answer_is_a_valid_page_of_its_own() -> None:
    html = as_html(whole(), run="01abc", created_at="2026-11-21 13:40")
    page = read(html)
    assert html.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert page.unbalanced == []
    assert page.tags <= PAGE_TAGS
    assert len(set(page.ids)) == len(page.ids)
    for words in ("A goal", "answered in part", "reader, writer, breaker", "1.2 s", "run 01abc", "Made by Retinue"):
        assert words in page.text
    for words in ("12,345", "and 68 more rows", "<b>Bob</b>", "Sources: as above", "Not answered", "What went wrong"):
        assert words in page.text
    assert "How this was found" in page.text


def test_the_page_loads_nothing() -> None:
    html = as_html(whole())
    assert "default-src 'none'; style-src 'unsafe-inline'" in read(html).text or "default-src &#x27;none&#x27;" in html
    assert not re.search(r"\bsrc=|url\(|@import|<link|<script|<iframe|http-equiv=\"refresh", html)


def test_charts_and_tables_speak_to_who_cannot_see_them() -> None:
    html = as_html(whole())
    names = dict(re.findall(r"<(title|desc) id=\"([^\"]+)\"", html))
    assert names
    for label in re.findall(r'aria-labelledby="([^"]+)"', html):
        assert set(label.split()) <= set(read(html).ids)
    assert 'scope="col"' in html
    assert "<caption>Commits by author</caption>" in html
    assert "p99: lowest -30 at /b, highest 120 at /a" in html


def test_what_was_measured_is_said_and_nothing_else() -> None:
    usage = Usage(tokens_in=1200, tokens_out=30, cost=Cost(usd=0.0123, price_id="p", price_date="2026-01-01"))
    said = read(as_html(merged(good()).model_copy(update={"usage": usage}))).text
    assert "1,200 in, 30 out tokens" in said
    assert "$0.0123" in said
    assert "$" not in read(as_html(merged(good()))).text


def test_a_run_without_an_answer_says_why() -> None:
    fault = Fault(code="internal_error", message="it broke", hint="Fix it.")
    failed = Result(task_id="t", agent="orchestrator", outcome="error", fault=fault)
    assert "There is no answer." in read(as_html(failed)).text
    assert "it broke Fix it." in read(as_html(failed)).text
    by_hand = Result(task_id="t", agent="orchestrator", outcome="success", content="By **hand**.", data={"results": {}})
    assert "<p>By <strong>hand</strong>.</p>" in as_html(by_hand)


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("a\nb\n\nc", "<p>a\nb</p>\n<p>c</p>"),
        ("#### Big *one*", "<h3>Big <em>one</em></h3>"),
        ("- a\n- b\n  - c", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("> q\n> r", "<blockquote><p>q\nr</p></blockquote>"),
        ("```py\nx < 1\n```\nafter", "<pre><code>x &lt; 1</code></pre>\n<p>after</p>"),
        ("~~~\nopen", "<pre><code>open</code></pre>"),
        ("a `b\\|` **c** _d_ e_f_g", "<p>a <code>b\\|</code> <strong>c</strong> <em>d</em> e_f_g</p>"),
        ("\\*a\\* \\<b>", "<p>*a* &lt;b&gt;</p>"),
        ("&#32;x &amp; y", "<p> x &amp; y</p>"),
        ("---", "<hr>"),
        ("| a | b |\n|---|--:|\n| `x\\|y` | 2 |", None),
        ("[a](https://x.example/y)", None),
        ("[a](docs/a.md)", "<p>a</p>"),
        ("[a](http://[bad)", "<p>a</p>"),
    ],
)
def test_markdown_becomes_html(markdown: str, html: str | None) -> None:
    made = re.sub(r"\n(?=<)|(?<=[lie]>)\n", "", markdown_to_html(markdown))
    if html is not None:
        assert made == re.sub(r"\n(?=<)", "", html)
    elif markdown.startswith("|"):
        assert "<td><code>x|y</code></td><td>2</td>" in made
    else:
        assert '<a href="https://x.example/y" rel="noopener noreferrer nofollow">a</a>' in made


def test_an_entity_shows_no_hidden_character() -> None:
    assert markdown_to_html("a&#x202e;b") == "<p>" + printable("a\u202eb") + "</p>"


@given(FOREIGN)
def test_no_markdown_becomes_more_than_it_may(text: str) -> None:
    page = read(markdown_to_html(text))
    assert page.unbalanced == []
    assert page.tags <= PROSE_TAGS
    assert page.attributes <= PROSE_ATTRIBUTES
    assert all(re.match(r"a\.href=https?://", address) for address in page.addresses)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page.text)


@given(FOREIGN, FOREIGN)
def test_no_foreign_text_becomes_markup_in_a_page(one: str, other: str) -> None:
    table = {"title": one, "columns": [{"name": other[:200] or "x", "kind": "source"}], "rows": [[one]], "note": other}
    line: dict[str, Any] = {
        "title": other,
        "labels": [one, other],
        "series": [{"name": one, "values": [1, 2]}],
        "unit": one,
    }
    data = {"tables": [table], "charts": [line, {**line, "kind": "line"}], "citations": [f"{one}/a.py"]}
    fault = Fault(code="internal_error", message=one, hint=other)
    failed = Result(task_id="t", agent="breaker", outcome="failed", fault=fault)
    page = read(as_html(merged(good(one, data), good(other, data), failed, goal=one or "g")))
    assert page.unbalanced == []
    assert page.tags <= PAGE_TAGS
    assert not {name for _, name in page.attributes if name.startswith("on") or name in {"style", "src"}}
    assert all(re.match(r"(a\.href=https?://|meta\.content=)", address) for address in page.addresses)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page.text)
