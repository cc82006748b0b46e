"""What there is beside the error of an agent that was asked: ways out, and what it had done by then (K26)."""

from typing import Final

import click

from retinue.cli.exits import Exit
from retinue.cli.output import echo_err, json_text, plural, safe, safe_lines
from retinue.cli.session import FinishedSession

_LINES: Final = 30
_MAX_SHOWN: Final = 5
_NOT_ITS_FAULT: Final = frozenset({"invalid_input", "missing_file", "access_denied"})
"""Asked again, it would come to the same; the hint says what to change."""
_PROGRESS_SIGNALS: Final = ("PROGRESS:", "CHECKPOINT:")
"""What was told while it worked is no answer (H18, H19)."""


def report_failure(session: FinishedSession, code: Exit) -> None:
    """Say on stderr what a failed agent leaves: the ways to recover, and its partial results as JSON."""
    result = session.agent_result
    if code != Exit.AGENT_ERROR or result is None or result.fault is None:
        return
    ways = [way for way in dict.fromkeys(result.fault.suggestions) if way not in result.fault.hint]
    for way in ways[:_MAX_SHOWN]:
        echo_err(f"   {click.style('or', bold=True)}: {safe(way)}")
    if len(result.attempts) > 1 and result.fault.code == "output_invalid":
        echo_err(f"It was asked {len(result.attempts)} times, each time with the error.")
    if result.artifacts:
        files = [safe(each.path) for each in result.artifacts]
        more = f" and {len(files) - _MAX_SHOWN} more: see them with `--json`" if len(files) > _MAX_SHOWN else ""
        echo_err(f"files it wrote: {', '.join(files[:_MAX_SHOWN])}{more}")
    data = json_text(result.data) if result.data not in (None, {}, []) else ""
    # What was not understood is shown as it came.
    text = result.content or (result.native or "" if result.fault.code == "output_invalid" else "")
    if data or text.strip():
        _report_partial(data or safe_lines(text), "partial results, not a complete answer:" if data else "it said:")
    elif not result.native and result.fault.code not in _NOT_ITS_FAULT:
        echo_err(f"`{safe(result.agent)}` failed to respond. Try again, or do it manually.")


def _report_partial(whole: str, head: str) -> None:
    """What it had done by then."""
    lines = whole.strip().split("\n")
    lines = [line for line in lines if not line.startswith(_PROGRESS_SIGNALS)] or lines
    echo_err(click.style(head, bold=True))
    echo_err("\n".join(f"  {line[:200]}" for line in lines[:_LINES]))
    if len(lines) > _LINES:
        echo_err(f"  and {plural(len(lines) - _LINES, 'more line')}: see them with `--json`")
