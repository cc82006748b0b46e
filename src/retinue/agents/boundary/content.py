"""The answer as text, for an agent that gave only data (C8). Short on purpose: `data` holds the whole.

Pure, and cheap enough to run at every call. The words are an agent's, so they are escaped for Markdown.
"""

import re
from typing import Final, cast

__all__ = ["render_content"]

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
    return "- " + _escaped("\n".join(lines)).replace("\n", "\n- ") if lines else "Nothing."


def _escaped(text: str) -> str:
    """`text` safe to stand in Markdown. Words and numbers are, and most answers are nothing else."""
    if _PLAIN.fullmatch(text):
        return text
    from retinue.contract.sanitize import escape_inline  # noqa: PLC0415 - see above: not on the way to a first answer

    return "\n".join(map(escape_inline, text.split("\n")))


def _first(members: dict[str, object]) -> list[str]:
    return list(members) if len(members) <= _LINES else [name for name, _ in zip(members, range(_LINES), strict=False)]


def _brief(value: object) -> str:
    """One value on one line."""
    if isinstance(value, str):
        return _line(value)
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return _flat(members) or _counted(len(members), "member")
    if isinstance(value, list):
        return _listed(cast("list[object]", value))
    if value is None:
        return "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _listed(items: list[object]) -> str:
    """A few scalars, or a few objects of scalars, as they are; of anything else how many there are."""
    if not items:
        return "none"
    if len(items) <= _ITEMS:
        if not any(isinstance(item, (dict, list)) for item in items):
            return ", ".join(map(_brief, items))
        flat = [_flat(cast("dict[str, object]", item)) for item in items if isinstance(item, dict)]
        if len(flat) == len(items) and all(flat) and len(told := "; ".join(flat)) <= _LONG:
            return told
    return _counted(len(items), "item")


def _flat(members: dict[str, object]) -> str:
    """A few scalars by name; empty when it holds more, or something deeper."""
    if len(members) > _ITEMS or any(isinstance(each, (dict, list)) for each in members.values()):
        return ""
    told = ", ".join(f"{_line(name)}: {_brief(each)}" for name, each in members.items())
    return told if len(told) <= _LONG else ""


def _line(text: str) -> str:
    cut = text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
    return cut if cut.isprintable() else " ".join(cut.split())


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
