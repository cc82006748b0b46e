"""Does one skill: reads the project, connects its files, and has the facts told (G21)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from retinue.agents.port import RunContext
from retinue.catalogue._content_cache import ContentCache
from retinue.catalogue._names import is_test_or_vendored
from retinue.catalogue._prose import quote
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_limits import RunDeadline, in_cancellable_thread
from retinue.catalogue._tree import TreeReader, TreeReading
from retinue.contract.event import Progress
from retinue.contract.facts import Facts as ParameterFacts
from retinue.errors import DeadlineExceeded, InvalidInput, RetinueError
from retinue.tools.git.commit_index import CommitIndex, Selection
from retinue.tools.git.repository import Git
from retinue.tools.structure.graph import (
    Resolver,
    Structure,
    absolute_name,
    component_names,
    connect,
    group_by_component,
    python_names,
)
from retinue.tools.structure.python import is_source, structure_of
from retinue.tools.tree import glob, list_files
from retinue.tools.workspace import Workspace

from .architecture_report import (
    Churn,
    LayerRule,
    ProjectFacts,
    RuleImport,
    find_violations,
    layers_of,
    read_rules,
    report_cycles,
    report_dependencies,
    report_hotspots,
    report_violations,
)
from .parameters import HotspotScope, LayerScope, ProjectScope

_HOTSPOTS: Final = 10
_HISTORY_S: Final = 30.0
"""Of a history that takes longer to read the newest commits are counted, and of more of them the next time."""
_CHANGED: Final = 100_000
_MANIFESTS: Final = ("Cargo.toml", "go.mod")
"""Files that say what the modules of a folder are called."""
_LARGEST: Final = 2 * 1024 * 1024
_COMPONENTS: Final = 2_000


async def run_skill(skill: str, scope: ProjectScope, run: RunContext, cache_dir: Path | None) -> SkillReport:
    """Report what one skill finds; what was read is kept in `cache_dir` between runs.

    Raises:
        DeadlineExceeded: Time was up before anything was read.
        InvalidInput: There is no such component, or a date is not valid.
    """
    run.emit(Progress("reading the project", skill))
    deadline, workspace = RunDeadline(run), run.workspace
    cache = ContentCache(cache_dir, str(workspace.root), prefix="structure", version=2, decode=Structure.from_row)
    grammars = "grammars" if find_spec("tree_sitter") else ""
    reading = await TreeReader(
        run,
        read_structures,
        is_wanted=lambda path: is_source(path) and (scope.include_tests or not is_test_or_vendored(path)),
        cache=cache,
        deadline=deadline,
        tag=lambda path: "" if path.endswith(".py") else grammars,
    ).read()
    if reading.unread and not reading.files:
        raise DeadlineExceeded("Time was up before anything was read.", hint="Allow more time.")
    return await in_cancellable_thread(
        deadline, _answer, skill, scope, reading, workspace=workspace, deadline=deadline, cache_dir=cache_dir
    )


def read_structures(files: Sequence[tuple[str, bytes, str]]) -> list[Structure]:
    """What files import and how they branch, each a path with its content."""
    return [structure_of(path, data) for path, data, _ in files]


def _answer(
    skill: str,
    scope: ProjectScope,
    reading: TreeReading[Structure],
    *,
    workspace: Workspace,
    deadline: RunDeadline,
    cache_dir: Path | None,
) -> SkillReport:
    # Not watched: it takes a tenth of what reading took, and without it nothing could be handed over.
    report = SkillReport(figures={"components": [], "edges": [], "cycles": [], "hotspots": [], "violations": []})
    files = {path: structure for path, structure in reading.files.items() if not structure.error}
    reading.skipped += [(path, one.error_line, one.error) for path, one in reading.files.items() if one.error]
    reading.report_gaps(report, near=scope.target)
    if not files:
        hint = "Name a project with Python, JavaScript, TypeScript, Rust or Go; `include_tests` counts tests too."
        report.reject("No source files were found that can be read.", hint=hint)
        return report
    manifests: dict[str, str] = {}
    for path in glob(workspace, _MANIFESTS) if any(path.endswith((".go", ".rs")) for path in files) else ():
        with suppress(RetinueError):
            manifests[path] = workspace.read_text(path, max_bytes=_LARGEST)
    resolver = Resolver(files, manifests)
    graph = connect(files, resolver)
    names = component_names(files, scope.detail, scope.depth)
    facts = ProjectFacts(files, graph, group_by_component(files, graph, names), names, _target(scope.target, names))
    is_overview = skill in ("overview", "options")
    if is_overview or skill == "dependencies":
        report_dependencies(facts, report, brief=is_overview)
    if is_overview or skill == "cycles":
        report_cycles(facts, report, brief=is_overview)
    if is_overview or skill == "layers":
        report_violations(*_violations(scope, workspace, facts, resolver, report), report, brief=is_overview)
    if is_overview or skill == "hotspots":
        limit, since = (scope.limit, scope.since) if isinstance(scope, HotspotScope) else (_HOTSPOTS, "")
        churn = Churn(None, "time was up") if reading.unread else _churn(facts, workspace, deadline, cache_dir, since)
        report_hotspots(facts, churn, report, limit=limit, brief=is_overview)
    return report


def _churn(
    facts: ProjectFacts, workspace: Workspace, deadline: RunDeadline, cache_dir: Path | None, since: str
) -> Churn:
    """In how many commits each file was changed under any of its names; or why that is not known."""
    try:
        moment = datetime.fromisoformat(since) if since else None
    except ValueError:
        message, hint = f"{since!r} is not a valid date", "write it as 2024-03-31"
        raise InvalidInput(message, hint=hint, path="/parameters/since") from None
    try:
        git = Git(workspace.root, timeout_s=min(deadline.remaining_s() or _HISTORY_S, _HISTORY_S))
        if git.head().sha is None:
            return Churn(None, "the repository has no commits yet")
        with CommitIndex(git, cache_dir, check=deadline.check) as index:
            truncation = index.refresh()
            index.select(Selection(since=moment, merges=False))
            commit_counts = {one.path: one.commits for one in index.files(_CHANGED)[0]}
            names = {path: (path, *index.earlier_names(path)) for path in facts.structures}
    except RetinueError as error:
        return Churn(None, error.message)
    churn = {path: sum(commit_counts.get(name, 0) for name in names[path]) for path in names}
    gap = {"": "", "time": "time was up", "cap": "there are too many"}[truncation]
    return Churn({path: count for path, count in churn.items() if count}, gap)


def _target(name: str, names: Mapping[str, str]) -> str:
    """The component that is meant: by its name, or by a file or folder in it."""
    text, components = name.strip().strip("`").removeprefix("./").rstrip("/"), sorted(set(names.values()))
    if text in ("", "."):
        return ""
    inside = {name for path, name in names.items() if path == text or path.startswith(f"{text}/")}
    ending = {name for name in components if name.rpartition("/")[2].partition(".")[0] == text}
    for matches in ({text}.intersection(components), inside, ending):
        if len(matches) == 1:
            return matches.pop()
    if inside:
        return ""  # it holds several components: it is the project itself
    near = get_close_matches(name, components, n=5, cutoff=0.4) or components[:8]
    message, hint = f"There is no component {name[:200]!r}.", f"Available: {', '.join(near)}."
    raise InvalidInput(message, hint=hint, path="/parameters/target", suggestions=tuple(near))


def _violations(
    scope: ProjectScope, workspace: Workspace, facts: ProjectFacts, resolver: Resolver, report: SkillReport
) -> tuple[list[tuple[LayerRule, RuleImport, str]], list[LayerRule]]:
    """What breaks the rules that the request states, or else those of the project."""
    if isinstance(scope, LayerScope) and scope.layers:
        rules = [LayerRule("layers", "the request", layers_of(scope.layers))]
    else:
        rules, notes = read_rules(workspace)
        for note in notes:
            report.note(quote(note))
    files, names = facts.structures, facts.names
    names_by_path = {
        path: frozenset({path, names[path], *(python_names(path, files) if path.endswith(".py") else ())})
        for path in (files if rules else ())
    }
    # Every import, within the project and out of it, with all the names that its two ends go by.
    imports: list[RuleImport] = []
    for path, structure in files.items() if rules else ():
        for one in structure.imports:
            place, typing = f"{path}:{one.line}", one.when == "typing"
            targets = {target: names_by_path[target] for target in resolver.files(one, path)}
            outside = absolute_name(one.target, path)
            for target, target_names in (targets or {outside: frozenset({outside})}).items():
                imports.append(RuleImport(names_by_path[path], target_names, path, target, place, typing))
    violations = find_violations(rules, imports)
    if facts.target:
        violations = [one for one in violations if facts.names[one[1].source] == facts.target]
    return violations, rules


def read_components(workspace: Workspace) -> ParameterFacts:
    """The components that the source files here are in, by their names."""
    paths = [
        each.path for each in list_files(workspace).files if is_source(each.path) and not is_test_or_vendored(each.path)
    ]
    names = tuple(sorted(set(component_names(paths, "folders").values())))
    return ParameterFacts(names={"component": names[:_COMPONENTS]}, is_complete=len(names) <= _COMPONENTS)
