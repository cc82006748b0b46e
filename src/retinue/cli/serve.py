"""`retinue serve`: the agents of a folder behind doors, until it is stopped; and `retinue keys`."""

import asyncio
import ipaddress
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args
from urllib.parse import urlsplit

import click

from retinue.agents.definition_files import register_files
from retinue.agents.definition_folders import DefinitionFolder
from retinue.agents.registry import Registry
from retinue.cli import user_paths
from retinue.cli.fault_log import fault_log
from retinue.cli.output import echo, echo_err, echo_json, plural, reserve_stdout, safe
from retinue.cli.project import Project, report_notes
from retinue.cli.session import active_path, open_engine, with_module
from retinue.cli.settings import journal_of
from retinue.contract.definition import Effect
from retinue.errors import AccessDenied, InvalidInput, MissingFile, NotInstalled
from retinue.servers.admission import FREE_USD, Admission
from retinue.servers.keys import ApiKey, KeyStore

if TYPE_CHECKING:
    from jwt import PyJWK

    from retinue.servers.app import Door

_FILES = DefinitionFolder(".", (".json", ".md", ".py"))


def serve_agents(
    *,
    paths: Sequence[Path],
    host: str,
    port: int,
    public_url: str,
    anonymous: str | None,
    doors: Sequence[str],
    a2a: str,
    grpc_port: int | None,
    push_networks: Sequence[str],
    stdio: bool,
    effects: str,
    max_cost_usd: float | None,
    project: Project,
) -> None:
    """Serve the agents of this folder, or those of PATHS."""
    try:
        from retinue.servers.app import A2A_VERSIONS, DOORS, installed_doors, run_server, serve_stdio
    except ImportError as error:
        raise NotInstalled(f"`{error.name}` is not installed.", hint="Install `retinue[serve]`.") from None
    settings = project.settings
    cost_usd = FREE_USD if max_cost_usd is None else max_cost_usd
    local_key = ApiKey(name="stdio", effects=_effects_of(effects), max_cost_usd=cost_usd)
    keys, is_local = KeyStore(user_paths.state_dir()), _is_loopback(host)
    versions = _versions_of(a2a, A2A_VERSIONS)
    opened = cast("tuple[Door, ...]", tuple(doors)) or installed_doors()
    _check_a2a(push_networks, may_speak_grpc=grpc_port is None or ("1.0" in versions and "a2a" in opened))
    for door in () if doors or stdio else DOORS.keys() - set(opened):
        echo_err(f"There is no door `{door}`. Install `retinue[{door}]`.")
    _check_addresses(host, public_url, has_keys=stdio or is_local or keys.has_keys())
    if paths:
        project = replace(project, registry=_registry_of(paths, project))
    card_key = _read_card_key(settings.get("serve.card_key")) if "a2a" in opened and not stdio else None
    path = active_path()
    project, active = with_module(project, path) if path else (project, "")
    report_notes(project)
    log = logging.StreamHandler()
    log.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logging.getLogger("retinue.servers").addHandler(log)
    admission = Admission(
        keys,
        anonymous=is_local and (anonymous or settings.get("serve.anonymous")) == "read",
        models=project.configured_models,
        timeout_s=settings.get("serve.timeout_s"),
    )

    async def main() -> None:
        with journal_of(settings) as journal, fault_log(settings), reserve_stdout() as stdout:
            engine = open_engine(
                project,
                project.workspace,
                journal=journal,
                waits_for_answers=True,
                answer_timeout_s=settings.get("serve.question_timeout_s"),
                approval_timeout_s=settings.get("serve.approval_timeout_s"),
                max_events=20_000,
                keep_bytes=256 * 2**20,
                on_close="leave",
            )
            async with engine as orchestrator:
                if stdio:
                    await serve_stdio(orchestrator, admission, local_key, stdout)
                    return
                await run_server(
                    orchestrator,
                    admission,
                    host=host,
                    port=port,
                    public_url=public_url.rstrip("/"),
                    active=active,
                    doors=opened,
                    a2a=versions,
                    grpc_port=grpc_port,
                    push_networks=push_networks,
                    card_key=card_key,
                    on_ready=partial(_report_ready, opened, grpc_port),
                )

    asyncio.run(main())


def _check_addresses(host: str, public_url: str, *, has_keys: bool) -> None:
    """See that nobody else is let in without a key, and that cards can name the public address."""
    if not has_keys:
        raise AccessDenied(
            f"{host} can be reached from other machines, and there is no key.",
            hint="Make one: `retinue keys add NAME`. Or leave `--host` out, which serves this machine only.",
        )
    if public_url and not (urlsplit(public_url).scheme in {"http", "https"} and urlsplit(public_url).hostname):
        raise InvalidInput(f"{public_url!r} is not an address.", hint="Give `https://host` or `https://host/prefix`.")


def _read_card_key(file: str) -> "PyJWK | None":
    """The key that signs cards, if there is one; its id is said."""
    if not file:
        return None
    try:
        from retinue.servers.a2a.cards import read_card_key
    except ImportError as error:
        raise NotInstalled(f"`{error.name}` is not installed.", hint="Install `retinue[a2a]`.") from None
    key = read_card_key(Path(file).expanduser())
    echo_err(f"The cards of A2A are signed with the key {key.key_id}.")
    return key


def _report_ready(doors: "tuple[Door, ...]", grpc_port: int | None, address: str, agents: int, resumed: int) -> None:
    places = {"http": f"docs: {address}/docs", "a2a": f"A2A: {address}/a2a", "mcp": f"MCP: {address}/mcp"}
    echo_err(f"Serving {plural(agents, 'agent')} on {address}  ({', '.join(places[door] for door in doors)})")
    if grpc_port is not None:
        echo_err(f"A2A over gRPC is on port {grpc_port}.")
    if resumed:
        echo_err(f"Going on with {plural(resumed, 'run')} that the last server left.")
    echo_err("Stop with Ctrl-C.")


def _versions_of(text: str, all_versions: Sequence[str]) -> tuple[str, ...]:
    """The versions of A2A in a list with commas."""
    versions = tuple(word.strip() for word in text.split(","))
    if unknown := sorted(set(versions) - set(all_versions)):
        raise InvalidInput(
            f"{unknown[0]!r} is no version of A2A that is spoken here.", hint=f"Use `--a2a {','.join(all_versions)}`."
        )
    return versions


def _check_a2a(networks: Sequence[str], *, may_speak_grpc: bool) -> None:
    if not may_speak_grpc:
        raise InvalidInput("gRPC is spoken by the door `a2a`, in 1.0.", hint="Leave `--grpc-port` out.")
    for network in networks:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            raise InvalidInput(f"{network!r} is no network.", hint="Write it as in `10.0.0.0/8`.") from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _registry_of(paths: Sequence[Path], project: Project) -> Registry:
    """The agents in these files and folders. Naming them here is the user's own word: their code runs."""
    registry = Registry()
    for path in paths:
        if not path.exists():
            raise MissingFile(f"No such file or folder: {str(path)!r}.", hint="Name a file with an agent in it.")
        files = [path] if path.is_file() else sorted(each for each in path.iterdir() if each.suffix in _FILES.endings)
        root = (path if path.is_dir() else path.parent).resolve()
        register_files(
            registry,
            [(_FILES, each.resolve(), None) for each in files],
            root=root,
            trusted=True,
            models=project.models,
            toolbox=project.toolbox,
            loops=project.loops,
            cache_dir=project.cache_dir,
        )
    for skipped in registry.skipped:
        echo_err(f"{safe(skipped.path)} is skipped: {safe(skipped.reason)} {safe(skipped.hint)}")
    if not len(registry):
        raise InvalidInput("There is no agent in these files.", hint="Put `@agent` on a function or class.")
    return registry


# Keys


def add_key(
    *,
    name: str,
    agents: Sequence[str],
    doors: Sequence[str],
    effects: str,
    approve: bool,
    max_cost_usd: float | None,
    max_tokens: int | None,
    rate: int | None,
    concurrent: int | None,
    expires: float | None,
    as_json: bool,
) -> None:
    """Make a key and show it, this once."""
    try:
        key = ApiKey(
            name=name,
            agents=tuple(agents) or ("*",),
            doors=tuple(doors),
            effects=_effects_of(effects),
            approve=approve,
            max_cost_usd=max_cost_usd,
            max_tokens=max_tokens,
            rate=rate,
            concurrent=concurrent,
            expires_ns=None if expires is None else time.time_ns() + int(expires * 1e9),
        )
    except ValueError:
        message = f"{name[:80]!r} cannot be the name of a key."
        raise InvalidInput(message, hint="Use up to 64 letters, digits, dots, dashes.") from None
    secret = KeyStore(user_paths.state_dir()).add(key)
    if as_json:
        echo_json({"name": name, "key": secret})
    else:
        echo(secret)
        echo_err(f"This is the only time that the key {name!r} is shown. Send it as `Authorization: Bearer KEY`.")


def _effects_of(text: str) -> tuple[Effect, ...]:
    """The effects in a list with commas."""
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    all_effects = get_args(Effect)
    if unknown := sorted(set(words) - set(all_effects)):
        raise InvalidInput(
            f"{unknown[0]!r} is not an effect.", hint=f"Use {', '.join(all_effects)}.", suggestions=all_effects
        )
    return cast("tuple[Effect, ...]", words)


def list_keys(*, as_json: bool) -> None:
    """List the keys, never the secrets."""
    keys = KeyStore(user_paths.state_dir()).list()
    if as_json:
        echo_json([key.to_json() for key in keys])
        return
    for key in keys:
        bounds = [
            f"agents {' '.join(key.agents)}",
            f"effects {','.join(key.effects) or 'none'}",
            *([f"doors {','.join(key.doors)}"] if key.doors else []),
            *(["approves"] if key.approve else []),
            *([f"{key.max_cost_usd:g} USD a run"] if key.max_cost_usd is not None else []),
            *([f"{key.rate} requests a minute"] if key.rate else []),
            *(["expired"] if key.has_expired(time.time_ns()) else []),
        ]
        echo(f"{key.name}  {'; '.join(bounds)}")
    if not keys:
        echo_err("No keys. Make one with: retinue keys add NAME")


def revoke_key(*, name: str) -> None:
    """Delete a key. A running server refuses it from now on."""
    KeyStore(user_paths.state_dir()).revoke(name)
    echo_err(f"{click.style('revoked', bold=True)}: {safe(name)}")
