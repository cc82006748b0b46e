"""What a search has found, before anything is said about it."""

from collections import Counter
from dataclasses import dataclass, field

from retinue.catalogue.researcher_analyst.brought import Brought
from retinue.catalogue.researcher_analyst.evidence import Evidence
from retinue.catalogue.researcher_analyst.lookup import Looked
from retinue.catalogue.researcher_analyst.sources import Source
from retinue.tools.tree import Skipped

__all__ = ["Gathered"]


@dataclass(slots=True)
class Gathered:
    """What was found.

    Attributes:
        evidence: Best first; empty when nothing covers the question.
        nearest: The best of what does not cover it.
        looked: The identifiers that were looked up.
        absent_files: Paths the question names that are not there, each with those that look like it.
        places: For a question that asks for files: each with how often and where first it has the words.
        files: How many files of each source were searched.
        passages: How many passages of each source were compared.
        texts: What was searched that is no file, by what stands in place of its path.
        compared: How many passages of those were compared, by source.
        read: How many files of the tree were looked at, and how many there are.
        late: Time was up before all was done.
        spelled: Words of the question that were read as others, which the project has.
        alike: Files that a path of the question may mean, when they are several.
    """

    evidence: list[Evidence] = field(default_factory=list[Evidence])
    nearest: Evidence | None = None
    looked: list[Looked] = field(default_factory=list[Looked])
    absent_files: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    places: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    files: Counter[Source] = field(default_factory=Counter[Source])
    passages: Counter[Source] = field(default_factory=Counter[Source])
    texts: dict[str, Brought] = field(default_factory=dict[str, Brought])
    compared: Counter[Source] = field(default_factory=Counter[Source])
    left_out: list[Skipped] = field(default_factory=list[Skipped])
    searched_for: list[str] = field(default_factory=list[str])
    read: tuple[int, int] = (0, 0)
    late: bool = False
    spelled: dict[str, str] = field(default_factory=dict[str, str])
    alike: tuple[str, ...] = ()
