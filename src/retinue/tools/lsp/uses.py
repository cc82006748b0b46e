"""Where a symbol is used, also where the server does not say it: what its references leave out is looked for by name.

Servers miss imports that hand a name on, and what they cannot type. So the tokens of the project's Python files are
searched for the name, and of each one that the server left out it is asked what that means. Nothing is guessed: a name
that means the same is `beyond`, one of which the server knows nothing is `unsure`, all others mean something else.
"""

import asyncio
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from retinue.errors import RetinueError
from retinue.tools.tree import glob
from retinue.tools.workspace import Workspace

from .commands import language_of
from .mentions import Mention, mentions
from .navigator import Navigator
from .places import Place, Spot

__all__ = ["Held", "Key", "Uses", "key_of", "name_at", "sort_out", "uses_of"]

_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
_MOST_FILES: Final = 20_000
_MOST_ASKED: Final = 400

Key: TypeAlias = tuple[str, int, int]
"""A place by its file, line and column."""


@dataclass(frozen=True, slots=True)
class Uses:
    """Where a symbol is named.

    Attributes:
        said: What the server says.
        beyond: What it left out, though it knows that the same is meant.
        unsure: Code that holds the name, and of which it does not know what it means.
    """

    said: tuple[Place, ...]
    beyond: tuple[Place, ...] = ()
    unsure: tuple[Place, ...] = ()

    @property
    def sure(self) -> tuple[Place, ...]:
        """All that is known to name the symbol, in the order of files and lines."""
        return tuple(sorted((*self.said, *self.beyond), key=key_of))


@dataclass(slots=True)
class Held:
    """What the Python files of a project hold of a name.

    Attributes:
        texts: The files that hold it, each as it was read.
        said: By file, what its tokens hold.
    """

    name: str
    texts: dict[str, str] = field(default_factory=dict[str, str])
    said: dict[str, list[Mention]] = field(default_factory=dict[str, list[Mention]])

    @classmethod
    def look(cls, workspace: Workspace, name: str) -> "Held":
        """Read the whole project. Takes its time: call it in a thread."""
        found = cls(name)
        for path in glob(workspace, ["*.py", "*.pyi"], limit=_MOST_FILES):
            try:
                text = workspace.read_text(path)
            except RetinueError:
                continue
            if name in text and (said := list(mentions(text, name))):
                found.texts[path], found.said[path] = text, said
        return found

    def code(self) -> list[Place]:
        """Every place where it is a name of the code."""
        return [
            Place(path, each.line, each.column, each.line, each.column + len(self.name), lines[each.line - 1])
            for path, said in self.said.items()
            for lines in [self.texts[path].split("\n")]
            for each in said
            if each.is_code
        ]


async def uses_of(navigator: Navigator, workspace: Workspace, at: Spot, *, declaration: bool = True) -> Uses:
    """Every place that names the symbol at `at`; in other languages than Python, those that the server says.

    Raises:
        Unavailable: The server does not know references.
    """
    said = await navigator.references(at, declaration=declaration)
    if language_of(at.path) != "python" or not (name := await asyncio.to_thread(name_at, workspace, at)):
        return Uses(said)
    defined = await navigator.definition(at)
    held = await asyncio.to_thread(Held.look, workspace, name)
    beyond, unsure = await sort_out(navigator, held, {key_of(place) for place in (*said, *defined)})
    if not declaration:  # a server that leaves out the definition it was asked about may still give the others
        meanings = await navigator.definitions([Spot(*key_of(each)) for each in beyond])
        beyond = tuple(each for each, meant in zip(beyond, meanings, strict=True) if not _is_one_of(each, meant))
        said = tuple(each for each in said if not _is_one_of(each, defined))
    return Uses(said, beyond, unsure)


async def sort_out(
    navigator: Navigator, held: Held, ours: Collection[Key]
) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """What of the code that holds a name is meant by `ours` too, and what nobody knows; both without `ours`."""
    files = {path for path, _, _ in ours}
    left = sorted((each for each in held.code() if key_of(each) not in ours), key=lambda each: each.path not in files)
    same: list[Place] = []
    unsure = left[_MOST_ASKED:]
    asked = left[:_MOST_ASKED]
    meanings = await navigator.definitions([Spot(*key_of(each)) for each in asked])
    for place, meant in zip(asked, meanings, strict=True):
        if any(key_of(each) in ours for each in meant):
            same.append(place)
        elif not meant:
            unsure.append(place)
    return tuple(sorted(same, key=key_of)), tuple(sorted(unsure, key=key_of))


def _is_one_of(place: Place, others: Collection[Place]) -> bool:
    return any(key_of(place) == key_of(each) for each in others)


def key_of(place: Place) -> Key:
    """Where a place begins."""
    return place.path, place.line, place.column


def name_at(workspace: Workspace, at: Spot) -> str:
    """The name that stands at `at`; empty when there is none."""
    lines = workspace.read_text(at.path).split("\n")
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    return next((each[0] for each in _IDENTIFIER.finditer(line) if each.start() <= at.column - 1 < each.end()), "")
