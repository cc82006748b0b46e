"""`retinue doctor`: what this installation has, what it lacks, and what to do about it."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import click

import retinue
from retinue.agents.trust import TrustStore
from retinue.cli import user_paths
from retinue.cli.app import Exit
from retinue.cli.models import is_installed, provider_of, state_of
from retinue.cli.output import echo, echo_json, label, plural, safe
from retinue.cli.project import Project, limit_findings
from retinue.cli.settings import Settings, journal_of, permission_findings
from retinue.errors import RetinueError
from retinue.llm.provider_info import KEYS
from retinue.tools.git.repository import Git

_State: TypeAlias = Literal["ok", "missing", "broken"]

EXTRAS: Final = {
    "a2a": "a2a",
    "bedrock": "boto3",
    "code": "tree_sitter",
    "data": "duckdb",
    "embed": "fastembed",
    "google": "google.genai",
    "grpc": "grpc",
    "llm": "pydantic_ai",
    "local": "xllamacpp",
    "mcp": "mcp",
    "otel": "opentelemetry",
    "postgres": "psycopg",
    "serve": "starlette",
    "tickets": "gherkin",
    "web": "trafilatura",
    "workers": "taskiq_aio_pika",
}
"""Each extra and a package that tells whether it is installed."""

_MARKS: Final = {"ok": ("ok", "green"), "missing": ("--", "yellow"), "broken": ("!!", "red")}


@dataclass(frozen=True, slots=True)
class _DoctorCheck:
    name: str
    state: _State
    what: str
    hint: str = ""

    def to_json(self) -> dict[str, str]:
        """As data; without a hint when there is none."""
        facts = {"name": self.name, "state": self.state, "what": self.what, "hint": self.hint}
        return {name: value for name, value in facts.items() if value}


def check_installation(*, as_json: bool, project: Project) -> int:
    """Check this installation and folder for problems. Exits 1 when something that Retinue needs is broken."""
    checks = [*_own_checks(project.settings), *_workspace(project), *_providers(project)]
    distributions = {extra: (package, f"retinue[{extra}]") for extra, package in EXTRAS.items()}
    distributions["claude"] = ("retinue_claude", "retinue-claude")
    for name, (package, distribution) in sorted(distributions.items()):
        state = ("ok", "installed") if is_installed(package) else ("missing", f"unavailable: install {distribution}")
        checks.append(_DoctorCheck(name, *state))
    is_broken = any(check.state == "broken" for check in checks)
    if as_json:
        echo_json(
            {"version": retinue.__version__, "ok": not is_broken, "checks": [check.to_json() for check in checks]}
        )
    else:
        echo(f"retinue {retinue.__version__} on {platform.system()}")
        for check in checks:
            mark, colour = _MARKS[check.state]
            echo(f"  {click.style(mark, fg=colour)} {check.name:<10} {safe(check.what)}")
            if check.hint:
                echo(f"     {label('next')}: {safe(check.hint)}")
    return Exit.FAILED if is_broken else Exit.OK


def _own_checks(settings: Settings) -> Iterator[_DoctorCheck]:
    """Programs, folders and history: what holds in any workspace."""
    yield _DoctorCheck("python", "ok", f"{platform.python_version()}, {sys.executable}")
    git = shutil.which("git")
    yield _DoctorCheck("git", "ok", git) if git else _DoctorCheck("git", "broken", "not found", "Install git.")
    if ripgrep := shutil.which("rg"):
        yield _DoctorCheck("ripgrep", "ok", ripgrep)
    else:
        yield _DoctorCheck("ripgrep", "missing", "not found: searching works, but slower", "Install ripgrep.")
    moved = {"state": "RETINUE_STATE_DIR", "cache": "RETINUE_CACHE_DIR"}
    for name, place in (("state", user_paths.state_dir()), ("cache", user_paths.cache_dir())):
        existing = next(each for each in (place, *place.parents) if each.exists())
        fits = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
        hint = "" if fits else f"Make it writable, or choose another with {moved[name]}."
        yield _DoctorCheck(name, "ok" if fits else "broken", str(place), hint)
    store = TrustStore(user_paths.state_dir())
    if (problem := store.problem) is not None:
        yield _DoctorCheck("trust", "broken", problem.message, problem.hint)
    else:
        yield _DoctorCheck("trust", "ok", f"{plural(len(store.folders()), 'folder')} trusted")
    file = user_paths.journal_file()
    try:
        with journal_of(settings) as journal:
            newest, place = journal.list(1), journal.place
    except RetinueError as error:
        yield _DoctorCheck("history", "broken", error.message, error.hint or f"Move {str(file)!r} away.")
        return
    if place != str(file):
        size = f", in {place}"
    else:
        size = f", {file.stat().st_size / 1e6:.1f} MB" if file.exists() else ""
    yield _DoctorCheck("history", "ok", f"readable{size}" if newest else "no runs yet")


def _workspace(project: Project) -> Iterator[_DoctorCheck]:
    yield _DoctorCheck("workspace", "ok", f"{project.root}{', trusted' if project.trusted else ''}")
    try:
        git = Git(project.root)
        head = git.head()
        kinds = [name for name, holds in (("bare", git.is_bare()), ("shallow", git.is_shallow())) if holds]
    except RetinueError as error:  # that it is none, or an odd one, is no fault of the installation
        yield _DoctorCheck("repository", "missing", error.message, error.hint)
    else:
        if head.sha is None:
            hint = "Make a commit first; the history is empty."
            yield _DoctorCheck("repository", "missing", "no commits yet", hint)
        else:
            where = f"{head.branch or 'detached'} at {head.sha[:10]}"
            hint = "Counts cover only the local part; `git fetch --unshallow` gets the rest."
            yield _DoctorCheck("repository", "ok", ", ".join([where, *kinds]), hint if "shallow" in kinds else "")
    count, skipped = len(project.registry), len({each.path for each in project.registry.skipped})
    passed = f", {plural(skipped, 'file')} skipped" if skipped else ""
    yield _DoctorCheck("agents", "ok", f"{count} available{passed}", "See `retinue agents`." if skipped else "")
    for finding in project.settings.findings:
        yield _DoctorCheck("settings", "broken", f"{finding.file}: {finding.message}", finding.fix)
    for finding in permission_findings(project.settings):
        state = "missing" if finding.rule == "permissions/can-write" else "broken"
        yield _DoctorCheck("permissions", state, f"{finding.file}: {finding.message}", finding.fix)
    for finding in limit_findings(project):
        yield _DoctorCheck("limits", "missing", f"{finding.file}: {finding.message}", finding.fix)


def _providers(project: Project) -> Iterator[_DoctorCheck]:
    """The providers that the settings name, and those whose key is in the environment; never a key itself."""
    models = project.models
    named_providers = (
        [provider_of(name) for name in (models.default, *models.tiers.values())] if models.configured else []
    )
    # Some providers are listed under several names, with the same key; the plainest comes first.
    by_key = {key: provider for provider, keys in reversed([*KEYS.items()]) for key in keys}
    there = [provider for key, provider in sorted(by_key.items()) if os.environ.get(key)]
    if not models.configured:
        yield _DoctorCheck("models", "missing", "no model configured", "Set `models.default`; see `retinue models`.")
    elif models.default:
        try:
            models.check(models.default)
        except RetinueError as error:
            yield _DoctorCheck("models", "broken", f"`models.default`: {error.message}", error.hint)
    for provider in dict.fromkeys(name for name in (*named_providers, *there) if name):
        state = state_of(provider, models)
        where = f" at {state.base_url}" if state.base_url else ""
        if state.ready:
            key = f", {state.variable} is set" if state.variable and os.environ.get(state.variable) else ""
            yield _DoctorCheck(provider, "ok", f"available{where}{key}")
        else:
            yield _DoctorCheck(provider, "missing", f"not available{where}: {state.lacks}")
