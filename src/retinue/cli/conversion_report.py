"""What became of definitions on their way into another format, and how that is told: to a program, to a person."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from retinue.agents.write import WrittenDefinition
    from retinue.contract.finding import Finding

NONE: Final = "load/none"
"""The rule that is broken where there is no file at all."""
_MAX_FIELDS: Final = 8
"""Losses of one definition that a person is told."""
_MAX_LISTED: Final = 12
"""Definitions that a person is told of one by one."""


@dataclass(frozen=True)
class Conversion:
    """One definition on its way.

    Attributes:
        source: The file it was read from.
        name: What the agent is called.
        folder: Where that lies below the folder that was named.
        target: The file it goes into; None for stdout.
        sibling_files: The files beside a skill, which stay where they are.
    """

    source: str
    folder: Path
    name: str
    output: "WrittenDefinition"
    target: Path | None = None
    sibling_files: tuple[str, ...] = ()


def report_json(conversions: Sequence[Conversion], findings: Sequence["Finding"], *, form: str, refused: bool) -> None:
    """Everything as one document on stdout."""
    from retinue.cli.output import echo_json

    echo_json(
        {
            "format": form,
            "definitions": [
                {
                    "name": each.name,
                    "source": each.source,
                    **({"file": str(each.target)} if each.target and not refused else {"text": each.output.text}),
                    "losses": [loss.to_json() for loss in each.output.losses],
                    **({"not_copied": list(each.sibling_files)} if each.sibling_files else {}),
                }
                for each in conversions
            ],
            "findings": [finding.to_json() for finding in findings],
        }
    )


def report_text(conversions: Sequence[Conversion], findings: Sequence["Finding"], *, refused: bool) -> None:
    """A single text on stdout; on stderr what was wrong, what is lost, and what it came to."""
    from retinue.cli.delivery import deliver
    from retinue.cli.output import echo_err, findings_text, plural

    worth = [finding for finding in findings if finding.severity != "info"]
    if worth:
        echo_err(findings_text(worth))
    if len(conversions) == 1 and conversions[0].target is None and not refused:
        deliver(conversions[0].output.text, None)
    for line in (
        _conversion_lines(conversions, refused=refused)
        if len(conversions) <= _MAX_LISTED
        else _summary_lines(conversions)
    ):
        echo_err(line)
    lossy = [each for each in conversions if each.output.losses]
    errors = [finding for finding in findings if finding.severity == "error"]
    failed = len({finding.file for finding in errors if finding.rule != NONE})
    head = "refused" if refused else "failed" if errors or not conversions else "done"
    parts = [f"{plural(len(conversions), 'definition')}{' not' if refused else ''} converted"]
    parts += [f"{len(lossy):,} with losses"] if lossy else []
    parts += [f"{plural(failed, 'file')} could not be"] if failed else []
    echo_err(f"{click.style(head, fg='green' if head == 'done' else 'red', bold=True)}: {', '.join(parts)}")


def _conversion_lines(conversions: Sequence[Conversion], *, refused: bool) -> Iterator[str]:
    """What became of each definition."""
    from retinue.cli.output import path_text, plural, safe

    for each in conversions:
        has_file = each.target is not None and not refused
        if has_file:
            yield f"{path_text(each.source)} {click.style('→', dim=True)} {path_text(each.target)}"
        by_reason: dict[str, list[str]] = {}
        for loss in each.output.losses:
            by_reason.setdefault(loss.why, []).append(safe(loss.field))
        for why, fields in by_reason.items():
            yield f"  {_head('lost')} {safe(each.name)}: {_first_few(fields)} ({safe(why)})"
        if has_file and each.sibling_files:
            yield (
                f"  {_head('left')} {safe(each.name)}: {plural(len(each.sibling_files), 'file')} beside it, not copied"
            )


def _summary_lines(conversions: Sequence[Conversion]) -> Iterator[str]:
    """What many definitions lose, and what stays behind, a line each reason."""
    from retinue.cli.output import plural, safe

    by_reason: dict[str, Counter[str]] = {}
    for each in conversions:
        for loss in each.output.losses:
            by_reason.setdefault(loss.why, Counter())[loss.field] += 1
    for why, fields in by_reason.items():
        counts = [f"{safe(field)} in {count:,}" for field, count in fields.most_common()]
        yield f"{_head('lost')} {_first_few(counts)} ({safe(why)})"
    skills = [len(each.sibling_files) for each in conversions if each.sibling_files]
    if skills:
        yield f"{_head('left')} {plural(sum(skills), 'file')} beside {plural(len(skills), 'skill')}, not copied"


def _head(word: str) -> str:
    return click.style(word, fg="yellow", bold=True)


def _first_few(words: Sequence[str]) -> str:
    more = f" and {len(words) - _MAX_FIELDS:,} more" if len(words) > _MAX_FIELDS else ""
    return f"{', '.join(words[:_MAX_FIELDS])}{more}"
