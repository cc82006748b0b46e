"""What a question wants to know: who did *what*, how many *of what*, which *thing*.

"Who won the match" asks for a winner, whatever else it speaks of; a skill that tells who changed a file has nothing to
say about it, and an answer of its would be one to another question. Learned from each skill's own examples: some are
asked for the same few things in any number of words, others for anything.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from retinue.orchestration.routing.reading.said import vocabulary
from retinue.orchestration.routing.words import FUNCTION_WORDS, word_tokens

__all__ = ["is_particular", "wanted"]

_ADVERBS: Final = vocabulary(
    "actually currently else ever exactly first initially just last mainly most mostly not now often once only "
    "originally really recently still usually"
)
_PASSED_OVER: Final = _ADVERBS | frozenset(FUNCTION_WORDS.split()) - {"like", "need"}
_MOST_WORDS: Final = 9
_ENOUGH: Final = 4
"""So many examples that want something tell whether it is always the same."""


def wanted(text: str) -> str | None:
    """The stem of what `text` wants to know, after its "who", "which" or "how many"; None for any other saying."""
    words = [word.strip(",?!.:;'\"") for word in text.lower().split(maxsplit=_MOST_WORDS)[:_MOST_WORDS]]
    if words[:1] in (["who"], ["which"]):
        rest = words[1:]
    elif words[:2] in (["how", "many"], ["how", "much"]):
        rest = words[2:]
    else:
        return None
    said = next((word for word in rest if word and word not in _PASSED_OVER), "")
    return next(iter(word_tokens(said)), None)


def is_particular(examples: Iterable[tuple[str, Counter[str]]]) -> bool:
    """Whether a skill is mostly asked for things that it speaks of anyway.

    Args:
        examples: Each of its examples, with the tokens of all that it says of itself besides.
    """
    known = [stem in besides for example, besides in examples if (stem := wanted(example)) is not None]
    return len(known) >= _ENOUGH and 2 * sum(known) >= len(known)
