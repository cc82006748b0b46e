"""Which dialect a text speaks, judged by all five.

Each dialect says as what it would read the text; here their words are weighed against each other. Not a parser: what
was recognised may still be refused when it is read, and only reading says why.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from retinue.contract.model import DialectName
from retinue.errors import RetinueError

from . import DIALECTS, dialect
from .messages import parse
from .port import Certainty, Dialect, Sign

__all__ = ["detect", "weigh"]

_RANKS: Final[dict[Certainty, int]] = {"certain": 0, "likely": 1, "possible": 2}
_BYTE_ORDER: Final = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"))


def detect(text: str | bytes) -> tuple[Sign, ...]:
    """Everything `text` could be read as, the likeliest first; nothing when no dialect knows it.

    `certain` is said only where no other dialect reads the text: two that both would are `likely`, and the one that
    reads it with less to complain about comes first. What stands between the text and its reader (a byte order mark,
    another encoding) is looked through here and left to the reader to refuse. Never raises; linear in the text.
    """
    return weigh(text, [dialect(name) for name in DIALECTS])


def weigh(text: str | bytes, dialects: Sequence[Dialect]) -> tuple[Sign, ...]:
    """What `detect` says, asking only `dialects`; the order in which they stand decides when nothing else does."""
    shown = _shown(text)
    signs = [sign for each in dialects for sign in each.recognise(shown)]
    claimed = {sign.dialect for sign in signs if sign.certainty != "possible"}
    if len(claimed) > 1:
        signs = _judged(signs, {each.NAME: each for each in dialects}, shown)
    return tuple(sorted(signs, key=lambda sign: _RANKS[sign.certainty]))


def _judged(signs: Iterable[Sign], dialects: dict[DialectName, Dialect], text: str) -> list[Sign]:
    """`signs` of several dialects that all know the text, none surer than it may be, the better reader first."""
    costs: dict[Sign, int] = {}
    for sign in signs:
        costs[sign] = _cost(sign, dialects[sign.dialect], text) if sign.certainty != "possible" else _UNREAD
    readers: set[DialectName] = {sign.dialect for sign, cost in costs.items() if cost < _UNREAD}
    if not readers:  # nobody reads it, so none of those who were sure knows better than the others
        readers = {sign.dialect for sign in costs if sign.certainty == "certain"}
    judged = [(cost, _humbled(sign, readers)) for sign, cost in costs.items()]
    return [sign for _, sign in sorted(judged, key=lambda pair: pair[0])]


_UNREAD: Final = 1_000_000
"""More than any number of findings: the text is refused."""


def _cost(sign: Sign, reader: Dialect, text: str) -> int:
    """How much `reader` has against the text as what it took it for."""
    try:
        return min(len(parse(reader, sign.kind, text).findings), _UNREAD - 1)
    except RetinueError:
        return _UNREAD


def _humbled(sign: Sign, readers: set[DialectName]) -> Sign:
    """`sign`, and `likely` in place of `certain` when another dialect reads the text too."""
    if sign.certainty != "certain" or readers <= {sign.dialect}:
        return sign
    others = ", ".join(sorted(readers - {sign.dialect}))
    return Sign(sign.dialect, sign.kind, sign.form, "likely", f"{sign.why}; {others} would read it too")


def _shown(text: str | bytes) -> str:
    """The text as a person would see it, whatever stands before it and whatever cannot be decoded."""
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    for mark, encoding in _BYTE_ORDER:
        if text.startswith(mark):
            return text[len(mark) :].decode(encoding, "replace")
    return text.decode("utf-8", "replace")
