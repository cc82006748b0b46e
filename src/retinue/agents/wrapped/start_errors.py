"""Why a program cannot be started, and what whoever named it can do about that."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from retinue.contract.names import nearest
from retinue.errors import AccessDenied, InvalidInput, MissingFile, NotInstalled, RetinueError

_MOST: Final = 2_000
"""Names in a folder that are looked at for one that is nearly meant."""


def start_error(error: OSError, program: str, cwd: str) -> RetinueError:
    """Why `program` was not started in `cwd`, when the system said `error`."""
    name = Path(program).name
    if not Path(cwd).is_dir():
        return MissingFile(f"There is no folder {cwd!r} for `{name}` to run in.", hint="Name one that is there.")
    if "/" in program and Path(program).is_dir():
        return InvalidInput(f"{program!r} is a folder.", hint="Name the program in it.")
    if error.errno == errno.ENOENT and not ("/" in program and Path(program).exists()):
        return missing_program_error(program, cwd)
    code = "no interpreter" if error.errno == errno.ENOENT else error.errno
    kind, why, hint = _REFUSALS.get(code, _UNKNOWN)
    message = why.format(program=repr(program), name=name, said=error.strerror or error)
    return kind(message, hint=hint.format(program=program))


def missing_program_error(program: str, cwd: str) -> NotInstalled:
    """What to say of a program that is not there: a path that leads nowhere, or a name that is nowhere looked up."""
    if "/" in program:
        stems = {Path(each).stem: each for each in _names_in(program)}  # every `.py` is like every other
        stem = Path(program).stem
        alike = (stem,) if stem in stems else nearest(stem, stems)
        near = tuple(str(Path(program).with_name(stems[each])) for each in alike)
        hint = f"Did you mean {near[0]!r}?" if near else "Install it, or fix the path."
        return NotInstalled(f"There is no program {program[:200]!r}.", hint=hint, suggestions=near)
    if Path(cwd, program).is_file():
        hint = f"It is in the folder, where programs are not looked for. Say `./{program}`."
    elif "=" in program:
        hint = "No shell reads the command. Set the variable before, and name it as one that the program may see."
    else:
        hint = "Install it, or name it by its path."
    return NotInstalled(f"There is no program {program[:200]!r} where programs are looked for.", hint=hint)


def _names_in(program: str) -> tuple[str, ...]:
    """What there is beside `program`."""
    try:
        with os.scandir(Path(program).parent) as entries:
            return tuple(entry.name for entry, _ in zip(entries, range(_MOST), strict=False))
    except OSError:
        return ()


_UNKNOWN: Final = (NotInstalled, "`{name}` cannot be started: {said}.", "Make sure that it runs in a shell.")
_REFUSALS: Final[Mapping[object, tuple[type[RetinueError], str, str]]] = {
    "no interpreter": (
        NotInstalled,
        "{program} cannot be started: what its first line asks for is not here.",
        "Install what its first line names, or fix that line.",
    ),
    errno.EACCES: (AccessDenied, "{program} may not be run: {said}.", "Allow it: `chmod +x {program}`."),
    errno.EPERM: (AccessDenied, "{program} may not be run: {said}.", "Allow it: `chmod +x {program}`."),
    errno.ENOEXEC: (
        InvalidInput,
        "{program} is not a program.",
        "Begin it with a line such as `#!/usr/bin/env python3`, or name its interpreter.",
    ),
    errno.E2BIG: (InvalidInput, "The words given to `{name}` are too long.", "Hand them over on its stdin."),
}
