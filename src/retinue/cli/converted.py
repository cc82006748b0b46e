"""What became of definitions on their way into another format, and how that is told: to a program, to a person."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from retinue.agents.write import Written
    from retinue.contract.finding import Finding

__all__ = ["NONE", "Converted", "tell_person", "tell_program"]

NONE: Final = "load/none"
"""The rule that is broken where there is no file at all."""
_MOST_SAID: Final = 8
"""Losses of one definition that a person is told."""
_MOST_TOLD: Final = 12
"""Definitions that a person is told of one by one."""


@dataclass(frozen=True)
class Converted:
    """One definition on its way.

    Attributes:
        source: The file it was read from.
        name: What the agent is called.
        folder: Where that lies below the folder that was named.
        target: The file it goes into; None for stdout.
        beside: The files beside a skill, which stay where they are.
    """

    source: str
    folder: Path
    name: str
    written: "Written"
    target: Path | None = None
    beside: tuple[str, ...] = ()


def tell_program(converted: Sequence[Converted], findings: Sequence["Finding"], *, form: str, refused: bool) -> None:
    """Everything as one document on stdout."""
    from retinue.cli.output import echo_json

    echo_json(
        {
            "format": form,
            "definitions": [
                {
                    "name": each.name,
                    "source": each.source,
                    **({"file": str(each.target)} if each.target and not refused else {"text": each.written.text}),
                    "losses": [loss.to_json() for loss in each.written.losses],
                    **({"not_copied": list(each.beside)} if each.beside else {}),
                }
                for each in converted
            ],
            "findings": [finding.to_json() for finding in findings],
        }
    )


def tell_person(converted: Sequence[Converted], findings: Sequence["Finding"], *, refused: bool) -> None:
    """A single text on stdout; on stderr what was wrong, what is lost, and what it came to."""
    from retinue.cli.delivery import deliver
    from retinue.cli.output import counted, findings_text, tell

    worth = [finding for finding in findings if finding.severity != "info"]
    if worth:
        tell(findings_text(worth))
    if len(converted) == 1 and converted[0].target is None and not refused:
        deliver(converted[0].written.text, None)
    for line in _each(converted, refused=refused) if len(converted) <= _MOST_TOLD else _together(converted):
        tell(line)
    lost = [each for each in converted if each.written.losses]
    errors = [finding for finding in findings if finding.severity == "error"]
    failed = len({finding.file for finding in errors if finding.rule != NONE})
    head = "refused" if refused else "failed" if errors or not converted else "done"
    said = [f"{counted(len(converted), 'definition')}{' not' if refused else ''} converted"]
    said += [f"{len(lost):,} with losses"] if lost else []
    said += [f"{counted(failed, 'file')} could not be"] if failed else []
    tell(f"{click.style(head, fg='green' if head == 'done' else 'red', bold=True)}: {', '.join(said)}")


def _each(converted: Sequence[Converted], *, refused: bool) -> Iterator[str]:
    """What became of each definition."""
    from retinue.cli.output import counted, path_text, safe

    for each in converted:
        written = each.target is not None and not refused
        if written:
            yield f"{path_text(each.source)} {click.style('→', dim=True)} {path_text(each.target)}"
        by_reason: dict[str, list[str]] = {}
        for loss in each.written.losses:
            by_reason.setdefault(loss.why, []).append(safe(loss.field))
        for why, fields in by_reason.items():
            yield f"  {_head('lost')} {safe(each.name)}: {_some(fields)} ({safe(why)})"
        if written and each.beside:
            yield f"  {_head('left')} {safe(each.name)}: {counted(len(each.beside), 'file')} beside it, not copied"


def _together(converted: Sequence[Converted]) -> Iterator[str]:
    """What many definitions lose, and what stays behind, a line each reason."""
    from retinue.cli.output import counted, safe

    by_reason: dict[str, Counter[str]] = {}
    for each in converted:
        for loss in each.written.losses:
            by_reason.setdefault(loss.why, Counter())[loss.field] += 1
    for why, fields in by_reason.items():
        told = [f"{safe(field)} in {count:,}" for field, count in fields.most_common()]
        yield f"{_head('lost')} {_some(told)} ({safe(why)})"
    skills = [len(each.beside) for each in converted if each.beside]
    if skills:
        yield f"{_head('left')} {counted(sum(skills), 'file')} beside {counted(len(skills), 'skill')}, not copied"


def _head(word: str) -> str:
    return click.style(word, fg="yellow", bold=True)


def _some(words: Sequence[str]) -> str:
    more = f" and {len(words) - _MOST_SAID:,} more" if len(words) > _MOST_SAID else ""
    return f"{', '.join(words[:_MOST_SAID])}{more}"
