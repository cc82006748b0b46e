"""What reads code: `analyze` and `docs` by syntax trees, `review` by a linter, `navigate_only` by a language server.

Outlines are read in worker processes and kept between runs. Ruff is run by its argument vector with JSON as its answer,
in the project's own configuration and some rules beyond it. It only reads, and its configuration can name no program.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, assert_never, cast

from pydantic import TypeAdapter

from retinue.catalogue._content_cache import ContentCache
from retinue.catalogue._names import OUTLINE_SUFFIXES, TYPESCRIPT_SUFFIXES
from retinue.catalogue._prose import code, first_of, one_line, quote
from retinue.catalogue._report import plural
from retinue.catalogue._tree import TreeReader
from retinue.contract.formatting import natural_list
from retinue.contract.json import loads
from retinue.errors import DeadlineExceeded, InvalidInput, NotInstalled, RetinueError, Unavailable
from retinue.processes.start import clean_environment, find_program
from retinue.processes.tool_program import run
from retinue.tools.encoding import decode, is_binary
from retinue.tools.grep import grep
from retinue.tools.lsp.locations import LANGUAGES, HierarchyCall, Location, Position
from retinue.tools.lsp.tool import uses_of
from retinue.tools.outline import OutlineItem, language_for, outline, outline_of
from retinue.tools.tree import list_files

from .parameters import CodeScope, CodeTarget, NavigationTarget, ReviewIssue, Show
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
    metrics = figures["metrics"] = {"files": len(files), "lines": lines, "classes": classes, "functions": 0}
    if not functions:
        return
    # The most branched and the longest functions.
    ranked = sorted(functions, key=lambda each: (-each[2], each[0], each[1].line))
    mean = sum(paths for *_, paths in ranked) / len(ranked)
    above = sum(paths > _COMPLEXITY_THRESHOLD for *_, paths in ranked)
    metrics |= {"functions": len(ranked), "mean_complexity": round(mean, 2), "complex_functions": above}
    verb = "has" if above == 1 else "have"
    mean_text = f"A function has {mean:.1f} paths on average; {above:,} {verb} more than {_COMPLEXITY_THRESHOLD}."
    report.add("complexity", mean_text, source=where)
    for path, item, paths in ranked[:3]:
        text = f"{code(item.qualified_name)} has {plural(paths, 'path')}."
        report.add("complexity", text, source=f"{path}:{item.line}")
    path, longest, _ = max(ranked, key=lambda each: each[1].lines)
    text = f"{code(longest.qualified_name)} is the longest, with {plural(longest.lines, 'line')}."
    report.add("size", text, source=f"{path}:{longest.line}")
    rows = [(item.qualified_name, paths, item.lines, f"{path}:{item.line}") for path, item, paths in ranked]
    report.add_table("The most branched functions", ("function", "paths", "lines", "place"), rows, limit=_MAX_SHOWN)
    report.add_subjects([item.qualified_name for _, item, _ in ranked[:_MAX_SHOWN]])


async def _analyze_symbol(work: Work) -> None:
    """The figures of one symbol, its callers and what it calls."""
    spot = await work.find_spot()
    outline = (
        await work.in_thread(outline_of, work.workspace, spot.path) if spot.path.endswith(OUTLINE_SUFFIXES) else None
    )
    inside = [each for each in (outline.items if outline else ()) if each.first_line <= spot.line <= each.last_line]
    for item in inside[-1:]:
        path_text = f", with {plural(item.complexity, 'path')} through it" if item.complexity else ""
        text = f"{item.kind} {code(item.name)} has {plural(item.lines, 'line')}{path_text}."
        work.report.add("size", text, source=f"{spot.path}:{item.line}")
        complexity = {} if item.complexity is None else {"complexity": item.complexity}
        work.report.figures |= {
            "metrics": {"lines": item.lines, **complexity},
            "outline": [_item_data(spot.path, item)],
        }
    await report_symbols(work, ("callers", "callees"))


async def document(work: Work, target: CodeScope) -> None:
    """Tell which public names say nothing of themselves, and list all signatures."""
    files = (await _read_outlines(work)).items()

    def is_public(path: str, item: OutlineItem) -> bool:
        """Whether others are meant to use it: by the rules of its language, as far as names and heads tell them."""
        if path.endswith(".rs"):
            return item.signature.startswith("pub ") or item.kind == "trait"
        if path.endswith(".go"):
            return item.name[:1].isupper()
        if item.signature.startswith(("private ", "protected ")) and path.endswith(TYPESCRIPT_SUFFIXES):
            return False
        is_private = any(part.startswith(("_", "#")) for part in (*item.container.split("."), item.name))
        return not is_private and item.depth <= 1 and not (item.depth == 1 and item.kind == "function")

    public = [(path, item) for path, each in files for item in each.items if is_public(path, item)]
    missing = [(path, item) for path, item in public if not item.doc]
    documented = len(public) - len(missing)
    share = f", {100 * documented / len(public):.0f} %" if public else ""
    report, text = work.report, f"{documented} of {len(public)} public names are documented{share}."
    report.add("coverage", text, source=target.file or ".")
    for path, item in missing[:_MAX_MISSING]:
        text = f"{item.kind} {code(item.qualified_name)} has no documentation."
        report.add("missing", text, source=f"{path}:{item.line}")
    if len(missing) > _MAX_MISSING:
        report.note(f"{len(missing) - _MAX_MISSING} more without documentation are in the data.")
    report.figures["documentation"] = {
        "public": len(public),
        "documented": documented,
        "missing": [_item_data(path, item) for path, item in missing[:_MAX_ROWS]],
        "signatures": [_item_data(path, item) for path, item in public[:_MAX_ROWS]],
    }
    report.add_subjects([item.qualified_name for _, item in missing[:_MAX_MISSING]])
    rows = [(item.signature, item.doc, f"{path}:{item.line}") for path, item in public]
    report.add_table("Signatures", ("signature", "says", "place"), rows, limit=_MAX_ROWS)


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
    reading = await TreeReader(
        work.run,
        extract_outlines,
        is_wanted=work.path_filter(OUTLINE_SUFFIXES),
        cache=ContentCache(work.cache_dir, root, prefix="outlines", version=_VERSION, decode=load, encode=dump),
        deadline=work.deadline,
        is_whole=work.target.scope == "project" or work.target.file in ("", "."),
    ).read()
    if reading.unread and not reading.files:
        raise DeadlineExceeded("Time was up before anything was read.", hint="Allow more time, or name a folder.")
    reading.report_gaps(work.report)
    if not reading.files:
        hint = "Name a file or folder with Python, JavaScript, TypeScript, Rust or Go."
        raise InvalidInput("No source file is there to look at.", hint=hint)
    for path, each in reading.files.items():
        work.files.add(path)
        for note in each.notes:
            work.report.note(f"{code(path)}: {quote(note)}")
    return reading.files


_MAX_SHOWN_ISSUES: Final = 25
_MAX_ISSUES: Final = 1_000
_ORDER: Final = {"high": 0, "medium": 1, "low": 2}
_PYTHON: Final = (".py", ".pyi")
_TIMEOUT_S: Final = 60.0
_MAX_BYTES: Final = 16 * 2**20
_RULES: Final = "B006,BLE001,C901,D101,D102,D103,E711,E722,F401,PLR0915,S102,S307,S602,S604,S605"
"""Looked for beside what the project's own configuration selects."""
_OPTIONS: Final = (
    "--output-format=json", f"--extend-select={_RULES}", "--no-cache", "--exit-zero", "--no-fix", "--quiet",
)  # fmt: skip
_TODO_COMMENT: Final = re.compile(r"(?:#|//|/\*|\*)\s*(TODO|FIXME|XXX|HACK)\b[:\s]*(.{0,120})")


async def review(work: Work, target: CodeScope) -> None:
    """Review the files that are meant."""
    issues = await work.in_thread(_find_issues, work)
    report = work.report
    severities = Counter(each.severity for each in issues)
    counts = ", ".join(f"{severities[severity]} {severity}" for severity in _ORDER)
    text = f"{plural(len(issues), 'finding')} in {plural(len(work.files), 'file')}: {counts}."
    report.add("summary", text, source=target.file or ".")
    for each in issues[:_MAX_SHOWN_ISSUES]:
        report.add(each.severity, f"{code(each.rule)}: {quote(each.message)}", source=f"{each.file}:{each.line}")
    if len(issues) > _MAX_SHOWN_ISSUES:
        report.note(f"{len(issues) - _MAX_SHOWN_ISSUES} more findings are in the data.")
    report.note("Only what a linter can see was looked for; whether the code does what it should was not judged.")
    if others := sum(not path.endswith(_PYTHON) for path in work.files):
        languages = f"{plural(others, 'file')} in other languages than Python"
        report.note(f"{languages}: only TODO comments were looked for there.")
    report.figures["issues"] = [each.to_json() for each in issues[:_MAX_ISSUES]]
    rows = [(each.severity, each.rule, f"{each.file}:{each.line}", each.message) for each in issues]
    report.add_table("Findings", ("severity", "rule", "place", "message"), rows, limit=_MAX_ISSUES)


def _find_issues(work: Work) -> list[ReviewIssue]:
    """What there is to say of the files that are meant, the worst first."""
    is_meant = work.path_filter(LANGUAGES)
    work.files |= {each.path for each in list_files(work.workspace).files if is_meant(each.path)}
    if not work.files:
        raise InvalidInput("No source file is there to review.", hint="Name a file or folder with source code.")
    python = sorted(path for path in work.files if path.endswith(_PYTHON))
    issues = [*(_ruff_issues(work, python) if python else ())]
    # Comments that say that work was left for later.
    for each in grep(work.workspace, _TODO_COMMENT.pattern, max_matches=10 * _MAX_ISSUES).matches:
        if each.path in work.files and (comment := _TODO_COMMENT.search(each.text)):
            message, fix = f"{comment[1]}: {comment[2].strip() or 'it does not say what'}", "Do it, or open a ticket."
            place: dict[str, Any] = {"file": each.path, "line": each.line, "found_by": "comment"}
            issues.append(ReviewIssue(rule="todo", severity="low", message=message, fix=fix, **place))
    target = work.target
    if target.name and target.scope == "symbol" and target.file.endswith(".py"):
        items = outline_of(work.workspace, target.file).items
        symbols = [each for each in items if target.name in (each.name, each.qualified_name)]
        if spans := [range(each.first_line, each.last_line + 1) for each in symbols]:
            issues = [each for each in issues if any(each.line in span for span in spans)]
    return sorted(issues, key=lambda each: (_ORDER[each.severity], each.file, each.line, each.rule))


def _ruff_issues(work: Work, paths: Sequence[str]) -> Iterator[ReviewIssue]:
    """What ruff reports for Python files; a warning when ruff cannot be run."""
    # The ruff of this environment comes before another one on the path.
    beside = Path(sys.executable).parent / "ruff"
    program = str(beside) if os.access(beside, os.X_OK) else find_program("ruff")
    root, environment = str(work.workspace.root), clean_environment({})
    try:
        if program is None:
            raise NotInstalled("Ruff is not installed.", hint="Install ruff.")
        command = [program, "check", *_OPTIONS, "--", *paths]
        result = run(command, cwd=root, env=environment, timeout_s=_TIMEOUT_S, max_bytes=_MAX_BYTES)
        rows = loads(result.stdout or b"[]", max_bytes=_MAX_BYTES)
    except RetinueError as error:
        message = f"Only comments were looked at. {error.message}"
        impact = "Nothing else of the Python code was reviewed."
        work.report.warn("degraded_analysis", message, impact=impact, recovery=error.hint)
        return
    for row in cast("list[Any]", rows):
        match row:
            case {"message": str(message), "filename": str(file), "location": {"row": int(line)}}:
                rule, fix = str(row.get("code") or "syntax"), row.get("fix")
                yield ReviewIssue(
                    rule=rule,
                    severity=severity_of(rule),
                    file=work.workspace.relative(file),
                    line=line,
                    message=message[:1_000],
                    fix=str(cast("dict[str, Any]", fix).get("message") or "") if isinstance(fix, dict) else "",
                    found_by="ruff",
                )
            case _:
                continue


def severity_of(rule: str) -> Literal["high", "medium", "low"]:
    """How serious it is that a rule of ruff is broken."""
    if rule in ("syntax", "invalid-syntax") or rule.startswith(("E9", "F8")) or rule.rstrip("0123456789") == "S":
        return "high"
    return "medium" if rule.startswith(("B", "C9", "E7", "F", "PL")) else "low"


_MAX_SHOWN_PLACES: Final = 20
_MAX_SYMBOLS: Final = 5
"""Most symbols of one name that are reported; of more a person has to say which."""
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
        report.add("file", f"{code(path)} defines {plural(len(tops), 'symbol')}.", source=path)
        for each in tops[:_MAX_SHOWN_PLACES]:
            text = f"{each.kind or 'symbol'} {code(each.name)} stands on lines {each.place.line} to {each.last_line}."
            report.add("symbol", text, source=_source(each.place))
        rows = [(each.qualified_name, each.kind, _source(each.place), each.last_line) for each in symbols]
        report.add_table(f"What {path} defines", ("symbol", "kind", "place", "to line"), rows, limit=_MAX_ROWS)
    else:
        work.report.reject("No symbol or file is named.", hint="Give `symbol` or `path`.", code="invalid_input")


async def report_symbols(work: Work, relations: Sequence[Show]) -> None:
    """Tell of each symbol that is meant; what few symbols have is missed only where that alone was asked for."""
    spots = await work.find_spots()
    if len(spots) > _MAX_SYMBOLS:
        spots = [await work.find_spot()]  # which refuses, and lists them
    is_alone = len(relations) == 1
    for spot in spots:
        definitions = await work.navigator.definition(spot)
        name = work.target.name or work.navigator.trace[-1].symbol
        work.report.add_subjects([name])
        name += f" ({spot.path})" if len(spots) > 1 else ""
        for each in relations:
            count_before = len(work.report.statements)
            try:
                await _report_relation(work, each, name, spot, definitions)
            except Unavailable as error:
                if is_alone or not error.detail.get("capability"):
                    raise
                work.report.note(error.message)
                continue
            if count_before == len(work.report.statements) and (is_alone or each not in ("callees", "implementations")):
                work.report.add(each, _ABSENT[each].format(code(name)), source="language server")


async def _report_relation(work: Work, show: Show, name: str, spot: Position, definitions: Sequence[Location]) -> None:
    """Tell of one side of a symbol, if there is anything of it."""
    navigator, report = work.navigator, work.report
    match show:
        case "definition" | "about":
            for place in definitions[:3]:
                where = " outside the workspace" if place.is_outside else ""
                text = f"{code(name)} is defined at {code(str(place))}{where}."
                report.add("definition", text, source=_source(place))
            if definitions and not (place := definitions[0]).is_outside:
                hover = await navigator.hover(Position(place.path, place.line, place.column))
                if hover:
                    head = code(" ".join(hover.partition("\n\n")[0].split()))
                    report.add("type", f"The language server says: {head}.", source=_source(place))
        case "callers":
            calls = await navigator.incoming_calls(spot)
            report.add_subjects([call.symbol.name for call in calls])
            _report_calls(work, show, [(call.symbol.qualified_name, name, call) for call in calls])
        case "callees":
            calls = [call for call in await navigator.outgoing_calls(spot) if not call.symbol.place.is_outside]
            _report_calls(work, show, [(name, call.symbol.qualified_name, call) for call in calls])
        case "references":
            uses = await uses_of(navigator, work.workspace, spot, declaration=False)
            if places := uses.sure:
                times = "once" if len(places) == 1 else f"{len(places)} times"
                text = f"{code(name)} is used {times} in {plural(len({place.path for place in places}), 'file')}."
                report.add("references", text, source=_source(places[0]))
                rows = [
                    (_source(place), one_line(place.text.strip()), "name" if place in uses.beyond else "reference")
                    for place in places
                ]
                report.add_table(f"Where {name} is used", ("place", "line", "found by"), rows, limit=_MAX_ROWS)
            if uses.unsure:
                more = plural(len(uses.unsure), "more place")
                where = code(first_of(map(_source, uses.unsure), 10))
                report.note(f"Of {more} the language server does not know whether {code(name)} is meant: {where}.")
        case "implementations":
            places = [place for place in await navigator.implementation(spot) if place not in definitions]
            for place in places[:_MAX_SHOWN_PLACES]:
                report.add(show, f"{code(name)} is implemented at {code(str(place))}.", source=_source(place))
        case _:
            assert_never(show)


def _report_calls(work: Work, topic: Show, calls: Sequence[tuple[str, str, HierarchyCall]]) -> None:
    for caller, callee, call in calls[:_MAX_SHOWN_PLACES]:
        place = (*call.places, call.symbol.place)[0]
        work.report.add(topic, f"{code(caller)} calls {code(callee)}.", source=_source(place))
    if len(calls) > _MAX_SHOWN_PLACES:
        work.report.note(f"{len(calls) - _MAX_SHOWN_PLACES} more {topic} are left out.")


def _source(place: Location) -> str:
    return f"{place.path}:{place.line}"
