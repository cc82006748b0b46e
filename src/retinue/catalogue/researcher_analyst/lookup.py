"""Looks identifiers and quoted words up exactly, and tells definitions from uses by the look of the line."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._aside import is_aside
from retinue.catalogue._watch import Watch
from retinue.catalogue.researcher_analyst.sources import Source, source_of
from retinue.errors import RetinueError
from retinue.tools.grep import Match, grep
from retinue.tools.search.kinds import kind_of
from retinue.tools.search.passages import Block, cut
from retinue.tools.workspace import Workspace

__all__ = ["Looked", "block_at", "lines_of", "look_up"]

_MOST: Final = 20_000
"""Lines of all files together: logs and data count too, though nothing is quoted from them, so it is far off."""
_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Looked:
    """Where one name stands.

    Attributes:
        definitions: The lines that define it, those of the product before those of its tests.
        uses: All other lines.
        near: How it is spelled here, when only the case differs.
        cut: There may be more.
    """

    name: str
    definitions: tuple[Match, ...]
    uses: tuple[Match, ...]
    near: str = ""
    cut: bool = False

    @property
    def found(self) -> bool:
        """Whether it stands anywhere."""
        return bool(self.definitions or self.uses)


def look_up(workspace: Workspace, name: str, sources: Iterable[Source], watch: Watch) -> Looked:
    """Find `name` as a whole word in the files of `sources`; of a dotted name its last part, its owner preferred."""
    watch.check()
    wanted = set(sources)
    last = name.rpartition(".")[2].lstrip("-") if " " not in name else name
    matches, was_cut = _grep(workspace, last, watch, ignore_case=" " in name)
    near = ""
    if not matches and " " not in name:
        matches, was_cut = _grep(workspace, last, watch, ignore_case=True)
        near = _spelled(last, matches)
        last = near or last
    kept = [one for one in matches if source_of(one.path) in wanted and _stands(last, one.text)]
    defines = _definition_of(last)
    definitions = [one for one in kept if kind_of(one.path) == "code" and defines.search(one.text)]
    owner = name.rpartition(".")[0].rpartition(".")[2]
    definitions.sort(key=lambda one: (is_aside(one.path), not _owned(workspace, one, last, owner), one.path, one.line))
    uses = [one for one in kept if one not in definitions]
    uses.sort(key=lambda one: (is_aside(one.path), one.path, one.line))
    return Looked(name, tuple(definitions), tuple(uses), near=near, cut=was_cut)


def block_at(workspace: Workspace, path: str, line: int, name: str = "") -> tuple[Block, list[str]] | None:
    """The passage around a line (the definition of `name`, if it is one) with the lines of the file; None if unread."""
    lines = lines_of(workspace, path)
    if lines is None:
        return None
    around = [block for block in cut(path, kind_of(path) or "code", lines) if block.start <= line <= block.end]
    named = [block for block in around if block.name == name]
    found = (named or around or [Block(line, line)])[0]
    return found, lines


def lines_of(workspace: Workspace, path: str) -> list[str] | None:
    """The lines of a file; None if it cannot be read."""
    try:
        return workspace.read_text(path).replace("\r\n", "\n").split("\n")
    except RetinueError:
        return None


def _grep(workspace: Workspace, text: str, watch: Watch, *, ignore_case: bool) -> tuple[tuple[Match, ...], bool]:
    left = watch.left_s()
    seconds = _SECONDS if left is None else max(0.05, min(left, _SECONDS))
    found = grep(workspace, text, syntax="literal", ignore_case=ignore_case, max_matches=_MOST, timeout_s=seconds)
    return found.matches, bool(found.cut)


def _spelled(name: str, matches: tuple[Match, ...]) -> str:
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    return next((found.group() for one in matches if (found := pattern.search(one.text))), "")


def _stands(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE if " " in name else 0) is not None


def _definition_of(name: str) -> re.Pattern[str]:
    escaped = re.escape(name)
    return re.compile(
        rf"(?:^|\s)(?:def|class|function\*?|fn|func|type|struct|enum|trait|interface|module|namespace|macro|record|object"
        rf"|message|service|const|let|var|val|static|#define)\s+(?:\([^)]*\)\s*)?{escaped}(?!\w)"
        rf"|^(?:    |\t)?{escaped}\s*(?::[^=]+)?=(?!=).*(?<!,)$|^(?:    |\t)?{escaped}\s*:\s*[\w\"'\[\].| ]+$"
    )


def _owned(workspace: Workspace, match: Match, name: str, owner: str) -> bool:
    if not owner:
        return True
    found = block_at(workspace, match.path, match.line, name)
    return found is not None and owner in (*found[0].title.split("."), match.path.rpartition("/")[2].partition(".")[0])
