"""Imports one Python file by its path, apart from everything else. Whether it may be imported is asked before.

The file becomes a module under a name of its own; nothing is written beside it, `sys.path` is afterwards what it was,
and what it prints goes to stderr (what it writes to a file descriptor does not). It is still code: what it does, it
does with the user's rights.
"""

import contextlib
import hashlib
import importlib.util
import os
import sys
import traceback
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final

from retinue.agents.load.document import read_bytes
from retinue.contract import names
from retinue.errors import InvalidDefinition

_MAX_BYTES: Final = 8 * 2**20


def import_file(path: Path, *, search: Path | None = None, trusted: Path | None = None) -> ModuleType:
    """Import the file at `path`.

    Args:
        path: A Python file.
        search: A folder in which the file may look for its own imports, while it is being imported.
        trusted: A folder whose Python files its user has seen. From then on, nothing else in it can be imported: no
            compiled file, no archive, nothing in a hidden folder, and nothing that a link leads to.

    Raises:
        InvalidDefinition: It cannot be compiled, or raised, or tried to end the program; `detail["line"]` says where.
        MissingFile: There is no such file.
        AccessDenied: It cannot be read.
        ParseError: It is too large.
    """
    real = path.resolve()
    if trusted is not None:
        if _finder not in sys.path_hooks:
            sys.path_hooks.insert(0, _finder)
        if (folder := str(trusted.resolve())) not in _trusted_folders:
            _trusted_folders.add(folder)
            sys.path_importer_cache.clear()  # finders that were made for it before know other kinds of files
    source = read_bytes(real, max_bytes=_MAX_BYTES)
    digest = hashlib.sha256(str(real).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    name = f"_retinue_file_{digest}_{names.fold(real.stem)}"
    spec = importlib.util.spec_from_file_location(name, real)
    if spec is None:
        raise InvalidDefinition(f"{real.name!r} is not a Python file.", hint="Name a file that ends with `.py`.")
    module = importlib.util.module_from_spec(spec)
    before, search_path = sys.modules.get(name), sys.path[:]
    sys.modules[name] = module
    if search is not None:
        sys.path.append(str(search))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            # Compiled here and not by the import system, which would write a cache file into the project.
            exec(compile(source, real, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - the user trusts it
    except BaseException as error:
        if before is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _import_error(real, error) from error
    finally:
        sys.path[:] = search_path
    return module


_trusted_folders: set[str] = set()
"""Folders, by their real paths, of which only sources are imported."""


class _SourceLoader(SourceFileLoader):
    """Compiles the source each time, and leaves no trace: a `__pycache__` that came with a folder may hold anything."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        if not _is_trusted(os.path.dirname(path)):  # noqa: PTH120 - a package that is a link to elsewhere
            raise ImportError(f"{path!r} is not among the files that are trusted.", name=fullname)
        return self.source_to_code(self.get_data(path), path)


def _finder(entry: str) -> FileFinder:
    """Finds modules in a trusted folder. A path hook: for every other entry of `sys.path` it raises `ImportError`."""
    if _is_trusted(entry):
        return FileFinder(entry, (_SourceLoader, SOURCE_SUFFIXES))
    # Links are left as they are here: what is named as a part of the folder, and leads elsewhere, is empty.
    absolute, real = os.path.abspath(entry), os.path.realpath(entry)  # noqa: PTH100
    if any(Path(path).is_relative_to(each) for path in (absolute, real) for each in _trusted_folders):
        return FileFinder(entry)
    raise ImportError


def _is_trusted(folder: str) -> bool:
    """Whether the user was shown what is in `folder`: it lies in a trusted one, and no hidden one is between them."""
    real = Path(os.path.realpath(folder))
    return any(
        real.is_relative_to(each) and not any(part.startswith(".") for part in real.relative_to(each).parts)
        for each in _trusted_folders
    )


def _import_error(path: Path, error: BaseException) -> InvalidDefinition:
    kind = type(error).__name__
    # The last line of the file itself that the error went through.
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == str(path)]
    line = lines[-1] if lines else None
    if isinstance(error, SyntaxError) and error.filename == str(path):
        line = error.lineno
    where = f" on line {line}" if line else ""
    reason = error.msg if isinstance(error, SyntaxError) else str(error)
    if isinstance(error, SystemExit):
        message = f"{path.name!r} ended the program while it was imported{where}: `{kind}({reason})`."
        hint = 'Keep such code under `if __name__ == "__main__":`.'
    else:
        message = f"{path.name!r} cannot be imported: `{kind}`{where}: {reason}"
        hint = "Run it with Python by itself to see the whole error."
        if isinstance(error, ModuleNotFoundError) and error.name:
            hint = (
                f"Install {error.name.partition('.')[0]!r} where Retinue is installed, or run the agent as a command."
            )
    return InvalidDefinition(message, hint=hint, detail={"line": line} if line else {})
