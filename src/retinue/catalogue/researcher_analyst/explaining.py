"""Passages that explain: for a question of how, why or what, the section of a document that answers it.

A passage is a unit of a section, a paragraph, an item of a list or a row of a table, with what it leads to. Where the
heading says what is asked, the passage is the section's beginning, since that is what the section is about.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from retinue.catalogue._aside import is_aside
from retinue.catalogue.researcher_analyst.candidates import Candidates
from retinue.catalogue.researcher_analyst.evidence import POINTS_AWAY, Evidence, coverage
from retinue.catalogue.researcher_analyst.extract import Sentence, block_below, prose_of
from retinue.catalogue.researcher_analyst.lookup import lines_of
from retinue.catalogue.researcher_analyst.preference import instructs, is_changelog, is_legal
from retinue.catalogue.researcher_analyst.question import Asked
from retinue.tools.search import Section, Sections, terms
from retinue.tools.search.ranking import Question
from retinue.tools.search.words import STOP_WORDS

__all__ = ["explains", "explanations", "has_topic", "missing"]

_SECTIONS: Final = 60
_LEAST: Final = 0.5
"""A passage whose words and headings have less of the question's weight than this answers something else."""
_HEADED: Final = 0.6
"""A heading that has so much of it says what the question asks."""
_HEADING_SHARE: Final = 1.5
"""What a heading is worth against a text that has each word of the question once, which reaches about 2."""
_MAY_MISS: Final = 3
_SENTENCES: Final = 4
_UNIT_WORDS: Final = 30.0
_LEAST_WORDS: Final = 4
_CODE: Final = 0.5
"""What a word in the code below a paragraph counts, for who asks how to do something."""
_TOGETHER: Final = 0.5
_GAP: Final = 4
_DEFINED: Final = 3.0
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+|\s*\|")
_NO_PROSE: Final = re.compile(r"#{1,6}\s|\s*(?:([=\-~^\"'*+#`])\1{2,}\s*)+\Z|\s*>>>\s")
"""Headings, their underlines, the rules of tables, and what was typed into Python."""
_SOURCE: Final = re.compile(r"\b(?:class|function|method|module|source|code)\b")
_RULE: Final = re.compile(r"\s*\|?\s*:?-{2,}:?\s*\|")
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")
_OF_CODE: Final = re.compile(r"`[^`]+`|[\w.]+\([^)]*\)|[a-z]+_\w+|\w+\.\w+")
"""A heading of an API reference: it says what something is called, and seldom why or how."""


_API: Final = re.compile(r"(?:^|/)api(?:[-_]?(?:docs?|reference))?(?:/|\.\w+\Z)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Unit:
    """A paragraph, an item or a row, with the sentences in it and the code below it."""

    start: int
    stop: int
    text: str
    sentences: tuple[Sentence, ...]
    code: str


def explains(asked: Asked) -> bool:
    """Whether a question wants something explained, and names nothing that stands somewhere exactly."""
    named = asked.names or asked.phrases or asked.files or asked.document or asked.literals
    in_source = named or _SOURCE.search(asked.plain)
    return asked.wish in {"how", "why", "what", "any"} and bool(asked.words) and not in_source


def explanations(search: Candidates, sections: Sections) -> list[Evidence]:
    """The passages of documents that explain what is asked, the best first."""
    asked = search.asked
    entries = [entry for entry in search.entries if not is_aside(entry.path)]
    judged: list[Evidence] = []
    for section in sections.search(asked.words.values(), entries, limit=_SECTIONS):
        search.watch.check()
        one = _passage(search, section, _fitness(section, asked))
        if one is not None and one.covered >= _LEAST and has_topic(asked, one):
            judged.append(one)
    return sorted(judged, key=lambda one: (-one.score, one.path, one.line))


def has_topic(asked: Asked, one: Evidence) -> bool:
    """Whether a passage has the words of a question that tell something: of three, one may be another."""
    return len(missing(asked, one)) <= len(_telling(asked)) // _MAY_MISS


def missing(asked: Asked, one: Evidence) -> set[str]:
    """The words of a question that tell something, and are not in a passage or what stands above it."""
    return _telling(asked).difference(terms(f"{one.signature} {one.text} {one.block} {one.topic} {one.path}"))


def _telling(asked: Asked) -> set[str]:
    return set(asked.words) - asked.weak or set(asked.words)


def _fitness(section: Section, asked: Asked) -> float:
    factor = 1.0
    if is_changelog(section.path):
        factor *= 0.4
    if is_legal(section.path):
        factor *= 0.4
    if _OF_CODE.fullmatch(_own_heading(section)) or _API.search(section.path):
        factor *= 0.4
    if asked.plain in " ".join(section.text.casefold().split()):
        factor *= 0.3  # it asks the same; an answer would not
    return factor


def _headed(section: Section, weights: Mapping[str, float]) -> float:
    """How far the heading of a section says what is asked, and nothing else."""
    own = [term for term in terms(_own_heading(section)) if term not in STOP_WORDS]
    asked = sum(term in weights for term in own)
    return coverage(weights, *own) * (1 + asked / len(own)) / 2 if own else 0.0


def _own_heading(section: Section) -> str:
    return section.heading.rpartition(" > ")[2].strip()


def _passage(search: Candidates, section: Section, fitness: float) -> Evidence | None:
    """The unit of a section that answers best, with what it leads to."""
    lines = lines_of(search.workspace, section.path)
    if lines is None:
        return None
    asked, weights = search.asked, search.weights
    units = list(_units(lines, section, with_code=asked.how_to))
    if not units:
        return None
    scores = [_score(unit, asked, weights) for unit in units]
    place = scores.index(max(scores))
    headed = _headed(section, weights)
    if headed >= max(_HEADED, coverage(weights, units[place].text)):
        place = 0
    unit, score = units[place], max(scores[place], headed * sum(weights.values()) * _HEADING_SHARE)
    quoted = " ".join(one.text for one in unit.sentences[:_SENTENCES])
    block = block_below(lines, unit.start) if quoted.endswith(":") else unit.code
    if quoted.endswith(":") and not block:
        return None
    covered = coverage(weights, unit.text, unit.code, section.heading, section.path)
    share = score / sum(weights.values()) * (1 + coverage(weights, section.heading, section.path))
    return Evidence(
        kind="passage", source="docs", path=section.path, line=unit.sentences[0].line, start=unit.start, end=unit.stop,
        topic=section.heading or section.path.rpartition("/")[2], signature="", text=quoted, covered=covered,
        score=fitness * covered * share,
        terms=frozenset(terms(quoted)), measured=bool(weights), block=block,
    )  # fmt: skip


def _score(unit: _Unit, asked: Asked, weights: Mapping[str, float]) -> float:
    """How well a unit answers: BM25 of its words, more when they stand together as in the question."""
    question = Question(weights)
    score = question.bm25(unit.text, average=_UNIT_WORDS) + _CODE * question.bm25(unit.code, average=_UNIT_WORDS)
    if asked.how_to:
        score *= instructs(" ".join(one.text for one in unit.sentences))
    if asked.wish == "what" and _defines(unit.text, asked):
        score *= _DEFINED
    asked_for = [term for term in terms(asked.text) if term in weights]
    wanted = set(pairwise(asked_for))
    if not wanted:
        return score
    said = [term for term in terms(unit.text) if term not in STOP_WORDS]
    near = {pair for gap in range(1, _GAP) for pair in zip(said, said[gap:], strict=False)}
    return score * (1 + _TOGETHER * len(wanted & near) / len(wanted))


def _defines(text: str, asked: Asked) -> bool:
    """Whether a text says what the thing is that is asked for: "A chord is …"."""
    said = "|".join(re.escape(word) for word in asked.words.values())
    return (
        re.search(rf"\b(?:{said})\b[`*\"]*\s+(?:is|are|means|consists|lets|allows|says)\b", text, re.IGNORECASE)
        is not None
    )


def _units(lines: Sequence[str], section: Section, *, with_code: bool) -> Iterator[_Unit]:
    """The paragraphs, items and rows of a section that say something, without its headings and code."""
    for start, rows in _runs(lines, section):
        text = "\n".join(rows)
        said = prose_of(section.path, "docs", text, start)
        sentences = tuple(one for one in said if not POINTS_AWAY.match(one.text))
        is_title = not (_ITEM.match(text) or text.rstrip("`*_) ").endswith((".", ":", "!", "?")))
        if not is_title and sum(len(one.text.split()) for one in sentences) >= _LEAST_WORDS:
            code = block_below(lines, start, code_only=True) if with_code else ""
            yield _Unit(start, start + len(rows) - 1, text, sentences, code)


def _runs(lines: Sequence[str], section: Section) -> Iterator[tuple[int, list[str]]]:
    """Rows that belong together, with the number of the first."""
    rows: list[str] = []
    fenced = False
    for number in range(section.start, section.stop + 2):
        row = lines[number - 1] if number <= min(section.stop, len(lines)) else ""
        is_fence = _FENCE.match(row) is not None
        fenced ^= is_fence
        ends = fenced or is_fence or not row.strip() or _NO_PROSE.match(row) is not None
        if rows and (ends or _ITEM.match(row)):
            if not _RULE.match(row):  # the head of a table says only what its columns are
                yield number - len(rows), rows
            rows = []
        if not (ends or _RULE.match(row)):
            rows.append(row)
