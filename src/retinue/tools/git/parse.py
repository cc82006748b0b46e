"""Reads git's machine output (`-z`, porcelain) as records: pure functions over bytes, no process and no file.

Fields are counted, never searched for, so that no message, name or path can pass for something else.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final

from retinue.errors import InternalError
from retinue.tools.git.records import (
    BlameLine,
    Branch,
    ChangeKind,
    Commit,
    FileChange,
    HeadRef,
    Status,
    Tag,
    TreeEntry,
    WorktreeChange,
)
from retinue.tools.paths import quote_name

LOG_FORMAT: Final = "%H%x00%P%x00%aN%x00%aE%x00%aI%x00%cN%x00%cI%x00%s%x00%b%x00"
BRANCH_FORMAT: Final = (
    "%(refname)%00%(objectname)%00%(upstream)%00%(committerdate:iso-strict)%00%(subject)%00%(symref)%00"
)
TAG_FORMAT: Final = "%(refname)%00%(objectname)%00%(*objectname)%00%(creatordate:iso-strict)%00%(subject)%00"

_LOG_FIELDS: Final = 9
_SHA = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_KINDS: Final[dict[str, ChangeKind]] = {
    "A": "added", "C": "copied", "D": "deleted", "M": "modified", "R": "renamed", "T": "type_changed", "U": "unmerged",
}  # fmt: skip


def tokens(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The NUL-ended pieces of a stream of bytes; what follows the last NUL comes last, unless it is empty."""
    rest = b""
    for chunk in chunks:
        # A record may end in the next chunk.
        *whole, rest = (rest + chunk).split(b"\0") if rest else chunk.split(b"\0")
        yield from whole
    if rest:
        yield rest


def commits(pieces: Iterator[bytes], *, prefix: str, shallow: frozenset[str], stat: bool) -> Iterator[Commit]:
    """Commits from `git log -z --format=LOG_FORMAT`, with `--raw --numstat` when `stat`; one in memory at a time."""
    commit: Commit | None = None
    collected = _Changes()
    for line in pieces:
        piece = line.removeprefix(b"\n")  # git puts a line break between message and changes
        if not piece or collected.add(piece, pieces):
            continue
        if not _SHA.fullmatch(piece):
            raise InternalError(f"git log gave {piece[:80]!r} in place of a commit", hint="please report it")
        if commit is not None:
            yield commit if commit.changes is None else replace(commit, changes=collected.finish(prefix))
        parents, author, email, date, committer, committer_date, subject, body = (
            _text(_next_piece(pieces)) for _ in range(_LOG_FIELDS - 1)
        )
        collected = _Changes()
        sha = piece.decode()
        has_changes = stat and len(parents.split()) <= 1 and sha not in shallow
        commit = Commit(
            sha, tuple(parents.split()), author, email, date, committer, committer_date, subject, body.strip("\n"),
            () if has_changes else None,
        )  # fmt: skip
    if commit is not None:
        yield commit if commit.changes is None else replace(commit, changes=collected.finish(prefix))


def tree(output: bytes) -> list[TreeEntry]:
    """The entries of `git ls-tree -r -z`."""
    entries: list[TreeEntry] = []
    for line in output.split(b"\0"):
        mode, _, rest = line.partition(b" ")
        if mode in {b"100644", b"100755", b"120000"}:
            with suppress(UnicodeDecodeError):
                entries.append(TreeEntry(rest.partition(b"\t")[2].decode(), is_link=mode == b"120000"))
    return entries


def changes(pieces: Iterator[bytes], *, prefix: str) -> list[FileChange]:
    """File changes from `git diff -z --raw --numstat`."""
    collected = _Changes()
    for piece in pieces:
        collected.add(piece, pieces)
    return list(collected.finish(prefix))


class _Changes:
    """What `--raw --numstat` says of one commit: states first, then counts."""

    def __init__(self) -> None:
        self._states: dict[bytes, tuple[ChangeKind, bytes | None]] = {}
        self._counts: dict[bytes, tuple[int | None, int | None]] = {}

    def add(self, piece: bytes, pieces: Iterator[bytes]) -> bool:
        """Whether `piece` begins a change, which then is read to its end."""
        if piece.startswith(b":"):
            letter = piece.rpartition(b" ")[2][:1].decode()
            path = _next_piece(pieces)
            old, path = (path, _next_piece(pieces)) if letter in "RC" else (None, path)
            self._states[path] = (_KINDS.get(letter, "unknown"), old)
        elif b"\t" in piece:
            added, deleted, path = piece.split(b"\t", 2)
            if not path:  # a rename: its two names follow
                _next_piece(pieces)
                path = _next_piece(pieces)
            self._counts[path] = (_count(added), _count(deleted))
        else:
            return False
        return True

    def finish(self, prefix: str) -> tuple[FileChange, ...]:
        return tuple(
            FileChange(
                kind,
                _path(path, prefix),
                path,
                _path(old, prefix) if old else None,
                *self._counts.get(path, (None, None)),
            )
            for path, (kind, old) in self._states.items()
        )


def status(data: bytes, *, prefix: str) -> Status:
    """A work tree's state from `git status --porcelain=v2 --branch -z`."""
    pieces = iter(data.split(b"\0"))
    facts: dict[str, str] = {}
    staged: list[WorktreeChange] = []
    unstaged: list[WorktreeChange] = []
    unmerged: list[WorktreeChange] = []
    untracked: list[WorktreeChange] = []
    for piece in pieces:
        mark = piece[:2]
        if mark == b"# ":
            name, _, value = _text(piece[2:]).partition(" ")
            facts[name] = value
        elif mark == b"? ":
            untracked.append(_change("A", piece[2:], prefix))
        elif mark == b"u ":
            unmerged.append(_change("U", piece.split(b" ", 10)[10], prefix))
        elif mark in (b"1 ", b"2 "):
            fields = piece.split(b" ", 8 if mark == b"1 " else 9)
            old = _next_piece(pieces) if mark == b"2 " else None
            for letter, into in zip(fields[1].decode(), (staged, unstaged), strict=True):
                if letter != ".":
                    into.append(_change(letter, fields[-1], prefix, old if letter in "RC" else None))
    branch, sha = facts.get("branch.head"), facts.get("branch.oid")
    head = HeadRef(None if branch == "(detached)" else branch, None if sha == "(initial)" else sha)
    ahead, behind = map(int, facts["branch.ab"].split(" ")) if "branch.ab" in facts else (None, None)
    return Status(
        head,
        facts.get("branch.upstream"),
        ahead,
        None if behind is None else -behind,
        *map(tuple, (staged, unstaged, unmerged, untracked)),
    )


def blame(data: bytes) -> list[BlameLine]:
    """Lines and their commits from `git blame --porcelain`, which describes each commit only once."""
    facts_by_sha: dict[str, dict[str, str]] = {}
    lines: list[BlameLine] = []
    sha, line = "", 0
    for row in data.split(b"\n"):
        if row.startswith(b"\t"):
            facts = facts_by_sha[sha]
            lines.append(
                BlameLine(
                    line,
                    _text(row[1:]).rstrip("\r"),
                    sha,
                    facts.get("author", ""),
                    facts.get("author-mail", "").strip("<>"),
                    int(facts.get("author-time", "0")),
                    facts.get("summary", ""),
                )
            )
            sha = ""
        elif not sha and row:
            fields = row.split(b" ")
            sha, line = fields[0].decode(), int(fields[2])
            facts_by_sha.setdefault(sha, {})
        elif row:
            name, _, value = _text(row).partition(" ")
            facts_by_sha[sha][name] = value
    return lines


def branches(data: bytes) -> list[Branch]:
    """Branches from `git for-each-ref --format=BRANCH_FORMAT`, symbolic ones (a remote's HEAD) left out."""
    result: list[Branch] = []
    for name, sha, upstream, date, subject, symbolic in _rows(data, 6):
        # A remote's HEAD is another name for a branch that is listed anyway.
        if not symbolic:
            tracked = upstream.removeprefix("refs/remotes/").removeprefix("refs/heads/") or None
            is_remote = name.startswith("refs/remotes/")
            short = name.removeprefix("refs/remotes/" if is_remote else "refs/heads/")
            result.append(Branch(short, sha, is_remote, tracked, date, subject))
    return result


def tags(data: bytes) -> list[Tag]:
    """Tags from `git for-each-ref --format=TAG_FORMAT`; an annotated tag gives the object it names."""
    return [
        Tag(name.removeprefix("refs/tags/"), peeled or sha, date, subject)
        for name, sha, peeled, date, subject in _rows(data, 5)
    ]


def _next_piece(pieces: Iterator[bytes]) -> bytes:
    piece = next(pieces, None)
    if piece is None:
        raise InternalError("git's output stopped in the middle of a record", hint="please report it")
    return piece


def _rows(data: bytes, width: int) -> Iterator[tuple[str, ...]]:
    fields = _text(data).split("\0")[:-1]
    for start in range(0, len(fields) - width + 1, width):
        first, *rest = fields[start : start + width]
        yield (first.removeprefix("\n"), *rest)


def _change(letter: str, path: bytes, prefix: str, old: bytes | None = None) -> WorktreeChange:
    return WorktreeChange(_KINDS.get(letter, "unknown"), _path(path, prefix), path, _path(old, prefix) if old else None)


def _count(text: bytes) -> int | None:
    return None if text == b"-" else int(text)


def _path(raw: bytes, prefix: str) -> str:
    if not prefix:
        return quote_name(raw)
    return quote_name(os.path.relpath(b"/" + raw, b"/" + os.fsencode(prefix)))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
