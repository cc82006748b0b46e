"""What a server believes to stand in the files, kept true: files change on disk between two questions.

A file that is asked about is opened with the text that the workspace gives; all others are watched by their size and
time, and the server is told which came, changed and went. A file that the workspace hides is opened as an empty one, so
that nothing of it can stand in an answer.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from retinue.contract.json import JsonValue
from retinue.errors import RetinueError
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

from .commands import LANGUAGES, language_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Documents", "Listener"]

_MOST_OPEN: Final = 64
_ALSO_WATCHED: Final = frozenset({".toml", ".json", ".mod", ".cfg"})
_CREATED, _CHANGED, _DELETED = 1, 2, 3


class Listener(Protocol):
    """Whoever is told: a server."""

    def notify(self, method: str, params: JsonValue) -> None:
        """Hear that something is so."""
        ...


class Documents:
    """The files of one workspace as one server knows them."""

    def __init__(self, server: Listener, workspace: Workspace) -> None:
        self._server = server
        self._workspace = workspace
        self._opened: dict[str, tuple[int, str]] = {}
        self._emptied: set[str] = set()
        self._hidden: tuple[str, ...] = ()
        self._known = self.look()
        self._empty()

    def look(self) -> "Mapping[str, tuple[int, int]]":
        """Size and time of every file that a server may care for. Touches the disk: call it in a thread."""
        watched = LANGUAGES.keys() | _ALSO_WATCHED
        listing = list_files(self._workspace)
        self._hidden = tuple(path for path in listing.hidden if Path(path).suffix.lower() in LANGUAGES)
        files = listing.files
        return {each.path: (each.size, each.mtime_ns) for each in files if Path(each.path).suffix.lower() in watched}

    def tell(self, now: "Mapping[str, tuple[int, int]]") -> None:
        """Tell the server what is different from the last time."""
        changes = [
            (path, _CHANGED if path in self._known else _CREATED)
            for path, facts in now.items()
            if self._known.get(path) != facts
        ]
        changes += [(path, _DELETED) for path in self._known if path not in now]
        self._known = now
        self._empty()
        for path in [path for path, _ in changes if path in self._opened]:
            try:
                self.open(path)
            except RetinueError:
                self._close(path)
        if changes:
            events: list[JsonValue] = [{"uri": self.uri(path), "type": kind} for path, kind in changes]
            self._server.notify("workspace/didChangeWatchedFiles", {"changes": events})

    def open(self, path: str) -> str:
        """See that the server has the file as it is now, and give its text.

        Raises:
            RetinueError: The file cannot be read, or is in no known language.
        """
        language, text = language_of(path), self._workspace.read_text(path)
        version, known = self._opened.pop(path, (0, ""))
        uri = self.uri(path)
        if not version:
            document: JsonValue = {"uri": uri, "languageId": language, "version": 1, "text": text}
            self._server.notify("textDocument/didOpen", {"textDocument": document})
        elif known != text:
            identifier: JsonValue = {"uri": uri, "version": version + 1}
            change: JsonValue = {"textDocument": identifier, "contentChanges": [{"text": text}]}
            self._server.notify("textDocument/didChange", change)
        self._opened[path] = (version + (not version or known != text), text)
        if len(self._opened) > _MOST_OPEN:
            self._close(next(iter(self._opened)))
        return text

    def uri(self, path: str) -> str:
        """The name of a file of the workspace, for a server."""
        return self._workspace.root.joinpath(path).as_uri()

    def _empty(self) -> None:
        for path in self._hidden:
            if path not in self._emptied:
                self._emptied.add(path)
                document: JsonValue = {"uri": self.uri(path), "languageId": language_of(path), "version": 1, "text": ""}
                self._server.notify("textDocument/didOpen", {"textDocument": document})

    def _close(self, path: str) -> None:
        self._opened.pop(path)
        self._server.notify("textDocument/didClose", {"textDocument": {"uri": self.uri(path)}})
