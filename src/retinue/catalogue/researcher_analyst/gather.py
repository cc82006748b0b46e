"""Gathers what a question may be answered with: exact look-ups first, then the passages that fit its words.

Everything found is kept in order of how well it answers; nothing is said about it yet. When time is up, what was
found so far is what there is.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import PurePosixPath
from typing import Final

from retinue.catalogue._aside import is_aside
from retinue.catalogue._watch import Watch
from retinue.catalogue.researcher_analyst.brought import Brought, passages_in
from retinue.catalogue.researcher_analyst.candidates import Candidates
from retinue.catalogue.researcher_analyst.depth import Depth
from retinue.catalogue.researcher_analyst.documents import (
    document_called,
    has_literal,
    meant_by,
    near_to,
    version_section,
)
from retinue.catalogue.researcher_analyst.evidence import Evidence, EvidenceKind, coverage, distinct, says_alike
from retinue.catalogue.researcher_analyst.explaining import explains, explanations, has_topic, missing
from retinue.catalogue.researcher_analyst.extract import block_below, prose_of
from retinue.catalogue.researcher_analyst.gathered import Gathered
from retinue.catalogue.researcher_analyst.lookup import Looked, block_at, look_up
from retinue.catalogue.researcher_analyst.preference import fitness
from retinue.catalogue.researcher_analyst.question import Asked
from retinue.catalogue.researcher_analyst.raising import asks_for_errors, raised_in
from retinue.catalogue.researcher_analyst.sources import Source, kinds_of, source_of
from retinue.catalogue.researcher_analyst.spelling import respelled
from retinue.errors import DeadlineExceeded
from retinue.tools.grep import Match
from retinue.tools.search import Index, Passage, Sections, terms
from retinue.tools.search.kinds import NO_TEXT, kind_of
from retinue.tools.search.words import STOP_WORDS
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

__all__ = ["ENOUGH", "ENOUGH_OF_CODE", "gather"]

ENOUGH: Final = 0.5
"""A passage that has less of the question's weight than this answers something else."""

ENOUGH_OF_CODE: Final = 0.7
_FEEDBACK_FROM: Final = 5
_FEEDBACK_WORDS: Final = 6
_FEEDBACK_SHARE: Final = 0.5
_ALIKE: Final = 4
_SAID_ALIKE: Final = 0.6
_DEFINES: Final = ("def ", "async def ", "class ")
_PLACES: Final = frozenset({"where", "files", "usages"})
_WITHOUT_LITERAL: Final = 0.4
_HEAD: Final = 60
_NEAR: Final = 0.2
_HURRIED: Final = 10
_BELOW: Final = 8
_IN_PART: Final = 0.5
"""What an explanation counts beside code when a word of the question stands nowhere in it."""
_HEADED: Final = 0.4
_NAMES: Final = 20
_README: Final = ("readme", "index", "overview", "introduction")


def gather(
    asked: Asked,
    *,
    workspace: Workspace,
    index: Index,
    sections: Sections,
    sources: Sequence[Source],
    depth: Depth,
    texts: Sequence[Brought],
    watch: Watch,
    progress: Callable[[str, int, int], None],
) -> Gathered:
    """Gather for `asked`.

    Args:
        asked: The question.
        workspace: The files; they are looked at only when `sources` names some.
        index: The index of them.
        sections: The index of their documents, by section.
        sources: Which files: `web` is none of them.
        depth: How far to go.
        texts: What is no file, searched as documents are.
        watch: Says when to stop.
        progress: Is told of each phase, with how much of it is done.
    """
    search = _Search(asked, workspace, index, sources, depth, watch, sections=sections, texts=texts)
    try:
        if sources:
            search.prepare(progress)
            search.look_up()
        search.passages()
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
class _Search(Candidates):
    sections: Sections = field(kw_only=True)
    texts: Sequence[Brought] = ()
    best: float = 0.0

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
        names = set(self.asked.names)
        words = [word for word in self.asked.said if word not in names]
        self.found.spelled = dict(
            respelled(words, workspace=self.workspace, files=self.entries, watch=self.watch) if words else {}
        )
        if self.found.spelled:
            self.asked = self.asked.respelled(self.found.spelled)

    def look_up(self) -> None:
        """Look up exactly what the question names: documents, files, identifiers, quoted words."""
        if self.asked.document:
            self._document()
        for path in self.asked.files:
            self._file(path)
        for name in (*self.asked.names, *self.asked.phrases):
            looked = look_up(self.workspace, name, self.sources, self.watch)
            self.found.looked.append(looked)
            self._looked(looked)

    def passages(self) -> None:
        """Search what is no file, and then the tree, for the words of the question."""
        self.watch.check()
        if self.asked.wish == "overview":
            self._overview()
        self.found.searched_for = list(dict.fromkeys(self.asked.words.values()))
        if "docs" in self.sources and explains(self.asked):
            found = explanations(self, self.sections)
            whole = [one for one in found if not missing(self.asked, one)]
            if whole:
                self.candidates += whole
                self._in_texts()
                return
            self.candidates += [replace(one, score=one.score * _IN_PART) for one in found]
        for passage in self._searched(self.asked.text):
            self._keep(passage, 1.0)
        self._in_texts()
        self._by_words_alone()
        if self.depth.feedback and self.candidates:
            self._feed_back()

    def hurry(self) -> None:
        """Time is up: take the best of what the index knows already, if nothing has been found so far."""
        self.hurried = True
        if not self.candidates:
            for passage in islice(self._searched(self.asked.text), _HURRIED):
                self._keep(passage, 1.0)
        if not self.found.texts:
            self._in_texts()

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
        if not (self.asked.tests or self.asked.names or self.asked.phrases or self.asked.files):
            # Tests say in passing whatever their authors thought of; they explain nothing.
            ranked = [one for one in ranked if one.kind != "passage" or one.source != "code" or not is_aside(one.path)]
        about = ranked
        if explains(self.asked):
            about = [one for one in ranked if one.kind != "passage" or has_topic(self.asked, one)]
        good = [one for one in about if one.covered >= _needed(one) or one.kind in {"overview", "usage"}]
        if not any(one.kind != "usage" for one in good):
            good = [one for one in good if self.asked.wish == "usages"]
        kept = distinct(good, limit=self.depth.findings, per_file=self._per_file())
        self.found.evidence = [self._with_block(one) for one in kept]
        self.found.nearest = ranked[0] if ranked and not good and ranked[0].covered >= _NEAR else None
        return self.found

    def _with_block(self, one: Evidence) -> Evidence:
        """`one` with the code, list or table it leads to, which is what somebody wants who asks how."""
        leads = one.text.rstrip("`").endswith(":")
        if one.kind != "passage" or one.source != "docs" or not (leads or self.asked.how_to):
            return one
        found = block_at(self.workspace, one.path, one.line)
        return one if found is None else replace(one, block=block_below(found[1], one.line, code_only=not leads))

    def _per_file(self) -> int:
        return self.depth.findings if self.meant or self.asked.wish == "usages" else self.depth.per_file

    # --- what the question names --------------------------------------------------------------------------------

    def _file(self, path: str) -> None:
        paths = [entry.path for entry in self.entries]
        known = meant_by(path, paths)
        if len(known) > 1 and not (self.asked.words or self.asked.names) and self.asked.wish not in _PLACES:
            self.found.alike = tuple(known)  # which of them has to be asked, and nothing else is asked for
        elif len(known) > 1:
            self.meant += known[:_ALIKE]
            for one in known[:_ALIKE] if self.asked.wish in _PLACES else ():
                self.head_of(one)
        elif known:
            self.meant += known
            self.head_of(known[0])
        elif not any(f"/{one}".find(f"/{path.strip('/')}/") >= 0 for one in paths):
            self.found.absent_files[path] = near_to(path, paths)

    def _document(self) -> None:
        """Read "the changelog" and the like as the file it is, and take the section of a version it is asked for."""
        path = document_called(self.asked.document, [entry.path for entry in self.entries])
        if not path:
            return
        self.meant.append(path)
        name = set(terms(self.asked.document)) | {self.asked.document}
        kept = {term: word for term, word in self.asked.words.items() if term not in name}
        self.asked = replace(self.asked, words=kept, text=" ".join(dict.fromkeys(kept.values())))
        found = block_at(self.workspace, path, 1)
        if found and (section := version_section(path, found[1], self.asked.versions, self.asked.unwanted)):
            self.candidates.append(section)

    def _looked(self, looked: Looked) -> None:
        first = len(self.candidates)
        for rank, match in enumerate(looked.definitions[:4]):
            self._definition(match, looked.near or looked.name.rpartition(".")[2], rank)
        if asks_for_errors(self.asked.plain) and len(self.candidates) > first:
            self._errors(looked.definitions, first)
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
        self.add(
            "definition", match.path, block.start, block.end, text, score=score,
            name=name, title=block.title, near=match.line, sentences=2,
        )  # fmt: skip

    def _errors(self, definitions: Sequence[Match], place: int) -> None:
        """Put what the definition raises to the candidate at `place`; of overloads, only the last has a body."""
        for match in definitions[:4]:
            if match.path == self.candidates[place].path and self._put_errors(place, match.line):
                return

    def _put_errors(self, place: int, line: int) -> bool:
        one = self.candidates[place]
        found = block_at(self.workspace, one.path, line)
        raised = raised_in(found[1], line) if found else ""
        if raised:
            self.candidates[place] = replace(one, text=f"{one.text} {raised}".strip(), score=one.score * 1.3)
        return bool(raised)

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
        self.add(
            "usage" if defined and not in_docs else "mention", match.path, block.start, end, text,
            score=score, title=block.title, near=None if in_docs else match.line,
            owner=block.name, phrase=phrase, below=end > block.end,
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

    def _in_texts(self) -> None:
        """The passages that fit of what is no file."""
        for text in self.texts:
            self.found.texts[text.path] = text
            for passage in passages_in(text, self.weights):
                self.found.compared[text.source] += 1
                self._keep(passage, 1.0, source=text.source)

    def _keep(self, passage: Passage, share: float, *, source: Source | None = None) -> None:
        """Judge a passage that was searched for, and keep it. With a `source` it is no file's."""
        if not self.hurried:
            self.watch.check()
        suits = fitness(passage if source is None else replace(passage, path=""), self.asked)
        source = source or source_of(passage.path)
        covered = coverage(self.weights, passage.text, passage.name, passage.title, passage.path)
        headed = coverage(self.weights, passage.title.rpartition(" > ")[2]) if passage.kind == "docs" else 0.0
        if not self.asked.unwanted.isdisjoint(terms(f"{passage.title} {passage.text}")):
            return
        said = f"{passage.title.rpartition(' > ')[2]} {passage.text}"
        held = all(has_literal(one, said) for one in self.asked.literals)
        share *= 1.0 if held else _WITHOUT_LITERAL
        score = share * (0.25 + 0.75 * covered) * (1 + _HEADED * headed) * suits
        kind: EvidenceKind = "definition" if self.asked.wish == "where" and self._is_meant(passage.name) else "passage"
        self.add(
            kind, passage.path, passage.start, passage.end, passage.text, score=score * self._scale(passage),
            name=passage.name, title=passage.title, source=source, sentences=self.depth.sentences,
            literal=self.asked.literals if held else (),
        )  # fmt: skip
        kept = bool(self.candidates) and self.candidates[-1].start == passage.start
        if kept and says_alike(self.asked.plain, self.weights, passage.text):
            self.candidates[-1] = replace(self.candidates[-1], covered=max(_SAID_ALIKE, self.candidates[-1].covered))
        if kept and passage.name in self.asked.words.values() and asks_for_errors(self.asked.plain):
            head = next((row for row in passage.text.split("\n") if row.lstrip().startswith(_DEFINES)), "")
            self._put_errors(-1, passage.start + passage.text.split("\n").index(head) if head else passage.start)

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
            self.head_of(path)
