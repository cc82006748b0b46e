"""One skill from its scope to a reply: the tree is read, its graph made, and what was asked for is told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from retinue.agents.port import Reply
from retinue.catalogue._prose import quote
from retinue.catalogue._watch import Watch
from retinue.catalogue.pattern_discovery.gather import Gathered as Read
from retinue.catalogue.pattern_discovery.report import Report
from retinue.catalogue.system_architect.answers import (
    Facts,
    say_cycles,
    say_dependencies,
    say_hotspots,
    say_violations,
)
from retinue.catalogue.system_architect.gather import Gathered, gather, read_date
from retinue.catalogue.system_architect.graph import component_names, connect, grouped
from retinue.catalogue.system_architect.imports import every_import
from retinue.catalogue.system_architect.layers import Broken, Rule, broken, layers_rule, read_rules
from retinue.catalogue.system_architect.parameters import Scope
from retinue.catalogue.system_architect.resolve import Resolver
from retinue.errors import InvalidInput
from retinue.tools.workspace import Workspace

__all__ = ["work"]

_HOTSPOTS: Final = 10


@dataclass(frozen=True, slots=True)
class _Case:
    """What one request is about, and where its answer goes."""

    layers: Sequence[str]
    limit: int
    workspace: Workspace
    gathered: Gathered
    facts: Facts
    report: Report


def work(
    skill: str,
    scope: Scope,
    workspace: Workspace,
    watch: Watch,
    *,
    cache_dir: Path | None,
    layers: Sequence[str] = (),
    limit: int = _HOTSPOTS,
    since: str = "",
) -> Reply:
    """Do one skill.

    Args:
        skill: Which.
        scope: What it is about.
        workspace: Where.
        watch: Says when to stop.
        cache_dir: Where what was read is remembered between runs.
        layers: From the top to the bottom; those that the project states otherwise.
        limit: How many hotspots are named.
        since: Changes before this day do not count.

    Raises:
        InvalidInput: A component is not there, or a date is none.
        DeadlineExceeded: There was no time to put anything together.
    """
    gathered = gather(
        workspace,
        watch,
        cache_dir=cache_dir,
        tests=scope.include_tests,
        since=read_date(since),
        churn=skill in ("hotspots", "overview", "options"),
    )
    report = Report(Read(skipped=gathered.skipped, left=gathered.left, notes=gathered.notes))
    report.figures = {"components": [], "edges": [], "cycles": [], "hotspots": [], "violations": []}
    if gathered.files:
        _SKILLS[skill](_Case(layers, limit, workspace, gathered, _facts(scope, gathered), report))
    else:
        report.reject(
            "No source files were found that can be read.",
            hint="Name a project with Python, JavaScript, TypeScript, Rust or Go; "
            "`include_tests` counts its tests too.",
        )
    return report.reply()


def _facts(scope: Scope, gathered: Gathered) -> Facts:
    # Not watched: it takes a tenth of what reading took, and without it nothing could be handed over.
    files = connect(gathered.files, Resolver(gathered.files, gathered.manifests))
    names = component_names(gathered.files, scope.detail, scope.depth)
    parts = grouped(gathered.files, files, names)
    return Facts(gathered.files, files, parts, names, _target(scope.target, names))


def _target(said: str, names: Mapping[str, str]) -> str:
    """The component that somebody means: by its name, or by a file or folder in it."""
    text = said.strip().strip("`").removeprefix("./").rstrip("/")
    if text in ("", "."):
        return ""
    known = set(names.values())
    if text in known:
        return text
    inside = {name for path, name in names.items() if path == text or path.startswith(f"{text}/")}
    ending = {name for name in known if name.rpartition("/")[2].partition(".")[0] == text}
    found = inside if len(inside) == 1 else ending
    if len(found) == 1:
        return found.pop()
    if inside:
        return ""  # it holds several components: it is the project itself
    raise _no_such_component(said, known)


def _no_such_component(said: str, known: set[str]) -> InvalidInput:
    near = get_close_matches(said, sorted(known), n=5, cutoff=0.4) or sorted(known)[:8]
    return InvalidInput(
        f"There is no component {said[:200]!r}.",
        hint=f"Available: {', '.join(near)}.",
        path="/parameters/target",
        suggestions=tuple(near),
    )


def _dependencies(case: _Case) -> None:
    say_dependencies(case.facts, case.report)


def _cycles(case: _Case) -> None:
    say_cycles(case.facts, case.report)


def _layers(case: _Case) -> None:
    say_violations(*_broken(case), case.report)


def _hotspots(case: _Case) -> None:
    say_hotspots(case.facts, case.gathered.churn, case.report, limit=case.limit)


def _overview(case: _Case) -> None:
    say_dependencies(case.facts, case.report, brief=True)
    say_cycles(case.facts, case.report, brief=True)
    say_violations(*_broken(case), case.report, brief=True)
    say_hotspots(case.facts, case.gathered.churn, case.report, limit=case.limit, brief=True)


def _broken(case: _Case) -> tuple[list[Broken], list[Rule]]:
    """What breaks the rules that the request states, or else those of the project."""
    rules, notes = (
        ([layers_rule(case.layers, origin="the request")], list[str]()) if case.layers else read_rules(case.workspace)
    )
    for note in notes:
        case.report.note("{}", quote(note))
    if not rules:
        return [], []
    facts, gathered = case.facts, case.gathered
    found = broken(rules, every_import(gathered.files, gathered.manifests, facts.names))
    if facts.target:
        found = [one for one in found if facts.names[one.place.rpartition(":")[0]] == facts.target]
    return found, rules


_SKILLS: Final[Mapping[str, Callable[[_Case], None]]] = {
    "cycles": _cycles,
    "dependencies": _dependencies,
    "hotspots": _hotspots,
    "layers": _layers,
    "options": _overview,
    "overview": _overview,
}
