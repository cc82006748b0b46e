"""Reads git's machine output (`-z`, porcelain) as records: pure functions over bytes, no process and no file.

Fields are counted, never searched for, so that no message, name or path can pass for something else.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
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
    "A": "added",
    "C": "copied",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "T": "type_changed",
    "U": "unmerged",
}


def tokens(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The NUL-ended pieces of a stream of bytes; what follows the last NUL comes last, unless it is empty."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\0") if rest else chunk.split(b"\0")
        yield from whole
    if rest:
        yield rest


def commits(pieces: Iterator[bytes], *, prefix: str, shallow: frozenset[str], stat: bool) -> Iterator[Commit]:
    """Commits from `git log -z --format=LOG_FORMAT`, with `--raw --numstat` when `stat`; one in memory at a time."""
    header = next(pieces, None)
    while header is not None:
        if not _SHA.fullmatch(header):
            raise InternalError(f"git log gave {header[:80]!r} in place of a commit", hint="please report it")
        sha, parents, author, email, date, committer, committer_date, subject, body = (
            header.decode(),
            *(_text(_next_piece(pieces)) for _ in range(_LOG_FIELDS - 1)),
        )
        change_pieces, header = _until_next_commit(pieces)
        has_changes = stat and len(parents.split()) <= 1 and sha not in shallow
        yield Commit(
            sha=sha,
            parents=tuple(parents.split()),
            author=author,
            email=email,
            date=date,
            committer=committer,
            committer_date=committer_date,
            subject=subject,
            body=body.strip("\n"),
            changes=tuple(changes(iter(change_pieces), prefix=prefix)) if has_changes else None,
        )


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
    """File changes from `git diff -z --raw --numstat` (or that part of a log): states first, then counts."""
    states: dict[bytes, tuple[ChangeKind, bytes | None]] = {}
    counts: dict[bytes, tuple[int | None, int | None]] = {}
    for piece in pieces:
        if piece.startswith(b":"):
            letter = piece.rpartition(b" ")[2][:1].decode()
            path = _next_piece(pieces)
            old, path = (path, _next_piece(pieces)) if letter in "RC" else (None, path)
            states[path] = (_KINDS.get(letter, "unknown"), old)
        else:
            added, deleted, path = piece.split(b"\t", 2)
            if not path:  # a rename: its two names follow
                _next_piece(pieces)
                path = _next_piece(pieces)
            counts[path] = (_count(added), _count(deleted))
    return [
        FileChange(
            kind, _path(path, prefix), path, _path(old, prefix) if old else None, *counts.get(path, (None, None))
        )
        for path, (kind, old) in states.items()
    ]


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
    ahead, behind = _ahead_behind(facts.get("branch.ab"))
    return Status(
        head=_head(facts),
        upstream=facts.get("branch.upstream"),
        ahead=ahead,
        behind=behind,
        staged=tuple(staged),
        unstaged=tuple(unstaged),
        unmerged=tuple(unmerged),
        untracked=tuple(untracked),
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
                    line=line,
                    text=_text(row[1:]).rstrip("\r"),
                    sha=sha,
                    author=facts.get("author", ""),
                    email=facts.get("author-mail", "").strip("<>"),
                    time=int(facts.get("author-time", "0")),
                    summary=facts.get("summary", ""),
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
        if not symbolic:
            is_remote = name.startswith("refs/remotes/")
            short = name.removeprefix("refs/remotes/" if is_remote else "refs/heads/")
            result.append(
                Branch(
                    short,
                    sha,
                    is_remote,
                    (upstream.removeprefix("refs/remotes/").removeprefix("refs/heads/") or None),
                    date,
                    subject,
                )
            )
    return result


def tags(data: bytes) -> list[Tag]:
    """Tags from `git for-each-ref --format=TAG_FORMAT`; an annotated tag gives the object it names."""
    return [
        Tag(name.removeprefix("refs/tags/"), peeled or sha, date, subject)
        for name, sha, peeled, date, subject in _rows(data, 5)
    ]


def _until_next_commit(pieces: Iterator[bytes]) -> tuple[list[bytes], bytes | None]:
    change_pieces: list[bytes] = []
    for piece in pieces:
        piece = piece.removeprefix(b"\n")  # noqa: PLW2901 - git puts a line break between message and changes
        if piece.startswith(b":"):
            change_pieces += (piece, _next_piece(pieces))
            if piece.rpartition(b" ")[2][:1] in (b"R", b"C"):
                change_pieces.append(_next_piece(pieces))
        elif b"\t" in piece:
            change_pieces.append(piece)
            if not piece.split(b"\t", 2)[2]:
                change_pieces += (_next_piece(pieces), _next_piece(pieces))
        elif piece:
            return change_pieces, piece
    return change_pieces, None


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


def _head(facts: dict[str, str]) -> HeadRef:
    branch, sha = facts.get("branch.head"), facts.get("branch.oid")
    return HeadRef(None if branch == "(detached)" else branch, None if sha == "(initial)" else sha)


def _ahead_behind(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    ahead, behind = text.split(" ")
    return int(ahead), -int(behind)


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
