"""A schema as a graph: which part applies to the same value, and which to a value below it.

References are followed here and not only in the validator, because what they add up to decides how long a check can
take (see `_validator`), and because a reference that leads out of the schema, or back to itself without going down a
level, is refused. Not a check of the keywords' own values: the meta-schema does that first.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from retinue.contract.finding import Finding
from retinue.contract.json import MAX_DEPTH, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.text import shown

__all__ = ["DRAFTS", "MAX_NODES", "Graph", "Node", "Size", "draft_of", "measure", "purify"]

MAX_NODES: Final = 1_000_000
"""Most values in one instance; a part that is used twice counts twice."""

_CHARACTERS: Final = 32
"""So many characters weigh as much as one value."""

_LARGEST: Final = 10**308
_INFINITE: Final = float("inf")
_MOST: Final = 50
"""So many obstacles are listed. A value with more is no JSON by accident."""


class Size(NamedTuple):
    """What `measure` saw.

    Attributes:
        weight: Values, plus the length of their strings in units of 32 characters.
        depth: Containers inside each other: 0 for a scalar.
    """

    weight: int
    depth: int


def measure(value: object, *, max_nodes: int = MAX_NODES, max_depth: int = MAX_DEPTH) -> Size | None:
    """Weigh JSON data; None when `value` is anything else, a subclass included, or beyond a limit.

    Level by level, so a cycle ends at the depth limit and a part that is used many times at the node limit.
    """
    weight = characters = depth = 0
    level: list[object] = [value]
    while level:
        weight += len(level)
        if weight > max_nodes or depth > max_depth:
            return None
        below: list[object] = []
        texts: list[object] = []
        containers = False
        for item in level:
            kind = type(item)
            if kind is str:
                texts.append(item)
            elif kind is dict:
                containers = True
                members = cast("dict[object, object]", item)
                texts.extend(members)
                below.extend(members.values())
            elif kind is list or kind is tuple:
                containers = True
                below.extend(cast("list[object]", item))
            elif not _is_plain(item, kind):
                return None
        for text in texts:
            if type(text) is not str or not (text.isascii() or _encodes(text)):
                return None
            characters += len(text)
        level = below
        depth += containers
    return Size(weight + characters // _CHARACTERS, depth)


def _is_plain(item: object, kind: type) -> bool:
    """Say whether a scalar that is no text is one of JSON's own, and in reach of every reader."""
    if kind is int:
        return -_LARGEST < cast("int", item) < _LARGEST
    if kind is float:
        return -_INFINITE < cast("float", item) < _INFINITE
    return kind is bool or item is None


def purify(
    value: object, *, max_nodes: int = MAX_NODES, max_depth: int = MAX_DEPTH
) -> tuple[object, tuple[Finding, ...]]:
    """Copy `value` into JSON's own types, and say what stands in the way.

    A subclass of `str`, `int`, `float`, `dict`, `list` or `tuple` becomes what it is a kind of. With findings the copy
    is not to be used.
    """
    copier = _Copier(max_nodes=max_nodes, max_depth=max_depth)
    try:
        copy = copier.copy(value)
    except _Enough:
        copy = None
    return copy, tuple(copier.obstacles)


class _Enough(Exception):
    """Nothing is gained by looking further."""


class _Copier:
    """One walk over one value. It goes down by recursion: the depth is capped well below the interpreter's."""

    def __init__(self, *, max_nodes: int, max_depth: int) -> None:
        self.obstacles: list[Finding] = []
        self._max_nodes = max_nodes
        self._max_depth = max_depth
        self._nodes = 0
        self._where: list[str | int] = []
        self._open: list[object] = []

    def copy(self, item: object) -> object:
        self._nodes += 1
        if self._nodes > self._max_nodes:
            self._where = []  # it is the whole that is too large
            self._refuse("size", f"The value holds more than {self._max_nodes:,} values", "Send less, or a file")
            raise _Enough
        match item:
            case str():
                return self._text(str.__str__(item))
            case bool() | None:
                return item
            case int():
                return self._integer(int.__int__(item))
            case float():
                return self._float(float.__float__(item))
            case dict() | list() | tuple():
                return self._container(cast("dict[object, object] | list[object] | tuple[object, ...]", item))
            case _:
                self._refuse("json", f"A value of type `{type(item).__name__}` is not JSON", "Convert it first")
                return None

    def _container(self, item: dict[object, object] | list[object] | tuple[object, ...]) -> object:
        if len(self._open) == self._max_depth:
            if any(outer is item for outer in self._open):
                self._refuse("json", "The value contains itself", "Give each part its own value")
            else:
                self._refuse("depth", f"More than {self._max_depth} containers are nested", "Flatten the value")
            return None
        self._open.append(item)
        try:
            if isinstance(item, dict):
                return {self._key(key): self._member(key, inner) for key, inner in item.items()}
            return [self._member(index, inner) for index, inner in enumerate(item)]
        finally:
            self._open.pop()

    def _member(self, key: object, item: object) -> object:
        self._where.append(key if isinstance(key, (str, int)) else shown(key))
        copy = self.copy(item)
        self._where.pop()
        return copy

    def _key(self, key: object) -> str:
        if isinstance(key, str):
            return self._text(str.__str__(key))
        self._refuse("json", f"The key {shown(key)} is not a string", "Use strings as keys")
        return ""

    def _text(self, text: str) -> str:
        if not _encodes(text):
            self._refuse("json", f"The text {shown(text)} holds half of a surrogate pair", "Send the whole character")
        return text

    def _integer(self, number: int) -> int:
        if not -_LARGEST < number < _LARGEST:
            self._refuse("json", "An integer has more than 308 digits", "Send it as a string")
        return number

    def _float(self, number: float) -> float:
        if not -_INFINITE < number < _INFINITE:
            self._refuse("json", f"`{number}` is not a JSON number", "Leave it out, or use a finite number")
        return number

    def _refuse(self, rule: str, message: str, fix: str) -> None:
        path = pointer(
            part.encode(errors="replace").decode() if isinstance(part, str) else part for part in self._where
        )
        self.obstacles.append(Finding(rule=f"schema/{rule}", message=f"{message}.", path=path, fix=f"{fix}."))
        if len(self.obstacles) == _MOST:
            raise _Enough


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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

_BESIDE: Final = ("anyOf", "oneOf", "not", "if", "then", "else")
_BESIDE_NAMED: Final = ("dependentSchemas", "dependencies")
_SILENT: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$schema", "$vocabulary", "default", "definitions",
     "deprecated", "description", "examples", "format", "id", "properties", "readOnly", "title", "writeOnly"}
)  # fmt: skip
"""Keywords that make no check of their own; `format` is counted with `type`."""


@dataclass(slots=True, eq=False)
class Node:
    """One schema.

    Attributes:
        checks: How many things its own keywords look at, and so at most complain about.
        beside: Schemas applied to the same value, as often as they are applied.
        always: Those of them that every value must pass.
        named: Schemas applied to one member or position.
        rest: Schemas applied to all members (`True`) or positions (`False`) that this node does not name.
        every: The same, for named ones too.
    """

    path: str
    source: JsonMapping
    checks: int = 1
    beside: list["Node"] = field(default_factory=list["Node"])
    always: list["Node"] = field(default_factory=list["Node"])
    named: dict[str | int, list["Node"]] = field(default_factory=dict[str | int, list["Node"]])
    rest: dict[bool, list["Node"]] = field(default_factory=dict[bool, list["Node"]])
    every: dict[bool, list["Node"]] = field(default_factory=dict[bool, list["Node"]])

    def below(self) -> list["Node"]:
        """All that is applied to the same value or below it."""
        groups = (self.beside, *self.named.values(), *self.rest.values(), *self.every.values())
        return [node for group in groups for node in group]


@dataclass(frozen=True, slots=True)
class _Resource:
    """A schema document: the whole, or a part with an `$id` of its own."""

    root: JsonMapping
    path: str


class Graph:
    """The nodes of one schema that can be reached from its root.

    Attributes:
        root: Where a check begins.
        order: Every node, what is applied beside it before the node itself.
        findings: References that lead nowhere, outside, or in a circle.
        recursive: It comes back to itself below a value, so only the value says how deep a check goes.
    """

    def __init__(self, schema: JsonMapping) -> None:
        self.findings: list[Finding] = []
        self._by_id: dict[int, Node] = {}
        self._resources: dict[str, _Resource] = {}
        self._anchors: dict[str, list[tuple[JsonMapping, str, _Resource]]] = {}
        self._pending: list[tuple[Node, _Resource]] = []
        self._note_names(schema)
        whole = _Resource(schema, "")
        self.root = self._node(schema, "", whole)
        while self._pending:
            self._read(*self._pending.pop())
        self.order = self._sorted()
        self.recursive = self._is_recursive()

    def _note_names(self, schema: JsonMapping) -> None:
        """Find what references can name beside paths. Two things of one name would be a trap."""
        for source, path, home in _everything(schema):
            for word in ("$id", "$anchor", "$dynamicAnchor"):
                name = source.get(word)
                if not isinstance(name, str):
                    continue
                if word != "$id" or name.startswith("#"):
                    self._anchors.setdefault(name.removeprefix("#"), []).append((source, path, home))
                elif "://" in name and self._resources.setdefault(name.removesuffix("#"), home) != home:
                    self._refuse(path, word, f"{shown(name)} appears twice", "Name each part once.")

    def _node(self, source: JsonMapping, path: str, home: _Resource) -> Node:
        node = self._by_id.get(id(source))
        if node is None:
            node = self._by_id[id(source)] = Node(path, source)
            self._pending.append((node, _home(source, path, home)))
        return node

    def _nodes(self, sources: object, path: str, home: _Resource) -> list[Node]:
        """The nodes of one schema, or of a list of them. `True` and `False` are no nodes."""
        if isinstance(sources, dict):
            return [self._node(cast("JsonMapping", sources), path, home)]
        if isinstance(sources, list):
            each = enumerate(cast("list[object]", sources))
            return [node for index, source in each for node in self._nodes(source, f"{path}/{index}", home)]
        return []

    def _read(self, node: Node, home: _Resource) -> None:
        """Follow every keyword of `node`."""
        source, path = node.source, node.path
        node.checks = _checks(source)
        for word in _BESIDE:
            node.beside += self._nodes(source.get(word), f"{path}/{word}", home)
        for word in _BESIDE_NAMED:
            for name, inner in _members(source.get(word)):
                if isinstance(inner, dict):
                    node.beside += self._nodes(cast("object", inner), path + pointer([word, name]), home)
        node.always += self._nodes(source.get("allOf"), f"{path}/allOf", home)
        for word, group in (("$ref", node.always), ("$dynamicRef", node.beside), ("$recursiveRef", node.beside)):
            if isinstance(source.get(word), str):
                group.extend(self._followed(node, word, source[word], home))
        node.beside += node.always
        for name, inner in _members(source.get("properties")):
            node.named[name] = self._nodes(inner, path + pointer(["properties", name]), home)
        for name, inner in _members(source.get("patternProperties")):
            node.every.setdefault(True, []).extend(
                self._nodes(inner, path + pointer(["patternProperties", name]), home)
            )
        self._read_positions(node, home)
        for word, groups, members in (
            ("additionalProperties", node.rest, True),
            ("unevaluatedProperties", node.every, True),
            ("propertyNames", node.every, True),
            ("additionalItems", node.rest, False),
            ("unevaluatedItems", node.every, False),
            ("contains", node.every, False),
        ):
            groups.setdefault(members, []).extend(self._nodes(source.get(word), f"{path}/{word}", home))

    def _read_positions(self, node: Node, home: _Resource) -> None:
        """`items` is one schema for the rest, or in older drafts a list by position as `prefixItems` is today."""
        for word in ("prefixItems", "items"):
            inner = node.source.get(word)
            if isinstance(inner, list):
                for index, one in enumerate(cast("list[object]", inner)):
                    node.named.setdefault(index, []).extend(self._nodes(one, f"{node.path}/{word}/{index}", home))
            else:
                node.rest.setdefault(False, []).extend(self._nodes(inner, f"{node.path}/{word}", home))

    # References.

    def _followed(self, node: Node, word: str, reference: str, home: _Resource) -> list[Node]:
        base, _, fragment = reference.partition("#")
        if base in DRAFTS and fragment in {"", "/"}:
            node.checks += _META_LOAD
            return []
        if word == "$dynamicRef" and fragment in self._anchors:
            return [self._node(*place) for place in self._anchors[fragment]]
        if word == "$recursiveRef":
            return [self.root, *self._nodes(home.root, home.path, home)]
        if base:
            if base not in self._resources:
                self._refuse(node.path, word, f"{shown(reference)} leads out of the schema, and nothing is fetched")
                return []
            home = self._resources[base]
        found = self._at(fragment, home)
        if not found:
            self._refuse(node.path, word, f"{shown(reference)} leads to nothing in this schema")
        return found

    def _at(self, fragment: str, home: _Resource) -> list[Node]:
        """The node that a URI fragment names: a JSON Pointer, an anchor, or nothing for the whole."""
        if fragment and not fragment.startswith("/"):
            return [self._node(*place) for place in self._anchors.get(fragment, ())]
        value = cast("object", home.root)
        for part in fragment.split("/")[1:]:
            key = _unquoted(part).replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict):
                value = cast("JsonMapping", value).get(key)
            elif isinstance(value, list) and key.isascii() and key.isdigit() and len(key) < 7:
                value = next(iter(cast("list[object]", value)[int(key) :]), None)
            else:
                value = None
        if value is True or value is False:
            return [Node(home.path + fragment, {})]
        return self._nodes(cast("object", value), home.path + fragment, home) if isinstance(value, dict) else []

    def _refuse(self, path: str, word: str, what: str, fix: str = _INLINE) -> None:
        self.findings.append(Finding(rule="schema/ref", message=f"`{word}` {what}.", path=f"{path}/{word}", fix=fix))

    # Order.

    def _sorted(self) -> list[Node]:
        """Sort by what stands beside what; a circle there checks one value for ever, and is a finding."""
        done: dict[Node, bool] = {}
        order: list[Node] = []
        for first in self._by_id.values():
            if first in done:
                continue
            done[first] = False
            stack = [(first, iter(first.beside))]
            while stack:
                node, beside = stack[-1]
                following = next(beside, None)
                if following is None:
                    done[node] = True
                    order.append(node)
                    stack.pop()
                elif following not in done and len(stack) < _LONGEST_CHAIN:
                    done[following] = False
                    stack.append((following, iter(following.beside)))
                elif not done.get(following, False):
                    self._refuse_circle(node, following, long=len(stack) == _LONGEST_CHAIN)
        return order

    def _is_recursive(self) -> bool:
        """Take away, again and again, what refers to nothing; what remains refers to itself."""
        above: dict[Node, list[Node]] = {}
        waiting: dict[Node, int] = {}
        for node in self.order:
            below = node.below()
            waiting[node] = len(below)
            for one in below:
                above.setdefault(one, []).append(node)
        free = [node for node, count in waiting.items() if not count]
        for node in free:  # grows while it is walked
            for one in above.get(node, ()):
                waiting[one] -= 1
                if not waiting[one]:
                    free.append(one)
        return len(free) < len(waiting)

    def _refuse_circle(self, node: Node, back: Node, *, long: bool) -> None:
        where = f"`#{back.path}`"
        message = f"References form a chain of {_LONGEST_CHAIN}" if long else f"The schema comes back to {where}"
        self.findings.append(
            Finding(
                rule="schema/circle",
                message=f"{message}{'.' if long else ' without going down into the value.'}",
                path=node.path,
                fix="Recur through `properties` or `items` only.",
            )
        )


def draft_of(schema: JsonMapping) -> str | None:
    """The draft a schema states, `2020-12` when it states none; None when it states one we do not know."""
    stated = schema.get("$schema", next(iter(DRAFTS)))
    return DRAFTS.get(stated.removesuffix("#")) if isinstance(stated, str) else None


def _checks(source: JsonMapping) -> int:
    count = len(source.keys() - _SILENT)
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


def _everything(schema: JsonMapping) -> Iterator[tuple[JsonMapping, str, _Resource]]:
    """Every object of a schema, keywords and data alike, with its path and the document it belongs to."""
    pending: list[tuple[object, str, _Resource]] = [(schema, "", _Resource(schema, ""))]
    while pending:
        value, path, home = pending.pop()
        if isinstance(value, dict):
            members = cast("JsonMapping", value)
            home = _home(members, path, home)
            yield members, path, home
            pending += [(inner, path + pointer([name]), home) for name, inner in members.items()]
        elif isinstance(value, list):
            pending += [(inner, f"{path}/{index}", home) for index, inner in enumerate(cast("list[object]", value))]


def _home(source: JsonMapping, path: str, home: _Resource) -> _Resource:
    """The document that `source` belongs to: with an `$id` that names one, itself."""
    name = source.get("$id")
    return _Resource(source, path) if path and isinstance(name, str) and not name.startswith("#") else home


def _unquoted(part: str) -> str:
    """Undo percent-encoding, which a fragment may carry."""
    if "%" not in part:
        return part
    first, *others = part.split("%")
    data = first.encode()
    for other in others:
        code = other[:2]
        data += bytes.fromhex(code) + other[2:].encode() if _is_hex(code) else b"%" + other.encode()
    return data.decode(errors="replace")


def _is_hex(code: str) -> bool:
    return len(code) == 2 and all(letter in "0123456789abcdefABCDEF" for letter in code)
