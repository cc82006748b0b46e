"""Circles in a graph: the shortest through each dependency of each tangle, the shortest first. Pure."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["circles", "tangles"]

_MOST: Final = 50
_SEARCHED: Final = 3000
"""Dependencies of a tangle that are followed; more of them only give more of the same."""


def circles(following: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """The shortest circle through each dependency that is in one; at most fifty.

    Each starts with the first of its names in the alphabet and is given once.
    """
    found: dict[tuple[str, ...], None] = {}
    for tangle in tangles(following):
        inside = set(tangle)
        edges = [(one, other) for one in sorted(tangle) for other in following[one] if other in inside]
        for source, target in edges[:_SEARCHED]:
            way = _way(target, source, following, inside)
            start = way.index(min(way))
            found[(*way[start:], *way[:start])] = None
    return sorted(found, key=lambda one: (len(one), one))[:_MOST]


def tangles(following: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The groups of nodes that all lead to each other (strongly connected, two or more), the largest first.

    Kosaraju's algorithm: nodes in the order in which a walk leaves them, then a walk against the arrows from each.
    """
    leaving: dict[str, list[str]] = {node: [] for node in following}
    for node, others in following.items():
        for other in others:
            leaving.setdefault(other, []).append(node)
    seen: set[str] = set()
    order = [node for start in following for node in _walk(start, following, seen)]
    seen.clear()
    groups = [_walk(start, leaving, seen) for start in reversed(order)]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), sorted(group)))


def _walk(start: str, following: Mapping[str, Sequence[str]], seen: set[str]) -> list[str]:
    """Every node that `start` leads to and that was not seen before, each behind those that it leads to."""
    order: list[str] = []
    waiting = [(start, iter(following.get(start, ())))] if start not in seen else []
    seen.add(start)
    while waiting:
        node, others = waiting[-1]
        unseen = next((other for other in others if other not in seen), None)
        if unseen is None:
            order.append(node)
            waiting.pop()
        else:
            seen.add(unseen)
            waiting.append((unseen, iter(following.get(unseen, ()))))
    return order


def _way(start: str, end: str, following: Mapping[str, Sequence[str]], inside: set[str]) -> tuple[str, ...]:
    """The shortest way from `start` to `end`, both included; there is one, for they are in one tangle."""
    before: dict[str, str] = {start: ""}
    waiting = deque([start])
    while end not in before:
        node = waiting.popleft()
        for other in following[node]:
            if other in inside and other not in before:
                before[other] = node
                waiting.append(other)
    way = [end]
    while way[-1] != start:
        way.append(before[way[-1]])
    return tuple(reversed(way))
