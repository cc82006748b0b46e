"""A schema made ready for checking, and the four guards around the validator that does it.

The guards: a schema refers to nothing outside itself and nothing is ever fetched; schema and instance are capped in
depth and size; a pattern runs in linear time or is refused; references that multiply are refused by what they would
cost (see below). Formats are asserted: who writes `"format": "date"` means it.
"""

import copy
import functools
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NoReturn, TypeAlias, cast

import jsonschema_rs

from retinue.contract.finding import Finding
from retinue.contract.formatting import short_repr
from retinue.contract.json import MAX_DEPTH, Obstacle, Size, measure, pointer, to_plain_json
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.errors import InvalidDefinition

from ._explain import explain
from ._graph import DRAFTS, SchemaGraph, SchemaNode, draft_of

_ENDLESS: Final = 10**9
_MAX_STEPS: Final = 2_000_000
"""Steps after which the computing itself is given up, and with it every deeper instance."""

_Targets: TypeAlias = Counter[SchemaNode]


@dataclass(slots=True)
class _ChildCosts:
    """How often which schemas are applied to each member (or position), and to those that nobody names."""

    by_key: dict[str | int, _Targets] = field(default_factory=dict[str | int, _Targets])
    additional: _Targets = field(default_factory=_Targets)

    def include(self, other: "_ChildCosts") -> int:
        """Add what a schema applied beside this one does. Returns the steps it took."""
        names = self.by_key | other.by_key if other.additional else other.by_key
        for name in names:
            self.by_key[name] = self.by_key.get(name, self.additional) + other.by_key.get(name, other.additional)
        self.additional = self.additional + other.additional
        return 1 + len(names)


class CheckCosts:
    """The load of a schema by depth of the instance.

    Attributes:
        steady: The load no longer grows with the depth.
    """

    def __init__(self, graph: SchemaGraph) -> None:
        self._steps = 0
        self.is_steady = False
        self._own: dict[SchemaNode, int] = {}
        self._below: dict[SchemaNode, tuple[_ChildCosts, _ChildCosts]] = {}
        for node in graph.order:
            # Sum up `node` and all that stands beside it; `order` has brought those first.
            own = node.checks
            members, positions = _own_child_costs(node, members=True), _own_child_costs(node, members=False)
            for other in node.in_place:
                if self._steps > _MAX_STEPS or own >= _ENDLESS:
                    break
                own += self._own[other]
                self._steps += members.include(self._below[other][0]) + positions.include(self._below[other][1])
            self._own[node] = own
            self._below[node] = members, positions
        self._by_depth = self._costs_by_depth(graph.root) if self._steps <= _MAX_STEPS else []

    def at(self, depth: int) -> int:
        """The most checks that one value can meet in an instance of this depth; a billion means endless."""
        if depth < len(self._by_depth):
            return self._by_depth[depth]
        return self._by_depth[-1] if self.is_steady else _ENDLESS

    def _costs_by_depth(self, root: SchemaNode) -> list[int]:
        """The root's load for depth 0, 1, 2 …, until it stays the same or is beyond any use."""
        groups = {
            node: [group for one in below for group in (*one.by_key.values(), one.additional) if group]
            for node, below in self._below.items()
        }
        loads = dict(self._own)
        by_depth = [loads[root]]
        while len(by_depth) <= MAX_DEPTH and self._steps <= _MAX_STEPS and by_depth[-1] < _ENDLESS:
            deeper = {
                node: max(
                    self._own[node], *(sum(loads[to] * times for to, times in group.items()) for group in inner), 0
                )
                for node, inner in groups.items()
            }
            self._steps += sum(1 + sum(map(len, inner)) for inner in groups.values())
            # From here on nothing grows any more, however deep the value is.
            if deeper == loads:
                self.is_steady = True
                break
            loads = deeper
            by_depth.append(min(loads[root], _ENDLESS))
        return by_depth


def _own_child_costs(node: SchemaNode, *, members: bool) -> _ChildCosts:
    every = _Targets(node.universal.get(members, ()))
    by_key = {name: _Targets(inner) + every for name, inner in node.by_key.items() if isinstance(name, str) is members}
    return _ChildCosts(by_key, _Targets(node.additional.get(members, ())) + every)


MAX_SCHEMA_NODES: Final = 20_000
"""Most JSON values in one schema."""

_MAX_WORK: Final = 40_000_000
"""Most checks in one validation: a few seconds of a machine, which only somebody who means harm needs."""

_MAX_LOAD: Final = 1_000_000
"""Most checks of one scalar: a schema beyond it is of no use for anything."""

_MAX_EXPLAIN_WORK: Final = 1_000_000
"""The validator copies the offending part into each error; past this much it is asked for the first error only."""

_LIGHT_COST: Final = 500
"""A schema of at most this load runs over whatever the strict reader took without weighing it first."""

_CACHE_SIZE: Final = 512

_AS_OBJECTS: Final[dict[bool, JsonMapping]] = {True: {}, False: {"not": {}}}


def _refuse_to_fetch(uri: str) -> NoReturn:
    raise LookupError(uri)


# The engine that backtracks, which is the default, takes exponential time for some patterns.
_LINEAR = jsonschema_rs.RegexOptions(size_limit=2**20, dfa_size_limit=2**20)


def _build(schema: JsonMapping) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        schema,
        retriever=_refuse_to_fetch,
        pattern_options=_LINEAR,
        validate_formats=True,
        mask="the value",
    )


class Validator:
    """One schema, ready to check any number of values. Made by `compile`; safe to share between threads.

    Attributes:
        schema: The schema, a copy of our own.
    """

    def __init__(
        self, schema: JsonMapping, *, validator: jsonschema_rs.Validator, graph: SchemaGraph, loads: CheckCosts
    ) -> None:
        self.schema = schema
        self._validator = validator
        self._loads = loads
        self._defaults = Defaults(graph)
        self._light = loads.at(MAX_DEPTH) <= _LIGHT_COST and not graph.recursive

    def is_valid(self, value: object, *, bounded: bool = False) -> bool:
        """Say whether `value` passes. Options as for `findings`."""
        if bounded and self._light:
            try:
                return self._validator.is_valid(value)
            except ValueError:
                return False
        return not self.findings(value)

    def findings(self, value: object, *, bounded: bool = False) -> list[Finding]:
        """Check `value` and give everything that is wrong with it, in the order of the places.

        `path` of a finding is a JSON Pointer into `value`, `rule` is `schema/` and the keyword. What is no JSON data at
        all is a finding too, never an exception.

        Args:
            value: JSON data: `dict`, `list` or `tuple`, `str`, `int`, `float`, `bool`, None.
            bounded: `value` came out of the strict reader (`contract.json.loads`), so it need not be checked again.
        """
        size: Size | None = None
        if not (bounded and self._light):
            size = measure(value)
            if size is None:
                value, obstacles = to_plain_json(value)
                if obstacles:
                    return _obstacle_findings(obstacles)
                size = cast("Size", measure(value))
            if size.weight * self._loads.at(size.depth) > _MAX_WORK:
                return [_cost_finding()]
        try:
            # Most values pass, and to tell that is far quicker than to list what is wrong.
            if self._validator.is_valid(value):
                return []
        except ValueError:
            size = None
        else:
            size = size or measure(value)
        if size is None:
            return self.findings(value)  # it was not as bounded as it was said to be
        return self._explain(value, size)

    def apply_defaults(self, value: object) -> tuple[object, list[str]]:
        """Give `value` with the schema's defaults for what is absent, and the JSON Pointers of those filled in.

        Through `properties`, `items`, `allOf` and `$ref`, not through alternatives. `value` itself stays as it is; with
        nothing to fill in it is what comes back.
        """
        return self._defaults.apply(value)

    def _explain(self, value: object, size: Size) -> list[Finding]:
        if size.weight * (size.depth + 1) * self._loads.at(size.depth) <= _MAX_EXPLAIN_WORK:
            return explain(self._validator.iter_errors(value), instance=value, schema=self.schema)
        findings: list[Finding] = []
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as first:
            findings = explain([first], instance=value, schema=self.schema)
        more = "The value is too large to list everything that is wrong with it."
        return [*findings, Finding(rule="schema/more", message=more, fix="Fix this, then check again.")]


def compile(schema: JsonMapping) -> Validator:  # noqa: A001 - what it does; the builtin is never meant here
    """Make `schema` ready, by the draft it states (2020-12 when it states none).

    The same schema is made ready once, however often it is asked for; but telling that it is the same takes longer
    than a validation, so keep the validator.

    Raises:
        InvalidDefinition: The schema is broken or beyond a guard; `detail["findings"]` lists everything.
    """
    if measure(schema, max_nodes=MAX_SCHEMA_NODES) is None:
        return _validator(schema)
    return _cached_validator(json.dumps(schema, separators=(",", ":")))


def check_schema(schema: object) -> list[Finding]:
    """Say everything that is wrong with a schema itself; nothing, when `compile` takes it."""
    outcome = _examine(schema)
    return outcome if isinstance(outcome, list) else []


@functools.lru_cache(maxsize=_CACHE_SIZE)
def _cached_validator(text: str) -> Validator:
    return _validator(json.loads(text))


def _validator(schema: object) -> Validator:
    outcome = _examine(schema)
    if isinstance(outcome, Validator):
        return outcome
    first = outcome[0]
    more = f" And {len(outcome) - 1} more." if len(outcome) > 1 else ""
    raise InvalidDefinition(
        f"The schema cannot be used: {first.message}{more}",
        hint=first.fix,
        path=first.path,
        detail={"findings": [finding.to_json() for finding in outcome]},
    )


def _examine(schema: object) -> Validator | list[Finding]:
    """The validator of a schema, or what is wrong with it, looked for in the order in which it makes sense."""
    value, obstacles = to_plain_json(schema, max_nodes=MAX_SCHEMA_NODES)
    if obstacles:
        return _obstacle_findings(obstacles)
    if not isinstance(value, (dict, bool)):
        return [Finding(rule="schema/type", message=f"{short_repr(value)} is not a schema.", fix="Give a JSON object.")]
    members: JsonMapping = _AS_OBJECTS[value] if isinstance(value, bool) else cast("JsonMapping", value)
    if draft_of(members) is None:
        stated: object = members["$schema"]
        near = nearest(stated, DRAFTS, limit=1) if isinstance(stated, str) else ()
        fix = f"Did you mean `{near[0]}`?" if near else "Leave it out; then it is 2020-12."
        message = f"`$schema` names {short_repr(stated)}, a draft we do not know."
        return [Finding(rule="schema/draft", message=message, path="/$schema", fix=fix)]
    meta = _meta_validator(str(members.get("$schema", next(iter(DRAFTS)))).removesuffix("#"))
    if not meta.is_valid(members):
        return explain(meta.iter_errors(members), instance=members, schema={})
    graph = SchemaGraph(members)
    if graph.findings:
        return [*dict.fromkeys(graph.findings), *_check_patterns(graph)]
    loads = CheckCosts(graph)
    if loads.at(0) > _MAX_LOAD:
        return [_cost_finding()]
    try:
        validator = _build(members)
    except ValueError as error:
        # What only the validator itself finds: above all patterns that do not run in linear time.
        if findings := list(_check_patterns(graph)):
            return sorted(findings, key=lambda finding: finding.path)
        message, path = str(error), ""
        if isinstance(error, jsonschema_rs.ValidationError):
            message, path = error.message, pointer(error.instance_path)
        return [Finding(rule="schema/refused", message=f"The validator refuses the schema: {message}.", path=path)]
    return Validator(members, validator=validator, graph=graph, loads=loads)


def _obstacle_findings(obstacles: Iterable[Obstacle]) -> list[Finding]:
    return [
        Finding(rule=f"schema/{each.reason}", message=each.message, path=each.path, fix=each.fix) for each in obstacles
    ]


@functools.cache
def _meta_validator(draft: str) -> jsonschema_rs.Validator:
    return _build({"$schema": draft, "$ref": draft})


def _cost_finding() -> Finding:
    return Finding(
        rule="schema/load",
        message="References multiply so that checking would not end in reasonable time.",
        fix="Refer to each part once from each place; send less.",
    )


def _check_patterns(graph: SchemaGraph) -> Iterator[Finding]:
    for node in graph.order:
        own = {"pattern": [node.source.get("pattern")]}
        for keyword, patterns in {**own, "patternProperties": node.source.get("patternProperties", ())}.items():
            for pattern in filter(None, patterns):
                try:
                    _build({"pattern": pattern})
                except jsonschema_rs.ValidationError:
                    yield Finding(
                        rule=f"schema/{keyword}",
                        message=f"The pattern {short_repr(pattern)} is not a regular "
                        "expression that runs in linear time.",
                        path=f"{node.path}/{keyword}",
                        fix="Do without look-around, back references and huge repetitions.",
                    )


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
        members = {**cast("JsonMapping", value)}
        below: dict[str, list[SchemaNode]] = {}
        for filling in fillings:
            for name, inner in filling.members.items():
                if name in members:
                    below.setdefault(name, []).extend(inner)
        # What is there is filled in before what is absent: a default is taken as it stands.
        for name, inner in below.items():
            members[name] = self._fill(members[name], list(dict.fromkeys(inner)), [*where, name], applied)
        for filling in fillings:
            for name, default in filling.own.items():
                if name not in members:
                    members[name] = copy.deepcopy(default)
                    applied.append(pointer([*where, name]))
        return members

    def _prune(self) -> None:
        """Forget every schema below which no default stands, so that it is not searched again."""
        above: dict[SchemaNode, list[SchemaNode]] = {}
        for node, filling in self._fillings.items():
            for inner in chain(filling.items, *filling.members.values()):
                above.setdefault(inner, []).append(node)
        nodes_with_defaults = [node for node, filling in self._fillings.items() if filling.own]
        for node in nodes_with_defaults:  # grows during the loop
            nodes_with_defaults += above.pop(node, ())
        self._fillings = {node: self._fillings[node] for node in dict.fromkeys(nodes_with_defaults)}
        for filling in self._fillings.values():
            filling.items = [node for node in filling.items if node in self._fillings]
            members = {name: [one for one in inner if one in self._fillings] for name, inner in filling.members.items()}
            filling.members = {name: inner for name, inner in members.items() if inner}


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


def _unconditional_nodes(nodes: Iterable[SchemaNode]) -> list[SchemaNode]:
    """`nodes`, and the schemas that hold of every value these take; each once."""
    unique = dict.fromkeys(nodes)
    pending = list(unique)
    for node in pending:  # grows during the loop
        fresh = [other for other in node.unconditional if other not in unique]
        unique.update(dict.fromkeys(fresh))
        pending += fresh
    return pending
