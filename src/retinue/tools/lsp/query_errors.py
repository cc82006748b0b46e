"""What a question that cannot be put, or found nothing, is told: with what is near and what to do next."""

from collections.abc import Sequence

from retinue.errors import InvalidInput, OutputInvalid, RetinueError, Unavailable, UnknownName

from .locations import Position, units_before


def lsp_position(at: Position, lines: Sequence[str], encoding: str) -> dict[str, int]:
    """A place as a server counts it.

    Raises:
        InvalidInput: There is no such line or column.
    """
    if not 1 <= at.line <= len(lines):
        raise InvalidInput(
            f"{at.path!r} has no line {at.line}.", hint=f"It has {len(lines)} lines, counted from 1.", path="/line"
        )
    line = lines[at.line - 1].rstrip("\r")
    if not 1 <= at.column <= len(line) + 1:
        raise InvalidInput(
            f"Line {at.line} of {at.path!r} has no character {at.column}.",
            hint=f"It has {len(line)} characters, counted from 1.",
            path="/character",
        )
    return {"line": at.line - 1, "character": units_before(line, at.column, encoding)}


def unknown_symbol(symbol: str, path: str, names: Sequence[str], *, language: str) -> UnknownName:
    """Nothing that is written in `language` is called `symbol`; `names` is what there is."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a wrong name needs it

    near = tuple(get_close_matches(symbol.rpartition(".")[2], list(dict.fromkeys(names)), n=5))
    where = f"in {path!r}" if path else f"in the project's code in `{language}`"
    available = tuple(dict.fromkeys(names))[:10]
    hint = (
        f"Did you mean {', '.join(near)}?"
        if near
        else f"Available: {', '.join(available)}."
        if available
        else "Name the file that it stands in."
    )
    return UnknownName(f"Nothing {where} is called {symbol!r}.", hint=hint, suggestions=near or available)


def ambiguous_symbol(symbol: str, positions: Sequence[Position]) -> InvalidInput:
    """Several are called `symbol`."""
    places = tuple(map(str, positions[:10]))
    return InvalidInput(
        f"{symbol!r} is defined in {len(positions)} places.",
        hint=f"Say which, by its file: {', '.join(places)}.",
        suggestions=places,
    )


def server_gone(error: RetinueError) -> RetinueError:
    """A server ended twice over one question."""
    if isinstance(error, OutputInvalid):
        return error
    return Unavailable(
        f"{error.message} It was started again and ended again.",
        hint="See what it says of itself in `stderr`, or configure another language server.",
        detail={name: value for name, value in error.detail.items() if name != "ended"},
    )
