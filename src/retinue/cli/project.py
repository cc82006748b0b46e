"""The folder a command works in: its root, its settings, its agents, and whether its own code may run."""

import os
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retinue import catalogue
from retinue.agents.boundary import Boundary
from retinue.agents.boundary.policy import Policy
from retinue.agents.discover import discover
from retinue.agents.grants import Grants
from retinue.agents.port import Agent
from retinue.agents.prompted.loop import Loops
from retinue.agents.prompted.toolbox import ANY_PROGRAM, Toolbox, default_toolbox
from retinue.agents.registry import Registry
from retinue.agents.remote.mcp_servers import McpServers, project_servers, read_servers
from retinue.agents.remote.mcp_tools import with_mcp
from retinue.agents.trust import TrustStore
from retinue.catalogue.web import Web
from retinue.cli import user_paths
from retinue.cli.output import echo_err, findings_text, plural
from retinue.cli.providers import models_of
from retinue.cli.settings import Settings, grants_of, load, loops_of, permission_findings
from retinue.contract.credentials import keep_secret
from retinue.contract.finding import Level
from retinue.contract.task import Budget
from retinue.engine.base import Workflow
from retinue.engine.offload import Pool
from retinue.errors import InvalidInput, MissingFile, RetinueError
from retinue.llm.models import Models
from retinue.orchestration.orchestrator import workflows
from retinue.orchestration.reader.embedding import SentenceEmbedder
from retinue.orchestration.supervise import POLICIES
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.cli.options import Bounds

_MCP_FILE: Final = ".mcp.json"
"""Looked for here, so that whoever has none loads nothing."""


@dataclass(frozen=True, slots=True)
class Project:
    """One folder as a command sees it.

    Attributes:
        root: The workspace: what agents may read.
        registry: The agents at hand, the catalogue's and the folder's own.
        trusted: Whether the folder's Python agents were loaded.
        models: The models that the settings give.
        toolbox: What agents that follow instructions may use; None where no model is configured.
        loops: What drives their models; None where that is our own loop for all.
        built_in: The agents that come with the installation.
        cache_dir: Where it is kept what was read of the folder; None keeps nothing.
        likeness: Ranks skills by meaning as well; None where no model is set for it.
    """

    root: Path
    settings: Settings
    registry: Registry
    trusted: bool
    models: Models = field(default_factory=Models)
    toolbox: Toolbox | None = None
    loops: Loops | None = None
    built_in: tuple[Agent, ...] = ()
    level: Level | None = None
    cache_dir: Path | None = None
    likeness: SentenceEmbedder | None = None

    @property
    def grants(self) -> Grants:
        """What agents may use here at most.

        Raises:
            InvalidInput: The settings hold something that is no permission.
        """
        return grants_of(self.settings)

    @property
    def policy(self) -> Policy:
        """What follows when an attempt fails, and how long one may take (H27, C29)."""
        return replace(POLICIES[self.settings.get("run.policy")], level=self.settings.get("run.level", self.level))

    @property
    def boundary(self) -> Boundary:
        """What every call of an agent of this folder passes."""
        return Boundary(self.registry, policy=self.policy)

    def workflows(self, workspace: Workspace, *, offload: Pool) -> Mapping[str, Workflow]:
        """What an engine must know to run plans for the agents of this folder."""
        models = self.models if self.models.configured else None
        return workflows(
            self.registry,
            boundary=self.boundary,
            workspace=workspace,
            offload=offload,
            models=models,
            grants=self.grants,
            likeness=self.likeness,
        )

    @property
    def workspace(self) -> Workspace:
        """The folder as agents may use it: for reading, and for writing where that can be granted at all."""
        return Workspace(self.root, write=(".",) if "write" in self.grants.effects else ())

    @asynccontextmanager
    async def open_tools(self) -> "AsyncGenerator[Project]":
        """This folder with the tools of its MCP servers.

        Afterwards no program that a tool started goes on, and no connection of a model is open, however it ended.
        """
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.models.close)
            project, toolbox = self, self.toolbox
            if toolbox is not None and (servers := _mcp_servers(self)) is not None:
                earlier, toolbox = toolbox, await with_mcp(toolbox, servers, environ=os.environ)
                stack.push_async_callback(toolbox.aclose)  # before anything else can go wrong: programs run now
                project = _with_tools(self, earlier, toolbox)
            elif toolbox is not None:
                stack.push_async_callback(toolbox.aclose)
            yield project

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
        InvalidInput: It is not a folder.
    """
    if folder is not None:
        if folder.is_dir():
            return folder.resolve()
        if folder.exists():
            raise InvalidInput(f"{str(folder)!r} is not a folder.", hint="Name a folder with `--workspace`.")
        raise MissingFile(f"No such folder: {str(folder)!r}.", hint="Name a folder with `--workspace`.")
    here = _current_folder()
    return next((place for place in (here, *here.parents) if (place / ".git").exists()), here)


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise MissingFile(
            "The current folder no longer exists.", hint="Change to another folder, or use `--workspace`."
        ) from None


def open_project(
    folder: Path | None,
    *,
    model: str | None = None,
    extra_models: Sequence[str] = (),
    runner: str | None = None,
    level: Level | None = None,
) -> Project:
    """Read the settings of a folder and find its agents.

    Args:
        folder: The folder; where we stand when absent.
        model: The model, or the tier, of whoever names none, instead of what is set.
        extra_models: Further models that the user names.
        runner: What drives the models of agents that are instructions, instead of what is set.
        level: How strictly answers are judged, instead of what is set.

    Raises:
        MissingFile: The folder is not there.
        InvalidInput: It is no folder, or `model` names none that there can be.
        Unauthenticated: The key of `model` is missing.
    """
    root = find_root(folder)
    settings = load(root)
    trust = TrustStore(user_paths.state_dir())
    trusted = trust.is_trusted(root)
    models = models_of(settings, default=model, extra_models=extra_models)
    models.trusts_definitions = trusted
    keep_secret(*settings.get("models.key_variable").values())
    if model:
        models.check(model)
        models.check_key(model)
    index = user_paths.index_dir() if settings.get("index.cache") else None
    web = Web(settings.get("search.provider") or None, environment=os.environ)
    ready_made = catalogue.agents(
        cache_dir=index,
        state_dir=user_paths.state_dir(),
        models=models,
        web=web,
        language_servers=_language_servers(settings),
        trusted_tools=partial(trust.is_trusted, kind="tool_root"),
    )
    toolbox = _toolbox(root, settings) if models.configured else None
    loops = loops_of(settings, runner)
    registry = discover(
        root,
        trusted=trusted,
        catalogue=ready_made,
        models=models,
        toolbox=toolbox,
        loops=loops,
        cache_dir=index,
    )
    likeness = _embedder(settings.get("models.embed"), index)
    return Project(root, settings, registry, trusted, models, toolbox, loops, ready_made, level, index, likeness)


def _embedder(model: str, cache_dir: Path | None) -> SentenceEmbedder | None:
    if not model:
        return None
    return SentenceEmbedder(model, cache_dir=cache_dir)


def _mcp_servers(project: Project) -> McpServers | None:
    """The MCP servers of the user and of the folder; None when nobody named any.

    A file that cannot be used is told, and does not keep agents from working.
    """
    own: str = project.settings.get("mcp.file")
    if not own and not (project.root / _MCP_FILE).is_file():
        return None
    server_sets: list[McpServers] = []
    for read in (
        partial(read_servers, Path(own).expanduser(), cwd=project.root) if own else McpServers,
        partial(project_servers, project.root, trust=TrustStore(user_paths.state_dir())),
    ):
        try:
            server_sets.append(read())
        except RetinueError as error:
            echo_err(f"MCP servers are not used: {error.message} {error.hint}")
    servers = {server.name: server for each in server_sets for server in each.servers}
    absent = {name: why for each in server_sets for name, why in each.absent.items()}
    return McpServers(tuple(servers.values()), absent) if servers or absent else None


def _with_tools(project: Project, earlier: Toolbox, wider: Toolbox) -> Project:
    """The same folder, its agents found anew: what tools there are is settled when they are."""
    for name, why in wider.absent.items():
        if name.startswith("mcp__") and name not in earlier.absent:
            echo_err(f"`{name}` is not available: {why}")
    registry = discover(
        project.root,
        trusted=project.trusted,
        catalogue=project.built_in,
        models=project.models,
        toolbox=wider,
        loops=project.loops,
        cache_dir=project.cache_dir,
    )
    for agent in project.registry:
        if agent.definition.source is None and not project.registry.is_built_in(agent):
            registry.add(agent)  # the user named it in this command
    project, names = replace(project, registry=registry, toolbox=wider), project.registry.agents()
    return project if len(names) == len(registry) else project.with_only(each.definition.name for each in names)


def _toolbox(root: Path, settings: Settings) -> Toolbox:
    """The tools of agents that follow instructions, as the settings say."""
    return default_toolbox(
        state=user_paths.state_dir(),
        project=root,
        programs=settings.get("shell.allow") or ANY_PROGRAM,
        search=settings.get("search.provider") or None,
        environment=os.environ,
        language_servers=_language_servers(settings),
    )


def _language_servers(settings: Settings) -> dict[str, tuple[str, ...]]:
    """The argument vectors of language servers that the user has set, by language."""
    command: tuple[str, ...] = settings.get("lsp.command")
    return {"python": tuple(command)} if command else {}


def budget_of(settings: Settings, bounds: "Bounds") -> Budget:
    """How much a run may spend: what was said on the command line, else what is set."""
    budget = Budget(
        timeout_s=settings.get("run.timeout_s", bounds.timeout_s),
        tokens=settings.get("run.max_tokens", bounds.tokens),
        cost_usd=settings.get("run.max_cost_usd", bounds.cost_usd),
    )
    return budget if bounds.nodes is None else budget.model_copy(update={"nodes": bounds.nodes})


def report_notes(project: Project, *, quiet: bool = False, as_json: bool = False) -> None:
    """Say what of the folder was passed over: settings that do not hold, names of two agents, files without an agent.

    Raises:
        InvalidInput: A setting cannot be used, and might be a bound.
    """
    project.settings.check()
    if quiet:
        return
    twice = [each for each in project.registry.findings if each.rule == "discovery/name-taken"]
    if notes := [*project.settings.findings, *permission_findings(project.settings), *twice]:
        echo_err(findings_text(notes))
    if not as_json and (files := len({each.path for each in project.registry.skipped})):
        echo_err(f"{plural(files, 'file')} of this project skipped: see `retinue agents`.")
