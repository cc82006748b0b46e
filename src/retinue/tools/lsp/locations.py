"""Places and symbols as people count them, what a server says read into them, and the copies of files that it is shown.

Lines and columns count from 1, columns in characters. What a server counts (bytes, UTF-16 units) is turned here, and
nowhere else. Only `Documents` touches the disk.
"""

import os
import secrets
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from retinue.contract.json import JsonValue
from retinue.errors import AccessDenied, InvalidInput, RetinueError, Unavailable
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

LANGUAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        ".c": "c", ".cc": "cpp", ".cpp": "cpp", ".cs": "csharp", ".cts": "typescript", ".go": "go", ".h": "c",
        ".hpp": "cpp", ".java": "java", ".js": "javascript", ".jsx": "javascriptreact", ".kt": "kotlin",
        ".lua": "lua", ".mjs": "javascript", ".mts": "typescript", ".php": "php", ".py": "python", ".pyi": "python",
        ".rb": "ruby", ".rs": "rust", ".scala": "scala", ".swift": "swift", ".ts": "typescript",
        ".tsx": "typescriptreact", ".zig": "zig",
    }
)  # fmt: skip
"""The language of a file, by its suffix, as LSP calls it."""


def language_of(path: str) -> str:
    """The language of `path`.

    Raises:
        InvalidInput: It has no suffix of a known language.
    """
    language = LANGUAGES.get(Path(path).suffix.lower())
    if language is None:
        raise InvalidInput(
            f"{path!r} is not a source file of a known language.", hint="Name a source file, such as `.py`."
        )
    return language


_KINDS: Final = (
    "", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
    "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null",
    "enum member", "struct", "event", "operator", "type parameter",
)  # fmt: skip
_MOST_DEPTH: Final = 50


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Where something is asked about: a file of the workspace, a line and a column, both from 1."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Location:
    """A stretch of a file.

    Attributes:
        path: Relative to the workspace; of a file outside, as the server names it.
        line: From 1.
        column: From 1, in characters.
        end_line: Where it ends, both included; `end_column` is one behind its last character.
        text: The line it begins on; empty when the file may not be read.
        is_outside: The file is no part of the workspace: it was not opened.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str = ""
    is_outside: bool = False

    @property
    def start(self) -> Position:
        """Where it begins."""
        return Position(self.path, self.line, self.column)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Symbol:
    """Something with a name.

    Attributes:
        place: Its name where it is defined.
        last_line: Where its body ends.
        container: The name of what it stands in; empty at the top of a file.
    """

    name: str
    kind: str
    place: Location
    last_line: int
    container: str = ""

    @property
    def qualified_name(self) -> str:
        """Its name with that of what it stands in."""
        return f"{self.container}.{self.name}".lstrip(".")


@dataclass(frozen=True, slots=True)
class HierarchyCall:
    """One side of a call: who calls or is called, and the places of the calls."""

    symbol: Symbol
    places: tuple[Location, ...]


@dataclass(frozen=True, slots=True)
class RawLocation:
    """A stretch as the server counts: from 0, in its own units."""

    uri: str
    line: int
    units: int
    end_line: int
    end_units: int


@dataclass(frozen=True, slots=True)
class RawSymbol:
    """A symbol as the server says it; `item` is what call hierarchies are asked with."""

    name: str
    kind: str
    name_at: RawLocation
    full_range: RawLocation
    container: str
    item: JsonValue


@dataclass(frozen=True, slots=True)
class RawCall:
    """One side of a call as the server says it."""

    symbol: RawSymbol
    spans: tuple[RawLocation, ...]


def column_of(line: str, units: int, encoding: str) -> int:
    """The column, from 1, of what stands `units` into `line`. What lies behind the line's end is its end."""
    if encoding == "utf-32" or line.isascii():
        return min(units, len(line)) + 1
    if encoding == "utf-8":
        return len(line.encode("utf-8", "surrogatepass")[:units].decode("utf-8", "ignore")) + 1
    return len(line.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore")) + 1


def units_before(line: str, column: int, encoding: str) -> int:
    """How many units of `encoding` stand before `column` of `line`."""
    before = line[: max(column - 1, 0)]
    if encoding == "utf-32" or before.isascii():
        return len(before)
    if encoding == "utf-8":
        return len(before.encode("utf-8", "surrogatepass"))
    return len(before.encode("utf-16-le", "surrogatepass")) // 2


def parse_locations(value: JsonValue) -> list[RawLocation]:
    """Locations and links to locations; what is neither is left out."""
    locations: list[RawLocation] = []
    for each in value if isinstance(value, list) else [value]:
        match each:
            case {"targetUri": str(uri), "targetSelectionRange": span} | {"uri": str(uri), "range": span}:
                place = _span(uri, span)
                if place is not None:
                    locations.append(place)
            case _:
                continue
    return locations


def parse_symbols(value: JsonValue, uri: str) -> list[RawSymbol]:
    """Symbols of a file or a workspace, or items of a call hierarchy; nested ones follow what they stand in."""
    return list(_symbols(value, uri, "", 0))


def parse_calls(value: JsonValue, side: str, uri: str) -> list[RawCall]:
    """Calls of a hierarchy; `side` is `from` or `to`. What calls `uri` has its places there, else in the caller."""
    calls: list[RawCall] = []
    for each in value if isinstance(value, list) else []:
        if not isinstance(each, dict):
            continue
        spans = each.get("fromRanges")
        for symbol in parse_symbols([each.get(side)], ""):
            where = symbol.name_at.uri if side == "from" else uri
            places = [_span(where, span) for span in spans] if isinstance(spans, list) else []
            calls.append(RawCall(symbol, tuple(place for place in places if place is not None)))
    return calls


def _symbols(value: JsonValue, uri: str, container: str, depth: int) -> Iterator[RawSymbol]:
    if not isinstance(value, list) or depth > _MOST_DEPTH:
        return
    for each in value:
        match each:
            case {"name": str(name), "kind": int(kind), "location": {"uri": str(where), "range": whole}}:
                within = each.get("containerName")
                spans, within = (_span(where, whole), _span(where, whole)), within if isinstance(within, str) else ""
            case {"name": str(name), "kind": int(kind), "range": whole, "selectionRange": span}:
                own_uri = each.get("uri")
                where, within = own_uri if isinstance(own_uri, str) else uri, container
                spans = _span(where, span), _span(where, whole)
            case _:
                continue
        name_at, full_range = spans
        if name_at is not None and full_range is not None:
            word = _KINDS[kind] if 0 <= kind < len(_KINDS) else ""
            yield RawSymbol(name, word, name_at, full_range, within, each)
            yield from _symbols(each.get("children"), uri, f"{container}.{name}".lstrip("."), depth + 1)


def _span(uri: str, span: JsonValue) -> RawLocation | None:
    match span:
        case {
            "start": {"line": int(line), "character": int(units)},
            "end": {"line": int(end_line), "character": int(end_units)},
        } if min(line, units, end_line, end_units) >= 0:
            return RawLocation(uri, line, units, end_line, end_units)
        case _:
            return None


def path_of(uri: str) -> str:
    """The path a `file:` URI names; empty when it is another kind of URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    path = unquote(parts.path)
    return path if parts.scheme == "file" and not parts.netloc and Path(path).is_absolute() and "\0" not in path else ""


def hover_text(contents: JsonValue) -> str:
    """The text of a hover, in any of its four forms; empty when it has none."""
    match contents:
        case str(text) | {"value": str(text)}:
            return text.strip()
        case list(parts):
            return "\n\n".join(filter(None, map(hover_text, parts)))
        case _:
            return ""


def parse_workspace_edits(answer: JsonValue) -> list[tuple[RawLocation, str]]:
    """The edits of a `WorkspaceEdit`, in either of its two forms."""
    by_file: list[tuple[str, JsonValue]] = []
    match answer:
        case {"documentChanges": list(changes)}:
            for change in changes:
                match change:
                    case {"textDocument": {"uri": str(uri)}, "edits": edits}:
                        by_file.append((uri, edits))
                    case _:
                        raise Unavailable("The rename would move files, which is not done here.", hint="Move the file.")
        case {"changes": dict(changes)}:
            by_file = list(changes.items())
        case _:
            return []
    return [
        (place, text)
        for uri, edits in by_file
        for edit in (edits if isinstance(edits, list) else [])
        if isinstance(edit, dict) and isinstance(text := edit.get("newText"), str)
        for place in parse_locations([{"uri": uri, "range": edit.get("range")}])
    ]


_MOST_OPEN: Final = 64
_MOST_BYTES: Final = 4 * 2**20
_BUILD_FILES: Final = frozenset({".json", ".mod", ".toml"})
"""Other languages than Python have no modules without their `Cargo.toml`, `go.mod` or `tsconfig.json`."""
_CREATED, _CHANGED, _DELETED = 1, 2, 3

_FileStates: TypeAlias = Mapping[str, tuple[int, int]]
"""Size and time of files, by their paths."""


class Documents:
    """The files of one workspace as one server knows them. Touches the disk when made: make it in a thread.

    Attributes:
        root: The folder of copies, which is the root of the project for the server.
        notify: Tells the server of a change: a method and its parameters.
    """

    notify: Callable[[str, JsonValue], None]

    def __init__(self, workspace: Workspace, language: str) -> None:
        self._workspace = workspace
        self._suffixes = {suffix for suffix, each in LANGUAGES.items() if (each == "python") == (language == "python")}
        self._suffixes |= set() if language == "python" else _BUILD_FILES
        self._folder = Path(tempfile.mkdtemp(prefix="retinue-lsp-")).resolve()
        # Also when nobody closes us: the copies hold what the project holds.
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self.root = self._folder / (workspace.root.name or "workspace")
        self.root.mkdir()
        (self.root / "ty.toml").touch()  # ends the search for settings, which goes up from here
        self._open_documents: dict[str, tuple[int, str]] = {}
        self._lock = threading.Lock()
        self._copies: _FileStates = {}
        self._reported: _FileStates = {}
        self._reported = self.sync()

    def sync(self) -> _FileStates:
        """Bring the copies up to date, and give size and time of each. Touches the disk: call it in a thread."""
        files = list_files(self._workspace).files
        states = {
            each.path: (each.size, each.mtime_ns) for each in files if Path(each.path).suffix.lower() in self._suffixes
        }
        with self._lock:
            for path in [path for path in self._copies if path not in states]:
                self._delete(path)
            copies: dict[str, tuple[int, int]] = {}
            for path, facts in states.items():
                if self._copies.get(path) != facts:
                    temporary = self._folder / secrets.token_hex(8)
                    try:  # as the fence of the workspace gives it; what it keeps back the server does not get
                        temporary.write_bytes(self._workspace.read_bytes(path, max_bytes=_MOST_BYTES))
                        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                        temporary.replace(self.root / path)
                    except (RetinueError, OSError):
                        temporary.unlink(missing_ok=True)
                        self._delete(path)
                        continue
                copies[path] = facts
            self._copies = copies
        return copies

    def notify_changes(self, states: _FileStates) -> None:
        """Tell the server what is different from the last time."""
        changes = [
            (path, _CHANGED if path in self._reported else _CREATED)
            for path, facts in states.items()
            if self._reported.get(path) != facts
        ]
        changes += [(path, _DELETED) for path in self._reported if path not in states]
        self._reported = states
        for path in [path for path, _ in changes if path in self._open_documents]:
            try:
                self.open(path)
            except RetinueError:
                self._close(path)
        if changes:
            events: list[JsonValue] = [{"uri": self.uri(path), "type": kind} for path, kind in changes]
            self.notify("workspace/didChangeWatchedFiles", {"changes": events})

    def open(self, path: str) -> str:
        """Make sure that the server has the file as it is now, and give its text.

        Raises:
            AccessDenied: The server is not shown this file.
            RetinueError: The file cannot be read, or is in no known language.
        """
        language, text = language_of(path), self._workspace.read_text(path)
        if path not in self._copies:
            raise AccessDenied(
                f"The language server is not shown {path!r}: git ignores it, or it is too large.",
                hint="Ask about another file, or read this one.",
            )
        version, old_text = self._open_documents.pop(path, (0, ""))
        uri = self.uri(path)
        if not version:
            document: JsonValue = {"uri": uri, "languageId": language, "version": 1, "text": text}
            self.notify("textDocument/didOpen", {"textDocument": document})
        elif old_text != text:
            identifier: JsonValue = {"uri": uri, "version": version + 1}
            change: JsonValue = {"textDocument": identifier, "contentChanges": [{"text": text}]}
            self.notify("textDocument/didChange", change)
        self._open_documents[path] = (version + (not version or old_text != text), text)
        if len(self._open_documents) > _MOST_OPEN:
            self._close(next(iter(self._open_documents)))
        return text

    def uri(self, path: str) -> str:
        """The name of a file of the workspace, for a server."""
        return self.root.joinpath(path).as_uri()

    def path(self, uri: str) -> str | None:
        """The file of the workspace that a server names, if it may be read; None for all others."""
        full_path = os.path.normpath(path_of(uri) or "/")
        if not Path(full_path).is_relative_to(self.root):
            return None
        path = Path(full_path).relative_to(self.root).as_posix()
        return self._workspace.relative(path) if self._workspace.readable(path) else None

    def _delete(self, path: str) -> None:
        with suppress(OSError):
            (self.root / path).unlink(missing_ok=True)
            for folder in (self.root / path).parents:
                if folder == self.root:
                    break
                folder.rmdir()  # ends at the first that holds something else

    def _close(self, path: str) -> None:
        self._open_documents.pop(path)
        self.notify("textDocument/didClose", {"textDocument": {"uri": self.uri(path)}})
