"""What is shown of foreign text: that no terminal, page or reader of Markdown obeys any of it."""

import re
from html.parser import HTMLParser

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
"""What a terminal would obey or not show."""

_ACTIVE = frozenset({"script", "img", "iframe", "object", "embed", "form", "base", "link", "foreignobject"})


def harmless(text: str) -> None:
    """A terminal that is given `text` only shows it."""
    assert _OBEYED.search(text) is None


def inert(page: str) -> None:
    """A browser that is given `page` runs nothing, loads nothing, and follows links to the web only."""
    _Judge().feed(page)


class _Judge(HTMLParser):
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in _ACTIVE
        for name, value in attrs:
            assert not name.startswith("on")
            assert name not in {"src", "srcdoc", "action", "formaction"}
            if name in {"href", "xlink:href"}:
                assert re.match(r"https?://|#", value or "")


def outside_code(markdown: str) -> str:
    """Markdown without its fences and code spans."""
    bare = re.sub(r"^(`{3,}).*?^\1`*$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", bare, flags=re.DOTALL)
