"""Agents at a URL, and MCP servers, as agents of a command: those that it names, and those that goals are routed to."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from retinue.agents.trust import TrustStore
from retinue.cli import user_paths
from retinue.cli.output import echo_err, findings_text, safe
from retinue.cli.project import Project
from retinue.contract.names import fold, nearest
from retinue.errors import RetinueError, Unavailable, UnknownName

if TYPE_CHECKING:
    from retinue.agents.remote.discovery import RemoteAgents
    from retinue.agents.remote.mcp_servers import McpServer, McpServers

_SLOW_S = 1.0


def is_url(name: str) -> bool:
    """Whether what stands where an agent's name would is a URL."""
    return name.startswith(("http://", "https://"))


def with_remote(
    project: Project, names: Iterable[str], *, quiet: bool = False, shows_findings: bool = False, required: bool = True
) -> Project:
    """`project` with the remote agents among `names` (URLs, and names of the settings or of MCP servers).

    Nothing is asked of anybody when there is none among them. An agent of the project keeps its name.

    Args:
        project: Where they are wanted.
        names: What the user calls agents.
        quiet: Nothing but errors is told.
        shows_findings: Everything that was found about their cards is told, and not only a change.
        required: Without one of them there is an error; else that is told, and the others are there.

    Raises:
        UnknownName: One looks like a misspelt name of a remote agent.
        RetinueError: One cannot be read, or its name belongs to another agent.
    """
    urls: dict[str, str] = project.settings.get("remote.urls")
    by_name = {fold(name): name for name in urls}
    wanted = [name for name in dict.fromkeys(names) if is_url(name) or not _is_known(project, name)]
    config = mcp_servers(project) if wanted else None
    servers = {fold(server.name): server for server in config.servers} if config is not None else {}
    chosen_urls: list[str] = []
    chosen_servers: list[McpServer] = []
    failures: list[RetinueError] = []
    for name in wanted:
        if is_url(name):
            chosen_urls.append(name)
        elif fold(name) in by_name:
            chosen_urls.append(by_name[fold(name)])
        elif fold(name) in servers:
            chosen_servers.append(servers[fold(name)])
        elif config is not None and name in config.absent:
            message = f"The MCP server {name!r} cannot be used: {config.absent[name]}."
            failures.append(Unavailable(message, hint="Correct the file that names it."))
        elif near := nearest(name, [*urls, *servers]):
            message = f"Unknown agent {name[:80]!r}."
            failures.append(UnknownName(message, hint=f"Did you mean `{near[0]}`?", suggestions=near))
        elif not required:
            failures.append(UnknownName(f"No agent is called {name[:80]!r}."))
    _report_failures(failures, required=required, quiet=quiet)
    if not chosen_urls and not chosen_servers:
        return project
    from retinue.agents.remote.discovery import RemoteAgents, card_store
    from retinue.agents.remote.peer import Peer

    keys, pins = project.settings.get("remote.key_variable"), project.settings.get("remote.pin")
    peers = [
        Peer.at(name)
        if is_url(name)
        else Peer.at(urls[name], name=name, key_variable=keys.get(name, ""), digest=pins.get(name, ""))
        for name in chosen_urls
    ]
    remote = RemoteAgents(peers, servers=chosen_servers, store=card_store(user_paths.state_dir()))
    asyncio.run(_read(remote, [*map(safe, chosen_urls), *(each.name for each in chosen_servers)], quiet=quiet))
    _report_failures([each.error for each in remote.found if each.error is not None], required=required, quiet=quiet)
    findings = [each for each in remote.findings if shows_findings or each.rule == "remote/card-changed"]
    if findings and not quiet:
        echo_err(findings_text(findings))
    for agent in remote.agents:
        project.registry.add(agent)
    project.registry.unrouted |= {agent.definition.name for agent in remote.agents}
    return replace(project, remotes=(*project.remotes, remote), remote_names=(*project.remote_names, *wanted))


def with_routed(project: Project, agents: Iterable[str], *, quiet: bool) -> Project:
    """`project` with the remote agents that a goal may be routed to: those of `remote.route`, and those in `agents`.

    A goal is answered without one of `remote.route` that is not there, which is told.

    Raises:
        RetinueError: As `with_remote`.
    """
    project = with_remote(project, agents, quiet=quiet)
    routed: list[str] = project.settings.get("remote.route")
    project = with_remote(project, routed, quiet=quiet, required=False)
    project.registry.unrouted -= {fold(name) for name in (*routed, *agents)}
    return project


def with_named(project: Project, name: str, *, quiet: bool, shows_findings: bool = False) -> tuple[Project, str]:
    """`project` with the remote agent that `name` means, and what that agent is called; unchanged for any other.

    Raises:
        UnknownName: The URL has several agents.
        RetinueError: As `with_remote`.
    """
    project = with_remote(project, [name], quiet=quiet, shows_findings=shows_findings)
    if not is_url(name):
        return project, name
    agents = [agent for remote in project.remotes for agent in remote.agents]
    if len(agents) > 1:
        names = tuple(sorted(project.remote_agents))
        hint = f"Name the card of one of them: {', '.join(names)}."
        raise UnknownName(f"{name!r} has {len(agents)} agents.", hint=hint, suggestions=names)
    return project, agents[0].definition.name


async def _read(remote: "RemoteAgents", names: Iterable[str], *, quiet: bool) -> None:
    reading = asyncio.ensure_future(remote.read())
    done, _ = await asyncio.wait({reading}, timeout=_SLOW_S)
    if not done and not quiet:
        echo_err(f"Asking {', '.join(names)} what there is…")
    await reading
    await remote.aclose()  # what is kept from now on belongs to the loop of the run


def _report_failures(failures: Iterable[RetinueError], *, required: bool, quiet: bool) -> None:
    """Raise the first of the failures when all agents are required, else say which are left out."""
    for failure in failures:
        if required:
            raise failure
        if not quiet:
            echo_err(f"A remote agent is left out: {safe(failure.message)}")


def _is_known(project: Project, name: str) -> bool:
    try:
        project.registry.get(name)
    except UnknownName:
        return False
    return True


def mcp_servers(project: Project) -> "McpServers | None":
    """The MCP servers of the user and of the folder; None when none are named, and then nothing of MCP is loaded."""
    own: str = project.settings.get("mcp.file")
    if not own and not (project.root / ".mcp.json").is_file():
        return None
    from retinue.agents.remote.mcp_servers import McpServers, project_servers, read_servers

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
