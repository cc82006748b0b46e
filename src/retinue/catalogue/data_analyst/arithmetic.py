"""Calculations that a question may ask for and this agent has no statement for: between columns, or over other figures.

They are refused by name. Without that, the words would be passed over and a figure of something else be the answer.
"""

import re
from typing import Final

from retinue.catalogue.data_analyst.lexicon import Lexicon

__all__ = ["calculation_in"]

_OPERAND: Final = r"(?P<right>(?:(?:the|its|their|total|average|mean) )*[`(]*\w+)"
_BETWEEN: Final = (
    # Spaces on both sides or on none: `the *total* of` is Markdown, and `GET /users` a path.
    re.compile(
        rf"(?P<left>\w+)[`)]*(?P<space> ?)(?P<operator>[*\u00d7\u00f7^+%]|\*\*)(?P=space){_OPERAND}", re.IGNORECASE
    ),
    re.compile(rf"(?P<left>\w+)[`)]* (?P<operator>[/\u2212\u2013-]) {_OPERAND}", re.IGNORECASE),
    re.compile(rf"(?P<left>\w+)[`)]*(?P<operator>/){_OPERAND}", re.IGNORECASE),
    re.compile(
        rf"(?P<left>\w+)[`)]* (?P<operator>times|multiplied (?:by|with)|divided by|minus|plus|less|over) {_OPERAND}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<operator>difference|ratio|product|quotient|margin)s? (?:of|between|from) [`(]*(?P<left>\w+)[`)]*"
        rf" (?:and|to|from|over|with) {_OPERAND}",
        re.IGNORECASE,
    ),
)
_ON_EITHER: Final = frozenset(
    {"*", "\u00d7", "\u00f7", "^", "**", "times", "divided by", "multiplied by", "multiplied with"}
)
"""What is arithmetic even where one side is a number, or a word that is no column."""

_OVER_FIGURES: Final = re.compile(
    r"\b(?:weighted|correlat(?:ion|ions|ed|es?)|covariance|regression|variances?|cumulative(?:ly)?|cumulated"
    r"|(?:running|rolling|moving) (?:total|sum|average|mean|count|median)|growth|squared|square root|logarithm"
    r"|(?:geometric|harmonic|trimmed) mean|(?:twice|double|triple|half|halve) (?:of )?the|modes? of"
    r"|(?:change|increase|decrease|rise|drop|gain) (?:in|of)|(?:percent|percentage) (?:change|increase|decrease)"
    r"|(?:year|month|week|day|quarter)[- ](?:over|on)[- ](?:year|month|week|day|quarter)|yoy|mom|qoq"
    r"|forecasts?|predict(?:ion|ions|ed)?|extrapolat\w+|projected|skewness|kurtosis|z-?scores?|interquartile"
    r"|(?:second|third|fourth|fifth|2nd|3rd|4th|5th|next)[ -](?:to last|most|least|highest|lowest|largest|smallest"
    r"|biggest|greatest|longest|shortest|slowest|fastest|best|worst))\b",
    re.IGNORECASE,
)


def calculation_in(question: str, lexicon: Lexicon) -> str:
    """The words of `question` that ask for a calculation nobody does here; empty when there are none."""
    unquoted = re.sub(r"\"[^\"\n]*\"|“[^”\n]*”", '""', question)
    for pattern in _BETWEEN:
        for found in pattern.finditer(unquoted):
            sides = [_is_number(found[side], lexicon) for side in ("left", "right")]
            if all(sides) or (any(sides) and found["operator"].casefold() in _ON_EITHER):
                return found[0]
    return next((found[0] for found in _OVER_FIGURES.finditer(unquoted) if not _is_name(found[0], lexicon)), "")


def _is_number(words: str, lexicon: Lexicon) -> bool:
    """Whether one of `words` names columns of numbers."""
    hits = [lexicon.column((word.strip("`("),)) for word in words.casefold().split()]
    columns = [lexicon.columns.get(name) for hit in hits if hit is not None for name in hit.columns]
    return any(column is not None and column.kind == "number" for column in columns)


def _is_name(words: str, lexicon: Lexicon) -> bool:
    """Whether a column or a value is called so."""
    return lexicon.column(words.casefold().split()) is not None or bool(lexicon.values_of(words))
