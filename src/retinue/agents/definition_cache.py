"""What definition files hold, cached between runs by content: a file that did not change is not parsed again.

Only what a file says is cached. Whether a folder may bring code is checked each time.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from retinue.agents.load import InstructionsAgent, LoadedAgents
from retinue.contract.definition import CallSite, Definition
from retinue.contract.finding import Finding
from retinue.contract.model import Model
from retinue.tools.cache_file import code_fingerprint, read_cache_file, write_cache_file

_SOURCES: Final = ("agents/load", "contract")
"""The folders of the package whose code decides what a file comes to."""

_MOST_BYTES: Final = 64 * 1024 * 1024


class _Entry(Model):
    definitions: tuple[Definition, ...]
    findings: tuple[Finding, ...] = ()
    calls: tuple[CallSite, ...] = ()


_ENTRIES: Final = TypeAdapter(dict[str, _Entry])


class DefinitionCache:
    """The definition files of one project.

    Args:
        folder: Where it is kept, made when first written; None keeps nothing.
        root: The project's folder.
    """

    def __init__(self, folder: Path | None, root: Path) -> None:
        project = blake2b(os.fsencode(root), digest_size=16).hexdigest()
        self._path = None if folder is None else folder / f"project-definitions-{project}"
        self._state = b"" if folder is None else code_fingerprint(*_SOURCES)
        self._used: dict[str, _Entry] = {}
        self._entries: dict[str, _Entry] = {}
        if self._path is not None:
            head, _, body = read_cache_file(self._path, max_bytes=2 * _MOST_BYTES).partition(b"\n")
            if head == self._state:
                with suppress(ValidationError):
                    self._entries = _ENTRIES.validate_json(body)

    def load(self, load: Callable[[], LoadedAgents], *key: object, data: bytes) -> LoadedAgents:
        """What `load` makes of `data`, or made of it before, by `data` and `key`. Only prompted agents are cached."""
        if self._path is None:
            return load()
        name = sha256(repr(key).encode() + b"\0" + data).hexdigest()
        entry = self._entries.get(name)
        if entry is not None:
            self._used[name] = entry
            return LoadedAgents(tuple(map(InstructionsAgent, entry.definitions)), entry.findings, entry.calls)
        loaded = load()
        if all(type(agent) is InstructionsAgent for agent in loaded.agents):
            definitions = tuple(agent.definition for agent in loaded.agents)
            self._used[name] = _Entry(definitions=definitions, findings=loaded.findings, calls=loaded.calls)
        return loaded

    def save(self) -> None:
        """Write what was used; the rest belongs to files that are gone."""
        if self._path is None or self._used.keys() == self._entries.keys():
            return
        try:
            body = _ENTRIES.dump_json(self._used, exclude_defaults=True)
        except PydanticSerializationError:  # a text that is not Unicode: such a project is not cached
            return
        if len(body) <= _MOST_BYTES:
            write_cache_file(self._path, [self._state, b"\n", body])
