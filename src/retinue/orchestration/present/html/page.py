"""The page itself: the answer, what is missing from it, and how it came about.

What surrounds them, and what keeps them harmless, is in `document` and `markup`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, assert_never, cast

from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.table import Cell, Chart, Column, Table
from retinue.orchestration.present.blocks import Block, Heading, Item, Listing, Prose, Sources, as_sentences, tame
from retinue.orchestration.present.ending import ending_of
from retinue.orchestration.present.explained import all_blocks
from retinue.orchestration.present.figures import ROWS
from retinue.orchestration.present.html.document import document
from retinue.orchestration.present.html.markup import element, link, text
from retinue.orchestration.present.html.prose import prose
from retinue.orchestration.present.html.style import CHART_STYLE, STYLE
from retinue.orchestration.present.markdown import TITLES, unshown
from retinue.orchestration.present.numbers import duration, exact, grouped, head_of, is_counted, spent

__all__ = ["as_html"]

_CELL: Final = 1_000


def as_html(result: Result, *, run: str = "", made: str = "") -> str:
    """The result of a run as one HTML document.

    Args:
        result: What the run came to.
        run: Its id, when it can be found again by it.
        made: When it was made, as a person reads it.
    """
    data = cast("JsonMapping", result.data) if isinstance(result.data, dict) else {}
    goal = _line(str(data.get("goal") or "")) or "Answer"
    goal = goal[:1].upper() + goal[1:]
    blocks = all_blocks(data)
    return document(
        _line(goal)[:120],
        element("header", element("h1", text(_line(goal))) + _meta(result, data, run)),
        element("main", "\n".join(_main(blocks, result))),
        _how(result, data),
        style=STYLE + CHART_STYLE,
        made=made,
    )


def _meta(result: Result, data: JsonMapping, run: str) -> str:
    word, style = ending_of(result.outcome)
    parts = [*_facts(result, data), *([f"run {run}"] if run else [])]
    return element(
        "p", element("b", text(word), class_=style) + "".join(text(f" · {part}") for part in parts), class_="meta"
    )


def _facts(result: Result, data: JsonMapping) -> Iterator[str]:
    """Who worked, how long, and what it cost; what nobody measured is not in it."""
    agents = dict.fromkeys(str(one.get("agent")) for name in ("answer", "failures") for one in _dicts(data, name))
    if agents:
        yield _counted(len(agents), "agent") if len(agents) > 3 else ", ".join(agents)
    if result.duration_ns is not None:
        yield duration(result.duration_ns)
    if result.usage is not None:
        yield from spent(result.usage)
    if result.completeness is not None and result.completeness < 100:
        yield f"{result.completeness} % of the requests answered"
    if result.warnings:
        yield _counted(len(result.warnings), "warning")


# The answer.


def _main(blocks: Sequence[Block], result: Result) -> Iterator[str]:
    for number, block in enumerate(blocks):
        yield _drawn(block, number)
    if not blocks:  # a plan made by hand has no sections
        yield prose(tame(result.content)) if result.content.strip() else element("p", "There is no answer.")
    if result.fault is not None and not any(isinstance(block, Listing) for block in blocks):
        said = f"{result.fault.message} {result.fault.hint}".strip()
        yield element("section", element("h2", "What went wrong") + prose(tame(said)), class_="aside failures")


def _drawn(block: Block, number: int) -> str:
    match block:
        case Heading():
            by = element("span", text(block.agent), class_="by") if block.agent else ""
            return element("h2", text(_line(block.text)) + by)
        case Prose():
            return prose(block.text)
        case Table():
            return _table(block)
        case Chart():
            return _chart(block, number)
        case Sources():
            return _sources(block)
        case Listing():
            items = "\n".join(element("li", _item(item)) for item in block.items)
            inside = element("h2", TITLES[block.kind]) + element("ul", items)
            return element("section", inside, class_=f"aside {block.kind}")
        case _:
            assert_never(block)


def _item(item: Item) -> str:
    about = element("strong", text(_line(item.about).rstrip(".?! "))) if item.about else ""
    agent = f" ({element('code', text(item.agent))})" if item.agent else ""
    return f"{about}{agent}: {_inside(item.said)}" if about or agent else _inside(item.said)


def _inside(markdown: str) -> str:
    """A sentence of Markdown, without the tag of its paragraph."""
    return prose(tame(" ".join(markdown.split()))).removeprefix("<p>").removesuffix("</p>")


def _sources(sources: Sources) -> str:
    if sources.repeated:
        return element("p", "Sources: as above", class_="sources")
    items = "".join(element("li", link(place, element("code", text(place)))) for place in sources.places)
    label = "Source" if len(sources.places) == 1 else "Sources"
    return element("div", f"{label}{element('ul', items)}", class_="sources")


def _chart(chart: Chart, number: int) -> str:
    from retinue.orchestration.present.html.chart import caption_of, chart_svg  # noqa: PLC0415 - takes leather and rich

    inside = element("figcaption", text(_line(caption_of(chart)))) + chart_svg(chart, name=f"chart-{number}")
    return element("figure", inside, class_="chart")


def _table(table: Table) -> str:
    heads = "".join(
        element("th", text(_line(head_of(column))), scope="col", class_="number" if column.kind == "number" else "text")
        for column in table.columns
    )
    rows = (
        element("tr", "".join(_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)))
        for row in table.rows[:ROWS]
    )
    caption = element("caption", text(_line(table.title))) if table.title.strip() else ""
    whole = element(
        "table", caption + element("thead", element("tr", heads)) + element("tbody", "\n".join(rows) or _empty(table))
    )
    more = unshown(table, rows=len(table.rows[:ROWS]), columns=len(table.columns))
    notes = element("p", text(f"{more}."), class_="more") if more else ""
    notes += element("p", _inside(table.note), class_="note") if table.note.strip() else ""
    label = _line(table.title) or "Table"
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=label) + notes


def _empty(table: Table) -> str:
    return element("tr", element("td", "No rows.", colspan=len(table.columns)))


def _cell(cell: Cell, column: Column) -> str:
    said = grouped(cell) if is_counted(column) else exact(cell)
    said = said if len(said) <= _CELL else f"{said[:_CELL]}…"
    match column.kind:
        case "number":
            return element("td", text(said), class_="number")
        case "source":
            return element("td", link(said, element("code", text(said))) if said.strip() else "")
        case "text" | "time":
            return element("td", text(said), class_=column.kind)
        case _:
            assert_never(column.kind)


# How it came about.


def _how(result: Result, data: JsonMapping) -> str:
    """The plan, with who did what, and the warnings; folded, because most readers want the answer only."""
    parts = [*_plan(result, data), *_warnings(result)]
    return element("details", element("summary", "How this was found") + "\n".join(parts)) if parts else ""


def _plan(result: Result, data: JsonMapping) -> Iterator[str]:
    plan: object = data.get("plan")
    nodes = _dicts(cast("JsonMapping", plan), "nodes") if isinstance(plan, dict) else []
    if not nodes:
        return
    ended = {
        str(one.get("node")): str(one.get("outcome")) for key in ("answer", "failures") for one in _dicts(data, key)
    }
    unneeded: object = data.get("not_needed")
    spared = {str(one): "not needed" for one in cast("list[object]", unneeded)} if isinstance(unneeded, list) else {}
    rows: list[tuple[Cell, ...]] = []
    for node in nodes:
        name = str(node.get("id", ""))
        needs: object = node.get("needs")
        after = ", ".join(map(str, cast("list[object]", needs))) if isinstance(needs, list) else ""
        who = ".".join(filter(None, (str(node.get("agent") or ""), str(node.get("skill") or ""))))
        rows.append((name, who, str(node.get("instruction") or ""), after, ended.get(name) or spared.get(name) or ""))
    columns = tuple(Column(name=name) for name in ("step", "who", "asked", "after", "came to"))
    yield _table(Table(title="Plan", columns=columns, rows=tuple(rows[:ROWS]), total_rows=len(rows)))
    yield from _tokens(data)
    if result.files_read:
        yield element("p", text(f"{_counted(len(result.files_read), 'file')} read."), class_="note")


def _tokens(data: JsonMapping) -> Iterator[str]:
    tokens: object = data.get("tokens")
    known = cast("JsonMapping", tokens) if isinstance(tokens, dict) else {}
    full, handed_on = known.get("full"), known.get("handed_on")
    if isinstance(full, int) and isinstance(handed_on, int) and full:
        counter = _line(str(known.get("counter", "counted")))
        yield element("p", text(f"{handed_on:,} of {full:,} tokens handed on ({counter})."), class_="note")


def _warnings(result: Result) -> Iterator[str]:
    if result.warnings:
        items = (
            element("li", _inside(as_sentences(one.message, one.impact, one.recovery)))
            for one in result.warnings[:ROWS]
        )
        yield element("h3", "Warnings") + element("ul", "\n".join(items))


# Words.


def _dicts(data: JsonMapping, name: str) -> list[JsonMapping]:
    found: object = data.get(name)
    listed: Iterable[object] = cast("list[object]", found) if isinstance(found, list) else ()
    return [cast("JsonMapping", one) for one in listed if isinstance(one, dict)]


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _line(foreign: str) -> str:
    return " ".join(foreign.split())
