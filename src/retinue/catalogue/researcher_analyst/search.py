"""Searches for a query: the passages of the index that fit its words, the names it has, and texts that are no files.

Everything found is kept in order of how well it answers; nothing is said about it yet. When time is up, what was found
so far is what there is.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log
from pathlib import PurePosixPath
from typing import Final

from retinue.catalogue._aside import is_aside
from retinue.catalogue._watch import Watch
from retinue.catalogue.researcher_analyst.parameters import Depth, Source, source_of
from retinue.catalogue.researcher_analyst.quotations import LIGHT_SHARE, Judgement, Query, Quotation, distinct, judge
from retinue.catalogue.researcher_analyst.results import PassageKind
from retinue.catalogue.researcher_analyst.texts import SourceText
from retinue.catalogue.researcher_analyst.units import Unit, paragraphs, units_of
from retinue.errors import DeadlineExceeded, RetinueError
from retinue.tools.grep import Match, grep
from retinue.tools.search import Index, Kind, PassageHit
from retinue.tools.search.kinds import NO_TEXT
from retinue.tools.tree import Skipped
from retinue.tools.workspace import Workspace

__all__ = ["SearchOutcome", "search"]

_README: Final = ("readme", "index", "overview", "introduction")
_DULL: Final = ("api", "change", "history", "news", "release", "license", "licence", "copying", "authors", "version")
"""Names of documents that say what changed, or who may use it: they explain little."""
_DULL_SHARE: Final = 0.4
_CODE_SHARE: Final = 0.45
_HEADED: Final = 0.4
_RANKED: Final = 0.6
"""What the last passage that the index gives keeps of its score; the first keeps all."""
_READ_ON: Final = 2
_CONTINUED: Final = 0.75
_LEANS: Final = frozenset(
    {"But", "Here", "However,", "It", "Otherwise,", "That", "These", "They", "This", "Those", "To"}
)
"""A paragraph that begins so goes on with the one before."""
_TEXT: Final = 200_000
_NEAR: Final = 0.2
_MATCHES: Final = 5_000


@dataclass(slots=True)
class SearchOutcome:
    """What was found.

    Attributes:
        evidence: Best first; empty when nothing covers the query.
        nearest: The best of what does not cover it.
        absent: Names that stand nowhere.
        absent_paths: Paths that are not there, each with those that look like it.
        places: For who asks for files: each with how often and where first it has the words.
        files: How many files of each source were searched.
        passages: How many passages of each source were compared.
        texts: What was searched that is no file, by what stands in place of its path.
        compared: How many passages of those were compared, by source.
        read: How many files of the tree were looked at, and how many there are.
        late: Time was up before all was done.
    """

    evidence: list[Quotation] = field(default_factory=list[Quotation])
    nearest: Quotation | None = None
    absent: list[str] = field(default_factory=list[str])
    absent_paths: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    places: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    files: Counter[Source] = field(default_factory=Counter[Source])
    passages: Counter[Source] = field(default_factory=Counter[Source])
    texts: dict[str, SourceText] = field(default_factory=dict[str, SourceText])
    compared: Counter[Source] = field(default_factory=Counter[Source])
    left_out: list[Skipped] = field(default_factory=list[Skipped])
    words: list[str] = field(default_factory=list[str])
    read: tuple[int, int] = (0, 0)
    late: bool = False

    @property
    def pages(self) -> int:
        """How many pages of the web were searched."""
        return sum(text.source == "web" for text in self.texts.values())


def search(
    query: Query,
    *,
    workspace: Workspace,
    index: Index | None,
    sources: Sequence[Source],
    paths: Sequence[str],
    depth: Depth,
    texts: Sequence[SourceText],
    watch: Watch,
    progress: Callable[[str, int, int], None],
) -> SearchOutcome:
    """Search for `query`.

    Args:
        query: The words.
        workspace: Where.
        index: Of the workspace; None when no files are asked for.
        sources: Which files: `web` is none of them.
        paths: Only these files and folders, if any.
        depth: How far to go.
        texts: What is no file, searched as documents are.
        watch: Says when to stop.
        progress: Is told of each phase, with how much of it is done.
    """
    work = _Search(query, workspace, index, sources, paths, depth, watch)
    try:
        work.prepare(progress)
        work.look_up()
        work.compare()
        for text in texts:
            work.compare_text(text)
    except DeadlineExceeded:
        work.outcome.late = True
        if not work.candidates:
            work.hurry()
    return work.finished()


@dataclass
class _Search:
    query: Query
    workspace: Workspace
    index: Index | None
    sources: Sequence[Source]
    paths: Sequence[str]
    depth: Depth
    watch: Watch
    outcome: SearchOutcome = field(default_factory=SearchOutcome)
    candidates: list[Quotation] = field(default_factory=list[Quotation])
    files: dict[str, Source] = field(default_factory=dict[str, Source])
    all_files: int = 0
    lines: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @cached_property
    def weights(self) -> dict[str, float]:
        """How telling each word is here: the fewer passages have it, the more."""
        words = self.query.words
        counts, total = self.index.holders(words.values()) if self.index else ([0] * len(words), 0)
        return {
            term: (log(1 + (total - count + 0.5) / (count + 0.5)) + 0.1)
            * (LIGHT_SHARE if term in self.query.light else 1)
            for term, count in zip(words, counts, strict=True)
        }

    # --- the steps ----------------------------------------------------------------------------------------------

    def prepare(self, progress: Callable[[str, int, int], None]) -> None:
        """Take in the tree: which files there are, and what changed in them."""
        self.outcome.words = list(dict.fromkeys(self.query.words.values()))
        if self.index is None:
            return

        def looked_at(done: int, total: int) -> None:
            self.outcome.read = (done, total)
            progress("reading the tree", done, total)
            self.watch.check()

        refreshed = self.index.refresh(progress=looked_at)
        self.outcome.left_out = [
            item for item in refreshed.skipped if item.reason != NO_TEXT and source_of(item.path) in self.sources
        ]
        known = self._take_files()
        for path in self.paths:
            if not any(_is_below(one, path) for one in known):
                stem = PurePosixPath(path).stem.casefold()
                near = sorted((one for one in known if stem[:5] in PurePosixPath(one).stem.casefold()), key=len)
                self.outcome.absent_paths[path] = tuple(near[:3])

    def _take_files(self) -> list[str]:
        """Which files are searched; gives all that the index has."""
        known = self.index.paths() if self.index else []
        self.all_files = len(known)
        for path in known:
            source = source_of(path)
            if source is not None and source in self.sources and self._is_meant(path):
                self.files[path] = source
        self.outcome.files.update(self.files.values())
        return known

    def look_up(self) -> None:
        """Look up exactly what is named: identifiers and quoted words."""
        for name in (*self.query.names, *self.query.phrases):
            self.watch.check()
            last = name.rpartition(".")[2].lstrip("-") if " " not in name else name
            defined = [] if " " in name or not self.index else self._definitions(name, last)
            wants_uses = self.query.focus in {"uses", "files"} or self.depth.usages or not defined
            uses = self._uses(last, defined) if wants_uses and self.files else []
            if not defined and not uses:
                self.outcome.absent.append(name)
            for rank, hit in enumerate(defined[:4]):
                self._define(hit, rank)
            for rank, match in enumerate(uses[: self._most_uses(is_defined=bool(defined))]):
                self._use(match, rank, is_defined=bool(defined))
            if self.query.focus == "files":
                self._count([*((hit.path, hit.start) for hit in defined), *((one.path, one.line) for one in uses)])

    def compare(self) -> None:
        """Judge the passages that fit the words; without any, what the files say at their beginning."""
        self.watch.check()
        if not self.query.words:
            self._heads()
        for kind in ("docs", "code"):
            hits = self._hits(kind)
            for hit in hits:
                self.watch.check()
                self._keep(hit, _RANKED + (1 - _RANKED) * hit.score / hits[0].score)
        if self.query.focus == "define" and not self.query.names:
            for word in self.query.words.values():
                for rank, hit in enumerate(self._definitions(word, word)[:2]):
                    self._define(hit, rank)
        if self.query.focus == "files" and not self.outcome.places:
            good = [one for one in self.candidates if one.score > 0]
            self._count([(one.path, one.line) for one in sorted(good, key=lambda one: -one.score)])

    def compare_text(self, text: SourceText) -> None:
        """Judge what is no file."""
        self.watch.check()
        self.outcome.texts[text.path] = text
        rows = [row[:4_000] for row in text.text[:_TEXT].split("\n")]
        for unit in paragraphs(rows, 1):
            self.outcome.compared[text.source] += 1
            topic = text.title or text.path.rpartition("/")[2]
            one = judge(unit, query=self.query, weights=self.weights, topic=topic, path="", is_first=unit.start == 1)
            hit = PassageHit(text.path, "docs", unit.start, unit.end, "", topic, 0.0)
            self._add(hit, unit, "passage", one if self.weights else Judgement(score=0.1))

    def hurry(self) -> None:
        """Time is up: the best of what the index knows already."""
        if not self.files:
            self._take_files()
        for hit in self._hits("docs")[:10]:
            self._keep(hit)

    def finished(self) -> SearchOutcome:
        """What was found, in order, with what says nothing new or too little left out."""
        ranked = sorted(self.candidates, key=lambda one: (-one.score, one.path, one.line))
        good = [one for one in ranked if one.score > 0]
        if all(one.kind == "usage" for one in good) and self.query.focus not in {"uses", "files"}:
            good = []
        if self.query.focus == "define" and any(one.kind == "definition" for one in good):
            good = [one for one in good if one.kind != "passage"]
        per_file = self.depth.findings if self.paths or self.query.focus == "uses" else self.depth.per_file
        self.outcome.evidence = distinct(good, limit=self.depth.findings, per_file=per_file)
        nearest = max(ranked, key=lambda one: one.covered, default=None)
        self.outcome.nearest = nearest if nearest and not good and nearest.covered >= _NEAR else None
        return self.outcome

    # --- what the words find ------------------------------------------------------------------------------------

    def _hits(self, kind: Kind) -> list[PassageHit]:
        if self.index is None or not self.files:
            return []
        only = None if len(self.files) == self.all_files else self.files
        limit = self.depth.candidates
        hits = self.index.search(self.query.words.values(), kinds=(kind,), files=only, limit=limit)
        if self.query.focus == "explain" and kind == "code":
            hits = [hit for hit in hits if hit.name]
        hits = [hit for hit in hits if hit.path in self.files and (self.paths or not is_aside(hit.path))]
        self.outcome.passages.update(self.files[hit.path] for hit in hits)
        return hits

    def _keep(self, hit: PassageHit, share: float = 1.0) -> None:
        """Judge the units of a passage, and keep those that answer."""
        topic = _topic(hit)
        if hit.kind == "docs" and hit.path.casefold().rpartition("/")[2].startswith(_DULL):
            share *= 1.0 if self.query.literals else _DULL_SHARE
        if hit.kind == "code":
            share *= 1.0 if self.query.focus in {"define", "value"} else _CODE_SHARE
        units = self._units(hit)
        strict = hit.kind == "code" and self.query.focus == "explain"
        judged = [
            judge(
                unit, query=self.query, weights=self.weights, topic=topic, path=hit.path, is_first=place == 0,
                strict=strict,
            )
            for place, unit in enumerate(units)
        ]  # fmt: skip
        best = max(range(len(units)), key=lambda place: judged[place].score, default=0)
        for place, (unit, one) in enumerate(zip(units, judged, strict=True)):
            score = 0.0 if strict and not unit.text else one.score
            leans = unit.text.split(" ", 1)[0] in _LEANS and place == best + 1
            if best < place <= best + _READ_ON and (leans or judged[best].headed >= _HEADED):
                score = max(score, judged[best].score * _CONTINUED)  # it goes on there
            elif place + 1 == best and units[best].text.split(" ", 1)[0] in _LEANS:
                score = max(score, judged[best].score)
            self._add(hit, unit, "passage", replace(one, score=score * share))

    def _heads(self) -> None:
        """What the files that are meant say at their beginning, else what the project says it is."""
        docs = [path for path in self.files if PurePosixPath(path).stem.casefold() in _README]
        docs.sort(key=lambda one: (one.count("/"), _README.index(PurePosixPath(one).stem.casefold()), one))
        meant = [path for path in self.files if self.paths][:3]
        for rank, path in enumerate(meant or docs[:1]):
            kind: Kind = "code" if self.files[path] == "code" else "docs"
            rows = self._lines(path)
            hit = PassageHit(path, kind, 1, len(rows) if kind == "docs" else min(len(rows), 60), "", path, 0.0)
            units = [one for one in self._units(hit) if one.text and not one.text.startswith(("[![", "<", "!["))]
            for place, unit in enumerate(units[: 2 if kind == "docs" else 1]):
                self._add(hit, unit, "overview", Judgement(score=2.0 / (1 + rank + 0.2 * place)))

    # --- what is named ------------------------------------------------------------------------------------------

    def _definitions(self, name: str, last: str) -> list[PassageHit]:
        """Where `last` is defined, in the product before its tests; of a dotted name, in its owner first."""
        hits = [hit for hit in self.index.called(last) if hit.path in self.files] if self.index else []
        owner = name.rpartition(".")[0].rpartition(".")[2]

        def is_owned(hit: PassageHit) -> bool:
            return owner in (*hit.title.split("."), PurePosixPath(hit.path).stem)

        return sorted(
            hits, key=lambda hit: (is_aside(hit.path), bool(owner) and not is_owned(hit), hit.path, hit.start)
        )

    def _uses(self, text: str, defined: Sequence[PassageHit]) -> list[Match]:
        left = self.watch.left_s()
        seconds = 20.0 if left is None else max(0.05, min(left, 20.0))
        is_phrase = " " in text
        matches = grep(
            self.workspace, text, syntax="literal", ignore_case=is_phrase, max_matches=_MATCHES, timeout_s=seconds
        )
        lines = {(hit.path, hit.start + at) for hit in defined for at in range(3)}
        kept = [
            one
            for one in matches.matches
            if one.path in self.files and (one.path, one.line) not in lines and (is_phrase or _stands(text, one.text))
        ]
        calls = self.query.focus == "uses"
        return sorted(kept, key=lambda one: (is_aside(one.path), calls and not _is_call(one.text), one.path, one.line))

    def _most_uses(self, *, is_defined: bool) -> int:
        if self.query.focus in {"uses", "files"} or not is_defined:
            return self.depth.findings
        return self.depth.usages

    def _define(self, hit: PassageHit, rank: int) -> None:
        for unit in self._units(hit)[:1]:
            chosen = self._told(unit)
            only_names = all(word in self.query.names for word in self.query.words.values())
            wished = {"define": 4.0, "uses": 0.6, "explain": 2.0 if only_names else 0.35}.get(self.query.focus, 2.0)
            score = wished * (0.6 if is_aside(hit.path) else 1.0) * 0.9**rank
            one = self._judge(hit, unit)
            self._add(hit, chosen, "definition", replace(one, score=score))

    def _judge(self, hit: PassageHit, unit: Unit) -> Judgement:
        return judge(unit, query=self.query, weights=self.weights, topic=_topic(hit), path=hit.path, is_first=True)

    def _told(self, unit: Unit) -> Unit:
        """A definition with the first paragraph of what it says, and the one that the words ask for."""
        parts = [" ".join(one.split()) for one in unit.text.split("\n\n")]
        first = parts[:1]
        for part in parts[1:]:
            words = judge(replace(unit, text=part, block="", signature=""), query=self.query, weights=self.weights,
                          topic="", path="", is_first=False).covered  # fmt: skip
            if words >= 0.3:
                first.append(part)
        return replace(unit, text=" ".join(first[:3]), block="")

    def _use(self, match: Match, rank: int, *, is_defined: bool) -> None:
        """A line that has the name, as what it is part of."""
        source = self.files[match.path]
        wished = 3.0 if self.query.focus in {"uses", "files"} else 0.3 if is_defined else 1.5
        score = wished * (0.7 if is_aside(match.path) else 1.0) * 0.98**rank
        owner = next((hit for hit in reversed(self._passages(match.path)) if hit.start <= match.line), None)
        if owner is None:
            return
        if source != "code":
            units = [one for one in self._units(owner) if one.start <= match.line <= one.end] or self._units(owner)[:1]
            for unit in units[:1]:
                words = self._judge(owner, unit)
                self._add(owner, unit, "mention", Judgement(1.0, score * (0.5 + words.covered)))
            return
        row = " ".join(match.text.split())[:200]
        unit = Unit(match.line, match.line, "", signature=row)
        kind: PassageKind = "usage" if is_defined or self.query.focus == "uses" else "mention"
        self._add(owner, unit, kind, Judgement(1.0, score))

    def _count(self, places: Sequence[tuple[str, int]]) -> None:
        counts = Counter(path for path, _ in places)
        self.outcome.places += [
            (path, count, min(line for other, line in places if other == path)) for path, count in counts.most_common()
        ]

    # --- files --------------------------------------------------------------------------------------------------

    def _passages(self, path: str) -> list[PassageHit]:
        from retinue.tools.search.passages import cut  # noqa: PLC0415 - only who asks for uses needs it

        kind: Kind = "code" if self.files[path] == "code" else "docs"
        return [
            PassageHit(path, kind, one.start, one.end, one.name, one.title, 0.0)
            for one in cut(path, kind, "\n".join(self._lines(path)))
        ]

    def _lines(self, path: str) -> list[str]:
        if path not in self.lines:
            try:
                self.lines[path] = self.workspace.read_text(path).replace("\r\n", "\n").split("\n")
            except RetinueError:  # it changed after the tree was looked at
                self.lines[path] = []
        return self.lines[path]

    def _units(self, hit: PassageHit) -> list[Unit]:
        lines = self._lines(hit.path)

        def included(name: str) -> str:
            path = (PurePosixPath(hit.path).parent / name).as_posix()
            try:
                return self.workspace.read_text(path, max_bytes=_TEXT)
            except RetinueError:
                return ""

        return units_of(hit, lines, included) if lines else []

    def _is_meant(self, path: str) -> bool:
        return not self.paths or any(_is_below(path, one) for one in self.paths)

    def _add(self, hit: PassageHit, unit: Unit, kind: PassageKind, one: Judgement) -> None:
        text = self.outcome.texts.get(hit.path)
        if not (unit.text or unit.signature or unit.block):
            return
        self.candidates.append(
            Quotation(
                kind=kind,
                source=text.source if text else self.files[hit.path],
                path=hit.path,
                line=unit.start,
                start=hit.start,
                end=max(hit.end, unit.end),
                topic=_topic(hit),
                signature=unit.signature,
                text=" ".join(unit.text.split()),
                block=unit.block if hit.kind == "docs" else "",
                covered=one.covered,
                score=one.score,
                measured=bool(self.query.words),
            )
        )


def _topic(hit: PassageHit) -> str:
    name = f"{hit.title}.{hit.name}" if hit.title and hit.name else hit.name or hit.title
    return name or hit.path.rpartition("/")[2]


def _is_below(path: str, place: str) -> bool:
    place = place.removeprefix("./").strip("/")
    return path == place or path.startswith(f"{place}/") or path.endswith(f"/{place}") or f"/{place}/" in path


def _stands(name: str, text: str) -> bool:
    """Whether a name stands in a line as a word of its own."""
    at = text.find(name)
    while at >= 0:
        around = f" {text} "[at : at + len(name) + 2]
        if not (around[0].isalnum() or around[0] == "_" or around[-1].isalnum() or around[-1] == "_"):
            return True
        at = text.find(name, at + 1)
    return False


def _is_call(line: str) -> bool:
    """Whether a line looks like code that does something, not like a comment, an import or a list of names."""
    bare = line.strip()
    return "(" in bare and not bare.startswith(("#", "//", "*", "import ", "from ", ":", "..", '"'))
