"""What a server knows of a workspace, kept true: files change on disk between two questions.

A server reads whatever it finds, follows links, and obeys the settings that lie beside the code. So it never sees the
workspace itself but a folder of its own, with copies of the source files that may be read and of nothing else: no
hidden or ignored file, no settings, no environment. What it infers can then hold nothing that may not be told.
"""

import os
import secrets
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from retinue.contract.json import JsonValue
from retinue.errors import AccessDenied, RetinueError
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

from .commands import LANGUAGES, language_of
from .locations import path_of

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
            copies = {
                path: facts for path, facts in states.items() if self._copies.get(path) == facts or self._copy(path)
            }
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
        """See that the server has the file as it is now, and give its text.

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

    def _copy(self, path: str) -> bool:
        """Copy a file as the fence of the workspace gives it; false when it does not."""
        temporary = self._folder / secrets.token_hex(8)
        try:
            temporary.write_bytes(self._workspace.read_bytes(path, max_bytes=_MOST_BYTES))
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary.replace(target)
        except (RetinueError, OSError):
            temporary.unlink(missing_ok=True)
            self._delete(path)
            return False
        return True

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
