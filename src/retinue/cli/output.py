"""How commands print: data on stdout, talk on stderr, colour only where somebody looks."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from retinue.contract.sanitize import printable

if TYPE_CHECKING:
    from rich.console import Console

    from retinue.contract.finding import Finding

__all__ = ["console", "echo_json", "findings_text", "safe", "tell"]

_COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}


def safe(text: object) -> str:
    """Foreign text on one line: nothing in it can colour, clear or move the cursor."""
    return " ".join(printable(str(text)).split())


def echo_json(value: object) -> None:
    """Print one JSON document on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def tell(text: str) -> None:
    """Say something to the person, on stderr."""
    click.echo(text, err=True)


def console(*, stderr: bool = False) -> "Console":
    """A rich console that respects `NO_COLOR` and pipes."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def findings_text(findings: Iterable["Finding"]) -> str:
    """Findings as text, one a paragraph: place, severity, rule, message, and what to do."""
    return "\n".join(_finding(finding) for finding in findings)


def _finding(finding: "Finding") -> str:
    numbers = [str(number) for number in (finding.line, finding.column) if number is not None]
    place = ":".join([safe(finding.file or ""), *numbers]) + (f" {safe(finding.path)}" if finding.path else "")
    severity = click.style(finding.severity, fg=_COLOURS[finding.severity])
    fix = f"\n    fix: {safe(finding.fix)}" if finding.fix else ""
    return f"{place}: {severity} {click.style(finding.rule, bold=True)} {safe(finding.message)}{fix}"
