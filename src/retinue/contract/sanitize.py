"""Guards for foreign text: paths, ticket ids, branch names, content; and forms of it that are safe to show.

Pure words over words: no file is touched here. Whether a path really lies inside a workspace, symlinks and all, is for
`tools` to say.
"""

import posixpath
import re
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, get_args

from retinue.contract.formatting import ensure_text, short_repr
from retinue.errors import AccessDenied, InvalidInput, UnknownName

TicketKind: TypeAlias = Literal["initiative", "epic", "story", "task", "bug"]

TICKET_KINDS: Final[tuple[TicketKind, ...]] = get_args(TicketKind)
"""The kinds of ticket, widest first."""

_TICKETS: Final[dict[TicketKind, tuple[re.Pattern[str], str]]] = {
    "initiative": (re.compile(r"INIT-[0-9]{4}"), "INIT-0001"),
    "epic": (re.compile(r"EPIC-[0-9]{4}\.[0-9]+"), "EPIC-0001.2"),
    "story": (re.compile(r"STORY-[0-9]{4}\.[0-9]+\.[0-9]+"), "STORY-0001.2.3"),
    "task": (re.compile(r"TASK-[0-9]{4}\.[0-9]+\.[0-9]+\.[0-9]+"), "TASK-0001.2.3.4"),
    "bug": (re.compile(r"BUG-[0-9]{4}"), "BUG-0001"),
}

BASE_REFS: Final = frozenset({"HEAD", "main", "master"})
"""Names a branch is compared with; no project policy forbids them (C14)."""


def check_ticket_id(text: str, kind: TicketKind | None = None) -> str:
    """Check a ticket id and return it (K17, C15).

    Args:
        text: `INIT-dddd`, `EPIC-dddd.n`, `STORY-dddd.n.n`, `TASK-dddd.n.n.n` or `BUG-dddd`; ASCII digits, nothing
            around it.
        kind: The only kind that will do.

    Raises:
        InvalidInput: It is empty, no ticket id, or one of another kind.
        UnknownName: There is no such `kind`.
    """
    ensure_text(text, "ticket id")
    if kind is not None and kind not in TICKET_KINDS:
        raise UnknownName(
            f"There is no ticket kind {short_repr(kind)}.",
            hint=f"Use {_alternatives(TICKET_KINDS)}.",
            suggestions=TICKET_KINDS,
        )
    expected = f"Write it as {_alternatives(sample for name, (_, sample) in _TICKETS.items() if kind in (None, name))}."
    if not text:
        raise InvalidInput("The ticket id is empty.", hint=expected)
    actual_kind = next((name for name, (pattern, _) in _TICKETS.items() if pattern.fullmatch(text)), None)
    if actual_kind is None:
        raise InvalidInput(f"{short_repr(text)} is not a valid ticket id.", hint=expected)
    if kind not in (None, actual_kind):
        raise InvalidInput(f"The ticket {short_repr(text)} is of kind `{actual_kind}`, not `{kind}`.", hint=expected)
    return text


_BRANCH_RULES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"\A-"), "starts with `-`"),
    (re.compile(r"\A/|/\Z|//"), "has an empty component"),
    (re.compile(r"\.\."), "holds `..`"),
    (re.compile(r"(?:\A|/)\."), "has a component that starts with `.`"),
    (re.compile(r"\.lock(?:/|\Z)"), "has a component that ends in `.lock`"),
    (re.compile(r"\.\Z"), "ends in `.`"),
    (re.compile(r"@\{"), "holds `@{`"),
    (re.compile(r"\A@\Z"), "is `@` alone"),
    (re.compile(r"[\x00-\x1f\x7f]"), "holds a control character"),
    (re.compile(r"[ ~^:?*\[\\]"), r"holds a space or one of `~^:?*[\`"),
    (re.compile("[\ud800-\udfff]"), "holds half of a surrogate pair"),
)
"""Git's own rule for branch names, as `git check-ref-format` and `git branch` apply it."""


def check_branch_name(text: str, policy: Iterable[re.Pattern[str]] | None = None) -> str:
    """Check a branch name by git's own rule and the project's policy, and return it (K18, C14).

    Args:
        text: The name, without `refs/heads/`.
        policy: Patterns of which the whole name must match one; `BASE_REFS` are exempt. None allows every name git
            allows.

    Raises:
        InvalidInput: Git or the policy refuses it.
    """
    ensure_text(text, "branch name")
    if not text:
        raise InvalidInput("The branch name is empty.", hint="Name a branch, as in `main` or `feature/my-feature`.")
    problems = [rule for pattern, rule in _BRANCH_RULES if pattern.search(text)]
    if problems:
        raise InvalidInput(
            f"The branch name {short_repr(text)} {' and '.join(problems)}.",
            hint="Use letters, digits, `-`, `_` and single `.` and `/` between them.",
            detail={"rules": problems},
        )
    patterns = None if policy is None or text in BASE_REFS else list(policy)
    if patterns is not None and not any(pattern.fullmatch(text) for pattern in patterns):
        raise InvalidInput(
            f"The branch name {short_repr(text)} is not one this project uses.",
            hint=f"Match {_alternatives(pattern.pattern for pattern in patterns) or 'nothing: the policy is empty'}.",
        )
    return text


def _alternatives(words: Iterable[str]) -> str:
    return " or ".join(f"`{word}`" for word in words)


_MAX_PATH_LENGTH: Final = 4096
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_PARENT: Final = re.compile(r"\.\.[. ]*")  # Windows drops dots and spaces at the end of a component
_UNENCODABLE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # the rest of the surrogates stand for raw bytes


def check_workspace_path(path: str, *, allow_absolute: bool = False, within: Iterable[str] = ()) -> str:
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
    if path.startswith("/") and not allow_absolute:
        raise AccessDenied(f"The path {short_repr(path)} is absolute.", hint="Use a path relative to the workspace.")
    normal = posixpath.normpath(path)
    folders = [posixpath.normpath(folder) for folder in within]
    if folders and not any(folder == "." or f"{normal}/".startswith(f"{folder}/") for folder in folders):
        allowed = ", ".join(f"`{folder}`" for folder in folders)
        raise AccessDenied(f"The path {short_repr(path)} is in no allowed folder.", hint=f"Use a path in {allowed}.")
    return normal


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
      | (?<![^\r\n])(?:[ \t]*+)=        # a line of `=` makes the line above it a heading
    """,
    re.VERBOSE,
)
_INDENT: Final = re.compile(r"(?<![^\r\n])[ \t](?=[ \t]*+[^ \t\r\n])")
_BREAK: Final = re.compile(r"[\r\n]+")


def escape_markdown(text: str, *, form: Literal["block", "line"] = "block") -> str:
    """Escape `text` so that Markdown shows it as it is: no markup, HTML, link, table, heading or code (K19, C36).

    Args:
        text: What a user or agent wrote; invisible characters pass, see `printable`.
        form: `block` keeps lines; `line` joins them by a space, for a heading or a table cell.
    """
    ensure_text(text, "text")
    if form == "line":
        text = " ".join(filter(None, (line.strip(" \t") for line in _BREAK.split(text))))
    escaped = _SPECIAL.sub(lambda match: f"{match[0][:-1]}\\{match[0][-1]}", text)
    # Four leading spaces would make code, and one a continuation of a list around us; an entity is not indentation.
    return _INDENT.sub(lambda match: f"&#{ord(match[0])};", escaped)


_NEEDLESS_ESCAPE: Final = re.compile(r"\\([.!+\-(){}])")
_INSIDE_A_WORD: Final = re.compile(r"(?<=[^\W_])\\_(?=[^\W_])")
_MARKER: Final = re.compile(r"(?:(?:\\[-+])+|\d+\\[.)])(?= |$)")


def escape_inline(text: str) -> str:
    """Escape `text` for one line, but for what could not be markup there: dots, dashes and the like (C36)."""
    escaped = escape_markdown(text, form="line")
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
