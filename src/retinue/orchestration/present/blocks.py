"""An answer as a row of typed blocks: the one form that Markdown, HTML and a terminal are all drawn from.

Pure: it reads the data of a run's result (see `synthesise`) and draws nothing. Text in a block is either `tame`
Markdown or a plain line; both are foreign, and each medium escapes them in its own way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from retinue.contract.model import JsonMapping
from retinue.contract.table import Chart, Column, Table
from retinue.orchestration.present.figures import ROWS, Figures, figures_in
from retinue.orchestration.present.tamed import as_code, as_prose, as_sentences, tame

__all__ = ["Block", "Heading", "Item", "Listing", "Prose", "Sources", "blocks_of"]

_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Heading:
    """What the section below is about: a plain line.

    Attributes:
        agent: Who says it, when it is known.
    """

    text: str
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Prose:
    """Tamed Markdown: paragraphs, lists, code."""

    text: str


@dataclass(frozen=True, slots=True)
class Sources:
    """Places that the section above rests on.

    Attributes:
        repeated: The same list stands above already.
    """

    places: tuple[str, ...]
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a listing: what it is about, who did it, and a sentence with code in backticks."""

    about: str
    said: str
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """What is not in the answer: `not_answered`, `failures`, or `questions`."""

    kind: Literal["not_answered", "failures", "questions"]
    items: tuple[Item, ...]


Block: TypeAlias = Heading | Prose | Table | Chart | Sources | Listing


def blocks_of(data: object) -> tuple[Block, ...]:
    """The blocks of the data of a run's result, in reading order; none when it is not the data of an answer."""
    if not isinstance(data, dict):
        return ()
    members = cast("JsonMapping", data)
    return (*_sections(_list(members, "answer")), *_missing(members))


def _sections(sections: list[JsonMapping]) -> Iterator[Block]:
    shown: set[tuple[str, ...]] = set()
    for section in sections:
        if len(sections) > 1:
            yield Heading(_said(section, "title"), _said(section, "agent"))
        if text := _said(section, "text").strip():
            yield Prose(text)
        yield from _files(section)
        figures = figures_in(section)
        yield from _paired(figures)
        left_out: object = section.get("left_out")
        if isinstance(left_out, list) and left_out:
            yield Prose(tame(" ".join(str(one) for one in cast("list[object]", left_out))))
        places: object = section.get("sources")
        sources = tuple(map(str, cast("list[object]", places))) if isinstance(places, list) else ()
        if sources:
            yield Sources(sources, repeated=sources in shown)
            shown.add(sources)


def _files(section: JsonMapping) -> Iterator[Table]:
    """What the section's agent created (H7, H15)."""
    files = _list(section, "artifacts")
    if files:
        outcome = _said(section, "outcome")
        status = "complete" if outcome == "success" else outcome
        columns = (
            Column(name="title"),
            Column(name="status"),
            Column(name="path", kind="source"),
            Column(name="summary"),
        )
        rows = tuple(
            (
                _said(one, "title") or _said(one, "topic"),
                _said(one, "status") or status,
                _said(one, "path"),
                _said(one, "summary"),
            )
            for one in files[:ROWS]
        )
        yield Table(title="Files", columns=columns, rows=rows, total_rows=len(files))


def _paired(figures: Figures) -> Iterator[Chart | Table]:
    """Each chart, with the table of the same title below it, which then needs no title of its own."""
    rest = list(figures.tables)
    for chart in figures.charts:
        yield chart
        own = next((table for table in rest if table.title == chart.title), None)
        if own is not None:
            rest.remove(own)
            yield own.model_copy(update={"title": ""})
    yield from rest


def _missing(data: JsonMapping) -> Iterator[Block]:
    """What is not in the answer. Where nothing is, also who came nearest, and what could be asked instead."""
    unplanned, failures = _list(data, "not_answered"), _list(data, "failures")
    is_refusal = not data.get("answer")
    refusals = [Item(_said(one, "clause"), _reason(one, is_refusal=is_refusal)) for one in unplanned]
    refusals += [_failed(one) for one in failures if _said(one, "outcome") == "rejected"]
    failed = [_failed(one) for one in failures if _said(one, "outcome") != "rejected"]
    questions = [Item("", _said(one, "text")) for one in _list(data, "questions")]
    if refusals:
        yield Listing("not_answered", tuple(refusals))
    examples = dict.fromkeys(example for one in unplanned for example in _texts(one, "examples")) if is_refusal else ()
    if examples:
        lines = "\n".join(f"- {as_prose(example)}" for example in list(examples)[:_EXAMPLES])
        yield Prose(f"What could be asked here:\n\n{lines}")
    if failed:
        yield Listing("failures", tuple(failed))
    if questions:
        yield Listing("questions", tuple(questions))


def _reason(dropped: JsonMapping, *, is_refusal: bool) -> str:
    """Why it is not answered, and in a refusal who came near, but for those whom the reason names already."""
    reason = _said(dropped, "reason")
    names = [f"{_said(one, 'agent')}.{_said(one, 'skill')}" for one in _list(dropped, "nearest") if is_refusal]
    others = [as_code(name) for name in names[:_EXAMPLES] if name not in reason]
    label = "The nearest" if len(others) == len(names) else "Also near"
    return as_sentences(reason, f"{label}: {', '.join(others)}" if others else "")


def _failed(failure: JsonMapping) -> Item:
    said = as_sentences(_said(failure, "message"), _said(failure, "hint"), _left_behind(failure))
    return Item(_said(failure, "title"), said, _said(failure, "agent"))


def _left_behind(failure: JsonMapping) -> str:
    """The files that an agent wrote before it failed."""
    paths = [as_code(_said(one, "path")) for one in _list(failure, "artifacts")]
    return f"It wrote {', '.join(paths)}" if paths else ""


def _list(data: JsonMapping, name: str) -> list[JsonMapping]:
    found: object = data.get(name)
    listed = cast("list[object]", found) if isinstance(found, list) else []
    return [cast("JsonMapping", one) for one in listed if isinstance(one, dict)]


def _texts(one: Mapping[str, object], name: str) -> list[str]:
    found = one.get(name)
    return [text for text in cast("list[object]", found) if isinstance(text, str)] if isinstance(found, list) else []


def _said(one: Mapping[str, object], name: str) -> str:
    found = one.get(name)
    return found if isinstance(found, str) else ""
