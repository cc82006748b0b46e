"""Passages judged: how much of a question each covers, what to quote of it, and which say something new."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from retinue.catalogue.researcher_analyst.extract import Sentence, prose_of, signature_of
from retinue.catalogue.researcher_analyst.preference import instructs
from retinue.catalogue.researcher_analyst.sources import Source
from retinue.tools.search import Kind, terms
from retinue.tools.search.ranking import Question

__all__ = ["POINTS_AWAY", "Evidence", "EvidenceKind", "coverage", "distinct", "judge", "place_of", "says_alike"]

EvidenceKind: TypeAlias = Literal["definition", "passage", "usage", "mention", "overview"]

_SENTENCE_WORDS: Final = 18.0
_SAME: Final = 0.7
_LINE: Final = 200
_CODE_ONLY: Final = 0.7
_NEARLY: Final = 0.5
_LITERAL: Final = 3.0
_RUN: Final = 4
_WORDS: Final = re.compile(r"\w+")
POINTS_AWAY: Final = re.compile(r"(?:for \w+(?: \w+){0,4},? see|see(?: also)?|refer to|read more)\b", re.IGNORECASE)
"""A sentence that only says where else to look."""
_LEANS: Final = re.compile(
    r"(?:also|and|but|for this|however|it|hence|in that case|instead|otherwise|so|such|that|then|therefore|these|they|"
    r"this|those|thus)\b",
    re.IGNORECASE,
)
"""A sentence that begins so is understood only with the one before it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage and what is quoted of it.

    Attributes:
        line: Where the quotation begins; `start` and `end` are the lines of the whole passage.
        topic: The headings it stands under, or what it defines.
        signature: The head of the definition it is, as code; empty for a text.
        text: The quotation, without markup; empty when there is only a signature.
        block: The list, table or code that the quotation leads to, as it stands in the file; empty when there is none.
        covered: The share of the question's weight that the passage has, with its headings and names.
        is_code: Only a line of code is quoted, nothing that says anything.
        measured: Whether that means anything: a question without words of its own has no weight.
        score: What it is ranked by.
        terms: The words of the quotation, for telling near-duplicates.
    """

    kind: EvidenceKind
    source: Source
    path: str
    line: int
    start: int
    end: int
    topic: str
    signature: str
    text: str
    covered: float
    score: float
    terms: frozenset[str]
    measured: bool = True
    is_code: bool = False
    block: str = ""


def coverage(weights: Mapping[str, float], *texts: str) -> float:
    """The share of the weight of all words that those in `texts` have, 0 to 1."""
    total = sum(weights.values())
    if not total:
        return 0.0
    held = {term for text in texts for term in terms(text)}
    return sum(weight for term, weight in weights.items() if term in held) / total


def says_alike(question: str, weights: Mapping[str, float], text: str) -> bool:
    """Whether `text` has four words of `question` in a row as they stand there, two of them with weight."""
    words = _WORDS.findall(question.casefold())
    rows = f" {' '.join(_WORDS.findall(text.casefold()))} "
    for start in range(len(words) - _RUN + 1):
        run = words[start : start + _RUN]
        if sum(any(term in weights for term in terms(word)) for word in run) > 1 and f" {' '.join(run)} " in rows:
            return True
    return False


def judge(
    *,
    kind: EvidenceKind,
    source: Source,
    file_kind: Kind,
    path: str,
    start: int,
    end: int,
    text: str,
    name: str,
    title: str,
    weights: Mapping[str, float],
    score: float,
    sentences: int = 1,
    near: int | None = None,
    phrase: str = "",
    how_to: bool = False,
    literal: Sequence[str] = (),
    below: bool = False,
) -> Evidence:
    """Judge one passage: lines `start` to `end` of a file, with the `name` it defines and the `title` above it.

    `near` is the line to quote when nothing is said in words; a `phrase` that was asked for is quoted whatever else is;
    who asks `how_to` do something is better answered by what to do than by what to look out for; a sentence that has
    every `literal` text is quoted before others.
    """
    question = Question(weights)
    prose = [] if kind == "usage" else prose_of(path, file_kind, text, start)
    signature = signature_of(text) if file_kind == "code" and name and kind != "usage" else ""
    if kind == "overview":
        chosen = prose[:sentences]
    elif phrase:
        chosen = [one for one in prose if phrase.casefold() in one.text.casefold()][:1]
        signature = ""
    else:
        chosen = _chosen(prose, question, count=sentences, lead=bool(signature), how_to=how_to, literal=literal)
        if kind == "mention" and near is None:
            chosen = prose[:1] if below else chosen or prose[:1]  # what a heading or directive names is said below it
    if not chosen and not signature and kind != "overview":
        chosen = _line_of_code(text, start, question, near)
        score *= _CODE_ONLY if kind != "usage" else 1.0
    elif not chosen:
        score *= _CODE_ONLY
    if how_to and chosen:
        score *= instructs(" ".join(one.text for one in chosen))
    line = (near or start) if signature else chosen[0].line if chosen else start
    quoted = " ".join(f"`{one.text}`" if one.is_code else one.text for one in chosen)
    return Evidence(
        kind=kind,
        source=source,
        path=path,
        line=line,
        start=start,
        end=end,
        topic=_topic(path, name, title),
        signature=signature,
        text=quoted,
        covered=coverage(weights, text, name, title, path),
        score=score,
        terms=frozenset(terms(f"{quoted} {signature}")),
        measured=bool(weights),
        is_code=not signature and all(one.is_code for one in chosen),
    )


def _chosen(
    prose: Sequence[Sentence], question: Question, *, count: int, lead: bool, how_to: bool, literal: Sequence[str]
) -> list[Sentence]:
    """The sentences that fit best, in the order of the text; of a definition its first one, which says what it is."""
    scored = {place: _worth(one, question, how_to=how_to) for place, one in enumerate(prose)}
    for place, one in enumerate(prose):
        if literal and all(words in one.text for words in literal):
            scored[place] *= _LITERAL
    best = sorted((place for place, score in scored.items() if score > 0), key=lambda place: (-scored[place], place))
    kept = [place for place in best if scored[place] >= scored[best[0]] * _NEARLY][:count]
    if lead and prose and not prose[0].is_comment:
        kept = [0, *(place for place in best if place and not prose[place].is_comment)][: max(count, 2)]
    else:
        kept += [place - 1 for place in kept if place and _LEANS.match(prose[place].text)]
    return [prose[place] for place in sorted(set(kept))]


def _worth(sentence: Sentence, question: Question, *, how_to: bool) -> float:
    score = question.bm25(sentence.text, average=_SENTENCE_WORDS)
    if POINTS_AWAY.match(sentence.text):
        score *= 0.4
    if how_to:
        score *= instructs(sentence.text)
    return score * 0.7 if sentence.is_comment else score


def _line_of_code(text: str, start: int, question: Question, near: int | None) -> list[Sentence]:
    rows = text.split("\n")
    if near is not None and 0 <= near - start < len(rows):
        return [Sentence(near, _cut(rows[near - start]), is_code=True)]
    scored = [(question.bm25(row, average=_SENTENCE_WORDS), -place) for place, row in enumerate(rows)]
    score, place = max(scored, default=(0.0, 0))
    return [Sentence(start - place, _cut(rows[-place]), is_code=True)] if score else []


def _cut(row: str) -> str:
    bare = " ".join(row.split()).replace("`", "'")
    return bare if len(bare) <= _LINE else f"{bare[: _LINE - 1]}…"


def _topic(path: str, name: str, title: str) -> str:
    if name:
        return f"{title}.{name}" if title else name
    return title or path.rpartition("/")[2]


def place_of(evidence: Evidence) -> str:
    """Where the quotation stands: `path:line`, or the URL of a page, whose lines nobody else counts."""
    return evidence.path if evidence.source == "web" else f"{evidence.path}:{evidence.line}"


def distinct(found: Iterable[Evidence], *, limit: int, per_file: int) -> list[Evidence]:
    """The first `limit` that say something new, at most `per_file` from one file."""
    kept: list[Evidence] = []
    counts: dict[str, int] = {}
    for one in found:
        if len(kept) == limit:
            break
        if counts.get(one.path, 0) >= per_file or any(_alike(one, other) for other in kept):
            continue
        counts[one.path] = counts.get(one.path, 0) + 1
        kept.append(one)
    return kept


def _alike(one: Evidence, other: Evidence) -> bool:
    if one.path == other.path and one.start <= other.end and other.start <= one.end:
        return True
    union = one.terms | other.terms
    return bool(union) and len(one.terms & other.terms) / len(union) >= _SAME
