"""Which dialect a text speaks, judged by all six.

Each dialect says as what it would read the text; here their words are weighed against each other. Not a parser: what
was recognised may still be refused when it is read, and only reading says why.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from retinue.contract.model import DialectName
from retinue.errors import RetinueError

from . import DIALECTS, dialect
from .messages import parse
from .port import Certainty, Detection, Dialect

_RANKS: Final[dict[Certainty, int]] = {"certain": 0, "likely": 1, "possible": 2}
_BYTE_ORDER: Final = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"))


def detect(text: str | bytes) -> tuple[Detection, ...]:
    """Everything `text` could be read as, the likeliest first; nothing when no dialect knows it.

    `certain` is said only where no other dialect reads the text: two that both would are `likely`, and the one that
    reads it with less to complain about comes first. What stands between the text and its reader (a byte order mark,
    another encoding) is looked through here and left to the reader to refuse. Never raises; linear in the text.
    """
    return rank(text, [dialect(name) for name in DIALECTS])


def rank(text: str | bytes, dialects: Sequence[Dialect]) -> tuple[Detection, ...]:
    """What `detect` says, asking only `dialects`; the order in which they stand decides when nothing else does."""
    if isinstance(text, str):
        content = text.removeprefix("\ufeff")
    else:
        # As a person would see it; a byte that is no text does not keep the rest from being known.
        mark, encoding = next((each for each in _BYTE_ORDER if text.startswith(each[0])), (b"", "utf-8"))
        content = text.removeprefix(mark).decode(encoding, "replace")
    detections = [detection for each in dialects for detection in each.recognise(content)]
    claimants = {detection.dialect for detection in detections if detection.certainty != "possible"}
    if len(claimants) > 1:
        detections = _rank_by_cost(detections, {each.NAME: each for each in dialects}, content)
    return tuple(sorted(detections, key=lambda detection: _RANKS[detection.certainty]))


def _rank_by_cost(detections: Iterable[Detection], dialects: dict[DialectName, Dialect], text: str) -> list[Detection]:
    """`detections` of several dialects that all know the text, none surer than it may be, the better reader first."""
    costs: dict[Detection, int] = {}
    for detection in detections:
        costs[detection] = (
            _cost(detection, dialects[detection.dialect], text) if detection.certainty != "possible" else _REFUSED
        )
    readers: set[DialectName] = {detection.dialect for detection, cost in costs.items() if cost < _REFUSED}
    if not readers:  # nobody reads it, so none of those who were sure knows better than the others
        readers = {detection.dialect for detection in costs if detection.certainty == "certain"}
    pairs = [(cost, _downgrade(detection, readers)) for detection, cost in costs.items()]
    return [detection for _, detection in sorted(pairs, key=lambda pair: pair[0])]


_REFUSED: Final = 1_000_000
"""More than any number of findings: the text is refused."""


def _cost(detection: Detection, reader: Dialect, text: str) -> int:
    """How much `reader` has against the text as what it took it for."""
    try:
        return min(len(parse(reader, detection.kind, text).findings), _REFUSED - 1)
    except RetinueError:
        return _REFUSED


def _downgrade(detection: Detection, readers: set[DialectName]) -> Detection:
    """`detection`, and `likely` in place of `certain` when another dialect reads the text too."""
    if detection.certainty != "certain" or readers <= {detection.dialect}:
        return detection
    others = ", ".join(sorted(readers - {detection.dialect}))
    return Detection(
        detection.dialect, detection.kind, detection.form, "likely", f"{detection.why}; {others} would read it too"
    )
