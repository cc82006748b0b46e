"""Ready-made agents: definitions as data, their Python beside them.

Each agent is a folder: its `definition.json`, or the types of its decorated class, say what it takes and gives; the
modules beside it do the work. All of them do their share with no model and no network, and mark what they could not
judge.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from retinue.agents.port import Agent
    from retinue.catalogue.researcher_analyst.web import Web
    from retinue.llm.models import Models

__all__ = ["agents"]


def agents(
    *,
    cache_dir: "str | PathLike[str] | None" = None,
    state_dir: "str | PathLike[str] | None" = None,
    models: "Models | None" = None,
    web: "Web | None" = None,
    language_servers: "Mapping[str, tuple[str, ...]] | None" = None,
    trusted_tools: "Callable[[Path], bool]" = lambda _: False,
) -> "tuple[Agent, ...]":
    """Every ready-made agent, made anew.

    Args:
        cache_dir: Where an agent may remember between runs what a tree of files holds; None remembers nothing on disk.
        state_dir: Where an agent keeps what a person told it, and finds what earlier runs remembered; None keeps it for
            one call only.
        models: What agents think with, where they go deeper with a model; without one they do their share by rules.
        web: How the web is searched, when it is asked for; without it that is said.
        language_servers: The argument vectors of language servers, by language, from the user's own settings.
        trusted_tools: Whether the user trusts the extensions in a folder.
    """
    # Imported when asked for: listing this room must not cost what its agents need.
    from retinue.catalogue.code_engineer_executor import CodeEngineerExecutor  # noqa: PLC0415
    from retinue.catalogue.data_analyst import DataAnalyst  # noqa: PLC0415
    from retinue.catalogue.git_state_analyzer import GitStateAnalyzer  # noqa: PLC0415
    from retinue.catalogue.metrics import Metrics  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery import PatternDiscovery  # noqa: PLC0415
    from retinue.catalogue.personal_assistant import PersonalAssistant  # noqa: PLC0415
    from retinue.catalogue.research_supervisor import ResearchSupervisor  # noqa: PLC0415
    from retinue.catalogue.researcher_analyst import ResearcherAnalyst  # noqa: PLC0415
    from retinue.catalogue.system_architect import SystemArchitect  # noqa: PLC0415

    return (
        CodeEngineerExecutor(models, servers=language_servers, cache_dir=cache_dir),
        DataAnalyst,
        GitStateAnalyzer(),
        Metrics,
        PatternDiscovery(cache_dir=cache_dir),
        PersonalAssistant(
            store=None if state_dir is None else Path(state_dir) / "assistant.sqlite3",
            models=models,
            trusted=trusted_tools,
        ),
        ResearcherAnalyst(cache_dir=cache_dir, state_dir=state_dir, models=models, web=web),
        ResearchSupervisor(),
        SystemArchitect(models, cache_dir=cache_dir),
    )
