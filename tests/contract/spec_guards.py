r"""Spec 003's own guards, to the letter: what they accept, return and say, quirks included.

The measure for `contract.sanitize`, which decides otherwise here and there. The quirks: `..` is refused anywhere in a
path, every absolute path is refused, folders are compared as prefixes of text (`src` itself is outside `src/`), a
ticket id may end in a line feed and use any script's digits, `main` is no branch, HTML passes the Markdown escape.
"""

import posixpath
import re
from typing import Final

from retinue.errors import InvalidInput

_FOLDERS: Final = ("docs/tickets/", "tests/", "src/", ".claude/")
_TICKETS: Final = {
    "initiative": re.compile(r"INIT-\d{4}$"),
    "epic": re.compile(r"EPIC-\d{4}\.\d+$"),
    "story": re.compile(r"STORY-\d{4}(?:\.\d+){2}$"),
    "task": re.compile(r"TASK-\d{4}(?:\.\d+){3}$"),
    "bug": re.compile(r"BUG-\d{4}$"),
}
_BRANCH: Final = re.compile(r"(?:(?:[a-z]+/)?[A-Z]+-\d+(?:\.\d+)*|[a-z]+/[a-z-]+)$")
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!])")


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


def validate_ticket_id(text: str, kind: str | None = None) -> str:
    """Spec 003's `validate_ticket_id` (K17, C15).

    Raises:
        InvalidInput: With the spec's own text as its message.
    """
    _refuse_if(not text, "Ticket ID cannot be empty")
    actual = next((name for name, pattern in _TICKETS.items() if pattern.match(text)), None)
    _refuse_if(actual is None, f"Invalid ticket ID format: {text}")
    _refuse_if(bool(kind) and actual != kind, f"Ticket ID {text} is type {actual}, expected {kind}")
    return text


def validate_branch_name(text: str) -> str:
    """Spec 003's `validate_branch_name` (K18, C14).

    Raises:
        InvalidInput: With the spec's own text as its message.
    """
    _refuse_if(not text, "Branch name cannot be empty")
    _refuse_if(".." in text, "Directory traversal in branch name")
    _refuse_if(text.startswith("/"), "Absolute paths not allowed in branch names")
    _refuse_if(min(text) < " ", "Control characters not allowed in branch names")
    _refuse_if(_BRANCH.match(text) is None, f"Branch name doesn't match expected patterns: {text}")
    return text


def escape_markdown(text: str) -> str:
    """Spec 003's `escape_markdown`: a backslash before its fifteen characters (K19, C36)."""
    return _MARKDOWN.sub(r"\\\1", text)


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
