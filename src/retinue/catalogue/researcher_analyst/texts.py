"""Texts that are no files of the workspace: what a caller or a store remembers, and pages of the web.

They are cut into units and judged as documents are. What they say is data, whoever wrote it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from retinue.agents.grants import Grants
from retinue.catalogue.researcher_analyst.parameters import Source
from retinue.contract.model import JsonMapping
from retinue.contract.result import Trace
from retinue.errors import AccessDenied, RetinueError
from retinue.tools.memory.entry import Entry, Scope
from retinue.tools.memory.file import memory_file
from retinue.tools.memory.store import Memory
from retinue.tools.memory.tools import MemoryPlace, Recall

__all__ = ["CONTEXT", "SourceText", "WebReading", "recalled", "texts_of_caller"]

CONTEXT: Final = "context.memory"
"""What stands in place of a path for what came with the task; its lines are those of that text."""

_SCOPES: Final[Sequence[Scope]] = ("project", "global")
_LIMIT: Final = 20


@dataclass(frozen=True, slots=True)
class SourceText:
    """One such text.

    Attributes:
        path: What it is called in place of a path: `context.memory`, `memory:project/m3`, a URL.
        accessed: The day on which it was read, when that is not the day of the answer.
        facts: What its citations say besides: a page's title, a memory's provenance.
    """

    source: Source
    path: str
    text: str
    title: str = ""
    accessed: str = ""
    facts: JsonMapping = field(default_factory=dict)


@dataclass(slots=True)
class WebReading:
    """What the web had.

    Attributes:
        service: Who searched.
        results: How many results there were.
        left_out: Pages that were not read, each with why.
        refused: Why the web was not searched.
    """

    pages: list[SourceText] = field(default_factory=list[SourceText])
    service: str = ""
    results: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    traces: list[Trace] = field(default_factory=list[Trace])
    refused: RetinueError | None = None


def texts_of_caller(memory: str) -> tuple[SourceText, ...]:
    """What came with the task as its memory; none when that is empty."""
    return (SourceText("memory", CONTEXT, memory),) if memory.strip() else ()


def recalled(state: Path, project: Path, words: str, grants: Grants) -> list[SourceText]:
    """The memories that fit `words` best; no file is made where nothing was ever remembered.

    Raises:
        AccessDenied: Whoever asks may not use `recall` without a question, and none is asked for it here.
        RetinueError: A file is there and cannot be read, as `Memory.search`.
    """
    verdict = grants.verdict(Recall(MemoryPlace(state, project=project)).spec, words)
    if verdict.word != "allow":
        raise AccessDenied(f"`recall` may not be used: {verdict.reason}.", hint="Allow `recall`, or do without.")
    found: list[SourceText] = []
    for scope in _SCOPES:
        if memory_file(state, scope, project=project).exists():
            with Memory(state, scope, project=project) as memory:
                found += [_brought(hit.entry) for hit in memory.search(words, limit=_LIMIT)]
    return found


def _brought(entry: Entry) -> SourceText:
    source = entry.source
    facts = {"by": source.by, "run": source.run, "origin": source.origin}
    remembered = datetime.fromtimestamp(entry.at_ns // 10**9, UTC).date().isoformat()
    memory = {"scope": entry.scope, "remembered": remembered, **{name: fact for name, fact in facts.items() if fact}}
    return SourceText("memory", f"memory:{entry.scope}/{entry.id}", entry.text, facts={"memory": memory})
