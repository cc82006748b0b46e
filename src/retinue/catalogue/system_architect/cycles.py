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

    Tarjan's algorithm, with a stack of its own.
    """
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    trail: list[str] = []
    on_trail: set[str] = set()
    found: list[list[str]] = []
    for start in following:
        if start in number:
            continue
        work = [(start, iter(following[start]))]
        number[start] = low[start] = len(number)
        trail.append(start)
        on_trail.add(start)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in number:
                    number[other] = low[other] = len(number)
                    trail.append(other)
                    on_trail.add(other)
                    work.append((other, iter(following.get(other, ()))))
                    break
                if other in on_trail:
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    at = trail.index(node)
                    group, trail[at:] = trail[at:], []
                    on_trail.difference_update(group)
                    if len(group) > 1:
                        found.append(group)
    return sorted(found, key=lambda group: (-len(group), sorted(group)))


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
