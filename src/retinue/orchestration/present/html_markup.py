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

STYLE: Final = """
:root {
  color-scheme: light dark;
  --ink: #1c2127; --soft: #5b6570; --faint: #dfe3e8; --paper: #ffffff; --tint: #f5f7f9; --link: #0b5cad;
  --good: #1a7f4b; --warn: #9a6100; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4e7eb; --soft: #9aa5b1; --faint: #343b44; --paper: #15191e; --tint: #1d2229; --link: #7db8f5;
    --good: #5cc48f; --warn: #e0a84a; --bad: #f28b82;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 50rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: break-word;
}
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .25rem; }
p, ul, ol, pre, figure, blockquote { margin: .75rem 0; }
li + li { margin-top: .25rem; }
li > ul, li > ol { margin: .25rem 0; }
a { color: var(--link); }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .875em; }
code { background: var(--tint); border-radius: .25em; padding: .1em .2em; }
pre { background: var(--tint); border-radius: .5rem; padding: .75rem 1rem; overflow-x: auto; }
pre code { background: none; padding: 0; }
blockquote { border-left: .2rem solid var(--faint); padding-left: 1rem; color: var(--soft); }
.meta { color: var(--soft); margin: 0; font-size: .9rem; }
.meta b { color: var(--ink); }
.meta b.good { color: var(--good); } .meta b.warn { color: var(--warn); } .meta b.bad { color: var(--bad); }
header { border-bottom: 1px solid var(--faint); padding-bottom: 1rem; margin-bottom: 1.5rem; }
h2 .by { font-weight: 400; font-size: .85rem; color: var(--soft); margin-left: .5rem; white-space: nowrap; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; line-height: 1.45; font-variant-numeric: tabular-nums; }
caption, figcaption { text-align: left; font-weight: 600; font-size: .95rem; margin-bottom: .35rem; }
th, td { text-align: left; padding: .35rem 1.5rem .35rem 0; border-bottom: 1px solid var(--faint);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; font-size: .8rem; white-space: nowrap; }
td.number, th.number { text-align: right; }
td.number, td.time, td code { white-space: nowrap; }
tbody tr:hover { background: var(--tint); }
.more, .note { color: var(--soft); font-size: .85rem; margin: .25rem 0; }
.sources { font-size: .85rem; color: var(--soft); margin: 1rem 0; }
.sources ul { list-style: none; padding: 0; margin: .25rem 0; display: flex; flex-wrap: wrap; gap: .3rem .5rem; }
.sources li { margin: 0; }
figure { overflow-x: auto; }
svg { width: 100%; min-width: 34rem; height: auto; display: block; }
.aside { border-left: .25rem solid var(--warn); background: var(--tint); border-radius: 0 .5rem .5rem 0;
  padding: .5rem 1.25rem 1rem; margin: 2rem 0 0; }
.aside.failures { border-color: var(--bad); }
.aside.questions { border-color: var(--link); }
.aside h2 { margin-top: .5rem; font-size: 1.05rem; }
details { margin-top: 2.5rem; border-top: 1px solid var(--faint); padding-top: 1rem; }
summary { cursor: pointer; color: var(--soft); }
footer { margin-top: 2.5rem; color: var(--soft); font-size: .8rem; }
@media print {
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  svg { min-width: 0; }
  .scroll, figure, pre { overflow: visible; white-space: normal; }
  figure, tr, .aside { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; }
  details > * { display: block; }
  a { color: inherit; }
}
"""

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
    return quote(target.strip(), safe=":/?#[]@!$&'()*+,;=%~-._")


def markdown_to_html(markdown: str) -> str:
    """`markdown` as the markup of a section."""
    return _parser().render(printable(markdown)).strip()


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table")
    # Nothing that shows what is not written, and no second way to write what another form says.
    parser.disable(["image", "autolink", "reference", "code", "lheading"])
    parser.validateLink = lambda url: True  # noqa: ARG005 - others lose their tags below, and their words stay
    parser.normalizeLink = lambda url: url  # `web_address` quotes it
    parser.core.ruler.push("restrict", _restrict)
    return parser


def _restrict(state: StateCore) -> None:
    """Our own level of heading, no attributes but ours, and links to the web only."""
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
