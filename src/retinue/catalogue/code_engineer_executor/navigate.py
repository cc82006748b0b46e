"""`navigate_only`: where a symbol is defined, who uses and calls it, what a file holds, by the language server."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, assert_never

from retinue.catalogue._prose import code, quote
from retinue.catalogue._report import plural
from retinue.errors import Unavailable
from retinue.tools.lsp import Call, Place, Spot, Symbol, uses_of

from .parameters import NavigationTarget, Show
from .work import Work, some

__all__ = ["navigate", "tell_of_symbol"]

_SHOWN: Final = 20
_ROWS: Final = 500
_ALL: Final[tuple[Show, ...]] = ("definition", "callers", "references", "callees", "implementations")


async def navigate(work: Work, target: NavigationTarget) -> None:
    """Answer where things are."""
    if target.name or target.position:
        await tell_of_symbol(work, _ALL if target.show == "about" else (target.show,))
    elif target.file:
        await _file(work, work.workspace.relative(target.file))
    else:
        work.report.reject("No symbol or file is named.", hint="Give `symbol` or `path`.", code="invalid_input")


async def tell_of_symbol(work: Work, shown: Sequence[Show]) -> None:
    """Tell of the symbol that is meant; what it has nothing of is only said where that alone was asked for."""
    spot = await work.spot()
    definitions = await work.navigator.definition(spot)
    name = work.target.name or work.navigator.trace[-1].symbol
    work.report.about([name])
    for each in shown:
        try:
            await _tell(work, each, name, spot, definitions, is_alone=len(shown) == 1)
        except Unavailable as error:
            if len(shown) == 1 or not error.detail.get("capability"):
                raise
            work.report.note("{}", error.message)


async def _tell(work: Work, show: Show, name: str, spot: Spot, definitions: Sequence[Place], *, is_alone: bool) -> None:
    navigator = work.navigator
    match show:
        case "definition" | "about":
            await _definition(work, name, definitions)
        case "callers":
            calls = await navigator.incoming_calls(spot)
            _calls(work, "callers", [(_whole(call.symbol), name, call) for call in calls])
            work.report.about([call.symbol.name for call in calls])
            if not calls:
                work.report.say("callers", "No function calls {}.", code(name), source="language server")
        case "callees":
            calls = [call for call in await navigator.outgoing_calls(spot) if not call.symbol.place.is_outside]
            _calls(work, "callees", [(name, _whole(call.symbol), call) for call in calls])
            if is_alone and not calls:
                work.report.say("callees", "{} calls nothing of this project.", code(name), source="language server")
        case "references":
            await _references(work, name, spot)
        case "implementations":
            places = [place for place in await navigator.implementation(spot) if place not in definitions]
            for place in places[:_SHOWN]:
                where = code(str(place))
                work.report.say("implementations", "{} is implemented at {}.", code(name), where, source=_source(place))
            if is_alone and not places:
                work.report.say("implementations", "Nothing else implements {}.", code(name), source="language server")
        case _:
            assert_never(show)


async def _definition(work: Work, name: str, places: Sequence[Place]) -> None:
    if not places:
        work.report.say("definition", "No definition of {} was found.", code(name), source="language server")
        return
    for place in places[:3]:
        where = " outside the workspace" if place.is_outside else ""
        template = f"{{}} is defined at {{}}{where}."
        work.report.say("definition", template, code(name), code(str(place)), source=_source(place))
    place = places[0]
    if not place.is_outside:
        hover = await work.navigator.hover(Spot(place.path, place.line, place.column))
        if hover:
            head = code(" ".join(hover.partition("\n\n")[0].split()))
            work.report.say("type", "The language server says: {}.", head, source=_source(place))


async def _references(work: Work, name: str, spot: Spot) -> None:
    uses = await uses_of(work.navigator, work.workspace, spot, declaration=False)
    places, report = uses.sure, work.report
    if places:
        files = Counter(place.path for place in places)
        times = "once" if len(places) == 1 else f"{len(places)} times"
        report.say(
            "references",
            f"{{}} is used {times} in {plural(len(files), 'file')}.",
            code(name),
            source=_source(places[0]),
        )
        rows = [
            (_source(place), quote(place.text.strip()).text, "name" if place in uses.beyond else "reference")
            for place in places
        ]
        report.table(f"Where {name} is used", ("place", "line", "found by"), rows, limit=_ROWS)
    else:
        report.say("references", "{} is used nowhere else.", code(name), source="language server")
    if uses.beyond:
        report.note(
            f"{len(uses.beyond)} of these the language server leaves out of its references, though it knows that they"
            " mean {}.",
            code(name),
        )
    if uses.unsure:
        report.note(
            f"Of {plural(len(uses.unsure), 'more place')} the language server does not know whether {{}} is meant:"
            " {}.",
            code(name),
            code(some([_source(place) for place in uses.unsure])),
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
    rows = [(_whole(each), each.kind, _source(each.place), each.last_line) for each in symbols]
    report.table(f"What {path} defines", ("symbol", "kind", "place", "to line"), rows, limit=_ROWS)


def _whole(symbol: Symbol) -> str:
    return f"{symbol.container}.{symbol.name}" if symbol.container else symbol.name


def _source(place: Place) -> str:
    return f"{place.path}:{place.line}"
