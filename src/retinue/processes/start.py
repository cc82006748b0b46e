"""How a program is started: where it is found, what it sees of the environment, and why it could not be started."""

import errno
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from retinue.contract.names import nearest
from retinue.errors import AccessDenied, InvalidInput, MissingFile, NotInstalled, RetinueError

_INHERITED: Final = ("HOME", "XDG_CONFIG_HOME", "TMPDIR", "SUDO_UID", "USER", "LOGNAME")
_MAX_ENTRIES: Final = 2_000
"""Names in a folder that are compared with a program that is not there."""


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The few variables a child gets: an absolute PATH, HOME and its like, the C locale, and `extra`."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {"PATH": _absolute_path(), "LC_ALL": "C", **inherited, **extra}


def find_program(name: str) -> str | None:
    """The full path of the program `name`, never looked up in the current directory."""
    # A `PATH` is always given: without one, `which` takes the unfiltered one of this process.
    return shutil.which(name, path=_absolute_path())


def _absolute_path() -> str:
    # A relative or empty entry would let the repository under study bring its own `git`.
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if Path(entry).is_absolute())


def spawn(
    argv: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str],
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] | None = subprocess.PIPE,
    stderr: int | IO[bytes] | None = subprocess.PIPE,
    pass_fds: Sequence[int] = (),
    new_session: bool = True,
) -> "subprocess.Popen[bytes]":
    """Start `argv` outside of any event loop.

    Args:
        argv: The program and its arguments.
        cwd: Where it runs; here when absent.
        env: All the variables it gets.
        stdin: As of `subprocess.Popen`.
        stdout: Likewise.
        stderr: Likewise.
        pass_fds: Likewise.
        new_session: It is a group of its own: Ctrl-C does not reach it, and `kill_group` ends it with its children.

    Raises:
        NotInstalled: There is no such program, or its interpreter is missing.
        MissingFile: There is no folder `cwd`.
        AccessDenied: It may not be run.
        InvalidInput: The system cannot run it.
    """
    try:
        return subprocess.Popen(  # noqa: S603 - argument vector, no shell
            encode_words(argv),
            cwd=cwd,
            env=encode_environment(env),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            bufsize=0,
            pass_fds=pass_fds,
            start_new_session=new_session,
        )
    except (OSError, ValueError) as error:
        raise start_error(error, argv[0], cwd or "") from error


def encode_words(words: Sequence[str]) -> list[str]:
    """`words` so that they arrive as UTF-8 whatever the locale: the output of programs is read as UTF-8 too."""
    return [os.fsdecode(word.encode("utf-8", "surrogateescape")) for word in words]


def encode_environment(env: Mapping[str, str]) -> dict[str, str]:
    """`env`, encoded as `encode_words` does."""
    return dict(zip(encode_words(tuple(env)), encode_words(tuple(env.values())), strict=True))


def start_error(error: OSError | ValueError, program: str, cwd: str) -> RetinueError:
    """The error for a `program` that was not started in `cwd` because of `error`."""
    name = Path(program).name
    if isinstance(error, ValueError):
        return InvalidInput(f"{program[:200]!r} cannot be run: {error}.", hint="Remove the NUL character.")
    if cwd and not os.path.isdir(cwd):  # noqa: PTH112 - accepts any text, and raises nothing
        return MissingFile(f"There is no folder {cwd!r} for `{name}` to run in.", hint="Name an existing folder.")
    if "/" in program and Path(program).is_dir():
        return InvalidInput(f"{program!r} is a folder.", hint="Name the program in it.")
    if error.errno == errno.ENOENT and not ("/" in program and Path(program).exists()):
        return missing_program_error(program, cwd)
    code = "no interpreter" if error.errno == errno.ENOENT else error.errno
    kind, message, hint = _REFUSALS.get(code, _OTHER)
    text = message.format(program=repr(program), name=name, error=error.strerror or error)
    return kind(text, hint=hint.format(program=program))


def missing_program_error(program: str, cwd: str) -> NotInstalled:
    """The error for a program that does not exist: a path that leads nowhere, or a name that is not on the PATH."""
    message = f"There is no program {program[:200]!r}"
    if "/" in program:
        try:
            with os.scandir(Path(program).parent) as entries:
                names = [entry.name for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False)]
        except OSError:
            names = []
        stems = {Path(each).stem: each for each in names}  # every `.py` is like every other
        stem = Path(program).stem
        # The same name with another suffix is nearer than any misspelling.
        alike = (stem,) if stem in stems else nearest(stem, stems)
        near = tuple(str(Path(program).with_name(stems[each])) for each in alike)
        hint = f"Did you mean {near[0]!r}?" if near else "Install it, or fix the path."
        return NotInstalled(f"{message}.", hint=hint, suggestions=near)
    if Path(cwd, program).is_file():
        hint = f"It is in the current folder, which is not searched. Write `./{program}`."
    elif "=" in program:
        hint = "The command is not read by a shell. Set the variable before, and name it as one the program may see."
    else:
        hint = "Install it, or give its path."
    return NotInstalled(f"{message} on the PATH.", hint=hint)


_OTHER: Final = (NotInstalled, "`{name}` cannot be run: {error}.", "Make sure that it runs in a shell.")
_REFUSALS: Final[Mapping[Any, tuple[type[RetinueError], str, str]]] = {
    "no interpreter": (
        NotInstalled,
        "{program} cannot be run: the interpreter that its first line names is missing.",
        "Install that interpreter, or fix the line.",
    ),
    errno.EACCES: (AccessDenied, "{program} may not be run: {error}.", "Allow it: `chmod +x {program}`."),
    errno.EPERM: (AccessDenied, "{program} may not be run: {error}.", "Allow it: `chmod +x {program}`."),
    errno.ENOEXEC: (
        InvalidInput,
        "{program} cannot be run: it is not a program.",
        "Begin it with a line such as `#!/usr/bin/env python3`, or name its interpreter.",
    ),
    errno.E2BIG: (InvalidInput, "The arguments of `{name}` are too long.", "Pass them on stdin."),
}
