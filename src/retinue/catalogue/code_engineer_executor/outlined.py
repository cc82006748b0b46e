"""What `analyze` and `docs` read of one file, as a value that goes into another process and into the cache."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from retinue.tools.outline import Item, language_for, outline

__all__ = ["VERSION", "Outlined", "outlined"]

VERSION: Final = 1
"""The form of an entry, and what is read into it: another number forgets what earlier versions kept."""


class Outlined(NamedTuple):
    """The outline of one file, and how many lines it has."""

    lines: int
    items: tuple[Item, ...]
    notes: tuple[str, ...]

    def row(self) -> list[Any]:
        """Its JSON form."""
        return [self.lines, [[getattr(item, name) for name in _FIELDS] for item in self.items], list(self.notes)]

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> "Outlined":
        """The outline whose JSON form is `row`.

        Raises:
            TypeError: It is none.
            ValueError: It is none.
        """
        lines, items, notes = row
        return cls(int(lines), tuple(Item(*item) for item in items), tuple(map(str, notes)))


_FIELDS: Final = tuple(Item.__slots__)


def outlined(files: Sequence[tuple[str, str]]) -> list[Outlined]:
    """The outlines of files, each a path with its text.

    Raises:
        NotInstalled: A grammar is not here.
    """
    found: list[Outlined] = []
    for path, text in files:
        read = outline(text, language_for(path))
        found.append(Outlined(len(text.removesuffix("\n").split("\n")), tuple(read.items), tuple(read.notes)))
    return found
