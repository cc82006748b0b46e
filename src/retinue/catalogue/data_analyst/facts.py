"""What the data files of a workspace hold, for whoever turns words into a query: a few files, within two seconds.

It is kept between runs: a file is read anew only when it has changed.
"""

import time
from pathlib import Path
from typing import Final

from retinue.catalogue._aside import is_aside
from retinue.catalogue._remembered import Rows, content_key
from retinue.catalogue.data_analyst.files import data_files, ignored_files
from retinue.contract.facts import Facts, TableFacts
from retinue.errors import BudgetExceeded, DeadlineExceeded, MissingFile, YourError
from retinue.tools.workspace import Workspace

__all__ = ["read_facts"]

_FILES: Final = 8
_MOST: Final = 40
"""Where there are more, they are a program's own data (settings, cases of tests), and nobody's tables."""
_LOOKED_AT: Final = 20_000
"""So many files are looked at for data that git ignores."""
_BYTES: Final = 64 * 1024 * 1024
_SECONDS: Final = 2.0
_FORM: Final = 6
"""Of what is kept; raised when `columns` reads something else in the same file."""

_UNREADABLE: Final = TableFacts(path="-")
"""What is kept of a file that cannot be read as a table."""


def read_facts(workspace: Workspace, cache_dir: Path | None = None) -> Facts:
    """The tables of the first few data files that can be read.

    Args:
        workspace: Where they lie.
        cache_dir: Where it is kept what they hold; None keeps nothing.
    """
    try:
        paths = [path for path in data_files(workspace) if not is_aside(path)]
    except MissingFile:
        paths = []
    if len(paths) > _MOST:
        return Facts(is_complete=False)
    listed = frozenset(paths)
    ignored = {path for path in ignored_files(workspace, looked_at=_LOOKED_AT) if "/." not in f"/{path}"}
    paths += sorted(ignored - listed)[:_FILES]
    end = time.monotonic() + _SECONDS
    known = Rows(
        cache_dir,
        str(workspace.root),
        name="tables",
        version=_FORM,
        read=TableFacts.model_validate,
        write=TableFacts.to_json,
    )
    new: dict[str, TableFacts] = {}
    used: dict[str, TableFacts] = {}
    for path in paths[:_FILES]:
        try:
            stat = workspace.resolve(path).stat()
            if stat.st_size > _BYTES:
                continue
            key = content_key("table", repr((path, stat.st_size, stat.st_mtime_ns, stat.st_ino)).encode())
            table = known.get(key)
            if table is None:
                table = new[key] = _table(workspace, path, end)
            used[key] = table.model_copy(update={"is_aside": path not in listed})
        except (DeadlineExceeded, OSError):
            break
    known.save(new, used)
    tables = tuple(table for table in used.values() if table.path != _UNREADABLE.path)
    return Facts(tables=tables, is_complete=len(tables) == len(paths))


def _table(workspace: Workspace, path: str, end: float) -> TableFacts:
    """The facts of one file.

    Raises:
        DeadlineExceeded: The end is past.
    """
    from retinue.catalogue.data_analyst.columns import read_columns  # noqa: PLC0415 - when something is new
    from retinue.tools.data import Data  # noqa: PLC0415

    def check() -> None:
        if time.monotonic() > end:
            raise DeadlineExceeded("Reading the columns took too long.", hint="Name the file.")

    try:
        with Data(workspace, check=check) as data:
            return read_columns(data, data.open(path), check=check).facts()
    except DeadlineExceeded:
        raise
    except (YourError, BudgetExceeded):  # it is said of the file when it is asked about
        return _UNREADABLE
