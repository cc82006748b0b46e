"""Layer rules: read from a request or from the project's own files, and held against what the project imports.

Read are import-linter's contracts (`layers`, `forbidden`, `independence`) in `.importlinter`, `setup.cfg` or
`pyproject.toml`, and `layers` under `[architecture]` in `retinue.toml`. Only direct imports are judged.
"""

import configparser
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal, cast

from retinue.errors import RetinueError
from retinue.tools.workspace import Workspace

__all__ = ["Broken", "Rule", "RuleImport", "broken", "layers_rule", "read_rules"]

_LARGEST: Final = 1024 * 1024
_INI: Final = (".importlinter", "setup.cfg")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        kind: `layers`: none imports one above it. `forbidden`: no source imports a target. `independence`: none of
            the sources imports another.
        layers: From the top to the bottom; those in one layer do not import each other, unless `open_siblings`.
        ignored: Imports that are let pass, as patterns of importer and imported.
        origin: Who says so.
    """

    name: str
    kind: Literal["layers", "forbidden", "independence"]
    origin: str
    layers: tuple[tuple[str, ...], ...] = ()
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    ignored: tuple[tuple[str, str], ...] = ()
    open_siblings: bool = False
    typing: bool = False


@dataclass(frozen=True, slots=True)
class RuleImport:
    """One import, by all the names that its two ends go by: dotted names, paths and components."""

    importer: frozenset[str]
    imported: frozenset[str]
    place: str
    shown: tuple[str, str]
    typing: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """An import that a rule does not allow."""

    rule: Rule
    source: str
    target: str
    place: str
    reason: str


class _Group:
    """Names that stand for modules, looked up often for the same files."""

    def __init__(self, names: Iterable[str]) -> None:
        self._patterns = [(name, _parts(name)) for name in names]
        self._known: dict[frozenset[str], str] = {}

    def first(self, names: frozenset[str]) -> str:
        """The first of its names that one of `names` is, or lies below; empty when none is."""
        if names not in self._known:
            every = [_parts(name) for name in names]
            fitting = (name for name, pattern in self._patterns if any(_fits(pattern, one) for one in every))
            self._known[names] = next(fitting, "")
        return self._known[names]


class _Judge:
    """One rule, ready to be held against many imports."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._layers = [_Group(layer) for layer in rule.layers]
        self._sources, self._targets = _Group(rule.sources), _Group(rule.targets)
        self._ignored = [(_parts(left), _parts(right)) for left, right in rule.ignored]

    def reason(self, one: RuleImport) -> str:
        """Why the import is not allowed; empty when it is, or the rule says nothing of it."""
        if one.typing and not self.rule.typing:
            return ""
        if any(_is_any(left, one.importer) and _is_any(right, one.imported) for left, right in self._ignored):
            return ""
        match self.rule.kind:
            case "layers":
                return self._against_layers(one)
            case "forbidden":
                source = self._sources.first(one.importer)
                target = self._targets.first(one.imported) if source else ""
                return f"`{source}` may not import `{target}`" if target else ""
            case "independence":
                source = self._sources.first(one.importer)
                target = self._sources.first(one.imported) if source else ""
                return f"`{source}` and `{target}` are independent" if target and source != target else ""

    def _against_layers(self, one: RuleImport) -> str:
        above = self._layer(one.importer)
        below = self._layer(one.imported) if above else None
        if above is None or below is None:
            return ""
        (high, source), (low, target) = above, below
        if low < high:
            return f"`{target}` is above `{source}`"
        if low == high and source != target and not self.rule.open_siblings:
            return f"`{source}` and `{target}` are neighbours"
        return ""

    def _layer(self, names: frozenset[str]) -> tuple[int, str] | None:
        for number, layer in enumerate(self._layers):
            if found := layer.first(names):
                return number, found
        return None


def broken(rules: Sequence[Rule], every: Iterable[RuleImport]) -> list[Broken]:
    """Every import that some rule does not allow, in the order of the places."""
    judges = [_Judge(rule) for rule in rules]
    return [
        Broken(judge.rule, *one.shown, one.place, reason)
        for one in every
        for judge in judges
        if (reason := judge.reason(one))
    ]


def layers_rule(layers: Sequence[str], *, origin: str) -> Rule:
    """A rule out of names from the top to the bottom, `a | b` for neighbours."""
    split = (tuple(_split_siblings(line)) for line in layers)
    return Rule("layers", "layers", origin, layers=tuple(layer for layer in split if layer))


def read_rules(workspace: Workspace) -> tuple[list[Rule], list[str]]:
    """The rules that the project itself states, and notes on what of them is not judged here."""
    rules: list[Rule] = []
    notes: list[str] = []
    for file, options, contracts in _contracts(workspace):
        typing = str(options.get("exclude_type_checking_imports", "")).lower() not in ("true", "1", "yes", "on")
        for key, contract in contracts.items():
            stated = _rules(key, contract, file, typing=typing)
            if not stated:
                kind = str(contract.get("type", "none"))
                notes.append(f"The contract {key!r} in {file} is of type {kind!r}, which is not judged here.")
            rules += stated
    layers = _list(_toml(workspace, "retinue.toml", "architecture").get("layers"))
    return rules + ([layers_rule(layers, origin="retinue.toml")] if layers else []), notes


def _contracts(workspace: Workspace) -> Iterator[tuple[str, Mapping[str, Any], dict[str, Mapping[str, Any]]]]:
    """import-linter's options and contracts, with the file they stand in."""
    for file in _INI:
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        with suppress(configparser.Error, RetinueError):
            parser.read_string(workspace.read_text(file, max_bytes=_LARGEST))
        sections = {name: dict(parser[name]) for name in parser.sections()}
        prefix = "importlinter:contract:"
        contracts = {name.removeprefix(prefix): one for name, one in sections.items() if name.startswith(prefix)}
        yield file, sections.get("importlinter", {}), dict(contracts)
    options = _toml(workspace, "pyproject.toml", "tool", "importlinter")
    listed = cast("list[object]", one) if isinstance(one := options.get("contracts"), list) else []
    tables = [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict)]
    yield "pyproject.toml", options, {str(one.get("id") or one.get("name") or at): one for at, one in enumerate(tables)}


def _rules(key: str, contract: Mapping[str, Any], file: str, *, typing: bool) -> list[Rule]:
    """The rules that a contract of import-linter states: of layers, one for each container; none for other types."""
    pairs = (one.partition("->") for one in _list(contract.get("ignore_imports")))
    ignored = tuple((left.strip(), right.strip()) for left, arrow, right in pairs if arrow)
    rule = Rule(str(contract.get("name") or key), "layers", file, ignored=ignored, typing=typing)
    match contract.get("type"):
        case "layers":
            # Parentheses mark a layer that may be missing: one that is missing matches nothing anyhow.
            lines = [line.replace("(", "").replace(")", "") for line in _list(contract.get("layers"))]
            rule = replace(rule, open_siblings=any(":" in line for line in lines))
            prefixes = [f"{box}." for box in _list(contract.get("containers"))] or [""]
            layers = [layer for line in lines if (layer := _split_siblings(line))]
            return [
                replace(rule, layers=tuple(tuple(f"{prefix}{one}" for one in layer) for layer in layers))
                for prefix in prefixes
            ]
        case "forbidden":
            sources, targets = _list(contract.get("source_modules")), _list(contract.get("forbidden_modules"))
            return [replace(rule, kind="forbidden", sources=tuple(sources), targets=tuple(targets))]
        case "independence":
            return [replace(rule, kind="independence", sources=tuple(_list(contract.get("modules"))))]
        case _:
            return []


def _list(value: object) -> list[str]:
    """A TOML list, or the lines of an INI value without comments."""
    if isinstance(value, list):
        return [str(one).strip() for one in cast("list[object]", value) if str(one).strip()]
    lines = [line.strip() for line in value.split("\n")] if isinstance(value, str) else []
    return [line for line in lines if line and not line.startswith("#")]


def _toml(workspace: Workspace, file: str, *keys: str) -> dict[str, Any]:
    """A table of a TOML file; empty when it is not there, or none."""
    try:
        table = tomllib.loads(workspace.read_text(file, max_bytes=_LARGEST))
    except (RetinueError, ValueError, RecursionError):
        return {}
    for key in keys:
        inner: object = table.get(key)
        if not isinstance(inner, dict):
            return {}
        table = cast("dict[str, Any]", inner)
    return table


@lru_cache(maxsize=50_000)
def _parts(name: str) -> tuple[str, ...]:
    """A dotted name or a path in its parts."""
    return tuple(name.strip().removesuffix("/").replace("/", ".").split("."))


def _is_any(pattern: Sequence[str], names: Iterable[str]) -> bool:
    return any(_fits(pattern, _parts(name), exact=True) for name in names)


def _fits(pattern: Sequence[str], parts: Sequence[str], *, exact: bool = False) -> bool:
    """Whether a name is what a pattern says or, unless `exact`, lies below it; `*` is one part, `**` are some."""
    if not pattern or not parts:
        return not pattern and not (exact and parts)
    if pattern[0] == "**":
        return any(_fits(pattern[1:], parts[taken:], exact=exact) for taken in range(1, len(parts) + 1))
    return pattern[0] in ("*", parts[0]) and _fits(pattern[1:], parts[1:], exact=exact)


def _split_siblings(line: str) -> list[str]:
    return [one.strip() for one in line.replace(":", "|").split("|") if one.strip()]
