"""What there is beside the error of an agent that was asked: ways out, and what it had done by then (K26)."""

from typing import TYPE_CHECKING, Final

import click

from retinue.cli.exits import Exit
from retinue.cli.output import counted, json_text, plain, safe, tell

if TYPE_CHECKING:
    from retinue.cli.session import Ended

__all__ = ["tell_failed"]

_LINES: Final = 30
_SHOWN: Final = 5
_NOT_ITS_FAULT: Final = frozenset({"invalid_input", "missing_file", "access_denied"})
"""Asked again, it would come to the same; the hint says what to change."""
_ON_THE_WAY: Final = ("PROGRESS:", "CHECKPOINT:")
"""What was told while it worked is no answer (H18, H19)."""


def tell_failed(ended: "Ended", code: Exit) -> None:
    """Say on stderr what a failed agent leaves: the ways to recover, and its partial results as JSON."""
    result = ended.asked
    if code != Exit.AGENT_ERROR or result is None or result.fault is None:
        return
    ways = [way for way in dict.fromkeys(result.fault.suggestions) if way not in result.fault.hint]
    for way in ways[:_SHOWN]:
        tell(f"   {click.style('or', bold=True)}: {safe(way)}")
    if len(result.attempts) > 1 and result.fault.code == "output_invalid":
        tell(f"It was asked {len(result.attempts)} times, each time with the error.")
    if result.artifacts:
        files = [safe(each.path) for each in result.artifacts]
        more = f" and {len(files) - _SHOWN} more: see them with `--json`" if len(files) > _SHOWN else ""
        tell(f"files it wrote: {', '.join(files[:_SHOWN])}{more}")
    data = json_text(result.data) if result.data not in (None, {}, []) else ""
    # What was not understood is shown as it came.
    said = result.content or (result.native or "" if result.fault.code == "output_invalid" else "")
    if data or said.strip():
        _tell_partial(data or plain(said), "partial results, not a complete answer:" if data else "it said:")
    elif not result.native and result.fault.code not in _NOT_ITS_FAULT:
        tell(f"`{safe(result.agent)}` failed to respond. Try again, or do it manually.")


def _tell_partial(whole: str, head: str) -> None:
    """What it had done by then."""
    lines = whole.strip().split("\n")
    lines = [line for line in lines if not line.startswith(_ON_THE_WAY)] or lines
    tell(click.style(head, bold=True))
    tell("\n".join(f"  {line[:200]}" for line in lines[:_LINES]))
    if len(lines) > _LINES:
        tell(f"  and {counted(len(lines) - _LINES, 'more line')}: see them with `--json`")
