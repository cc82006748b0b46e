"""How a foreign value is quoted in one of our own sentences: its `repr`, cut to a readable length.

Not for showing text to people as text: `sanitize.printable` does that.
"""

__all__ = ["shown"]

_LONGEST = 80


def shown(value: object) -> str:
    """Quote `value` for a message: control and invisible characters escaped, at most about 80 characters."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]!r}… ({len(value)} characters)"
    text = repr(value)
    return text if len(text) <= 2 * _LONGEST else f"{text[:_LONGEST]}…"
