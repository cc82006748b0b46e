"""A schema as a graph: which part applies to the same value, and which to a value below it.

References are followed here and not only in the validator, because what they add up to decides how long a check can
take (see `_validator`), and because a reference that leads out of the schema, or back to itself without going down a
level, is refused. Not a check of the keywords' own values: the meta-schema does that first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, cast
from urllib.parse import unquote

from retinue.contract.finding import Finding
from retinue.contract.formatting import short_repr
from retinue.contract.json import pointer
from retinue.contract.model import JsonMapping

DRAFTS: Final[Mapping[str, str]] = {
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "http://json-schema.org/draft-07/schema": "7",
    "http://json-schema.org/draft-06/schema": "6",
    "http://json-schema.org/draft-04/schema": "4",
}
"""The drafts we check by, under the names by which `$schema` states them. Without `$schema` it is the first."""

_LONGEST_CHAIN: Final = 1_000
"""The validator follows references by recursion, and a thread's stack can be small."""

_INLINE: Final = "Put what it means into `$defs`, and refer to it as `#/$defs/…`."

_META_LOAD: Final = 200
"""What checking one value against a draft's own meta-schema costs at most."""

_IN_PLACE: Final = ("anyOf", "oneOf", "not", "if", "then", "else")
_IN_PLACE_BY_NAME: Final = ("dependentSchemas", "dependencies")
_NON_CHECKING: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$schema", "$vocabulary", "default", "definitions",
     "deprecated", "description", "examples", "format", "id", "properties", "readOnly", "title", "writeOnly"}
)  # fmt: skip
"""Keywords that make no check of their own; `format` is counted with `type`."""


@dataclass(slots=True, eq=False)
class SchemaNode:
    """One schema.

    Attributes:
        checks: How many things its own keywords look at, and so at most complain about.
        in_place: Schemas applied to the same value, as often as they are applied.
        unconditional: Those of them that every value must pass.
        by_key: Schemas applied to one member or position.
        additional: Schemas applied to all members (`True`) or positions (`False`) that this node does not name.
        universal: The same, for named ones too.
    """

    path: str
    source: JsonMapping
    checks: int = 1
    in_place: list["SchemaNode"] = field(default_factory=list["SchemaNode"])
    unconditional: list["SchemaNode"] = field(default_factory=list["SchemaNode"])
    by_key: dict[str | int, list["SchemaNode"]] = field(default_factory=dict[str | int, list["SchemaNode"]])
    additional: dict[bool, list["SchemaNode"]] = field(default_factory=dict[bool, list["SchemaNode"]])
    universal: dict[bool, list["SchemaNode"]] = field(default_factory=dict[bool, list["SchemaNode"]])

    def subschemas(self) -> list["SchemaNode"]:
        """All that is applied to the same value or below it."""
        groups = (self.in_place, *self.by_key.values(), *self.additional.values(), *self.universal.values())
        return [node for group in groups for node in group]


@dataclass(frozen=True, slots=True)
class _Resource:
    """A schema document: the whole, or a part with an `$id` of its own."""

    root: JsonMapping
    path: str


class SchemaGraph:
    """The nodes of one schema that can be reached from its root.

    Attributes:
        root: Where a check begins.
        order: Every node, what is applied beside it before the node itself.
        findings: References that lead nowhere, outside, or in a circle.
        recursive: It comes back to itself below a value, so only the value says how deep a check goes.
    """

    def __init__(self, schema: JsonMapping) -> None:
        self.recursive = False
        self.findings: list[Finding] = []
        self._by_id: dict[int, SchemaNode] = {}
        self._resources: dict[str, _Resource] = {}
        self._anchors: dict[str, list[tuple[JsonMapping, str, _Resource]]] = {}
        self._pending: list[tuple[SchemaNode, _Resource]] = []
        whole = _Resource(schema, "")
        # What references can name beside paths. Two things of one name would be a trap.
        pending: list[tuple[object, str, _Resource]] = [(schema, "", whole)]
        while pending:
            value, path, home = pending.pop()
            if isinstance(value, dict):
                members = cast("JsonMapping", value)
                home = _resource_of(members, path, home)
                self._register_names(members, path, home)
                pending += [(inner, path + pointer([name]), home) for name, inner in members.items()]
            elif isinstance(value, list):
                pending += [(one, f"{path}/{index}", home) for index, one in enumerate(cast("list[object]", value))]
        self.root = self._node(schema, "", whole)
        while self._pending:
            self._read_node(*self._pending.pop())
        self.order = self._sort()
        # Whatever else goes round in a circle does so one level down each time.
        try:
            TopologicalSorter({node: node.subschemas() for node in self.order}).prepare()
        except CycleError:
            self.recursive = True

    def _register_names(self, source: JsonMapping, path: str, home: _Resource) -> None:
        for word in ("$id", "$anchor", "$dynamicAnchor"):
            name = source.get(word)
            if not isinstance(name, str):
                continue
            if word != "$id" or name.startswith("#"):
                self._anchors.setdefault(name.removeprefix("#"), []).append((source, path, home))
            elif "://" in name and self._resources.setdefault(name.removesuffix("#"), home) != home:
                self._report_reference(path, word, f"{short_repr(name)} appears twice", "Name each part once.")

    def _node(self, source: JsonMapping, path: str, home: _Resource) -> SchemaNode:
        node = self._by_id.get(id(source))
        if node is None:
            node = self._by_id[id(source)] = SchemaNode(path, source)
            self._pending.append((node, _resource_of(source, path, home)))
        return node

    def _nodes(self, sources: object, path: str, home: _Resource) -> list[SchemaNode]:
        """The nodes of one schema, or of a list of them. `True` and `False` are no nodes."""
        if isinstance(sources, dict):
            return [self._node(cast("JsonMapping", sources), path, home)]
        if isinstance(sources, list):
            each = enumerate(cast("list[object]", sources))
            return [node for index, source in each for node in self._nodes(source, f"{path}/{index}", home)]
        return []

    def _read_node(self, node: SchemaNode, home: _Resource) -> None:
        """Follow every keyword of `node`."""
        source, path = node.source, node.path
        node.checks = _count_checks(source)
        for word in _IN_PLACE:
            node.in_place += self._nodes(source.get(word), f"{path}/{word}", home)
        # `dependencies` of the older drafts holds lists of names beside schemas; those are checks, and no nodes.
        for word in _IN_PLACE_BY_NAME:
            for name, inner in _members(source.get(word)):
                if isinstance(inner, dict):
                    node.in_place += self._nodes(cast("object", inner), path + pointer([word, name]), home)
        node.unconditional += self._nodes(source.get("allOf"), f"{path}/allOf", home)
        for word, group in (
            ("$ref", node.unconditional),
            ("$dynamicRef", node.in_place),
            ("$recursiveRef", node.in_place),
        ):
            if isinstance(source.get(word), str):
                group.extend(self._follow_reference(node, word, source[word], home))
        node.in_place += node.unconditional
        for name, inner in _members(source.get("properties")):
            node.by_key[name] = self._nodes(inner, path + pointer(["properties", name]), home)
        for name, inner in _members(source.get("patternProperties")):
            node.universal.setdefault(True, []).extend(
                self._nodes(inner, path + pointer(["patternProperties", name]), home)
            )
        # `items` is one schema for the rest, or in older drafts a list by position as `prefixItems` is today.
        for word in ("prefixItems", "items"):
            inner = source.get(word)
            if isinstance(inner, list):
                for index, one in enumerate(cast("list[object]", inner)):
                    node.by_key.setdefault(index, []).extend(self._nodes(one, f"{path}/{word}/{index}", home))
            else:
                node.additional.setdefault(False, []).extend(self._nodes(inner, f"{path}/{word}", home))
        for word, groups, members in (
            ("additionalProperties", node.additional, True),
            ("unevaluatedProperties", node.universal, True),
            ("propertyNames", node.universal, True),
            ("additionalItems", node.additional, False),
            ("unevaluatedItems", node.universal, False),
            ("contains", node.universal, False),
        ):
            groups.setdefault(members, []).extend(self._nodes(source.get(word), f"{path}/{word}", home))

    # References.

    def _follow_reference(self, node: SchemaNode, word: str, reference: str, home: _Resource) -> list[SchemaNode]:
        base, _, fragment = reference.partition("#")
        if base in DRAFTS and fragment in {"", "/"}:
            node.checks += _META_LOAD
            return []
        # Where it leads depends on how the value was come to, so all that it may lead to count.
        if word == "$dynamicRef" and fragment in self._anchors:
            return [self._node(*place) for place in self._anchors[fragment]]
        if word == "$recursiveRef":
            return [self.root, *self._nodes(home.root, home.path, home)]
        if base:
            if base not in self._resources:
                self._report_reference(
                    node.path, word, f"{short_repr(reference)} leads out of the schema, and nothing is fetched"
                )
                return []
            home = self._resources[base]
        matches = self._node_at(fragment, home)
        if not matches:
            self._report_reference(node.path, word, f"{short_repr(reference)} leads to nothing in this schema")
        return matches

    def _node_at(self, fragment: str, home: _Resource) -> list[SchemaNode]:
        """The node that a URI fragment names: a JSON Pointer, an anchor, or nothing for the whole."""
        if fragment and not fragment.startswith("/"):
            return [self._node(*place) for place in self._anchors.get(fragment, ())]
        value = cast("object", home.root)
        for part in fragment.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict):
                value = cast("JsonMapping", value).get(key)
            elif isinstance(value, list) and key.isascii() and key.isdigit() and len(key) < 7:
                value = next(iter(cast("list[object]", value)[int(key) :]), None)
            else:
                value = None
        if value is True or value is False:
            return [SchemaNode(home.path + fragment, {})]
        return self._nodes(cast("object", value), home.path + fragment, home) if isinstance(value, dict) else []

    def _report_reference(self, path: str, word: str, what: str, fix: str = _INLINE) -> None:
        self.findings.append(Finding(rule="schema/ref", message=f"`{word}` {what}.", path=f"{path}/{word}", fix=fix))

    # Order.

    def _sort(self) -> list[SchemaNode]:
        """Sort by what stands beside what; a circle there checks one value for ever, and is a finding."""
        visited: dict[SchemaNode, bool] = {}
        order: list[SchemaNode] = []
        for first in self._by_id.values():
            if first in visited:
                continue
            visited[first] = False
            # No recursion: a chain of references may be longer than the stack is deep.
            stack = [(first, iter(first.in_place))]
            while stack:
                node, beside = stack[-1]
                following = next(beside, None)
                if following is None:
                    visited[node] = True
                    order.append(node)
                    stack.pop()
                elif following not in visited and len(stack) < _LONGEST_CHAIN:
                    visited[following] = False
                    stack.append((following, iter(following.in_place)))
                elif not visited.get(following, False):
                    message = f"The schema comes back to `#{following.path}` without going down into the value."
                    if len(stack) == _LONGEST_CHAIN:
                        message = f"References form a chain of {_LONGEST_CHAIN}."
                    fix = "Recur through `properties` or `items` only."
                    self.findings.append(Finding(rule="schema/circle", message=message, path=node.path, fix=fix))
        return order


def draft_of(schema: JsonMapping) -> str | None:
    """The draft a schema states, `2020-12` when it states none; None when it states one we do not know."""
    stated = schema.get("$schema", next(iter(DRAFTS)))
    return DRAFTS.get(stated.removesuffix("#")) if isinstance(stated, str) else None


def _count_checks(source: JsonMapping) -> int:
    count = len(source.keys() - _NON_CHECKING)
    for word in ("required", "patternProperties"):
        if isinstance(source.get(word), (list, dict)):
            count += len(source[word])
    for _, inner in _members(source.get("dependentRequired")):
        count += len(cast("list[object]", inner)) if isinstance(inner, list) else 0
    options = source.get("enum")
    if isinstance(options, list) and not all(isinstance(one, str) for one in cast("list[object]", options)):
        count += len(cast("list[object]", options))  # only strings are looked up by hash
    return max(count, 1)


def _members(value: object) -> Iterable[tuple[str, object]]:
    return cast("JsonMapping", value).items() if isinstance(value, dict) else ()


def _resource_of(source: JsonMapping, path: str, home: _Resource) -> _Resource:
    """The document that `source` belongs to: with an `$id` that names one, itself."""
    name = source.get("$id")
    # Up to draft 7 an `$id` that is only a fragment is an anchor.
    return _Resource(source, path) if path and isinstance(name, str) and not name.startswith("#") else home


def embed_schema(schema: JsonMapping, place: str) -> JsonMapping:
    """`schema` as it must be written where the JSON Pointer `place` of another document will be.

    Its own references begin at its root, which is `place` then. A bare copy would leave them dangling.
    """

    def rewrite(value: Any) -> Any:
        if isinstance(value, dict):
            items = cast("JsonMapping", value).items()
            return {
                key: f"#{place}{each[1:]}"
                if key in {"$ref", "$dynamicRef"} and isinstance(each, str) and (each == "#" or each.startswith("#/"))
                else rewrite(each)
                for key, each in items
                if key not in {"$schema", "$id"}
            }
        return [rewrite(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value

    return rewrite(schema)
