"""From a URL to a page that can be read: hop by hop through the guard, then by its type to text."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from retinue.errors import AccessDenied, InvalidInput
from retinue.tools.web.body import decode_body, media_type
from retinue.tools.web.client import WebClient, WebResponse, status_error
from retinue.tools.web.page_text import Link, read_html_in_process
from retinue.tools.web.url import WebUrl

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
