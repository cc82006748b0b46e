"""As what a text could be read: marks only, nothing is judged."""

from typing import Final, cast

from retinue.contract import json
from retinue.contract.formatting import ensure_text
from retinue.contract.model import JsonMapping
from retinue.dialects.port import Certainty, Detection, Kind
from retinue.errors import ParseError

from .answer_text import is_table, read_answer
from .block import find_blocks, is_block
from .events import read_events
from .parse_result import find_near_misses
from .prompt import is_prompt
from .wire import SIGNALS, Status, status_of

_UNMISTAKABLE: Final = frozenset({"CREATED", "STATUS", "ERROR"})
_STATUSES: Final[tuple[Status, ...]] = ("complete", "partial", "failed")


def recognise(text: str) -> tuple[Detection, ...]:
    """Say as what `text` could be read, the likeliest first; nothing when as nothing. Never raises."""
    ensure_text(text, "message")
    start = text.lstrip()
    if start.startswith("{"):
        try:
            value = json.loads(start)
        except ParseError:
            return ()
        mapping = cast("JsonMapping", value)
        if isinstance(mapping.get("prompt"), str):
            if "subagent_type" in mapping:
                return (_detection("task", "json", "certain", 'it has "subagent_type" and "prompt"'),)
            if is_prompt(mapping["prompt"]):
                return (_detection("task", "json", "likely", 'its "prompt" refers to a behaviour file'),)
        status: object = mapping.get("status")
        if isinstance(status, str) and status_of(status) is not None:
            lists = isinstance(mapping.get("artifacts"), list)
            if status in _STATUSES:
                certainty: Certainty = "certain" if lists else "likely" if "metrics" in mapping else "possible"
                return (_detection("result", "json", certainty, f'its "status" is {status!r}'),)
            if lists:
                return (_detection("result", "json", "possible", 'it has "status" and "artifacts"'),)
        return ()
    if is_block(start):
        return (_detection("task", "block", "certain", "it begins with `Task {`"),)
    if is_prompt(start):
        return (_detection("task", "prompt", "certain", "it begins with a reference to a behaviour file or a section"),)
    if is_table(start):
        return (_detection("result", "table", "certain", "it is a table with the columns Status and Path"),)
    return _detect_lines(text)


def _detect_lines(text: str) -> tuple[Detection, ...]:
    detections: list[Detection] = []
    head = read_answer(text)
    signals = [signal.name for signal in head.answer.signals if signal.name in SIGNALS]
    if signals:
        # `STATUS:` alone may be a heading of prose; `ERROR:` is a failure, with or without a reason.
        names_with_value = {signal.name for signal in head.answer.signals if signal.value or signal.name == "ERROR"}
        certainty: Certainty = "certain" if _UNMISTAKABLE & names_with_value else "likely"
        names = ", ".join(f"`{name}:`" for name in dict.fromkeys(signals))
        detections.append(_detection("result", "signals", certainty, f"it begins with {names}"))
    if head.has_events or "PROGRESS:" in text or "CHECKPOINT:" in text:
        count = len(read_events(text))
        if count:
            certainty = "likely" if signals else "certain"
            detections.append(_detection("event", "events", certainty, f"{count} of its lines report progress"))
    if not signals and find_blocks(text.split("\n")):
        detections.append(_detection("task", "block", "likely", "a line of it is `Task {`"))
    if not detections:  # whoever reads it then says what keeps the line from being a signal
        near_miss = next(
            (each for each in find_near_misses(text) if each.is_upper and each.name in _UNMISTAKABLE), None
        )
        if near_miss is not None:
            why = f"line {near_miss.line} may have been meant as `{near_miss.name}:`"
            detections.append(_detection("result", "signals", "possible", why))
    return tuple(detections)


def _detection(kind: Kind, form: str, certainty: Certainty, why: str) -> Detection:
    return Detection("task_signal", kind, form, certainty, why)
