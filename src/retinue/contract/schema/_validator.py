"""A schema made ready for checking, and the four guards around the validator that does it.

The guards: a schema refers to nothing outside itself and nothing is ever fetched; schema and instance are capped in
depth and size; a pattern runs in linear time or is refused; references that multiply are refused by what they would
cost (see below). Formats are asserted: who writes `"format": "date"` means it.
"""

import functools
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeAlias, cast

import jsonschema_rs

from retinue.contract.finding import Finding
from retinue.contract.json import MAX_DEPTH, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.contract.text import shown
from retinue.errors import InvalidDefinition

from ._defaults import Defaults
from ._graph import DRAFTS, Graph, Node, Size, draft_of, measure, purify

__all__ = ["MAX_SCHEMA_NODES", "Loads", "Validator", "compile", "findings_in"]

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


MAX_SCHEMA_NODES: Final = 20_000
"""Most JSON values in one schema."""

_MAX_WORK: Final = 40_000_000
"""Most checks in one validation: a few seconds of a machine, which only somebody who means harm needs."""

_MAX_LOAD: Final = 1_000_000
"""Most checks of one scalar: a schema beyond it is of no use for anything."""

_MAX_TELLING: Final = 1_000_000
"""The validator copies the offending part into each error; past this much it is asked for the first error only."""

_LIGHT: Final = 500
"""A schema of at most this load runs over whatever the strict reader took without weighing it first."""

_REMEMBERED: Final = 512

_AS_OBJECTS: Final[dict[bool, JsonMapping]] = {True: {}, False: {"not": {}}}


def _refuse_to_fetch(uri: str) -> NoReturn:
    raise LookupError(uri)


_LINEAR = jsonschema_rs.RegexOptions(size_limit=2**20, dfa_size_limit=2**20)


def _built(schema: JsonMapping) -> jsonschema_rs.Validator:
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

    def __init__(self, schema: JsonMapping, *, validator: jsonschema_rs.Validator, graph: Graph, loads: Loads) -> None:
        self.schema = schema
        self._validator = validator
        self._loads = loads
        self._defaults = Defaults(graph)
        self._light = loads.at(MAX_DEPTH) <= _LIGHT and not graph.recursive

    def accepts(self, value: object, *, bounded: bool = False) -> bool:
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
            bounded: `value` came out of the strict reader (`contract.json.loads`), so it need not be walked again.
        """
        size: Size | None = None
        if not (bounded and self._light):
            size = measure(value)
            if size is None:
                value, obstacles = purify(value)
                if obstacles:
                    return list(obstacles)
                size = cast("Size", measure(value))
            if size.weight * self._loads.at(size.depth) > _MAX_WORK:
                return [_too_costly()]
        try:
            if self._validator.is_valid(value):
                return []
        except ValueError:
            size = None
        else:
            size = size or measure(value)
        if size is None:
            return self.findings(value)  # it was not as bounded as it was said to be
        return self._explained(value, size)

    def apply_defaults(self, value: object) -> tuple[object, list[str]]:
        """Give `value` with the schema's defaults for what is absent, and the JSON Pointers of those filled in.

        Through `properties`, `items`, `allOf` and `$ref`, not through alternatives. `value` itself stays as it is; with
        nothing to fill in it is what comes back.
        """
        return self._defaults.apply(value)

    def _explained(self, value: object, size: Size) -> list[Finding]:
        from ._explain import explain  # noqa: PLC0415 - most values pass

        if size.weight * (size.depth + 1) * self._loads.at(size.depth) <= _MAX_TELLING:
            return explain(self._validator.iter_errors(value), instance=value, schema=self.schema)
        found: list[Finding] = []
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as first:
            found = explain([first], instance=value, schema=self.schema)
        more = "The value is too large to list everything that is wrong with it."
        return [*found, Finding(rule="schema/more", message=more, fix="Fix this, then check again.")]


def compile(schema: JsonMapping) -> Validator:  # noqa: A001 - what it does; the builtin is never meant here
    """Make `schema` ready, by the draft it states (2020-12 when it states none).

    The same schema is made ready once, however often it is asked for; but telling that it is the same takes longer
    than a validation, so keep the validator.

    Raises:
        InvalidDefinition: The schema is broken or beyond a guard; `detail["findings"]` lists everything.
    """
    if measure(schema, max_nodes=MAX_SCHEMA_NODES) is None:
        return _validator(schema)
    return _remembered(json.dumps(schema, separators=(",", ":")))


def findings_in(schema: object) -> list[Finding]:
    """Say everything that is wrong with a schema itself; nothing, when `compile` takes it."""
    made = _examined(schema)
    return made if isinstance(made, list) else []


@functools.lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str) -> Validator:
    return _validator(json.loads(text))


def _validator(schema: object) -> Validator:
    made = _examined(schema)
    return made if isinstance(made, Validator) else _broken(made)


def _examined(schema: object) -> Validator | list[Finding]:  # noqa: PLR0911 - one way out for each kind of wrong
    """The validator of a schema, or what is wrong with it, looked for in the order in which it makes sense."""
    value, obstacles = purify(schema, max_nodes=MAX_SCHEMA_NODES)
    if obstacles:
        return list(obstacles)
    if not isinstance(value, (dict, bool)):
        return [Finding(rule="schema/type", message=f"{shown(value)} is not a schema.", fix="Give a JSON object.")]
    members: JsonMapping = _AS_OBJECTS[value] if isinstance(value, bool) else cast("JsonMapping", value)
    if draft_of(members) is None:
        return [_unknown_draft(members["$schema"])]
    if wrong := _against_meta_schema(members):
        return wrong
    graph = Graph(members)
    if graph.findings:
        return [*dict.fromkeys(graph.findings), *_bad_patterns(graph)]
    loads = Loads(graph)
    if loads.at(0) > _MAX_LOAD:
        return [_too_costly()]
    try:
        validator = _built(members)
    except ValueError as error:
        return _refused(graph, error)
    return Validator(members, validator=validator, graph=graph, loads=loads)


def _broken(findings: list[Finding]) -> NoReturn:
    first = findings[0]
    more = f" And {len(findings) - 1} more." if len(findings) > 1 else ""
    raise InvalidDefinition(
        f"The schema cannot be used: {first.message}{more}",
        hint=first.fix,
        path=first.path,
        detail={"findings": [finding.to_json() for finding in findings]},
    )


# What can be wrong with a schema.


def _unknown_draft(stated: object) -> Finding:
    near = nearest(stated, DRAFTS, limit=1) if isinstance(stated, str) else ()
    fix = f"Did you mean `{near[0]}`?" if near else "Leave it out; then it is 2020-12."
    message = f"`$schema` names {shown(stated)}, a draft we do not know."
    return Finding(rule="schema/draft", message=message, path="/$schema", fix=fix)


@functools.cache
def _meta_validator(draft: str) -> jsonschema_rs.Validator:
    return _built({"$schema": draft, "$ref": draft})


def _against_meta_schema(schema: JsonMapping) -> list[Finding]:
    stated = str(schema.get("$schema", next(iter(DRAFTS)))).removesuffix("#")
    meta = _meta_validator(stated)
    if meta.is_valid(schema):
        return []
    from ._explain import explain  # noqa: PLC0415 - most schemas pass

    return explain(meta.iter_errors(schema), instance=schema, schema={})


def _too_costly() -> Finding:
    return Finding(
        rule="schema/load",
        message="References multiply so that checking would not end in reasonable time.",
        fix="Refer to each part once from each place; send less.",
    )


def _refused(graph: Graph, error: ValueError) -> list[Finding]:
    """What only the validator itself finds: above all patterns that do not run in linear time."""
    if wrong := list(_bad_patterns(graph)):
        return sorted(wrong, key=lambda finding: finding.path)
    message, path = str(error), ""
    if isinstance(error, jsonschema_rs.ValidationError):
        message, path = error.message, pointer(error.instance_path)
    return [Finding(rule="schema/refused", message=f"The validator refuses the schema: {message}.", path=path)]


def _bad_patterns(graph: Graph) -> Iterator[Finding]:
    for node in graph.order:
        own = {"pattern": [node.source.get("pattern")]}
        for keyword, patterns in {**own, "patternProperties": node.source.get("patternProperties", ())}.items():
            for pattern in filter(None, patterns):
                try:
                    _built({"pattern": pattern})
                except jsonschema_rs.ValidationError:
                    yield Finding(
                        rule=f"schema/{keyword}",
                        message=f"The pattern {shown(pattern)} is not a regular expression that runs in linear time.",
                        path=f"{node.path}/{keyword}",
                        fix="Do without look-around, back references and huge repetitions.",
                    )
