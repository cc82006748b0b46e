"""The graph of a project: which files depend on which, and the same between its components. Pure."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

from retinue.contract.model import JsonMapping
from retinue.tools.structure.records import Structure, When
from retinue.tools.structure.resolve import Resolver

_MOST_OF: Final = 0.9
"""A folder with this share of all files is the project itself, and its parts are the components."""


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
        inside = set(tangle)
        edges = [(one, other) for one in sorted(tangle) for other in graph[one] if other in inside]
        for source, target in edges[:_SEARCHED]:
            cycle = _shortest_path(target, source, graph, inside)
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


def _shortest_path(start: str, end: str, graph: Mapping[str, Sequence[str]], inside: set[str]) -> tuple[str, ...]:
    before: dict[str, str] = {start: ""}
    waiting = deque([start])
    while end not in before:
        node = waiting.popleft()
        for other in graph[node]:
            if other in inside and other not in before:
                before[other] = node
                waiting.append(other)
    path = [end]
    while path[-1] != start:
        path.append(before[path[-1]])
    return tuple(reversed(path))
