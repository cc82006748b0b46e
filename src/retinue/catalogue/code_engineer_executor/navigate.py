"""`navigate_only`: where a symbol is defined, who uses and calls it, what a file holds, by the language server."""

from collections.abc import Sequence
from typing import Final, assert_never

from retinue.catalogue._prose import code, first_of, quote
from retinue.catalogue._report import plural
from retinue.errors import Unavailable
from retinue.tools.lsp import Call, Place, Spot, uses_of

from .parameters import NavigationTarget, Show
from .work import Work

__all__ = ["navigate", "tell_of_symbol"]

_SHOWN: Final = 20
_ROWS: Final = 500
_MEANT: Final = 5
"""Of so many symbols of one name each is told; of more a person has to say which."""
_ALL: Final[tuple[Show, ...]] = ("definition", "callers", "references", "callees", "implementations")
_NOTHING: Final = {
    "definition": "No definition of {} was found.",
    "callers": "No function calls {}.",
    "references": "{} is used nowhere else.",
    "callees": "{} calls nothing of this project.",
    "implementations": "Nothing else implements {}.",
}


async def navigate(work: Work, target: NavigationTarget) -> None:
    """Answer where things are."""
    if target.name or target.position:
        await tell_of_symbol(work, _ALL if target.show == "about" else (target.show,))
    elif target.file:
        await _file(work, work.workspace.relative(target.file))
    else:
        work.report.reject("No symbol or file is named.", hint="Give `symbol` or `path`.", code="invalid_input")


async def tell_of_symbol(work: Work, shown: Sequence[Show]) -> None:
    """Tell of each symbol that is meant; what few symbols have is missed only where that alone was asked for."""
    spots = await work.spots()
    if len(spots) > _MEANT:
        spots = [await work.spot()]  # which refuses, and lists them
    for spot in spots:
        await _tell_of(work, spot, shown, where=f" ({spot.path})" if len(spots) > 1 else "")


async def _tell_of(work: Work, spot: Spot, shown: Sequence[Show], *, where: str) -> None:
    definitions = await work.navigator.definition(spot)
    name = work.target.name or work.navigator.trace[-1].symbol
    work.report.about([name])
    name, is_alone = name + where, len(shown) == 1
    for each in shown:
        told = len(work.report.statements)
        try:
            await _tell(work, each, name, spot, definitions)
        except Unavailable as error:
            if is_alone or not error.detail.get("capability"):
                raise
            work.report.note("{}", error.message)
            continue
        if told == len(work.report.statements) and (is_alone or each not in ("callees", "implementations")):
            work.report.say(each, _NOTHING[each], code(name), source="language server")


async def _tell(work: Work, show: Show, name: str, spot: Spot, definitions: Sequence[Place]) -> None:
    """Tell of one side of a symbol, if there is anything of it."""
    navigator, report = work.navigator, work.report
    match show:
        case "definition" | "about":
            await _definition(work, name, definitions)
        case "callers":
            calls = await navigator.incoming_calls(spot)
            report.about([call.symbol.name for call in calls])
            _calls(work, show, [(call.symbol.whole_name, name, call) for call in calls])
        case "callees":
            calls = [call for call in await navigator.outgoing_calls(spot) if not call.symbol.place.is_outside]
            _calls(work, show, [(name, call.symbol.whole_name, call) for call in calls])
        case "references":
            await _references(work, name, spot)
        case "implementations":
            places = [place for place in await navigator.implementation(spot) if place not in definitions]
            for place in places[:_SHOWN]:
                report.say(show, "{} is implemented at {}.", code(name), code(str(place)), source=_source(place))
        case _:
            assert_never(show)


async def _definition(work: Work, name: str, places: Sequence[Place]) -> None:
    for place in places[:3]:
        where = " outside the workspace" if place.is_outside else ""
        template = f"{{}} is defined at {{}}{where}."
        work.report.say("definition", template, code(name), code(str(place)), source=_source(place))
    if places and not (place := places[0]).is_outside:
        hover = await work.navigator.hover(Spot(place.path, place.line, place.column))
        if hover:
            head = code(" ".join(hover.partition("\n\n")[0].split()))
            work.report.say("type", "The language server says: {}.", head, source=_source(place))


async def _references(work: Work, name: str, spot: Spot) -> None:
    uses = await uses_of(work.navigator, work.workspace, spot, declaration=False)
    places, report = uses.sure, work.report
    if places:
        times = "once" if len(places) == 1 else f"{len(places)} times"
        template = f"{{}} is used {times} in {plural(len({place.path for place in places}), 'file')}."
        report.say("references", template, code(name), source=_source(places[0]))
        rows = [
            (_source(place), quote(place.text.strip()).text, "name" if place in uses.beyond else "reference")
            for place in places
        ]
        report.table(f"Where {name} is used", ("place", "line", "found by"), rows, limit=_ROWS)
    if uses.unsure:
        report.note(
            f"Of {plural(len(uses.unsure), 'more place')} the language server does not know whether {{}} is meant:"
            " {}.",
            code(name),
            code(first_of(map(_source, uses.unsure), 10).plain()),
        )


def _calls(work: Work, topic: Show, calls: Sequence[tuple[str, str, Call]]) -> None:
    for caller, callee, call in calls[:_SHOWN]:
        place = (*call.places, call.symbol.place)[0]
        work.report.say(topic, "{} calls {}.", code(caller), code(callee), source=_source(place))
    if len(calls) > _SHOWN:
        work.report.note(f"{len(calls) - _SHOWN} more {topic} are left out.")


async def _file(work: Work, path: str) -> None:
    """What one file defines."""
    symbols = await work.navigator.document_symbols(path)
    report = work.report
    report.about([each.name for each in symbols])
    tops = [each for each in symbols if not each.container]
    report.say("file", f"{{}} defines {plural(len(tops), 'symbol')}.", code(path), source=path)
    for each in tops[:_SHOWN]:
        template = f"{each.kind or 'symbol'} {{}} stands on lines {each.place.line} to {each.last_line}."
        report.say("symbol", template, code(each.name), source=_source(each.place))
    rows = [(each.whole_name, each.kind, _source(each.place), each.last_line) for each in symbols]
    report.table(f"What {path} defines", ("symbol", "kind", "place", "to line"), rows, limit=_ROWS)


def _source(place: Place) -> str:
    return f"{place.path}:{place.line}"
