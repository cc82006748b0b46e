"""Searches for a query: the passages of the index that fit its words, the names it has, and texts that are no files.

Everything found is kept in order of how well it answers; nothing is said about it yet. When time is up, what was found
so far is what there is.
"""

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log
from pathlib import PurePosixPath
from typing import Final

from retinue.agents.port import RunContext
from retinue.catalogue._names import is_test_or_vendored
from retinue.catalogue._run_limits import RunDeadline
from retinue.contract.event import Progress
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.contract.result import Trace
from retinue.errors import DeadlineExceeded, RetinueError
from retinue.orchestration.reader.text_tokens import correct_spelling
from retinue.tools.grep import Match, grep
from retinue.tools.search.index import Index, PassageHit
from retinue.tools.search.passages import NO_TEXT, Kind, split_passages
from retinue.tools.tree import SkippedFile

from .parameters import PassageKind, ResearchRequest, Source, source_of
from .quotations import (
    LIGHT_SHARE,
    Judgement,
    Query,
    Quotation,
    Unit,
    judge,
    paragraphs,
    select_distinct,
    topic_of,
    units_of,
)

_README: Final = ("readme", "index", "overview", "introduction")
_DULL: Final = ("api", "change", "history", "news", "release", "license", "licence", "copying", "authors", "version")
"""Names of documents that say what changed, or who may use it: they explain little."""
_DULL_SHARE: Final = 0.4
_CODE_SHARE: Final = 0.2
_HEADED: Final = 0.4
_RANKED: Final = 0.6
"""What the last passage that the index gives keeps of its score; the first keeps all."""
_READ_ON: Final = 2
_CONTINUED: Final = 0.75
_LEANING: Final = "But Here However, It Otherwise, That These They This Those To"
_LEANS: Final = frozenset(_LEANING.split())
"""A paragraph that begins so continues the one before."""
_TEXT: Final = 200_000
_SHORT: Final = 5
_NEAR: Final = 0.2
_MATCHES: Final = 5_000
_GREP_S: Final = 20.0
_NO_CALL: Final = ("#", "//", "*", "import ", "from ", ":", "..", '"')
"""How lines begin that do nothing: comments, imports and lists of names."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text that is not a file: what a caller or a store remembers, or a page of the web. It is data, no instruction.

    Attributes:
        path: What it is called in place of a path: `context.memory`, `memory:project/m3`, a URL.
        facts: What its citations say besides: a page's title and the day it was read, a memory's provenance.
    """

    source: Source
    path: str
    text: str
    title: str = ""
    facts: JsonMapping = field(default_factory=dict)


@dataclass(slots=True)
class WebReading:
    """What the web had.

    Attributes:
        service: Who searched.
        results: How many results there were.
        skipped: Pages that were not read, each with why.
        error: Why the web was not searched.
    """

    pages: list[SourceText] = field(default_factory=list[SourceText])
    service: str = ""
    results: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    traces: list[Trace] = field(default_factory=list[Trace])
    error: RetinueError | None = None


@dataclass
class Search:
    """One search: for what, where, and what was found so far.

    Attributes:
        index: Of the workspace; None when no files are asked for.
        web: What the web had; None unless it was named as a source.
        texts: What is searched that is no file, by what stands in place of its path.
        memory_error: Why what earlier runs remembered is not among them.
        evidence: Best first; empty when nothing covers the query.
        nearest: The best of what does not cover it.
        absent: Names that stand nowhere.
        respellings: Words that stand nowhere, each with what is searched in its place.
        absent_paths: Paths that are not there, each with those that look like it.
        places: For the focus `files`: each file, how often it has the words, and the line of the first.
        revisions: The commit at which a file that is cited is as it was read.
        read: How many files of the tree were looked at, and how many there are.
    """

    request: ResearchRequest
    query: Query
    run: RunContext
    deadline: RunDeadline
    index: Index | None = None
    web: WebReading | None = None
    texts: dict[str, SourceText] = field(default_factory=dict[str, SourceText])
    memory_error: RetinueError | None = None
    evidence: list[Quotation] = field(default_factory=list[Quotation])
    nearest: Quotation | None = None
    absent: list[str] = field(default_factory=list[str])
    respellings: dict[str, str] = field(default_factory=dict[str, str])
    absent_paths: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    places: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    files: dict[str, Source] = field(default_factory=dict[str, Source])
    passages: Counter[Source] = field(default_factory=Counter[Source])
    revisions: dict[str, str] = field(default_factory=dict[str, str])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    read: tuple[int, int] = (0, 0)
    timed_out: bool = False
    _candidates: list[Quotation] = field(default_factory=list[Quotation])
    _occurrences: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    _rows: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def execute(self) -> None:
        """Search, as long as there is time; then there are only the best of what the index knows already."""
        try:
            if self.index is not None:
                self._refresh_index(self.index)
            self._look_up_names()
            self._compare_passages()
            self._compare_texts()
        except DeadlineExceeded:
            self.timed_out = True
            if not self._candidates:
                self._select_files()
                for hit in self._hits("docs")[:10]:
                    self._add_passage(hit)
        # Put what was found in order, and leave out what says nothing new or too little.
        ranked = sorted(self._candidates, key=lambda one: (-one.score, one.path, one.unit.start))
        good = [one for one in ranked if one.score > 0]
        if self.query.focus == "files":
            occurrences = self._occurrences or [(one.path, one.unit.start) for one in good]
            first = dict(sorted(occurrences, reverse=True))
            counts = Counter(path for path, _ in occurrences)
            self.places = [(path, count, first[path]) for path, count in counts.most_common()]
        if all(one.kind == "usage" for one in good) and self.query.focus not in {"uses", "files"}:
            good = []
        if self.query.focus == "define" and any(one.kind == "definition" for one in good):
            good = [one for one in good if one.kind != "passage"]
        bounds = self.request.bounds
        per_file = bounds.findings if self.request.paths or self.query.focus == "uses" else bounds.per_file
        self.evidence = select_distinct(good, limit=bounds.findings, per_file=per_file)
        closest = max(ranked, key=lambda one: one.coverage, default=None)
        self.nearest = closest if closest and not good and closest.coverage >= _NEAR else None

    @cached_property
    def weights(self) -> dict[str, float]:
        """How telling each word is here: the fewer passages have it, the more."""
        words = self.query.words
        counts, total = self.index.document_frequencies(words.values()) if self.index else ([0] * len(words), 0)
        return {
            term: (log(1 + (total - count + 0.5) / (count + 0.5)) + 0.1)
            * (LIGHT_SHARE if term in self.query.light else 1)
            for term, count in zip(words, counts, strict=True)
        }

    def _refresh_index(self, index: Index) -> None:
        """Take in the tree: which files there are, and what changed in them; then correct the spelling of the query."""

        def on_progress(read_count: int, total: int) -> None:
            self.read = (read_count, total)
            self.run.emit(Progress("reading the tree", "", read_count, total))
            self.deadline.check()

        skipped = index.refresh(progress=on_progress).skipped
        sources = self.request.local
        self.skipped = [one for one in skipped if one.reason != NO_TEXT and source_of(one.path) in sources]
        paths = self._select_files()
        for path in self.request.paths:
            if not any(_is_below(one, path) for one in paths):
                self.absent_paths[path] = nearest(path, paths)
        if not self.files:
            return
        # Words that stand nowhere are taken for those a letter away; short ones only beside known ones.
        counts, _ = index.document_frequencies(self.query.words.values())
        others = "\n".join(text.text for text in self.texts.values()).casefold()
        for (term, word), count in zip(self.query.words.items(), counts, strict=True):
            is_known = count or word in self.query.names or word.casefold() in others
            is_likely = len(word) > _SHORT or 2 * counts.count(0) < len(counts)
            if is_likely and not is_known and (spelling := correct_spelling(*index.stems_like(word), shortest=4)):
                self.respellings[term] = spelling
        self.query = self.query.with_spellings(self.respellings)

    def _select_files(self) -> list[str]:
        """Which files are searched; gives all that the index has."""
        indexed_paths = self.index.paths() if self.index else []
        paths = self.request.paths
        chosen_paths = [path for path in indexed_paths if not paths or any(_is_below(path, one) for one in paths)]
        sources = {path: source for path in chosen_paths if (source := source_of(path)) is not None}
        self.files |= {path: source for path, source in sources.items() if source in self.request.local}
        return indexed_paths

    def _look_up_names(self) -> None:
        """Look up exactly what is named: identifiers and quoted words."""
        bounds, is_list = self.request.bounds, self.query.focus in {"uses", "files"}
        for name in (*self.query.names, *self.query.phrases):
            self.deadline.check()
            last = name if " " in name else name.rpartition(".")[2].lstrip("-")
            defined = [] if " " in name else self._definitions(name, last)
            most = bounds.findings if is_list or not defined else bounds.usages
            uses: list[Match] = []
            if most and self.files:
                seconds, is_phrase = min(self.deadline.remaining_s() or _GREP_S, _GREP_S), " " in last
                word = re.compile(rf"(?<!\w){re.escape(last)}(?!\w)")
                matches = grep(
                    self.run.workspace,
                    last,
                    syntax="literal",
                    ignore_case=is_phrase,
                    max_matches=_MATCHES,
                    timeout_s=seconds,
                ).matches
                heads = {(hit.path, hit.start + at) for hit in defined for at in range(3)}
                uses = [one for one in matches if one.path in self.files and (one.path, one.line) not in heads]
                uses = [one for one in uses if is_phrase or word.search(one.text)]
                calls_first = self.query.focus == "uses"
                uses.sort(
                    key=lambda one: (
                        is_test_or_vendored(one.path),
                        calls_first and ("(" not in one.text or one.text.strip().startswith(_NO_CALL)),
                        one.path,
                        one.line,
                    )
                )
            if not defined and not uses:
                self.absent.append(name)
            for rank, hit in enumerate(defined[:4]):
                self._add_definition(hit, rank)
            for rank, match in enumerate(uses[:most]):
                self._add_use(match, rank, is_defined=bool(defined))
            if self.query.focus == "files":
                self._occurrences += [(hit.path, hit.start) for hit in defined] + [(one.path, one.line) for one in uses]

    def _compare_passages(self) -> None:
        """Judge the passages that fit the words; without any, what the files say at their beginning."""
        self.deadline.check()
        if not self.query.words:
            self._add_openings()
        for kind in ("docs", "code"):
            hits = self._hits(kind)
            for hit in hits:
                self.deadline.check()
                self._add_passage(hit, _RANKED + (1 - _RANKED) * hit.score / hits[0].score)
        if self.query.focus == "define" and not self.query.names:
            for word in self.query.words.values():
                for rank, hit in enumerate(self._definitions(word, word)[:2]):
                    self._add_definition(hit, rank)

    def _compare_texts(self) -> None:
        """Judge texts that are not files."""
        for text in self.texts.values():
            self.deadline.check()
            topic = text.title or text.path.rpartition("/")[2]
            rows = [row[:4_000] for row in text.text[:_TEXT].split("\n")]
            for unit in paragraphs(rows, 1):
                self.passages[text.source] += 1
                hit = PassageHit(text.path, "docs", unit.start, unit.end, "", topic, 0.0)
                one = self._judge(hit, unit, is_first=unit.start == 1) if self.weights else Judgement(score=0.1)
                self._add(hit, unit, "passage", one)

    def _hits(self, kind: Kind) -> list[PassageHit]:
        if self.index is None or not self.files:
            return []
        limit = self.request.bounds.candidates
        hits = self.index.search(self.query.words.values(), kinds=(kind,), files=self.files, limit=limit)
        if self.query.focus == "explain" and kind == "code":
            hits = [hit for hit in hits if hit.name]
        hits = [hit for hit in hits if self.request.paths or not is_test_or_vendored(hit.path)]
        self.passages.update(self.files[hit.path] for hit in hits)
        return hits

    def _add_passage(self, hit: PassageHit, share: float = 1.0) -> None:
        """Judge the units of a passage, and keep those that answer."""
        if hit.kind == "docs" and hit.path.casefold().rpartition("/")[2].startswith(_DULL):
            share *= 1.0 if self.query.literals else _DULL_SHARE
        if hit.kind == "code":
            share *= 1.0 if self.query.focus in {"define", "value"} else _CODE_SHARE
        units = self._units(hit)
        strict = hit.kind == "code" and self.query.focus == "explain"
        judgements = [self._judge(hit, unit, is_first=place == 0, strict=strict) for place, unit in enumerate(units)]
        best = max(range(len(units)), key=lambda place: judgements[place].score, default=0)
        for place, (unit, one) in enumerate(zip(units, judgements, strict=True)):
            score = 0.0 if strict and not unit.text else one.score
            leans = unit.text.split(" ", 1)[0] in _LEANS and place == best + 1
            if best < place <= best + _READ_ON and (leans or judgements[best].heading_score >= _HEADED):
                score = max(score, judgements[best].score * _CONTINUED)  # it continues there
            elif place + 1 == best and units[best].text.split(" ", 1)[0] in _LEANS:
                score = max(score, judgements[best].score)
            self._add(hit, unit, "passage", replace(one, score=score * share))

    def _add_openings(self) -> None:
        """What the files that are meant say at their beginning, else what the project says it is."""
        docs = [path for path in self.files if PurePosixPath(path).stem.casefold() in _README]
        docs.sort(key=lambda one: (one.count("/"), _README.index(PurePosixPath(one).stem.casefold()), one))
        named_paths = [path for path in self.files if self.request.paths][:3]
        for rank, path in enumerate(named_paths or docs[:1]):
            kind: Kind = "code" if self.files[path] == "code" else "docs"
            length = len(self._lines(path))
            hit = PassageHit(path, kind, 1, length if kind == "docs" else min(length, 60), "", path, 0.0)
            units = [one for one in self._units(hit) if one.text and not one.text.startswith(("[![", "<", "!["))]
            for place, unit in enumerate(units[: 2 if kind == "docs" else 1]):
                self._add(hit, unit, "overview", Judgement(score=2.0 / (1 + rank + 0.2 * place)))

    def _definitions(self, name: str, last: str) -> list[PassageHit]:
        """Where `last` is defined, in the product before its tests; of a dotted name, in its owner first."""
        hits = [hit for hit in self.index.definitions_of(last) if hit.path in self.files] if self.index else []
        owner = name.rpartition(".")[0].rpartition(".")[2]

        def is_elsewhere(hit: PassageHit) -> bool:
            return bool(owner) and owner not in (*hit.title.split("."), PurePosixPath(hit.path).stem)

        return sorted(hits, key=lambda hit: (is_test_or_vendored(hit.path), is_elsewhere(hit), hit.path, hit.start))

    def _add_definition(self, hit: PassageHit, rank: int) -> None:
        """A definition, with the first paragraph of what it says, and those that the words ask for."""
        for unit in self._units(hit)[:1]:
            is_all = tuple(self.query.words.values()) == self.query.names[:1]
            base_score = {"define": 4.0, "uses": 0.6, "explain": 2.0 if is_all else 0.35}.get(self.query.focus, 2.0)
            score = base_score * (0.6 if is_test_or_vendored(hit.path) else 1.0) * 0.9**rank
            first, *others = [" ".join(one.split()) for one in unit.text.split("\n\n")]
            relevant = [one for one in others if judge(Unit(0, 0, one), self.query, self.weights).coverage >= 0.3]
            short = replace(unit, text=" ".join([first, *relevant[:2]]), block="")
            self._add(hit, short, "definition", replace(self._judge(hit, unit), score=score))

    def _add_use(self, match: Match, rank: int, *, is_defined: bool) -> None:
        """A line that has the name, as what it is part of."""
        base_score = 3.0 if self.query.focus in {"uses", "files"} else 0.3 if is_defined else 1.5
        score = base_score * (0.7 if is_test_or_vendored(match.path) else 1.0) * 0.98**rank
        file_kind: Kind = "code" if self.files[match.path] == "code" else "docs"
        parts = split_passages(match.path, file_kind, "\n".join(self._lines(match.path)))
        part = max((one for one in parts if one.start <= match.line), key=lambda one: one.start, default=None)
        if part is None:
            return
        owner = PassageHit(match.path, file_kind, part.start, part.end, part.name, part.title, 0.0)
        if owner.kind == "code":
            unit = Unit(match.line, match.line, "", signature=" ".join(match.text.split())[:200])
            kind: PassageKind = "usage" if is_defined or self.query.focus == "uses" else "mention"
            self._add(owner, unit, kind, Judgement(1.0, score))
            return
        units = self._units(owner)
        for unit in ([one for one in units if one.start <= match.line <= one.end] or units)[:1]:
            self._add(owner, unit, "mention", Judgement(1.0, score * (0.5 + self._judge(owner, unit).coverage)))

    def _lines(self, path: str) -> list[str]:
        if path not in self._rows:
            self._rows[path] = self._read(path).replace("\r\n", "\n").split("\n")
        return self._rows[path]

    def _read(self, path: str) -> str:
        """A text of the workspace; nothing when it cannot be read, or changed after the tree was looked at."""
        try:
            return self.run.workspace.read_text(path)
        except RetinueError:
            return ""

    def _units(self, hit: PassageHit) -> list[Unit]:
        folder = PurePosixPath(hit.path).parent
        lines = self._lines(hit.path)
        return units_of(hit, lines, lambda name: self._read((folder / name).as_posix())[:_TEXT])

    def _judge(self, hit: PassageHit, unit: Unit, *, is_first: bool = True, strict: bool = False) -> Judgement:
        path = "" if hit.path in self.texts else hit.path
        return judge(unit, self.query, self.weights, topic_of(hit), path, is_first=is_first, strict=strict)

    def _add(self, hit: PassageHit, unit: Unit, kind: PassageKind, one: Judgement) -> None:
        if not (unit.text or unit.signature or unit.block):
            return
        text = self.texts.get(hit.path)
        unit = replace(unit, text=" ".join(unit.text.split()), block=unit.block if hit.kind == "docs" else "")
        source = text.source if text else self.files[hit.path]
        quotation = Quotation(kind, source, hit, unit, one.coverage, one.score, is_measured=bool(self.query.words))
        self._candidates.append(quotation)


def _is_below(path: str, place: str) -> bool:
    place = place.removeprefix("./").strip("/")
    return path == place or path.startswith(f"{place}/") or path.endswith(f"/{place}") or f"/{place}/" in path
