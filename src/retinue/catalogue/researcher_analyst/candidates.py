"""What a search keeps: passages judged, with what a file says of itself; the search itself stands in `gather`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from retinue.catalogue._watch import Watch
from retinue.catalogue.researcher_analyst.depth import Depth
from retinue.catalogue.researcher_analyst.evidence import Evidence, EvidenceKind, coverage, judge
from retinue.catalogue.researcher_analyst.gathered import Gathered
from retinue.catalogue.researcher_analyst.lookup import block_at
from retinue.catalogue.researcher_analyst.question import Asked
from retinue.catalogue.researcher_analyst.rarity import weights_of
from retinue.catalogue.researcher_analyst.sources import Source, source_of
from retinue.errors import RetinueError
from retinue.tools.search import Index, terms
from retinue.tools.search.kinds import kind_of
from retinue.tools.search.passages import cut
from retinue.tools.tree import FileEntry
from retinue.tools.workspace import Workspace

__all__ = ["Candidates"]

_HEAD: Final = 60
_NAMES: Final = 20


@dataclass
class Candidates:
    """What may answer a question, and what that is judged by."""

    asked: Asked
    workspace: Workspace
    index: Index
    sources: Sequence[Source]
    depth: Depth
    watch: Watch
    found: Gathered = field(default_factory=Gathered)
    entries: list[FileEntry] = field(default_factory=list[FileEntry])
    candidates: list[Evidence] = field(default_factory=list[Evidence])
    meant: list[str] = field(default_factory=list[str])
    hurried: bool = False

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """How telling each word of the question is here; when there is no time to find out, all are alike."""
        if self.hurried:
            return {term: 0.35 if term in self.asked.weak else 1.0 for term in self.asked.words}
        return weights_of(
            self.asked.words,
            workspace=self.workspace,
            files=self.entries,
            watch=self.watch,
            weak=self.asked.weak,
            names=frozenset(term for name in self.asked.names for term in terms(name)[:1]),
        )

    def head_of(self, path: str) -> None:
        """What a file says of itself at its beginning; a module that says nothing, what it defines."""
        found = block_at(self.workspace, path, 1)
        if found is None:
            return
        _, lines = found
        if kind_of(path) == "docs":
            end = min(len(lines), _HEAD)
        else:
            end = next((block.end for block in cut(path, "code", lines)), 1)
        score = 0.5 if self.weights else 2.0
        self.add("overview", path, 1, end, "\n".join(lines[:end]), score=score, sentences=3)
        if kind_of(path) == "code":
            self._defined_in(path, lines)

    def _defined_in(self, path: str, lines: Sequence[str]) -> None:
        blocks = [block for block in cut(path, "code", lines) if block.name and not block.title]
        names = list(dict.fromkeys(block.name for block in blocks if not block.name.startswith("__")))
        if names:
            more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
            text = f"It defines {', '.join(f'`{name}`' for name in names[:_NAMES])}{more}."
            one = Evidence(
                kind="overview", source=source_of(path) or "code", path=path, line=blocks[0].start,
                start=blocks[0].start, end=blocks[-1].end, topic=PurePosixPath(path).name, signature="", text=text,
                covered=coverage(self.weights, *names, path), score=0.4 if self.weights else 1.9,
                terms=frozenset(map(str.casefold, names)), measured=bool(self.weights),
            )  # fmt: skip
            self.candidates.append(one)

    def add(
        self,
        kind: EvidenceKind,
        path: str,
        start: int,
        end: int,
        text: str,
        *,
        score: float,
        name: str = "",
        title: str = "",
        source: Source | None = None,
        near: int | None = None,
        sentences: int = 1,
        owner: str = "",
        phrase: str = "",
        literal: tuple[str, ...] = (),
        below: bool = False,
    ) -> None:
        """Judge a passage and keep it among the candidates, unless it says nothing."""
        try:
            one = judge(
                kind=kind,
                source=source or source_of(path) or "code",
                file_kind="docs" if source in {"memory", "web"} else kind_of(path) or "code",
                path=path,
                start=start,
                end=end,
                text=text,
                name=name,
                title=title if not owner else f"{title}.{owner}".strip("."),
                weights=self.weights,
                score=score,
                sentences=sentences,
                near=near,
                phrase=phrase,
                how_to=self.asked.how_to,
                literal=literal,
                below=below,
            )
        except RetinueError:
            return
        if one.text or one.signature:
            self.candidates.append(one)
