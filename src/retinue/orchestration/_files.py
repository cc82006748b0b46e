"""Which skills take which files, by the patterns in their schemas: a named file says much about who is meant.

It opens nothing and knows no suffix: "takes" is what the schema of a path parameter accepts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from retinue.contract.definition import Skill
from retinue.orchestration.reading.parameter import Parameter, parameters_of
from retinue.orchestration.reading.paths import PATH_NAMES

__all__ = ["Takers"]

_SELECTIVE: Final = frozenset(["pattern", "enum", "const"])


class Takers:
    """The skills that take some files and refuse others.

    Args:
        skills: In the order by which they are counted.
    """

    def __init__(self, skills: Iterable[Skill]) -> None:
        self._selective: dict[int, list[Parameter]] = {}
        for place, skill in enumerate(skills):
            paths = [one.items or one for one in parameters_of(skill.input_schema) if one.says(*PATH_NAMES)]
            if chosen := [one for one in paths if not _SELECTIVE.isdisjoint(one.schema)]:
                self._selective[place] = chosen

    @property
    def all(self) -> Iterable[int]:
        """Every selective skill."""
        return self._selective

    def weigh(self, files: Sequence[str]) -> Mapping[int, str | None]:
        """For each selective skill, the first of `files` that it takes; None when it takes none of them."""
        if not files:
            return {}
        return {
            place: next((file for file in files if any(one.accepts(file) for one in paths)), None)
            for place, paths in self._selective.items()
        }
