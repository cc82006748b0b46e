"""Which skills take which files, by their schemas and examples: a named file says much about who is meant.

It opens nothing and knows no suffix: "takes" is what the schema of a path parameter accepts; and who says by many
examples which kinds of files it is asked about is not meant with another kind.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from retinue.contract.definition import Skill
from retinue.orchestration.routing._naming import COMMON_ENDINGS, ending_of, endings
from retinue.orchestration.routing.reading.parameter import Parameter, parameters_of
from retinue.orchestration.routing.reading.paths import PATH_NAMES

__all__ = ["Takers"]

_SELECTIVE: Final = frozenset(["pattern", "enum", "const"])
_TELLING_FILES: Final = 4
"""So many files in its examples say which kinds a skill is asked about."""


class Takers:
    """The skills that take some files and refuse others.

    Args:
        skills: In the order by which they are counted.
    """

    def __init__(self, skills: Iterable[Skill]) -> None:
        self._selective: dict[int, list[Parameter]] = {}
        self._shown: dict[int, frozenset[str]] = {}
        for place, skill in enumerate(skills):
            paths = [one.items or one for one in parameters_of(skill.input_schema) if one.says(*PATH_NAMES)]
            if chosen := [one for one in paths if not _SELECTIVE.isdisjoint(one.schema)]:
                self._selective[place] = chosen
            shown = [ending for example in skill.examples for ending in endings(example)]
            if len(shown) >= _TELLING_FILES:
                self._shown[place] = frozenset(shown)

    @property
    def all(self) -> Iterable[int]:
        """Every skill whose schema is selective."""
        return self._selective

    def weigh(self, files: Sequence[str]) -> Mapping[int, str | None]:
        """For each selective skill, the first of `files` that it takes; None when it takes none of them."""
        if not files:
            return {}
        kinds = COMMON_ENDINGS.intersection(map(ending_of, files))
        found: dict[int, str | None] = {}
        if kinds:
            found |= dict.fromkeys(place for place, shown in self._shown.items() if shown.isdisjoint(kinds))
        for place, paths in self._selective.items():
            found[place] = next((file for file in files if any(one.accepts(file) for one in paths)), None)
        return found
