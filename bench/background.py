"""Makes the tables of how common words are anywhere: `python -m bench.background`.

From the descriptions of 834 public tools and from 3,000 requests to assistants, five of one intent taken together. Both
are in `bench/data/`, with their licences; a table says how many of these texts hold a word, and nothing else of them.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from retinue.orchestration.routing._background import Kind, path_of, table
from retinue.orchestration.routing.words import gram_tokens, word_tokens

__all__ = ["KINDS", "counted", "lines", "main"]

_DATA: Final = Path(__file__).resolve().parent / "data"
_TOGETHER: Final = 5
KINDS: Final[dict[Kind, tuple[Callable[[str], list[str]], int]]] = {
    "words": (word_tokens, 1),
    "grams": (gram_tokens, 4),
}
"""How each kind of token is read, and in how many texts it must stand to be worth a place in the table."""


def _lines(name: str) -> Iterator[dict[str, Any]]:
    with (_DATA / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _texts() -> Iterator[list[str]]:
    """What stands together, piece by piece."""
    for tool in _lines("bfcl_small_tools.jsonl"):
        name = tool["name"].replace("_", " ").replace(".", " ")
        yield [name, tool["description"], *(f"{key} {text}" for key, text in tool["parameters"].items())]
    for intent in _lines("clinc150_intents.jsonl"):
        examples = intent["examples"]
        yield from (examples[start : start + _TOGETHER] for start in range(0, len(examples), _TOGETHER))


def counted(kind: Kind) -> tuple[int, Counter[str]]:
    """How many texts there are, and how many of them hold each token."""
    read, least = KINDS[kind]
    texts = list(_texts())
    holders = Counter(token for pieces in texts for token in {token for piece in pieces for token in read(piece)})
    return len(texts), Counter({token: count for token, count in holders.items() if count >= least})


def lines(kind: Kind) -> str:
    """The whole table."""
    return "\n".join(table(*counted(kind))) + "\n"


def main() -> int:
    for kind in KINDS:
        path_of(kind).write_text(lines(kind), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
