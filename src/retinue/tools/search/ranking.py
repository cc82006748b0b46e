"""Scores the passages of one file against a question.

A passage's score is the BM25 of its best sentence, plus 0.6 of its own as a whole, plus a little for the name it
defines, the headings above it and the file it is in. How rare a term is comes from outside (`Question`), counted in
files; lengths are held against fixed ones, so that a score does not depend on what else happens to be read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from retinue.tools.search.kinds import Kind
from retinue.tools.search.passages import Block, cut, sentences
from retinue.tools.search.words import WORD, expand, plain, terms

__all__ = ["Parts", "Passage", "Question", "passages_of"]

_K1: Final = 1.2
_B: Final = 0.75
_SENTENCE_WORDS: Final = 18.0
_PARAGRAPH_WORDS: Final = 70.0
_PARAGRAPH_SHARE: Final = 0.6
_NAME_SHARE: Final = 1.5
_TITLE_SHARE: Final = 0.5
_PATH_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Parts:
    """What a score is the sum of."""

    sentence: float
    paragraph: float
    name: float
    title: float
    path: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A range of lines that may answer the question.

    Attributes:
        path: The file, relative to the workspace.
        start: Its first line, from 1.
        end: Its last line, included.
        text: Those lines.
        kind: Documentation, code or data.
        name: What it defines, if anything.
        title: The headings it stands under, or the classes it is part of.
        sentence: Its best sentence (in code: line).
        line: Where that sentence begins.
        score: How well it fits; comparable within one search only.
        parts: What `score` is the sum of.
    """

    path: str
    start: int
    end: int
    text: str
    kind: Kind
    name: str
    title: str
    sentence: str
    line: int
    score: float
    parts: Parts


class Question:
    """The terms of a question and how telling each is."""

    __slots__ = ("weights",)

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = dict(weights)

    def scaled(self, share: float) -> Self:
        """The same question, with `share` of every score."""
        return type(self)({term: weight * share for term, weight in self.weights.items()})

    def hope(self, found: Iterable[str]) -> float:
        """What no passage can exceed in a file that holds these terms."""
        return self.bound(sum(self.weights[term] for term in found))

    def bound(self, present: float) -> float:
        """What no passage can exceed whose file holds terms of the total weight `present`."""
        return present * ((_K1 + 1) * (1 + _PARAGRAPH_SHARE) + _NAME_SHARE + _TITLE_SHARE + _PATH_SHARE)

    def sentence_bound(self, present: float) -> float:
        """What no sentence can exceed in a text that holds terms of the total weight `present`."""
        return present * (_K1 + 1)

    def present(self, squeezed: str) -> float:
        """The total weight of the terms that may occur in a text (see `words.plain`); never too little."""
        return sum(weight for term, weight in self.weights.items() if term in squeezed)

    def bm25(self, text: str, *, average: float) -> float:
        """The score of `text`, as if the average one had `average` words."""
        counts: dict[str, int] = {}
        found = WORD.findall(text)
        for word in found:
            for term in expand(word):
                if term in self.weights:
                    counts[term] = counts.get(term, 0) + 1
        damping = _K1 * (1 - _B + _B * len(found) / average)
        return sum(self.weights[term] * count * (_K1 + 1) / (count + damping) for term, count in counts.items())

    def named(self, name: str) -> float:
        """How well a name is asked for: the weight of its words that are, times the share of them that are."""
        if not name:
            return 0.0
        whole, *parts = expand(name) or ("",)
        if whole in self.weights:
            return max(self.weights[whole], self._total(parts))
        return self._total(parts) * sum(part in self.weights for part in parts) / len(parts) if parts else 0.0

    def mentioned(self, text: str) -> float:
        """The weight of the distinct terms in a short text."""
        return self._total(set(terms(text)))

    def _total(self, found: Sequence[str] | set[str]) -> float:
        return sum(self.weights.get(term, 0.0) for term in found)


def passages_of(path: str, kind: Kind, text: str, question: Question, *, floor: float) -> Iterator[Passage]:
    """The passages of one file that hold a term of the question and may score above `floor`."""
    squeezed = plain(text)
    if question.bound(question.present(squeezed)) <= floor:
        return
    lines = text.split("\n")
    squeezed_lines = squeezed.split("\n")
    in_path = _PATH_SHARE * question.mentioned(path)
    for block in cut(path, kind, lines):
        present = question.present("\n".join(squeezed_lines[block.start - 1 : block.end]))
        if present and question.bound(present) + in_path > floor:
            least = floor - question.sentence_bound(present)
            found = _scored(path, kind, lines, block, question=question, in_path=in_path, floor=least)
            if found is not None and found.score > floor:
                yield found


def _scored(
    path: str, kind: Kind, lines: Sequence[str], block: Block, *, question: Question, in_path: float, floor: float
) -> Passage | None:
    """The passage, unless it holds no term after all or scores at most `floor` without its best sentence."""
    text = "\n".join(lines[block.start - 1 : block.end])
    paragraph = _PARAGRAPH_SHARE * question.bm25(text, average=_PARAGRAPH_WORDS)
    name = _NAME_SHARE * question.named(block.name)
    title = _TITLE_SHARE * question.mentioned(block.title)
    if not paragraph or paragraph + name + title + in_path <= floor:
        return None
    best, line, sentence = 0.0, block.start, ""
    for number, candidate in sentences(block, lines, kind):
        score = question.bm25(candidate, average=_SENTENCE_WORDS)
        if score > best:
            best, line, sentence = score, number, candidate
    parts = Parts(sentence=best, paragraph=paragraph, name=name, title=title, path=in_path)
    return Passage(
        path=path,
        start=block.start,
        end=block.end,
        text=text,
        kind=kind,
        name=block.name,
        title=block.title,
        sentence=sentence,
        line=line,
        score=parts.sentence + parts.paragraph + parts.name + parts.title + parts.path,
        parts=parts,
    )
