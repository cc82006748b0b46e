"""A goal taken apart into clauses: where it is surely cut, and where it may be.

Sure cuts are made by punctuation and by "and then". Whether an "and" or a comma parts two requests or two nouns cannot
be seen from the text: `planner` tries these and keeps a cut only when both sides are requests that somebody can do.
Nothing inside quotes, code or brackets is ever cut. English only; text in another language stays one clause a sentence.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["Clause", "joined", "pieces", "sentences", "strip_courtesy"]

_KEPT_WHOLE: Final = re.compile(
    r"```.*?```|`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"|\u201c[^\u201d\n]{1,200}\u201d|(?<!\w)'[^'\n]{1,80}'(?!\w)"
    r"|\([^()\n]{1,200}\)|\[[^\[\]\n]{1,200}\]|\{[^{}\n]{1,200}\}",
    re.DOTALL,
)
_SURE: Final = re.compile(
    r"(?<=[.!?\u3002\uff1f\uff01])[\"\u201d')]*\s+(?=\S)|(?<=[\u3002\uff1f\uff01])(?=\S)"
    r"|;\s+|\n\s*\n|\n(?=\s*(?:[-*•]|\d{1,2}[.)])\s)|(?<=[:.!?])\n"
    r"|(?:,|\s)\s*(?:and|&)\s+then\s+|,\s*then\s+|,?\s+and\s+(?:after that|afterwards|finally|lastly)\b,?\s*",
    re.IGNORECASE,
)
_ASKS: Final = (
    r"how\s+(?:(?:many|often|much|long|far|old)\s+(?:\w+\s+){0,3})?(?:do|does|did|is|are|was|were|has|have|can)\b|what\s+(?:is|are|was|were|do|does|did|has"
    r"|have|changed|happened|happens)|where\s+(?:is|are|was|were|do|does|did|can)|why\s+(?:is|are|was|were|do|does|did)"
    r"|when\s+(?:was|were|did|has|have)|who\s+(?:has|did|last|first|changed|wrote|made|added|touched|created|introduced)"
)
_MAYBE: Final = re.compile(
    r",\s*(?:and\s+|but\s+|plus\s+)?(?:also\s+|then\s+|finally\s+)?|\s+(?:and|plus)\s+(?:also\s+)?"
    r"|\s+as\s+well\s+as\s+|\s+then\s+|\s+while\s+"
    r"|\s+but\s+(?=(?:also|please|do|don['\u2019]?t|not|no|never|without|only|just|show|tell|list|give|find|explain|what|who|how"
    r"|when|where|which|why|skip|ignore|leave|omit|exclude)\b)"
    # Run-on sentences: "how does it work also who wrote it", "is it clean how many commits are there".
    rf"|\s+also\s+(?={_ASKS}|which\b|show\b|list\b|find\b|explain\b|tell\b)|\s+(?=(?:{_ASKS})\b)",
    re.IGNORECASE,
)
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|mr|mrs|ms|dr|st|no|nr|approx|inc|ltd|co|fig|sec|ca)|\b[A-Za-z]"
    r"|(?:\A|\n) *\d{1,2})\.\Z",
    re.IGNORECASE,
)
_BULLET: Final = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
_COURTESY: Final = re.compile(
    r"(?:(?:please|kindly|also|then|next|finally|lastly|first|firstly|second|secondly|third|thirdly|additionally"
    r"|furthermore|moreover|after that|afterwards|and|so|ok|okay|hi|hello|hey|now|but|just|plus|well|thanks"
    r"|hmm)\b[,:!]?\s+"
    r"|(?:can|could|would|will)\s+you\s+(?:please\s+|also\s+|kindly\s+)*(?:help me\s+(?:to\s+|with\s+)?)?"
    r"|(?:don['\u2019]?t|do\s+not)\s+forget\s+(?:to\s+)?|make\s+sure\s+(?:to\s+|that\s+you\s+)"
    r"|i(?:'d| would)\s+(?:also\s+)?like\s+(?:you\s+)?to\s+|i\s+(?:also\s+)?(?:want|need)\s+(?:you\s+)?to\s+"
    r"|(?:i\s+|we\s+)?(?:need|want|have)\s+\w+\s+(?:things|questions|answers|facts|numbers|figures)\s*:\s*"
    r"|help me\s+(?:to\s+)?|let's\s+|tell me\s+(?=(?:what|who|how|where|when|which|why|whether|if)\b))",
    re.IGNORECASE,
)
_THEN: Final = re.compile(r"(?:and\s+)?(?:then|after that|afterwards|next|finally|lastly)\b", re.IGNORECASE)
_THEN_INSIDE: Final = re.compile(r"\b(?:then|after that|afterwards|finally|lastly)\b", re.IGNORECASE)


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


def sentences(goal: str) -> tuple[Clause, ...]:
    """`goal` cut wherever it is surely cut. Bullets and quotes around the whole are left out."""
    text = _tidy(goal)
    found: list[Clause] = []
    follows = False
    for piece, cut in _parts(text, _SURE):
        follows = follows or _says_then(cut)
        bullet = _BULLET.match(piece.text)
        words = piece.text[bullet.end() if bullet else 0 :].strip(" \t\n,;")
        if any(character.isalnum() for character in words):
            found.append(Clause(words, follows=bool(found) and (follows or _THEN.match(words) is not None)))
            follows = False
    return tuple(found)


def pieces(clause: Clause) -> tuple[Clause, ...]:
    """`clause` cut wherever it may be cut: by an "and", a comma, an "as well as"."""
    return tuple(
        Clause(piece.text, start=piece.start, follows=_says_then(cut) if piece.start else clause.follows)
        for piece, cut in _parts(clause.text, _MAYBE)
        if piece.text
    )


def joined(whole: Clause, first: Clause, last: Clause) -> Clause:
    """The part of `whole` from its piece `first` to its piece `last`, with the words between them."""
    return Clause(whole.text[first.start : last.end], start=first.start, follows=first.follows)


def strip_courtesy(text: str) -> str:
    """`text` without "please", "could you", "then" and their like in front."""
    rest = text
    while match := _COURTESY.match(rest):
        rest = rest[match.end() :]
    return rest or text


def _tidy(goal: str) -> str:
    """`goal` with single spaces, at most two line ends in a row, and no quotes around the whole."""
    text = re.sub(r"\s*\n\s*\n\s*", "\n\n", re.sub(r"[^\S\n]+", " ", goal)).strip()
    if len(text) > 1 and text[0] in '"\u201c' and not _closes_early(text):
        text = text[1:].removesuffix('"').removesuffix("\u201d").strip()
    return text


def _closes_early(text: str) -> bool:
    return any(mark in text[1:-1] for mark in '"\u201d')


def _parts(text: str, cut: re.Pattern[str]) -> Iterator[tuple[Clause, str]]:
    """The stripped pieces of `text` between the cuts, each with the words of the cut before it."""
    kept = [match.span() for match in _KEPT_WHOLE.finditer(text)]
    starts = [start for start, _ in kept]
    begin, before = 0, ""
    for match in cut.finditer(text):
        place = bisect_right(starts, match.start()) - 1
        if place >= 0 and match.start() < kept[place][1]:
            continue
        if _ABBREVIATION.search(text, max(0, match.start() - 12), match.start()):
            continue
        yield _stripped(text, begin, match.start()), before
        begin, before = match.end(), match.group()
    yield _stripped(text, begin, len(text)), before


def _stripped(text: str, start: int, end: int) -> Clause:
    piece = text[start:end]
    return Clause(piece.strip(), start=start + len(piece) - len(piece.lstrip()))


def _says_then(cut: str) -> bool:
    return _THEN_INSIDE.search(cut) is not None
