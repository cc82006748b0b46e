"""What a person typed, named or piped in, as the words, bytes and parameters it stands for."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from retinue.contract import json
from retinue.errors import AccessDenied, InvalidInput, MissingFile, ParseError

_STDIN: Final = "-"
_MOST: Final = 8 * 2**20


def words_of(arguments: Sequence[str]) -> str:
    """The arguments as one text; a single `-` stands for what stdin holds.

    Raises:
        InvalidInput: Stdin holds more than anybody can mean.
    """
    return read_stdin() if tuple(arguments) == (_STDIN,) else " ".join(map(_as_utf8, arguments))


def _as_utf8(word: str) -> str:
    """`word` as it was typed, whatever the locale made of it; what is not UTF-8 stays as it is, to be refused."""
    try:
        return os.fsencode(word).decode("utf-8")
    except UnicodeError:
        return word


def read_stdin() -> str:
    """All of stdin as text; what is not UTF-8 stays visible as such.

    Raises:
        InvalidInput: It holds more than anybody can mean.
    """
    data = sys.stdin.buffer.read(_MOST + 1)
    if len(data) > _MOST:
        raise InvalidInput(
            f"Standard input is larger than {_MOST:,} bytes.", hint="Put it in a file and name the file."
        )
    return data.decode("utf-8", "backslashreplace")


def bytes_in(file: str, *, hint: str) -> bytes:
    """What `file` holds, or stdin for a `-`: at most one byte more than a JSON text may have. A pipe is a file too.

    Args:
        file: Its name.
        hint: What to do when there is none.

    Raises:
        MissingFile: There is no such file.
        AccessDenied: It cannot be read.
    """
    if file == _STDIN:
        return sys.stdin.buffer.read(json.MAX_BYTES + 1)
    try:
        with Path(file).open("rb") as opened:
            return opened.read(json.MAX_BYTES + 1)
    except FileNotFoundError:
        raise MissingFile(f"No such file: {file[:200]!r}.", hint=hint) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AccessDenied(f"{file[:200]!r} cannot be read: {reason}.", hint="Name a readable file.") from None


def parameters_of(pairs: Sequence[str], document: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `--param` says, as text, and what `--params` says, as the JSON it is.

    Raises:
        UsageError: A pair has no `=`, or a name stands twice.
        ParseError: The document is no JSON.
        InvalidInput: It is no object.
    """
    untyped: dict[str, Any] = {}
    for pair in map(_as_utf8, pairs):
        name, equals, value = pair.partition("=")
        name = name.strip()
        if not equals or not name:
            raise click.UsageError(f"{pair[:80]!r} is not a parameter. Use --param NAME=VALUE.")
        if name in untyped:
            raise click.UsageError(f"The parameter {name!r} is given twice.")
        untyped[name] = value
    typed = {} if document is None else _object(read_stdin() if document == _STDIN else _as_utf8(document))
    if twice := sorted(untyped.keys() & typed.keys()):
        raise click.UsageError(f"{', '.join(map(repr, twice))}: given by both --param and --params.")
    return untyped, typed


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ParseError as error:
        message = f"`--params` is not valid JSON: {error.message}"
        raise ParseError(message, hint=error.hint, path=error.path, detail=error.detail) from None
    if not isinstance(value, dict):
        raise InvalidInput("`--params` must be a JSON object.", hint='Use --params \'{"name": "value"}\'.')
    return dict(value)
