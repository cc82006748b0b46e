"""Reads the Python files, feature files and documents of a project. What they mean is not here.

Tests are collected from files that are called or lie as tests do; pytest's own settings are not read.
"""

from pathlib import Path

from pydantic import TypeAdapter

from retinue.agents.port import RunContext
from retinue.catalogue._content_cache import ContentCache
from retinue.catalogue._run_deadline import RunDeadline
from retinue.catalogue._tree import TreeReading, read_tree
from retinue.engine.blocking import in_thread
from retinue.tools.search.passages import is_test, kind_of
from retinue.tools.workspace import Workspace

from .facts import VERSION, FileFacts
from .file_facts import extract
from .prohibitions import is_historical


def is_read(path: str) -> bool:
    """Whether a file of this name may hold anything that is looked for here."""
    # A text file that is not called as documents are is more often data.
    is_data = path.endswith(".txt") and not path.rpartition("/")[2][:1].isupper() and "doc" not in path.lower()
    is_document = kind_of(path) == "docs" and not is_data and not is_historical(path)
    return is_document or path.endswith((".py", ".feature"))


async def read_project(run: RunContext, workspace: Workspace, cache_dir: Path | None) -> TreeReading[FileFacts]:
    """Read every file that matters, or as many as there is time for until the run's deadline."""
    read, root = TypeAdapter(FileFacts).validate_python, str(workspace.root)
    cache = await in_thread(lambda: ContentCache(cache_dir, root, prefix="patterns", version=VERSION, decode=read))
    reading = await read_tree(
        run,
        workspace,
        extract,
        is_wanted=is_read,
        cache=cache,
        deadline=RunDeadline(run),
        tag=lambda path: "test" if is_test(path) else "",
    )
    reading.skipped += [(path, file.error_line, file.error) for path, file in reading.files.items() if file.error]
    return reading
