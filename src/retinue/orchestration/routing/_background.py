"""How common words and 4-grams are anywhere: fixed tables, the same for every registry.

How telling a word is must not depend on who else there is to be asked, or an agent that has nothing to do with a
request would change to whom it goes. So rarity is looked up here, and never counted among the agents at hand. The
tables are made by `python -m bench.background` from public descriptions of tools and requests to assistants; they know
how many texts hold a token, and no sentence of them.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

__all__ = ["Background", "Kind", "path_of", "read", "table"]

Kind: TypeAlias = Literal["words", "grams"]

_FUNCTION_SHARE: Final = 0.2
"""Function words count as if at least so many of all texts held them; descriptions of tools hold few."""


class Background:
    """Some texts, of which only is known how many hold each token.

    Args:
        size: How many texts there are.
        holders: For a number of texts, the tokens that so many hold.
        function: Tokens that say nothing about a topic.

    Attributes:
        unknown: The rarity of a token that none of them holds.
    """

    def __init__(self, size: int, holders: Mapping[int, Iterable[str]], *, function: Iterable[str] = ()) -> None:
        self._size = size
        self.unknown = self._of(0)
        self._rarity: dict[str, float] = {}
        for texts, tokens in holders.items():
            self._rarity.update(dict.fromkeys(tokens, self._of(texts)))
        most = self._of(int(size * _FUNCTION_SHARE))
        for token in function:
            self._rarity[token] = min(self._rarity.get(token, most), most)

    def rarity(self, token: str) -> float:
        """How telling `token` is: the logarithm of how few hold it, above 0."""
        return self._rarity.get(token, self.unknown)

    def knows(self, token: str) -> bool:
        """Whether any of the texts holds `token`."""
        return token in self._rarity

    def _of(self, texts: int) -> float:
        return math.log(1 + (self._size - texts + 0.5) / (texts + 0.5))


def path_of(kind: Kind) -> Path:
    """Where the table of words or of 4-grams is."""
    return Path(__file__).with_name(f"_background_{kind}.table")


def table(size: int, counts: Mapping[str, int]) -> Iterator[str]:
    """The lines of a table: how many texts there are, then for each number the tokens that so many hold."""
    holders: dict[int, list[str]] = {}
    for token, count in counts.items():
        holders.setdefault(count, []).append(token.replace(" ", "_"))
    yield str(size)
    for count in sorted(holders, reverse=True):
        yield f"{count} {' '.join(sorted(holders[count]))}"


def read(kind: Kind, *, function: Iterable[str]) -> Background:
    """The table of words or of 4-grams; `function` are the tokens of function words."""
    first, *lines = path_of(kind).read_text(encoding="utf-8").splitlines()
    holders: dict[int, list[str]] = {}
    for line in lines:
        count, _, tokens = line.partition(" ")
        holders[int(count)] = tokens.replace("_", "\n").replace(" ", "\t").replace("\n", " ").split("\t")
    return Background(int(first), holders, function=function)
