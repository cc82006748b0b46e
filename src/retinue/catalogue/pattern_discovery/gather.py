"""Reads a tree: which files there are, what is known of them already, and the rest in batches in worker processes.

It ends early rather than late: when time is nearly up, what was read so far is handed on and the rest is counted.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from retinue.agents.port import RunContext
from retinue.catalogue._watch import Watch
from retinue.catalogue.pattern_discovery.extract import extract, facts_of
from retinue.catalogue.pattern_discovery.facts import FileFacts
from retinue.catalogue.pattern_discovery.read_text import is_ruled
from retinue.catalogue.pattern_discovery.remembered import Remembered
from retinue.catalogue.pattern_discovery.settings import Collected, collected_by
from retinue.contract.event import Progress
from retinue.engine.blocking import in_thread
from retinue.errors import AccessDenied, DeadlineExceeded, InternalError, RetinueError, Unavailable
from retinue.tools.tree import FileEntry, list_files
from retinue.tools.workspace import Workspace

__all__ = ["Gathered", "gather", "is_read"]

_LARGEST: Final = 2 * 1024 * 1024
_BATCH_BYTES: Final = 512 * 1024
_BATCH_FILES: Final = 100
_ALONE_BYTES: Final = 300_000
"""Less than this is read here: starting a process would take longer."""
_AT_ONCE: Final = 4
_DOCUMENTS: Final = (".adoc", ".markdown", ".md", ".mdx", ".rst", ".txt")


@dataclass(slots=True)
class Gathered:
    """What was read of a tree.

    Attributes:
        facts: By path, sorted.
        skipped: Files that could not be read, as path, line (0 when there is none) and reason.
        parsed: How many files' syntax was read in this run.
        remembered: How many were known from an earlier one.
        left: Files that there was no time for.
        notes: What else a reader should know.
    """

    facts: dict[str, FileFacts] = field(default_factory=dict[str, FileFacts])
    skipped: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])
    parsed: int = 0
    remembered: int = 0
    left: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class _Read:
    path: str
    collected: bool
    key: str
    data: bytes


async def gather(run: RunContext, *, workspace: Workspace, cache_dir: Path | None) -> Gathered:
    """Read every Python file, feature file and document of `workspace`."""
    return await _Gathering(run, workspace, cache_dir).whole()


def is_read(path: str) -> bool:
    """Whether a file of this name may hold anything that is looked for here."""
    if path.endswith((".py", ".feature")):
        return True
    if not path.lower().endswith(_DOCUMENTS) or not is_ruled(path):
        return False
    # Any other text file is more often data than a document.
    name = path.rpartition("/")[2]
    return not path.lower().endswith(".txt") or name.isupper() or name[:1].isupper() or "doc" in path.lower()


class _Gathering:
    """One reading of one tree."""

    def __init__(self, run: RunContext, workspace: Workspace, cache_dir: Path | None) -> None:
        self._run = run
        self._workspace = workspace
        self._cache_dir = cache_dir
        self._watch = Watch(run)
        self._found = Gathered()
        self._new: dict[str, FileFacts] = {}
        self._keys: dict[str, str] = {}
        self._here = False
        self._tests = Collected()

    async def whole(self) -> Gathered:
        """Read everything, or as much as there is time for."""
        entries, known = await in_thread(self._start)
        waiting = {entry.path for entry in entries}
        turn = asyncio.Semaphore(_AT_ONCE)
        self._here = sum(entry.size for entry in entries) <= _ALONE_BYTES
        try:
            async with asyncio.timeout(self._watch.left_s()), asyncio.TaskGroup() as group:
                async for batch in self._batches(entries, known, waiting):
                    await turn.acquire()
                    task = group.create_task(self._extracted(batch, waiting, total=len(entries)))
                    task.add_done_callback(lambda _: turn.release())
        except* (DeadlineExceeded, TimeoutError):
            self._found.left = sorted(waiting)
        finally:
            self._watch.stop()
        note = await in_thread(known.save, self._new, self._keys.values())
        self._found.notes += [note] if note else []
        self._found.facts = dict(sorted(self._found.facts.items()))
        self._found.skipped += [
            (path, facts.error_line, facts.error) for path, facts in self._found.facts.items() if facts.error
        ]
        return self._found

    def _start(self) -> tuple[list[FileEntry], Remembered]:
        listing = list_files(self._workspace)
        self._tests = collected_by(self._workspace)
        self._found.skipped += [(one.path, 0, one.reason) for one in listing.skipped if is_read(one.path)]
        self._found.notes += [listing.note] if listing.note else []
        entries: list[FileEntry] = []
        for entry in listing.files:
            if not is_read(entry.path) or entry.is_link:
                continue
            if entry.size > _LARGEST:
                self._found.skipped.append((entry.path, 0, f"it holds {entry.size:,} bytes, more than {_LARGEST:,}"))
                continue
            entries.append(entry)
        return entries, Remembered(self._cache_dir, str(self._workspace.root))

    async def _batches(
        self, entries: Sequence[FileEntry], known: Remembered, waiting: set[str]
    ) -> AsyncIterator[list[_Read]]:
        """What is not known yet, some files at a time; what is known is noted on the way."""
        batch: list[_Read] = []
        size = 0
        for start in range(0, len(entries), _BATCH_FILES):
            self._watch.check()
            for read in await in_thread(self._unknown, entries[start : start + _BATCH_FILES], known, waiting):
                batch.append(read)
                size += len(read.data)
                if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
                    yield batch
                    batch, size = [], 0
        if batch:
            yield batch

    def _unknown(self, entries: Sequence[FileEntry], known: Remembered, waiting: set[str]) -> list[_Read]:
        found: list[_Read] = []
        for entry in entries:
            try:
                data = self._workspace.read_bytes(entry.path, max_bytes=_LARGEST)
            except RetinueError as error:  # it vanished, grew, or may not be read
                self._found.skipped.append((entry.path, 0, error.message))
                waiting.discard(entry.path)
                continue
            # The same content means other things in a test than in a document: the kind of file belongs to the key.
            collected = entry.path in self._tests
            kind = f"{entry.path.rpartition('.')[2]} {collected}\0".encode()
            key = sha256(kind + data).hexdigest()
            self._keys[entry.path] = key
            facts = self._new.get(key) or known.get(key)
            if facts is None:
                found.append(_Read(entry.path, collected, key, data))
                continue
            self._found.facts[entry.path] = facts
            self._found.remembered += 1
            waiting.discard(entry.path)
        return found

    async def _extracted(self, batch: Sequence[_Read], waiting: set[str], *, total: int) -> None:
        self._watch.check()
        for read, facts in zip(batch, await self._facts_of(batch), strict=True):
            self._found.facts[read.path] = self._new[read.key] = facts
            waiting.discard(read.path)
        self._found.parsed += len(batch)
        self._run.emit(Progress("reading files", "", total - len(waiting), total))

    async def _facts_of(self, batch: Sequence[_Read]) -> list[FileFacts]:
        files = [(read.path, read.data, read.collected) for read in batch]
        if self._here:
            return await in_thread(self._read_here, files)
        try:
            return await self._run.offload(extract, files)
        except (AccessDenied, Unavailable):  # this run has no processes to give
            self._here = True
            return await in_thread(self._read_here, files)
        except InternalError:
            # Its worker died; one file did that, and the others are not to pay for it.
            return [await self._alone(file) for file in files]

    async def _alone(self, file: tuple[str, bytes, bool]) -> FileFacts:
        self._watch.check()
        try:
            return (await self._run.offload(extract, [file]))[0]
        except InternalError as error:
            return FileFacts(error=f"reading it ended its process: {error.message}")

    def _read_here(self, files: Sequence[tuple[str, bytes, bool]]) -> list[FileFacts]:
        found: list[FileFacts] = []
        for path, data, collected in files:
            self._watch.check()
            found.append(facts_of(path, data, collected=collected))
        return found
