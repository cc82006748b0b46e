"""An answer as a row of typed blocks: the one form that Markdown, HTML and a terminal are all drawn from.

Pure: it reads the data of a run's result (see `synthesise`) and draws nothing. Text in a block is either sanitized
Markdown or a plain line; both are foreign, and each medium escapes them in its own way. How foreign text is sanitized,
and which places a result cites, is decided here too.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, TypeAlias, cast

from retinue.contract.model import JsonMapping
from retinue.contract.sanitize import escape_inline, printable
from retinue.contract.table import Chart, Table, TableColumn
from retinue.orchestration.present.answer_figures import MAX_ROWS, AnswerFigures, figures_in

_MAX_EXAMPLES: Final = 5
_FILE_COLUMNS: Final = (
    TableColumn(name="title"),
    TableColumn(name="status"),
    TableColumn(name="path", kind="source"),
    TableColumn(name="summary"),
)


@dataclass(frozen=True, slots=True)
class Heading:
    """What the section below is about: a plain line.

    Attributes:
        agent: Who says it, when it is known.
    """

    text: str
    agent: str = ""


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """Tamed Markdown: paragraphs, lists, code."""

    text: str


@dataclass(frozen=True, slots=True)
class Sources:
    """Places that the section above rests on.

    Attributes:
        is_repeated: The same list stands above already.
    """

    places: tuple[str, ...]
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class OpenIssue:
    """One line of a listing: what it is about, who did it, and a sentence with code in backticks."""

    about: str
    text: str
    agent: str = ""


@dataclass(frozen=True, slots=True)
class OpenIssues:
    """What is not in the answer: `not_answered`, `failures`, or `questions`."""

    kind: Literal["not_answered", "failures", "questions"]
    items: tuple[OpenIssue, ...]


Block: TypeAlias = Heading | MarkdownBlock | Table | Chart | Sources | OpenIssues


def answer_blocks(data: object) -> tuple[Block, ...]:
    """The blocks of the data of a run's result, in reading order; none when it is not the data of an answer."""
    if not isinstance(data, dict):
        return ()
    members = cast("JsonMapping", data)
    return (*_section_blocks(_dicts_of(members, "answer")), *_issue_blocks(members))


def _section_blocks(sections: list[JsonMapping]) -> Iterator[Block]:
    earlier_sources: set[tuple[str, ...]] = set()
    for section in sections:
        if len(sections) > 1:
            yield Heading(_text_of(section, "title"), _text_of(section, "agent"))
        if text := _text_of(section, "text").strip():
            yield MarkdownBlock(text)
        if files := _dicts_of(section, "artifacts"):  # what its agent created (H7, H15)
            outcome = _text_of(section, "outcome")
            status = "complete" if outcome == "success" else outcome
            rows = tuple(
                (
                    _text_of(one, "title") or _text_of(one, "topic"),
                    _text_of(one, "status") or status,
                    _text_of(one, "path"),
                    _text_of(one, "summary"),
                )
                for one in files[:MAX_ROWS]
            )
            yield Table(title="Files", columns=_FILE_COLUMNS, rows=rows, total_rows=len(files))
        figures = figures_in(section)
        yield from _charts_with_tables(figures)
        left_out: object = section.get("left_out")
        if isinstance(left_out, list) and left_out:
            yield MarkdownBlock(sanitize_markdown(" ".join(str(one) for one in cast("list[object]", left_out))))
        places: object = section.get("sources")
        sources = tuple(map(str, cast("list[object]", places))) if isinstance(places, list) else ()
        if sources:
            yield Sources(sources, is_repeated=sources in earlier_sources)
            earlier_sources.add(sources)


def _charts_with_tables(figures: AnswerFigures) -> Iterator[Chart | Table]:
    """Each chart, with the table of the same title below it, which then needs no title of its own."""
    rest = list(figures.tables)
    for chart in figures.charts:
        yield chart
        own = next((table for table in rest if table.title == chart.title), None)
        if own is not None:
            rest.remove(own)
            yield own.model_copy(update={"title": ""})
    yield from rest


def _issue_blocks(data: JsonMapping) -> Iterator[Block]:
    """What is not in the answer. Where nothing is, also who came nearest, and what could be asked instead."""
    unplanned, failures = _dicts_of(data, "not_answered"), _dicts_of(data, "failures")
    is_refusal = not data.get("answer")
    refusals = [OpenIssue(_text_of(one, "clause"), _refusal_reason(one, is_refusal=is_refusal)) for one in unplanned]
    refusals += [_failure_item(one) for one in failures if _text_of(one, "outcome") == "rejected"]
    failed = [_failure_item(one) for one in failures if _text_of(one, "outcome") != "rejected"]
    questions = [OpenIssue("", _text_of(one, "text")) for one in _dicts_of(data, "questions")]
    if refusals:
        yield OpenIssues("not_answered", tuple(refusals))
    examples = (
        dict.fromkeys(example for one in unplanned for example in _texts_of(one, "examples")) if is_refusal else ()
    )
    if examples:
        lines = "\n".join(f"- {as_prose(example)}" for example in list(examples)[:_MAX_EXAMPLES])
        yield MarkdownBlock(f"What could be asked here:\n\n{lines}")
    if failed:
        yield OpenIssues("failures", tuple(failed))
    if questions:
        yield OpenIssues("questions", tuple(questions))


def _refusal_reason(dropped: JsonMapping, *, is_refusal: bool) -> str:
    """Why it is not answered, and in a refusal who came near, but for those whom the reason names already."""
    reason = _text_of(dropped, "reason")
    names = [
        f"{_text_of(one, 'agent')}.{_text_of(one, 'skill')}" for one in _dicts_of(dropped, "nearest") if is_refusal
    ]
    others = [as_code(name) for name in names[:_MAX_EXAMPLES] if name not in reason]
    label = "The nearest" if len(others) == len(names) else "Also near"
    return as_sentences(reason, f"{label}: {', '.join(others)}" if others else "")


def _failure_item(failure: JsonMapping) -> OpenIssue:
    paths = [as_code(_text_of(one, "path")) for one in _dicts_of(failure, "artifacts")]
    files = f"It wrote {', '.join(paths)}" if paths else ""
    text = as_sentences(_text_of(failure, "message"), _text_of(failure, "hint"), files)
    return OpenIssue(_text_of(failure, "title"), text, _text_of(failure, "agent"))


def _dicts_of(data: JsonMapping, name: str) -> list[JsonMapping]:
    value: object = data.get(name)
    entries = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonMapping", one) for one in entries if isinstance(one, dict)]


def _texts_of(one: Mapping[str, object], name: str) -> list[str]:
    value = one.get(name)
    return [text for text in cast("list[object]", value) if isinstance(text, str)] if isinstance(value, list) else []


def _text_of(one: Mapping[str, object], name: str) -> str:
    value = one.get(name)
    return value if isinstance(value, str) else ""


_CODE: Final = re.compile(r"(^```.*?^```[^\n]*$|(?<![\\`])`[^`\n]+`(?!`))", re.DOTALL | re.MULTILINE)
_MARKUP: Final = re.compile(r"(?<!\\)(\\*+)(<(?=[A-Za-z/!?])|!(?=\[)|\](?=\(\s*(?!https?:|[\w./#-]*\))))")
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}\s+(?=\S)", re.MULTILINE)
_UNDERLINE: Final = re.compile(r"^ {0,3}(=+|-{2,})\s*$", re.MULTILINE)
_LINKING: Final = re.compile(r"\\([:@])")
_TICKS: Final = re.compile(r"`+")


def sanitize_markdown(text: str) -> str:
    """An agent's own Markdown without what could do more than be read.

    HTML, images and links to anything but the web are shown as text, headings stand below ours, invisible characters
    are made visible. Code stays as it is.
    """
    parts = _CODE.split(printable(text))
    return "".join(part if place % 2 else _escape_markup(part) for place, part in enumerate(parts)).strip()


def as_prose(text: str) -> str:
    """A sentence with code in backticks, as messages and reasons are, on one line."""
    return " ".join(sanitize_markdown(text).split())


def as_line(text: str) -> str:
    """Foreign words on one line, escaped, but for what could not be markup anyway; addresses may become links."""
    return _LINKING.sub(r"\1", escape_inline(printable(text)))


def as_code(text: str) -> str:
    """`text` as code on one line; one that holds backticks stands between more of them than it holds."""
    line = " ".join(printable(text).split())
    longest = max((len(run) for run in _TICKS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def as_sentences(*texts: str) -> str:
    """`texts` as they stand one after the other: tools and agents often leave out the capital and the full stop."""
    sentences = (text.strip() for text in texts if text.strip())
    return " ".join(
        f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?', '…')) else '.'}" for text in sentences
    )


def _escape_markup(text: str) -> str:
    # A backslash of its own in front would take ours for itself: then it is escaped already, or two of them are none.
    escaped = _MARKUP.sub(lambda match: match[0] if len(match[1]) % 2 else f"{match[1]}\\{match[2]}", text)
    return _HEADING.sub("#### ", _UNDERLINE.sub("", escaped))


_LISTS: Final = ("citations", "sources", "findings", "evidence", "matches")
_PLACES: Final = ("source", "path", "file", "url", "sha")
_LINES: Final = ("line", "line_start", "lines")
_MAX_PLACES: Final = 50
_MAX_PLACE: Final = 300


def sources_in(data: object) -> tuple[str, ...]:
    """The places that `data` cites, each once, in order; at most fifty."""
    return tuple(islice(dict.fromkeys(islice(_all_places(data), _MAX_PLACES * 4)), _MAX_PLACES))


def place_of(item: object) -> str:
    """The place that one citation names (`path:line`, an address, a commit); empty when it names none."""
    if isinstance(item, str):
        return _clip(item)
    if not isinstance(item, dict):
        return ""
    fields = cast("dict[str, object]", item)
    place = next((fields[name] for name in _PLACES if isinstance(fields.get(name), str) and fields[name]), "")
    line = next((fields[name] for name in _LINES if isinstance(fields.get(name), int)), None)
    if not place:
        return ""
    has_line = "://" in str(place) or str(place).rpartition(":")[2].isdigit()
    return _clip(str(place) if line is None or has_line else f"{place}:{line}")


def _all_places(data: object) -> Iterator[str]:
    if not isinstance(data, dict):
        return
    for name in _LISTS:
        items: object = cast("dict[str, object]", data).get(name)
        for item in cast("list[object]", items) if isinstance(items, list) else ():
            # Bare words are kinds of sources ("docs", "code"), not places.
            is_kind = isinstance(item, str) and not any(mark in item for mark in "/.:")
            if not is_kind and (place := place_of(item)):
                yield place


def _clip(text: str) -> str:
    return " ".join(printable(text).split())[:_MAX_PLACE]
