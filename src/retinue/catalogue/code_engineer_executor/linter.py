"""Ruff, when it is here: run by its argument vector with JSON as its answer, in the project's own configuration.

Ruff only reads, and its configuration can name no program. Without it the review is that of `checks` alone.
"""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

from retinue.contract.json import loads
from retinue.errors import RetinueError
from retinue.tools.process import clean_environment, find_program, run
from retinue.tools.workspace import Workspace

from .checks import Issue, Severity

__all__ = ["find_ruff", "lint", "severity_of"]

_TIMEOUT_S: Final = 60.0
_MOST_BYTES: Final = 16 * 2**20
_SERIOUS: Final = ("E9", "F6", "F7", "F8", "B0")
_SECURITY: Final = re.compile(r"S\d")


def find_ruff() -> str | None:
    """The program: beside the interpreter, else in the user's path."""
    beside = Path(sys.executable).parent / "ruff"
    return str(beside) if os.access(beside, os.X_OK) else find_program("ruff")


def lint(program: str, workspace: Workspace, paths: Sequence[str]) -> list[Issue]:
    """What ruff says of `paths`. Takes its time: call it in a thread.

    Raises:
        RetinueError: It cannot be run, or gave no JSON.
    """
    argv = [program, "check", "--output-format=json", "--no-cache", "--exit-zero", "--no-fix", "--quiet", "--", *paths]
    said = run(argv, cwd=str(workspace.root), env=clean_environment({}), timeout_s=_TIMEOUT_S, max_bytes=_MOST_BYTES)
    found = loads(said.stdout or b"[]", max_bytes=_MOST_BYTES)
    issues = [_issue(workspace, cast("dict[str, Any]", each)) for each in found] if isinstance(found, list) else []
    return [issue for issue in issues if issue is not None]


def _issue(workspace: Workspace, said: dict[str, Any]) -> Issue | None:
    match said:
        case {"message": str(message), "filename": str(file), "location": {"row": int(line)}}:
            try:
                path = workspace.relative(file)
            except RetinueError:
                return None
            rule = str(said.get("code") or "syntax")
            return Issue(rule, severity_of(rule), path, line, message, _fix(said), "ruff")
        case _:
            return None


def severity_of(rule: str) -> Severity:
    """How serious it is that a rule of ruff is broken."""
    if rule == "syntax" or rule.startswith(_SERIOUS) or _SECURITY.match(rule):
        return "high" if rule.startswith(("E9", "F8")) or rule == "syntax" or _SECURITY.match(rule) else "medium"
    return "medium" if rule.startswith(("F", "B", "C9", "PL")) else "low"


def _fix(said: dict[str, Any]) -> str:
    match said.get("fix"):
        case {"message": str(message)}:
            return message
        case _:
            return ""
