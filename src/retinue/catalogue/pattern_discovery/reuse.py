"""How far something can be built from what is there: the score from 0 to 10, its band, and what would be new (G5).

10 all existing, 7 to 9 mostly, 4 to 6 mixed, 0 to 3 novel. Where there is nothing to measure there is no score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue.pattern_discovery.inventory import Inventory
from retinue.catalogue.pattern_discovery.scoping import BUILT_IN
from retinue.contract.model import JsonMapping

__all__ = ["Reuse", "of_survey", "of_words"]

_ENOUGH: Final = 7
_SHARED: Final = 2
_MOST_NEW: Final = 20
_SURVEY: Final = (
    "10 times the share of what tests ask for (fixtures by name, lines of feature files) that something shared serves: "
    "a fixture of pytest's own, or a fixture or step of the project with at least two users. Names that no file "
    "defines are left out, since a plugin may."
)
_WORDS: Final = (
    "10 times the share of the request's words, each weighted by its rarity among the patterns (BM25's idf), "
    "that the matches have together."
)


@dataclass(frozen=True, slots=True)
class Reuse:
    """The score with what it rests on.

    Attributes:
        score: None when nothing could be measured.
        basis: The formula.
        new: What nothing there serves.
    """

    score: int | None
    basis: str
    new: Sequence[JsonMapping] = ()

    @property
    def band(self) -> str:
        """What the score means."""
        if self.score is None:
            return "not measured"
        if self.score == 10:
            return "all existing"
        return "mostly existing" if self.score >= _ENOUGH else "mixed" if self.score > 3 else "novel"

    def data(self) -> JsonMapping:
        """Its part of a result: `new_patterns` only below 7."""
        found: JsonMapping = {"reuse_basis": self.basis}
        if self.score is not None:
            found |= {"reuse_score": self.score, "reuse_band": self.band}
            if self.score < _ENOUGH:
                found["new_patterns"] = list(self.new[:_MOST_NEW])
        return found


def of_survey(found: Inventory) -> Reuse:
    """The score of a whole project."""
    asked = served = 0
    alone: list[JsonMapping] = []
    for test in found.tests:
        for name in test.case.requests:
            known = found.scopes.resolve(name, test.path, test.case.owner)
            if not known and name not in BUILT_IN:
                continue
            asked += 1
            if not known or len(known[0].asked_by) >= _SHARED:
                served += 1
            else:
                alone.append(_new("fixture", name, known[0].place, "only one test uses it"))
    for one in found.steps:
        asked += len(one.used_in)
        served += len(one.used_in) if len(one.used_in) >= _SHARED else 0
        if len(one.used_in) == 1:
            alone.append(_new("step", one.step.text, f"{one.path}:{one.step.line}", "only one line uses it"))
    asked += len(found.undefined)
    missing = [_new("step", one.text, f"{path}:{one.line}", "no step fits this line") for path, one in found.undefined]
    return Reuse(_score(served / asked) if asked else None, _SURVEY, [*missing, *alone])


def of_words(share: float, missing: Sequence[str], kind: str) -> Reuse:
    """The score of a request in words.

    Args:
        share: Of its words that the matches have.
        missing: Those that none has.
        kind: What would have to be written for them.
    """
    new = [_new(kind, word, "", "nothing that was found has this word") for word in missing]
    return Reuse(_score(share), _WORDS, new)


def _score(share: float) -> int:
    # Only when really all of it exists is it ten.
    return 10 if share >= 1 else min(9, round(10 * share))


def _new(kind: str, need: str, source: str, reason: str) -> JsonMapping:
    return {"kind": kind, "need": need, "reason": reason, **({"source": source} if source else {})}
