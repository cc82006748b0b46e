"""`review`: what a linter and our own checks find in code. What takes judgement is not claimed to be looked for."""

from collections import Counter
from typing import Final

from retinue.catalogue._prose import code
from retinue.contract.table import Column, Table
from retinue.errors import RetinueError
from retinue.tools.lsp import LANGUAGES
from retinue.tools.outline import outline_of

from .checks import Issue, check_files
from .gather import gather
from .linter import find_ruff, lint
from .work import Work

__all__ = ["review"]

_SHOWN: Final = 25
_MOST: Final = 1_000
_PYTHON: Final = (".py", ".pyi")
_ORDER: Final = {"high": 0, "medium": 1, "low": 2}
_SAME: Final = {
    "F401": "unused-import",
    "E722": "bare-except",
    "BLE001": "broad-except",
    "B006": "mutable-default",
    "C901": "too-complex",
    "E711": "none-comparison",
    "S307": "dynamic-code",
    "S102": "dynamic-code",
    "D103": "missing-docstring",
    "D102": "missing-docstring",
    "D101": "missing-docstring",
    "invalid-syntax": "syntax",
    "FIX002": "todo",
    "TD002": "todo",
}
"""What of ruff and of our own checks says the same."""


async def review(work: Work) -> None:
    """Review the files that are meant."""
    issues = await _found(work)
    report = work.report
    by_severity = Counter(each.severity for each in issues)
    files = len(report.files)
    report.say(
        "summary",
        f"{_count(len(issues), 'finding')} in {_count(files, 'file')}: {by_severity['high']} high, "
        f"{by_severity['medium']} medium, {by_severity['low']} low.",
        source=work.asked.path or ".",
    )
    for each in issues[:_SHOWN]:
        report.say(each.severity, f"{{}}: {_clean(each.message)}", code(each.rule), source=f"{each.file}:{each.line}")
    if len(issues) > _SHOWN:
        report.note(f"{len(issues) - _SHOWN} more findings stand in the data.")
    report.note(
        "Only what a linter and syntax trees can see was looked for; nobody judged whether the code does what "
        "it should."
    )
    if others := sum(not path.endswith(_PYTHON) for path in report.files):
        report.note(
            f"{_count(others, 'file')} in other languages than Python: only TODO comments were looked for there."
        )
    report.figures["issues"] = [_data(each) for each in issues[:_MOST]]
    rows = tuple((each.severity, each.rule, f"{each.file}:{each.line}", each.message[:300]) for each in issues[:_MOST])
    columns = (
        Column(name="severity"),
        Column(name="rule"),
        Column(name="place", kind="source"),
        Column(name="message"),
    )
    if rows:
        report.tables.append(Table(title="Findings", columns=columns, rows=rows, total_rows=len(issues)))


async def _found(work: Work) -> list[Issue]:
    read = await gather(work, LANGUAGES, check_files)
    work.report.files |= read.keys()
    return await work.in_thread(_weighed, work, [issue for found in read.values() for issue in found], list(read))


def _weighed(work: Work, issues: list[Issue], paths: list[str]) -> list[Issue]:
    """What ruff says of Python files, and of our own findings what it does not say too; the worst first."""
    python = [path for path in paths if path.endswith(_PYTHON)]
    said = _linted(work, python) if python else []
    known = {(each.file, each.line, _SAME.get(each.rule, each.rule)) for each in said}
    kept = [each for each in issues if (each.file, each.line, each.rule) not in known]
    wanted = _in_symbol(work, [*said, *kept])
    return sorted(wanted, key=lambda each: (_ORDER[each.severity], each.file, each.line, each.rule))


def _linted(work: Work, paths: list[str]) -> list[Issue]:
    program = find_ruff()
    if program is None:
        work.report.note("Ruff is not here, so only our own checks were made; install it for more.")
        return []
    try:
        return lint(program, work.workspace, paths)
    except RetinueError as error:
        work.report.warn(
            "degraded_analysis", f"Ruff was not of use: {error.message}", impact="Only our own checks were made."
        )
        return []


def _in_symbol(work: Work, issues: list[Issue]) -> list[Issue]:
    """Those inside the symbol that was named, when one was."""
    name, path = work.asked.symbol, work.asked.path
    if not name or work.asked.scope in ("file", "module", "project") or not path.endswith(".py"):
        return issues
    items = outline_of(work.workspace, path).items
    spans = [
        (each.first_line, each.last_line) for each in items if name in (each.name, f"{each.container}.{each.name}")
    ]
    if not spans:
        return issues
    return [each for each in issues if any(first <= each.line <= last for first, last in spans)]


def _count(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _clean(message: str) -> str:
    return " ".join(message.replace("{", "(").replace("}", ")").split())[:300]


def _data(issue: Issue) -> dict[str, object]:
    facts: dict[str, object] = {
        "rule": issue.rule,
        "severity": issue.severity,
        "file": issue.file,
        "line": issue.line,
        "message": issue.message[:1_000],
        "found_by": issue.by,
    }
    return {**facts, "fix": issue.fix} if issue.fix else facts
