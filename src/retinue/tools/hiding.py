"""What a view of a workspace hides: files that are there and may not be read, each with the reason.

A value and no more: by which rules it hides is decided elsewhere, and `Workspace` holds every path against it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

__all__ = ["Hiding"]


@dataclass(frozen=True, slots=True)
class Hiding:
    """One way of hiding files.

    Attributes:
        why: Why a file may not be read, by its real path from the root; empty when it may. It always says the same.
        by: What tells this way of hiding from any other: two views of one folder are alike when it is the same.
    """

    why: Callable[[str], str]
    by: str

    def but_for(self, shown: Iterable[str]) -> "Hiding":
        """The same, with the files at these paths shown: somebody approved of it."""
        also, why = frozenset(shown), self.why
        return Hiding(lambda path: "" if path in also else why(path), f"{self.by}, but for {sorted(also)}")
