"""A command line as somebody types it, taken apart into words. No shell reads it.

What only a shell can do is refused: to hand `|` to a program as a word is what nobody means.
"""

import os
import re
import shlex
from typing import Final

from retinue.errors import InvalidInput

_QUOTED: Final = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_SHELL_WORD: Final = re.compile(r"(?<!\S)(\|\|?|&&?|;|\d?>>?\S*|<<?\S*)(?!\S)")
"""What parts and joins commands in a shell, where it stands as a word of its own."""
_WORDS: Final = 10
"""Words that may be one path with spaces in it."""


def split_command(command: str) -> tuple[str, ...]:
    """The words of a command line as a shell would split them; nothing is expanded, no variable and no pattern.

    Raises:
        InvalidInput: It is empty, a quotation does not end, or it needs a shell.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise InvalidInput(f"{command[:200]!r} is not a command: {error}.", hint="End every quotation.") from None
    if not words:
        raise InvalidInput("The command is empty.", hint="Name a program and its arguments.")
    operator = _SHELL_WORD.search(_QUOTED.sub("_", command))
    if operator is not None:
        raise InvalidInput(
            f"The command has `{operator[1]}` in it, and no shell reads it.",
            hint=f"Write a script, name the shell (`sh -c '…'`), or quote it: `'{operator[1]}'`.",
        )
    path = _path_with_spaces(words)
    if path:
        raise InvalidInput(
            f"{path[:200]!r} has spaces in it, and was read as several words.", hint=f"Quote it: {shlex.quote(path)}"
        )
    return words


def _path_with_spaces(words: tuple[str, ...]) -> str:
    """The words at the beginning that are one file together, when the first alone is none; else nothing."""
    if os.path.exists(words[0]):  # noqa: PTH110 - it takes any text, and raises nothing
        return ""
    beginnings = (" ".join(words[:count]) for count in range(2, min(len(words), _WORDS) + 1))
    return next((each for each in beginnings if os.path.isfile(each)), "")  # noqa: PTH113 - as above
