"""Reads many source files: what is known of them already, and the rest in batches in worker processes, with progress.

It ends early rather than late: when time is nearly up, what was read so far is handed on and the rest is counted.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from retinue.catalogue._prose import code
from retinue.catalogue._remembered import Rows, content_key
from retinue.contract.event import Progress
from retinue.engine.blocking import in_thread
from retinue.errors import AccessDenied, DeadlineExceeded, InternalError, RetinueError, Unavailable

from .work import Work

__all__ = ["gather"]

T = TypeVar("T")

_BATCH_FILES: Final = 100
_BATCH_CHARACTERS: Final = 512 * 1024
_ALONE: Final = 300_000
"""Fewer characters than this are read here: starting a process would take longer."""
_AT_ONCE: Final = 4


async def gather(
    work: Work,
    suffixes: Iterable[str],
    read: Callable[[Sequence[tuple[str, str]]], list[T]],
    *,
    known: Rows[T] | None = None,
) -> dict[str, T]:
    """What `read` makes of each file that the request is about, by path. Those that cannot be read are noted.

    Args:
        work: The request.
        suffixes: How the names of the files end.
        read: Makes one value of each path with its text; importable by name.
        known: What earlier runs left; None when nothing is kept.

    Raises:
        DeadlineExceeded: Time was up before anything was read.
        MissingFile: What the request names is not there.
        NotInstalled: What `read` needs is not here.
    """
    paths = await in_thread(work.sources, suffixes)
    return await _Gathering(work, paths, read, known).whole()


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    text: str
    key: str


@dataclass(slots=True)
class _Gathering(Generic[T]):
    """One reading of many files."""

    work: Work
    paths: list[str]
    read: Callable[[Sequence[tuple[str, str]]], list[T]]
    known: Rows[T] | None
    found: dict[str, T] = field(default_factory=dict[str, T])
    new: dict[str, T] = field(default_factory=dict[str, T])
    keys: dict[str, str] = field(default_factory=dict[str, str])
    failed: dict[str, RetinueError] = field(default_factory=dict[str, RetinueError])
    here: bool = False

    async def whole(self) -> dict[str, T]:
        """Read everything, or as much as there is time for."""
        watch, turn = self.work.watch, asyncio.Semaphore(_AT_ONCE)
        is_late, failure = False, None
        try:
            async with asyncio.timeout(watch.left_s()), asyncio.TaskGroup() as group:
                for start in range(0, len(self.paths), _BATCH_FILES):
                    watch.check()
                    files = await in_thread(self._unknown, self.paths[start : start + _BATCH_FILES])
                    if len(self.paths) <= _BATCH_FILES:
                        self.here = sum(len(file.text) for file in files) <= _ALONE
                    for batch in _parted(files):
                        await turn.acquire()
                        task = group.create_task(self._taken_in(batch))
                        task.add_done_callback(lambda _: turn.release())
        except* (DeadlineExceeded, TimeoutError):
            is_late = True
        except* RetinueError as errors:
            failure = _first(errors)  # raised here, it would be wrapped again
        finally:
            watch.stop()
        if failure is not None:
            raise failure
        self._tell(is_late=is_late)
        await in_thread(self._keep)
        return {path: self.found[path] for path in self.paths if path in self.found}

    def _tell(self, *, is_late: bool) -> None:
        for path in sorted(self.failed):
            self.work.report.note("{} was left out: {}", code(path), self.failed[path].message)
        left = len(self.paths) - len(self.found) - len(self.failed)
        if is_late and not self.found:
            raise DeadlineExceeded("Time was up before anything was read.", hint="Allow more time, or name a folder.")
        if is_late:
            self.work.report.warn(
                "incomplete_context",
                f"Time was up before {left:,} of {len(self.paths):,} files were read.",
                impact="Figures do not speak of these.",
                recovery="Allow more time, or name a folder.",
            )

    def _keep(self) -> None:
        if self.known is None:
            return
        is_whole = self.work.asked.path in ("", ".") and len(self.found) == len(self.paths)
        note = self.known.save(self.new, self.keys.values() if is_whole else None)
        if note:
            self.work.report.note("{}", note)

    def _unknown(self, paths: Sequence[str]) -> list[_File]:
        """Those of some files that nothing is known of yet, read; what is known is taken over."""
        files: list[_File] = []
        for path in paths:
            try:
                text = self.work.workspace.read_text(path)
            except RetinueError as error:  # it is no text, it vanished, or it may not be read
                self.failed[path] = error
                continue
            kind, data = path.rpartition(".")[2], text.encode("utf-8", "surrogatepass")
            key = self.keys[path] = content_key(kind, data) if self.known is not None else ""
            said = None if self.known is None else self.new.get(key) or self.known.get(key)
            if said is None:
                files.append(_File(path, text, key))
            else:
                self.found[path] = said
        return files

    async def _taken_in(self, batch: Sequence[_File]) -> None:
        self.work.watch.check()
        for file, made in zip(batch, await self._made(batch), strict=True):
            if made is None:
                continue
            self.found[file.path] = made
            if self.known is not None:
                self.new[file.key] = made
        done = len(self.found) + len(self.failed)
        self.work.run.emit(Progress("reading files", "", done, len(self.paths)))

    async def _made(self, batch: Sequence[_File]) -> Sequence[T | None]:
        files = [(file.path, file.text) for file in batch]
        if self.here:
            return await in_thread(self.read, files)
        try:
            return await self.work.run.offload(self.read, files)
        except (AccessDenied, Unavailable):  # this run has no processes to give
            self.here = True
            return await in_thread(self.read, files)
        except InternalError:
            # Its worker died; one file did that, and the others are not to pay for it.
            return [await self._alone(file) for file in files]

    async def _alone(self, file: tuple[str, str]) -> T | None:
        self.work.watch.check()
        try:
            return (await self.work.run.offload(self.read, [file]))[0]
        except InternalError as error:
            self.failed[file[0]] = error
            return None


def _parted(files: Sequence[_File]) -> Iterator[list[_File]]:
    """Batches that are worth a process each."""
    batch: list[_File] = []
    size = 0
    for file in files:
        batch.append(file)
        size += len(file.text)
        if size >= _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _first(errors: BaseExceptionGroup[RetinueError]) -> RetinueError:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of RetinueError
    assert isinstance(found, RetinueError)  # noqa: S101 - the group holds nothing else
    return found
