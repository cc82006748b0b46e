"""Gathers what a question may be answered with: exact look-ups first, then the passages that fit its words.

Everything found is kept in order of how well it answers; nothing is said about it yet. When time is up, what was
found so far is what there is.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import PurePosixPath
from typing import Final

from retinue.catalogue._aside import is_aside
from retinue.catalogue._watch import Watch
from retinue.catalogue.researcher_analyst.depth import Depth
from retinue.catalogue.researcher_analyst.evidence import Evidence, EvidenceKind, coverage, distinct, judge
from retinue.catalogue.researcher_analyst.extract import prose_of
from retinue.catalogue.researcher_analyst.gathered import Gathered
from retinue.catalogue.researcher_analyst.lookup import Looked, block_at, look_up
from retinue.catalogue.researcher_analyst.preference import fitness
from retinue.catalogue.researcher_analyst.question import Asked
from retinue.catalogue.researcher_analyst.rarity import weights_of
from retinue.catalogue.researcher_analyst.remembered import remembered
from retinue.catalogue.researcher_analyst.sources import Source, kinds_of, source_of
from retinue.errors import DeadlineExceeded, RetinueError
from retinue.tools.grep import Match
from retinue.tools.search import Index, Passage, terms
from retinue.tools.search.kinds import NO_TEXT, kind_of
from retinue.tools.search.passages import cut
from retinue.tools.search.words import STOP_WORDS
from retinue.tools.tree import FileEntry, list_files
from retinue.tools.workspace import Workspace

__all__ = ["ENOUGH", "ENOUGH_OF_CODE", "gather"]

ENOUGH: Final = 0.5
"""A passage that has less of the question's weight than this answers something else."""

ENOUGH_OF_CODE: Final = 0.7
_FEEDBACK_FROM: Final = 5
_FEEDBACK_WORDS: Final = 6
_FEEDBACK_SHARE: Final = 0.5
_HEAD: Final = 60
_NEAR: Final = 0.2
_HURRIED: Final = 10
_BELOW: Final = 8
_HEADED: Final = 0.4
_NAMES: Final = 20
_README: Final = ("readme", "index", "overview", "introduction")


def gather(
    asked: Asked,
    *,
    workspace: Workspace,
    index: Index,
    sources: Sequence[Source],
    depth: Depth,
    memory: str,
    watch: Watch,
    progress: Callable[[str, int, int], None],
) -> Gathered:
    """Gather for `asked`, in the sources there are (`web` is none of them).

    `memory` is what the caller remembers, searched like a memory file; `progress` is told of each phase, with how much
    of it is done.
    """
    search = _Search(asked, workspace, index, sources, depth, watch)
    try:
        search.prepare(progress)
        search.look_up()
        search.passages(memory)
    except DeadlineExceeded:
        search.found.late = True
        search.hurry()
    return search.finished()


def _is_call(line: str) -> bool:
    """Whether a line looks like code that does something, not like a comment, an import or a list of names."""
    bare = line.strip()
    return "(" in bare and not bare.startswith(("#", "//", "*", "import ", "from ", ":", "..", '"'))


def _needed(one: Evidence) -> float:
    """How much of the question a passage must have: more when it only shows code."""
    return ENOUGH_OF_CODE if one.is_code and one.kind == "passage" else ENOUGH


@dataclass
class _Search:
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
    best: float = 0.0

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

    # --- the steps ----------------------------------------------------------------------------------------------

    def prepare(self, progress: Callable[[str, int, int], None]) -> None:
        """Take in the tree: which files there are, and what changed in them."""

        def looked_at(done: int, total: int) -> None:
            self.found.read = (done, total)
            progress("reading the tree", done, total)
            self.watch.check()

        listing = list_files(self.workspace)
        self.entries = [entry for entry in listing.files if not entry.is_link and source_of(entry.path) in self.sources]
        refreshed = self.index.refresh(progress=looked_at)
        passed_over = {item.path for item in refreshed.skipped}
        self.found.left_out = [
            item for item in refreshed.skipped if item.reason != NO_TEXT and source_of(item.path) in self.sources
        ]
        self.entries = [entry for entry in self.entries if entry.path not in passed_over]
        self.found.files.update(source for entry in self.entries if (source := source_of(entry.path)) is not None)

    def look_up(self) -> None:
        """Look up exactly what the question names: files, identifiers, quoted words."""
        for path in self.asked.files:
            self._file(path)
        for name in (*self.asked.names, *self.asked.phrases):
            looked = look_up(self.workspace, name, self.sources, self.watch)
            self.found.looked.append(looked)
            self._looked(looked)

    def passages(self, memory: str) -> None:
        """Search the tree, and the memory that came with the task, for the words of the question."""
        self.watch.check()
        if self.asked.wish == "overview":
            self._overview()
        self.found.searched_for = list(dict.fromkeys(self.asked.words.values()))
        for passage in self._searched(self.asked.text):
            self._keep(passage, 1.0)
        if memory.strip() and "memory" in self.sources:
            for passage in remembered(memory, self.weights):
                self._keep(passage, 1.0)
        self._by_words_alone()
        if self.depth.feedback and self.candidates:
            self._feed_back()

    def hurry(self) -> None:
        """Time is up: take the best of what the index knows already, if nothing has been found so far."""
        self.hurried = True
        if not self.candidates:
            for passage in islice(self._searched(self.asked.text), _HURRIED):
                self._keep(passage, 1.0)

    def finished(self) -> Gathered:
        """What was found, in order, with what says nothing new or too little left out."""
        ranked = sorted(self.candidates, key=lambda one: (-one.score, one.path, one.line))
        defined = [one for one in ranked if one.kind == "definition"]
        if self.asked.wish == "where" and defined:
            product = any(not is_aside(one.path) for one in defined)
            ranked = [
                one for one in ranked
                if one.kind == "usage"
                or (one.kind == "definition" and not (product and is_aside(one.path)))
                or one.source != "code"
            ]  # fmt: skip
        good = [one for one in ranked if one.covered >= _needed(one) or one.kind in {"overview", "usage"}]
        if not any(one.kind != "usage" for one in good):
            good = [one for one in good if self.asked.wish == "usages"]
        self.found.evidence = distinct(good, limit=self.depth.findings, per_file=self._per_file())
        self.found.nearest = ranked[0] if ranked and not good and ranked[0].covered >= _NEAR else None
        return self.found

    def _per_file(self) -> int:
        return self.depth.findings if self.meant or self.asked.wish == "usages" else self.depth.per_file

    # --- what the question names --------------------------------------------------------------------------------

    def _file(self, path: str) -> None:
        known = [
            entry.path for entry in self.entries if entry.path == path or entry.path.endswith(f"/{path.rstrip('/')}")
        ]
        below = [entry.path for entry in self.entries if f"/{entry.path}".find(f"/{path.strip('/')}/") >= 0]
        if known:
            self.meant += sorted(known, key=lambda one: one.count("/"))[:1]
            self._head_of(self.meant[-1])
        elif not below:
            stem = PurePosixPath(path).stem.casefold()
            near = [one.path for one in self.entries if stem and stem in PurePosixPath(one.path).stem.casefold()]
            self.found.absent_files[path] = tuple(sorted(near, key=len)[:3])

    def _head_of(self, path: str) -> None:
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
        self._add("overview", path, 1, end, "\n".join(lines[:end]), score=score, sentences=3)
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

    def _looked(self, looked: Looked) -> None:
        for rank, match in enumerate(looked.definitions[:4]):
            self._definition(match, looked.near or looked.name.rpartition(".")[2], rank)
        wanted = self.depth.usages
        if self.asked.wish in {"usages", "files"} or (not looked.definitions and looked.found):
            wanted = max(wanted, self.depth.findings)
        uses = (
            sorted(looked.uses, key=lambda one: not _is_call(one.text)) if self.asked.wish == "usages" else looked.uses
        )
        for rank, match in enumerate(uses[:wanted]):
            phrase = looked.name if " " in looked.name else ""
            self._use(match, rank, defined=bool(looked.definitions), phrase=phrase)
        if self.asked.wish == "files":
            self._count_places((*looked.definitions, *looked.uses))

    def _definition(self, match: Match, name: str, rank: int) -> None:
        found = block_at(self.workspace, match.path, match.line, name)
        if found is None:
            return
        block, lines = found
        text = "\n".join(lines[block.start - 1 : block.end])
        wished = {"where": 2.0, "what": 1.7, "usages": 0.6}.get(self.asked.wish, 1.3)
        score = wished * (0.6 if is_aside(match.path) else 1.0) * 0.95**rank
        self._add(
            "definition", match.path, block.start, block.end, text, score=score,
            name=name, title=block.title, near=match.line, sentences=2,
        )  # fmt: skip

    def _use(self, match: Match, rank: int, *, defined: bool, phrase: str) -> None:
        found = block_at(self.workspace, match.path, match.line)
        if found is None:
            return
        block, lines = found
        in_docs = kind_of(match.path) == "docs"
        end = block.end
        if in_docs and not prose_of(match.path, "docs", "\n".join(lines[block.start - 1 : end]), block.start):
            end = min(len(lines), end + _BELOW)  # a heading or directive: what it is about stands below
        text = "\n".join(lines[block.start - 1 : end])
        wished = 1.8 if phrase else 1.6 if self.asked.wish in {"usages", "files"} else 0.5 if defined else 1.0
        score = wished * (0.7 if is_aside(match.path) else 1.0) * 0.98**rank
        self._add(
            "usage" if defined and not in_docs else "mention", match.path, block.start, end, text,
            score=score, title=block.title, near=None if in_docs else match.line,
            owner=block.name, phrase=phrase,
        )  # fmt: skip

    def _count_places(self, matches: Sequence[Match]) -> None:
        counts = Counter(match.path for match in matches)
        first: dict[str, int] = {}
        for match in matches:
            first[match.path] = min(first.get(match.path, match.line), match.line)
        self.found.places += [(path, count, first[path]) for path, count in counts.most_common()]

    # --- what its words find ------------------------------------------------------------------------------------

    def _searched(self, text: str) -> Iterator[Passage]:
        """The passages of the index that fit, from the sources that were asked for."""
        kinds = kinds_of(self.sources)
        if not kinds or not text.strip():
            return
        counted: Counter[Source] = Counter()
        for passage in self.index.search(text, kinds=kinds, paths=self.meant, limit=self.depth.candidates):
            source = source_of(passage.path)
            if source in self.sources and source is not None:
                counted[source] += 1
                yield passage
        self.found.passages.update(counted)

    def _keep(self, passage: Passage, share: float) -> None:
        """Judge a passage that was searched for, and keep it."""
        if not self.hurried:
            self.watch.check()
        source = source_of(passage.path) or "memory"
        covered = coverage(self.weights, passage.text, passage.name, passage.title, passage.path)
        headed = coverage(self.weights, passage.title.rpartition(" > ")[2]) if passage.kind == "docs" else 0.0
        score = share * (0.25 + 0.75 * covered) * (1 + _HEADED * headed) * fitness(passage, self.asked)
        kind: EvidenceKind = "definition" if self.asked.wish == "where" and self._is_meant(passage.name) else "passage"
        self._add(
            kind, passage.path, passage.start, passage.end, passage.text, score=score * self._scale(passage),
            name=passage.name, title=passage.title, source=source, sentences=self.depth.sentences,
        )  # fmt: skip

    def _is_meant(self, name: str) -> bool:
        """Whether a definition is called what the question asks for, at least half of it."""
        whole, *parts = dict.fromkeys(terms(name)) or [""]
        return whole in self.weights or sum(part in self.weights for part in parts) * 2 > len(parts)

    def _scale(self, passage: Passage) -> float:
        """A passage's score against the best of its kind: 1 for that, less for the others."""
        self.best = max(self.best, passage.score)
        return (passage.score / self.best) ** 0.5 if self.best else 1.0

    def _by_words_alone(self) -> None:
        """For a question that asks for files and names nothing exactly: the files of the best passages."""
        if self.asked.wish != "files" or self.found.places:
            return
        good = [one for one in self.candidates if one.covered >= ENOUGH]
        counts = Counter(one.path for one in good)
        lines = {one.path: one.line for one in reversed(good)}
        self.found.places += [(path, count, lines[path]) for path, count in counts.most_common()]

    def _feed_back(self) -> None:
        """Search once more with the words that the best passages share, for passages that say it in other words."""
        best = sorted(self.candidates, key=lambda one: -one.score)[:_FEEDBACK_FROM]
        shared = Counter(term for one in best if one.covered >= ENOUGH for term in one.terms)
        new = [
            term for term, count in shared.most_common()
            if count > 1 and len(term) > 3 and term not in self.weights and term not in STOP_WORDS
        ][:_FEEDBACK_WORDS]  # fmt: skip
        if new:
            self.found.searched_for += new
            for passage in self._searched(f"{self.asked.text} {' '.join(new)}"):
                self._keep(passage, _FEEDBACK_SHARE)

    def _overview(self) -> None:
        """What the project says it is: the beginning of its first document."""
        documents = [entry.path for entry in self.entries if kind_of(entry.path) == "docs"]
        first = [path for path in documents if PurePosixPath(path).stem.casefold() in _README]
        for path in sorted(first, key=lambda one: (one.count("/"), _README.index(PurePosixPath(one).stem.casefold())))[
            :2
        ]:
            self._head_of(path)

    def _add(
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
    ) -> None:
        """Judge a passage and keep it among the candidates, unless it says nothing."""
        try:
            one = judge(
                kind=kind,
                source=source or source_of(path) or "code",
                file_kind="docs" if source == "memory" else kind_of(path) or "code",
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
            )
        except RetinueError:
            return
        if one.text or one.signature:
            self.candidates.append(one)
