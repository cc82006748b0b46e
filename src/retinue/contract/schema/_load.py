"""How much work a schema can make of one value: the guard against references that multiply.

`a: {allOf: [b, b]}`, `b: {allOf: [c, c]}` and so on checks one value twice as often at each step, and a tree whose
node names itself twice beside each other does so at each level of the value. Both are short to write and endless to
run. So the most checks that any single value can meet, the *load*, is computed from the graph beforehand: by depth of
the instance, because a recursive schema may be light for shallow values and endless for deep ones.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from retinue.contract.json import MAX_DEPTH

from ._graph import Graph, Node

__all__ = ["Loads"]

_ENDLESS: Final = 10**9
_PATIENCE: Final = 2_000_000
"""Steps after which the computing itself is given up, and with it every deeper instance."""

_Targets: TypeAlias = Counter[Node]


@dataclass(slots=True)
class _Below:
    """How often which schemas are applied to each member (or position), and to those that nobody names."""

    named: dict[str | int, _Targets] = field(default_factory=dict[str | int, _Targets])
    rest: _Targets = field(default_factory=_Targets)

    def include(self, other: "_Below") -> int:
        """Add what a schema applied beside this one does. Returns the steps it took."""
        names = self.named | other.named if other.rest else other.named
        for name in names:
            self.named[name] = self.named.get(name, self.rest) + other.named.get(name, other.rest)
        self.rest = self.rest + other.rest
        return 1 + len(names)


class Loads:
    """The load of a schema by depth of the instance.

    Attributes:
        steady: The load no longer grows with the depth.
    """

    def __init__(self, graph: Graph) -> None:
        self._steps = 0
        self.steady = False
        self._own: dict[Node, int] = {}
        self._below: dict[Node, tuple[_Below, _Below]] = {}
        for node in graph.order:
            self._note(node)
        self._by_depth = self._grown(graph.root) if self._steps <= _PATIENCE else []

    def at(self, depth: int) -> int:
        """The most checks that one value can meet in an instance of this depth; a billion means endless."""
        if depth < len(self._by_depth):
            return self._by_depth[depth]
        return self._by_depth[-1] if self.steady else _ENDLESS

    def _note(self, node: Node) -> None:
        """Sum up `node` and all that stands beside it; `order` has brought those first."""
        own = node.checks
        members, positions = _own_below(node, members=True), _own_below(node, members=False)
        for other in node.beside:
            if self._steps > _PATIENCE or own >= _ENDLESS:
                break
            own += self._own[other]
            self._steps += members.include(self._below[other][0]) + positions.include(self._below[other][1])
        self._own[node] = own
        self._below[node] = members, positions

    def _grown(self, root: Node) -> list[int]:
        """The root's load for depth 0, 1, 2 …, until it stays the same or is beyond any use."""
        groups = {node: list(_groups(self._below[node])) for node in self._own}
        loads = dict(self._own)
        by_depth = [loads[root]]
        while len(by_depth) <= MAX_DEPTH and self._steps <= _PATIENCE and by_depth[-1] < _ENDLESS:
            deeper = {
                node: max(
                    self._own[node], *(sum(loads[to] * times for to, times in group.items()) for group in inner), 0
                )
                for node, inner in groups.items()
            }
            self._steps += sum(1 + sum(map(len, inner)) for inner in groups.values())
            if deeper == loads:
                self.steady = True
                break
            loads = deeper
            by_depth.append(min(loads[root], _ENDLESS))
        return by_depth


def _own_below(node: Node, *, members: bool) -> _Below:
    every = _Targets(node.every.get(members, ()))
    named = {name: _Targets(inner) + every for name, inner in node.named.items() if isinstance(name, str) is members}
    return _Below(named, _Targets(node.rest.get(members, ())) + every)


def _groups(below: Iterable[_Below]) -> Iterable[_Targets]:
    for one in below:
        yield from filter(None, one.named.values())
        if one.rest:
            yield one.rest
