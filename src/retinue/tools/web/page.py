"""From a URL to a page that can be read: hop by hop through the guard, then by its type to text."""

import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from retinue.contract.sanitize import printable
from retinue.errors import AccessDenied, DeadlineExceeded, InvalidInput, NotInstalled
from retinue.processes.start import clean_environment
from retinue.processes.tool_program import run
from retinue.tools.web.client import WebClient, WebResponse, decode_body, media_type, status_error
from retinue.tools.web.url import WebUrl, parse_url

MAX_REDIRECTS: Final = 5

RedirectPolicy: TypeAlias = Literal["same_host", "anywhere"]
"""How far a redirect is followed. `same_host`: a page that has moved to another host is reported, not fetched, so that
permission is asked for the place that is really read."""

_ACCEPT: Final = {"Accept": "text/html, text/*;q=0.9, application/json;q=0.8, */*;q=0.1"}
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS: Final = tuple(
    f"application/{kind}"
    for kind in (
        "ecmascript", "graphql", "javascript", "json", "sql", "toml", "x-ndjson", "x-sh", "x-yaml", "xml", "yaml",
    )
)  # fmt: skip
_NO_TEXT: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SAMPLE_CHARS: Final = 1_024
_REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})

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

    # Else Python prints on the terminal what trafilatura logs about the page.
    log = logging.getLogger("trafilatura")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    tree: Any = trafilatura.load_html(html)
    if tree is None:  # it wants a whole document, and many pages are fragments
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
    """Make sure that pages can be read here."""
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
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from retinue.tools.web.page import main; main()"


def read_html_in_process(html: str, *, url: WebUrl) -> PageText:
    """As `read_html`, with an end: it takes thirty seconds at most."""
    ensure_installed()
    # Isolated (`-I`), so that neither the folder nor the environment brings modules; it gets our own places instead.
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


@dataclass(frozen=True, slots=True)
class Page:
    """A page as text.

    Attributes:
        url: Where it was found in the end.
        truncated: It was larger than may be read, or broke off.
        accessed_ns: When, in nanoseconds since 1970 UTC.
    """

    url: WebUrl
    media_type: str
    title: str
    text: str
    links: tuple[Link, ...]
    truncated: bool
    accessed_ns: int


@dataclass(frozen=True, slots=True)
class CrossHostRedirect:
    """The page is at another host now."""

    url: WebUrl
    to: WebUrl


async def fetch_page(
    client: WebClient, url: WebUrl, *, redirects: RedirectPolicy, max_bytes: int
) -> WebResponse | CrossHostRedirect:
    """Ask for `url` and follow where it leads, each hop as closely guarded as the first."""
    here = url
    for _ in range(MAX_REDIRECTS + 1):
        response = await client.send(here, headers=_ACCEPT, max_bytes=max_bytes)
        if response.status not in _REDIRECT_STATUSES or "location" not in response.headers:
            if 200 <= response.status < 300:
                return response
            raise status_error(
                response.status,
                who=f"The page {response.url.text!r}",
                retry_after=response.headers.get("retry-after", ""),
            )
        there = here.join(response.headers["location"])
        if (here.scheme, there.scheme) == ("https", "http"):
            raise AccessDenied(
                f"The page {here.text!r} leads to {there.text!r}, which is not encrypted.",
                hint="Ask for that URL with https.",
            )
        client.guard.check(there)
        # Checked first, so that a closed address is refused rather than offered as the place to go.
        if redirects == "same_host" and _site(there) != _site(here):
            return CrossHostRedirect(url, there)
        here = there
    raise InvalidInput(
        f"The page {url.text!r} leads on more than {MAX_REDIRECTS} times.", hint="Ask for the page it should lead to."
    )


def _site(url: WebUrl) -> str:
    return url.host.removeprefix("www.")


def read_page(response: WebResponse, *, clock: Callable[[], int] = time.time_ns) -> Page:
    """What was received, as text. HTML is read in a process of its own, and waited for."""
    content_type = response.headers.get("content-type", "")
    kind, head = media_type(content_type), response.body[:_SAMPLE_CHARS]
    if not kind and head.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        kind = "text/html"
    kind = kind or ("application/octet-stream" if b"\0" in head else "text/plain")
    if not (kind.startswith("text/") or kind in _TEXTS or kind in _HTML or kind.endswith(("+json", "+xml"))):
        what = "a PDF" if kind == "application/pdf" else f"of type {kind[:80]!r}"
        raise InvalidInput(
            f"The page {response.url.text!r} is {what}, which is not read here.",
            hint="Look for the same as HTML or as text.",
        )
    text = decode_body(response.body, content_type)
    controls = len(_NO_TEXT.findall(text, 0, _SAMPLE_CHARS))
    if response.body.startswith(b"%PDF-") or controls * 50 > min(len(text), _SAMPLE_CHARS) + 100:
        raise InvalidInput(
            f"The page {response.url.text!r} says that it is {kind!r}, and is not text.",
            hint="Look for the same as HTML or as text.",
        )
    title, links = "", ()
    if kind in _HTML:
        page_text = read_html_in_process(text, url=response.url)
        title, text, links = page_text.title, page_text.text, page_text.links
    return Page(response.url, kind, title, text, links, response.truncated, clock())
