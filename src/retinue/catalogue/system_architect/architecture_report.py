"""What each skill says of the facts: sentences with their places, tables, and the result object (G21).

And layer rules, read from a request or from the project's own files, and held against what the project imports. Read
are import-linter's contracts (`layers`, `forbidden`, `independence`) in `.importlinter`, `setup.cfg` or
`pyproject.toml`, and `layers` under `[architecture]` in `retinue.toml`. Only direct imports are judged.
"""

import configparser
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from retinue.catalogue._prose import code, first_of, one_line, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.contract.model import JsonMapping
from retinue.errors import RetinueError
from retinue.tools.structure.graph import (
    Dependency,
    DependencyGraph,
    Function,
    Structure,
    find_cycles,
    strongly_connected,
)
from retinue.tools.workspace import Workspace

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
            report.add("dependencies", f"{code(facts.target)} {verb} {count}{names}.", source=source)
    for one in () if facts.target else parts[: 2 if brief else 3]:
        text = f"{code(one.name)} is used by {plural(one.fan_in, 'component')} and depends on {one.fan_out}."
        for example in [edge for edge in edges if edge.target == one.name][:1]:
            report.add("dependencies", text, source=example.place)
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
            circle = " → ".join(code(one.source) for one in (*edges, edges[0]))
            late = next((code(one.target) for one in edges if one.when == "deferred"), "")
            when = f", at run time only: {late} is imported inside a function" if late else ""
            report.add("cycle", f"{circle}{when}.", source=edges[0].place)
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
            report.note(f"Hotspots need the history, and {quote(gap)}.")
        else:
            report.reject(f"Hotspots need the history, and {gap}.", hint="Ask in a git repository that has commits.")
        return
    hotspots: list[JsonMapping] = []
    for path, structure in facts.structures.items():
        if path in churn.commits and facts.is_about([path]) and structure.complexity:
            commits, complexity = churn.commits[path], structure.complexity
            hardest = max(structure.functions, key=lambda one: one.complexity, default=None)
            hardest = (hardest or Function("the module itself", 1, structure.loose))._asdict()
            row = {"file": path, "commits": commits, "complexity": complexity, "score": commits * complexity}
            hotspots.append({**row, "hardest": hardest})
    hotspots = report.figures["hotspots"] = sorted(hotspots, key=lambda row: (-row["score"], row["file"]))[:limit]
    rows: list[tuple[Any, ...]] = []
    for one in hotspots:
        path, hardest = one["file"], one["hardest"]
        place = f"{path}:{hardest['line']}"
        if len(rows) < (2 if brief else _MAX_SENTENCES):
            text = f"{code(path)} was changed in {plural(one['commits'], 'commit')} and has a complexity of "
            text += f"{one['complexity']:,}; its hardest function is {code(hardest['name'])} ({hardest['complexity']})."
            report.add("hotspot", text, source=place)
        rows.append((path, one["commits"], one["complexity"], one["score"], hardest["name"], place))
    if not hotspots:
        report.add("hotspot", "No source file was changed in the time asked about.")
    if churn.gap:
        report.note(f"Only the newest commits are counted: {churn.gap}.")
    report.add_subjects([one["file"] for one in hotspots])
    columns = ("file", "commits", "complexity", "score", "hardest function", "place")
    note = "The score is commits times complexity; complexity counts the paths through each function (McCabe)."
    report.add_table("Hotspots", columns, rows, note=note)


_LARGEST: Final = 1024 * 1024
_ENDS: Final = {
    "forbidden": {"sources": "source_modules", "targets": "forbidden_modules"},
    "independence": {"sources": "modules", "targets": "modules"},
}
"""Where import-linter's other contracts name who may not import whom."""


@dataclass(frozen=True, slots=True)
class LayerRule:
    """One rule: none imports one in a layer above it, or none of the sources imports another name among the targets.

    Attributes:
        origin: Who says so.
        layers: From the top to the bottom; those in one layer do not import each other, unless `open_siblings`.
        ignored: Imports that are let pass, as patterns of importer and imported.
        typing: Imports for type checkers only are judged too.
    """

    name: str
    origin: str
    layers: tuple[tuple[str, ...], ...] = ()
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    ignored: tuple[tuple[str, str], ...] = ()
    open_siblings: bool = False
    typing: bool = False

    def reason(self, one: "RuleImport") -> str:
        """Why an import is not allowed; empty when it is, or the rule says nothing of it."""
        if one.typing and not self.typing:
            return ""
        if any(
            _is_any(importer, one.importer) and _is_any(imported, one.imported) for importer, imported in self.ignored
        ):
            return ""
        if not self.layers:
            source = _first_match(self.sources, one.importer)
            target = _first_match(self.targets, one.imported) if source else ""
            return f"`{source}` may not import `{target}`" if target not in ("", source) else ""
        high, source = self._layer(one.importer)
        low, target = self._layer(one.imported) if source else (0, "")
        if source and target and low < high:
            return f"`{target}` is above `{source}`"
        is_beside = source and target and low == high and source != target and not self.open_siblings
        return f"`{source}` and `{target}` are neighbours" if is_beside else ""

    def _layer(self, names: frozenset[str]) -> tuple[int, str]:
        matches = ((number, _first_match(layer, names)) for number, layer in enumerate(self.layers))
        return next((one for one in matches if one[1]), (0, ""))


class RuleImport(NamedTuple):
    """One import, also by all the names that its two ends go by: dotted names, paths and components."""

    importer: frozenset[str]
    imported: frozenset[str]
    source: str
    target: str
    place: str
    typing: bool = False


def find_violations(
    rules: Sequence[LayerRule], imports: Iterable[RuleImport]
) -> list[tuple[LayerRule, RuleImport, str]]:
    """Every import that some rule does not allow, with that rule and the reason, in the order of the places."""
    reasons = ((rule, one, rule.reason(one)) for one in imports for rule in rules)
    return [(rule, one, reason) for rule, one, reason in reasons if reason]


def layers_of(lines: Sequence[str], prefix: str = "") -> tuple[tuple[str, ...], ...]:
    """The layers in lines from the top to the bottom, `a | b` for neighbours."""
    split = ([one.strip() for one in line.replace(":", "|").split("|") if one.strip()] for line in lines)
    return tuple(tuple(f"{prefix}{one}" for one in layer) for layer in split if layer)


def read_rules(workspace: Workspace) -> tuple[list[LayerRule], list[str]]:
    """The rules that the project itself states, and notes on what of them is not judged here."""
    rules, notes = list[LayerRule](), list[str]()
    for file, options, contracts in _contracts(workspace):
        typing = str(options.get("exclude_type_checking_imports", "")).lower() not in ("true", "1", "yes", "on")
        for key, contract in contracts.items():
            pairs = (one.partition("->") for one in _list(contract.get("ignore_imports")))
            ignored = tuple((importer.strip(), imported.strip()) for importer, arrow, imported in pairs if arrow)
            rule = LayerRule(str(contract.get("name") or key), file, ignored=ignored, typing=typing)
            kind = str(contract.get("type", "none"))
            if kind == "layers":
                # Parentheses mark a layer that may be missing: one that is missing matches nothing anyhow.
                lines = [line.replace("(", "").replace(")", "") for line in _list(contract.get("layers"))]
                rule = replace(rule, open_siblings=any(":" in line for line in lines))
                prefixes = [f"{box}." for box in _list(contract.get("containers"))] or [""]
                rules += [replace(rule, layers=layers_of(lines, prefix)) for prefix in prefixes]
            elif ends := _ENDS.get(kind):
                names = {end: tuple(_list(contract.get(option))) for end, option in ends.items()}
                rules.append(replace(rule, **names))
            else:
                notes.append(f"The contract {key!r} in {file} is of type {kind!r}, which is not judged here.")
    layers = _list(_toml(workspace, "retinue.toml", "architecture").get("layers"))
    return rules + ([LayerRule("layers", "retinue.toml", layers_of(layers))] if layers else []), notes


def _contracts(workspace: Workspace) -> Iterator[tuple[str, Mapping[str, Any], dict[str, Mapping[str, Any]]]]:
    """import-linter's options and contracts, with the file they stand in."""
    for file in (".importlinter", "setup.cfg"):
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        with suppress(configparser.Error, RetinueError):
            parser.read_string(workspace.read_text(file, max_bytes=_LARGEST))
        sections = {name: dict(parser[name]) for name in parser.sections()}
        prefix = "importlinter:contract:"
        contracts = {name.removeprefix(prefix): one for name, one in sections.items() if name.startswith(prefix)}
        yield file, sections.get("importlinter", {}), dict(contracts)
    options = _toml(workspace, "pyproject.toml", "tool", "importlinter")
    items = cast("list[object]", one) if isinstance(one := options.get("contracts"), list) else []
    tables = [cast("dict[str, Any]", one) for one in items if isinstance(one, dict)]
    yield "pyproject.toml", options, {str(one.get("id") or one.get("name") or at): one for at, one in enumerate(tables)}


def _list(value: object) -> list[str]:
    """A TOML list, or the lines of an INI value without comments."""
    rows = cast("list[object]", value) if isinstance(value, list) else []
    lines = value.split("\n") if isinstance(value, str) else map(str, rows)
    return [line for one in lines if (line := one.strip()) and not line.startswith("#")]


def _toml(workspace: Workspace, file: str, *keys: str) -> dict[str, Any]:
    """A table of a TOML file; empty when it is not there, or none."""
    try:
        table = tomllib.loads(workspace.read_text(file, max_bytes=_LARGEST))
    except (RetinueError, ValueError, RecursionError):
        return {}
    for key in keys:
        inner: object = table.get(key)
        table = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return table


# Each import is held against each rule, by all its names: few different names come up, but millions of times.
@lru_cache(maxsize=50_000)
def _first_match(patterns: tuple[str, ...], names: frozenset[str]) -> str:
    """The first pattern that one of `names` is, or lies below; empty when none is."""
    return next((one for one in patterns if any(_matches(_parts(one), _parts(name)) for name in names)), "")


@lru_cache(maxsize=50_000)
def _parts(name: str) -> tuple[str, ...]:
    """A dotted name or a path in its parts."""
    return tuple(name.strip().removesuffix("/").replace("/", ".").split("."))


def _is_any(pattern: str, names: Iterable[str]) -> bool:
    return any(_matches(_parts(pattern), _parts(name), exact=True) for name in names)


def _matches(pattern: Sequence[str], parts: Sequence[str], *, exact: bool = False) -> bool:
    """Whether a name is what a pattern says or, unless `exact`, lies below it; `*` is one part, `**` are some."""
    if not pattern or not parts:
        return not pattern and not (exact and parts)
    if pattern[0] == "**":
        return any(_matches(pattern[1:], parts[count:], exact=exact) for count in range(1, len(parts) + 1))
    return pattern[0] in ("*", parts[0]) and _matches(pattern[1:], parts[1:], exact=exact)


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
        text = f"{code(one.source)} imports {code(one.target)}, and {quote(reason)}."
        report.add("violation", text, source=one.place)
    report.add_subjects([one.source for _, one, _ in violations])
    report.add_table(
        "Broken rules",
        ("rule", "from", "to", "place"),
        [(rule.name, one.source, one.target, one.place) for rule, one, _ in violations],
        note="Only direct imports are judged.",
    )


def _import(one: Dependency | RuleImport) -> JsonMapping:
    return {"from": one.source, "to": one.target, "place": one.place}
