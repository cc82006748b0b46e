"""`review`: what a linter finds in code, and work left for later. What takes judgement is not claimed to be looked for.

Ruff is run by its argument vector with JSON as its answer, in the project's own configuration and some rules beyond it.
It only reads, and its configuration can name no program.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, cast

from retinue.catalogue._prose import code, quote
from retinue.catalogue._report import plural
from retinue.contract.json import loads
from retinue.errors import InvalidInput, NotInstalled, RetinueError
from retinue.processes.start import clean_environment, find_program
from retinue.processes.tool_program import run
from retinue.tools.grep import grep
from retinue.tools.lsp import LANGUAGES
from retinue.tools.outline import outline_of
from retinue.tools.tree import list_files

from .parameters import CodeScope
from .results import ReviewIssue
from .work import Work

_MAX_SHOWN: Final = 25
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
    for each in issues[:_MAX_SHOWN]:
        report.add(each.severity, "{}: {}", code(each.rule), quote(each.message), source=f"{each.file}:{each.line}")
    if len(issues) > _MAX_SHOWN:
        report.note(f"{len(issues) - _MAX_SHOWN} more findings stand in the data.")
    report.note("Only what a linter can see was looked for; nobody judged whether the code does what it should.")
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
    issues = [*_todo_issues(work), *(_ruff_issues(work, python) if python else ())]
    return sorted(
        _issues_in_symbol(work, issues), key=lambda each: (_ORDER[each.severity], each.file, each.line, each.rule)
    )


def _todo_issues(work: Work) -> Iterator[ReviewIssue]:
    """Comments that say that work was left for later."""
    for each in grep(work.workspace, _TODO_COMMENT.pattern, max_matches=10 * _MAX_ISSUES).matches:
        if each.path in work.files and (comment := _TODO_COMMENT.search(each.text)):
            yield ReviewIssue(
                rule="todo",
                severity="low",
                file=each.path,
                line=each.line,
                message=f"{comment[1]}: {comment[2].strip() or 'it does not say what'}",
                fix="Do it, or open a ticket.",
                found_by="comment",
            )


def _ruff_issues(work: Work, paths: Sequence[str]) -> Iterator[ReviewIssue]:
    """What ruff says of Python files; when it cannot be asked, that is told."""
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


def _issues_in_symbol(work: Work, issues: list[ReviewIssue]) -> list[ReviewIssue]:
    """Those inside the symbol that was named, when one was."""
    target = work.target
    if not target.name or target.scope != "symbol" or not target.file.endswith(".py"):
        return issues
    items = outline_of(work.workspace, target.file).items
    spans = [
        range(each.first_line, each.last_line + 1) for each in items if target.name in (each.name, each.qualified_name)
    ]
    return [each for each in issues if any(each.line in span for span in spans)] if spans else issues
