"""`navigate_only`: where a symbol is defined, who uses and calls it, what a file holds, by the language server."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from retinue.catalogue._prose import code, quote
from retinue.contract.table import Column, Table
from retinue.errors import Unavailable, UnknownName
from retinue.tools.lsp import Call, Place, Spot, Symbol, Uses, uses_of

from .asked import Wish
from .work import Work, some

__all__ = ["around", "navigate"]

_SHOWN: Final = 20
_ROWS: Final = 500
_ORDER: Final[tuple[Wish, ...]] = ("definition", "callers", "references", "callees", "implementations")


async def navigate(work: Work) -> None:
    """Answer where things are."""
    asked = work.asked
    if not asked.symbol and not asked.line:
        if asked.path:
            await _file(work)
        else:
            await _search(work)
        return
    if asked.is_plain and not asked.line:
        try:
            await work.spot()
        except UnknownName:  # it was a word and no name
            await _search(work)
            return
    await around(work, lead=asked.wish)


async def around(work: Work, *, lead: Wish) -> None:
    """Say all about one symbol; what was asked for comes first."""
    navigator, report = work.navigator, work.report
    spot = await work.spot()
    definitions = await navigator.definition(spot)
    name = work.asked.symbol or navigator.trace[-1].symbol
    inside = [place for place in definitions if not place.is_outside]
    report.symbols.append(name)
    wanted: list[Wish] = [lead, *(each for each in _ORDER if each != lead)] if lead != "about" else list(_ORDER)
    for wish in wanted:
        try:
            match wish:
                case "definition" | "about":
                    await _definition(work, name, definitions)
                case "callers":
                    _callers(work, name, await navigator.incoming_calls(spot))
                case "callees":
                    _callees(work, name, await navigator.outgoing_calls(spot), asked=lead == "callees")
                case "references":
                    _references(work, name, await uses_of(navigator, work.workspace, spot, declaration=False))
                case "implementations":
                    found = [place for place in await navigator.implementation(spot) if place not in inside]
                    _implementations(work, name, found, asked=lead == "implementations")
        except Unavailable as error:
            if not error.detail.get("capability"):
                raise
            report.note("{}", error.message)


async def _definition(work: Work, name: str, places: Sequence[Place]) -> None:
    if not places:
        work.report.say("definition", "No definition of {} was found.", code(name), source="language server")
        return
    for place in places[:3]:
        where = " outside the workspace" if place.is_outside else ""
        work.report.say(
            "definition", f"{{}} is defined at {{}}{where}.", code(name), code(str(place)), source=_source(place)
        )
    place = places[0]
    if not place.is_outside:
        said = await work.navigator.hover(Spot(place.path, place.line, place.column))
        if said:
            work.report.say(
                "type",
                "The language server says: {}.",
                code(" ".join(said.partition("\n\n")[0].split())),
                source=_source(place),
            )


def _references(work: Work, name: str, uses: Uses) -> None:
    places = uses.sure
    files = Counter(place.path for place in places)
    if not places:
        work.report.say("references", "{} is used nowhere else.", code(name), source="language server")
    else:
        work.report.say(
            "references",
            "{} is used {} in {}.",
            code(name),
            _times(len(places)),
            _count(len(files), "file"),
            source=_source(places[0]),
        )
        work.report.tables.append(_uses_table(f"Where {name} is used", uses))
    if uses.beyond:
        work.report.note(
            "{} of these the language server leaves out of its references, though it knows that they mean {}.",
            str(len(uses.beyond)),
            code(name),
        )
    if uses.unsure:
        work.report.note(
            "Of {} the language server does not know whether {} is meant: {}.",
            _count(len(uses.unsure), "more place"),
            code(name),
            code(some([_source(place) for place in uses.unsure])),
        )


def _callers(work: Work, name: str, calls: Sequence[Call]) -> None:
    if not calls:
        work.report.say("callers", "No function calls {}.", code(name), source="language server")
        return
    for call in calls[:_SHOWN]:
        work.report.symbols.append(call.symbol.name)
        work.report.say(
            "callers",
            "{} calls {}.",
            code(_whole(call.symbol)),
            code(name),
            source=_source((*call.places, call.symbol.place)[0]),
        )
    if len(calls) > _SHOWN:
        work.report.note(f"{len(calls) - _SHOWN} more callers are left out.")


def _callees(work: Work, name: str, calls: Sequence[Call], *, asked: bool) -> None:
    inside = [call for call in calls if not call.symbol.place.is_outside]
    if not inside:
        if asked:
            work.report.say("callees", "{} calls nothing of this project.", code(name), source="language server")
        return
    for call in inside[:_SHOWN]:
        work.report.say(
            "callees",
            "{} calls {}.",
            code(name),
            code(_whole(call.symbol)),
            source=_source((*call.places, call.symbol.place)[0]),
        )


def _implementations(work: Work, name: str, places: Sequence[Place], *, asked: bool) -> None:
    for place in places[:_SHOWN]:
        work.report.say(
            "implementations", "{} is implemented at {}.", code(name), code(str(place)), source=_source(place)
        )
    if not places and asked:
        work.report.say("implementations", "Nothing else implements {}.", code(name), source="language server")


async def _file(work: Work) -> None:
    """What one file defines."""
    path = work.workspace.relative(work.asked.path)
    symbols = await work.navigator.document_symbols(path)
    work.report.symbols += [each.name for each in symbols]
    tops = [each for each in symbols if not each.container]
    work.report.say("file", "{} defines {}.", code(path), _count(len(tops), "symbol"), source=path)
    for each in tops[:_SHOWN]:
        work.report.say(
            "symbol",
            f"{each.kind or 'symbol'} {{}} stands on lines {each.place.line} to {each.last_line}.",
            code(each.name),
            source=_source(each.place),
        )
    work.report.tables.append(_symbols_table(f"What {path} defines", symbols))


async def _search(work: Work) -> None:
    """Symbols by the words of the request."""
    for word in sorted(set(work.asked.task.replace("`", " ").split()), key=len, reverse=True)[:3]:
        bare = word.strip(".,;:?!\"'()")
        found = await work.navigator.workspace_symbols(bare) if len(bare) > 3 and bare.isidentifier() else ()
        inside = [each for each in found if not each.place.is_outside]
        if inside:
            work.report.symbols += [each.name for each in inside[:_SHOWN]]
            for each in inside[:_SHOWN]:
                work.report.say(
                    "symbol",
                    f"{each.kind} {{}} is defined at {{}}.",
                    code(each.name),
                    code(str(each.place)),
                    source=_source(each.place),
                )
            return
    work.report.reject("No symbol or file is named.", hint="Name it in backticks, or give `entry_point`.")


def _uses_table(title: str, uses: Uses) -> Table:
    beyond = set(uses.beyond)
    rows = tuple(
        (_source(place), quote(place.text.strip()).text, "name" if place in beyond else "reference")
        for place in uses.sure[:_ROWS]
    )
    columns = (Column(name="place", kind="source"), Column(name="line"), Column(name="found by"))
    return Table(title=title[:200], columns=columns, rows=rows, total_rows=len(uses.sure))


def _symbols_table(title: str, symbols: Sequence[Symbol]) -> Table:
    rows = tuple(
        (_whole(each), each.kind, f"{each.place.path}:{each.place.line}", each.last_line) for each in symbols[:_ROWS]
    )
    columns = (
        Column(name="symbol"),
        Column(name="kind"),
        Column(name="place", kind="source"),
        Column(name="to line", kind="number"),
    )
    return Table(title=title[:200], columns=columns, rows=rows, total_rows=len(symbols))


def _whole(symbol: Symbol) -> str:
    return f"{symbol.container}.{symbol.name}" if symbol.container else symbol.name


def _source(place: Place) -> str:
    return f"{place.path}:{place.line}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _count(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
