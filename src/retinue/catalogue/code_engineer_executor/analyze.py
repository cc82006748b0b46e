"""`analyze` and `docs`: how large, branched and documented code is, by syntax trees. Texts are not invented.

Outlines are read in worker processes and kept between runs.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, NamedTuple

from pydantic import TypeAdapter

from retinue.catalogue._names import OUTLINED, TYPED
from retinue.catalogue._prose import code, quote
from retinue.catalogue._remembered import Rows
from retinue.catalogue._report import plural
from retinue.catalogue._tree import read_tree
from retinue.contract.text import listed
from retinue.errors import DeadlineExceeded, InvalidInput
from retinue.tools.encoding import decode, is_binary
from retinue.tools.outline import Item, language_for, outline, outline_of

from .navigate import tell_of_symbol
from .parameters import CodeScope, CodeTarget
from .work import Work

__all__ = ["Outlined", "analyze", "document", "outlined"]

_VERSION: Final = 4
"""The form of an entry, and what is read into it: another number forgets what earlier versions kept."""
_SHOWN: Final = 10
_MISSING: Final = 20
_ROWS: Final = 500
_MOST: Final = 1_000
_COMPLEX: Final = 10


async def analyze(work: Work, target: CodeTarget) -> None:
    """Measure a symbol, a file, a folder or all of it."""
    if target.scope == "symbol" and (target.name or target.position):
        await _symbol(work)
        return
    files = await _read_outlines(work)
    report, figures = work.report, work.report.figures
    items = [(path, item) for path, each in files.items() for item in each.items]
    functions = [(path, item, item.complexity) for path, item in items if item.complexity is not None]
    classes = sum(item.kind in ("class", "struct", "trait", "interface") for _, item in items)
    lines = sum(each.lines for each in files.values())
    where = next(iter(files)) if len(files) == 1 else target.file or "."
    counts = (plural(lines, "line"), plural(len(functions), "function"), plural(classes, "class", "classes"))
    report.say("size", f"{plural(len(files), 'file')}: {listed(counts)}.", source=where)
    figures["outline"] = [_row(path, item) for path, item in items[:_MOST]]
    metrics = _rank(work, functions, where) if functions else {"functions": 0}
    figures["metrics"] = {"files": len(files), "lines": lines, "classes": classes, **metrics}


def _rank(work: Work, functions: list[tuple[str, Item, int]], where: str) -> dict[str, float]:
    """Tell of the most branched and the longest functions; gives figures of all of them."""
    report = work.report
    ranked = sorted(functions, key=lambda each: (-each[2], each[0], each[1].line))
    mean = sum(paths for *_, paths in ranked) / len(ranked)
    above = sum(paths > _COMPLEX for *_, paths in ranked)
    verb = "has" if above == 1 else "have"
    mean_text = f"A function has {mean:.1f} paths on average; {above:,} {verb} more than {_COMPLEX}."
    report.say("complexity", mean_text, source=where)
    for path, item, paths in ranked[:3]:
        template = f"{{}} has {plural(paths, 'path')}."
        report.say("complexity", template, code(item.whole_name), source=f"{path}:{item.line}")
    path, longest, _ = max(ranked, key=lambda each: each[1].lines)
    template = f"{{}} is the longest, with {plural(longest.lines, 'line')}."
    report.say("size", template, code(longest.whole_name), source=f"{path}:{longest.line}")
    rows = [(item.whole_name, paths, item.lines, f"{path}:{item.line}") for path, item, paths in ranked]
    report.table("The most branched functions", ("function", "paths", "lines", "place"), rows, limit=_SHOWN)
    report.about([item.whole_name for _, item, _ in ranked[:_SHOWN]])
    return {"functions": len(ranked), "mean_complexity": round(mean, 2), "complex_functions": above}


async def _symbol(work: Work) -> None:
    """The figures of one symbol, its callers and what it calls."""
    spot = await work.spot()
    outline = await work.in_thread(outline_of, work.workspace, spot.path) if spot.path.endswith(OUTLINED) else None
    inside = [each for each in (outline.items if outline else ()) if each.first_line <= spot.line <= each.last_line]
    for item in inside[-1:]:
        branched = f", with {plural(item.complexity, 'path')} through it" if item.complexity else ""
        template = f"{item.kind} {{}} has {plural(item.lines, 'line')}{branched}."
        work.report.say("size", template, code(item.name), source=f"{spot.path}:{item.line}")
        complexity = {} if item.complexity is None else {"complexity": item.complexity}
        work.report.figures |= {"metrics": {"lines": item.lines, **complexity}, "outline": [_row(spot.path, item)]}
    await tell_of_symbol(work, ("callers", "callees"))


async def document(work: Work, target: CodeScope) -> None:
    """Tell which public names say nothing of themselves, and list all signatures."""
    files = (await _read_outlines(work)).items()
    public = [(path, item) for path, each in files for item in each.items if _is_public(path, item)]
    missing = [(path, item) for path, item in public if not item.doc]
    documented = len(public) - len(missing)
    share = f", {100 * documented / len(public):.0f} %" if public else ""
    report, text = work.report, f"{documented} of {len(public)} public names are documented{share}."
    report.say("coverage", text, source=target.file or ".")
    for path, item in missing[:_MISSING]:
        template = f"{item.kind} {{}} has no documentation."
        report.say("missing", template, code(item.whole_name), source=f"{path}:{item.line}")
    if len(missing) > _MISSING:
        report.note(f"{len(missing) - _MISSING} more without documentation stand in the data.")
    report.figures["documentation"] = {
        "public": len(public),
        "documented": documented,
        "missing": [_row(path, item) for path, item in missing[:_ROWS]],
        "signatures": [_row(path, item) for path, item in public[:_ROWS]],
    }
    report.about([item.whole_name for _, item in missing[:_MISSING]])
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


def _row(path: str, item: Item) -> dict[str, object]:
    """A thing that a file defines, as data; a class has no paths, and so no complexity."""
    facts = {"file": path, **asdict(item), "name": item.whole_name}
    return {name: fact for name, fact in facts.items() if fact is not None}


# --- outlines --------------------------------------------------------------------------------------------------------


class Outlined(NamedTuple):
    """The outline of one file, and how many lines it has."""

    lines: int
    items: tuple[Item, ...]
    notes: tuple[str, ...]


def outlined(files: Sequence[tuple[str, bytes, str]]) -> list[Outlined]:
    """The outlines of files, each a path with its content.

    Raises:
        NotInstalled: A grammar is not here.
    """
    outlines: list[Outlined] = []
    for path, data, _ in files:
        if is_binary(data):
            outlines.append(Outlined(0, (), ("it is a binary file.",)))
            continue
        text = decode(data).text
        read = outline(text, language_for(path))
        lines = text.count("\n") + bool(text and not text.endswith("\n"))
        outlines.append(Outlined(lines, tuple(read.items), tuple(read.notes)))
    return outlines


async def _read_outlines(work: Work) -> dict[str, Outlined]:
    """The outline of every file that is meant, by path; what is to be known of one is noted."""
    root, rows = str(work.workspace.root), TypeAdapter(Outlined)
    read, write = rows.validate_python, rows.dump_python
    reading = await read_tree(
        work.run,
        work.workspace,
        outlined,
        is_wanted=work.is_meant(OUTLINED),
        known=Rows(work.cache_dir, root, name="outlines", version=_VERSION, read=read, write=write),
        watch=work.watch,
        is_whole=work.target.scope == "project" or work.target.file in ("", "."),
    )
    if reading.left and not reading.files:
        raise DeadlineExceeded("Time was up before anything was read.", hint="Allow more time, or name a folder.")
    work.report.tell_gaps(reading.skipped, reading.left)
    for note in reading.notes:
        work.report.note("{}", quote(note))
    if not reading.files:
        hint = "Name a file or folder with Python, JavaScript, TypeScript, Rust or Go."
        raise InvalidInput("No source file is there to look at.", hint=hint)
    for path, each in reading.files.items():
        work.files.add(path)
        for note in each.notes:
            work.report.note("{}: {}", code(path), quote(note))
    return reading.files
