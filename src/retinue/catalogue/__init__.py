"""Ready-made agents: definitions as data, their Python beside them.

Each agent is a folder: `definition.json` is the contract's own `Definition` and says what it takes and gives; the
modules beside it do the work. All of them do their share with no model and no network, and mark what they could not
judge.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from retinue.agents.port import Agent

__all__ = ["agents"]


def agents(*, cache_dir: "str | PathLike[str] | None" = None) -> "tuple[Agent, ...]":
    """Every ready-made agent, made anew.

    Args:
        cache_dir: Where an agent may remember between runs what a tree of files holds; None remembers nothing on disk.
    """
    # Imported when asked for: listing this room must not cost what its agents need.
    from retinue.catalogue.data_analyst import DataAnalyst  # noqa: PLC0415
    from retinue.catalogue.git_state_analyzer import GitStateAnalyzer  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery import PatternDiscovery  # noqa: PLC0415
    from retinue.catalogue.research_supervisor import ResearchSupervisor  # noqa: PLC0415
    from retinue.catalogue.researcher_analyst import ResearcherAnalyst  # noqa: PLC0415

    return (
        DataAnalyst(),
        GitStateAnalyzer(),
        PatternDiscovery(cache_dir=cache_dir),
        ResearcherAnalyst(cache_dir=cache_dir),
        ResearchSupervisor(),
    )
