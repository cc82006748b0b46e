"""The folder a command works in: its root, its settings, its agents, and whether its own code may run."""

import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from retinue import catalogue
from retinue.agents.discover import discover
from retinue.agents.registry import Registry
from retinue.agents.trust import TrustStore
from retinue.catalogue.researcher_analyst.web import Web
from retinue.cli import places
from retinue.cli.options import Bounds
from retinue.cli.output import counted, findings_text, tell
from retinue.cli.providers import models_of
from retinue.cli.settings import Settings, load
from retinue.contract.budget import Budget
from retinue.errors import InvalidInput, MissingFile
from retinue.llm.models import Models

if TYPE_CHECKING:
    from retinue.agents.grants import Grants
    from retinue.agents.prompted.toolbox import Toolbox

__all__ = ["Project", "budget_of", "find_root", "open_project", "tell_notes"]


@dataclass(frozen=True, slots=True)
class Project:
    """One folder as a command sees it.

    Attributes:
        root: The workspace: what agents may read.
        registry: The agents at hand, the catalogue's and the folder's own.
        trusted: Whether the folder's Python agents were loaded.
        models: The models that the settings give.
        toolbox: What agents that follow instructions may use; None where no model is configured.
    """

    root: Path
    settings: Settings
    registry: Registry
    trusted: bool
    models: Models = field(default_factory=Models)
    toolbox: "Toolbox | None" = None

    @property
    def grants(self) -> "Grants":
        """What agents may use here at most.

        Raises:
            InvalidInput: The settings hold something that is no permission.
        """
        from retinue.cli.permissions import grants_of

        return grants_of(self.settings)

    @asynccontextmanager
    async def tools_closed(self) -> AsyncGenerator[None]:
        """Afterwards no program that a tool started goes on, and no connection of a model is open."""
        try:
            yield
        finally:
            if self.toolbox is not None:
                await self.toolbox.aclose()
            await self.models.close()

    def with_only(self, names: Iterable[str]) -> "Project":
        """The same folder with these agents and no others.

        Raises:
            UnknownName: Nobody is called that.
        """
        registry = Registry(dict.fromkeys(self.registry.get(name) for name in names))
        registry.skipped, registry.findings = self.registry.skipped, self.registry.findings
        return replace(self, registry=registry)


def find_root(folder: Path | None) -> Path:
    """The folder asked for, or the top of the repository we stand in, or where we stand.

    Raises:
        MissingFile: The folder asked for is not there.
        InvalidInput: It is no folder.
    """
    if folder is not None:
        if folder.is_dir():
            return folder.resolve()
        if folder.exists():
            raise InvalidInput(f"{str(folder)!r} is no folder.", hint="Name a folder with `--workspace`.")
        raise MissingFile(f"There is no folder {str(folder)!r}.", hint="Name a folder with `--workspace`.")
    here = _here()
    return next((place for place in (here, *here.parents) if (place / ".git").exists()), here)


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise MissingFile("The folder you stand in is gone.", hint="Go to another, or use `--workspace`.") from None


def open_project(folder: Path | None, *, model: str | None = None) -> Project:
    """Read the settings of a folder and find its agents.

    Args:
        folder: The folder; where we stand when absent.
        model: The model, or the tier, of whoever names none, instead of what is set.

    Raises:
        MissingFile: The folder is not there.
        InvalidInput: It is no folder.
    """
    root = find_root(folder)
    settings = load(root)
    trusted = TrustStore(places.state_dir()).is_trusted(root)
    models = models_of(settings, default=model)
    index = places.index_dir() if settings.get("index.cache") else None
    web = Web(settings.get("search.provider") or None, environment=os.environ)
    ready_made = catalogue.agents(cache_dir=index, state_dir=places.state_dir(), models=models, web=web)
    toolbox = _toolbox(root, settings) if models.configured else None
    registry = discover(root, trusted=trusted, catalogue=ready_made, models=models, toolbox=toolbox)
    return Project(root, settings, registry, trusted, models, toolbox)


def _toolbox(root: Path, settings: Settings) -> "Toolbox":
    """The tools of agents that follow instructions, as the settings say."""
    from retinue.agents.prompted.assembly import ANY_PROGRAM, default_toolbox

    command = settings.get("lsp.command")
    return default_toolbox(
        state=places.state_dir(),
        project=root,
        programs=settings.get("shell.allow") or ANY_PROGRAM,
        search=settings.get("search.provider") or None,
        environment=os.environ,
        language_servers={"python": command} if command else None,
    )


def budget_of(settings: Settings, bounds: Bounds) -> Budget:
    """How much a run may spend: what was said on the command line, else what is set."""
    budget = Budget(
        timeout_s=settings.get("run.timeout_s", bounds.timeout_s),
        tokens=settings.get("run.max_tokens", bounds.tokens),
        cost_usd=settings.get("run.max_cost_usd", bounds.cost_usd),
    )
    return budget if bounds.nodes is None else budget.model_copy(update={"nodes": bounds.nodes})


def tell_notes(project: Project) -> None:
    """Say what of the folder was passed over: settings that do not hold, files that gave no agent."""
    if project.settings.findings:
        tell(findings_text(project.settings.findings))
    if files := len({each.path for each in project.registry.skipped}):
        tell(f"{counted(files, 'file')} of this project gave no agent: see `retinue agents`.")
