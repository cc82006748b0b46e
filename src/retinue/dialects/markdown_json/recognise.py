"""Whether a text looks like a message of this dialect. Judges marks only; reading it may still refuse it."""

import re
from typing import Final

from retinue.contract.formatting import ensure_text
from retinue.dialects.decoding import find_json
from retinue.dialects.port import Detection

from .block import find_blocks

_BOLD_KEY: Final = re.compile(r"\*\*\s*agent\s*(?::\*\*|\*\*\s*:)", re.IGNORECASE)


def recognise(text: str) -> tuple[Detection, ...]:
    """Say as what `text` could be read: an input block, an envelope, or nothing."""
    ensure_text(text, "message")
    return (*_answer(text), *_request(text))


def _request(text: str) -> tuple[Detection, ...]:
    if _BOLD_KEY.search(text) is None:
        return ()
    blocks = find_blocks(text)
    if len(blocks) != 1:
        return ()
    whole = blocks[0].get("Operation") is not None
    why = "it has the bold keys Agent and Operation" if whole else "it has the bold key Agent"
    form = "invocation" if blocks[0].after.startswith("Execute ") else "block"
    suffix = ", and a correction" if blocks[0].correction else ""
    return (Detection("markdown_json", "task", form, "certain" if whole else "likely", why + suffix),)


def _answer(text: str) -> tuple[Detection, ...]:
    value = find_json(text) if '"status"' in text else None
    if not isinstance(value, dict) or value.get("status") not in ("success", "partial", "error"):
        return ()
    head = "agent" in value and "version" in value
    if value["status"] == "error" and "error_type" in value and ("context" in value or "recovery_suggestions" in value):
        body, marks = True, '"error_type" and "recovery_suggestions"'
    else:
        body, marks = "result" in value, '"result"'
    if head and body:
        why = f'it has "status", "agent", "version" and {marks}'
        return (Detection("markdown_json", "result", "envelope", "certain", why),)
    if head or (body and ("warnings" in value or value["status"] == "error")):
        why = 'it has "status" and parts of the envelope'
        return (Detection("markdown_json", "result", "envelope", "likely", why),)
    return (Detection("markdown_json", "result", "envelope", "possible", 'it has "status"'),) if body else ()
