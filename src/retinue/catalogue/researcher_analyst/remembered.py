"""What a caller remembers, searched as if it were a file of the project's memory."""

from collections.abc import Iterator, Mapping
from typing import Final

from retinue.tools.search import Passage
from retinue.tools.search.ranking import Question, passages_of

__all__ = ["NAME", "remembered"]

NAME: Final = "context.memory"
"""What such a passage has in place of a path; its lines are those of the text that came with the task."""

_LONGEST: Final = 200_000


def remembered(memory: str, weights: Mapping[str, float]) -> Iterator[Passage]:
    """The passages of `memory` that have a word of the question."""
    yield from passages_of(NAME, "docs", memory[:_LONGEST], Question(weights), floor=0.0)
