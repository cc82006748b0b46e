"""`Index`: searches the text files of a workspace.

It keeps for every file which terms occur in it, nothing more: enough to know how rare a term is and which files can
hold a good answer. Those few are read and scored passage by passage when a question comes, best prospects first, until
no other file could do better. It ranks; it does not answer, and it trusts nothing that it reads.
"""

import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappush, heappushpop
from math import log
from pathlib import Path
from threading import Lock
from time import time_ns
from typing import Self, TypeAlias
from zlib import crc32

from retinue.errors import RetinueError
from retinue.tools.encoding import decode, is_binary
from retinue.tools.search.cache import CacheFile, Known, Terms, digest_of
from retinue.tools.search.kinds import NO_TEXT, Kind, is_test, kind_of, why_not
from retinue.tools.search.ranking import Passage, Question, passages_of
from retinue.tools.search.words import WORD, expand, query_terms
from retinue.tools.tree import FileEntry, Skipped, list_files, matcher
from retinue.tools.workspace import Workspace

__all__ = ["Index", "Progress", "Refreshed"]

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many files were looked at and how many there are. What it raises stops the work."""

_LARGEST = 1_000_000
_UNSETTLED_NS = 2_000_000_000
_REPORT_EVERY = 50
_MOST_READ = 12_000_000
_TEST_SHARE = 0.8
"""Tests use the words of what they test more often than it does itself; what is asked about is mostly the thing."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What one look at the tree found.

    Attributes:
        files: How many files can be searched.
        read: How many of them had to be read, because they were new or had changed.
        removed: How many known ones are gone.
        skipped: What is not searched, and why.
        warnings: What did not work and cost only time, such as an unusable cache.
    """

    files: int
    read: int
    removed: int
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """One searchable file and how much a question can hope for from it."""

    entry: FileEntry
    kind: Kind
    question: Question
    hope: float


class Index:
    """The searchable files of a workspace; one may be used from several threads.

    Args:
        workspace: What is searched.
        cache_dir: Where to remember between runs what was found; None remembers nothing.
    """

    def __init__(self, workspace: Workspace, *, cache_dir: str | os.PathLike[str] | None = None) -> None:
        self._workspace = workspace
        self._cache = None if cache_dir is None else CacheFile(Path(cache_dir), str(workspace.root))
        self._lock = Lock()
        self._loaded = self._cache is None
        self._known: dict[str, Known] = {}
        self._searchable: tuple[tuple[FileEntry, Kind, Terms], ...] = ()

    @classmethod
    def open(
        cls,
        workspace: Workspace,
        *,
        cache_dir: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """An index of `workspace` that is up to date."""
        index = cls(workspace, cache_dir=cache_dir)
        index.refresh(progress=progress)
        return index

    def refresh(self, *, progress: Progress | None = None) -> Refreshed:
        """Take in what was added, changed and removed since the last time.

        A file whose size and age are as they were is not read again; one whose content was seen before, under whatever
        name, is not taken apart again.

        Raises:
            InvalidInput: The workspace holds far too many files.
        """
        with self._lock:
            return self._refreshed(progress)

    def search(
        self,
        query: str,
        *,
        kinds: Sequence[Kind] = ("docs", "code"),
        paths: Iterable[str] = (),
        limit: int = 20,
    ) -> list[Passage]:
        """The passages that fit `query` best, best first; of equals the one that comes first in the tree.

        At most about 12 MB of text is read for one question, the most hopeful files first; in a larger tree a passage
        whose file holds only common words of the question may be missed.

        Args:
            query: A question or some words; what it has beyond 64 different terms is not looked at.
            kinds: Which kinds of files to search.
            paths: Only files that one of these patterns names (see `tree.glob`).
            limit: At most this many.

        Raises:
            InvalidInput: A pattern is none.
        """
        wanted = query_terms(query[:20_000])
        is_wanted = matcher(paths)
        if not wanted or limit < 1:
            return []
        best: list[tuple[float, int, Passage]] = []
        order, read = 0, 0
        for found in self._hopeful(wanted, frozenset(kinds), is_wanted):
            floor = best[0][0] if len(best) == limit else 0.0
            if found.hope <= floor or read > _MOST_READ:
                break
            read += found.entry.size
            for passage in self._passages(found, floor):
                order -= 1
                push = heappush if len(best) < limit else heappushpop
                push(best, (passage.score, order, passage))
        return sorted(
            (passage for _, _, passage in best), key=lambda passage: (-passage.score, passage.path, passage.start)
        )

    # --- looking at the tree ------------------------------------------------------------------------------------

    def _refreshed(self, progress: Progress | None) -> Refreshed:
        warnings: list[str] = []
        if not self._loaded and self._cache is not None:
            self._known, warning = self._cache.load()
            warnings += [warning] if warning else []
            self._loaded = True
        listing = list_files(self._workspace)
        warnings += [listing.note] if listing.note else []
        look = _Look(self._workspace, self._known)
        try:
            for number, entry in enumerate(listing.files):
                if progress is not None and number % _REPORT_EVERY == 0:
                    progress(number, len(listing.files))
                look.at(entry)
        finally:
            # Also when it was stopped half-way: what was read is not read again, and can be searched.
            partial = look.is_partial(listing.files)
            removed = 0 if partial else len(self._known.keys() - look.known.keys())
            changed = bool(look.read or removed)
            self._known = {**self._known, **look.known} if partial else look.known
            before = {item[0].path: item for item in self._searchable} if partial else {}
            self._searchable = (*{**before, **{item[0].path: item for item in look.searchable}}.values(),)
            if changed and self._cache is not None:
                warning = self._cache.save(self._known)
                warnings += [warning] if warning else []
        if progress is not None:
            progress(len(listing.files), len(listing.files))
        skipped = sorted((*listing.skipped, *look.skipped), key=lambda item: item.path)
        return Refreshed(len(self._searchable), look.read, removed, tuple(skipped), tuple(warnings))

    # --- answering ----------------------------------------------------------------------------------------------

    def _hopeful(self, wanted: Sequence[str], kinds: frozenset[Kind], is_wanted: Callable[[str], bool]) -> list[_Found]:
        """The files that hold any of the terms, the most hopeful first."""
        files = [file for file in self._searchable if file[1] in kinds]
        checks = [crc32(term.encode()) for term in wanted]
        held = [[_holds(terms, check) for check in checks] for _, _, terms in files]
        weights = [_idf(sum(column), len(files)) for column in zip(*held, strict=True)]
        plain = Question(dict(zip(wanted, weights, strict=False)))
        of_tests = plain if "test" in wanted else plain.scaled(_TEST_SHARE)
        found: list[_Found] = []
        for (entry, kind, _), row in zip(files, held, strict=True):
            if any(row) and is_wanted(entry.path):
                question = of_tests if is_test(entry.path) else plain
                hope = question.hope(term for term, holds in zip(wanted, row, strict=True) if holds)
                found.append(_Found(entry, kind, question, hope))
        found.sort(key=lambda file: (-file.hope, file.entry.path))
        return found

    def _passages(self, found: _Found, floor: float) -> Iterable[Passage]:
        try:
            data = self._workspace.read_bytes(found.entry.path, max_bytes=_LARGEST)
        except RetinueError:
            return ()  # it changed after the tree was looked at; the next refresh says why
        return passages_of(found.entry.path, found.kind, _text(data), found.question, floor=floor)


class _Look:
    """One pass over the files of a tree: what is known of each afterwards."""

    def __init__(self, workspace: Workspace, before: dict[str, Known]) -> None:
        self.known: dict[str, Known] = {}
        self.searchable: list[tuple[FileEntry, Kind, Terms]] = []
        self.skipped: list[Skipped] = []
        self.read = 0
        self._seen = 0
        self._workspace = workspace
        self._before = before
        self._by_digest = {(known.digest, kind_of(path)): known for path, known in before.items()}
        self._settled_before = time_ns() - _UNSETTLED_NS

    def is_partial(self, files: Sequence[FileEntry]) -> bool:
        """Whether it was stopped before it had seen all of them."""
        return self._seen < len(files)

    def at(self, entry: FileEntry) -> None:
        """Take in one file."""
        kind = kind_of(entry.path)
        if entry.is_link:
            pass  # what it leads to is in the listing itself
        elif kind is None:
            self.skipped.append(Skipped(entry.path, NO_TEXT))
        elif entry.size > _LARGEST:
            self.skipped.append(Skipped(entry.path, f"it holds {entry.size} bytes, more than {_LARGEST}"))
        else:
            self._take(entry, kind)
        self._seen += 1

    def _take(self, entry: FileEntry, kind: Kind) -> None:
        known = self._before.get(entry.path)
        if known is None or (known.size, known.mtime_ns) != (entry.size, entry.mtime_ns):
            try:
                known = self._examined(entry)
            except RetinueError as error:
                self.skipped.append(Skipped(entry.path, error.message))
                return
            self.read += 1
        self.known[entry.path] = known
        if known.reason:
            self.skipped.append(Skipped(entry.path, known.reason))
        else:
            self.searchable.append((entry, kind, known.terms))

    def _examined(self, entry: FileEntry) -> Known:
        data = self._workspace.read_bytes(entry.path, max_bytes=_LARGEST)
        digest = digest_of(data)
        # A file that changed a moment ago may change again without looking older: its age proves nothing yet.
        mtime_ns = entry.mtime_ns if entry.mtime_ns < self._settled_before else 0
        same = self._by_digest.get((digest, kind_of(entry.path)))
        if same is not None:
            return replace(same, size=entry.size, mtime_ns=mtime_ns)
        text = "" if is_binary(data) else _text(data)
        reason = why_not(entry.path, text) if text or not data else "it is binary"
        return Known(entry.size, mtime_ns, digest, array("I") if reason else _checks(text), reason)


def _text(data: bytes) -> str:
    text = decode(data).text
    return text.replace("\r\n", "\n") if "\r" in text else text


def _checks(text: str) -> Terms:
    """The checksums of the distinct terms of a text, sorted."""
    return array("I", sorted({check for word in set(WORD.findall(text)) for check in _checks_of(word)}))


@lru_cache(maxsize=1 << 16)
def _checks_of(word: str) -> tuple[int, ...]:
    return tuple(crc32(term.encode()) for term in expand(word))


def _holds(terms: Terms, check: int) -> bool:
    place = bisect_left(terms, check)
    return place < len(terms) and terms[place] == check


def _idf(holders: int, files: int) -> float:
    return log(1 + (files - holders + 0.5) / (holders + 0.5))
