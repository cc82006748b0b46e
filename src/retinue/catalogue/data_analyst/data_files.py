"""Which data files a request may be about, and what those of a workspace hold, for whoever turns words into a query.

What they hold is read of a few files, within two seconds, and kept between runs: a file is read anew only when it has
changed.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from retinue.catalogue._content_cache import ContentCache, content_key
from retinue.catalogue._test_paths import is_test_or_vendored
from retinue.contract.facts import Facts, TableFacts
from retinue.errors import BudgetExceeded, DeadlineExceeded, InvalidInput, MissingFile, YourError
from retinue.tools.data import DATA_SUFFIXES, Data, kind_of
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

_MAX_FILES: Final = 8
_MAX_DATA_FILES: Final = 40
"""Where there are more, they are a program's own data (settings, cases of tests), and nobody's tables."""
_MAX_LISTED: Final = 20_000  # where there are more files, data that git ignores is not looked for
_MAX_BYTES: Final = 64 * 1024 * 1024
_SECONDS: Final = 2.0
_VERSION: Final = 7
"""Of what is kept; raised when `columns` reads something else in the same file."""
_UNREADABLE: Final = TableFacts(path="-")
"""What is kept of a file that cannot be read as a table."""

_PREFERRED_KINDS: Final = ("csv", "parquet", "log", "jsonl")
_QUOTES: Final = '`"\u201c\u201d'
_MARKS: Final = ",;()[]{}<>=|*"


def read_facts(workspace: Workspace, cache_dir: Path | None = None) -> Facts:
    """The tables of the first few data files that can be read.

    Args:
        workspace: Where they lie.
        cache_dir: Where it is kept what they hold; None keeps nothing.
    """
    try:
        paths = [path for path in data_files(workspace) if not is_test_or_vendored(path)]
    except MissingFile:
        paths = []
    if len(paths) > _MAX_DATA_FILES:
        return Facts(is_complete=False)
    tracked_paths = frozenset(paths)
    with suppress(InvalidInput):  # there are too many
        paths_here = (entry.path for entry in list_files(workspace, limit=_MAX_LISTED, with_ignored=True).files)
        ignored = {path for path in paths_here if kind_of(path) is not None and "/." not in f"/{path}"}
        paths += sorted(ignored - tracked_paths)[:_MAX_FILES]
    end, root = time.monotonic() + _SECONDS, str(workspace.root)
    decode, encode = TableFacts.model_validate, TableFacts.to_json
    cache = ContentCache(cache_dir, root, prefix="tables", version=_VERSION, decode=decode, encode=encode)
    new: dict[str, TableFacts] = {}
    tables_by_key: dict[str, TableFacts] = {}
    for path in paths[:_MAX_FILES]:
        try:
            stat = workspace.resolve(path).stat()
            if stat.st_size > _MAX_BYTES:
                continue
            key = content_key("table", repr((path, stat.st_size, stat.st_mtime_ns, stat.st_ino)).encode())
            table = cache.get(key)
            if table is None:
                table = new[key] = _table_facts(workspace, path, end)
            tables_by_key[key] = table.model_copy(update={"is_aside": path not in tracked_paths})
        except (DeadlineExceeded, OSError):
            break
    cache.save(new, tables_by_key)
    tables = tuple(table for table in tables_by_key.values() if table.path != _UNREADABLE.path)
    return Facts(tables=tables, is_complete=len(tables) == len(paths))


def _table_facts(workspace: Workspace, path: str, end: float) -> TableFacts:
    """The facts of one file.

    Raises:
        DeadlineExceeded: The end is past.
    """
    from retinue.catalogue.data_analyst.columns import Columns  # noqa: PLC0415 - when something is new

    def check() -> None:
        if time.monotonic() > end:
            raise DeadlineExceeded("Reading the columns took too long.", hint="Name the file.")

    try:
        with Data(workspace, check=check) as data:
            return Columns(data, data.open(path), check=check).facts()
    except DeadlineExceeded:
        raise
    except (YourError, BudgetExceeded):  # it is said of the file when it is asked about
        return _UNREADABLE


def data_files(workspace: Workspace, *, only: str = "") -> list[str]:
    """The data files that lie in `workspace`; of one kind, when `only` names it.

    Raises:
        MissingFile: There is none.
    """
    paths = (entry.path for entry in list_files(workspace).files if not entry.path.startswith("."))
    matches = [path for path in paths if (kind := kind_of(path)) is not None and only in ("", kind)]
    if not matches:
        raise MissingFile(
            "There is no data file in the workspace.", hint=f"Name a file that ends in {', '.join(DATA_SUFFIXES[:7])}."
        )
    return [path for path in matches if kind_of(path) in _PREFERRED_KINDS] or matches


def files_in_question(workspace: Workspace, question: str) -> tuple[list[str], str]:
    """The data files that `question` names, and its text without them. A path with spaces stands between quotes."""
    parts = question.translate(dict.fromkeys(map(ord, _QUOTES), "\n")).split("\n")
    names = [part for part in parts if " " in part and kind_of(part) is not None and workspace.readable(part)]
    rest = question
    for part in names:
        rest = rest.replace(part, " ")
    for word in rest.translate(dict.fromkeys(map(ord, _QUOTES + _MARKS), " ")).split():
        path = word.partition("'s")[0].strip("'.:!?")
        if kind_of(path) is not None and path.partition(".")[0] and path in rest:
            names.append(path)
            rest = rest.replace(f"{path}'s", " ").replace(path, " ")
    return locate_files(workspace, list(dict.fromkeys(names))), rest


def locate_files(workspace: Workspace, names: Sequence[str]) -> list[str]:
    """The paths of what is `names`: a name that is no path from the root may be a file further down.

    Data is often what git is told to ignore: being named, such a file may be read all the same.
    """
    matches_by_name: dict[str, list[str]] = {path: [] for path in names if not workspace.readable(path)}
    for with_ignored in (False, True):
        if not all(matches_by_name.values()):
            with suppress(InvalidInput):  # there are too many
                paths = [entry.path for entry in list_files(workspace, with_ignored=with_ignored).files]
                matches_by_name = {
                    name: there or [one for one in paths if one.rpartition("/")[2] == name]
                    for name, there in matches_by_name.items()
                }
    return [matches_by_name[path][0] if len(matches_by_name.get(path, ())) == 1 else path for path in names]
