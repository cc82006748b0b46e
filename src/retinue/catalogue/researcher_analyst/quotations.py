"""Units judged: how much of what was asked each holds, how well it fits, and which say something new."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from retinue.catalogue._prose import ExternalText, Prose, code, quote
from retinue.contract.sanitize import printable
from retinue.tools.search import PassageHit, terms
from retinue.tools.search.bm25 import STOP_WORDS

from .parameters import FocusName, PassageKind, ResearchRequest, Source
from .units import Unit

_LEAST: Final = 0.4
"""A unit that has less of the weight of the words, with its headings, answers something else."""
_MAY_MISS: Final = 3
"""Of so many words one may be missing: it is often said in another word."""
_HEADED: Final = 0.9
_TOGETHER: Final = 0.5
_CODE: Final = 0.5
_GAP: Final = 4
_SAME: Final = 0.7
_ENDING: Final = 5
_QUOTE: Final = 1200
_ASKING_WORDS: Final = """
    again allow allowed anything average away back being best between calculated calculates callers can't compute
    computed computes contain contains declared define defined defines definition describe difference different doesn't
    don't down ever every everything explain explained far find first gave get gets give given go goes going happen
    happened happening happens here hows implementation implemented important know known like list located long look
    make makes many mean meaning means meant mention mentions much must nothing off often old once one only other
    overview please possible project question really reason repository said same say says see show shows something soon
    sort thing things think time times together two usages used uses usually way ways well whats wheres whether work
    works worth
"""
_ASKING: Final = frozenset(_ASKING_WORDS.split())
"""Words of questions, which answers do not have."""
_LIGHT_WORDS: Final = """
    add after app application apply before call calls change choose create fall handle handles help keep let library
    need new own package program put reach reaches react run runs send set sets start starts stop take takes tell turn
    use want write written
"""
_LIGHT: Final = frozenset(terms(_LIGHT_WORDS))
"""Words that a passage need not have: what they say is often said in other words."""
LIGHT_SHARE: Final = 0.2
_QUOTED: Final = re.compile(r"`([^`\n]{1,200})`|\"([^\"\n]{1,200})\"")
_NAME: Final = re.compile(
    r"(?:--?)?[A-Za-z_][\w-]*(?:[._][A-Za-z_]\w*)+(?:\(\))?|\w+\(\)|[a-z]+[A-Z]\w*|(?:[A-Z][a-z]+){2,}\w*"
    r"|[A-Z]{2,}_?[A-Z][a-z]\w*|--[a-z][\w-]+|_\w+|[A-Z]+_[A-Z_]+"
)
_FIGURE: Final = re.compile(
    r"(?i)\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|fifty)\b"
)
_LITERAL: Final = re.compile(r"v?\d+(?:\.\d+)+|-\w")


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Attributes:
        words: The words that tell something, by the term they are found by.
        light: Those of them that a passage need not have.
        names: Identifiers and quoted words, looked up exactly.
        phrases: Quoted text of several words.
        literals: Versions and short options: what is quoted has them as they are.
    """

    text: str
    words: Mapping[str, str]
    light: frozenset[str]
    names: tuple[str, ...]
    phrases: tuple[str, ...]
    literals: tuple[str, ...]
    focus: FocusName

    @classmethod
    def of(cls, request: ResearchRequest) -> "Query":
        """The query that a request is, without the words that only ask and those of its paths."""
        text, paths = request.task, request.paths
        quoted = [first or second for first, second in _QUOTED.findall(text)]
        tokens = [token.strip("?!,;:\"'`()[]{}").rstrip(".") for token in text.split()]
        in_paths = {token for token in tokens if ("." in token or "/" in token) and any(token in one for one in paths)}
        tokens = [token.removesuffix("'s") for token in tokens if token and token not in in_paths]
        candidates = [one for one in quoted if " " not in one] + [one for one in tokens if _NAME.fullmatch(one)]
        names = tuple(dict.fromkeys(name.removesuffix("()") for name in candidates))[:4]
        phrases = tuple(one for one in quoted if " " in one)[:4]
        literals = tuple(dict.fromkeys(one for one in tokens if _LITERAL.fullmatch(one)))
        words = {
            term: token
            for token in tokens
            if token.casefold() not in STOP_WORDS and token.casefold() not in _ASKING
            for term in terms(token)[: 1 if token.replace("_", "").isalnum() else None]
        }
        words = dict(list(words.items())[:24])
        light = frozenset(words).intersection(_LIGHT)
        light = light if len(light) < len(words) else frozenset[str]()
        return cls(text, words, light, names, phrases, literals, request.focus)

    def with_spellings(self, spellings: Mapping[str, str]) -> "Query":
        """The query with other words in place of some of its terms, without those that only ask."""
        words: dict[str, str] = {}
        for term, word in self.words.items():
            other = spellings.get(term, "")
            if not other:
                words[term] = word
            elif other not in STOP_WORDS and other not in _ASKING:
                words[terms(other)[0]] = other
        return replace(self, words=words) if words else self


@dataclass(frozen=True, slots=True)
class Quotation:
    """A unit of a passage, and how well it answers.

    Attributes:
        coverage: The share of the query's weight that it has, with its headings and names.
        is_measured: Whether that means anything: a query without words of its own has no weight.
        score: What it is ranked by.
    """

    kind: PassageKind
    source: Source
    hit: PassageHit
    unit: Unit
    coverage: float
    score: float
    is_measured: bool = True

    @property
    def path(self) -> str:
        """The file, or what stands in place of its path."""
        return self.hit.path

    @property
    def topic(self) -> str:
        """The headings it stands under, or what it defines."""
        return topic_of(self.hit)

    @property
    def place(self) -> str:
        """`path:line`, or the URL of a page, whose lines nobody else counts."""
        return self.path if self.source == "web" else f"{self.path}:{self.unit.start}"

    def prose(self) -> Prose:
        """What it says, as a sentence: a definition says where it stands, anything else is quoted as it is."""
        words = quote(self.unit.text, limit=_QUOTE)
        pieces: tuple[ExternalText | str, ...] = (words,) if self.unit.text else ()
        if self.kind == "definition":
            head = (code(self.topic), code(self.path), code(self.unit.signature))
            return Prose("{} is defined in {}: {}." + (" {}" if self.unit.text else ""), (*head, *pieces))
        if self.kind == "usage":
            return Prose("Used in {}: {}", (code(self.topic), code(self.unit.signature)))
        if self.unit.signature:
            return Prose("{}: {}" if self.unit.text else "{}", (code(self.unit.signature), *pieces))
        return Prose("{}", pieces or (quote(self.topic),))

    def plain_text(self) -> str:
        """The same as plain text, with its block."""
        return f"{self.prose().to_text()}\n{printable(self.unit.block)}".rstrip()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a unit is worth.

    Attributes:
        score: How well it answers; 0 when it does not.
        heading_score: How far its own heading says what is asked, and nothing else.
    """

    coverage: float = 0.0
    score: float = 0.0
    heading_score: float = 0.0


def topic_of(hit: PassageHit) -> str:
    """What a passage is about: the headings it stands under, or what it defines."""
    name = f"{hit.title}.{hit.name}" if hit.title and hit.name else hit.name or hit.title
    return name or hit.path.rpartition("/")[2]


def judge(
    unit: Unit,
    query: Query,
    weights: Mapping[str, float],
    topic: str = "",
    path: str = "",
    *,
    is_first: bool = False,
    strict: bool = False,
) -> Judgement:
    """How well a unit answers; a `strict` one must have every word."""
    total = sum(weights.values())
    if not total:
        return Judgement()
    prose = terms(f"{unit.text} {unit.signature}")
    inside, below = set(prose), set(terms(unit.block))
    context = inside | below | set(terms(f"{topic} {path} {unit.above}"))
    absent = [term for term in weights if not _has(context, term)]
    coverage = 1 - sum(weights[term] for term in absent) / total
    missing = [term for term in absent if term not in query.light]
    repeats = query.text.casefold().rstrip("?. ") in " ".join(f"{topic} {unit.text}".casefold().split())
    lacks = any(one not in f"{topic} {unit.text} {unit.block}" for one in query.literals)
    may_miss = 0 if strict else (len(weights) - len(query.light)) // _MAY_MISS
    if coverage < _LEAST or len(missing) > may_miss or (repeats and len(weights) > 2) or lacks:
        return Judgement(coverage)
    own = sum(weight * (1.0 if _has(inside, term) else _CODE * _has(below, term)) for term, weight in weights.items())
    heading = terms(topic.rpartition(" > ")[2])
    heading_terms = [term for term in weights if _has(set(heading), term)]
    precise = len(heading_terms) / max(1, len([one for one in heading if one not in STOP_WORDS]))
    title_share = sum(weights[term] for term in heading_terms) / total * (1 + min(1.0, precise)) / 2
    score = own / total + _HEADED * title_share * (1.0 if is_first else 0.7)
    score *= 1 + _TOGETHER * _together(prose, list(weights))
    if query.focus == "value":
        score *= 1.5 if _FIGURE.search(f"{unit.text} {unit.block if unit.is_code else ''}") else 0.5
    return Judgement(coverage, score * coverage, title_share)


def _has(vocabulary: set[str], term: str) -> bool:
    """Whether a term is among those held, or one differs by its ending only: `cancel` and `cancellation`."""
    if term in vocabulary:
        return True
    if len(term) < _ENDING:
        return False
    return any(
        (one.startswith(term) or term.startswith(one)) and len(one) >= _ENDING and abs(len(one) - len(term)) <= _ENDING
        for one in vocabulary
    )


def _together(text_terms: Sequence[str], query_terms: Sequence[str]) -> float:
    """The share of neighbours in the query that stand near each other here."""
    pairs = {frozenset(pair) for pair in pairwise(query_terms)}
    near = {frozenset(pair) for gap in range(1, _GAP) for pair in zip(text_terms, text_terms[gap:], strict=False)}
    return len(pairs & near) / len(pairs) if pairs else 0.0


def select_distinct(quotations: Iterable[Quotation], *, limit: int, per_file: int) -> list[Quotation]:
    """The first `limit` that say something new, at most `per_file` from one file."""
    chosen: list[tuple[Quotation, set[str]]] = []
    for one in quotations:
        words = set(terms(f"{one.unit.text} {one.unit.signature} {one.unit.block}"))
        same_file = [other for other, _ in chosen if other.path == one.path]
        if len(chosen) == limit:
            break
        alike = any(len(words & other) >= _SAME * max(1, len(words | other)) for _, other in chosen)
        if len(same_file) < per_file and not alike and all(other.unit.start != one.unit.start for other in same_file):
            chosen.append((one, words))
    return [one for one, _ in chosen]
