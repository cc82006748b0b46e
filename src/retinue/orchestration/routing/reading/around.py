"""What a reader may know beside the clause, and what a reader is."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeAlias

from retinue.contract.facts import Facts
from retinue.orchestration.routing.reading.parameter import Parameter
from retinue.orchestration.routing.reading.said import Reading, Said

__all__ = ["NOWHERE", "Reader", "Surroundings"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the binder may know beside the clause.

    Attributes:
        today: Without it, "yesterday" and "March" are not read.
        exists: Whether the workspace has that path. Without it, whatever looks like a path is one.
        find: Where the workspace has files that are called so, or nearly so; best first. Without it, a bare name is no
            path unless it stands in the root.
        columns: Names of columns that there are; empty when nobody knows.
        facts: What the parameters of an agent's skill can be here; None when nobody knows.
    """

    today: date | None = None
    exists: Callable[[str], bool] | None = None
    find: Callable[[str], Sequence[str]] | None = None
    columns: Collection[str] = ()
    facts: Callable[[str, str], Facts | None] | None = None


NOWHERE: Final = Surroundings()
"""Nothing is known but the clause itself."""

Reader: TypeAlias = Callable[[Parameter, Said, Surroundings], Reading | None]
"""Finds a value for a parameter in a clause, or does not."""
