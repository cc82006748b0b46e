"""The folder a command works in: its root, its settings, its agents, and whether its own code may run."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from retinue import catalogue
from retinue.agents.discover import discover
from retinue.agents.grants import Grants
from retinue.agents.port import Agent
from retinue.agents.prompted.loop import Loops
from retinue.agents.registry import Registry
from retinue.agents.trust import TrustStore
from retinue.catalogue.web import Web
from retinue.cli import user_paths
from retinue.cli.models import models_of
from retinue.cli.output import echo_err, findings_text, plural
from retinue.cli.settings import Setting, Settings, find_root, grants_of, load, loops_of, permission_findings
from retinue.contract.credentials import keep_secret
from retinue.contract.definition import Tier
from retinue.contract.finding import Finding, Level
from retinue.contract.names import canonical_name, nearest
from retinue.contract.task import Budget
from retinue.llm.models import Models
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.agents.prompted.toolbox import Toolbox
    from retinue.agents.remote.discovery import RemoteAgents
    from retinue.orchestration.reader.embedding import SentenceEmbedder

# Commands that only list agents run nothing, so the engine, the boundary and MCP are for `session`.


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
        model: The model that the command line names, for agents that name none.
        runner: What it says is to drive models.
        is_named: The command line names the folder.
        remotes: The remote agents of this command, read and not yet connected.
        remote_names: What the user calls them, or their URLs.
    """

    root: Path
    settings: Settings
    registry: Registry
    trusted: bool
    models: Models = field(default_factory=Models)
    toolbox: "Toolbox | None" = None
    loops: Loops | None = None
    built_in: tuple[Agent, ...] = ()
    level: Level | None = None
    cache_dir: Path | None = None
    likeness: "SentenceEmbedder | None" = None
    model: str = ""
    runner: str = ""
    is_named: bool = False
    remotes: "tuple[RemoteAgents, ...]" = ()
    remote_names: tuple[str, ...] = ()

    @property
    def grants(self) -> Grants:
        """What agents may use here at most.

        Raises:
            InvalidInput: The settings hold something that is no permission.
        """
        return grants_of(self.settings)

    @property
    def workspace(self) -> Workspace:
        """The folder as agents may use it: for reading, and for writing where that can be granted at all."""
        return Workspace(self.root, write=(".",) if "write" in self.grants.effects else ())

    @property
    def configured_models(self) -> Models | None:
        """The models, where the user has configured any."""
        return self.models if self.models.configured else None

    @property
    def remote_agents(self) -> frozenset[str]:
        """The names of the agents that are strangers'."""
        return frozenset(agent.definition.name for remote in self.remotes for agent in remote.agents)

    def default_tier(self, tier: Tier) -> str | None:
        """The model that judges or plans: None for the default, or `tier` where only tiers are set (A16)."""
        return tier if self.models.configured and not self.models.default else None

    def with_only(self, names: Iterable[str]) -> "Project":
        """The same folder with these agents and no others."""
        registry = Registry(dict.fromkeys(self.registry.get(name) for name in names))
        registry.skipped, registry.findings = self.registry.skipped, self.registry.findings
        registry.unrouted = self.registry.unrouted
        return replace(self, registry=registry)


def open_project(
    workspace: Path | None,
    *,
    model: str | None = None,
    extra_models: Sequence[str] = (),
    runner: str | None = None,
    level: Level | None = None,
    planner: str | None = None,
    remembers: bool = True,
) -> Project:
    """Read the settings of a folder and find its agents.

    Args:
        workspace: The folder; the current one when absent.
        model: The model or tier of agents that name none, instead of what is set.
        extra_models: Further models that the user names.
        runner: What drives the models of agents that are instructions, instead of what is set.
        level: How strictly answers are judged, instead of what is set.
        planner: What makes plans, instead of what is set.
        remembers: Agents keep what they are told between runs; not where several people ask them.

    Raises:
        MissingFile: The folder is not there.
        InvalidInput: It is no folder, or `model` names none that there can be.
        Unauthenticated: The key of `model` is missing.
    """
    root = find_root(workspace)
    settings = load(root)
    if planner is not None:
        settings = replace(settings, values={**settings.values, "run.planner": Setting(planner, "--planner")})
    trust = TrustStore(user_paths.state_dir())
    trusted = trust.is_trusted(root)
    models = models_of(settings, default=model, extra_models=extra_models)
    models.trusts_definitions = trusted
    keep_secret(*settings.get("models.key_variable").values(), *settings.get("remote.key_variable").values())
    if model:
        models.check(model)
        models.check_key(model)
    lsp: tuple[str, ...] = settings.get("lsp.command")
    language_servers = {"python": lsp} if lsp else {}
    index = user_paths.index_dir() if settings.get("index.cache") else None
    web = Web(settings.get("search.provider") or None, environment=os.environ)
    ready_made = catalogue.agents(
        cache_dir=index,
        state_dir=user_paths.state_dir() if remembers else None,
        models=models,
        web=web,
        language_servers=language_servers,
        trusted_tools=partial(trust.is_trusted, kind="tool_root"),
    )
    toolbox = _toolbox(root, settings, language_servers, remembers=remembers) if models.configured else None
    loops = loops_of(settings, runner)
    registry = discover(
        root, trusted=trusted, catalogue=ready_made, models=models, toolbox=toolbox, loops=loops, cache_dir=index
    )
    likeness = None
    if embed := settings.get("models.embed"):
        from retinue.orchestration.reader.embedding import SentenceEmbedder

        likeness = SentenceEmbedder(embed, cache_dir=index)
    return Project(
        root=root,
        settings=settings,
        registry=registry,
        trusted=trusted,
        models=models,
        toolbox=toolbox,
        loops=loops,
        built_in=ready_made,
        level=level,
        cache_dir=index,
        likeness=likeness,
        model=model or "",
        runner=runner or "",
        is_named=workspace is not None,
    )


def open_served_project(workspace: Path | None, *, model: str | None = None, runner: str | None = None) -> Project:
    """`open_project` for a server: what one caller told an agent is not for the next."""
    return open_project(workspace, model=model, runner=runner, remembers=False)


def _toolbox(
    root: Path, settings: Settings, language_servers: Mapping[str, tuple[str, ...]], *, remembers: bool
) -> "Toolbox":
    """What agents that follow instructions may use."""
    from retinue.agents.prompted.toolbox import ANY_PROGRAM, default_toolbox

    return default_toolbox(
        state=user_paths.state_dir() if remembers else None,
        project=root,
        programs=settings.get("shell.allow") or ANY_PROGRAM,
        search=settings.get("search.provider") or None,
        environment=os.environ,
        language_servers=language_servers,
    )


@dataclass(frozen=True, slots=True)
class Bounds:
    """What was said on the command line of time, money, tokens and delegations; None leaves it to the settings."""

    timeout_s: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    nodes: int | None = None


def budget_of(settings: Settings, bounds: Bounds) -> Budget:
    """How much a run may spend: what was said on the command line, else what is set."""
    budget = Budget(
        timeout_s=settings.get("run.timeout_s", bounds.timeout_s),
        tokens=settings.get("run.max_tokens", bounds.tokens),
        cost_usd=settings.get("run.max_cost_usd", bounds.cost_usd),
    )
    return budget if bounds.nodes is None else budget.model_copy(update={"nodes": bounds.nodes})


def limit_findings(project: Project) -> list[Finding]:
    """Limits of agents who are called otherwise here. One that resembles nobody may be of another folder."""
    limits, findings = project.settings.values["rate_limits.agents"], list[Finding]()
    definitions = {name: each.name for each in project.registry.definitions() for name in (each.name, *each.aliases)}
    for name in map(canonical_name, limits.value):
        for near in [name] if name in definitions else nearest(name, definitions, limit=1):
            if name != definitions[near]:
                message = f"`rate_limits.agents` bounds `{name[:80]}`, and no agent is called that"
                fix = f"did you mean `{definitions[near]}`?"
                rule = "settings/unknown-agent"
                findings.append(Finding(rule=rule, severity="warning", message=message, file=limits.origin, fix=fix))
    return findings


def report_notes(project: Project, *, quiet: bool = False, as_json: bool = False) -> None:
    """Say what in the folder was ignored: invalid settings, names that two agents have, files without an agent."""
    project.settings.check()
    if quiet:
        return
    twice = [each for each in project.registry.findings if each.rule == "discovery/name-taken"]
    if notes := [*project.settings.findings, *permission_findings(project.settings), *limit_findings(project), *twice]:
        echo_err(findings_text(notes))
    if not as_json and (files := len({each.path for each in project.registry.skipped})):
        echo_err(f"{plural(files, 'file')} of this project skipped: see `retinue agents`.")
