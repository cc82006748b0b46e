"""What each skill says of the facts: sentences with their places, tables, and the result object (G21)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from retinue.catalogue._prose import code, first_of, one_line, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue.system_architect.layers import LayerRule, RuleImport
from retinue.contract.model import JsonMapping
from retinue.tools.structure import Dependency, DependencyGraph, Function, Structure, find_cycles, strongly_connected

_MAX_SENTENCES: Final = 5
_MAX_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """What was found out about a project.

    Attributes:
        files: The graph of its files.
        parts: The graph of its components.
        target: The component or folder that is asked about; empty for all.
    """

    structures: Mapping[str, Structure]
    files: DependencyGraph
    parts: DependencyGraph
    names: Mapping[str, str]
    target: str = ""

    def is_about(self, nodes: Sequence[str]) -> bool:
        """Whether what is asked about is among some components or files."""
        return not self.target or self.target in {self.names.get(node, node) for node in nodes}


class Churn(NamedTuple):
    """In how many commits each file was changed; None when that is not known, and why some or all are missing."""

    commits: Mapping[str, int] | None
    gap: str = ""


def report_dependencies(facts: ProjectFacts, report: SkillReport, *, brief: bool = False) -> None:
    """Who depends on whom, the most depended on first."""
    parts = sorted(facts.parts.components.values(), key=lambda one: (-one.fan_in, -one.fan_out, one.name))
    edges = [one for one in facts.parts.edges.values() if one.when != "typing"]
    edges.sort(key=lambda one: (-one.imports, one.source, one.target))
    files, components = plural(len(facts.structures), "source file"), plural(len(parts), "component")
    edge_count = plural(len(edges), "dependency", "dependencies")
    report.add("structure", f"{files} in {components}, with {edge_count} between them.")
    if typing := len(facts.parts.edges) - len(edges):
        report.note(f"{plural(typing, 'dependency', 'dependencies')} for type checkers only are not counted.")
    if facts.target:
        edges = [one for one in edges if facts.target in (one.source, one.target)]
        near = {name for one in edges for name in (one.source, one.target)} | {facts.target}
        parts = [one for one in parts if one.name in near]
        outward = [(one.target, one.place) for one in edges if one.source == facts.target]
        inward = [(one.source, one.place) for one in edges if one.target == facts.target]
        for verb, others in (("depends on", outward), ("is used by", inward)):
            count = f"{plural(len(others), 'component')}: " if others else "no other component"
            names = first_of([code(name) for name, _ in others], 20)
            source = others[0][1] if others else ""
            report.add("dependencies", f"{{}} {verb} {count}{{}}.", code(facts.target), names, source=source)
    for one in () if facts.target else parts[: 2 if brief else 3]:
        template = f"{{}} is used by {plural(one.fan_in, 'component')} and depends on {one.fan_out}."
        for example in [edge for edge in edges if edge.target == one.name][:1]:
            report.add("dependencies", template, code(one.name), source=example.place)
    report.figures["components"] = [one.to_json() for one in parts[:_MAX_ROWS]]
    report.figures["edges"] = [
        {**_import(one), "imports": one.imports, "deferred": one.when == "deferred"} for one in edges[:_MAX_ROWS]
    ]
    report.add_subjects([one.name for one in parts])
    report.add_table(
        "Components",
        ("component", "files", "lines", "depended on by", "depends on", "instability", "complexity"),
        [(one.name, one.files, one.lines, one.fan_in, one.fan_out, one.instability, one.complexity) for one in parts],
        note="Lines are those that are not blank. Instability is the share of dependencies that lead out of it.",
    )
    if not brief:
        rows = [(one.source, one.target, one.imports, one.place) for one in edges]
        report.add_table("Dependencies", ("from", "to", "imports", "place"), rows)


def report_cycles(facts: ProjectFacts, report: SkillReport, *, brief: bool = False) -> None:
    """Every shortest circle, of components and of files."""
    found_circles: list[JsonMapping] = []
    rows: list[tuple[str, str, int, bool, str]] = []
    for level, graph in (("component", facts.parts), ("file", facts.files)):
        successors = graph.successors()
        cycles = [graph.edges_along(one) for one in find_cycles(successors) if facts.is_about(one)]
        groups = [one for one in strongly_connected(successors) if facts.is_about(one)]
        count = plural(len(groups), "group")
        text = f"{count} of {level}s that depend on each other; the largest has {len(groups[0])}." if groups else ""
        report.add("cycles", text or f"No circle of {level}s.", source=cycles[0][0].place if cycles else "")
        for edges in cycles[: 1 if brief else _MAX_SENTENCES]:
            pieces = [code(one.source) for one in (*edges, edges[0])]
            template = " → ".join(["{}"] * len(pieces))
            if late := [code(one.target) for one in edges if one.when == "deferred"][:1]:
                template += ", at run time only: {} is imported inside a function"
                pieces += late
            report.add("cycle", f"{template}.", *pieces, source=edges[0].place)
        for edges in cycles:
            path, deferred = [one.source for one in edges], any(one.when == "deferred" for one in edges)
            report.add_subjects(path)
            found_circles.append({"level": level, "path": path, "deferred": deferred, "edges": [*map(_import, edges)]})
            rows.append((level, " → ".join([*path, path[0]]), len(path), deferred, edges[0].place))
    report.figures["cycles"] = found_circles[:_MAX_ROWS]
    columns = ("level", "circle", "length", "only at run time", "place")
    note = "One that holds only at run time is broken at import by an import inside a function."
    report.add_table("Circles", columns, rows, note=note)


def report_hotspots(facts: ProjectFacts, churn: Churn, report: SkillReport, *, limit: int, brief: bool = False) -> None:
    """Files that are complex and often changed, by the product of both."""
    if churn.commits is None:
        gap = churn.gap.rstrip(".")
        if brief:
            report.note("Hotspots need the history, and {}.", quote(gap))
        else:
            report.reject(f"Hotspots need the history, and {gap}.", hint="Ask in a git repository that has commits.")
        return
    hotspots = [
        _hotspot(path, churn.commits[path], structure)
        for path, structure in facts.structures.items()
        if path in churn.commits and facts.is_about([path]) and structure.complexity
    ]
    hotspots = report.figures["hotspots"] = sorted(hotspots, key=lambda row: (-row["score"], row["file"]))[:limit]
    rows: list[tuple[Any, ...]] = []
    for one in hotspots:
        path, hardest = one["file"], one["hardest"]
        place = f"{path}:{hardest['line']}"
        if len(rows) < (2 if brief else _MAX_SENTENCES):
            text = f"{{}} was changed in {plural(one['commits'], 'commit')} and has a complexity of "
            text += f"{one['complexity']:,}; its hardest function is {{}} ({hardest['complexity']})."
            report.add("hotspot", text, code(path), code(hardest["name"]), source=place)
        rows.append((path, one["commits"], one["complexity"], one["score"], hardest["name"], place))
    if not hotspots:
        report.add("hotspot", "No source file was changed in the time asked about.")
    if churn.gap:
        report.note(f"Only the newest commits are counted: {churn.gap}.")
    report.add_subjects([one["file"] for one in hotspots])
    columns = ("file", "commits", "complexity", "score", "hardest function", "place")
    note = "The score is commits times complexity; complexity counts the paths through each function (McCabe)."
    report.add_table("Hotspots", columns, rows, note=note)


def _hotspot(path: str, commits: int, structure: Structure) -> JsonMapping:
    hardest = max(structure.functions, key=lambda one: one.complexity, default=None)
    return {
        "file": path,
        "commits": commits,
        "complexity": structure.complexity,
        "score": commits * structure.complexity,
        "hardest": (hardest or Function("the module itself", 1, structure.loose))._asdict(),
    }


def report_violations(
    violations: Sequence[tuple[LayerRule, RuleImport, str]],
    rules: Sequence[LayerRule],
    report: SkillReport,
    *,
    brief: bool = False,
) -> None:
    """Every import that a rule does not allow."""
    report.figures["violations"] = [
        {"rule": rule.name, "origin": rule.origin, "reason": reason, **_import(one)}
        for rule, one, reason in violations[:_MAX_ROWS]
    ]
    if not rules:
        if not brief:
            hint = "Give `layers` from the top to the bottom, or write import-linter contracts into `.importlinter`."
            report.reject("No layer rules were found.", hint=hint)
        return
    rule_summary = f"{plural(len(rules), 'rule')} ({', '.join(dict.fromkeys(one_line(rule.origin) for rule in rules))})"
    if violations:
        breaks = plural(len(violations), "import breaks", "imports break")
        number = len({id(rule) for rule, _, _ in violations})
        report.add("layers", f"{breaks} {number} of {rule_summary}.", source=violations[0][1].place)
    else:
        report.add("layers", f"All imports keep {rule_summary}.")
    for _, one, reason in violations[: 2 if brief else _MAX_SENTENCES]:
        pieces = code(one.source), code(one.target), quote(reason)
        report.add("violation", "{} imports {}, and {}.", *pieces, source=one.place)
    report.add_subjects([one.source for _, one, _ in violations])
    report.add_table(
        "Broken rules",
        ("rule", "from", "to", "place"),
        [(rule.name, one.source, one.target, one.place) for rule, one, _ in violations],
        note="Only direct imports are judged.",
    )


def _import(one: Dependency | RuleImport) -> JsonMapping:
    return {"from": one.source, "to": one.target, "place": one.place}
