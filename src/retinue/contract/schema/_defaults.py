"""Filling in the `default` of what was not given: the validator does not do it, and the boundary must.

Only where the schema leaves no choice: through `properties`, `items`, `allOf` and `$ref`, never through alternatives
or conditions. A default is taken as it stands; nothing is filled into it.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from retinue.contract.json import MAX_DEPTH, pointer
from retinue.contract.model import JsonMapping

from ._graph import Graph, Node

__all__ = ["Defaults"]


@dataclass(slots=True)
class _Filling:
    """What one schema fills in: defaults of its own members, and what holds of members and items that are there."""

    own: JsonMapping = field(default_factory=dict[str, object])
    members: dict[str, list[Node]] = field(default_factory=dict[str, list[Node]])
    items: list[Node] = field(default_factory=list[Node])


class Defaults:
    """All defaults of one schema, found once."""

    def __init__(self, graph: Graph) -> None:
        self._root = graph.root
        self._fillings: dict[Node, _Filling] = {}
        if any("default" in node.source for node in graph.order):
            self._fillings = {node: _filling(node) for node in graph.order}
            self._prune()

    def apply(self, value: object) -> tuple[object, list[str]]:
        """Give `value` with every absent default filled in, and the JSON Pointers of those. Never changes `value`."""
        if self._root not in self._fillings:
            return value, []
        applied: list[str] = []
        return self._filled(value, [self._root], [], applied), applied

    def _filled(self, value: object, nodes: list[Node], where: list[str | int], applied: list[str]) -> object:
        fillings = [self._fillings[node] for node in nodes]
        if isinstance(value, list):
            inner = list(dict.fromkeys(node for filling in fillings for node in filling.items))
            items = cast("list[object]", value)
            return [self._filled(item, inner, [*where, index], applied) for index, item in enumerate(items)]
        if not isinstance(value, dict) or len(where) > MAX_DEPTH:
            return cast("object", value)
        members = self._members_filled(cast("JsonMapping", value), fillings, where, applied)
        for filling in fillings:
            for name, default in filling.own.items():
                if name not in members:
                    members[name] = copy.deepcopy(default)
                    applied.append(pointer([*where, name]))
        return members

    def _members_filled(
        self, members: JsonMapping, fillings: list[_Filling], where: list[str | int], applied: list[str]
    ) -> JsonMapping:
        """A copy of an object in which the members that are there have been filled in."""
        below: dict[str, list[Node]] = {}
        for filling in fillings:
            for name, inner in filling.members.items():
                if name in members:
                    below.setdefault(name, []).extend(inner)
        filled = {
            name: self._filled(members[name], list(dict.fromkeys(inner)), [*where, name], applied)
            for name, inner in below.items()
        }
        return members | filled

    def _prune(self) -> None:
        """Forget every schema below which no default stands, so that nobody walks there."""
        above: dict[Node, list[Node]] = {}
        for node, filling in self._fillings.items():
            for inner in _below(filling):
                above.setdefault(inner, []).append(node)
        fruitful = [node for node, filling in self._fillings.items() if filling.own]
        for node in fruitful:  # grows while it is walked
            fruitful += above.pop(node, ())
        keep = set(fruitful)
        self._fillings = {node: filling for node, filling in self._fillings.items() if node in keep}
        for filling in self._fillings.values():
            filling.items = [node for node in filling.items if node in keep]
            filling.members = {
                name: kept for name, inner in filling.members.items() if (kept := [one for one in inner if one in keep])
            }


def _filling(node: Node) -> _Filling:
    filling = _Filling()
    for holder in _certain([node]):
        for name, inner in holder.named.items():
            if isinstance(name, str):
                for one in _certain(inner):
                    if "default" in one.source:
                        filling.own.setdefault(name, one.source["default"])
                filling.members.setdefault(name, []).extend(inner)
        if isinstance(holder.source.get("items"), dict):
            filling.items += holder.rest.get(False, ())
    return filling


def _below(filling: _Filling) -> Iterable[Node]:
    yield from filling.items
    for inner in filling.members.values():
        yield from inner


def _certain(nodes: Iterable[Node]) -> list[Node]:
    """`nodes`, and the schemas that hold of every value these take; each once."""
    found = dict.fromkeys(nodes)
    pending = list(found)
    for node in pending:  # grows while it is walked
        fresh = [other for other in node.always if other not in found]
        found.update(dict.fromkeys(fresh))
        pending += fresh
    return pending
