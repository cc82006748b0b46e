"""The answer as text, for an agent that gave only data (C8). Short on purpose: `data` holds the whole.

Pure, and cheap enough to run at every call. The words are an agent's, so they are escaped for Markdown.
"""

import re
from typing import Final, cast

_LINES: Final = 12
_ITEMS: Final = 8
_WIDTH: Final = 200
_LONG: Final = 1_000
_LINE: Final = r"[A-Za-z0-9,;:?'\"%][A-Za-z0-9,;:?'\"% ]*"
_PLAIN: Final = re.compile(rf"{_LINE}(?:\n{_LINE})*")


def render_content(data: object) -> str:
    """A few lines of Markdown that say what `data` (JSON) holds.

    Scalars stand as they are, and so do a few of them one level deeper; of what is more, or lies deeper, the size.
    """
    if isinstance(data, dict):
        members = cast("dict[str, object]", data)
        lines = [f"{_format_line(name)}: {_format_value(members[name])}" for name in _first_names(members)]
        size = len(members)
    elif isinstance(data, list):
        items = cast("list[object]", data)
        lines = [_format_value(item) for item in items[:_LINES]]
        size = len(items)
    else:
        return _escape(_format_value(data))
    if size > _LINES:
        lines.append(f"and {size - _LINES} more")
    return "- " + _escape("\n".join(lines)).replace("\n", "\n- ") if lines else "Nothing."


def _escape(text: str) -> str:
    """`text` safe to stand in Markdown. Words and numbers are, and most answers are nothing else."""
    if _PLAIN.fullmatch(text):
        return text
    from retinue.contract.sanitize import escape_inline  # noqa: PLC0415 - see above: not on the way to a first answer

    return "\n".join(map(escape_inline, text.split("\n")))


def _first_names(members: dict[str, object]) -> list[str]:
    return list(members) if len(members) <= _LINES else [name for name, _ in zip(members, range(_LINES), strict=False)]


def _format_value(value: object) -> str:
    """One value on one line."""
    if isinstance(value, str):
        return _format_line(value)
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return _format_members(members) or _format_count(len(members), "member")
    if isinstance(value, list):
        # A few scalars, or a few objects of scalars, as they are; of anything else how many there are.
        items = cast("list[object]", value)
        if not items:
            return "none"
        if len(items) <= _ITEMS:
            if not any(isinstance(item, (dict, list)) for item in items):
                return ", ".join(map(_format_value, items))
            flat = [_format_members(cast("dict[str, object]", item)) for item in items if isinstance(item, dict)]
            if len(flat) == len(items) and all(flat) and len(text := "; ".join(flat)) <= _LONG:
                return text
        return _format_count(len(items), "item")
    if value is None:
        return "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _format_members(members: dict[str, object]) -> str:
    """A few scalars by name; empty when it holds more, or something deeper."""
    if len(members) > _ITEMS or any(isinstance(each, (dict, list)) for each in members.values()):
        return ""
    text = ", ".join(f"{_format_line(name)}: {_format_value(each)}" for name, each in members.items())
    return text if len(text) <= _LONG else ""


def _format_line(text: str) -> str:
    line = text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
    return line if line.isprintable() else " ".join(line.split())


def _format_count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
