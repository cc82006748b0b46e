"""Runs the `git` binary so that a hostile repository can neither execute anything nor reach the network.

A repository's own configuration may name programs (fsmonitor, hooks, external diffs, text converters, clean filters,
signature checkers, transports); every one of them is switched off here, for every command. The system's and the user's
configuration stay in force, because `safe.directory` lives there and is never widened. What commands mean is not known
here: see `repository`.
"""

import os
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final

from retinue.errors import AccessDenied, InvalidInput, MissingFile, NotInstalled, RetinueError, Unavailable, UnknownName
from retinue.processes.start import clean_environment, find_program
from retinue.processes.tool_program import ProcessOutput, run, stream
from retinue.tools.paths import clip, parts_below

TRUSTED_SCOPES: Final = frozenset({"system", "global"})
"""Whose settings are the user's word, as git calls them; what a repository says of itself is not."""

_DISABLED_SETTINGS: Final = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.sshCommand=false",
    "core.askPass=",
    "credential.helper=",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "log.showSignature=false",
    "diff.external=",
    "diff.orderFile=/dev/null",
    # A format may hold `%G?`, which runs the program that checks a signature.
    "format.pretty=medium",
    "gpg.program=false",
    "gpg.openpgp.program=false",
    "gpg.x509.program=false",
    "gpg.ssh.program=false",
    # They read files from outside: the history of what a submodule's `.git` leads to, and any file at all.
    "diff.submodule=short",
    "mailmap.file=",
    # Not dangerous, but they would change what is printed.
    "log.showRoot=true",
    "diff.relative=false",
    "color.ui=false",
    "color.diff=false",
    "color.status=false",
    "i18n.logOutputEncoding=UTF-8",
    "status.relativePaths=true",
    "status.showStash=false",
)
_PREFIX: Final = ("--no-pager", "--literal-pathspecs", *(word for pair in _DISABLED_SETTINGS for word in ("-c", pair)))
_ENVIRONMENT: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    # Older versions do not know GIT_NO_LAZY_FETCH; no transport at all is allowed, whatever a configuration says.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
}


class GitRunner:
    """Runs git commands in one folder and remembers them.

    Args:
        root: The folder; git looks for the repository there and above.
        timeout_s: Seconds any one command may take.
        max_bytes: What any one command may print.
    """

    def __init__(self, root: str, *, timeout_s: float, max_bytes: int) -> None:
        self.root = root
        self.commands: list[tuple[str, ...]] = []
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._binary: str | None = None
        self._filter_settings: dict[str, str] | None = None

    def run(self, *words: str, accept: Iterable[int] = (), touches_files: bool = False) -> ProcessOutput:
        """Run `git` with `words` and give all its output.

        Args:
            words: The verb and its arguments.
            accept: Exit codes besides 0 that are answers, not failures.
            touches_files: Whether git will read files of the work tree, and so would run clean filters.

        Raises:
            AccessDenied: The repository belongs to another user, or the system refuses.
            MissingFile: The folder is in no repository.
            UnknownName: A revision names nothing.
            NotInstalled: There is no `git` here.
            Unavailable: An object is missing from a partial clone.
            InvalidInput: git failed otherwise.
            DeadlineExceeded: It took too long.
            LimitReached: It printed too much.
        """
        self.commands.append(("git", *words))
        output = run(
            self._argv(words),
            cwd=self.root,
            env=self._environment(touches_files=touches_files),
            timeout_s=self._timeout_s,
            max_bytes=self._max_bytes,
        )
        if output.code != 0 and output.code not in accept:
            raise git_error(output.stderr, code=output.code, root=self.root)
        return output

    def stream(self, *words: str, timeout_s: float | None = None) -> Generator[bytes, None, None]:
        """Run `git` with `words` and yield its output as it comes, for at most `timeout_s`. Raises as `run`."""
        self.commands.append(("git", *words))
        status = yield from stream(
            self._argv(words),
            cwd=self.root,
            env=self._environment(touches_files=False),
            timeout_s=self._timeout_s if timeout_s is None else min(timeout_s, self._timeout_s),
            max_bytes=self._max_bytes,
        )
        if status.code != 0:
            raise git_error(status.stderr, code=status.code, root=self.root)

    def _argv(self, words: tuple[str, ...]) -> list[str]:
        if self._binary is None:
            self._binary = find_program("git")
        if self._binary is None:
            raise NotInstalled("the program 'git' is not installed", hint="install git 2.31 or later")
        return [self._binary, *_PREFIX, *words]

    def _environment(self, *, touches_files: bool) -> dict[str, str]:
        if touches_files and self._filter_settings is None:
            # Empty every filter that the repository itself defines; the user's own (such as LFS) stay.
            words = ("config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
            fields = self.run(*words, accept=(1,)).stdout.decode("utf-8", "surrogateescape").split("\0")
            pairs = zip(fields[::2], fields[1::2], strict=False)
            own = sorted({name for scope, name in pairs if scope not in TRUSTED_SCOPES})
            # Through the environment, not `-c`: the name of a filter may hold `=`.
            self._filter_settings = {"GIT_CONFIG_COUNT": str(len(own))}
            for number, name in enumerate(own):
                self._filter_settings[f"GIT_CONFIG_KEY_{number}"] = name
                self._filter_settings[f"GIT_CONFIG_VALUE_{number}"] = "false" if name.endswith(".required") else ""
        return clean_environment({**_ENVIRONMENT, **((self._filter_settings or {}) if touches_files else {})})


def git_error(stderr: str, *, code: int, root: str) -> RetinueError:
    """What git's complaint means, as an error of ours."""
    message = stderr.strip()
    line = next((line for line in message.splitlines() if line.startswith("fatal:")), message.partition("\n")[0])
    line = line.removeprefix("fatal: ")[:300] or f"exit code {code}"
    if "dubious ownership" in message:
        return AccessDenied(
            f"the repository at {root!r} belongs to another user", hint=f"if you trust its owner: {trust_command(root)}"
        )
    if "not a git repository" in message:
        return MissingFile(f"{root!r} is in no git repository", hint="start in a repository, or run `git init`")
    if any(words in message for words in _NO_SUCH_REVISION):
        return UnknownName(f"git knows no such revision: {line}", hint="use a branch, tag or commit that exists")
    if any(words in message for words in _MISSING_OBJECT):
        return Unavailable(
            f"an object of this partial clone is not here: {line}", hint="fetch it yourself: nothing is fetched here"
        )
    if "ermission denied" in message:
        return AccessDenied(f"the system refuses git: {line}", hint="check the owner and the mode bits")
    return InvalidInput(f"git failed: {line}", hint="run the command by hand to see more", detail={"exit_code": code})


_NO_SUCH_REVISION: Final = (
    "bad revision", "unknown revision", "ambiguous argument", "Needed a single revision", "Not a valid object name",
    "Not a valid commit name", "invalid object name",
)  # fmt: skip
_MISSING_OBJECT: Final = ("promisor", "could not fetch", "not allowed", "lazy fetch")


def trust_command(folder: str) -> str:
    """The command by which a user says that the repository in `folder` is safe."""
    return f"git config --global --add safe.directory {quote(folder)}"


_HISTORY_ENTRIES: Final = ("HEAD", "index", "logs", "objects", "packed-refs", "refs", "reftable", "shallow")
"""What in a git folder decides which history is shown. The rest may well be a link: hooks, a shared configuration."""

_LONGEST: Final = 8192
_POINTER: Final = "gitdir: "
_ALTERNATE: Final = "alternate: "


def find_owner(runner: GitRunner, git_folder: Path, common: Path) -> Path:
    """The folder whose repository this is: it holds the `.git`, or is the git folder itself.

    Args:
        runner: Runs git in the folder that was asked about.
        git_folder: The real path of the git folder that was found from there.
        common: The real path of the one that holds the objects; another one only for linked work trees.
    """
    here = Path(runner.root)
    folder = next((each for each in (here, *here.parents) if git_folder in (each, _gitdir_target(each / ".git"))), None)
    if folder is None:
        raise AccessDenied(
            f"no `.git` above {runner.root!r} leads to {_quote_path(git_folder)}, which git found there",
            hint="name the top folder of the repository",
        )
    why = _foreign_reason(runner, folder, git_folder, common)
    trusted: set[Path] = set()
    if why:
        words = ("config", "--show-scope", "-z", "--type=path", "--get-all", "safe.directory")
        fields = os.fsdecode(runner.run(*words, accept=(1,)).stdout).split("\0")
        for scope, safe in zip(fields[::2], fields[1::2], strict=False):
            # `*` names no folder: it says that owners do not matter. An empty one takes back those before it.
            if scope in TRUSTED_SCOPES and safe != "*":
                trusted = trusted | {_real_path(Path(safe))} if safe else set()
    if why and folder not in trusted:
        repair_hint = "" if git_folder.is_relative_to(folder) else "; if you moved it: git worktree repair"
        raise AccessDenied(why, hint=f"if you trust the folder: {trust_command(str(folder))}{repair_hint}")
    return folder


def _foreign_reason(runner: GitRunner, folder: Path, git_folder: Path, common: Path) -> str:
    if not git_folder.is_relative_to(folder):
        # A git folder elsewhere must name `folder` in turn: as its linked work tree, or as its files, as submodules do.
        if common != git_folder:
            back = git_folder / _read_line(git_folder / "gitdir")
            is_linked = git_folder.parent == common / "worktrees" and back.name == ".git"
            is_ours = is_linked and _real_path(back.parent) == folder
        else:
            words = ("config", "--show-scope", "-z", "--get", "core.worktree")
            scope, _, files = os.fsdecode(runner.run(*words, accept=(1,)).stdout).rstrip("\0").partition("\0")
            is_ours = bool(files) and scope not in TRUSTED_SCOPES and _real_path(git_folder / files) == folder
        if not is_ours:
            return (
                f"the `.git` of {_quote_path(folder)} leads to "
                f"{_quote_path(git_folder)}, which does not name that folder"
            )
    elif not common.is_relative_to(folder):
        return f"the repository of {_quote_path(folder)} takes its history from {_quote_path(common)}"
    alternates: list[Path] = []
    if os.path.lexists(common / "objects" / "info" / "alternates"):
        lines = os.fsdecode(runner.run("count-objects", "-v").stdout).splitlines()
        paths = [line.removeprefix(_ALTERNATE) for line in lines if line.startswith(_ALTERNATE)]
        # A path with odd characters is quoted, so it lies nowhere.
        alternates = [_real_path(Path(path)) if path.startswith("/") else Path(path) for path in paths]
    for place in alternates:
        if not _lies_in(place, folder, common):
            return f"the repository of {_quote_path(folder)} takes objects from {_quote_path(place)}"
    for link in _links([*(each / name for each in {git_folder, common} for name in _HISTORY_ENTRIES), *alternates]):
        # A folder inside could hold links out again. Git itself makes none of either kind.
        if link.is_dir() or not _lies_in(_real_path(link), folder, git_folder, common):
            return (
                f"the repository of {_quote_path(folder)} holds the link "
                f"{_quote_path(link)} to {_quote_path(_real_path(link))}"
            )
    return ""


def _gitdir_target(path: Path) -> Path | None:
    if not path.is_file():
        return _real_path(path)
    line = _read_line(path)
    return _real_path(path.parent / line.removeprefix(_POINTER)) if line.startswith(_POINTER) else None


def _read_line(path: Path) -> str:
    """What stands in a small file, without its end of line; empty when it cannot be read."""
    if not path.is_file():  # opening a pipe would wait
        return ""
    try:
        with path.open("rb") as file:
            return os.fsdecode(file.read(_LONGEST)).rstrip("\r\n")
    except OSError:
        return ""


def _links(places: Iterable[Path]) -> Iterator[Path]:
    """Every link at or below `places`."""
    waiting = [os.fspath(place) for place in places]
    while waiting:
        place = waiting.pop()
        if Path(place).is_symlink():
            yield Path(place)
            continue
        try:
            with os.scandir(place) as entries:
                waiting += [each.path for each in entries if each.is_symlink() or each.is_dir()]
        except OSError:
            continue  # a file, or not there, or closed to git as well


def _lies_in(path: Path, *folders: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _real_path(path: Path) -> Path:
    return Path(os.path.realpath(path))  # `resolve` raises on links that go round


def _quote_path(path: Path) -> str:
    return repr(clip(str(path)))


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What does not change while a `Git` lives.

    Attributes:
        is_bare: It has no work tree.
        is_shallow: Its history was cut off when it was cloned.
        has_files: The folder lies in its work tree.
        prefix: Where in it: empty at its top, else a path that ends with `/`.
        edge: The commits whose parents a shallow clone cut off.
        common: The folder that holds its objects and settings.
    """

    is_bare: bool
    is_shallow: bool
    has_files: bool
    prefix: str
    edge: frozenset[str]
    common: Path


def read_facts(runner: GitRunner) -> RepositoryFacts:
    """The facts of the repository that the runner's folder is in.

    Raises:
        AccessDenied: It is another folder's, or says that its files are where its `.git` is not.
        RetinueError: as `Runner.run`.
    """
    words = ("--is-bare-repository", "--is-inside-git-dir", "--is-inside-work-tree", "--is-shallow-repository")
    output = os.fsdecode(runner.run("rev-parse", *words, "--absolute-git-dir", "--git-common-dir").stdout)
    bare, in_git_folder, in_work_tree, shallow, git_folder, common = output.split("\n")[:6]
    git_folder, common = (Path(os.path.realpath(Path(runner.root, each))) for each in (git_folder, common))
    folder = find_owner(runner, git_folder, common)
    edge: frozenset[str] = frozenset()
    if shallow == "true":
        edge = frozenset((common / "shallow").read_text("ascii", "replace").split())
    prefix, where = "", ""
    if in_work_tree == "true":
        top = runner.run("rev-parse", "--show-toplevel").stdout.decode("utf-8", "replace").removesuffix("\n")
        inside = parts_below(runner.root, top)
        prefix = "".join(f"{part}/" for part in inside or ())
        # `core.worktree` may point anywhere; the only folder we take is the one that holds this repository's `.git`.
        where = f"in {top!r}" if inside is None or Path(top) != folder else ""
    elif bare != "true" and in_git_folder != "true":
        where = "elsewhere"
    if where:
        raise AccessDenied(
            f"the repository at {runner.root!r} says that its files are {where}",
            hint="look at `core.worktree` in its configuration",
        )
    return RepositoryFacts(bare == "true", shallow == "true", in_work_tree == "true", prefix, edge, common)
