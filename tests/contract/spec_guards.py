"""Spec 003's own guards, to the letter: what they accept, return and say, quirks included.

The measure for `contract.sanitize`, which decides otherwise here and there. The quirks: `..` is refused anywhere in a
path, every absolute path is refused, and folders are compared as prefixes of text (`src` itself is outside `src/`).
"""

import posixpath
from typing import Final

from retinue.errors import InvalidInput

_FOLDERS: Final = ("docs/tickets/", "tests/", "src/", ".claude/")


def validate_file_path(path: str) -> bool:
    """Spec 003's `validate_file_path`: True, or an error (K16, C12, C13).

    Raises:
        InvalidInput: With the spec's own text as its message.
    """
    _refuse_if(".." in path, "Directory traversal not allowed")
    _refuse_if(path.startswith("/"), f"Path outside allowed directories: {path}")
    _refuse_if(any(mark in path for mark in "\0\n\r"), "Invalid characters in path")
    normal = posixpath.normpath(path)
    _refuse_if(not normal.startswith(_FOLDERS), f"Path not in allowed directories: {normal}")
    return True


def sanitize_user_input(text: str, max_length: int = 10_000) -> str:
    """Spec 003's `sanitize_user_input` (K20).

    Raises:
        InvalidInput: With the spec's own text as its message.
    """
    _refuse_if(len(text) > max_length, f"Content exceeds maximum length ({max_length})")
    return "\n".join(text.replace("\0", "").replace("\r\n", "\n").split("\r"))


def _refuse_if(condition: bool, message: str) -> None:
    if condition:
        raise InvalidInput(message, hint="Give what spec 003 allows.")
