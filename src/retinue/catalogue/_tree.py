"""Reads the files of a tree: what is known of them from earlier runs, and the rest in batches in worker processes.

It ends early rather than late: when time is nearly up, what was read so far is handed on and the rest is named.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from retinue.agents.port import RunContext
from retinue.catalogue._content_cache import ContentCache, content_key
from retinue.catalogue._prose import quote
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_limits import RunDeadline
from retinue.contract.event import Progress
from retinue.engine.blocking import in_thread
from retinue.errors import AccessDenied, DeadlineExceeded, InternalError, RetinueError, Unavailable
from retinue.tools.tree import FileEntry, list_files

T = TypeVar("T")

Extract: TypeAlias = Callable[[Sequence[tuple[str, bytes, str]]], list[T]]
"""Makes one value of each file, given as path, content and tag. It raises for no content, and is importable by name."""

_MAX_FILE: Final = 2 * 1024 * 1024
_BATCH_BYTES: Final = 512 * 1024
_BATCH_FILES: Final = 100
_ALONE_BYTES: Final = 300_000
"""Less than this is read in this process: starting another would take longer."""
_MAX_CONCURRENT: Final = 4


@dataclass(slots=True)
class TreeReading(Generic[T]):
    """What was read of a tree.

    Attributes:
        files: By path, sorted.
        skipped: Files that could not be read, as path, line (0 when there is none) and reason.
        unread: Files that there was no time for.
        notes: What else a reader of the answer should know.
        parsed: How many files were extracted in this run.
        remembered: How many were known from an earlier one.
    """

    files: dict[str, T] = field(default_factory=dict[str, T])
    skipped: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])
    unread: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    parsed: int = 0
    remembered: int = 0

    def report_gaps(self, report: SkillReport, *, near: str = "") -> None:
        """Tell which files were not read, those `near` a place first, and what else bounds the answer."""
        report.warn_of_gaps(self.skipped, self.unread, near=near)
        for note in self.notes:
            report.note(quote(note))


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    tag: str
    key: str
    data: bytes


@dataclass(slots=True)
class TreeReader(Generic[T]):
    """Extracts one value of each wanted file of a run's workspace, once.

    Attributes:
        run: Starts worker processes, and reports progress.
        extract: Makes the values.
        is_wanted: Says by its path whether a file is read.
        cache: What earlier runs left, and where this one leaves what it reads.
        deadline: Says when to stop.
        tag: What else decides, beside content and suffix, what is extracted of the file at a path.
        is_whole: Whether every file of the tree that `cache` is about is wanted; else what it holds of others stays.
    """

    run: RunContext
    extract: Extract[T]
    is_wanted: Callable[[str], bool]
    cache: ContentCache[T]
    deadline: RunDeadline
    tag: Callable[[str], str] = lambda _: ""
    is_whole: bool = True
    reading: TreeReading[T] = field(default_factory=TreeReading[T])
    new: dict[str, T] = field(default_factory=dict[str, T])
    keys: dict[str, str] = field(default_factory=dict[str, str])
    waiting: set[str] = field(default_factory=set[str])
    in_process: bool = False

    async def read(self) -> TreeReading[T]:
        """Read everything, or as much as there is time for."""
        reading = self.reading
        listing = await in_thread(list_files, self.run.workspace)
        reading.skipped += [(one.path, 0, one.reason) for one in listing.skipped if self.is_wanted(one.path)]
        reading.notes += [listing.note] if listing.note else []
        entries = [entry for entry in listing.files if not entry.is_link and self.is_wanted(entry.path)]
        large = [entry for entry in entries if entry.size > _MAX_FILE]
        entries = [entry for entry in entries if entry.size <= _MAX_FILE]
        reading.skipped += [
            (entry.path, 0, f"it holds {entry.size:,} bytes, more than {_MAX_FILE:,}") for entry in large
        ]
        self.waiting = {entry.path for entry in entries}
        self.in_process = sum(entry.size for entry in entries) <= _ALONE_BYTES
        semaphore = asyncio.Semaphore(_MAX_CONCURRENT)
        failure: RetinueError | None = None
        try:
            async with asyncio.timeout(self.deadline.remaining_s()), asyncio.TaskGroup() as group:
                async for batch in self._batches(entries):
                    # Taken before the task is created, so that no more batches are in memory than are being read.
                    await semaphore.acquire()
                    task = group.create_task(self._extract_batch(batch, total=len(entries)))
                    task.add_done_callback(lambda _: semaphore.release())
        except* (DeadlineExceeded, TimeoutError):
            # Half a tree is still an answer: what was read is kept, and the rest is named.
            reading.unread = sorted(self.waiting)
        except* RetinueError as errors:
            failure = _first(errors)
        if failure is not None:
            raise failure  # inside the group it would be wrapped again
        used = self.keys.values() if self.is_whole and not reading.unread else None
        note = await in_thread(self.cache.save, self.new, used)
        reading.notes += [note] if note else []
        reading.files = dict(sorted(reading.files.items()))
        return reading

    async def _batches(self, entries: Sequence[FileEntry]) -> AsyncIterator[list[_File]]:
        """What is not known yet, some files at a time; what is known is taken over on the way."""
        batch: list[_File] = []
        size = 0
        for start in range(0, len(entries), _BATCH_FILES):
            self.deadline.check()
            for file in await in_thread(self._unknown, entries[start : start + _BATCH_FILES]):
                batch.append(file)
                size += len(file.data)
                if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
                    yield batch
                    batch, size = [], 0
        if batch:
            yield batch

    def _unknown(self, entries: Iterable[FileEntry]) -> list[_File]:
        unknown: list[_File] = []
        workspace = self.run.workspace  # each access applies the rules of the run anew
        for entry in entries:
            try:
                data = workspace.read_bytes(entry.path, max_bytes=_MAX_FILE)
            except RetinueError as error:  # it vanished, grew, or may not be read
                self.reading.skipped.append((entry.path, 0, error.message))
                self.waiting.discard(entry.path)
                continue
            tag = self.tag(entry.path)
            key = content_key(f"{entry.path.rpartition('.')[2]} {tag}", data)
            self.keys[entry.path] = key
            # Two files with the same content are extracted once.
            value = self.new.get(key) or self.cache.get(key)
            if value is None:
                unknown.append(_File(entry.path, tag, key, data))
                continue
            self.reading.files[entry.path] = value
            self.reading.remembered += 1
            self.waiting.discard(entry.path)
        return unknown

    async def _extract_batch(self, batch: Sequence[_File], *, total: int) -> None:
        self.deadline.check()
        values = await self._values_of(batch)
        for file, value in zip(batch, values, strict=True):
            if value is not None:
                self.reading.files[file.path] = self.new[file.key] = value
            self.waiting.discard(file.path)
        self.reading.parsed += len(batch)
        self.run.emit(Progress("reading files", "", total - len(self.waiting), total))

    async def _values_of(self, batch: Sequence[_File]) -> Sequence[T | None]:
        files = [(file.path, file.data, file.tag) for file in batch]
        if self.in_process:
            return await in_thread(self._extract_here, files)
        try:
            return await self.run.offload(self.extract, files)
        except (AccessDenied, Unavailable):  # this run has no processes to give
            self.in_process = True
            return await in_thread(self._extract_here, files)
        except InternalError:
            # Its worker died; one file did that, and the others are not to pay for it.
            values: list[T | None] = []
            for file in files:
                self.deadline.check()
                try:
                    values += await self.run.offload(self.extract, [file])
                except InternalError as error:
                    self.reading.skipped.append((file[0], 0, f"reading it ended its process: {error.message}"))
                    values.append(None)
            return values

    def _extract_here(self, files: Sequence[tuple[str, bytes, str]]) -> list[T | None]:
        values: list[T | None] = []
        for file in files:
            self.deadline.check()
            values += self.extract([file])
        return values


def _first(group: BaseExceptionGroup[RetinueError]) -> RetinueError:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
