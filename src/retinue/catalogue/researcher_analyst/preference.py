"""Which passages a kind of question is better answered by: reasons stand in documents, definitions in code."""

import re
from typing import Final

from retinue.catalogue._aside import is_aside
from retinue.catalogue.researcher_analyst.question import Asked, Wish
from retinue.tools.search import Passage, terms

__all__ = ["fitness", "instructs", "is_changelog", "is_legal"]

_CHANGELOG: Final = re.compile(
    r"(?:^|/)(?:changes|changelog|history|news|releases?)(?:\.\w+)?\Z|(?:^|/)(?:changes|changelog|history|news|announce)/"
    r"|(?:^|/)whats[-_]?new[^/]*\Z",
    re.IGNORECASE,
)
_LEGAL: Final = re.compile(r"(?:^|/)(?:licen[cs]e|copying|notice|authors)[^/]*\Z", re.IGNORECASE)
_REASON: Final = re.compile(
    r"\b(?:because|since|so that|in order to|otherwise|therefore|reason|avoids?|prevents?|ensures?|rather than|"
    r"instead of|must not|never|on purpose|deliberately)\b",
    re.IGNORECASE,
)
_CLASS: Final = re.compile(r"^\s*(?:export\s+|pub\s+)?(?:class|struct|interface|trait|enum)\b", re.MULTILINE)
_DOCS: Final[dict[Wish, float]] = {"why": 1.3, "how": 1.15, "what": 1.15, "where": 0.7, "any": 1.05}
_NAMED: Final[dict[Wish, float]] = {"where": 1.6, "what": 1.2, "how": 1.1}
_DOES: Final = re.compile(
    r"\b(?:you (?:can|could|may|have to|need to|should|must)|us(?:e|es|ing)|by \w+ing|pass(?:ing)?|call(?:ing)?|simply|"
    r"the (?:easiest|simplest) way|the trick|allows?|lets?|provides?|supports?|creat(?:e|ing)|add(?:ing)?)\b"
    r"|\A(?:`|To \w+)",
    re.IGNORECASE,
)
_WARNS: Final = re.compile(
    r"\b(?:cannot|can['\u2019]t|must not|(?:do|does|did|is|are|was|were|will|would|should) not|\w+n['\u2019]t|not every"
    r"|never|however|note|beware|therefore|be aware|important to|keep in mind|make sure)\b",
    re.IGNORECASE,
)


def is_changelog(path: str) -> bool:
    """Whether a file tells what changed from version to version."""
    return _CHANGELOG.search(path) is not None


def is_legal(path: str) -> bool:
    """Whether a file says under which terms the project may be used, or by whom it is."""
    return _LEGAL.search(path) is not None


def instructs(sentence: str) -> float:
    """A factor by whether a sentence says what to do, or only what to look out for."""
    factor = 1.3 if _DOES.search(sentence) else 1.0
    if "`" in sentence:
        factor *= 1.15
    return factor * 0.7 if _WARNS.search(sentence) else factor


def fitness(passage: Passage, asked: Asked) -> float:
    """A factor around 1 by what kind of passage it is and what kind of answer is wished for."""
    factor = _DOCS.get(asked.wish, 1.0) if passage.kind == "docs" else 1.0
    if asked.documents:
        factor *= 1.3 if passage.kind == "docs" else 0.8
    if passage.name and passage.kind == "code":
        factor *= _NAMED.get(asked.wish, 1.0) * (0.9 if passage.name.startswith("_") else 1.0)
        if asked.wish == "what" and terms(passage.name)[:1] == list(asked.words)[:1]:
            factor *= 1.3 if _CLASS.search(passage.text) else 1.1
    if is_aside(passage.path):
        factor *= 1.3 if asked.tests else 0.6
    if is_changelog(passage.path):
        factor *= 1.2 if asked.versions else 0.6
    if is_legal(passage.path):
        factor *= 0.5
    if asked.plain in " ".join(passage.text.casefold().split()):
        factor *= 0.3  # it asks the same; an answer would not
    if asked.how_to and passage.kind == "docs":
        factor *= 1.3
    if asked.wish == "why" and _REASON.search(passage.text):
        factor *= 1.25
    return factor
