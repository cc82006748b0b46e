"""Tags and text of HTML: the one place where foreign text becomes part of a page.

Every text and every value passes `text`; tags and names of attributes are ours.
"""

from html import escape
from urllib.parse import quote, urlsplit

from retinue.contract.sanitize import printable


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
    """`inside` (markup) as a link to a page of the web; only `inside` when `target` is none."""
    try:
        parts = urlsplit(target.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        return inside
    href = quote(target.strip(), safe=":/?#[]@!$&'()*+,;=%~-._")
    return element("a", inside, href=href, rel="noopener noreferrer nofollow")
