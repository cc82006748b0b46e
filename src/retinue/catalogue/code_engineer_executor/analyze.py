"""`analyze` and `docs`: how large, branched and documented code is, by syntax trees. Texts are not invented."""

from typing import Final

from retinue.catalogue._prose import code
from retinue.catalogue._report import plural
from retinue.tools.outline import Item, outline_of

from .navigate import tell_of_symbol
from .outlines import OUTLINED, TYPED, read_outlines, whole_name
from .parameters import CodeScope, CodeTarget
from .work import Work

__all__ = ["analyze", "document"]

_SHOWN: Final = 10
_MISSING: Final = 20
_ROWS: Final = 500
_OUTLINED: Final = 1_000
_COMPLEX: Final = 10


async def analyze(work: Work, target: CodeTarget) -> None:
    """Measure a symbol, a file, a folder or all of it."""
    if target.scope == "symbol" and (target.name or target.position):
        await _symbol(work)
        return
    files = await read_outlines(work)
    report, figures = work.report, work.report.figures
    items = [(path, item) for path, each in files.items() for item in each.items]
    functions = [(path, item) for path, item in items if item.complexity is not None]
    classes = sum(item.kind in ("class", "struct", "trait", "interface") for _, item in items)
    lines = sum(each.lines for each in files.values())
    where = next(iter(files)) if len(files) == 1 else target.file or "."
    verb = "holds" if len(files) == 1 else "hold"
    report.say(
        "size",
        f"{plural(len(files), 'file')} {verb} {plural(lines, 'line')}, {plural(len(functions), 'function')} and"
        f" {plural(classes, 'class', 'classes')}.",
        source=where,
    )
    figures["outline"] = [_outline_row(path, item) for path, item in items[:_OUTLINED]]
    metrics = _rank(work, functions, where) if functions else {"functions": 0}
    figures["metrics"] = {"files": len(files), "lines": lines, "classes": classes, **metrics}


def _rank(work: Work, functions: list[tuple[str, Item]], where: str) -> dict[str, float]:
    """Tell of the most branched and the longest functions; gives figures of all of them."""
    report = work.report
    ranked = sorted(functions, key=lambda each: (-_paths(each[1]), each[0], each[1].line))
    mean = sum(_paths(item) for _, item in ranked) / len(ranked)
    above = sum(_paths(item) > _COMPLEX for _, item in ranked)
    verb = "has" if above == 1 else "have"
    report.say(
        "complexity",
        f"A function has {mean:.1f} paths on average; {above:,} {verb} more than {_COMPLEX}.",
        source=where,
    )
    for path, item in ranked[:3]:
        template = f"{{}} has {plural(_paths(item), 'path')}."
        report.say("complexity", template, code(whole_name(item)), source=f"{path}:{item.line}")
    path, longest = max(ranked, key=lambda each: _length(each[1]))
    template = f"{{}} is the longest, with {plural(_length(longest), 'line')}."
    report.say("size", template, code(whole_name(longest)), source=f"{path}:{longest.line}")
    rows = [(whole_name(item), _paths(item), _length(item), f"{path}:{item.line}") for path, item in ranked]
    report.table("The most branched functions", ("function", "paths", "lines", "place"), rows, limit=_SHOWN)
    report.about([whole_name(item) for _, item in ranked[:_SHOWN]])
    return {"functions": len(ranked), "mean_complexity": round(mean, 2), "complex_functions": above}


async def _symbol(work: Work) -> None:
    """The figures of one symbol, its callers and what it calls."""
    spot = await work.spot()
    if spot.path.endswith(OUTLINED):
        items = (await work.in_thread(outline_of, work.workspace, spot.path)).items
        inside = [each for each in items if each.first_line <= spot.line <= each.last_line]
        if inside:
            item = inside[-1]
            branched = f", with {plural(item.complexity, 'path')} through it" if item.complexity else ""
            template = f"{item.kind} {{}} has {plural(_length(item), 'line')}{branched}."
            work.report.say("size", template, code(item.name), source=f"{spot.path}:{item.line}")
            work.report.figures["metrics"] = {"lines": _length(item), **_complexity(item)}
            work.report.figures["outline"] = [_outline_row(spot.path, item)]
    await tell_of_symbol(work, ("callers", "callees"))


async def document(work: Work, target: CodeScope) -> None:
    """Tell which public names say nothing of themselves, and list all signatures."""
    files = await read_outlines(work)
    public = [(path, item) for path, each in files.items() for item in each.items if _is_public(path, item)]
    missing = [(path, item) for path, item in public if not item.doc]
    documented = len(public) - len(missing)
    share = f", {100 * documented / len(public):.0f} %" if public else ""
    report = work.report
    report.say(
        "coverage", f"{documented} of {len(public)} public names are documented{share}.", source=target.file or "."
    )
    for path, item in missing[:_MISSING]:
        template = f"{item.kind} {{}} has no documentation."
        report.say("missing", template, code(whole_name(item)), source=f"{path}:{item.line}")
    if len(missing) > _MISSING:
        report.note(f"{len(missing) - _MISSING} more without documentation stand in the data.")
    report.figures["documentation"] = {
        "public": len(public),
        "documented": documented,
        "missing": [{**_named(path, item), "kind": item.kind} for path, item in missing[:_ROWS]],
        "signatures": [
            {**_named(path, item), "signature": item.signature, "doc": item.doc} for path, item in public[:_ROWS]
        ],
    }
    report.about([whole_name(item) for _, item in missing[:_MISSING]])
    rows = [(item.signature, item.doc, f"{path}:{item.line}") for path, item in public]
    report.table("Signatures", ("signature", "says", "place"), rows, limit=_ROWS)


def _is_public(path: str, item: Item) -> bool:
    """Whether others are meant to use it: by the rules of its language, as far as names and heads tell them."""
    if path.endswith(".rs"):
        return item.signature.startswith("pub ") or item.kind == "trait"
    if path.endswith(".go"):
        return item.name[:1].isupper()
    if item.signature.startswith(("private ", "protected ")) and path.endswith(TYPED):
        return False
    hidden = any(part.startswith(("_", "#")) for part in (*item.container.split("."), item.name))
    return not hidden and item.depth <= 1 and not (item.depth == 1 and item.kind == "function")


def _paths(item: Item) -> int:
    return item.complexity or 0


def _complexity(item: Item) -> dict[str, int]:
    """Its paths as a figure; nothing for what has none, such as a class."""
    return {} if item.complexity is None else {"complexity": item.complexity}


def _length(item: Item) -> int:
    return item.last_line - item.first_line + 1


def _named(path: str, item: Item) -> dict[str, object]:
    return {"file": path, "line": item.line, "name": whole_name(item)}


def _outline_row(path: str, item: Item) -> dict[str, object]:
    return {
        "file": path,
        "name": whole_name(item),
        "kind": item.kind,
        "signature": item.signature,
        "first_line": item.first_line,
        "last_line": item.last_line,
        **_complexity(item),
    }
