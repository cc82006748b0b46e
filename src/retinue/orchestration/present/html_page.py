"""The page itself: the answer, what is missing from it, and how it came about.

What surrounds them, and what keeps them harmless, is in `html_markup`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, assert_never

from retinue.contract.event import Event
from retinue.contract.json import as_list, as_mapping, as_mappings
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.table import Cell, Chart, Table, TableColumn
from retinue.engine.base import RunRecord
from retinue.orchestration.present.blocks import (
    MAX_ROWS,
    Block,
    Heading,
    MarkdownBlock,
    OpenIssues,
    Sources,
    as_sentences,
    sanitize_markdown,
)
from retinue.orchestration.present.blocks_markdown import ISSUE_TITLES, omission_note
from retinue.orchestration.present.explanation import answer_and_explanation, outcome_label
from retinue.orchestration.present.html_markup import CHART_STYLE, document, element, link, markdown_to_html, text
from retinue.orchestration.present.numbers import (
    column_heading,
    format_cost,
    format_duration,
    format_exact,
    format_grouped,
    is_quantity,
    usage_parts,
)
from retinue.orchestration.run_nodes import RunNodes, event_text, node_path

_MAX_CELL: Final = 1_000
_STYLE: Final = f"\n{Path(__file__).with_name('page.css').read_text('utf-8')}{CHART_STYLE}"


def as_html(result: Result, *, run: str = "", created_at: str = "") -> str:
    """The result of a run as one HTML document.

    Args:
        result: What the run came to.
        run: Its id, when it can be found again by it.
        created_at: When it was made, as a person reads it.
    """
    data = as_mapping(result.data)
    goal = _line(str(data.get("goal") or "")) or "Answer"
    goal = goal[:1].upper() + goal[1:]
    blocks = answer_and_explanation(data)
    word, style = outcome_label(result.outcome)
    agents = dict.fromkeys(
        str(one.get("agent")) for name in ("answer", "failures") for one in as_mappings(data.get(name))
    )
    facts = [_plural(len(agents), "agent") if len(agents) > 3 else ", ".join(agents)] if agents else []
    if result.duration_ns is not None:
        facts.append(format_duration(result.duration_ns))
    if result.usage is not None:
        facts += usage_parts(result.usage)
    if result.completeness is not None and result.completeness < 100:
        facts.append(f"{result.completeness} % of the requests answered")
    if result.warnings:
        facts.append(_plural(len(result.warnings), "warning"))
    facts += [f"run {run}"] if run else []
    meta = element("b", text(word), class_=style) + "".join(text(f" · {fact}") for fact in facts)
    return document(
        goal[:120],
        element("header", element("h1", text(goal)) + element("p", meta, class_="meta")),
        element("main", "\n".join(_answer_parts(blocks, result))),
        _provenance(result, data),
        style=_STYLE,
        created_at=created_at,
    )


def as_history_html(
    record: RunRecord,
    events: Sequence[Event],
    nodes: RunNodes,
    faults: Sequence[tuple[str, Mapping[str, Sequence[str]]]],
    result: Result | None,
) -> str:
    """The history of a run as one HTML document: its answer, its steps, its faults, and all that happened.

    Args:
        record: The run.
        events: Its events and those of its child runs, in order.
        nodes: Its steps.
        faults: What failed, each with what is to be said of it, by the word that stands before that.
        result: What it came to, when it has ended.
    """
    word, style = outcome_label(result.outcome) if result else (record.lifecycle.replace("_", " "), "warn")
    moment = datetime.fromtimestamp(record.started_ns / 1e9).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    facts = [moment, *([format_duration(max(0, record.ended_ns - record.started_ns))] if record.ended_ns else [])]
    facts += usage_parts(result.usage) if result and result.usage else ()
    facts.append(f"run {record.run}")
    label = _line(record.label) or "Run"
    meta = element("b", text(word), class_=style) + "".join(text(f" · {fact}") for fact in facts)
    steps: list[tuple[Cell, ...]] = []
    for depth, node in nodes:
        steps.append(
            (
                f"{'· ' * depth}{node.id}",
                ".".join(dict.fromkeys(filter(None, (node.agent, node.skill)))),
                node.title,
                node.state,
                "" if node.duration_ns is None else format_duration(node.duration_ns),
                node.usage.tokens if node.usage else None,
                format_cost(node.usage),
            )
        )
    failures = ""
    for title, texts in faults:
        items = [
            element("strong", f"{head}: ") + text(_line("; ".join(words))) for head, words in texts.items() if words
        ]
        failures += element("h3", text(_line(title))) + element("ul", "".join(element("li", item) for item in items))
    rows = tuple(
        (
            f"{(event.at_ns - record.started_ns) / 1e9:.3f} s",
            node_path(record.run, event),
            event.kind,
            _line(event_text(event.body)),
        )
        for event in events
    )
    decided = tuple((*row[:2], row[3]) for row in rows if row[2] == "decision")
    parts = [
        element("section", "\n".join(_answer_parts(answer_and_explanation(result.data), result))) if result else "",
        element("h2", "Steps")
        + _table_of("", ("step", "who", "asked", "state", "took", "tokens", "cost"), tuple(steps)),
        element("section", element("h2", "What failed") + failures, class_="aside failures") if failures else "",
        element("h2", "Decisions") + _table_of("", ("after", "step", "decision"), decided) if decided else "",
        element("h2", "Events") + _table_of("", ("after", "step", "event", "what"), rows),
    ]
    return document(
        label[:120],
        element("header", element("h1", text(label)) + element("p", meta, class_="meta")),
        element("main", "\n".join(filter(None, parts))),
        style=_STYLE,
    )


def _table_of(title: str, names: Sequence[str], rows: Sequence[tuple[Cell, ...]]) -> str:
    """A table of plain columns; those that count are numbers."""
    columns = tuple(TableColumn(name=name, kind="number" if name == "tokens" else "text") for name in names)
    return _table_html(Table(title=title, columns=columns, rows=tuple(rows[:MAX_ROWS]), total_rows=len(rows)))


def _answer_parts(blocks: Sequence[Block], result: Result) -> Iterator[str]:
    for number, block in enumerate(blocks):
        match block:
            case Heading():
                by = element("span", text(block.agent), class_="by") if block.agent else ""
                yield element("h2", text(_line(block.text)) + by)
            case MarkdownBlock():
                yield markdown_to_html(block.text)
            case Table():
                yield _table_html(block)
            case Chart():
                from retinue.orchestration.present.html_chart import caption_of, chart_svg  # noqa: PLC0415 - takes leather

                caption = element("figcaption", text(_line(caption_of(block))))
                yield element("figure", caption + chart_svg(block, name=f"chart-{number}"), class_="chart")
            case Sources(is_repeated=True):
                yield element("p", "Sources: as above", class_="sources")
            case Sources(places):
                links = "".join(element("li", link(place, element("code", text(place)))) for place in places)
                label = "Source" if len(places) == 1 else "Sources"
                yield element("div", f"{label}{element('ul', links)}", class_="sources")
            case OpenIssues():
                items: list[str] = []
                for item in block.items:
                    about = element("strong", text(_line(item.about).rstrip(".?! "))) if item.about else ""
                    agent = f" ({element('code', text(item.agent))})" if item.agent else ""
                    head = f"{about}{agent}: " if about or agent else ""
                    items.append(element("li", head + _inline_html(item.text)))
                inside = element("h2", ISSUE_TITLES[block.kind]) + element("ul", "\n".join(items))
                yield element("section", inside, class_=f"aside {block.kind}")
            case _:
                assert_never(block)
    if not blocks:  # a plan made by hand has no sections
        yield (
            markdown_to_html(sanitize_markdown(result.content))
            if result.content.strip()
            else element("p", "There is no answer.")
        )
    if result.fault is not None and not any(isinstance(block, OpenIssues) for block in blocks):
        message = f"{result.fault.message} {result.fault.hint}".strip()
        yield element(
            "section",
            element("h2", "What went wrong") + markdown_to_html(sanitize_markdown(message)),
            class_="aside failures",
        )


def _inline_html(markdown: str) -> str:
    """A sentence of Markdown, without the tag of its paragraph."""
    return markdown_to_html(sanitize_markdown(" ".join(markdown.split()))).removeprefix("<p>").removesuffix("</p>")


def _table_html(table: Table) -> str:
    heads = "".join(
        element(
            "th",
            text(_line(column_heading(column))),
            scope="col",
            class_="number" if column.kind == "number" else "text",
        )
        for column in table.columns
    )
    rows: list[str] = []
    for row in table.rows[:MAX_ROWS]:
        cells: list[str] = []
        for cell, column in zip(row, table.columns, strict=True):
            content = format_grouped(cell) if is_quantity(column) else format_exact(cell)
            content = content if len(content) <= _MAX_CELL else f"{content[:_MAX_CELL]}…"
            if column.kind == "source":
                cells.append(element("td", link(content, element("code", text(content))) if content.strip() else ""))
            else:
                cells.append(element("td", text(content), class_=column.kind))
        rows.append(element("tr", "".join(cells)))
    caption = element("caption", text(_line(table.title))) if table.title.strip() else ""
    whole = element(
        "table",
        caption
        + element("thead", element("tr", heads))
        + element("tbody", "\n".join(rows) or element("tr", element("td", "No rows.", colspan=len(table.columns)))),
    )
    more = omission_note(table, rows=len(table.rows[:MAX_ROWS]), columns=len(table.columns))
    notes = element("p", text(f"{more}."), class_="more") if more else ""
    notes += element("p", _inline_html(table.note), class_="note") if table.note.strip() else ""
    label = _line(table.title) or "Table"
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=label) + notes


def _provenance(result: Result, data: JsonMapping) -> str:
    """The plan, with who did what, and the warnings; folded, because most readers want the answer only."""
    parts: list[str] = []
    if nodes := as_mappings(as_mapping(data.get("plan")).get("nodes")):
        ends = (*as_mappings(data.get("answer")), *as_mappings(data.get("failures")))
        outcomes = {str(one.get("node")): str(one.get("outcome")) for one in ends}
        for one in as_list(data.get("not_needed")):
            outcomes.setdefault(str(one), "not needed")
        rows: list[tuple[Cell, ...]] = []
        for node in nodes:
            name = str(node.get("id", ""))
            after = ", ".join(map(str, as_list(node.get("needs"))))
            agent = ".".join(filter(None, (str(node.get("agent") or ""), str(node.get("skill") or ""))))
            rows.append((name, agent, str(node.get("instruction") or ""), after, outcomes.get(name, "")))
        parts.append(_table_of("Plan", ("step", "who", "asked", "after", "came to"), rows))
        token_counts = as_mapping(data.get("tokens"))
        full, handed_on = token_counts.get("full"), token_counts.get("handed_on")
        if isinstance(full, int) and isinstance(handed_on, int) and full:
            counter = _line(str(token_counts.get("counter", "counted")))
            parts.append(element("p", text(f"{handed_on:,} of {full:,} tokens handed on ({counter})."), class_="note"))
        if result.files_read:
            parts.append(element("p", text(f"{_plural(len(result.files_read), 'file')} read."), class_="note"))
    if result.warnings:
        items = (
            element("li", _inline_html(as_sentences(one.message, one.impact, one.recovery)))
            for one in result.warnings[:MAX_ROWS]
        )
        parts.append(element("h3", "Warnings") + element("ul", "\n".join(items)))
    return element("details", element("summary", "How this was found") + "\n".join(parts)) if parts else ""


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _line(external: str) -> str:
    return " ".join(external.split())
