"""What is remembered: a text, and who said it when and on whose word."""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from retinue.contract.model import JsonMapping

Scope: TypeAlias = Literal["global", "project"]
"""Whom it concerns: its user everywhere, or one project."""

MAX_TEXT: Final = 4_000
"""Characters of one memory."""

MAX_ENTRIES: Final = 50_000
"""Memories of one scope."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a memory comes from. Whatever is not known is empty.

    Attributes:
        by: Who had it remembered: `person`, or the name of an agent.
        run: Id of the run.
        origin: Whose words it repeats, as a tool's output says it: `page https://…`, `file notes.md`.
    """

    by: str
    run: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """One memory.

    Attributes:
        id: Names it within its scope, for `forget`.
        at_ns: When it was first remembered, in nanoseconds since 1970 UTC.
    """

    id: str
    scope: Scope
    text: str
    at_ns: int
    source: Provenance

    def to_json(self) -> JsonMapping:
        """This memory as JSON data; what is not known is left out."""
        facts = {
            "id": self.id,
            "scope": self.scope,
            "text": self.text,
            "at_ns": self.at_ns,
            "by": self.source.by,
            "run": self.source.run,
            "origin": self.source.origin,
        }
        return {name: value for name, value in facts.items() if value != ""}


@dataclass(frozen=True, slots=True)
class ScoredEntry:
    """A memory that was found.

    Attributes:
        score: By BM25; higher is better, and comparable only within one search.
    """

    entry: MemoryEntry
    score: float = field(compare=False)
