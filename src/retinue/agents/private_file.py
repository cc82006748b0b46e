"""A JSON file of the user's own state: read strictly, changed by one process at a time, writable by nobody else."""

import contextlib
import json
import os
import secrets
import stat
from collections.abc import Generator
from pathlib import Path
from typing import Final, Generic, TypeVar

from pydantic import ValidationError

from retinue.agents.load.document import read_bytes
from retinue.contract import json as strict
from retinue.contract.finding import findings_of, summarise_findings
from retinue.contract.model import Model
from retinue.errors import AccessDenied, MissingFile, ParseError, RetinueError

ModelT = TypeVar("ModelT", bound=Model)

_MAX_BYTES: Final = 8 * 2**20


class PrivateFile(Generic[ModelT]):
    """One file that holds one model.

    Args:
        path: The file; made when something is first written.
        empty: What there is before that.
        name: What messages call it: `trust store`.
        command: What starts a new one when this one is damaged.
    """

    def __init__(self, path: Path, empty: ModelT, *, name: str, command: str) -> None:
        self.path, self._empty, self._name = path, empty, name
        self._hint = f"Look at {str(path)!r}; `{command}` starts a new one and keeps this one beside it."

    def read(self) -> ModelT:
        """What it holds.

        Raises:
            ParseError: It is damaged.
            AccessDenied: It cannot be read, or others may write it.
        """
        try:
            data = read_bytes(self.path, max_bytes=_MAX_BYTES)
        except MissingFile:
            return self._empty.model_copy(deep=True)
        if os.name == "posix":
            status = self.path.stat()
            if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise AccessDenied(f"The {self._name} {str(self.path)!r} can be written by others.", hint=self._hint)
        try:
            strict.loads(data, max_bytes=_MAX_BYTES)  # which refuses what two readers could read differently
            return type(self._empty).model_validate_json(data)
        except ParseError as error:
            message = f"The {self._name} is damaged: {error.message}"
            raise ParseError(message, hint=self._hint, path=error.path, detail=error.detail) from None
        except ValidationError as error:
            reasons = summarise_findings(findings_of(error, rule="state/shape"))
            raise ParseError(f"The {self._name} is damaged: {reasons}.", hint=self._hint) from None

    @contextlib.contextmanager
    def change(self) -> Generator[ModelT]:
        """Read it, yield what it holds to be changed in place, and write that, while no other process does.

        A damaged file is kept beside the new one.

        Raises:
            AccessDenied: It cannot be written.
        """
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A file of its own is locked: the store is replaced, and a lock would stay on the old one.
            lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if os.name == "posix":
                    import fcntl  # noqa: PLC0415 - not on Windows, where the last writer wins

                    fcntl.flock(lock, fcntl.LOCK_EX)
                try:
                    content = self.read()
                except RetinueError:
                    self.path.replace(self.path.with_name(f"{self.path.stem}.damaged-{secrets.token_hex(4)}.json"))
                    content = self._empty.model_copy(deep=True)
                yield content
                self._write(json.dumps(content.model_dump(mode="json"), indent=2, sort_keys=True))
            finally:
                os.close(lock)
        except OSError as error:
            raise AccessDenied(
                f"The {self._name} {str(self.path)!r} cannot be written: {error}.", hint="Check its folder."
            ) from error

    def _write(self, text: str) -> None:
        """Replace the file at once, readable by its owner only."""
        temporary = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(handle, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a descriptor made with its mode
                stream.write(text)
                stream.flush()
                # Before the rename: after a power failure the new name could else stand for an empty file.
                os.fsync(handle)
            temporary.replace(self.path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
