"""`retinue doctor`: what this installation has, what it lacks, and what to do about it."""

import importlib.util
import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import click

import retinue
from retinue.cli import places
from retinue.cli.exits import Exit
from retinue.cli.options import json_option, workspace_option
from retinue.cli.output import echo_json, safe

__all__ = ["command"]

State: TypeAlias = Literal["ok", "missing", "broken"]

_EXTRAS = {
    "a2a": "a2a",
    "code": "tree_sitter",
    "data": "duckdb",
    "durable": "dbos",
    "llm": "pydantic_ai",
    "mcp": "mcp",
    "otel": "opentelemetry",
    "postgres": "psycopg",
    "serve": "starlette",
    "tickets": "gherkin",
    "web": "trafilatura",
}
"""Each extra and a package that tells whether it is installed."""

_MARKS = {"ok": ("ok", "green"), "missing": ("--", "yellow"), "broken": ("!!", "red")}


@dataclass(frozen=True, slots=True)
class _Check:
    name: str
    state: State
    what: str
    hint: str = ""


@click.command("doctor")
@json_option
@workspace_option
def command(*, as_json: bool, workspace: Path | None) -> int:
    """Check this installation. Exits 1 when something that Retinue needs is broken."""
    checks = [*_programs(), *_folders(), *_here(workspace), *_extras()]
    if as_json:
        echo_json({"version": retinue.__version__, "checks": [asdict(check) for check in checks]})
    else:
        click.echo(f"retinue {retinue.__version__} on Python {platform.python_version()}, {platform.system()}")
        for check in checks:
            mark, colour = _MARKS[check.state]
            hint = f"\n      {safe(check.hint)}" if check.hint else ""
            click.echo(f"  {click.style(mark, fg=colour)} {check.name:<10} {safe(check.what)}{hint}")
    return Exit.FAILED if any(check.state == "broken" for check in checks) else Exit.OK


def _programs() -> Iterator[_Check]:
    git = shutil.which("git")
    yield _Check("git", "ok", git) if git else _Check("git", "broken", "not found", "Install git.")
    ripgrep = shutil.which("rg")
    slow = "not found: searching works, and is slower"
    yield _Check("ripgrep", "ok", ripgrep) if ripgrep else _Check("ripgrep", "missing", slow, "Install ripgrep.")


def _folders() -> Iterator[_Check]:
    moved = {"state": "RETINUE_STATE_DIR", "cache": "RETINUE_CACHE_DIR"}
    for name, place in (("state", places.state_dir()), ("cache", places.cache_dir())):
        there = next(each for each in (place, *place.parents) if each.exists())
        fits = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
        hint = "" if fits else f"Make it writable, or name another with {moved[name]}."
        yield _Check(name, "ok" if fits else "broken", str(place), hint)
    from retinue.agents.trust import TrustStore

    problem = TrustStore(places.state_dir()).problem
    if problem:
        yield _Check("trust", "broken", problem.message, problem.hint)


def _here(workspace: Path | None) -> Iterator[_Check]:
    from retinue.cli.project import open_project

    project = open_project(workspace)
    yield _Check("workspace", "ok", str(project.root))
    count, skipped = len(project.registry), len(project.registry.skipped)
    passed = f", {skipped} files skipped" if skipped else ""
    yield _Check("agents", "ok", f"{count} at hand{passed}", "See `retinue agents`." if skipped else "")
    for finding in project.settings.findings:
        yield _Check("settings", "broken", f"{finding.file}: {finding.message}", finding.fix)


def _extras() -> Iterator[_Check]:
    for extra, package in _EXTRAS.items():
        if importlib.util.find_spec(package):
            yield _Check(extra, "ok", "installed")
        else:
            yield _Check(extra, "missing", f"unavailable: pip install 'retinue[{extra}]'")
