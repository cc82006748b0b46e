"""A clause as the router reads it: its words and parts of words, how it begins, what it wants, what it names."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Final, Literal, TypeAlias

from retinue.orchestration.routing._naming import NAMED, names_code
from retinue.orchestration.routing._opening import opening
from retinue.orchestration.routing._wanted import wanted
from retinue.orchestration.routing.words import FUNCTION_WORDS, gram_tokens, word_tokens

__all__ = ["Query", "Typed"]

Typed: TypeAlias = Literal["days", "range", "revisions"]
"""Values that tell by their form what they are."""

_QUERY_CHARS: Final = 2_000


class Query:
    """A clause as each view reads it: every token once, in order.

    Attributes:
        begun: By skill, how much the way it begins speaks for that.
        meant: By skill, what words mean that it does not know.
        wanted: The stem of what it wants to know, if it says so in front.
    """

    __slots__ = (
        "asks",
        "begun",
        "files",
        "grams",
        "meant",
        "said",
        "spelled",
        "text",
        "wanted",
        "whole",
        "within",
        "words",
    )

    def __init__(
        self,
        clause: str,
        files: Sequence[str] = (),
        *,
        whole: str = "",
        within: bool = False,
        said: Collection[Typed] = (),
    ) -> None:
        self.within = within
        self.said = said
        self.text = text = clause[:_QUERY_CHARS]
        self.files = files
        self.whole = whole[:_QUERY_CHARS] or text
        self.asks = bool(opening(text))
        self.wanted = wanted(text)
        self.begun: dict[int, float] = {}
        self.meant: dict[int, dict[str, str]] = {}
        named = [NAMED] if names_code(text) else []
        self.words = list(dict.fromkeys(word_tokens(text) + named))
        self.grams = list(dict.fromkeys(gram_tokens(text)))
        function = _function_words()
        self.spelled = {
            word: token
            for word in dict.fromkeys(text.lower().split())
            for token in word_tokens(word)[:1]
            if token not in function
        }

    def read_by(self, place: int) -> list[str]:
        """Its words as the skill at `place` reads them."""
        meant = self.meant.get(place)
        return [meant.get(token, token) for token in self.words] if meant else self.words

    def word_of(self, stem: str | None) -> str:
        """The word as it was said whose stem it is."""
        return next((word for word, token in self.spelled.items() if token == stem), stem or "")


@cache
def _function_words() -> frozenset[str]:
    return frozenset(word_tokens(FUNCTION_WORDS))
