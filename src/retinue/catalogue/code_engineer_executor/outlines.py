"""The outlines of source files, read in worker processes and kept between runs, and the names that they define."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import TypeAdapter

from retinue.catalogue._aside import is_aside
from retinue.catalogue._prose import code, quote
from retinue.catalogue._remembered import Rows, content_key
from retinue.catalogue._tree import read_tree
from retinue.contract.facts import Facts
from retinue.errors import DeadlineExceeded, InvalidInput, NotInstalled, RetinueError
from retinue.tools.encoding import decode, is_binary
from retinue.tools.outline import Item, language_for, outline, outline_of
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

from .work import Work

__all__ = ["OUTLINED", "TYPED", "Outlined", "outlined", "read_outlines", "read_symbols", "whole_name"]

TYPED: Final = (".ts", ".mts", ".cts", ".tsx")
OUTLINED: Final = (".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", *TYPED, ".rs", ".go")
_VERSION: Final = 4
"""The form of an entry, and what is read into it: another number forgets what earlier versions kept."""
_SYMBOLS: Final = 5_000
_SECONDS: Final = 2.0


class Outlined(NamedTuple):
    """The outline of one file, and how many lines it has."""

    lines: int
    items: tuple[Item, ...]
    notes: tuple[str, ...]


def outlined(files: Sequence[tuple[str, bytes, str]]) -> list[Outlined]:
    """The outlines of files, each a path with its content.

    Raises:
        NotInstalled: A grammar is not here.
    """
    outlines: list[Outlined] = []
    for path, data, _ in files:
        if is_binary(data):
            outlines.append(Outlined(0, (), ("it is a binary file.",)))
            continue
        text = decode(data).text
        read = outline(text, language_for(path))
        lines = text.count("\n") + bool(text and not text.endswith("\n"))
        outlines.append(Outlined(lines, tuple(read.items), tuple(read.notes)))
    return outlines


async def read_outlines(work: Work) -> dict[str, Outlined]:
    """The outline of every file that is meant, by path; what is to be known of one is noted.

    Raises:
        DeadlineExceeded: Time was up before anything was read.
        InvalidInput: There is no such file.
        MissingFile: What the request names is not there.
        NotInstalled: A grammar is not here.
    """
    root, folder = str(work.workspace.root), work.target.file
    rows = TypeAdapter(Outlined)
    known = Rows(
        work.cache_dir, root, name="outlines", version=_VERSION, read=rows.validate_python, write=rows.dump_python
    )
    is_wanted = work.is_meant(OUTLINED)
    is_whole = work.target.scope == "project" or folder in ("", ".")
    reading = await read_tree(
        work.run, work.workspace, outlined, is_wanted=is_wanted, known=known, watch=work.watch, is_whole=is_whole
    )
    if reading.left and not reading.files:
        raise DeadlineExceeded("Time was up before anything was read.", hint="Allow more time, or name a folder.")
    work.report.tell_gaps(reading.skipped, reading.left)
    for note in reading.notes:
        work.report.note("{}", quote(note))
    if not reading.files:
        raise InvalidInput(
            "No source file is there to look at.",
            hint="Name a file or folder with Python, JavaScript, TypeScript, Rust or Go.",
        )
    for path, each in reading.files.items():
        work.files.add(path)
        for note in each.notes:
            work.report.note("{}: {}", code(path), quote(note))
    return reading.files


def whole_name(item: Item) -> str:
    """The name of an item, with that of what it stands in."""
    return f"{item.container}.{item.name}".lstrip(".")


def read_symbols(workspace: Workspace, cache_dir: Path | None) -> Facts:
    """The names that the code here defines, the product's before those of its tests; first those at the top of files.

    Args:
        workspace: Where the code lies.
        cache_dir: Where it is kept what files define; None keeps nothing.
    """
    end = time.monotonic() + _SECONDS
    known = Rows[list[list[str]]](cache_dir, str(workspace.root), name="symbols", version=1, read=list)
    entries = [each for each in list_files(workspace).files if each.path.endswith(OUTLINED)]
    keys = {each.path: _key(each.path, each.size, each.mtime_ns) for each in entries}
    whole = _key(*keys.values())
    if names := known.get(whole):
        return Facts(names={"symbol": tuple(names[0])}, is_complete=len(names[0]) < _SYMBOLS)
    new: dict[str, list[list[str]]] = {}
    groups: list[list[str]] = [[], [], [], []]
    is_complete = True
    for path, key in keys.items():
        names = known.get(key)
        if names is None and time.monotonic() > end:
            is_complete = False
            continue
        try:
            names = names or _names(workspace, path)
        except NotInstalled:
            is_complete = False
            continue
        new[key] = names
        for depth, found in enumerate(names):
            groups[depth + 2 * is_aside(path)] += found
    symbols = list(dict.fromkeys(name for group in groups for name in group))[:_SYMBOLS]
    if is_complete:
        new[whole] = [symbols]
    known.save(new, new)
    return Facts(names={"symbol": tuple(symbols)}, is_complete=is_complete and len(symbols) < _SYMBOLS)


def _key(*state: object) -> str:
    return content_key("symbols", repr(state).encode())


def _names(workspace: Workspace, path: str) -> list[list[str]]:
    """What a file defines at its top, and one level below; nothing when it cannot be read.

    Raises:
        NotInstalled: Its grammar is not here.
    """
    try:
        items = outline_of(workspace, path).items
    except NotInstalled:
        raise
    except RetinueError:
        return [[], []]
    return [[whole_name(each) for each in items if each.depth == depth] for depth in (0, 1)]
