"""Reads the Python files, feature files and documents of a project, and what its names are. What they mean is not here.

Tests are collected from files that are called or lie as tests do; pytest's own settings are not read.
"""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from retinue.agents.local import LocalContext
from retinue.agents.port import RunContext
from retinue.catalogue._remembered import Rows, content_key
from retinue.catalogue._tree import TreeReading, read_tree
from retinue.catalogue._watch import Watch
from retinue.contract.facts import Facts
from retinue.engine.blocking import in_thread
from retinue.tools.search.kinds import is_test, kind_of
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

from .extract import extract
from .facts import VERSION, FileFacts
from .prohibitions import is_of_the_past

__all__ = ["is_read", "read_names", "read_project"]

_NAMES: Final = 2_000
_NAMES_SECONDS: Final = 2.0


def is_read(path: str) -> bool:
    """Whether a file of this name may hold anything that is looked for here."""
    # A text file that is not called as documents are is more often data.
    is_data = path.endswith(".txt") and not path.rpartition("/")[2][:1].isupper() and "doc" not in path.lower()
    is_document = kind_of(path) == "docs" and not is_data and not is_of_the_past(path)
    return is_document or path.endswith((".py", ".feature"))


async def read_project(
    run: RunContext, workspace: Workspace, cache_dir: Path | None, *, seconds: float | None = None
) -> TreeReading[FileFacts]:
    """Read every file that matters, or as many as there is time for: until the run's deadline, and in some seconds."""
    read, root = TypeAdapter(FileFacts).validate_python, str(workspace.root)
    known = await in_thread(lambda: Rows(cache_dir, root, name="patterns", version=VERSION, read=read))
    reading = await read_tree(
        run,
        workspace,
        extract,
        is_wanted=is_read,
        known=known,
        watch=Watch(run, seconds=seconds),
        tag=lambda path: "test" if is_test(path) else "",
    )
    reading.skipped += [(path, file.error_line, file.error) for path, file in reading.files.items() if file.error]
    return reading


def read_names(workspace: Workspace, cache_dir: Path | None) -> Facts:
    """The names of fixtures and of public symbols, those that most files ask for first; within two seconds.

    They are kept for as long as no file that is read is changed; what there was no time for is read the next time.
    """
    entries = [entry for entry in list_files(workspace).files if is_read(entry.path)]
    state = repr([(entry.path, entry.size, entry.mtime_ns) for entry in entries])
    key = content_key("names", state.encode(errors="replace"))
    root, read_row, write = str(workspace.root), Facts.model_validate, Facts.to_json
    known = Rows(cache_dir, root, name="names", version=VERSION, read=read_row, write=write)

    async def read() -> TreeReading[FileFacts]:
        async with LocalContext(workspace=workspace) as context:  # it ends the processes it starts
            return await read_project(context, workspace, cache_dir, seconds=_NAMES_SECONDS)

    facts = known.get(key)
    if facts is None:
        with ThreadPoolExecutor(1) as thread:  # whoever asks may be in an event loop
            facts = _names(thread.submit(asyncio.run, read()).result())
        known.save({key: facts} if facts.is_complete else {}, [])
    return facts


def _names(reading: TreeReading[FileFacts]) -> Facts:
    uses = Counter[str]()
    for file in reading.files.values():
        uses.update(name for case in file.tests for name in case.requests)
        uses.update({one.target.rpartition(".")[2] for one in file.imports})
    names = {
        "fixture": {one.name for file in reading.files.values() for one in file.fixtures},
        "symbol": {one.symbol for path, file in reading.files.items() if not is_test(path) for one in file.symbols},
    }
    first = {kind: sorted(every, key=lambda name: (-uses[name], name))[:_NAMES] for kind, every in names.items()}
    is_complete = not reading.left and all(len(every) <= _NAMES for every in names.values())
    return Facts(names={kind: tuple(every) for kind, every in first.items()}, is_complete=is_complete)
