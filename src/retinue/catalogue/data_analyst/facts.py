"""What the data files of a workspace hold, for whoever turns words into a query: a few files, within two seconds."""

import time
from typing import Final

from retinue.catalogue._aside import is_aside
from retinue.catalogue.data_analyst.columns import read_columns
from retinue.catalogue.data_analyst.files import data_files
from retinue.contract.facts import Facts, TableFacts
from retinue.errors import BudgetExceeded, DeadlineExceeded, MissingFile, YourError
from retinue.tools.data import Data
from retinue.tools.workspace import Workspace

__all__ = ["read_facts"]

_FILES: Final = 8
_MOST: Final = 40
"""Where there are more, they are a program's own data (settings, cases of tests), and nobody's tables."""
_BYTES: Final = 64 * 1024 * 1024
_SECONDS: Final = 2.0
_KEPT: Final = 32
_READ: Final[dict[tuple[str | int, ...], TableFacts]] = {}
"""By file and state. A file that changes gets another state, so what is kept is never old."""


def read_facts(workspace: Workspace) -> Facts:
    """The tables of the first few data files that can be read; each file is read anew only when it has changed."""
    try:
        paths = data_files(workspace)
    except MissingFile:
        return Facts()
    paths = [path for path in paths if not is_aside(path)]
    if len(paths) > _MOST:
        return Facts(is_complete=False)
    end = time.monotonic() + _SECONDS
    found: list[TableFacts] = []
    for path in paths[:_FILES]:
        try:
            stat = workspace.resolve(path).stat()
            if stat.st_size <= _BYTES:
                found.append(_table(workspace, path, (stat.st_size, stat.st_mtime_ns, stat.st_ino), end))
        except DeadlineExceeded:
            break
        except (YourError, BudgetExceeded, OSError):  # it is said of the file when it is asked about
            continue
    return Facts(tables=tuple(found), is_complete=len(found) == len(paths))


def _table(workspace: Workspace, path: str, state: tuple[int, ...], end: float) -> TableFacts:
    def check() -> None:
        if time.monotonic() > end:
            raise DeadlineExceeded("Reading the columns took too long.", hint="Name the file.")

    key = (str(workspace.root), path, *state)
    if key not in _READ:
        with Data(workspace, check=check) as data:
            _READ[key] = read_columns(data, data.open(path), check=check).facts()
        while len(_READ) > _KEPT:
            del _READ[next(iter(_READ))]
    return _READ[key]
