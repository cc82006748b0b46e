"""`analyze`: how large and how branched code is, and for one symbol who calls it and what it calls. Without a model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import code
from retinue.catalogue._remembered import Rows
from retinue.contract.table import Column, Table
from retinue.errors import InvalidInput
from retinue.tools.outline import Item, outline_of

from .gather import gather
from .navigate import around
from .outlined import VERSION, Outlined, outlined
from .work import Work

__all__ = ["TYPED", "analyze", "outlines"]

TYPED: Final = (".ts", ".mts", ".cts", ".tsx")
_OUTLINED: Final = (".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", *TYPED, ".rs", ".go")
_SHOWN: Final = 10
_COMPLEX: Final = 10


@dataclass(frozen=True, slots=True)
class _Function:
    path: str
    item: Item

    @property
    def complexity(self) -> int:
        return self.item.complexity or 0

    @property
    def name(self) -> str:
        return f"{self.item.container}.{self.item.name}".lstrip(".")

    @property
    def place(self) -> str:
        return f"{self.path}:{self.item.line}"


async def analyze(work: Work) -> None:
    """Analyse a symbol, a file, a folder or all of it."""
    asked = work.asked
    if asked.scope in ("", "symbol") and (asked.symbol or asked.line):
        await _symbol(work)
        return
    functions, lines, classes = _measured(work, await outlines(work))
    _summary(work, functions, lines=lines, classes=classes)


async def outlines(work: Work) -> dict[str, Outlined]:
    """The outline of every file that is meant, by path; what is to be known of one is noted."""
    known = Rows(
        work.cache_dir,
        str(work.workspace.root),
        name="outlines",
        version=VERSION,
        read=Outlined.from_row,
        write=Outlined.row,
    )
    found = await gather(work, _OUTLINED, outlined, known=known)
    for path, each in found.items():
        work.report.files.add(path)
        for note in each.notes:
            work.report.note(f"{{}}: {note}", code(path))
    return found


async def _symbol(work: Work) -> None:
    spot = await work.spot()
    if spot.path.endswith(_OUTLINED):
        items = (await work.in_thread(outline_of, work.workspace, spot.path)).items
        inside = [each for each in items if each.first_line <= spot.line <= each.last_line]
        if inside:
            item = inside[-1]
            length = item.last_line - item.first_line + 1
            branched = f", with {_paths(item.complexity)} through it" if item.complexity else ""
            work.report.say(
                "size",
                f"{item.kind} {{}} has {length} lines{branched}.",
                code(item.name),
                source=f"{spot.path}:{item.line}",
            )
            work.report.figures["metrics"] = {"lines": length, "complexity": item.complexity or 0}
            work.report.figures["outline"] = [_outlined(spot.path, item)]
    await around(work, lead="callers")


def _measured(work: Work, found: Mapping[str, Outlined]) -> tuple[list[_Function], int, int]:
    """Every function of the files that are meant, how many lines they have, and how many classes."""
    items = [(path, item) for path, each in found.items() for item in each.items]
    if not work.report.files:
        raise InvalidInput(
            "No source file is there to analyse.",
            hint="Name a file or folder with Python, JavaScript, TypeScript, Rust or Go.",
        )
    work.report.figures["outline"] = [_outlined(path, item) for path, item in items[:1_000]]
    functions = [_Function(path, item) for path, item in items if item.complexity is not None]
    classes = sum(item.kind in ("class", "struct", "trait", "interface") for _, item in items)
    return functions, sum(each.lines for each in found.values()), classes


def _summary(work: Work, functions: list[_Function], *, lines: int, classes: int) -> None:
    report, files = work.report, sorted(work.report.files)
    where = files[0] if len(files) == 1 else (work.asked.path or ".")
    plural = "file holds" if len(files) == 1 else "files hold"
    report.say(
        "size",
        f"{len(files)} {plural} {lines:,} lines, {len(functions)} functions and {classes} classes.",
        source=where,
    )
    ranked = sorted(functions, key=lambda each: (-each.complexity, each.path, each.item.line))
    if ranked:
        mean = sum(each.complexity for each in ranked) / len(ranked)
        above = [each for each in ranked if each.complexity > _COMPLEX]
        report.say(
            "complexity",
            f"A function has {mean:.1f} paths on average; more than {_COMPLEX} have {len(above)}.",
            source=where,
        )
        for each in ranked[:3]:
            report.say("complexity", f"{{}} has {_paths(each.complexity)}.", code(each.name), source=each.place)
        longest = max(ranked, key=lambda each: each.item.last_line - each.item.first_line)
        report.say(
            "size",
            f"{{}} is the longest, with {longest.item.last_line - longest.item.first_line + 1} lines.",
            code(longest.name),
            source=longest.place,
        )
        report.figures["metrics"] = {
            "files": len(files),
            "lines": lines,
            "functions": len(ranked),
            "classes": classes,
            "mean_complexity": round(mean, 2),
            "complex_functions": len(above),
        }
    rows = tuple(
        (each.name, each.complexity, each.item.last_line - each.item.first_line + 1, each.place)
        for each in ranked[:_SHOWN]
    )
    columns = (
        Column(name="function"),
        Column(name="paths", kind="number"),
        Column(name="lines", kind="number"),
        Column(name="place", kind="source"),
    )
    report.tables.append(Table(title="The most branched functions", columns=columns, rows=rows, total_rows=len(ranked)))
    report.symbols += [each.name for each in ranked[:_SHOWN]]


def _paths(count: int) -> str:
    return "1 path" if count == 1 else f"{count} paths"


def _outlined(path: str, item: Item) -> dict[str, object]:
    facts: dict[str, object] = {
        "file": path,
        "name": f"{item.container}.{item.name}".lstrip("."),
        "kind": item.kind,
        "signature": item.signature,
        "first_line": item.first_line,
        "last_line": item.last_line,
    }
    return facts if item.complexity is None else {**facts, "complexity": item.complexity}
