"""Names for runs: short, sortable by the time they were made, unique without asking anybody.

Sixteen characters of Crockford's base 32 in lower case: ten of milliseconds since 1970, six of chance. Not a secret:
the time at which a run began is enough to guess near it.
"""

from collections.abc import Callable
from typing import Final

from retinue.contract.names import nearest
from retinue.errors import InvalidInput, UnknownName

LENGTH: Final = 16
CHILD: Final = ":"
"""Stands between a run and the name of its child run, so no id given from outside may hold it."""

_LONGEST: Final = 200
_DIGITS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS: Final = tuple(high + low for high in _DIGITS for low in _DIGITS)
_CHANCE: Final = 1 << 30


class RunIds:
    """Makes ids from a clock and a source of chance.

    Ids made by one object rise strictly, also within a millisecond and when the clock steps back.
    """

    __slots__ = ("_chance", "_clock", "_last", "_moment", "_prefix")

    def __init__(self, clock: Callable[[], int], chance: Callable[[], float]) -> None:
        self._clock = clock
        self._chance = chance
        self._moment = -1
        self._prefix = ""
        self._last = 0

    def new(self) -> str:
        """The next id."""
        moment = self._clock() // 1_000_000
        if moment > self._moment:
            self._begin(moment)
        else:
            self._last += 1
            if self._last >= _CHANCE:
                self._begin(self._moment + 1)
        last = self._last
        return self._prefix + _PAIRS[last >> 20] + _PAIRS[last >> 10 & 1023] + _PAIRS[last & 1023]

    def _begin(self, moment: int) -> None:
        self._moment = moment
        self._prefix = "".join(_PAIRS[moment >> shift & 1023] for shift in (40, 30, 20, 10, 0))
        # The upper half stays free, so that counting up from here does not overflow.
        self._last = int(self._chance() * (_CHANCE >> 1))


def check_run_id(run: str) -> None:
    """Refuse an id that a run cannot have.

    Raises:
        InvalidInput: It is empty, too long, or holds a colon, a space or a character that cannot be printed.
    """
    if not run or len(run) > _LONGEST or CHILD in run or " " in run or not run.isprintable():
        raise InvalidInput(
            f"{run[:80]!r} cannot be the id of a run.",
            hint=f"Use 1 to {_LONGEST} printable characters without spaces and colons, or give none and get one.",
            path="/run",
        )


def unknown_run(run: str, ids: list[str]) -> UnknownName:
    """The error for an id that no run has; `ids` ids near to it are suggested."""
    near = nearest(run, ids)
    hint = f"Did you mean `{near[0]}`?" if near else "List the runs to see their ids."
    return UnknownName(f"There is no run {run[:80]!r}.", hint=hint, suggestions=near, path="/run")
