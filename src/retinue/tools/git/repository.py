"""`Git`: the verbs over one repository, each a fact and no more.

It gives states such as "no commits yet", "bare", "shallow" or "detached" as values, because they are facts and not
failures. It judges nothing: what makes a good commit or a stale branch is its caller's matter.
"""

import os
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from retinue.contract.names import nearest
from retinue.errors import AccessDenied, InvalidInput, MissingFile, UnknownName
from retinue.tools import paths as path_rules
from retinue.tools.git import parse
from retinue.tools.git.records import BlameLine, Branch, Commit, FileChange, HeadRef, Status, Tag, TreeEntry
from retinue.tools.git.runner import GitRunner, RepositoryFacts, git_error, read_facts

_DEFAULT_NAMES = ("main", "master", "trunk", "develop", "default")
_ODD_TEXT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class Git:
    """The repository that a folder is in.

    Args:
        root: The folder: the top of a work tree, a folder inside one, or a bare repository. All paths given and taken
            are relative to it.
        timeout_s: Seconds any one git command may take.
        max_bytes: Bytes any one git command may print.

    Any verb may raise what `Runner.run` raises; most telling are `MissingFile` (no repository), `AccessDenied`
    (another user's) and `NotInstalled` (no git).
    """

    def __init__(
        self, root: str | os.PathLike[str], *, timeout_s: float = 30.0, max_bytes: int = 256 * 1024 * 1024
    ) -> None:
        self._root = os.path.realpath(path_rules.check_path(root))
        if not Path(self._root).is_dir():
            raise MissingFile(f"{self._root!r} is not a folder", hint="name the folder of a repository")
        self._runner = GitRunner(self._root, timeout_s=timeout_s, max_bytes=max_bytes)
        self._cached_facts: RepositoryFacts | None = None

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Every git command run so far, as argument lists, without the safety options that all of them got (G9)."""
        return tuple(self._runner.commands)

    @property
    def root(self) -> str:
        """The real path of the folder."""
        return self._root

    @property
    def prefix(self) -> str:
        """Where the root lies in the repository: empty at its top, else a path that ends with `/`."""
        return self._facts.prefix

    def is_bare(self) -> bool:
        """Whether the repository has no work tree."""
        return self._facts.is_bare

    def is_shallow(self) -> bool:
        """Whether history was cut off when it was cloned."""
        return self._facts.is_shallow

    def head(self) -> HeadRef:
        """Where HEAD points."""
        self._ensure_repository()
        branch = self._line("symbolic-ref", "--quiet", "--short", "HEAD")
        return HeadRef(branch or None, self._line("rev-parse", "--verify", "--quiet", "HEAD^{commit}") or None)

    def default_base(self) -> str | None:
        """The branch that others are compared with: what the remote calls its HEAD, else main, master and their like.

        None when there is no such branch.
        """
        self._ensure_repository()
        remote_head = self._line("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
        names = {branch.name for branch in self.branches()}
        if remote_head and remote_head in names:
            return remote_head
        candidates = (*_DEFAULT_NAMES, *(f"origin/{name}" for name in _DEFAULT_NAMES))
        return next((name for name in candidates if name in names), None)

    def resolve(self, revision: str) -> str:
        """The full id of the commit that `revision` names.

        Raises:
            InvalidInput: It cannot be a revision: empty, with white space or control characters, or an option.
            UnknownName: It names no commit; `suggestions` holds branches and tags that sound like it.
        """
        self._ensure_repository()
        _check_revision(revision)
        sha = self._line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if not sha:
            raise self._unknown_revision(revision)
        return sha

    def merge_base(self, first: str, second: str) -> str | None:
        """The best common ancestor of two commits; None when they share none (or a shallow clone hides it)."""
        return self._line("merge-base", self.resolve(first), self.resolve(second)) or None

    def count(self, revision: str = "HEAD") -> int:
        """How many commits a revision or range (`main..HEAD`) reaches."""
        if self._is_unborn(revision):
            return 0
        with self._suggest_revisions(revision):
            return int(self._line("rev-list", "--count", "--end-of-options", revision, "--"))

    def log(
        self,
        revision: str = "HEAD",
        *,
        limit: int | None = None,
        since: datetime | None = None,
        changing: str = "",
        paths: Iterable[str] = (),
        stat: bool = False,
        names: bool = False,
        skip: int = 0,
        excluding: str = "",
        timeout_s: float | None = None,
    ) -> Iterator[Commit]:
        """Commits of a revision or range, newest first; one process, one commit in memory at a time.

        Args:
            revision: A branch, tag, commit or range such as `main..HEAD`.
            limit: At most this many.
            since: Not older than this (by committer date); a time without zone is UTC.
            changing: Only those after which this text stands in a file more or less often than before; merges are none.
            paths: Only those that touch one of these files or folders.
            stat: Also what each did to files.
            names: Also which files each touched, which costs far less.
            skip: Without the first so many of them.
            excluding: Without those that this commit reaches.
            timeout_s: Seconds it may take, when that is less than any command may.

        Raises:
            InvalidInput: `revision`, `limit` or a path cannot be one.
            UnknownName: `revision` names nothing.
        """
        if len(changing) > 1000 or _ODD_TEXT.search(changing):
            raise InvalidInput(f"`changing` cannot be {path_rules.clip(changing)!r}", hint="give a short plain text")
        words = ["log", "-z", f"--format={parse.LOG_FORMAT}", "--encoding=UTF-8", "--no-show-signature", "--no-color"]
        words += _STAT if stat else _NAMES if names else ["--no-patch"]
        words += [f"--skip={skip}"] if skip else []
        if limit is not None:
            if limit < 0:
                raise InvalidInput(f"`limit` is {limit!r}", hint="give 0 or more")
            words.append(f"--max-count={limit}")
        if since is not None:
            aware = since if since.tzinfo else since.replace(tzinfo=UTC)
            words.append(f"--since=@{int(aware.timestamp())}")
        words += [f"-S{changing}", "--no-ext-diff", "--no-textconv"] if changing else []
        # Resolved to an id: nothing in a name can then make it another range.
        revisions = [revision, *([f"^{self.resolve(excluding)}"] if excluding else [])]
        if self._is_unborn(revision):
            return iter(())
        tail = ["--end-of-options", *revisions, "--", *(self.inside(path) for path in paths)]
        return self._commits(revision, [*words, *tail], stat=stat or names, timeout_s=timeout_s)

    def sizes(self, shas: Sequence[str]) -> Iterator[Commit]:
        """These commits with what each did to files, in that order; history is not walked."""
        words = ["show", "-z", f"--format={parse.LOG_FORMAT}", "--encoding=UTF-8", "--no-show-signature", "--no-color"]
        words += [*_STAT, "--end-of-options", *map(self.resolve, shas[:1]), *shas[1:], "--"]
        return self._commits(shas[0], words, stat=True) if shas else iter(())

    def shas(self, revision: str) -> list[str]:
        """The ids of the commits that a revision or range reaches, newest first."""
        if self._is_unborn(revision):
            return []
        with self._suggest_revisions(revision):
            return self._line("rev-list", "--end-of-options", revision, "--").split()

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `new` reaches the commit `old`; not so when one of them is gone."""
        return self._runner.run("merge-base", "--is-ancestor", old, new, accept=(1, 128)).code == 0

    def log_fingerprint(self) -> str:
        """What decides what `log` says beside the commits: replaced ones, who is who, and settings."""
        replacements = self._line("for-each-ref", "--format=%(refname) %(objectname)", "refs/replace")
        settings = self._line("config", "--get-regexp", r"^(core|diff|i18n|log|mailmap)\.")
        common, top = self._facts.common, Path(self._root, *[".."] * self.prefix.count("/"))
        files = (common / "shallow", common / "info" / "grafts", top / ".mailmap")
        states: list[tuple[int, int] | None] = []
        for file in files:
            try:
                status = file.stat()
                states.append((status.st_size, status.st_mtime_ns))
            except OSError:
                states.append(None)
        return repr((self.prefix, replacements, settings, *states))

    def diff_files(self, base: str, head: str | None = None) -> list[FileChange]:
        """What differs between two commits, or between one and the work tree (`head` None), with renames found."""
        first = self.resolve(base)
        if head is None:
            self._ensure_work_tree("compare with a commit")
        ends = [first] if head is None else [first, self.resolve(head)]
        words = ("diff", "-z", *_STAT, "--ignore-submodules=dirty", "--end-of-options", *ends, "--")
        output = self._runner.run(*words, touches_files=head is None)
        return parse.changes(parse.tokens([output.stdout]), prefix=self.prefix)

    def status(self) -> Status:
        """The state of the work tree: staged, unstaged, unmerged and untracked files, and the upstream.

        Raises:
            InvalidInput: The repository is bare.
        """
        self._ensure_work_tree("have a status of")
        words = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=dirty")
        output = self._runner.run(*words, "--renames", touches_files=True)
        return parse.status(output.stdout, prefix=self.prefix)

    def blame(self, path: str, *, start: int = 1, end: int | None = None, revision: str = "HEAD") -> list[BlameLine]:
        """Who last touched the lines `start` to `end` (both from 1, both included) of a file at `revision`.

        Raises:
            InvalidInput: The range is not in the file.
            MissingFile: The file is not in that commit.
        """
        # The id, not the name: nothing in it can be taken for an option.
        sha = self.resolve(revision)
        if start < 1 or (end is not None and end < start):
            raise InvalidInput(f"lines {start!r} to {end!r} are not a range", hint="count lines from 1")
        lines = f"{start},{'' if end is None else end}"
        # `-c blame.ignoreRevsFile=` would only add one: all of them are read, and a missing one is fatal.
        words = ("blame", "--porcelain", "--no-textconv", "--no-ignore-revs-file", "-L", lines, "--encoding=UTF-8")
        output = self._runner.run(*words, sha, "--", self.inside(path), accept=(128,))
        if output.code:
            self._raise_for_file(output.stderr, path, revision)
        return parse.blame(output.stdout)

    def show_file(self, revision: str, path: str) -> bytes:
        """The bytes of a file as it was at `revision`.

        Raises:
            MissingFile: It is not in that commit, or is not a file there.
        """
        sha = self.resolve(revision)
        output = self._runner.run("cat-file", "blob", f"{sha}:{self.prefix}{self.inside(path)}", accept=(128,))
        if output.code:
            self._raise_for_file(output.stderr, path, revision)
        return output.stdout

    def tree(self, revision: str) -> list[TreeEntry]:
        """Every file and link of a commit, submodules and names that are not UTF-8 left out."""
        output = self._runner.run("ls-tree", "-r", "-z", "--full-tree", self.resolve(revision))
        return parse.tree(output.stdout)

    def branches(self) -> list[Branch]:
        """All local and remote-tracking branches, the most recently changed first."""
        self._ensure_repository()
        words = ("for-each-ref", "--sort=-committerdate", f"--format={parse.BRANCH_FORMAT}")
        return parse.branches(self._runner.run(*words, "refs/heads", "refs/remotes").stdout)

    def tags(self) -> list[Tag]:
        """All tags, the newest first."""
        self._ensure_repository()
        words = ("for-each-ref", "--sort=-creatordate", f"--format={parse.TAG_FORMAT}", "refs/tags")
        return parse.tags(self._runner.run(*words).stdout)

    def list_files(self) -> list[bytes]:
        """Tracked and untracked files under the root that are not ignored, as raw names, links and submodules too."""
        self._ensure_work_tree("list")
        words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
        return [name for name in self._runner.run(*words).stdout.split(b"\0") if name]

    def inside(self, path: str) -> str:
        """`path` from the root, as text only: it may name a file that is no longer there."""
        text = path_rules.check_path(path)
        whole = text if text.startswith("/") else f"{self._root}/{text}"
        below = path_rules.parts_below(os.path.normpath(whole), self._root)
        if below is None:
            raise AccessDenied(f"{text!r} lies outside of {self._root!r}", hint="name a path in the repository")
        return "/".join(below) or "."

    # --- what all verbs stand on --------------------------------------------------------------------------------

    @property
    def _facts(self) -> RepositoryFacts:
        if self._cached_facts is None:
            self._cached_facts = read_facts(self._runner)
        return self._cached_facts

    def _ensure_repository(self) -> None:
        """Make sure that this is a repository we may use, before any verb takes an exit code for an answer."""
        _ = self._facts

    def _line(self, *words: str) -> str:
        return self._runner.run(*words, accept=(1,)).stdout.decode("utf-8", "replace").removesuffix("\n")

    def _commits(
        self, revision: str, words: list[str], *, stat: bool, timeout_s: float | None = None
    ) -> Iterator[Commit]:
        with self._suggest_revisions(revision):
            pieces = parse.tokens(self._runner.stream(*words, timeout_s=timeout_s))
            yield from parse.commits(pieces, prefix=self.prefix, shallow=self._facts.edge, stat=stat)

    def _is_unborn(self, revision: str) -> bool:
        """Check `revision`, and say whether it is a HEAD that has no commit yet."""
        self._ensure_repository()
        _check_revision(revision)
        return revision == "HEAD" and not self._line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def _ensure_work_tree(self, verb: str) -> None:
        if not self._facts.has_files:
            raise InvalidInput(
                f"{self._root!r} is bare or a git folder: it has no files of its own to {verb}",
                hint="use a clone with files",
            )

    @contextmanager
    def _suggest_revisions(self, revision: str) -> Generator[None]:
        try:
            yield
        except UnknownName as error:
            raise self._unknown_revision(revision) from error

    def _unknown_revision(self, revision: str) -> UnknownName:
        names = [branch.name for branch in self.branches()] + [tag.name for tag in self.tags()]
        parts = revision.replace("...", "..").split("..")
        near = [name for part in parts if part not in names for name in nearest(part, names)]
        return UnknownName(
            f"{path_rules.clip(revision)!r} names no commit in this repository",
            hint=f"use one of: {', '.join((near or names)[:5])}" if names else "the repository has no commits yet",
            suggestions=tuple(near or names[:5]),
        )

    def _raise_for_file(self, stderr: str, path: str, revision: str) -> None:
        if "has only" in stderr:
            raise InvalidInput(
                f"{path!r} has fewer lines: {stderr.strip().removeprefix('fatal: ')}",
                hint="ask for lines that are there",
            )
        if any(words in stderr for words in ("no such path", "does not exist", "bad file", "exists on disk")):
            raise MissingFile(
                f"{path!r} is not a file at {revision!r}", hint="check the path, or take another revision"
            )
        raise git_error(stderr, code=128, root=self._root)


_NAMES = ["--raw", "--no-ext-diff", "--no-textconv", "--find-renames", "--no-relative", "--no-abbrev"]
_STAT = ["--numstat", *_NAMES]


def _check_revision(revision: str) -> None:
    if not revision or revision.startswith("-") or len(revision) > 1000 or _ODD_TEXT.search(revision):
        raise InvalidInput(
            f"{path_rules.clip(revision)!r} cannot be a revision",
            hint="give a branch, tag, commit id, or a range such as `main..HEAD`",
        )
