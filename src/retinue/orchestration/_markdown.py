"""The answer of a run as Markdown. Every word of an agent is foreign text: tamed or escaped before it stands here."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from retinue.contract.model import JsonMapping
from retinue.contract.sanitize import escape_markdown, printable

__all__ = ["render", "tame"]

_CODE: Final = re.compile(r"(^```.*?^```[^\n]*$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
_MARKUP: Final = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)|\](?=\(\s*(?!https?:|[\w./#-]*\)))")
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}\s+(?=\S)", re.MULTILINE)
_UNDERLINE: Final = re.compile(r"^ {0,3}(=+|-{2,})\s*$", re.MULTILINE)
_SOURCES: Final = 8


def tame(text: str) -> str:
    """An agent's own Markdown without what could do more than be read.

    HTML, images and links to anything but the web are shown as text, headings stand below ours, invisible characters
    are made visible. Code stays as it is.
    """
    parts = _CODE.split(printable(text))
    return "".join(part if place % 2 else _plain(part) for place, part in enumerate(parts)).strip()


def _plain(text: str) -> str:
    escaped = _MARKUP.sub(lambda match: f"\\{match.group()}", text)
    return _HEADING.sub("#### ", _UNDERLINE.sub("", escaped))


def render(data: JsonMapping) -> str:
    """The data of a run's result as Markdown: sections, then everything that is not in them."""
    return "\n\n".join(block for block in _blocks(data) if block)


def _blocks(data: JsonMapping) -> Iterator[str]:
    sections = _list(data, "answer")
    for section in sections:
        if len(sections) > 1:
            yield f"## {_line(section['title'])}"
        yield str(section["text"])
        yield _sources(cast("Sequence[str]", section["sources"]))
    yield _titled("Not answered", map(_unanswered, _list(data, "not_answered")))
    yield _titled("What went wrong", map(_failure, _list(data, "failures")))
    yield _titled("Questions", (_prose(one["text"]) for one in _list(data, "questions")))


def _list(data: JsonMapping, name: str) -> list[JsonMapping]:
    return cast("list[JsonMapping]", data.get(name, []))


def _titled(title: str, lines: Iterable[str]) -> str:
    items = "\n".join(f"- {line}" for line in lines)
    return f"## {title}\n\n{items}" if items else ""


def _unanswered(one: Mapping[str, object]) -> str:
    return f"{_line(one['clause']).rstrip('.?! ')}: {_prose(one['reason'])}"


def _failure(one: Mapping[str, object]) -> str:
    said = [_sentence(_prose(text)) for text in (one["message"], one.get("hint")) if text]
    return f"{_line(one['title'])} (`{one['agent']}`): {' '.join(said)}"


def _sentence(text: str) -> str:
    """`text` as it stands among sentences: tools and agents often leave out the capital and the full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?', '…')) else '.'}"


def _prose(text: object) -> str:
    """A sentence with code in backticks, as messages and reasons are, on one line."""
    return " ".join(tame(str(text)).split())


def _sources(sources: Sequence[str]) -> str:
    if not sources:
        return ""
    more = f" and {len(sources) - _SOURCES} more" if len(sources) > _SOURCES else ""
    return f"Sources: {', '.join(_code(source) for source in sources[:_SOURCES])}{more}"


def _code(text: str) -> str:
    """`text` as code; one that holds backticks stands between more of them than it holds."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _line(text: object) -> str:
    """Foreign words on one line, escaped, but for what could not be markup anyway: dots, dashes and the like."""
    escaped = escape_markdown(printable(str(text)), form="line")
    return re.sub(r"\\([.!+\-(){}:@])", r"\1", escaped)
