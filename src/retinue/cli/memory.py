"""`retinue memory`: what agents remember from run to run, to look at and to delete."""

from collections.abc import Iterable
from pathlib import Path

import click

from retinue.cli import user_paths
from retinue.cli.output import echo, echo_err, echo_json, minute_text, path_text, safe, safe_lines
from retinue.cli.settings import find_root
from retinue.errors import UnknownName
from retinue.tools.memory import Memory, MemoryEntry


def list_memories(*, scope: str, limit: int, workspace: Path | None, as_json: bool) -> None:
    """List memories, the newest first."""
    with _open_memory(scope, workspace) as memory:
        _show(memory.list(limit=limit), as_json=as_json, empty_message="No memories.")


def search_memories(*, words: tuple[str, ...], scope: str, limit: int, workspace: Path | None, as_json: bool) -> None:
    """Search memories for WORDS, best match first."""
    with _open_memory(scope, workspace) as memory:
        matches = list(memory.search(" ".join(words), limit=limit))
    _show(matches, as_json=as_json, empty_message="No memories match.")


def forget_memories(*, names: tuple[str, ...], scope: str, workspace: Path | None, as_json: bool) -> None:
    """Delete memories for good: their text is overwritten in the file."""
    deleted_entries: list[MemoryEntry] = []
    unknown: list[UnknownName] = []
    with _open_memory(scope, workspace) as memory:
        for name in dict.fromkeys(names):
            try:
                deleted_entries.append(memory.forget(name))
            except UnknownName as error:
                unknown.append(error)
    if as_json and (deleted_entries or not unknown):
        echo_json([entry.to_json() for entry in deleted_entries])
    for entry in () if as_json else deleted_entries:
        echo_err(f"Deleted {entry.id}: {safe(entry.text)[:80]}")
    if unknown:
        raise UnknownName(" ".join(error.message for error in unknown), hint=unknown[0].hint)


def set_aside_memory(*, scope: str, workspace: Path | None, as_json: bool) -> None:
    """Move an unreadable memory file out of the way and start a new one. Nothing is deleted."""
    with _open_memory(scope, workspace) as memory:
        new_path = memory.set_aside()
    if as_json:
        echo_json({"scope": scope} | ({"moved_to": str(new_path)} if new_path else {}))
    echo_err("There is no memory file to set aside." if new_path is None else f"Moved to {path_text(new_path)}")


def _open_memory(scope: str, workspace: Path | None) -> Memory:
    if scope == "global":
        return Memory(user_paths.state_dir(), "global")
    return Memory(user_paths.state_dir(), "project", project=find_root(workspace))


def _show(entries: Iterable[MemoryEntry], *, as_json: bool, empty_message: str) -> None:
    """Print memories: as data, or for a person, whom nothing in them may fool."""
    all_entries = list(entries)
    if as_json:
        echo_json([entry.to_json() for entry in all_entries])
        return
    for entry in all_entries:
        facts = [minute_text(entry.at_ns), f"by {safe(entry.source.by)}"]
        facts += [f"run {safe(entry.source.run)}"] if entry.source.run else []
        facts += [safe(entry.source.origin)] if entry.source.origin else []
        echo(f"{click.style(entry.id, bold=True)}  {click.style(', '.join(facts), dim=True)}")
        for line in safe_lines(entry.text).splitlines():
            echo(f"  {line}")
    if not all_entries:
        echo_err(empty_message)
