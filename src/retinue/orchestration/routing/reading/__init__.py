"""What in a clause is a value for a parameter: one reader for each kind of parameter.

A reader gives a `Reading` or None. It may be shy, never bold: a value that nobody said costs more than a question.
"""

from collections.abc import Sequence
from typing import Final

from retinue.orchestration.routing.reading import choices, dates, named, numbers, paths, revisions, texts
from retinue.orchestration.routing.reading.around import NOWHERE, Reader, Surroundings
from retinue.orchestration.routing.reading.parameter import Parameter, parameters_of
from retinue.orchestration.routing.reading.said import Reading, Said

__all__ = ["NOWHERE", "READERS", "Parameter", "Reader", "Reading", "Said", "Surroundings", "parameters_of"]

READERS: Final[Sequence[Reader]] = (
    named.read,
    texts.read_shaped,
    choices.read_one,
    choices.read_several,
    dates.read,
    revisions.read,
    texts.read_column,
    paths.read_several,
    paths.read_one,
    numbers.read,
    choices.read_flag,
    texts.read_quoted,
    texts.read_only_quote,
    numbers.read_only,
)
"""In the order in which they are asked: the surest first, since words that are taken are not read again."""
