"""A text as the reader compares it: cut into clauses, and into words in lower case without endings; and its 4-grams.

Clauses are surely cut by punctuation and by "and then". Whether an "and" or a comma parts two requests or two nouns
cannot be seen from the text: `planner` tries these and keeps a cut only where both sides are requests that an agent can
do. Nothing inside quotes, code or brackets is ever cut. English only; another language stays one clause a sentence.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

FUNCTION_WORDS: Final = """
a about after all also am an and any are as at be been before being but by can could did do does doing for from get
give had has have having he help her here him his i if in into is it its just know let like ll looking me my
need of on or our out please re s she should so some t tell than that the their them then there these they this those
to up us ve want what which who how where when why whose whom was we were will with would you your
"""
_COURTESIES: Final = """
bye cheers fine good goodbye great hello hey hi morning nice ok okay perfect right sorry thank thanks well yes very
much lot everyone there thx ty btw cool awesome
"""
_LIGHT: Final = """
across actually against another any anybody anyone anything anywhere because behind between both brief briefly code
codebase currently each either ever every everybody everyone everything everywhere exactly find given gives here
instead kind lie list look made make makes mean means most must nobody none nothing now one other over own per project
quick quickly really repo repository roughly say says see several shall show somebody someone something somewhere
still take there thing things through too top toward under upon use used uses using via whether while whole within
work works yet
"""
"""Words of asking and being: a skill need not know them to do what is asked, though they help to find it."""

_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_ENDINGS: Final = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
_SHORT_TEXT: Final = 10
_MAX_MISSPELLING: Final = 24


def word_set(words: str) -> frozenset[str]:
    """The words of a line, for telling whether one is among them."""
    return frozenset(words.split())


def split_words(text: str) -> list[str]:
    """The words of `text` as they are written, camelCase taken apart."""
    return _HUMP.findall(text)


def word_tokens(text: str) -> list[str]:
    """The words of `text`, camelCase taken apart, lower case, without the commonest English endings."""
    return [_stem(word.lower()) for word in split_words(text)]


def ngram_tokens(text: str) -> list[str]:
    """Every four characters in a row of `text`, words joined by one space."""
    spaced = f" {' '.join(_WORD.findall(text.lower()))} "
    return [spaced[start : start + 4] for start in range(max(1, len(spaced) - 3))]


def content_words(text: str) -> list[str]:
    """The words of `text` that mean something on their own, as they are written."""
    words = split_words(text)
    courtesies = frozenset(_COURTESIES.split()) if len(words) < _SHORT_TEXT else frozenset[str]()
    return [word for word in words if word.lower() not in courtesies and _stem(word.lower()) not in FUNCTION_STEMS]


def is_generic(word: str) -> bool:
    """Whether `word` is so general that nobody must be able to be told of it."""
    return word.lower() in _LIGHT_WORDS


def correct_spelling(word: str, vocabulary: Collection[str], *, shortest: int = 5) -> str | None:
    """The one of `vocabulary` that `word` misspells by one letter too few, too many or wrong, or by two swapped.

    None when it is spelled right, too short to tell, or could be several of them.
    """
    if not shortest <= len(word) <= _MAX_MISSPELLING or word in vocabulary:
        return None
    from rapidfuzz import process  # noqa: PLC0415 - most words are spelled right
    from rapidfuzz.distance import OSA  # noqa: PLC0415

    neighbours = process.extract(word, vocabulary, scorer=OSA.distance, score_cutoff=1, limit=2)
    candidates = [str(one) for one, *_ in neighbours if len(str(one)) > 2]
    return candidates[0] if len(candidates) == 1 else None


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    if len(word) < 4:
        return word
    word = word.replace("iz", "is")  # "summarize"
    for ending, instead in _ENDINGS:
        if word.endswith(ending):
            rest = len(word) - len(ending)
            if rest < 3 or (ending == "s" and word[-2] in "su"):
                continue
            if ending == "es" and not word.endswith(("xes", "ches", "shes")):
                continue  # the plural of "wine", and not of "win"
            word = word[:rest] + instead
            if ending in {"ing", "ed"} and len(word) > 4 and word[-1] == word[-2] and word[-1] not in "aeiouflsz":
                word = word[:-1]  # "committed"
            break
    # "change", "changes" and "changed" meet.
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


FUNCTION_STEMS: Final = frozenset(word_tokens(FUNCTION_WORDS))
_LIGHT_WORDS: Final = word_set(_LIGHT)
NEGATIONS: Final = word_set(
    "no not without dont don't didn't doesn't isn't never exclude excluding except skip skipping omit ignore ignoring"
    " apart leaving nor"
)

_UNSPLIT: Final = re.compile(
    r"```.*?```|`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"|\u201c[^\u201d\n]{1,200}\u201d|(?<!\w)'[^'\n]{1,80}'(?!\w)"
    r"|\([^()\n]{1,200}\)|\[[^\[\]\n]{1,200}\]|\{[^{}\n]{1,200}\}",
    re.DOTALL,
)
_BOUNDARY: Final = re.compile(
    r"(?i)(?<=[.!?\u3002\uff1f\uff01])[\"\u201d')]*\s+(?=\S)|(?<=[\u3002\uff1f\uff01])(?=\S)"
    r"|;\s+|\n\s*\n|\n(?=\s*(?:[-*•]|\d{1,2}[.)])\s)|(?<=[:.!?])\n"
    r"|(?:,|\s)\s*(?:and|&)\s+then\s+|,\s*then\s+|,?\s+and\s+(?:after that|afterwards|finally)\b,?\s*"
)
_POSSIBLE_BOUNDARY: Final = re.compile(
    r"(?i),\s*(?:and\s+|but\s+|plus\s+)?(?:also\s+|then\s+)?|\s+(?:and|but|plus)\s+(?:also\s+)?|\s+as\s+well\s+as\s+"
    r"|\s+then\s+|\s+also\s+"
)
_ABBREVIATION: Final = re.compile(
    r"(?i)(?:\b(?:e\.g|i\.e|etc|vs|cf|mr|mrs|ms|dr|st|no|nr|approx|inc|ltd|co|fig|sec|ca)|\b[A-Za-z]"
    r"|(?:\A|\n) *\d{1,2})\.\Z"
)
_BULLET: Final = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
_COURTESY: Final = re.compile(
    r"(?i)(?:(?:please|kindly|also|then|next|finally|first|second|third|after that|afterwards|and|so|ok|okay|hi|hello"
    r"|hey|now|but|just|well|thanks|separately)\b[,:!]?\s+"
    r"|(?:can|could|would|will)\s+you\s+(?:please\s+|also\s+)?"
    r"|(?:i|we)(?:'d| would)?\s+(?:also\s+)?(?:like|want|need)\s+(?:you\s+)?to\s+(?:know\s+)?"
    r"|help me\s+(?:to\s+)?|let's\s+|tell me\s+(?=(?:what|who|how|where|when|which|why|whether|if)\b))"
)
_TRANSITION: Final = re.compile(
    r"(?i)\A(?:on (?:a different|another) note|by the way|btw|unrelated(?:ly)?|(?:and )?independently(?: of that)?"
    r"|apart from that)\b[,:]?\s+"
)
_SEQUENCE: Final = re.compile(r"(?i)\b(?:then|after that|afterwards|finally)\b")
_OF_THEM: Final = re.compile(
    r"(?i)\b(?:each|all|any|both|some|none|most|one|which|for|based on|using) (?:of )?(?:them|these|those|that)\b"
)
_PRONOUN: Final = re.compile(
    r"(?i)\b(?:it|its|they|them|their|he|him|his|she|her|those|these)\b"
    r"|\bth(?:at|e same) (?:file|commit|table|branch|person|author)\b"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a goal.

    Attributes:
        text: Its words as they stand in the goal, spaces apart.
        start: Where it begins in the text it was cut from.
        follows: It was cut off by "then": it comes after the clause before it.
    """

    text: str
    start: int = 0
    follows: bool = False

    @property
    def end(self) -> int:
        """Where it ends in the text it was cut from."""
        return self.start + len(self.text)

    @property
    def words(self) -> list[str]:
        """Its words in lower case."""
        return self.text.lower().replace("\u2019", "'").split()


def split_sentences(goal: str) -> tuple[Clause, ...]:
    """`goal` cut wherever it is surely cut. Bullets and quotes around the whole are left out."""
    # `goal` with single spaces, at most two line ends in a row, and no quotes around the whole.
    text = re.sub(r"\s*\n\s*\n\s*", "\n\n", re.sub(r"[^\S\n]+", " ", goal)).strip()
    if len(text) > 1 and text[0] in '"\u201c' and not any(mark in text[1:-1] for mark in '"\u201d'):
        text = text[1:].removesuffix('"').removesuffix("\u201d").strip()
    clauses: list[Clause] = []
    follows = False
    for piece, separator in _split(text, _BOUNDARY):
        follows = follows or _SEQUENCE.search(separator) is not None
        bullet = _BULLET.match(piece.text)
        words = _TRANSITION.sub("", piece.text[bullet.end() if bullet else 0 :].strip(" \t\n,;"), count=1)
        if any(character.isalnum() for character in words):
            begins = _SEQUENCE.match(words) is not None
            clauses.append(Clause(words, follows=bool(clauses) and (follows or begins)))
            follows = False
    return tuple(clauses)


def split_clause(clause: Clause) -> tuple[Clause, ...]:
    """`clause` cut wherever it may be cut: by an "and", a comma, an "as well as"."""
    return tuple(
        Clause(
            piece.text,
            start=piece.start,
            follows=_SEQUENCE.search(separator) is not None if piece.start else clause.follows,
        )
        for piece, separator in _split(clause.text, _POSSIBLE_BOUNDARY)
        if piece.text
    )


def join_pieces(whole: Clause, first: Clause, last: Clause) -> Clause:
    """The part of `whole` from its piece `first` to its piece `last`, with the words between them."""
    return Clause(whole.text[first.start : last.end], start=first.start, follows=first.follows)


def strip_courtesy(text: str) -> str:
    """`text` without "please", "could you", "then" and their like in front."""
    rest = text
    while match := _COURTESY.match(rest):
        rest = rest[match.end() :]
    return rest or text


def back_reference(text: str) -> str | None:
    """The word with which `text` speaks of something that was said before it; None when there is none."""
    match = _OF_THEM.search(text) or _PRONOUN.search(text)
    return match.group() if match else None


def _split(text: str, boundary: re.Pattern[str]) -> Iterator[tuple[Clause, str]]:
    """The stripped pieces of `text` between the cuts, each with the words of the cut before it."""
    whole = [match.span() for match in _UNSPLIT.finditer(text)]
    starts = [start for start, _ in whole]
    begin, before = 0, ""
    for match in boundary.finditer(text):
        # The last quote, code or bracket that begins before the cut: inside of it nothing is cut.
        place = bisect_right(starts, match.start()) - 1
        if place >= 0 and match.start() < whole[place][1]:
            continue
        # The longest abbreviation is shorter, and a search from the beginning would make long goals quadratic.
        if _ABBREVIATION.search(text, max(0, match.start() - 12), match.start()):
            continue
        yield _stripped_clause(text, begin, match.start()), before
        begin, before = match.end(), match.group()
    yield _stripped_clause(text, begin, len(text)), before


def _stripped_clause(text: str, start: int, end: int) -> Clause:
    piece = text[start:end]
    return Clause(piece.strip(), start=start + len(piece) - len(piece.lstrip()))
