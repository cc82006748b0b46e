"""The answer as text, for an agent that gave only data (C8). Short on purpose: `data` holds the whole.

Pure, and cheap enough to run at every call. The words are an agent's, so they are escaped for Markdown.
"""

import re
from typing import Final, cast

__all__ = ["render_content"]

_LINES: Final = 12
_ITEMS: Final = 8
_WIDTH: Final = 200
_LINE: Final = r"[A-Za-z0-9,;:?'\"%][A-Za-z0-9,;:?'\"% ]*"
_PLAIN: Final = re.compile(rf"{_LINE}(?:\n{_LINE})*")


def render_content(data: object) -> str:
    """A few lines of Markdown that say what `data` (JSON) holds: scalars as they are, what lies deeper by its size."""
    if isinstance(data, dict):
        members = cast("dict[str, object]", data)
        lines = [f"{_line(name)}: {_brief(members[name])}" for name in _first(members)]
        size = len(members)
    elif isinstance(data, list):
        items = cast("list[object]", data)
        lines = [_brief(item) for item in items[:_LINES]]
        size = len(items)
    else:
        return _escaped(_brief(data))
    if size > _LINES:
        lines.append(f"and {size - _LINES} more")
    # Escaped in one pass over all lines: none of them holds a line break.
    return "- " + _escaped("\n".join(lines)).replace("\n", "\n- ") if lines else "Nothing."


def _escaped(text: str) -> str:
    """`text` safe to stand in Markdown. Words and numbers are, and most answers are nothing else."""
    if _PLAIN.fullmatch(text):
        return text
    from retinue.contract.sanitize import escape_markdown  # noqa: PLC0415 - see above: not on the way to a first answer

    return escape_markdown(text)


def _first(members: dict[str, object]) -> list[str]:
    return list(members) if len(members) <= _LINES else [name for name, _ in zip(members, range(_LINES), strict=False)]


def _brief(value: object) -> str:
    """One value on one line."""
    if isinstance(value, str):
        return _line(value)
    if isinstance(value, dict):
        return _counted(len(cast("dict[str, object]", value)), "member")
    if isinstance(value, list):
        items = cast("list[object]", value)
        if len(items) > _ITEMS or any(isinstance(item, (dict, list)) for item in items):
            return _counted(len(items), "item")
        return ", ".join(map(_brief, items)) or "none"
    if value is None:
        return "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _line(text: str) -> str:
    cut = text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
    return cut if cut.isprintable() else " ".join(cut.split())


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
