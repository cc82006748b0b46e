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

from ._graph import SchemaGraph, SchemaNode


@dataclass(slots=True)
class _NodeDefaults:
    """What one schema fills in: defaults of its own members, and what holds of members and items that are there."""

    own: JsonMapping = field(default_factory=dict[str, object])
    members: dict[str, list[SchemaNode]] = field(default_factory=dict[str, list[SchemaNode]])
    items: list[SchemaNode] = field(default_factory=list[SchemaNode])


class Defaults:
    """All defaults of one schema, found once."""

    def __init__(self, graph: SchemaGraph) -> None:
        self._root = graph.root
        self._fillings: dict[SchemaNode, _NodeDefaults] = {}
        if any("default" in node.source for node in graph.order):
            self._fillings = {node: _node_defaults(node) for node in graph.order}
            self._prune()

    def apply(self, value: object) -> tuple[object, list[str]]:
        """Give `value` with every absent default filled in, and the JSON Pointers of those. Never changes `value`."""
        if self._root not in self._fillings:
            return value, []
        applied: list[str] = []
        return self._fill(value, [self._root], [], applied), applied

    def _fill(self, value: object, nodes: list[SchemaNode], where: list[str | int], applied: list[str]) -> object:
        fillings = [self._fillings[node] for node in nodes]
        if isinstance(value, list):
            inner = list(dict.fromkeys(node for filling in fillings for node in filling.items))
            items = cast("list[object]", value)
            return [self._fill(item, inner, [*where, index], applied) for index, item in enumerate(items)]
        if not isinstance(value, dict) or len(where) > MAX_DEPTH:
            return cast("object", value)
        members = self._fill_members(cast("JsonMapping", value), fillings, where, applied)
        for filling in fillings:
            for name, default in filling.own.items():
                if name not in members:
                    members[name] = copy.deepcopy(default)
                    applied.append(pointer([*where, name]))
        return members

    def _fill_members(
        self, members: JsonMapping, fillings: list[_NodeDefaults], where: list[str | int], applied: list[str]
    ) -> JsonMapping:
        """A copy of an object in which the members that are there have been filled in."""
        below: dict[str, list[SchemaNode]] = {}
        for filling in fillings:
            for name, inner in filling.members.items():
                if name in members:
                    below.setdefault(name, []).extend(inner)
        filled = {
            name: self._fill(members[name], list(dict.fromkeys(inner)), [*where, name], applied)
            for name, inner in below.items()
        }
        return members | filled

    def _prune(self) -> None:
        """Forget every schema below which no default stands, so that it is not searched again."""
        above: dict[SchemaNode, list[SchemaNode]] = {}
        for node, filling in self._fillings.items():
            for inner in _child_nodes(filling):
                above.setdefault(inner, []).append(node)
        nodes_with_defaults = [node for node, filling in self._fillings.items() if filling.own]
        for node in nodes_with_defaults:  # grows during the loop
            nodes_with_defaults += above.pop(node, ())
        keep = set(nodes_with_defaults)
        self._fillings = {node: filling for node, filling in self._fillings.items() if node in keep}
        for filling in self._fillings.values():
            filling.items = [node for node in filling.items if node in keep]
            filling.members = {
                name: kept_nodes
                for name, inner in filling.members.items()
                if (kept_nodes := [one for one in inner if one in keep])
            }


def _node_defaults(node: SchemaNode) -> _NodeDefaults:
    filling = _NodeDefaults()
    for holder in _unconditional_nodes([node]):
        for name, inner in holder.by_key.items():
            if isinstance(name, str):
                for one in _unconditional_nodes(inner):
                    if "default" in one.source:
                        filling.own.setdefault(name, one.source["default"])
                filling.members.setdefault(name, []).extend(inner)
        if isinstance(holder.source.get("items"), dict):
            filling.items += holder.additional.get(False, ())
    return filling


def _child_nodes(filling: _NodeDefaults) -> Iterable[SchemaNode]:
    yield from filling.items
    for inner in filling.members.values():
        yield from inner


def _unconditional_nodes(nodes: Iterable[SchemaNode]) -> list[SchemaNode]:
    """`nodes`, and the schemas that hold of every value these take; each once."""
    unique = dict.fromkeys(nodes)
    pending = list(unique)
    for node in pending:  # grows during the loop
        fresh = [other for other in node.unconditional if other not in unique]
        unique.update(dict.fromkeys(fresh))
        pending += fresh
    return pending
