"""What a clause says to leave out: "not in the tests", "except merges", "without using the cache".

Such words are no value for a parameter that says what to take, and the value for one that says what to leave out.
"""

import re
from collections.abc import Iterator
from typing import Final

from retinue.orchestration.routing.reading.parameter import Parameter
from retinue.orchestration.routing.reading.said import vocabulary

__all__ = ["denied_spans", "leaves_out"]

_WORDS: Final = vocabulary(
    "except exclude excluded excludes excluding ignore ignored ignoring not no omit omitted skip skipped skipping "
    "without"
)
_DENIED: Final = re.compile(
    r"\b(?:not(?!\s+(?:only|just|more|less|later|earlier|before|after|fewer|least|sure|yet|know))|\w+n['\u2019]t|never"
    r"|no(?!\s+(?:more|less|later|earlier|fewer|longer|need|idea|matter))|except(?:\s+for)?|excluding|exclude|without"
    r"|ignor(?:e|ing)|skip(?:ping)?|omit(?:ting)?|leav(?:e|ing)\s+out|other\s+than|apart\s+from|instead\s+of"
    r"|rather\s+than|cannot|dont|doesnt|didnt|isnt)\s+(?P<what>(?:(?!(?:but|only|just|since|until|between|during|instead"
    r"|then|please|which|who|what|where|when|how)\b)[^\s,;?!]+(?:\s+|(?=[,;?!])|\Z)){1,7})",
    re.IGNORECASE,
)


def denied_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where in `text` stands what is to be left out, the word that says so apart."""
    return (match.span("what") for match in _DENIED.finditer(text))


def leaves_out(parameter: Parameter) -> bool:
    """Whether `parameter` says by its name what to leave out."""
    return not _WORDS.isdisjoint(parameter.words)
