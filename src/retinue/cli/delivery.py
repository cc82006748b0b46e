"""Where an answer goes that is not drawn: as a document to stdout, or into a file, whole or not at all."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import click

from retinue.contract import json
from retinue.errors import AccessDenied, InvalidInput, MissingFile, ParseError, RetinueError


def check_output(output: Path) -> None:
    """Find out before the work begins that its answer could not be written."""
    folder = output.parent
    if not folder.is_dir():
        raise MissingFile(f"No such folder: {str(folder)!r}.", hint="Create it first.", path=str(output))
    if output.is_dir():
        raise AccessDenied(f"{str(output)!r} is a folder.", hint="Name a file in it.", path=str(output))
    if not os.access(output if output.exists() else folder, os.W_OK):
        raise _write_error(output, "permission denied")


def deliver(text: str, output: Path | None) -> None:
    """Write `text`, which ends its last line, to stdout or to `output`, replacing what is there at once."""
    if output is None:
        click.echo(text, nl=False)
        return
    deliver_bytes(text.encode("utf-8", "backslashreplace"), output)


def deliver_bytes(data: bytes, output: Path) -> None:
    """Write `data` to `output`, replacing what is there at once."""
    try:
        if output.exists() and not output.is_file():  # a pipe or a device is written to, not replaced
            output.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(output)), data)
    except OSError as error:
        raise _write_error(output, error.strerror or type(error).__name__) from None


def _replace(output: Path, data: bytes) -> None:
    if output.exists():
        mode = output.stat().st_mode & 0o777
    else:  # as the mask of this process has it, which can only be read by setting it
        mask = os.umask(0o077)
        os.umask(mask)
        mode = 0o666 & ~mask
    descriptor, name = tempfile.mkstemp(prefix=f".{output.name[:100]}.", dir=output.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).chmod(mode)
        Path(name).replace(output)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _write_error(output: Path, why: str) -> RetinueError:
    return AccessDenied(
        f"Cannot write {str(output)!r}: {why}.",
        hint="Choose another file with `--output`, or leave it out to write to stdout.",
        path=str(output),
    )


@dataclass(frozen=True, slots=True)
class Form:
    """How a run is shown.

    Attributes:
        as_json: One document on stdout, errors as one line of JSON on stderr.
        as_jsonl: Events as they happen, the run's `finished` with its result last.
        quiet: Nothing on stderr but errors.
        document: The answer as this kind of text, also on a terminal; None leaves it to the terminal.
        output: The file that gets the answer, in place of stdout.
    """

    as_json: bool = False
    as_jsonl: bool = False
    quiet: bool = False
    document: Literal["md", "html"] | None = None
    output: Path | None = None

    @property
    def machine(self) -> bool:
        """A program reads it."""
        return self.as_json or self.as_jsonl


_ENDINGS: Final = {".md": "md", ".markdown": "md", ".html": "html", ".htm": "html", ".json": "json"}
"""Which format a file's name asks for."""


def choose_format(
    kind: str | None, output: Path | None, endings: Mapping[str, str], *, as_json: bool, default: str = ""
) -> str:
    """The format that the options ask for, else the one that the name of the file asks for, else `default`."""
    if as_json and kind not in {None, "json"}:
        raise click.UsageError(f"--json and --format {kind} are two formats. Use only one.")
    if kind is not None or as_json:
        return kind or "json"
    if output is None:
        return default
    by_ending = endings.get(output.suffix.lower())
    if by_ending is None:
        *names, last = dict.fromkeys(endings.values())
        message = f"Cannot tell the format of {output.name[:80]!r}. Add --format {', '.join(names)} or {last}."
        raise click.UsageError(message)
    return by_ending


def form_of(
    *, as_json: bool, kind: str | None, output: Path | None, as_jsonl: bool = False, quiet: bool = False
) -> Form:
    """The form that the options ask for together."""
    if as_jsonl and (kind or output):
        raise click.UsageError("--jsonl prints events; it cannot be combined with --format or --output.")
    kind = choose_format(kind, output, _ENDINGS, as_json=as_json)
    document: Literal["md", "html"] | None = "md" if kind == "md" else "html" if kind == "html" else None
    return Form(as_json=kind == "json", as_jsonl=as_jsonl, quiet=quiet, document=document, output=output)


_STDIN: Final = "-"
_MOST: Final = 8 * 2**20


def words_of(arguments: Sequence[str]) -> str:
    """The arguments as one text; a single `-` stands for what stdin holds."""
    return read_stdin() if tuple(arguments) == (_STDIN,) else " ".join(map(_as_utf8, arguments))


def _as_utf8(word: str) -> str:
    """`word` as it was typed, whatever the locale made of it; what is not UTF-8 stays as it is, to be refused."""
    try:
        return os.fsencode(word).decode("utf-8")
    except UnicodeError:
        return word


def read_stdin() -> str:
    """All of stdin as text; what is not UTF-8 stays visible as such."""
    data = sys.stdin.buffer.read(_MOST + 1)
    if len(data) > _MOST:
        raise InvalidInput(
            f"Standard input is larger than {_MOST:,} bytes.", hint="Put it in a file and name the file."
        )
    return data.decode("utf-8", "backslashreplace")


def bytes_in(file: str, *, hint: str, limit: int = json.MAX_BYTES) -> bytes:
    """What `file` holds, or stdin for a `-`: at most one byte more than `limit`. A pipe is a file too.

    Args:
        file: Its name.
        hint: What to do when there is none.
        limit: As many bytes as a JSON text may have, unless more is expected.
    """
    if file == _STDIN:
        return sys.stdin.buffer.read(limit + 1)
    try:
        with Path(file).open("rb") as opened:
            return opened.read(limit + 1)
    except FileNotFoundError:
        raise MissingFile(f"No such file: {file[:200]!r}.", hint=hint) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AccessDenied(f"{file[:200]!r} cannot be read: {reason}.", hint="Name a readable file.") from None


Parameters: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
"""What `--param` says, as text, and what `--params` says, as the JSON it is."""


def parameters_of(pairs: Sequence[str], document: str | None) -> Parameters:
    """What `--param` says, as text, and what `--params` says, as the JSON it is."""
    untyped: dict[str, Any] = {}
    for pair in map(_as_utf8, pairs):
        name, equals, value = pair.partition("=")
        name = name.strip()
        if not equals or not name:
            raise click.UsageError(f"{pair[:80]!r} is not a parameter. Use --param NAME=VALUE.")
        if name in untyped:
            raise click.UsageError(f"The parameter {name!r} is given twice.")
        untyped[name] = value
    typed: dict[str, Any] = {}
    if document is not None:
        try:
            value = json.loads(read_stdin() if document == _STDIN else _as_utf8(document))
        except ParseError as error:
            message = f"`--params` is not valid JSON: {error.message}"
            raise ParseError(message, hint=error.hint, path=error.path, detail=error.detail) from None
        if not isinstance(value, dict):
            raise InvalidInput("`--params` must be a JSON object.", hint='Use --params \'{"name": "value"}\'.')
        typed = dict(value)
    if twice := sorted(untyped.keys() & typed.keys()):
        raise click.UsageError(f"{', '.join(map(repr, twice))}: given by both --param and --params.")
    return untyped, typed
