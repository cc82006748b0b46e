"""The graph of a project: what its imports mean, which files depend on which, and the same between its components.

Imports are followed by the names of files alone. Pure: no file is opened here.
"""

import posixpath
import tomllib
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from retinue.contract.model import JsonMapping

_MOST_OF: Final = 0.9
"""A folder with this share of all files is the project itself, and its parts are the components."""

_SCRIPTS: Final = (".js", ".mjs", ".cjs", ".jsx")
_TYPED: Final = (".ts", ".tsx", ".mts", ".cts", ".d.ts")

When: TypeAlias = Literal["always", "deferred", "typing"]
"""`deferred`: when a function runs; `typing`: for a type checker only, never when the program runs."""


class ModuleImport(NamedTuple):
    """One thing that a file asks for, as it is written there.

    Attributes:
        target: A dotted name with its leading dots, a module specifier, a path with `::`, or an import path.
        names: What is taken out of it; it may be modules of their own (Python).
        line: From 1.
    """

    target: str
    names: tuple[str, ...]
    line: int
    when: When = "always"


class Function(NamedTuple):
    """One function or method, with the number of paths through it (McCabe); what is nested counts for itself."""

    name: str
    line: int
    complexity: int


class Structure(NamedTuple):
    """What was read of one file.

    Attributes:
        loose: Decisions outside of any function.
        lines: How many are not blank.
        error: Why it could not be read; empty when it could.
        error_line: Where, from 1; 0 when that is not known.
    """

    imports: tuple[ModuleImport, ...] = ()
    functions: tuple[Function, ...] = ()
    loose: int = 0
    lines: int = 0
    error: str = ""
    error_line: int = 0

    @property
    def complexity(self) -> int:
        """Of the whole file: of its functions, and the decisions outside of them."""
        return self.loose + sum(one.complexity for one in self.functions)

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> "Structure":
        """The structure whose JSON form is `row`.

        Raises:
            TypeError: It is not one.
            ValueError: It is not one.
        """
        imports, functions, loose, lines, error, error_line = row
        return cls(
            tuple(
                ModuleImport(target, tuple(names), line, cast("When", when)) for target, names, line, when in imports
            ),
            tuple(Function(*one) for one in functions),
            int(loose),
            int(lines),
            str(error),
            int(error_line),
        )


class Resolver:
    """The files of one project, by what they are imported as.

    Args:
        paths: All its source files.
        manifests: The texts of its manifests, by path.
    """

    def __init__(self, paths: Iterable[str], manifests: Mapping[str, str]) -> None:
        self._paths = set(paths)
        self._python: dict[str, list[str]] = {}
        for path in sorted(one for one in self._paths if one.endswith(".py")):
            for name in python_names(path, self._paths):
                self._python.setdefault(name, []).append(path)
        self._go: dict[str, str] = {}
        for path, text in manifests.items():
            for line in text.splitlines() if path.endswith("go.mod") else ():
                match line.split():
                    case ["module", name, *_]:
                        self._go[name.strip('"')] = posixpath.dirname(path)
                    case _:
                        pass
        self._crates = dict(_crates(manifests))
        self._go_files: dict[str, str] = {}
        for path in sorted(one for one in self._paths if one.endswith(".go")):
            self._go_files.setdefault(posixpath.dirname(path), path)

    def files(self, statement: ModuleImport, importer: str) -> list[str]:
        """The files that `statement`, an import of `importer`, leads to; itself is none."""
        suffix, target, paths = importer.rpartition(".")[2], statement.target, list[str]()
        if suffix == "py":
            target = absolute_name(target, importer)
            for name in statement.names:
                inner = self._module(f"{target}.{name}" if target else name, importer)
                paths += [inner] if inner else self._longest(target, importer)
            if not statement.names:  # `import a.b` runs `a` as well, but what is asked for is `a.b`
                paths += self._longest(target, importer)
        elif suffix == "go":
            for module, folder in self._go.items():
                if target == module or target.startswith(f"{module}/"):
                    place = posixpath.normpath(posixpath.join(folder, target[len(module) + 1 :])).lstrip(".")
                    paths += [self._go_files[place]] if place in self._go_files else []
        elif suffix == "rs":
            paths += self._of_rust(target, importer)
        elif target.startswith("."):
            place = posixpath.normpath(posixpath.join(posixpath.dirname(importer), target))
            # TypeScript says `./x.js` for what `./x.ts` will become; a file that stands there as it is said goes first.
            ends = (*_TYPED, *_SCRIPTS) if importer.endswith(_TYPED) else (*_SCRIPTS, *_TYPED)
            stem = posixpath.splitext(place)[0] if place.endswith(_SCRIPTS) else place
            candidates = [place, *(f"{one}{end}" for one in dict.fromkeys((stem, place)) for end in ends)]
            candidates += [f"{place}/index{end}" for end in ends]
            paths += [path for path in candidates if path in self._paths][:1]
        return [path for path in dict.fromkeys(paths) if path != importer]

    def _longest(self, dotted: str, importer: str) -> Iterator[str]:
        parts = dotted.split(".")
        for end in range(len(parts), 0, -1):
            path = self._module(".".join(parts[:end]), importer)
            if path is not None:
                yield path
                return

    def _module(self, dotted: str, importer: str) -> str | None:
        paths: list[str] = []
        for path in self._python.get(dotted, ()):  # a lone script is a module for its neighbours only
            folder, _, name = path.rpartition("/")
            is_module = folder in ("", "lib", "src") or name == "__init__.py" or "." in dotted
            if is_module or folder == importer.rpartition("/")[0]:
                paths.append(path)

        def closeness(path: str) -> tuple[int, int]:
            folders = zip(path.split("/")[:-1], importer.split("/")[:-1], strict=False)
            return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], folders)), -len(path)

        return max(paths, key=closeness, default=None)

    def _of_rust(self, target: str, importer: str) -> Iterator[str]:
        first, *rest = target.split("::")
        base = importer.removesuffix(".rs").removesuffix("/mod")
        if first == "crate":  # the nearest `src` above it
            parts = importer.split("/")
            end = next((end for end in range(len(parts) - 1, 0, -1) if parts[end - 1] == "src"), 0)
            base = "/".join(parts[:end]) if end else posixpath.dirname(importer)
        elif first == "super":
            base = posixpath.dirname(base)
            while rest and rest[0] == "super":
                base, rest = posixpath.dirname(base), rest[1:]
        elif first in self._crates:
            base = self._crates[first]
        elif first != "self":
            return
        for end in range(len(rest), -1, -1):
            place = "/".join([base, *rest[:end]])
            # The crate itself is no part of it: its root names every module and depends on none.
            candidates = (
                (f"{place}.rs", f"{place}/mod.rs") if end or first not in self._crates else (f"{place}/lib.rs",)
            )
            if (path := next((one for one in candidates if one in self._paths), None)) is not None:
                yield path
                return


def absolute_name(dotted: str, importer: str) -> str:
    """A dotted name without leading dots, as seen from the folder that holds the whole project."""
    name = dotted.lstrip(".")
    level = len(dotted) - len(name)
    folders = importer.split("/")[:-1]
    return ".".join(filter(None, [*folders[: max(len(folders) - level + 1, 0)], name])) if level else name


def python_names(path: str, paths: Collection[str]) -> list[str]:
    """The dotted names of the file at `path`: from its package's root, from the project's, and from `src` or `lib`.

    Args:
        path: The file, relative to the project's folder.
        paths: Every file of the project, quick to look up.
    """
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts = parts[:-1]
    root = len(parts) - 1
    while root > 0 and "/".join([*parts[:root], "__init__.py"]) in paths:
        root -= 1
    starts = {0, max(root, 0), *((1,) if parts and parts[0] in ("lib", "src") else ())}
    return [name for start in sorted(starts) if (name := ".".join(parts[start:]))]


def _crates(manifests: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for path, text in manifests.items():
        if not path.endswith("Cargo.toml"):
            continue
        try:
            package: Any = tomllib.loads(text).get("package", {})
        except (ValueError, RecursionError):
            continue
        if isinstance(package, dict) and isinstance(name := package.get("name"), str):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - TOML
            yield name.replace("-", "_"), posixpath.join(posixpath.dirname(path), "src")


@dataclass(slots=True)
class Dependency:
    """One thing depends on another.

    Attributes:
        place: Where it is imported, `path:line`; the first such place that counts when the program runs.
        imports: How many statements do so.
        when: The strongest of them: `always` over `deferred` over `typing`.
    """

    source: str
    target: str
    place: str
    imports: int
    when: When


@dataclass(slots=True)
class Component:
    """A part of the project.

    Attributes:
        files: How many it has.
        fan_in: How many other components depend on it when the program runs.
        fan_out: On how many it depends.
    """

    name: str
    files: int = 0
    lines: int = 0
    complexity: int = 0
    fan_in: int = 0
    fan_out: int = 0

    @property
    def instability(self) -> float | None:
        """The share of its dependencies that lead out of it; None when it has none."""
        whole = self.fan_in + self.fan_out
        return round(self.fan_out / whole, 2) if whole else None

    def to_json(self) -> JsonMapping:
        """As it stands in the result object."""
        return asdict(self) | ({} if self.instability is None else {"instability": self.instability})


@dataclass(slots=True)
class DependencyGraph:
    """Nodes and what depends on what between them, by name."""

    components: dict[str, Component] = field(default_factory=dict[str, Component])
    edges: dict[tuple[str, str], Dependency] = field(default_factory=dict[tuple[str, str], Dependency])

    def successors(self) -> dict[str, list[str]]:
        """What each depends on when the program runs."""
        targets: dict[str, list[str]] = {name: [] for name in self.components}
        for (source, target), edge in self.edges.items():
            if edge.when != "typing":
                targets[source].append(target)
        return targets

    def edges_along(self, circle: Sequence[str]) -> list[Dependency]:
        """The dependencies that lead from each name of a circle to the next."""
        return [self.edges[pair] for pair in zip(circle, [*circle[1:], circle[0]], strict=True)]


_STRENGTH: Final[Mapping[When, int]] = {"typing": 0, "deferred": 1, "always": 2}


def connect(files: Mapping[str, Structure], resolver: Resolver) -> DependencyGraph:
    """The graph of files."""
    graph = DependencyGraph({path: _component(path, [structure]) for path, structure in files.items()})
    for path, structure in files.items():
        for statement in structure.imports:
            for target in resolver.files(statement, path):
                if target in files:
                    _add(graph, Dependency(path, target, f"{path}:{statement.line}", 1, statement.when))
    _count_fans(graph)
    return graph


def group_by_component(
    files: Mapping[str, Structure], graph: DependencyGraph, names: Mapping[str, str]
) -> DependencyGraph:
    """The graph of components, out of that of files; `names` says which file belongs to which."""
    members: dict[str, list[Structure]] = {}
    for path, structure in files.items():
        members.setdefault(names[path], []).append(structure)
    result = DependencyGraph({name: _component(name, members[name]) for name in sorted(members)})
    for edge in graph.edges.values():
        source, target = names[edge.source], names[edge.target]
        if source != target:
            _add(result, Dependency(source, target, edge.place, edge.imports, edge.when))
    _count_fans(result)
    return result


def component_names(paths: Iterable[str], detail: Literal["folders", "files"], depth: int = 1) -> dict[str, str]:
    """Which component each file belongs to: itself, or the folder `depth` levels below the project's own root."""
    every = list(paths)
    if detail == "files":
        return {path: path for path in every}
    # The folder that holds nearly all files, while no single folder in it does.
    root, members = "", every
    while True:
        folders = Counter(path[len(root) :].split("/")[0] for path in members if "/" in path[len(root) :])
        name, count = max(folders.items(), key=lambda pair: pair[1], default=("", 0))
        if not count or count < _MOST_OF * len(every):
            break
        root += f"{name}/"
        members = [path for path in members if path.startswith(root)]
    inside = {path: _first(path[len(root) :], depth) for path in every if path.startswith(root)}
    inside_names = set(inside.values())
    outside = {path: _first(path, depth) for path in every if not path.startswith(root)}
    return inside | {path: f"./{name}" if name in inside_names else name for path, name in outside.items()}


def _first(path: str, depth: int) -> str:
    parts = path.split("/")
    return "/".join(parts[:depth] if len(parts) > depth else parts)


def _component(name: str, members: Iterable[Structure]) -> Component:
    every = list(members)
    return Component(name, len(every), sum(one.lines for one in every), sum(one.complexity for one in every))


def _add(graph: DependencyGraph, one: Dependency) -> None:
    edge = graph.edges.get((one.source, one.target))
    if edge is None:
        graph.edges[one.source, one.target] = one
        return
    edge.imports += one.imports
    if _STRENGTH[one.when] > _STRENGTH[edge.when]:
        edge.when, edge.place = one.when, one.place


def _count_fans(graph: DependencyGraph) -> None:
    for (source, target), edge in graph.edges.items():
        if edge.when != "typing":
            graph.components[source].fan_out += 1
            graph.components[target].fan_in += 1


_MOST: Final = 50
_SEARCHED: Final = 3000
"""Dependencies of a tangle that are followed; more of them only give more of the same."""


def find_cycles(graph: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """The shortest circle through each dependency that is in one; at most fifty.

    Each starts with the first of its names in the alphabet and is given once.
    """
    cycles: dict[tuple[str, ...], None] = {}
    for tangle in strongly_connected(graph):
        members = set(tangle)
        inside = {one: [other for other in graph[one] if other in members] for one in tangle}
        edges = [(one, other) for one in sorted(tangle) for other in inside[one]]
        for source, target in edges[:_SEARCHED]:
            cycle = shortest_path(target, source, inside.__getitem__)
            start = cycle.index(min(cycle))
            cycles[(*cycle[start:], *cycle[:start])] = None
    return sorted(cycles, key=lambda one: (len(one), one))[:_MOST]


def strongly_connected(graph: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The groups of nodes that all lead to each other (strongly connected, two or more), the largest first.

    Kosaraju's algorithm: nodes in the order in which a walk leaves them, then a walk against the arrows from each.
    """
    reverse_graph: dict[str, list[str]] = {node: [] for node in graph}
    for node, others in graph.items():
        for other in others:
            reverse_graph.setdefault(other, []).append(node)
    visited: set[str] = set()
    order = [node for start in graph for node in _walk(start, graph, visited)]
    visited.clear()
    groups = [_walk(start, reverse_graph, visited) for start in reversed(order)]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), sorted(group)))


def _walk(start: str, graph: Mapping[str, Sequence[str]], visited: set[str]) -> list[str]:
    """Every node that `start` leads to and that was not seen before, each behind those that it leads to."""
    order: list[str] = []
    waiting = [(start, iter(graph.get(start, ())))] if start not in visited else []
    visited.add(start)
    while waiting:
        node, others = waiting[-1]
        next_node = next((other for other in others if other not in visited), None)
        if next_node is None:
            order.append(node)
            waiting.pop()
        else:
            visited.add(next_node)
            waiting.append((next_node, iter(graph.get(next_node, ()))))
    return order


def shortest_path(start: str, end: str, successors: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    """The nodes from `start` to `end`, both included; empty when none leads there."""
    before = {start: ""}
    waiting = deque([start])
    while waiting and end not in before:
        node = waiting.popleft()
        for other in successors(node):
            if other not in before:
                before[other] = node
                waiting.append(other)
    path = [end] if end in before else []
    while path and before[path[-1]]:
        path.append(before[path[-1]])
    return tuple(reversed(path))
