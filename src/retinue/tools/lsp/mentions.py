"""Where a Python file holds a name: as code and in texts. What the name means is not known here."""

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_STRING: Final = re.compile(r"[A-Za-z]{0,3}(['\"]{1,3})(.*)\1", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mention:
    """One place that holds a name, its line and column from 1.

    Attributes:
        is_code: It is a name of the code. Else it stands in a comment or a text.
        is_path: It is the last part of a text that is a name or a dotted path, as in `getattr(it, "name")`.
    """

    line: int
    column: int
    is_code: bool
    is_path: bool = False


def find_mentions(text: str, name: str) -> Iterator[Mention]:
    """Every place of a Python file that holds `name` as a whole word; none when it has no tokens."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    dotted = re.compile(rf"(?:[\w.:]*[.:])?{re.escape(name)}")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                if token.string == name:
                    yield Mention(token.start[0], token.start[1] + 1, is_code=True)
            elif token.type in (tokenize.STRING, tokenize.COMMENT):
                inside = _STRING.fullmatch(token.string)
                is_path = inside is not None and dotted.fullmatch(inside[2]) is not None
                for match in word.finditer(token.string):
                    before, newline, same = token.string[: match.start()].rpartition("\n")
                    line = token.start[0] + before.count("\n") + len(newline)
                    column = len(same) + 1 + (0 if newline else token.start[1])
                    yield Mention(line, column, is_code=False, is_path=is_path)
    except (tokenize.TokenError, SyntaxError):
        return
