"""The text of an HTML page: its main part, its title and where its links lead. The only door to trafilatura.

Pages are foreign: one with so many elements that finding its main part would take seconds is given as plain text.
"""

import json
import logging
import os
import re
import sys
from dataclasses import dataclass
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from retinue.contract.sanitize import printable
from retinue.errors import DeadlineExceeded, InvalidInput, NotInstalled
from retinue.processes.start import clean_environment
from retinue.processes.tool_program import run
from retinue.tools.web.url import WebUrl, parse_url

_MANY: Final = 30_000
_MOST_LINKS: Final = 100
_LONGEST_WORDS: Final = 120
_LONGEST_TITLE: Final = 300
_UNSEEN: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|head|noscript|template|svg)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]*>")


@dataclass(frozen=True, slots=True)
class Link:
    """A link: the words it stands under, and the page it leads to."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class PageText:
    """What a person would read on a page.

    Attributes:
        text: As Markdown, links in their places.
        links: The first hundred different ones that lead to pages.
    """

    title: str
    text: str
    links: tuple[Link, ...]


def read_html(html: str, *, url: WebUrl) -> PageText:
    """The text of a page. CPU-bound: some milliseconds for most, under two seconds for the worst.

    Args:
        html: The page.
        url: Where it was found; relative links are relative to it.
    """
    ensure_installed()
    import trafilatura  # noqa: PLC0415 - optional, and 150 ms

    # See that Python does not print on the terminal what trafilatura logs about a stranger's page.
    log = logging.getLogger("trafilatura")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    tree: Any = trafilatura.load_html(html)
    if tree is None:  # it wants a whole page, and many are none
        html = f"<html><head></head><body>{html}</body></html>"
        tree = trafilatura.load_html(html)
    if tree is None:
        return PageText("", "", ())
    title = _words(str(tree.findtext(".//title") or "")[:_LONGEST_TITLE])
    links = _links(tree, url)
    text = None
    if sum(1 for _ in tree.iter()) <= _MANY:
        text = trafilatura.extract(
            html, url=url.text, output_format="markdown", include_links=True, include_comments=False, favor_recall=True
        )
    # Of a piece of a page, and of one that is nested hundreds deep, it may find nothing at all.
    # What is no markup, as a browser without any style would show it.
    return PageText(
        title,
        text
        or _tidy_lines(trafilatura.html2txt(html))
        or _tidy_lines(unescape(_TAG.sub("\n", _UNSEEN.sub(" ", html)))),
        links,
    )


def ensure_installed() -> None:
    """See that pages can be read here."""
    if find_spec("trafilatura") is None:
        raise NotInstalled(
            "The package `trafilatura` is not installed, and pages are read by it.", hint="install `retinue[web]`"
        )


def _links(tree: Any, url: WebUrl) -> tuple[Link, ...]:
    links: dict[str, Link] = {}
    for element in tree.iter("a"):
        reference = element.get("href")
        if not reference or reference.startswith("#"):
            continue
        try:
            leads_to = url.join(reference).text
        except InvalidInput:  # mail addresses, scripts, and what cannot be read
            continue
        words = _words("".join(element.itertext())[:_LONGEST_WORDS])
        if leads_to != url.text:
            links.setdefault(leads_to, Link(words, leads_to))
        if len(links) == _MOST_LINKS:
            break
    return tuple(links.values())


def _words(text: str) -> str:
    """Foreign text on one line, hidden characters shown."""
    return " ".join(printable(text).split())


def _tidy_lines(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


_TIMEOUT_S = 30.0
_MAX_BYTES = 64 * 2**20
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from retinue.tools.web.page_text import main; main()"


def read_html_in_process(html: str, *, url: WebUrl) -> PageText:
    """As `read_html`, with an end: it takes thirty seconds at most."""
    ensure_installed()
    places = [entry for entry in sys.path if Path(entry).is_absolute()]
    try:
        output = run(
            [sys.executable, "-I", "-c", _START, json.dumps(places)],
            cwd=os.sep,
            env=clean_environment({}),
            timeout_s=_TIMEOUT_S,
            max_bytes=_MAX_BYTES,
            stdin=json.dumps([html, url.text]).encode(),
        )
    except DeadlineExceeded as error:
        raise DeadlineExceeded(
            f"Reading the page {url.text!r} took longer than {_TIMEOUT_S:g} s.",
            hint="Look for the same on another page.",
            detail=error.detail,
        ) from None
    if output.code:
        raise InvalidInput(f"The page {url.text!r} cannot be read.", hint="Look for the same on another page.")
    title, text, links = json.loads(output.stdout)
    return PageText(title, text, tuple(Link(words, leads_to) for words, leads_to in links))


def main() -> None:
    """Read the one page on standard input, in the process of its own."""
    html, address = json.load(sys.stdin)
    page = read_html(html, url=parse_url(address))
    json.dump([page.title, page.text, [[link.words, link.url] for link in page.links]], sys.stdout)
