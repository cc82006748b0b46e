"""What each skill says of the facts: sentences with their places, tables, and the result object (G21)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import Piece, code, one_line, quote
from retinue.catalogue._report import Report, plural
from retinue.catalogue.system_architect.churn import Churn
from retinue.catalogue.system_architect.cycles import circles, tangles
from retinue.catalogue.system_architect.graph import Component, Dependency, Graph
from retinue.catalogue.system_architect.layers import Broken, Rule
from retinue.contract.model import JsonMapping
from retinue.tools.structure import Structure

__all__ = ["Facts", "say_cycles", "say_dependencies", "say_hotspots", "say_violations"]

_TOLD: Final = 5
_LISTED: Final = 200


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found out about a project.

    Attributes:
        files: The graph of its files.
        parts: The graph of its components.
        target: The component or folder that is asked about; empty for all.
    """

    structures: Mapping[str, Structure]
    files: Graph
    parts: Graph
    names: Mapping[str, str]
    target: str = ""


def say_dependencies(facts: Facts, report: Report, *, brief: bool = False) -> None:
    """Who depends on whom, the most depended on first."""
    parts = sorted(facts.parts.components.values(), key=lambda one: (-one.fan_in, -one.fan_out, one.name))
    edges = [one for one in facts.parts.edges.values() if one.when != "typing"]
    if facts.target:
        edges = [one for one in edges if facts.target in (one.source, one.target)]
        near = {name for one in edges for name in (one.source, one.target)} | {facts.target}
        parts = [one for one in parts if one.name in near]
    edges.sort(key=lambda one: (-one.imports, one.source, one.target))
    report.figures |= {
        "components": [_component(one) for one in parts[:_LISTED]],
        "edges": [_edge(one) for one in edges[:_LISTED]],
    }
    _summary(facts, report)
    if facts.target:
        _say_one(facts, edges, report)
    else:
        for one in parts[: 2 if brief else 3]:
            _say_most_used(one, edges, report)
    report.about([one.name for one in parts])
    report.table(
        "Components",
        ("component", "files", "lines", "depended on by", "depends on", "instability", "complexity"),
        [(one.name, one.files, one.lines, one.fan_in, one.fan_out, one.instability, one.complexity) for one in parts],
        note="Lines are those that are not blank. Instability is the share of a component's dependencies that lead out "
        "of it.",
    )
    if not brief:
        report.table(
            "Dependencies",
            ("from", "to", "imports", "place"),
            [(one.source, one.target, one.imports, one.place) for one in edges],
        )


def _summary(facts: Facts, report: Report) -> None:
    parts, typing = facts.parts, sum(one.when == "typing" for one in facts.parts.edges.values())
    report.say(
        "structure",
        f"{plural(len(facts.structures), 'source file')} in {plural(len(parts.components), 'component')}, with "
        f"{plural(len(parts.edges) - typing, 'dependency', 'dependencies')} between them.",
    )
    if typing:
        report.note(f"{plural(typing, 'dependency', 'dependencies')} for type checkers only are not counted.")


def _say_one(facts: Facts, edges: Sequence[Dependency], report: Report) -> None:
    target = code(facts.target)
    for inward in (False, True):
        found = [one for one in edges if (one.target if inward else one.source) == facts.target]
        verb = "is used by" if inward else "depends on"
        if not found:
            report.say("dependencies", f"{{}} {verb} no other component.", target)
            continue
        named: list[Piece | str] = [code(one.source if inward else one.target) for one in found[:20]]
        more = f" and {len(found) - 20} more" if len(found) > 20 else ""
        template = f"{{}} {verb} {plural(len(found), 'component')}: {', '.join(['{}'] * len(named))}{more}."
        report.say("dependencies", template, target, *named, source=found[0].place)


def _say_most_used(one: Component, edges: Sequence[Dependency], report: Report) -> None:
    example = next((edge for edge in edges if edge.target == one.name), None)
    if example is not None:
        report.say(
            "dependencies",
            f"{{}} is used by {plural(one.fan_in, 'component')} and depends on {one.fan_out}.",
            code(one.name),
            source=example.place,
        )


def say_cycles(facts: Facts, report: Report, *, brief: bool = False) -> None:
    """Every shortest circle, of components and of files."""
    rows: list[JsonMapping] = []
    for level, graph in (("component", facts.parts), ("file", facts.files)):
        following = graph.following()
        found = [one for one in circles(following) if _is_near(one, facts, level)]
        rows += [_circle(level, one, graph) for one in found]
        groups = [one for one in tangles(following) if _is_near(one, facts, level)]
        named = f"group of {level}s that depend on each other", f"groups of {level}s that depend on each other"
        what, verb = plural(len(groups), *named), "is" if len(groups) == 1 else "are"
        if groups:
            report.say(
                "cycles", f"There {verb} {what}; the largest has {len(groups[0])}.", source=_place_of(found, graph)
            )
        else:
            report.say("cycles", f"No circle of {level}s.")
        for one in found[: 1 if brief else _TOLD]:
            _say_circle(one, graph, report)
    report.figures["cycles"] = rows[:_LISTED]
    report.about([str(name) for row in rows for name in row["path"]])
    report.table(
        "Circles",
        ("level", "circle", "length", "only at run time", "place"),
        [
            (
                row["level"],
                " → ".join([*row["path"], row["path"][0]]),
                len(row["path"]),
                row["deferred"],
                row["edges"][0]["place"],
            )
            for row in rows
        ],
        note="One that holds only at run time is broken at import by an import inside a function.",
    )


def _is_near(names: Sequence[str], facts: Facts, level: str) -> bool:
    if not facts.target:
        return True
    return facts.target in (names if level == "component" else [facts.names[name] for name in names])


def _place_of(found: Sequence[Sequence[str]], graph: Graph) -> str:
    return graph.edges[found[0][0], found[0][1]].place if found else ""


def _say_circle(circle: Sequence[str], graph: Graph, report: Report) -> None:
    edges = _edges_of(circle, graph)
    late = next((edge for edge in edges if edge.when == "deferred"), None)
    pieces: list[Piece | str] = [code(name) for name in (*circle, circle[0])]
    template = " → ".join(["{}"] * len(pieces))
    if late is not None:
        template, pieces = (
            f"{template}, at run time only: {{}} is imported inside a function.",
            [*pieces, code(late.target)],
        )
    else:
        template += "."
    report.say("cycle", template, *pieces, source=edges[0].place)


def _circle(level: str, circle: Sequence[str], graph: Graph) -> JsonMapping:
    edges = _edges_of(circle, graph)
    return {
        "level": level,
        "path": list(circle),
        "deferred": any(one.when == "deferred" for one in edges),
        "edges": [{"from": one.source, "to": one.target, "place": one.place} for one in edges],
    }


def _edges_of(circle: Sequence[str], graph: Graph) -> list[Dependency]:
    return [graph.edges[pair] for pair in zip(circle, [*circle[1:], circle[0]], strict=True)]


def say_hotspots(facts: Facts, churn: Churn | None, report: Report, *, limit: int, brief: bool = False) -> None:
    """Files that are complex and often changed, by the product of both."""
    if churn is None or churn.why_not:
        why = churn.why_not if churn else "it was not read"
        report.figures["hotspots"] = []
        report.note("Hotspots need the history, and {}.", quote(why.rstrip(".")))
        if not brief:
            report.reject(f"Hotspots need the history, and {why}", hint="Ask in a git repository that has commits.")
        return
    rows = [
        (path, churn.files[path], structure)
        for path, structure in facts.structures.items()
        if path in churn.files and (not facts.target or facts.names[path] == facts.target) and structure.complexity
    ]
    rows.sort(key=lambda row: (-row[1][0] * row[2].complexity, row[0]))
    found = [_hotspot(*row) for row in rows[:limit]]
    report.figures["hotspots"] = found
    for one in found[: 2 if brief else _TOLD]:
        report.say(
            "hotspot",
            f"{{}} was changed in {plural(one['commits'], 'commit')} and has a complexity of {one['complexity']:,}; "
            f"its hardest function is {{}} ({one['hardest']['complexity']}).",
            code(one["file"]),
            code(one["hardest"]["name"]),
            source=f"{one['file']}:{one['hardest']['line']}",
        )
    if not found:
        report.say("hotspot", "No source file was changed in the time asked about.")
    if churn.is_cut:
        report.note("Only the newest 3,000 commits are counted.")
    report.about([one["file"] for one in found])
    report.table(
        "Hotspots",
        ("file", "commits", "lines changed", "complexity", "score", "hardest function", "place"),
        [
            (one["file"], one["commits"], one["lines_changed"], one["complexity"], one["score"], one["hardest"]["name"],
             f"{one['file']}:{one['hardest']['line']}")
            for one in found
        ],
        note="The score is commits times complexity; complexity counts the paths through each function (McCabe).",
    )  # fmt: skip


def _hotspot(path: str, changed: tuple[int, int], structure: Structure) -> JsonMapping:
    commits, lines = changed
    hardest = max(structure.functions, key=lambda one: one.complexity, default=None)
    return {
        "file": path,
        "commits": commits,
        "lines_changed": lines,
        "complexity": structure.complexity,
        "score": commits * structure.complexity,
        "hardest": {"name": hardest.name, "line": hardest.line, "complexity": hardest.complexity}
        if hardest
        else {"name": "the module itself", "line": 1, "complexity": structure.loose},
    }


def say_violations(found: Sequence[Broken], rules: Sequence[Rule], report: Report, *, brief: bool = False) -> None:
    """Every import that a rule does not allow."""
    report.figures["violations"] = [
        {
            "rule": one.rule.name,
            "origin": one.rule.origin,
            "from": one.source,
            "to": one.target,
            "place": one.place,
            "reason": one.reason,
        }
        for one in found[:_LISTED]
    ]
    if not rules:
        if not brief:
            report.reject(
                "No layer rules were found.",
                hint="Give `layers` from the top to the bottom, or write import-linter contracts into `.importlinter`.",
            )
        return
    origins = ", ".join(dict.fromkeys(one_line(rule.origin) for rule in rules))
    if not found:
        report.say("layers", f"All imports keep {plural(len(rules), 'rule')} ({origins}).")
    else:
        number = len({id(one.rule) for one in found})
        verb = "breaks" if len(found) == 1 else "break"
        said = f"{plural(len(found), 'import')} {verb} {number} of {plural(len(rules), 'rule')} ({origins})."
        report.say("layers", said, source=found[0].place)
    for one in found[: 2 if brief else _TOLD]:
        pieces = code(one.source), code(one.target), quote(one.reason)
        report.say("violation", "{} imports {}, and {}.", *pieces, source=one.place)
    report.about([one.source for one in found])
    report.table(
        "Broken rules",
        ("rule", "from", "to", "place"),
        [(one.rule.name, one.source, one.target, one.place) for one in found],
        note="Only direct imports are judged.",
    )


def _component(one: Component) -> JsonMapping:
    return {
        "name": one.name,
        "files": one.files,
        "lines": one.lines,
        "complexity": one.complexity,
        "fan_in": one.fan_in,
        "fan_out": one.fan_out,
        **({} if one.instability is None else {"instability": one.instability}),
    }


def _edge(one: Dependency) -> JsonMapping:
    return {
        "from": one.source,
        "to": one.target,
        "imports": one.imports,
        "place": one.place,
        "deferred": one.when == "deferred",
    }
