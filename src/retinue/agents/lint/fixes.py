"""Writes into files what findings say a program can replace (`Finding.replacement`)."""

import re
from collections.abc import Iterable
from pathlib import Path

from retinue.contract.finding import Finding
from retinue.errors import AccessDenied

_LINES_BELOW = 10
"""An input block names its operation a few lines below its agent."""


def apply_fixes(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Make every replacement whose old text stands where its finding says; give the findings that are mended.

    Bytes that are no UTF-8, line ends and the mark at the start of a file stay as they are.

    Raises:
        AccessDenied: A file cannot be written.
    """
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.replacement is not None and finding.file is not None:
            by_file.setdefault(finding.file, []).append(finding)
    fixed_findings: list[Finding] = []
    for file, each in by_file.items():
        fixed_findings += _fix_file(Path(file), each)
    return tuple(fixed_findings)


def _fix_file(path: Path, findings: list[Finding]) -> list[Finding]:
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            lines = file.read().split("\n")
        fixed_findings = [finding for finding in findings if _replace(lines, finding)]
        if fixed_findings:
            with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write("\n".join(lines))
    except OSError as error:
        message = f"{str(path)!r} cannot be written: {error.strerror}."
        raise AccessDenied(message, hint="Make it writable, or leave out `--fix`.") from None
    return fixed_findings


def _replace(lines: list[str], finding: Finding) -> bool:
    """Replace the first whole occurrence at or below the finding's place."""
    if finding.replacement is None:
        return False
    old, new = finding.replacement.old, finding.replacement.new
    whole = re.compile(rf"(?<![\w-]){re.escape(old)}(?![\w-])")
    first = (finding.line or 1) - 1
    for at in range(first, min(first + _LINES_BELOW, len(lines))):
        text, count = whole.subn(lambda _: new, lines[at], count=1)
        if count:
            lines[at] = text
            return True
    return False
