"""As what a text could be read: marks only, nothing is judged."""

from typing import TYPE_CHECKING, Final, cast

from retinue.contract import json
from retinue.contract.text import see_text
from retinue.dialects.port import Certainty, Kind, Sign
from retinue.errors import ParseError

from .answer import is_table, read_answer
from .block import find_blocks, is_block
from .events import read_events
from .prompt import is_prompt
from .status import status_of
from .stray import strays_in
from .wire import SIGNALS, Status

if TYPE_CHECKING:
    from retinue.contract.model import JsonMapping

__all__ = ["recognise"]

_UNMISTAKABLE: Final = frozenset({"CREATED", "STATUS", "ERROR"})
_STATUSES: Final[tuple[Status, ...]] = ("complete", "partial", "failed")


def recognise(text: str) -> tuple[Sign, ...]:
    """Say as what `text` could be read, the likeliest first; nothing when as nothing. Never raises."""
    see_text(text, "message")
    start = text.lstrip()
    if start.startswith("{"):
        return _of_object(start)
    if is_block(start):
        return (_sign("task", "block", "certain", "it begins with `Task {`"),)
    if is_prompt(start):
        return (_sign("task", "prompt", "certain", "it begins with a reference to a behaviour file or a section"),)
    if is_table(start):
        return (_sign("result", "table", "certain", "it is a table with the columns Status and Path"),)
    return _of_lines(text)


def _of_lines(text: str) -> tuple[Sign, ...]:
    found: list[Sign] = []
    head = read_answer(text)
    said = [signal.name for signal in head.answer.signals if signal.name in SIGNALS]
    if said:
        # `STATUS:` alone may be a heading of prose; `ERROR:` is a failure, with or without a reason.
        valued = {signal.name for signal in head.answer.signals if signal.value or signal.name == "ERROR"}
        sure: Certainty = "certain" if _UNMISTAKABLE & valued else "likely"
        names = ", ".join(f"`{name}:`" for name in dict.fromkeys(said))
        found.append(_sign("result", "signals", sure, f"it begins with {names}"))
    if head.reports or "PROGRESS:" in text or "CHECKPOINT:" in text:
        count = len(read_events(text))
        if count:
            sure = "likely" if said else "certain"
            found.append(_sign("event", "events", sure, f"{count} of its lines report progress"))
    if not said and find_blocks(text.split("\n")):
        found.append(_sign("task", "block", "likely", "a line of it is `Task {`"))
    if not found:  # whoever reads it then says what keeps the line from being a signal
        meant = next((each for each in strays_in(text) if each.shouted and each.name in _UNMISTAKABLE), None)
        if meant is not None:
            why = f"line {meant.line} may have been meant as `{meant.name}:`"
            found.append(_sign("result", "signals", "possible", why))
    return tuple(found)


def _of_object(text: str) -> tuple[Sign, ...]:
    try:
        value = json.loads(text)
    except ParseError:
        return ()
    said = cast("JsonMapping", value)
    if isinstance(said.get("prompt"), str):
        if "subagent_type" in said:
            return (_sign("task", "json", "certain", 'it has "subagent_type" and "prompt"'),)
        if is_prompt(said["prompt"]):
            return (_sign("task", "json", "likely", 'its "prompt" refers to a behaviour file'),)
    status: object = said.get("status")
    if isinstance(status, str) and status_of(status) is not None:
        lists = isinstance(said.get("artifacts"), list)
        if status in _STATUSES:
            sure: Certainty = "certain" if lists else "likely" if "metrics" in said else "possible"
            return (_sign("result", "json", sure, f'its "status" is {status!r}'),)
        if lists:
            return (_sign("result", "json", "possible", 'it has "status" and "artifacts"'),)
    return ()


def _sign(kind: Kind, form: str, certainty: Certainty, why: str) -> Sign:
    return Sign("task_signal", kind, form, certainty, why)
