"""The lexical half of the path guard: what a path says, not where it leads."""

import posixpath
import re
from collections.abc import Iterable
from typing import Final

from retinue.contract._shown import shown
from retinue.contract.text import see_text
from retinue.errors import AccessDenied, InvalidInput

__all__ = ["workspace_path"]

_LONGEST: Final = 4096
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_PARENT: Final = re.compile(r"\.\.[. ]*")  # Windows drops dots and spaces at the end of a component
_UNENCODABLE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # the rest of the surrogates stand for raw bytes


def workspace_path(path: str, *, allow_absolute: bool = False, within: Iterable[str] = ()) -> str:
    """Check a path somebody else wrote and return it normalised, with forward slashes (K16, C12, C13).

    `..` is refused as a component only, so `foo..bar.py` passes. Nothing is decoded, expanded or looked up: `%2e` and
    `~` are plain characters.

    Args:
        path: The path, relative to the workspace.
        allow_absolute: Let a path start with one `/`.
        within: Folders the path must lie in (or be), compared by whole components; none means anywhere.

    Raises:
        InvalidInput: Not a path: no text, empty, too long, or with a NUL, line break, backslash or half surrogate pair.
        AccessDenied: A path out of the fence: `..`, absolute, a drive or network share, or in none of `within`.
    """
    see_text(path, "path")
    _see_it_is_a_path(path)
    _see_it_stays_inside(path, allow_absolute=allow_absolute)
    normal = posixpath.normpath(path)
    folders = [posixpath.normpath(folder) for folder in within]
    if folders and not any(folder == "." or f"{normal}/".startswith(f"{folder}/") for folder in folders):
        allowed = ", ".join(f"`{folder}`" for folder in folders)
        raise AccessDenied(f"The path {shown(path)} is in no allowed folder.", hint=f"Use a path in {allowed}.")
    return normal


def _see_it_is_a_path(path: str) -> None:
    if not path:
        raise InvalidInput("The path is empty.", hint="Name a file or folder of the workspace.")
    if len(path) > _LONGEST:
        raise InvalidInput(f"The path has {len(path)} characters.", hint=f"Use at most {_LONGEST}.")
    if any(mark in path for mark in "\0\r\n") or _UNENCODABLE.search(path):
        raise InvalidInput(
            f"The path {shown(path)} holds a character no path may hold.",
            hint="Remove NUL, line breaks and half surrogate pairs.",
        )
    if "\\" in path:
        raise InvalidInput(f"The path {shown(path)} holds a backslash.", hint="Separate folders with `/`.")


def _see_it_stays_inside(path: str, *, allow_absolute: bool) -> None:
    if any(_PARENT.fullmatch(component) for component in path.split("/")):
        raise AccessDenied(
            f"The path {shown(path)} climbs out with `..`.", hint="Name the place directly, from the workspace's root."
        )
    if path.startswith("//") or _DRIVE.match(path):
        raise AccessDenied(
            f"The path {shown(path)} names a drive or a network share.", hint="Use a path inside the workspace."
        )
    if path.startswith("/") and not allow_absolute:
        raise AccessDenied(f"The path {shown(path)} is absolute.", hint="Use a path relative to the workspace.")
