"""Tags, text, Markdown and documents of HTML: the one place where foreign text becomes part of a page.

Every text and every value passes `text`; tags and names of attributes are ours. Nothing in Markdown can become a tag or
an attribute of its own, an image, or a link to anything but the web. A document loads nothing: its style stands in it,
it has no script, and its policy forbids any load.
"""

from functools import cache
from html import escape
from typing import Final
from urllib.parse import quote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from retinue.contract.sanitize import printable

COLOURS: Final = {
    "#2f6fb3": "#6ea8e0", "#d9822b": "#eba45e", "#3d9a6b": "#6cc598",
    "#a4508b": "#d28bbd", "#7a6fce": "#a9a0ee", "#8a7340": "#c4ab74",
}  # fmt: skip
"""Of the series of charts, in light and in dark mode; they begin again after the last."""

_DARK: Final = "\n".join(
    f'    svg [fill="{light}"] {{ fill: {dark}; }} svg [stroke="{light}"] {{ stroke: {dark}; }}'
    for light, dark in COLOURS.items()
)
CHART_STYLE: Final = f"""
  svg text {{ font: 12px system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; fill: #5b6570; }}
  svg text.title {{ font-size: 16px; font-weight: 600; }} svg text.title, svg text.value {{ fill: #1c2127; }}
  svg .tick line {{ stroke: #dfe3e8; }} svg .tick line[stroke="#a8a8a8"] {{ stroke: #5b6570; }}
  svg path {{ stroke-linecap: round; stroke-linejoin: round; }} svg .paper {{ fill: #ffffff; }}
  @media (prefers-color-scheme: dark) {{
    svg text {{ fill: #9aa5b1; }} svg text.title, svg text.value {{ fill: #e4e7eb; }} svg .paper {{ fill: #15191e; }}
    svg .tick line {{ stroke: #343b44; }} svg .tick line[stroke="#a8a8a8"] {{ stroke: #9aa5b1; }}
{_DARK}
  }}
"""


def text(external: str) -> str:
    """Foreign text that can stand between tags and in a quoted value."""
    return escape(printable(external), quote=True)


def element(tag: str, inside: str, /, **values: str | float) -> str:
    """`<tag …>inside</tag>`. `inside` is markup already; `class_` stands for `class`, `_` in a name for `-`."""
    attributes = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(str(value))}"' for name, value in values.items()
    )
    return f"<{tag}{attributes}>{inside}</{tag}>"


def link(target: str, inside: str) -> str:
    """`inside` (markup) as a link to a page of the web; only `inside` when `target` is not one."""
    href = web_address(target)
    return element("a", inside, href=href, rel="noopener noreferrer nofollow") if href else inside


def web_address(target: str) -> str:
    """`target` as it can stand in a link; empty when it is not a page of the web."""
    try:
        parts = urlsplit(target.strip())
    except ValueError:
        return ""
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return ""
    # % stays, so that what is quoted already is not quoted twice.
    return quote(target.strip(), safe=":/?#[]@!$&'()*+,;=%~-._")


def markdown_to_html(markdown: str) -> str:
    """`markdown` as the markup of a section."""
    return _parser().render(printable(markdown)).strip()


@cache
def _parser() -> MarkdownIt:
    """CommonMark with tables, held to our own level of heading, our own attributes, and links to the web only."""

    def restrict(state: StateCore) -> None:
        for token in state.tokens:
            token.info = ""
            token.attrs = {"scope": "col"} if token.type == "th_open" else {}
            if token.type in {"heading_open", "heading_close"}:
                token.tag = "h3"
            children: list[Token] = []
            open_links: list[bool] = []
            for child in token.children or ():
                child.content = printable(child.content)  # again, because an entity may stand for a hidden character
                if child.type == "hardbreak":
                    child.type = "softbreak"
                is_visible = True
                if child.type == "link_open":
                    href = web_address(str(child.attrGet("href") or ""))
                    open_links.append(bool(href))
                    child.attrs = {"href": href, "rel": "noopener noreferrer nofollow"}
                    is_visible = bool(href)
                elif child.type == "link_close":
                    is_visible = open_links.pop()  # a link that was refused has no end either
                if is_visible:
                    children.append(child)
            if token.children:
                token.children = children

    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table")
    # Nothing that shows what is not written, and no second way to write what another form says.
    parser.disable(["image", "autolink", "reference", "code", "lheading"])
    parser.validateLink = lambda url: True  # noqa: ARG005 - others lose their tags below, and their words stay
    parser.normalizeLink = lambda url: url  # `web_address` quotes it
    parser.core.ruler.push("restrict", restrict)
    return parser


_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def document(title: str, *parts: str, style: str, created_at: str = "") -> str:
    """The text of one HTML document, with a footer that says where it comes from.

    Args:
        title: What a browser calls it, as plain text.
        parts: Its body, as markup; empty ones are left out.
        style: Its style sheet.
        created_at: When it was made, as a person reads it.
    """
    footer = f"Made by Retinue{f', {created_at}' if created_at else ''}. This page loads nothing."
    lines = (
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{text(_POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        element("title", text(title)),
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        *filter(None, parts),
        element("footer", text(footer)),
        "</body>",
        "</html>",
    )
    return "\n".join(lines) + "\n"
