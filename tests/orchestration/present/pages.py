"""A reader of pages that trusts nothing: it collects tags, attributes and text, and whether the tags are balanced."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

__all__ = ["Page", "read"]

_ALONE = {"meta", "hr", "br"}


@dataclass
class Page:
    """What a page is made of."""

    tags: set[str] = field(default_factory=set[str])
    attributes: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    addresses: list[str] = field(default_factory=list[str])
    ids: list[str] = field(default_factory=list[str])
    text: str = ""
    unbalanced: list[str] = field(default_factory=list[str])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found = Page()
        self.open_tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.tags.add(tag)
        for name, value in attrs:
            self.found.attributes.add((tag, name))
            if name in {"href", "src", "action", "content", "data"}:
                self.found.addresses.append(f"{tag}.{name}={value}")
            if name == "id":
                self.found.ids.append(value or "")
        if tag not in _ALONE:
            self.open_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open_tags or self.open_tags.pop() != tag:
            self.found.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        self.found.text += data

    def handle_comment(self, data: str) -> None:
        self.found.unbalanced.append(f"<!--{data}")

    def unknown_decl(self, data: str) -> None:
        self.found.unbalanced.append(f"<![{data}")

    def handle_pi(self, data: str) -> None:
        self.found.unbalanced.append(f"<?{data}")


def read(page: str) -> Page:
    """Read a page, or a part of one."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    reader.found.unbalanced += reader.open_tags
    return reader.found
