"""HTML pages read in a process of their own, which is ended when time is up.

What reads them is made of regular expressions over a stranger's text: in a thread, a page that is made for it would
hold the whole program, and nobody could stop it.
"""

import json
import os
import sys
from pathlib import Path

from retinue.errors import DeadlineExceeded, InvalidInput
from retinue.processes.start import clean_environment
from retinue.processes.tool_program import run
from retinue.tools.web.page_text import Link, PageText, ensure_installed, read_html
from retinue.tools.web.url import WebUrl, parse_url

_TIMEOUT_S = 30.0
_MAX_BYTES = 64 * 2**20
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from retinue.tools.web.page_process import main; main()"
)


def read_html_in_process(html: str, *, url: WebUrl) -> PageText:
    """As `read_html`, with an end: it takes thirty seconds at most.

    Raises:
        NotInstalled: The extra `web` is missing.
        DeadlineExceeded: It took longer.
        InvalidInput: The page ended the process that read it.
    """
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
