"""Where a symbol is used, also where the server does not say it: what its references leave out is looked for by name.

Servers miss imports that hand a name on, and what they cannot type. So the tokens of the project's Python files are
searched for the name, and of each one that the server left out it is asked what that means. Nothing is guessed: a name
that means the same is `beyond`, one of which the server knows nothing is `unsure`, all others mean something else.
"""

import asyncio
import io
import re
import tokenize
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from retinue.errors import RetinueError
from retinue.tools.tree import glob
from retinue.tools.workspace import Workspace

from .commands import language_of
from .locations import Location, Position
from .navigator import Navigator

_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
_MOST_FILES: Final = 20_000
_MOST_ASKED: Final = 400

LocationKey: TypeAlias = tuple[str, int, int]
"""A place by its file, line and column."""


@dataclass(frozen=True, slots=True)
class SymbolUses:
    """Where a symbol is named.

    Attributes:
        references: What the server says.
        beyond: What it left out, though it knows that the same is meant.
        unsure: Code that holds the name, and of which it does not know what it means.
    """

    references: tuple[Location, ...]
    beyond: tuple[Location, ...] = ()
    unsure: tuple[Location, ...] = ()

    @property
    def sure(self) -> tuple[Location, ...]:
        """All that is known to name the symbol, in the order of files and lines."""
        return tuple(sorted((*self.references, *self.beyond), key=location_key))


_STRING: Final = re.compile(r"[A-Za-z]{0,3}(['\"]{1,3})(.*)\1", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mention:
    """One place that holds a name, its line and column from 1.

    Attributes:
        is_code: It is a name of the code. Else it stands in a comment or a text.
        is_path: It is the last part of a text that is a name or a dotted path, as in `getattr(it, "name")`.
    """

    line: int
    column: int
    is_code: bool
    is_path: bool = False


def find_mentions(text: str, name: str) -> Iterator[Mention]:
    """Every place of a Python file that holds `name` as a whole word; none when it has no tokens."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    dotted = re.compile(rf"(?:[\w.:]*[.:])?{re.escape(name)}")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                if token.string == name:
                    yield Mention(token.start[0], token.start[1] + 1, is_code=True)
            elif token.type in (tokenize.STRING, tokenize.COMMENT):
                inside = _STRING.fullmatch(token.string)
                is_path = inside is not None and dotted.fullmatch(inside[2]) is not None
                for match in word.finditer(token.string):
                    before, newline, same = token.string[: match.start()].rpartition("\n")
                    line = token.start[0] + before.count("\n") + len(newline)
                    column = len(same) + 1 + (0 if newline else token.start[1])
                    yield Mention(line, column, is_code=False, is_path=is_path)
    except (tokenize.TokenError, SyntaxError):
        return


@dataclass(slots=True)
class NameMentions:
    """What the Python files of a project hold of a name.

    Attributes:
        texts: The files that hold it, each as it was read.
        by_file: By file, what its tokens hold.
    """

    name: str
    texts: dict[str, str] = field(default_factory=dict[str, str])
    by_file: dict[str, list[Mention]] = field(default_factory=dict[str, list[Mention]])

    @classmethod
    def scan(cls, workspace: Workspace, name: str) -> "NameMentions":
        """Read the whole project. Takes its time: call it in a thread."""
        result = cls(name)
        for path in glob(workspace, ["*.py", "*.pyi"], limit=_MOST_FILES):
            try:
                text = workspace.read_text(path)
            except RetinueError:
                continue
            if name in text and (file_mentions := list(find_mentions(text, name))):
                result.texts[path], result.by_file[path] = text, file_mentions
        return result

    def code(self) -> list[Location]:
        """Every place where it is a name of the code."""
        return [
            Location(path, each.line, each.column, each.line, each.column + len(self.name), lines[each.line - 1])
            for path, file_mentions in self.by_file.items()
            for lines in [self.texts[path].split("\n")]
            for each in file_mentions
            if each.is_code
        ]


async def uses_of(navigator: Navigator, workspace: Workspace, at: Position, *, declaration: bool = True) -> SymbolUses:
    """Every place that names the symbol at `at`; in other languages than Python, those that the server says.

    Raises:
        Unavailable: The server does not know references.
    """
    references = await navigator.references(at, declaration=declaration)
    if language_of(at.path) != "python" or not (name := await asyncio.to_thread(name_at, workspace, at)):
        return SymbolUses(references)
    definitions = await navigator.definition(at)
    mentions = await asyncio.to_thread(NameMentions.scan, workspace, name)
    beyond, unsure = await classify_mentions(
        navigator, mentions, {location_key(place) for place in (*references, *definitions)}
    )
    if not declaration:  # a server that leaves out the definition it was asked about may still give the others
        meanings = await navigator.definitions([Position(*location_key(each)) for each in beyond])
        beyond = tuple(each for each, targets in zip(beyond, meanings, strict=True) if not _is_one_of(each, targets))
        references = tuple(each for each in references if not _is_one_of(each, definitions))
    return SymbolUses(references, beyond, unsure)


async def classify_mentions(
    navigator: Navigator, mentions: NameMentions, ours: Collection[LocationKey]
) -> tuple[tuple[Location, ...], tuple[Location, ...]]:
    """What of the code that holds a name is meant by `ours` too, and what nobody knows; both without `ours`."""
    files = {path for path, _, _ in ours}
    candidates = sorted(
        (each for each in mentions.code() if location_key(each) not in ours), key=lambda each: each.path not in files
    )
    same: list[Location] = []
    unsure = candidates[_MOST_ASKED:]
    batch = candidates[:_MOST_ASKED]
    meanings = await navigator.definitions([Position(*location_key(each)) for each in batch])
    for place, targets in zip(batch, meanings, strict=True):
        if any(location_key(each) in ours for each in targets):
            same.append(place)
        elif not targets:
            unsure.append(place)
    return tuple(sorted(same, key=location_key)), tuple(sorted(unsure, key=location_key))


def _is_one_of(place: Location, others: Collection[Location]) -> bool:
    return any(location_key(place) == location_key(each) for each in others)


def location_key(place: Location) -> LocationKey:
    """Where a place begins."""
    return place.path, place.line, place.column


def name_at(workspace: Workspace, at: Position) -> str:
    """The name that stands at `at`; empty when there is none."""
    lines = workspace.read_text(at.path).split("\n")
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    return next((each[0] for each in _IDENTIFIER.finditer(line) if each.start() <= at.column - 1 < each.end()), "")
