"""Texts that are no files of the workspace: what a caller or a store remembers, and pages of the web.

They are cut into passages and judged as files are. What they say is data, whoever wrote it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from retinue.catalogue.researcher_analyst.sources import Source
from retinue.contract.model import JsonMapping
from retinue.contract.result import Trace
from retinue.errors import RetinueError
from retinue.tools.search import Passage
from retinue.tools.search.ranking import Question, passages_of

__all__ = ["CONTEXT", "Brought", "Browsed", "passages_in", "said_by_caller"]

CONTEXT: Final = "context.memory"
"""What stands in place of a path for what came with the task; its lines are those of that text."""

_LONGEST: Final = 200_000
_LONGEST_LINE: Final = 4_000
"""A person's paragraph is shorter; what a stranger wrote to keep a thread busy is not."""


@dataclass(frozen=True, slots=True)
class Brought:
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
class Browsed:
    """What the web had.

    Attributes:
        service: Who searched.
        results: How many results there were.
        left_out: Pages that were not read, each with why.
        refused: Why the web was not searched.
    """

    pages: list[Brought] = field(default_factory=list[Brought])
    service: str = ""
    results: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    traces: list[Trace] = field(default_factory=list[Trace])
    refused: RetinueError | None = None


def said_by_caller(memory: str) -> tuple[Brought, ...]:
    """What came with the task as its memory; none when that is empty."""
    return (Brought("memory", CONTEXT, memory),) if memory.strip() else ()


def passages_in(text: Brought, weights: Mapping[str, float]) -> Iterator[Passage]:
    """The passages of a text that have a word of the question."""
    lines = "\n".join(line[:_LONGEST_LINE] for line in text.text[:_LONGEST].split("\n"))
    for passage in passages_of(text.path, "docs", lines, Question(weights), floor=0.0):
        title = " > ".join(filter(None, (text.title, passage.title)))
        yield replace(passage, title=title)
