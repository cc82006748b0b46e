"""Guards for foreign text: paths, names of branches and content; and forms of it that are safe to show.

Pure words over words: no file is touched here. Whether a path really lies inside a workspace, symlinks and all, is for
`tools` to say.
"""

import posixpath
import re
from collections.abc import Mapping
from typing import Final

from retinue.contract.formatting import ensure_text, short_repr
from retinue.errors import AccessDenied, InvalidInput

_MAX_PATH_LENGTH: Final = 4096
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_PARENT: Final = re.compile(r"\.\.[. ]*")  # Windows drops dots and spaces at the end of a component
_UNENCODABLE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # the rest of the surrogates stand for raw bytes


def check_workspace_path(path: str) -> str:
    """Check a path somebody else wrote and return it normalised, with forward slashes (K16, C12, C13).

    `..` is refused as a component only, so `foo..bar.py` passes. Nothing is decoded, expanded or looked up: `%2e` and
    `~` are plain characters.

    Args:
        path: The path, relative to the workspace.

    Raises:
        InvalidInput: Not a path: no text, empty, too long, or with a NUL, line break, backslash or half surrogate pair.
        AccessDenied: A path out of the fence: `..`, absolute, a drive or a network share.
    """
    ensure_text(path, "path")
    if not path:
        raise InvalidInput("The path is empty.", hint="Name a file or folder of the workspace.")
    if len(path) > _MAX_PATH_LENGTH:
        raise InvalidInput(f"The path has {len(path)} characters.", hint=f"Use at most {_MAX_PATH_LENGTH}.")
    if any(mark in path for mark in "\0\r\n") or _UNENCODABLE.search(path):
        raise InvalidInput(
            f"The path {short_repr(path)} holds a character no path may hold.",
            hint="Remove NUL, line breaks and half surrogate pairs.",
        )
    if "\\" in path:
        raise InvalidInput(f"The path {short_repr(path)} holds a backslash.", hint="Separate folders with `/`.")
    if any(_PARENT.fullmatch(component) for component in path.split("/")):
        raise AccessDenied(
            f"The path {short_repr(path)} climbs out with `..`.",
            hint="Name the place directly, from the workspace's root.",
        )
    if path.startswith("//") or _DRIVE.match(path):
        raise AccessDenied(
            f"The path {short_repr(path)} names a drive or a network share.", hint="Use a path inside the workspace."
        )
    if path.startswith("/"):
        raise AccessDenied(f"The path {short_repr(path)} is absolute.", hint="Use a path relative to the workspace.")
    return posixpath.normpath(path)


_BRANCH_RULES: Final[Mapping[str, re.Pattern[str]]] = {
    "is empty": re.compile(r"\A\Z"),
    "has white space or a control character": re.compile(r"[\s\x00-\x20\x7f]"),
    "has `..`": re.compile(r"\.\."),
    "has one of `~^:?*[\\`, which git reads otherwise": re.compile(r"[~^:?*\[\\]"),
    "has `@{`": re.compile(r"@\{"),
    "begins or ends with `/`, or has `//`": re.compile(r"\A/|/\Z|//"),
    "begins with `-`": re.compile(r"\A-"),
    "is `@`": re.compile(r"\A@\Z"),
    "ends with `.`": re.compile(r"\.\Z"),
    "has a part that begins with `.` or ends with `.lock`": re.compile(r"(?:\A|/)\.|\.lock(?:/|\Z)"),
}
"""What git refuses in the name of a branch."""


def check_branch_name(name: str) -> str:
    """`name` itself, when git takes it for the name of a branch (K18, C14).

    Raises:
        InvalidInput: It cannot be one; the message has the rule that it breaks.
    """
    ensure_text(name, "branch")
    rule = next((rule for rule, pattern in _BRANCH_RULES.items() if pattern.search(name)), None)
    if rule is not None:
        message = f"{short_repr(name)} cannot be the name of a branch: it {rule}."
        raise InvalidInput(message, hint="Name a branch as `git branch --all` lists it.")
    return name


def clean_content(text: str, *, max_length: int = 10_000) -> str:
    """Drop NUL and turn every line break into a line feed (K20).

    Args:
        text: What a user or agent wrote.
        max_length: Most characters, counted before anything is dropped.

    Raises:
        InvalidInput: It is longer. Nothing is cut silently.
    """
    ensure_text(text, "content")
    if len(text) > max_length:
        raise InvalidInput(
            f"The content has {len(text)} characters and {max_length} are allowed.",
            hint="Shorten it, or hand it over as a file.",
        )
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")


_SPECIAL: Final = re.compile(
    r"""[\\`*_{}\[\]()\#+\-.!<>|~&]     # the fifteen of spec 003, and HTML, tables, strikethrough and entities
      | :(?=//) | @(?=\w)               # bare links and mail addresses
      | \A=                             # a line of `=` makes the line above it a heading
    """,
    re.VERBOSE,
)
_BREAK: Final = re.compile(r"[\r\n]+")


def escape_markdown(text: str) -> str:
    """Escape `text` so that Markdown shows it as it is: no markup, HTML, link, table, heading or code (K19, C36).

    Args:
        text: What a user or agent wrote; its lines are joined by a space. Invisible characters pass, see `printable`.
    """
    ensure_text(text, "text")
    line = " ".join(filter(None, (each.strip(" \t") for each in _BREAK.split(text))))
    return _SPECIAL.sub(r"\\\g<0>", line)


_NEEDLESS_ESCAPE: Final = re.compile(r"\\([.!+\-(){}])")
_INSIDE_A_WORD: Final = re.compile(r"(?<=[^\W_])\\_(?=[^\W_])")
_MARKER: Final = re.compile(r"(?:(?:\\[-+])+|\d+\\[.)])(?= |$)")


def escape_inline(text: str) -> str:
    """Escape `text` for one line, but for what could not be markup there: dots, dashes and the like (C36)."""
    escaped = escape_markdown(text)
    marker = _MARKER.match(escaped)
    start = marker.end() if marker else 0
    return escaped[:start] + _INSIDE_A_WORD.sub("_", _NEEDLESS_ESCAPE.sub(r"\1", escaped[start:]))


_COLOUR: Final = r"\x1b\[[0-9;:]*m"
_INVISIBLE: Final = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls but tab and line feed; ESC starts what a terminal obeys
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e"  # drawn as nothing
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"  # bidi marks, odd line ends, fillers
    "\ud800-\udfff"  # cannot be written at all
    "\U000e0000-\U000e0fff]"  # tags: whole sentences nobody sees
)
_UNSAFE: Final = re.compile(rf"({_COLOUR}|\r(?=\n))|{_INVISIBLE}")


def printable(text: str) -> str:
    r"""Make foreign text safe to print on a terminal or into a log.

    Colours (`ESC [ … m`) are dropped, since they say nothing; CRLF becomes LF. Every other control, escape,
    bidirectional or invisible character is shown as `\u{202e}`, so what was hidden can be seen. Tabs, line feeds and
    the joiners of emoji and of Indic and Persian script stay.
    """
    ensure_text(text, "text")
    return _UNSAFE.sub(lambda match: "" if match[1] else f"\\u{{{ord(match[0]):x}}}", text)


def hidden_character(text: str) -> str:
    r"""The first character of `text` that nobody would see, or that a terminal would obey, as in `\u{202e}`.

    Empty when there is none. A carriage return that ends a line is none.
    """
    ensure_text(text, "text")
    match = next((each for each in _UNSAFE.finditer(text) if each[0] != "\r"), None)
    return f"\\u{{{ord(match[0][0]):x}}}" if match else ""
