"""What one task asks for: the question, where to look, how far, and in what form it is to be told."""

from dataclasses import dataclass
from typing import cast

from retinue.catalogue.researcher_analyst.depth import DEPTHS, Depth, DepthName
from retinue.catalogue.researcher_analyst.question import of_the_web
from retinue.catalogue.researcher_analyst.sources import SOURCES, Source, local_of, named
from retinue.catalogue.researcher_analyst.telling import Style
from retinue.contract.task import Task

__all__ = ["Wanted", "read_wanted"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One task, read.

    Attributes:
        question: In plain words, without those that say where to look.
        local: The sources that lie in the workspace.
        web: The web is asked for on purpose: by a list of sources that names it, or by words.
    """

    question: str
    sources: tuple[Source, ...]
    local: tuple[Source, ...]
    web: bool
    depth: Depth
    style: Style


def read_wanted(task: Task) -> Wanted:
    """What `task` asks for. Its parameters have passed the schema."""
    parameters = task.parameters
    said = str(parameters.get("task") or task.instruction)
    listed = parameters.get("sources") or SOURCES
    sources = named(listed)
    bare = of_the_web(said)
    # The boundary fills in the default, which is all four: only another list names the web on purpose.
    by_default = list(listed) == list(SOURCES)
    web = "web" in sources and (bool(bare) or not by_default)
    local = () if web and by_default else local_of(sources)
    return Wanted(
        question=bare if web and bare else said,
        sources=("web",) if web and by_default else sources,
        local=local,
        web=web,
        depth=DEPTHS[cast("DepthName", parameters.get("depth", "quick_scan"))],
        style=cast("Style", parameters.get("output_format", "summary")),
    )
