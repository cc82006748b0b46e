"""Ready-made agents: classes whose types say what they take and give.

Each agent is a folder: its definition follows from the types of its decorated class, and the modules beside it do the
work. All of them do their share with no model and no network, and mark what they could not judge.
"""

import re
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from retinue.agents.port import Agent
    from retinue.catalogue.web import Web
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
    from retinue.catalogue._lazy import lazy_agents  # noqa: PLC0415 - listing this room must not cost what it needs

    store = None if state_dir is None else Path(state_dir) / "assistant.sqlite3"
    arguments: dict[str, dict[str, object]] = {
        "CodeEngineerExecutor": {"models": models, "servers": language_servers, "cache_dir": cache_dir},
        "DataAnalyst": {"cache_dir": cache_dir},
        "DesignGuardian": {"models": models, "cache_dir": cache_dir},
        "DiscoveryOrchestrator": {},
        "GitStateAnalyzer": {"cache_dir": cache_dir},
        "Metrics": {},
        "PatternDiscovery": {"cache_dir": cache_dir},
        "PersonalAssistant": {"store": store, "models": models, "trusted": trusted_tools},
        "RequirementsInterviewer": {"models": models},
        "ResearchSupervisor": {},
        "ResearcherAnalyst": {"cache_dir": cache_dir, "state_dir": state_dir, "models": models, "web": web},
        "SpecificationQualityChecker": {"models": models},
        "SystemArchitect": {"models": models, "cache_dir": cache_dir},
        "TicketAnalyzer": {"models": models},
    }
    return lazy_agents(
        [partial(_load, name, kwargs) for name, kwargs in arguments.items()],
        cache_dir=None if cache_dir is None else Path(cache_dir),
        settings={"model": models is not None and models.configured},
    )


def _load(name: str, arguments: "Mapping[str, object]") -> "Agent":
    """The agent of this class, over an object made with these arguments."""
    module = import_module(f"{__name__}.{re.sub('(?<!^)(?=[A-Z])', '_', name).lower()}")
    agent_class = getattr(module, name)
    return getattr(agent_class, "bind", agent_class)(**arguments)
