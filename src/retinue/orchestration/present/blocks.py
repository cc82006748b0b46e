"""An answer as a row of typed blocks: the one form that Markdown, HTML and a terminal are all drawn from.

Pure: it reads the data of a run's result (see `synthesise`) and draws nothing. Text in a block is either sanitized
Markdown or a plain line; both are foreign, and each medium escapes them in its own way. How foreign text is sanitized,
and which places a result cites, is decided here too. Tables and charts are read leniently: one odd table must not cost
an answer, and the agent's own data stay as they are.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar, cast

from pydantic import ValidationError

from retinue.contract.json import as_list, as_mapping, as_mappings, dumps
from retinue.contract.model import JsonMapping, Model
from retinue.contract.sanitize import escape_inline, printable
from retinue.contract.table import Chart, Table, TableColumn
from retinue.errors import RetinueError

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
    """Sanitized Markdown: paragraphs, lists, code."""

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
    members = as_mapping(data)
    return (*_section_blocks(as_mappings(members.get("answer"))), *_issue_blocks(members))


def _section_blocks(sections: list[JsonMapping]) -> Iterator[Block]:
    earlier_sources: set[tuple[str, ...]] = set()
    for section in sections:
        if len(sections) > 1:
            yield Heading(_text_of(section, "title"), _text_of(section, "agent"))
        if text := _text_of(section, "text").strip():
            yield MarkdownBlock(text)
        if files := as_mappings(section.get("artifacts")):  # what its agent created (H7, H15)
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
        # A chart has the table of the same title below it, which then needs no title of its own.
        rest = list(figures.tables)
        for chart in figures.charts:
            yield chart
            own = next((table for table in rest if table.title == chart.title), None)
            if own is not None:
                rest.remove(own)
                yield own.model_copy(update={"title": ""})
        yield from rest
        if left_out := as_list(section.get("left_out")):
            yield MarkdownBlock(sanitize_markdown(" ".join(map(str, left_out))))
        if sources := tuple(map(str, as_list(section.get("sources")))):
            yield Sources(sources, is_repeated=sources in earlier_sources)
            earlier_sources.add(sources)


MAX_ROWS: Final = 1_000
"""Most rows of a table, and most labels of a chart, that any drawing of an answer gets."""

_MAX_COLUMNS: Final = 60
_MAX_TABLES: Final = 12
_MAX_CHARTS: Final = 8
_MAX_SERIES: Final = 12

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """What there is to look at.

    Attributes:
        left_out: Sentences that say what was cut or could not be read.
    """

    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    left_out: tuple[str, ...] = ()

    def to_json(self) -> JsonMapping:
        """Those of the fields that hold something."""
        whole: JsonMapping = {
            "tables": [table.to_json() for table in self.tables],
            "charts": [chart.to_json() for chart in self.charts],
            "left_out": list(self.left_out),
        }
        return {name: value for name, value in whole.items() if value}


def figures_in(data: object) -> AnswerFigures:
    """The tables and charts of `data`, a JSON value: its members `tables` and `charts`, cut to what can be drawn."""
    members = as_mapping(data)
    left_out: list[str] = []
    tables = _parse_models(Table, members.get("tables"), "tables", limit=_MAX_TABLES, left_out=left_out)
    charts = _parse_models(Chart, members.get("charts"), "charts", limit=_MAX_CHARTS, left_out=left_out)
    return AnswerFigures(tuple(tables), tuple(charts), tuple(left_out))


def _parse_models(model: type[M], items: object, name: str, *, limit: int, left_out: list[str]) -> list[M]:
    """Those of `items` that are one, each cut to its bounds."""
    if items is None:
        return []
    candidates = cast("list[object]", items) if isinstance(items, list) else [items]
    models: list[M] = []
    for place, item in enumerate(candidates[:limit]):
        if isinstance(item, model):
            item = item.to_json()  # noqa: PLW2901 - a reply made in this process may hold the noun itself
        truncated = (
            _truncate(cast("JsonMapping", item), f"{name}[{place}]", left_out) if isinstance(item, dict) else item
        )
        try:
            models.append(model.model_validate_json(dumps(truncated)))
        except (ValueError, TypeError, RecursionError, RetinueError) as error:
            reason = str(getattr(error, "message", "") or type(error).__name__)
            if isinstance(error, ValidationError):
                first = error.errors()[0]
                reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            reason = " ".join(reason.split())[:160].rstrip(".")
            left_out.append(f"`{name}[{place}]` is not a {model.__name__.lower()} and is not shown: {reason}.")
    if len(candidates) > limit:
        left_out.append(f"{len(candidates) - limit:,} more {name} are not shown.")
    return models


def _truncate(item: JsonMapping, place: str, left_out: list[str]) -> JsonMapping:
    """`item` with no more columns, rows, labels and series than can be drawn."""
    truncated = dict(item)
    rows, columns, labels, series = (as_list(item.get(name)) for name in ("rows", "columns", "labels", "series"))
    if len(rows) > MAX_ROWS:
        truncated["rows"] = rows[:MAX_ROWS]
        truncated.setdefault("total_rows", len(rows))
    if len(columns) > _MAX_COLUMNS:
        truncated["columns"] = columns[:_MAX_COLUMNS]
        # A row of another width is no row of this table; the noun is the one to say so.
        rows = as_list(truncated.get("rows"))
        truncated["rows"] = [_first_cells(row, _MAX_COLUMNS, width=len(columns)) for row in rows]
        left_out.append(f"`{place}` has {len(columns):,} columns; the first {_MAX_COLUMNS} are shown.")
    if len(labels) > MAX_ROWS:
        truncated["labels"] = labels[:MAX_ROWS]
        truncated["series"] = [
            {**fields, "values": _first_cells(fields.get("values"), MAX_ROWS, width=len(labels))}
            if (fields := as_mapping(one))
            else one
            for one in series
        ]
        left_out.append(f"`{place}` has {len(labels):,} labels; the first {MAX_ROWS:,} are shown.")
    if len(series) > _MAX_SERIES:
        truncated["series"] = as_list(truncated["series"])[:_MAX_SERIES]
        left_out.append(f"`{place}` has {len(series):,} series; the first {_MAX_SERIES} are shown.")
    return truncated


def _first_cells(row: object, limit: int, *, width: int) -> object:
    cells = as_list(row)
    return cells[:limit] if cells and len(cells) == width else row


def _issue_blocks(data: JsonMapping) -> Iterator[Block]:
    """What is not in the answer. Where nothing is, also who came nearest, and what could be asked instead."""
    failures = as_mappings(data.get("failures"))
    is_refusal = not data.get("answer")
    refusals: list[OpenIssue] = []
    examples: dict[str, None] = {}
    for dropped in as_mappings(data.get("not_answered")):
        reason, nearest = _text_of(dropped, "reason"), as_mappings(dropped.get("nearest")) if is_refusal else []
        names = [f"{_text_of(one, 'agent')}.{_text_of(one, 'skill')}" for one in nearest]
        others = [as_code(name) for name in names[:_MAX_EXAMPLES] if name not in reason]
        label = "The nearest" if len(others) == len(names) else "Also near"
        text = as_sentences(reason, f"{label}: {', '.join(others)}" if others else "")
        refusals.append(OpenIssue(_text_of(dropped, "clause"), text))
        entries = as_list(dropped.get("examples")) if is_refusal else []
        examples |= dict.fromkeys(one for one in entries if isinstance(one, str))
    refusals += [_failure_item(one) for one in failures if _text_of(one, "outcome") == "rejected"]
    failed = [_failure_item(one) for one in failures if _text_of(one, "outcome") != "rejected"]
    questions = [OpenIssue("", _text_of(one, "text")) for one in as_mappings(data.get("questions"))]
    if refusals:
        yield OpenIssues("not_answered", tuple(refusals))
    if examples:
        lines = "\n".join(f"- {as_prose(example)}" for example in list(examples)[:_MAX_EXAMPLES])
        yield MarkdownBlock(f"What could be asked here:\n\n{lines}")
    if failed:
        yield OpenIssues("failures", tuple(failed))
    if questions:
        yield OpenIssues("questions", tuple(questions))


def _failure_item(failure: JsonMapping) -> OpenIssue:
    paths = [as_code(_text_of(one, "path")) for one in as_mappings(failure.get("artifacts"))]
    files = f"It wrote {', '.join(paths)}" if paths else ""
    text = as_sentences(_text_of(failure, "message"), _text_of(failure, "hint"), files)
    return OpenIssue(_text_of(failure, "title"), text, _text_of(failure, "agent"))


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
    for place in range(0, len(parts), 2):  # between them stands code
        # A backslash of its own in front would take ours for itself: it is escaped already, or two of them are none.
        escaped = _MARKUP.sub(lambda match: match[0] if len(match[1]) % 2 else f"{match[1]}\\{match[2]}", parts[place])
        parts[place] = _HEADING.sub("#### ", _UNDERLINE.sub("", escaped))
    return "".join(parts).strip()


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


_LISTS: Final = ("citations", "sources", "findings", "evidence", "matches")
_PLACES: Final = ("source", "path", "file", "url", "sha")
_LINES: Final = ("line", "line_start", "lines")
_MAX_PLACES: Final = 50
_MAX_PLACE: Final = 300


def sources_in(data: object) -> tuple[str, ...]:
    """The places that `data` cites, each once, in order; at most fifty."""
    places: list[str] = []
    for name in _LISTS:
        for item in as_list(as_mapping(data).get(name)):
            if len(places) == _MAX_PLACES * 4:  # a list of many thousand is not read to its end
                break
            # Bare words are kinds of sources ("docs", "code"), not places.
            is_kind = isinstance(item, str) and not any(mark in item for mark in "/.:")
            if not is_kind and (place := place_of(item)):
                places.append(place)
    return tuple(dict.fromkeys(places))[:_MAX_PLACES]


def place_of(item: object) -> str:
    """The place that one citation names (`path:line`, an address, a commit); empty when it names none."""
    if isinstance(item, str):
        return _clip(item)
    fields = as_mapping(item)
    place = next((fields[name] for name in _PLACES if isinstance(fields.get(name), str) and fields[name]), "")
    line = next((fields[name] for name in _LINES if isinstance(fields.get(name), int)), None)
    if not place:
        return ""
    has_line = "://" in str(place) or str(place).rpartition(":")[2].isdigit()
    return _clip(str(place) if line is None or has_line else f"{place}:{line}")


def _clip(text: str) -> str:
    return " ".join(printable(text).split())[:_MAX_PLACE]
