"""`retinue memory`: what agents remember from run to run, to look at and to delete."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retinue.cli.options import json_option, workspace_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from retinue.tools.memory.entry import Entry
    from retinue.tools.memory.store import Memory

__all__ = ["command"]


def _scope_option(function: "Callable[..., Any]") -> "Callable[..., Any]":
    """`--scope`."""
    return click.option(
        "--scope",
        type=click.Choice(["project", "global"]),
        default="project",
        show_default=True,
        help="Memories of this project, or global ones.",
    )(function)


@click.group("memory", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List, search and delete what agents remember. Lists it by default.

    Memories are stored in your state directory, never in a project.
    """
    if context.invoked_subcommand is None:
        context.invoke(_list, scope="project", limit=50, workspace=None, as_json=False)


@command.command("list")
@_scope_option
@click.option(
    "--limit", "-n", type=click.IntRange(1, 1_000_000), default=50, show_default=True, help="Maximum number to show."
)
@workspace_option
@json_option
def _list(*, scope: str, limit: int, workspace: Path | None, as_json: bool) -> None:
    """List memories, the newest first."""
    with _opened(scope, workspace) as memory:
        _show(memory.list(limit=limit), as_json=as_json, nothing="No memories.")


@command.command("search")
@click.argument("words", nargs=-1, required=True)
@_scope_option
@click.option(
    "--limit", "-n", type=click.IntRange(1, 1_000_000), default=10, show_default=True, help="Maximum number to show."
)
@workspace_option
@json_option
def _search(*, words: tuple[str, ...], scope: str, limit: int, workspace: Path | None, as_json: bool) -> None:
    """Search memories for WORDS, best match first."""
    with _opened(scope, workspace) as memory:
        found = [hit.entry for hit in memory.search(" ".join(words), limit=limit)]
    _show(found, as_json=as_json, nothing="No memories match.")


@command.command("forget")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@_scope_option
@workspace_option
@json_option
def _forget(*, names: tuple[str, ...], scope: str, workspace: Path | None, as_json: bool) -> None:
    """Delete memories for good: their text is overwritten in the file."""
    from retinue.cli.output import echo_json, safe, tell
    from retinue.errors import UnknownName

    gone: list[Entry] = []
    unknown: list[UnknownName] = []
    with _opened(scope, workspace) as memory:
        for name in dict.fromkeys(names):
            try:
                gone.append(memory.forget(name))
            except UnknownName as error:
                unknown.append(error)
    if as_json and (gone or not unknown):
        echo_json([entry.to_json() for entry in gone])
    for entry in () if as_json else gone:
        tell(f"Deleted {entry.id}: {safe(entry.text)[:80]}")
    if unknown:
        raise UnknownName(" ".join(error.message for error in unknown), hint=unknown[0].hint)


@command.command("set-aside")
@_scope_option
@workspace_option
@json_option
def _set_aside(*, scope: str, workspace: Path | None, as_json: bool) -> None:
    """Move an unreadable memory file out of the way and start a new one. Nothing is deleted."""
    from retinue.cli.output import echo_json, path_text, tell

    with _opened(scope, workspace) as memory:
        now = memory.set_aside()
    if as_json:
        echo_json({"scope": scope} | ({"moved_to": str(now)} if now else {}))
    tell("There is no memory file to set aside." if now is None else f"Moved to {path_text(now)}")


def _opened(scope: str, workspace: Path | None) -> "Memory":
    from retinue.cli import places
    from retinue.cli.project import find_root
    from retinue.tools.memory.store import Memory

    if scope == "global":
        return Memory(places.state_dir(), "global")
    return Memory(places.state_dir(), "project", project=find_root(workspace))


def _show(entries: "Iterable[Entry]", *, as_json: bool, nothing: str) -> None:
    """Print memories: as data, or for a person, whom nothing in them may fool."""
    from retinue.cli.output import echo, echo_json, plain, safe, tell

    listed = list(entries)
    if as_json:
        echo_json([entry.to_json() for entry in listed])
        return
    for entry in listed:
        facts = [time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.at_ns / 1e9)), f"by {safe(entry.source.by)}"]
        facts += [f"run {safe(entry.source.run)}"] if entry.source.run else []
        facts += [safe(entry.source.origin)] if entry.source.origin else []
        echo(f"{click.style(entry.id, bold=True)}  {click.style(', '.join(facts), dim=True)}")
        for line in plain(entry.text).splitlines():
            echo(f"  {line}")
    if not listed:
        tell(nothing)
