"""`analyze` and `docs`: how large, branched and documented code is, by syntax trees. Texts are not invented.

Outlines are read in worker processes and kept between runs.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, NamedTuple

from pydantic import TypeAdapter

from retinue.catalogue._content_cache import ContentCache
from retinue.catalogue._names import OUTLINE_SUFFIXES, TYPESCRIPT_SUFFIXES
from retinue.catalogue._prose import code, quote
from retinue.catalogue._report import plural
from retinue.catalogue._tree import read_tree
from retinue.contract.formatting import natural_list
from retinue.errors import DeadlineExceeded, InvalidInput
from retinue.tools.encoding import decode, is_binary
from retinue.tools.outline import OutlineItem, language_for, outline, outline_of

from .navigate import report_symbols
from .parameters import CodeScope, CodeTarget
from .work import Work

_VERSION: Final = 4
"""The form of an entry, and what is read into it: another number forgets what earlier versions kept."""
_MAX_SHOWN: Final = 10
_MAX_MISSING: Final = 20
_MAX_ROWS: Final = 500
_MAX_ITEMS: Final = 1_000
_COMPLEXITY_THRESHOLD: Final = 10


async def analyze(work: Work, target: CodeTarget) -> None:
    """Measure a symbol, a file, a folder or all of it."""
    if target.scope == "symbol" and (target.name or target.position):
        await _analyze_symbol(work)
        return
    files = await _read_outlines(work)
    report, figures = work.report, work.report.figures
    items = [(path, item) for path, each in files.items() for item in each.items]
    functions = [(path, item, item.complexity) for path, item in items if item.complexity is not None]
    classes = sum(item.kind in ("class", "struct", "trait", "interface") for _, item in items)
    lines = sum(each.lines for each in files.values())
    where = next(iter(files)) if len(files) == 1 else target.file or "."
    counts = (plural(lines, "line"), plural(len(functions), "function"), plural(classes, "class", "classes"))
    report.add("size", f"{plural(len(files), 'file')}: {natural_list(counts)}.", source=where)
    figures["outline"] = [_item_data(path, item) for path, item in items[:_MAX_ITEMS]]
    metrics = _report_ranking(work, functions, where) if functions else {"functions": 0}
    figures["metrics"] = {"files": len(files), "lines": lines, "classes": classes, **metrics}


def _report_ranking(work: Work, functions: list[tuple[str, OutlineItem, int]], where: str) -> dict[str, float]:
    """Tell of the most branched and the longest functions; gives figures of all of them."""
    report = work.report
    ranked = sorted(functions, key=lambda each: (-each[2], each[0], each[1].line))
    mean = sum(paths for *_, paths in ranked) / len(ranked)
    above = sum(paths > _COMPLEXITY_THRESHOLD for *_, paths in ranked)
    verb = "has" if above == 1 else "have"
    mean_text = f"A function has {mean:.1f} paths on average; {above:,} {verb} more than {_COMPLEXITY_THRESHOLD}."
    report.add("complexity", mean_text, source=where)
    for path, item, paths in ranked[:3]:
        template = f"{{}} has {plural(paths, 'path')}."
        report.add("complexity", template, code(item.qualified_name), source=f"{path}:{item.line}")
    path, longest, _ = max(ranked, key=lambda each: each[1].lines)
    template = f"{{}} is the longest, with {plural(longest.lines, 'line')}."
    report.add("size", template, code(longest.qualified_name), source=f"{path}:{longest.line}")
    rows = [(item.qualified_name, paths, item.lines, f"{path}:{item.line}") for path, item, paths in ranked]
    report.add_table("The most branched functions", ("function", "paths", "lines", "place"), rows, limit=_MAX_SHOWN)
    report.add_subjects([item.qualified_name for _, item, _ in ranked[:_MAX_SHOWN]])
    return {"functions": len(ranked), "mean_complexity": round(mean, 2), "complex_functions": above}


async def _analyze_symbol(work: Work) -> None:
    """The figures of one symbol, its callers and what it calls."""
    spot = await work.find_spot()
    outline = (
        await work.in_thread(outline_of, work.workspace, spot.path) if spot.path.endswith(OUTLINE_SUFFIXES) else None
    )
    inside = [each for each in (outline.items if outline else ()) if each.first_line <= spot.line <= each.last_line]
    for item in inside[-1:]:
        path_text = f", with {plural(item.complexity, 'path')} through it" if item.complexity else ""
        template = f"{item.kind} {{}} has {plural(item.lines, 'line')}{path_text}."
        work.report.add("size", template, code(item.name), source=f"{spot.path}:{item.line}")
        complexity = {} if item.complexity is None else {"complexity": item.complexity}
        work.report.figures |= {
            "metrics": {"lines": item.lines, **complexity},
            "outline": [_item_data(spot.path, item)],
        }
    await report_symbols(work, ("callers", "callees"))


async def document(work: Work, target: CodeScope) -> None:
    """Tell which public names say nothing of themselves, and list all signatures."""
    files = (await _read_outlines(work)).items()
    public = [(path, item) for path, each in files for item in each.items if _is_public(path, item)]
    missing = [(path, item) for path, item in public if not item.doc]
    documented = len(public) - len(missing)
    share = f", {100 * documented / len(public):.0f} %" if public else ""
    report, text = work.report, f"{documented} of {len(public)} public names are documented{share}."
    report.add("coverage", text, source=target.file or ".")
    for path, item in missing[:_MAX_MISSING]:
        template = f"{item.kind} {{}} has no documentation."
        report.add("missing", template, code(item.qualified_name), source=f"{path}:{item.line}")
    if len(missing) > _MAX_MISSING:
        report.note(f"{len(missing) - _MAX_MISSING} more without documentation stand in the data.")
    report.figures["documentation"] = {
        "public": len(public),
        "documented": documented,
        "missing": [_item_data(path, item) for path, item in missing[:_MAX_ROWS]],
        "signatures": [_item_data(path, item) for path, item in public[:_MAX_ROWS]],
    }
    report.add_subjects([item.qualified_name for _, item in missing[:_MAX_MISSING]])
    rows = [(item.signature, item.doc, f"{path}:{item.line}") for path, item in public]
    report.add_table("Signatures", ("signature", "says", "place"), rows, limit=_MAX_ROWS)


def _is_public(path: str, item: OutlineItem) -> bool:
    """Whether others are meant to use it: by the rules of its language, as far as names and heads tell them."""
    if path.endswith(".rs"):
        return item.signature.startswith("pub ") or item.kind == "trait"
    if path.endswith(".go"):
        return item.name[:1].isupper()
    if item.signature.startswith(("private ", "protected ")) and path.endswith(TYPESCRIPT_SUFFIXES):
        return False
    is_private = any(part.startswith(("_", "#")) for part in (*item.container.split("."), item.name))
    return not is_private and item.depth <= 1 and not (item.depth == 1 and item.kind == "function")


def _item_data(path: str, item: OutlineItem) -> dict[str, object]:
    """A thing that a file defines, as data; a class has no paths, and so no complexity."""
    facts = {"file": path, **asdict(item), "name": item.qualified_name}
    return {name: fact for name, fact in facts.items() if fact is not None}


# --- outlines --------------------------------------------------------------------------------------------------------


class CachedOutline(NamedTuple):
    """The outline of one file, and how many lines it has."""

    lines: int
    items: tuple[OutlineItem, ...]
    notes: tuple[str, ...]


def extract_outlines(files: Sequence[tuple[str, bytes, str]]) -> list[CachedOutline]:
    """The outlines of files, each a path with its content.

    Raises:
        NotInstalled: A grammar is not here.
    """
    outlines: list[CachedOutline] = []
    for path, data, _ in files:
        if is_binary(data):
            outlines.append(CachedOutline(0, (), ("it is a binary file.",)))
            continue
        text = decode(data).text
        file_outline = outline(text, language_for(path))
        lines = text.count("\n") + bool(text and not text.endswith("\n"))
        outlines.append(CachedOutline(lines, tuple(file_outline.items), tuple(file_outline.notes)))
    return outlines


async def _read_outlines(work: Work) -> dict[str, CachedOutline]:
    """The outline of every file that is meant, by path; what is to be known of one is noted."""
    root, adapter = str(work.workspace.root), TypeAdapter(CachedOutline)
    load, dump = adapter.validate_python, adapter.dump_python
    reading = await read_tree(
        work.run,
        work.workspace,
        extract_outlines,
        is_wanted=work.path_filter(OUTLINE_SUFFIXES),
        cache=ContentCache(work.cache_dir, root, prefix="outlines", version=_VERSION, decode=load, encode=dump),
        deadline=work.deadline,
        is_whole=work.target.scope == "project" or work.target.file in ("", "."),
    )
    if reading.unread and not reading.files:
        raise DeadlineExceeded("Time was up before anything was read.", hint="Allow more time, or name a folder.")
    work.report.warn_of_gaps(reading.skipped, reading.unread)
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
