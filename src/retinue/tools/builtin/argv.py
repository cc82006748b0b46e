"""A command line as an argument vector, without a shell. Pure.

Words and quotes are read as a shell reads them; everything else that only a shell understands (pipes, redirections,
variables, patterns) is refused with words that say what to do instead, because without a shell it would silently mean
something else.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from retinue.errors import InvalidInput

_MOST_WORDS: Final = 1000
_LONGEST: Final = 100_000

_OPERATORS: Final = {
    "|": "pipes, and gives it to nobody here: run one program, and use `grep` or `read` on what it wrote",
    "&": "joins commands or puts them in the background: make one call for each",
    ";": "joins commands: make one call for each",
    "<": "redirects: name the file as an argument",
    ">": "redirects: the output is given back anyway; to keep it, use `write`",
    "(": "starts a subshell: run the program itself",
    ")": "ends a subshell: run the program itself",
    "\n": "ends a command: make one call for each",
    "*": "stands for file names: find them with `glob` and name them, or quote it",
    "?": "stands for file names: find them with `glob` and name them, or quote it",
    "[": "stands for file names: find them with `glob` and name them, or quote it",
    "$": "is a variable or a command: write its value, or quote it with single quotes",
    "`": "is a command: run that first, or quote it with single quotes",
}
"""What a shell does with a character that is not quoted, and what to do instead."""

_AT_START: Final = (
    (re.compile(r"\A[A-Za-z_]\w*\+?="), "=", "sets a variable, which cannot be done here: give the program an option"),
    (re.compile(r"(?:\A|[ \t])~"), "~", "stands for a home folder: name a path in the workspace, or quote it"),
    (re.compile(r"(?:\A|[ \t])#"), "#", "begins a comment: leave it out, or quote it"),
    (re.compile(r"(?:\A|[ \t])!(?=[ \t]|\Z)"), "!", "turns the exit code round: read it in the answer"),
    (re.compile(r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}"), "{", "stands for several words: write each of them, or quote it"),
)
"""What means something in certain places only."""

_QUOTED: Final = re.compile(r"""'[^']*'?|"(?:\\.|[^"\\])*"?|\\.""", re.DOTALL)


def argument_vector(command: str | Sequence[str]) -> list[str]:
    """The words of a command: a list as it stands; a line by its quotes.

    Raises:
        InvalidInput: It is empty, too long, holds NUL, ends in a quote, or has what only a shell understands;
            `detail["syntax"]` lists all of that.
    """
    words = _split(command) if isinstance(command, str) else [str(word) for word in command]
    if not words or not words[0].strip():
        raise InvalidInput("the command is empty", hint="give the program and its arguments", path="/command")
    if any("\0" in word for word in words):
        raise InvalidInput("the command holds a NUL character", hint="leave it out", path="/command")
    if len(words) > _MOST_WORDS or sum(map(len, words)) > _LONGEST:
        raise InvalidInput("the command is too long", hint="name fewer files, or a folder", path="/command")
    try:
        "".join(words).encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(
            "the command is not Unicode", hint="write it with whole characters", path="/command"
        ) from None
    return words


def command_line(words: Sequence[str]) -> str:
    """`words` as one line that reads back as the same words: what rules and people are shown."""
    return shlex.join(words)


def _split(line: str) -> list[str]:
    signs = dict.fromkeys(_shell_syntax(line[: _LONGEST + 1]))
    if signs:
        raise InvalidInput(
            f"there is no shell here, and the command needs one for {', '.join(repr(sign) for sign, _ in signs)}",
            hint="; ".join(f"{sign!r} {does}" for sign, does in signs)[:2000],
            path="/command",
            detail={"syntax": [sign for sign, _ in signs]},
        )
    try:
        return shlex.split(line)
    except ValueError as error:
        raise InvalidInput(
            f"the command cannot be read: {str(error).lower()}",
            hint="close the quote, or give the words as a list",
            path="/command",
        ) from None


def _shell_syntax(line: str) -> Iterator[tuple[str, str]]:
    """Each thing in `line` that only a shell understands, and what to do instead."""
    unquoted = _QUOTED.sub(_mask_quoted, line.strip())
    for character in unquoted:
        if character in _OPERATORS:
            yield character, _OPERATORS[character]
    for pattern, sign, does in _AT_START:
        if pattern.search(unquoted):
            yield sign, does


def _mask_quoted(quoted: re.Match[str]) -> str:
    """What a shell takes as it stands, made harmless; in double quotes it still looks for `$` and backquotes."""
    text = quoted[0]
    if not text.startswith('"'):
        return "q"
    return "q" + "".join(character for character in re.sub(r'\\["\\]', "", text) if character in "$`")
