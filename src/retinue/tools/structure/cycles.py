"""Circles in a graph: the shortest through each dependency of each tangle, the shortest first. Pure."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

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
    """The shortest way from `start` to `end`, both included; there is one, for they are in one tangle."""
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
