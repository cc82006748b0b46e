"""`navigate_only`: where a symbol is defined, who uses and calls it, what a file holds, by the language server."""

from collections.abc import Sequence
from typing import Final, assert_never

from retinue.catalogue._prose import code, first_of, quote
from retinue.catalogue._report import plural
from retinue.errors import Unavailable
from retinue.tools.lsp import HierarchyCall, Location, Position, uses_of

from .parameters import NavigationTarget, Show
from .work import Work

_MAX_SHOWN: Final = 20
_MAX_ROWS: Final = 500
_MAX_SYMBOLS: Final = 5
"""Of so many symbols of one name each is told; of more a person has to say which."""
_ALL: Final[tuple[Show, ...]] = ("definition", "callers", "references", "callees", "implementations")
_ABSENT: Final = {
    "definition": "No definition of {} was found.",
    "callers": "No function calls {}.",
    "references": "{} is used nowhere else.",
    "callees": "{} calls nothing of this project.",
    "implementations": "Nothing else implements {}.",
}


async def navigate(work: Work, target: NavigationTarget) -> None:
    """Answer where things are."""
    if target.name or target.position:
        await report_symbols(work, _ALL if target.show == "about" else (target.show,))
    elif target.file:
        # What one file defines.
        path = work.workspace.relative(target.file)
        symbols = await work.navigator.document_symbols(path)
        report = work.report
        report.add_subjects([each.name for each in symbols])
        tops = [each for each in symbols if not each.container]
        report.add("file", f"{{}} defines {plural(len(tops), 'symbol')}.", code(path), source=path)
        for each in tops[:_MAX_SHOWN]:
            template = f"{each.kind or 'symbol'} {{}} stands on lines {each.place.line} to {each.last_line}."
            report.add("symbol", template, code(each.name), source=_source(each.place))
        rows = [(each.qualified_name, each.kind, _source(each.place), each.last_line) for each in symbols]
        report.add_table(f"What {path} defines", ("symbol", "kind", "place", "to line"), rows, limit=_MAX_ROWS)
    else:
        work.report.reject("No symbol or file is named.", hint="Give `symbol` or `path`.", code="invalid_input")


async def report_symbols(work: Work, relations: Sequence[Show]) -> None:
    """Tell of each symbol that is meant; what few symbols have is missed only where that alone was asked for."""
    spots = await work.find_spots()
    if len(spots) > _MAX_SYMBOLS:
        spots = [await work.find_spot()]  # which refuses, and lists them
    for spot in spots:
        await _report_symbol(work, spot, relations, where=f" ({spot.path})" if len(spots) > 1 else "")


async def _report_symbol(work: Work, spot: Position, relations: Sequence[Show], *, where: str) -> None:
    definitions = await work.navigator.definition(spot)
    name = work.target.name or work.navigator.trace[-1].symbol
    work.report.add_subjects([name])
    name, is_alone = name + where, len(relations) == 1
    for each in relations:
        count_before = len(work.report.statements)
        try:
            await _report_relation(work, each, name, spot, definitions)
        except Unavailable as error:
            if is_alone or not error.detail.get("capability"):
                raise
            work.report.note("{}", error.message)
            continue
        if count_before == len(work.report.statements) and (is_alone or each not in ("callees", "implementations")):
            work.report.add(each, _ABSENT[each], code(name), source="language server")


async def _report_relation(work: Work, show: Show, name: str, spot: Position, definitions: Sequence[Location]) -> None:
    """Tell of one side of a symbol, if there is anything of it."""
    navigator, report = work.navigator, work.report
    match show:
        case "definition" | "about":
            await _report_definition(work, name, definitions)
        case "callers":
            calls = await navigator.incoming_calls(spot)
            report.add_subjects([call.symbol.name for call in calls])
            _report_calls(work, show, [(call.symbol.qualified_name, name, call) for call in calls])
        case "callees":
            calls = [call for call in await navigator.outgoing_calls(spot) if not call.symbol.place.is_outside]
            _report_calls(work, show, [(name, call.symbol.qualified_name, call) for call in calls])
        case "references":
            await _report_references(work, name, spot)
        case "implementations":
            places = [place for place in await navigator.implementation(spot) if place not in definitions]
            for place in places[:_MAX_SHOWN]:
                report.add(show, "{} is implemented at {}.", code(name), code(str(place)), source=_source(place))
        case _:
            assert_never(show)


async def _report_definition(work: Work, name: str, places: Sequence[Location]) -> None:
    for place in places[:3]:
        where = " outside the workspace" if place.is_outside else ""
        template = f"{{}} is defined at {{}}{where}."
        work.report.add("definition", template, code(name), code(str(place)), source=_source(place))
    if places and not (place := places[0]).is_outside:
        hover = await work.navigator.hover(Position(place.path, place.line, place.column))
        if hover:
            head = code(" ".join(hover.partition("\n\n")[0].split()))
            work.report.add("type", "The language server says: {}.", head, source=_source(place))


async def _report_references(work: Work, name: str, spot: Position) -> None:
    uses = await uses_of(work.navigator, work.workspace, spot, declaration=False)
    places, report = uses.sure, work.report
    if places:
        times = "once" if len(places) == 1 else f"{len(places)} times"
        template = f"{{}} is used {times} in {plural(len({place.path for place in places}), 'file')}."
        report.add("references", template, code(name), source=_source(places[0]))
        rows = [
            (_source(place), quote(place.text.strip()).text, "name" if place in uses.beyond else "reference")
            for place in places
        ]
        report.add_table(f"Where {name} is used", ("place", "line", "found by"), rows, limit=_MAX_ROWS)
    if uses.unsure:
        report.note(
            f"Of {plural(len(uses.unsure), 'more place')} the language server does not know whether {{}} is meant:"
            " {}.",
            code(name),
            code(first_of(map(_source, uses.unsure), 10).to_text()),
        )


def _report_calls(work: Work, topic: Show, calls: Sequence[tuple[str, str, HierarchyCall]]) -> None:
    for caller, callee, call in calls[:_MAX_SHOWN]:
        place = (*call.places, call.symbol.place)[0]
        work.report.add(topic, "{} calls {}.", code(caller), code(callee), source=_source(place))
    if len(calls) > _MAX_SHOWN:
        work.report.note(f"{len(calls) - _MAX_SHOWN} more {topic} are left out.")


def _source(place: Location) -> str:
    return f"{place.path}:{place.line}"
