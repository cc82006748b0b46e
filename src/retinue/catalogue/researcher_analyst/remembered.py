"""What was remembered in earlier runs, of this project and everywhere, with who said it (tools/memory)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from retinue.agents.grants import Grants
from retinue.catalogue.researcher_analyst.brought import Brought
from retinue.errors import AccessDenied
from retinue.tools.memory.entry import Entry, Scope
from retinue.tools.memory.file import memory_file
from retinue.tools.memory.store import Memory
from retinue.tools.memory.tools import MemoryPlace, Recall

__all__ = ["recalled"]

_SCOPES: Final[Sequence[Scope]] = ("project", "global")
_LIMIT: Final = 20


def recalled(state: Path, project: Path, words: str, grants: Grants) -> list[Brought]:
    """The memories that fit `words` best; no file is made where nothing was ever remembered.

    Raises:
        AccessDenied: Whoever asks may not use `recall` without a question, and none is asked for it here.
        RetinueError: A file is there and cannot be read, as `Memory.search`.
    """
    verdict = grants.verdict(Recall(MemoryPlace(state, project=project)).spec, words)
    if verdict.word != "allow":
        raise AccessDenied(f"`recall` may not be used: {verdict.reason}.", hint="Allow `recall`, or do without.")
    found: list[Brought] = []
    for scope in _SCOPES:
        if memory_file(state, scope, project=project).exists():
            with Memory(state, scope, project=project) as memory:
                found += [_brought(hit.entry) for hit in memory.search(words, limit=_LIMIT)]
    return found


def _brought(entry: Entry) -> Brought:
    source = entry.source
    said = {"by": source.by, "run": source.run, "origin": source.origin}
    remembered = datetime.fromtimestamp(entry.at_ns // 10**9, UTC).date().isoformat()
    facts = {"scope": entry.scope, "remembered": remembered, **{name: fact for name, fact in said.items() if fact}}
    return Brought("memory", f"memory:{entry.scope}/{entry.id}", entry.text, facts={"memory": facts})
