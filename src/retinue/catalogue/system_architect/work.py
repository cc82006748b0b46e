"""Does one skill: reads the project, connects its files, and has the facts told (G21)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._aside import is_aside
from retinue.catalogue._prose import quote
from retinue.catalogue._remembered import Rows
from retinue.catalogue._report import Report
from retinue.catalogue._tree import TreeReading, read_tree
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.catalogue.system_architect.answers import (
    Facts,
    say_cycles,
    say_dependencies,
    say_hotspots,
    say_violations,
)
from retinue.catalogue.system_architect.churn import count_churn
from retinue.catalogue.system_architect.layers import Broken, Rule, RuleImport, broken, layers_rule, read_rules
from retinue.catalogue.system_architect.parameters import HotspotScope, LayerScope, Scope
from retinue.contract.facts import Facts as ParameterFacts
from retinue.errors import DeadlineExceeded, InvalidInput, RetinueError
from retinue.tools.structure import (
    Resolver,
    Structure,
    component_names,
    connect,
    grouped,
    is_source,
    python_names,
    structure_of,
)
from retinue.tools.tree import glob, list_files
from retinue.tools.workspace import Workspace

__all__ = ["read_components", "structures", "work"]

_HOTSPOTS: Final = 10
_MANIFESTS: Final = ("Cargo.toml", "go.mod")
"""Files that say what the modules of a folder are called."""
_LARGEST: Final = 2 * 1024 * 1024
_COMPONENTS: Final = 2_000


async def work(skill: str, scope: Scope, run: RunContext, cache_dir: Path | None) -> Reply:
    """Do one skill.

    Args:
        skill: Which.
        scope: What it is about.
        run: Where, and until when.
        cache_dir: Where what was read is kept between runs.

    Raises:
        DeadlineExceeded: Time was up before anything was read.
        InvalidInput: A component is not there, or a date is none.
    """
    watch, workspace = Watch(run), run.workspace
    since = _read_date(scope.since) if isinstance(scope, HotspotScope) else None
    known = Rows(cache_dir, str(workspace.root), name="structure", version=2, read=Structure.from_row)
    grammars = "grammars" if find_spec("tree_sitter") else ""
    reading = await read_tree(
        run,
        workspace,
        structures,
        is_wanted=lambda path: is_source(path) and (scope.include_tests or not is_aside(path)),
        known=known,
        watch=watch,
        tag=lambda path: "" if path.endswith(".py") else grammars,
    )
    if reading.left and not reading.files:
        raise DeadlineExceeded("Time was up before anything was read.", hint="Allow more time.")
    return await in_watched_thread(
        watch,
        partial(_answer, skill, scope, reading, workspace=workspace, watch=watch, cache_dir=cache_dir, since=since),
    )


def structures(files: Sequence[tuple[str, bytes, str]]) -> list[Structure]:
    """What files import and how they branch, each a path with its content."""
    return [structure_of(path, data) for path, data, _ in files]


def _answer(
    skill: str,
    scope: Scope,
    reading: TreeReading[Structure],
    *,
    workspace: Workspace,
    watch: Watch,
    cache_dir: Path | None,
    since: datetime | None,
) -> Reply:
    # Not watched: it takes a tenth of what reading took, and without it nothing could be handed over.
    report = Report(figures={"components": [], "edges": [], "cycles": [], "hotspots": [], "violations": []})
    files = {path: structure for path, structure in reading.files.items() if not structure.error}
    broken_files = [(path, one.error_line, one.error) for path, one in reading.files.items() if one.error]
    report.tell_gaps([*reading.skipped, *broken_files], reading.left, near=scope.target)
    for note in reading.notes:
        report.note("{}", quote(note))
    if not files:
        report.reject(
            "No source files were found that can be read.",
            hint="Name a project with Python, JavaScript, TypeScript, Rust or Go; `include_tests` counts tests too.",
        )
        return report.reply()
    resolver = Resolver(files, _manifests(workspace, files))
    graph = connect(files, resolver)
    names = component_names(files, scope.detail, scope.depth)
    facts = Facts(files, graph, grouped(files, graph, names), names, _target(scope.target, names))
    is_overview = skill in ("overview", "options")
    if is_overview or skill == "dependencies":
        say_dependencies(facts, report, brief=is_overview)
    if is_overview or skill == "cycles":
        say_cycles(facts, report, brief=is_overview)
    if is_overview or skill == "layers":
        say_violations(*_broken(scope, workspace, facts, resolver, report), report, brief=is_overview)
    if is_overview or skill == "hotspots":
        limit = scope.limit if isinstance(scope, HotspotScope) else _HOTSPOTS
        churn = None if reading.left else count_churn(workspace, watch, cache_dir, since)
        say_hotspots(facts, churn, report, limit=limit, brief=is_overview)
    return report.reply()


def _manifests(workspace: Workspace, files: Mapping[str, Structure]) -> dict[str, str]:
    """The text of each manifest, by path, when there are files that are called after one."""
    if not any(path.endswith((".go", ".rs")) for path in files):
        return {}
    found: dict[str, str] = {}
    for path in glob(workspace, _MANIFESTS):
        try:
            found[path] = workspace.read_text(path, max_bytes=_LARGEST)
        except RetinueError:
            found[path] = ""
    return found


def _target(name: str, names: Mapping[str, str]) -> str:
    """The component that is meant: by its name, or by a file or folder in it."""
    text = name.strip().strip("`").removeprefix("./").rstrip("/")
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
    near = get_close_matches(name, sorted(known), n=5, cutoff=0.4) or sorted(known)[:8]
    raise InvalidInput(
        f"There is no component {name[:200]!r}.",
        hint=f"Available: {', '.join(near)}.",
        path="/parameters/target",
        suggestions=tuple(near),
    )


def _broken(
    scope: Scope, workspace: Workspace, facts: Facts, resolver: Resolver, report: Report
) -> tuple[list[Broken], list[Rule]]:
    """What breaks the rules that the request states, or else those of the project."""
    if isinstance(scope, LayerScope) and scope.layers:
        rules = [layers_rule(scope.layers, origin="the request")]
    else:
        rules, notes = read_rules(workspace)
        for note in notes:
            report.note("{}", quote(note))
    found = broken(rules, _imports(facts, resolver)) if rules else []
    if facts.target:
        found = [one for one in found if facts.names[one.place.rpartition(":")[0]] == facts.target]
    return found, rules


def _imports(facts: Facts, resolver: Resolver) -> Iterator[RuleImport]:
    """Every import, within the project and out of it, with all the names that its two ends go by."""
    files, names = facts.structures, facts.names
    known = {
        path: frozenset({path, names[path], *(python_names(path, files) if path.endswith(".py") else ())})
        for path in files
    }
    for path, structure in files.items():
        for one in structure.imports:
            place, typing = f"{path}:{one.line}", one.when == "typing"
            targets = resolver.files(one, path)
            for target in targets:
                yield RuleImport(known[path], known[target], place, (path, target), typing)
            if not targets:
                outside = resolver.absolute(one.target, path)
                yield RuleImport(known[path], frozenset({outside}), place, (path, outside), typing)


def _read_date(text: str) -> datetime | None:
    """A day as a moment; None for none.

    Raises:
        InvalidInput: It is no date.
    """
    if not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{text!r} is not a valid date", hint="write it as 2024-03-31", path="/parameters/since"
        ) from None


def read_components(workspace: Workspace) -> ParameterFacts:
    """The components that the source files here are in, by their names."""
    paths = [each.path for each in list_files(workspace).files if is_source(each.path) and not is_aside(each.path)]
    names = tuple(sorted(set(component_names(paths, "folders").values())))
    return ParameterFacts(names={"component": names[:_COMPONENTS]}, is_complete=len(names) <= _COMPONENTS)
