"""The one narrow repair of an answer: take the single JSON object out of its code fence or the prose around it.

Not a lenient parser. The object itself must be strict JSON; when in doubt the text is refused.
"""

import re
from typing import Final, cast

from ._read import decode_text, loads
from ._value import MAX_BYTES, MAX_DEPTH, JsonObject, Reason, parse_error

_START: Final = re.compile(r'\{[ \t\n\r]*+["}]')
_OPENING: Final = re.compile(r"(?<![^\n])[ \t]{0,3}(`{3,}+|~{3,}+)[^\n`]*\n\s*+\Z")


def repair(text: str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> tuple[JsonObject, str]:
    """Take the one JSON object out of an answer that wraps it in a code fence or in prose.

    Returns:
        The object, and one sentence that says what was stripped: the warning the caller must record.

    Raises:
        ParseError: There is no object, more than one, one that is not whole or not strict JSON, or one that is part
            of something larger. `detail` as for `loads`, places counted in the whole text.
    """
    from ._scan import Scanner  # noqa: PLC0415 - as in `_read`: rarely needed, slow to import

    text = decode_text(text, max_bytes=max_bytes)
    start = next_object(text, 0)
    if start is None:
        raise parse_error(text, 0, "no_object", "the text holds no JSON object")
    end = Scanner(text, start=start, max_depth=max_depth).value()
    second = next_object(text, end)
    if second is not None:
        raise parse_error(text, second, "two_objects", "a second JSON object starts")
    before, after = text[:start], text[end:]
    # Refuse an object inside an array or a dictionary of another language: its surroundings carry meaning.
    for opening, closing in ("[]", "{}"):
        if before.count(opening) > before.count(closing) or after.count(closing) > after.count(opening):
            reason: Reason = "not_alone"
            raise parse_error(
                text, len(before), reason, f"the JSON object is part of something in `{opening}{closing}`"
            )
    value = loads(text[start:end], max_bytes=max_bytes, max_depth=max_depth)
    return cast("JsonObject", value), _describe_wrapping(before, after)


def next_object(text: str, offset: int) -> int | None:
    """Where the next thing that looks like a JSON object starts, from `offset` on."""
    match = _START.search(text, offset)
    return match.start() if match else None


def _describe_wrapping(before: str, after: str) -> str:
    """Describe what stood around the object."""
    opening = _OPENING.search(before)
    fence = opening[1] if opening else ""
    closed = bool(fence) and after.lstrip().startswith(fence)
    before = before[: opening.start()] if opening else before
    prose = len(before.strip()) + len(after.lstrip().removeprefix(fence).strip() if closed else after.strip())
    parts: list[str] = []
    if fence:
        parts.append("a code fence" if closed else "the start of a code fence that does not end")
    if prose:
        parts.append(f"{prose} characters of prose")
    return f"Stripped {' and '.join(parts) or 'nothing but white space'} around the JSON object."
