"""Runs the `git` binary so that a hostile repository can neither execute anything nor reach the network.

A repository's own configuration may name programs (fsmonitor, hooks, external diffs, text converters, clean filters,
signature checkers, transports); every one of them is switched off here, for every command. The system's and the user's
configuration stay in force, because `safe.directory` lives there and is never widened. What commands mean is not known
here: see `repository`.
"""

from collections.abc import Generator, Iterable, Mapping
from typing import Final

from retinue.errors import AccessDenied, InvalidInput, MissingFile, NotInstalled, RetinueError, Unavailable, UnknownName
from retinue.processes.start import clean_environment, find_program
from retinue.processes.tool_program import ProcessOutput, run, stream

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
        extra: Mapping[str, str] = self._disable_filters() if touches_files else {}
        return clean_environment({**_ENVIRONMENT, **extra})

    def _disable_filters(self) -> dict[str, str]:
        """Settings that empty every filter the repository itself defines; the user's own (such as LFS) stay."""
        if self._filter_settings is None:
            words = ("config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
            fields = self.run(*words, accept=(1,)).stdout.decode("utf-8", "surrogateescape").split("\0")
            own = sorted(
                {name for scope, name in zip(fields[::2], fields[1::2], strict=False) if scope not in TRUSTED_SCOPES}
            )
            # Through the environment, not `-c`: the name of a filter may hold `=`.
            settings = [(name, "false" if name.endswith(".required") else "") for name in own]
            self._filter_settings = {"GIT_CONFIG_COUNT": str(len(settings))}
            for number, (name, value) in enumerate(settings):
                self._filter_settings[f"GIT_CONFIG_KEY_{number}"] = name
                self._filter_settings[f"GIT_CONFIG_VALUE_{number}"] = value
        return self._filter_settings


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
    "bad revision",
    "unknown revision",
    "ambiguous argument",
    "Needed a single revision",
    "Not a valid object name",
    "Not a valid commit name",
    "invalid object name",
)
_MISSING_OBJECT: Final = ("promisor", "could not fetch", "not allowed", "lazy fetch")


def trust_command(folder: str) -> str:
    """The command by which a user says that the repository in `folder` is safe."""
    from shlex import quote  # noqa: PLC0415 - only hints need it

    return f"git config --global --add safe.directory {quote(folder)}"
