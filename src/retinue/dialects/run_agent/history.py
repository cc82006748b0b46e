"""`chat_history`, one string, and the turns in it (B2).

The form is suggested, not enforced: any text is read. A line that begins with a role begins a turn; what follows
belongs to it. A later line of a turn that looks like the beginning of another gets one more space in front, and loses
it when it is read, so nobody's words become somebody else's turn.
"""

import re
from typing import Final

_ROLE: Final = r"(?:user|assistant):"
_BREAK: Final = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_TURN: Final = re.compile(rf"(?:\r\n|[{_BREAK}])(?={_ROLE})", re.IGNORECASE)
_LOOKALIKE: Final = re.compile(rf"(?<=[{_BREAK}])(?= *{_ROLE})", re.IGNORECASE)
_ESCAPED: Final = re.compile(rf"(?<=[{_BREAK}]) (?= *{_ROLE})", re.IGNORECASE)


def read_history(text: str) -> tuple[str, ...]:
    """The turns of `text`, oldest first, each as `role: text`; what stands before the first role is a turn too."""
    return tuple(_ESCAPED.sub("", turn) for turn in _TURN.split(text)) if text else ()


def write_history(turns: tuple[str, ...]) -> str:
    """One string that `read_history` reads as `turns`, as long as each but the first begins with a role."""
    texts = [_LOOKALIKE.sub(" ", turn) for turn in turns]
    # A line feed behind a carriage return would be one line break with it, and the turn be read without its end.
    lines = [turn + ("\r" if turn.endswith("\r") else "\n") for turn in texts[:-1]]
    return "".join([*lines, *texts[-1:]])
