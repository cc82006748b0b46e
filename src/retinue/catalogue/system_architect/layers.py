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
from typing import Any, Final, NamedTuple, cast

from retinue.errors import RetinueError
from retinue.tools.workspace import Workspace

_LARGEST: Final = 1024 * 1024
_ENDS: Final = {
    "forbidden": {"sources": "source_modules", "targets": "forbidden_modules"},
    "independence": {"sources": "modules", "targets": "modules"},
}
"""Where import-linter's other contracts name who may not import whom."""


@dataclass(frozen=True, slots=True)
class LayerRule:
    """One rule: none imports one in a layer above it, or none of the sources imports another name among the targets.

    Attributes:
        origin: Who says so.
        layers: From the top to the bottom; those in one layer do not import each other, unless `open_siblings`.
        ignored: Imports that are let pass, as patterns of importer and imported.
        typing: Imports for type checkers only are judged too.
    """

    name: str
    origin: str
    layers: tuple[tuple[str, ...], ...] = ()
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    ignored: tuple[tuple[str, str], ...] = ()
    open_siblings: bool = False
    typing: bool = False

    def reason(self, one: "RuleImport") -> str:
        """Why an import is not allowed; empty when it is, or the rule says nothing of it."""
        if one.typing and not self.typing:
            return ""
        if any(
            _is_any(importer, one.importer) and _is_any(imported, one.imported) for importer, imported in self.ignored
        ):
            return ""
        if not self.layers:
            source = _first_match(self.sources, one.importer)
            target = _first_match(self.targets, one.imported) if source else ""
            return f"`{source}` may not import `{target}`" if target not in ("", source) else ""
        high, source = self._layer(one.importer)
        low, target = self._layer(one.imported) if source else (0, "")
        if source and target and low < high:
            return f"`{target}` is above `{source}`"
        is_beside = source and target and low == high and source != target and not self.open_siblings
        return f"`{source}` and `{target}` are neighbours" if is_beside else ""

    def _layer(self, names: frozenset[str]) -> tuple[int, str]:
        matches = ((number, _first_match(layer, names)) for number, layer in enumerate(self.layers))
        return next((one for one in matches if one[1]), (0, ""))


class RuleImport(NamedTuple):
    """One import, also by all the names that its two ends go by: dotted names, paths and components."""

    importer: frozenset[str]
    imported: frozenset[str]
    source: str
    target: str
    place: str
    typing: bool = False


def find_violations(
    rules: Sequence[LayerRule], imports: Iterable[RuleImport]
) -> list[tuple[LayerRule, RuleImport, str]]:
    """Every import that some rule does not allow, with that rule and the reason, in the order of the places."""
    reasons = ((rule, one, rule.reason(one)) for one in imports for rule in rules)
    return [(rule, one, reason) for rule, one, reason in reasons if reason]


def layers_of(lines: Sequence[str], prefix: str = "") -> tuple[tuple[str, ...], ...]:
    """The layers in lines from the top to the bottom, `a | b` for neighbours."""
    split = ([one.strip() for one in line.replace(":", "|").split("|") if one.strip()] for line in lines)
    return tuple(tuple(f"{prefix}{one}" for one in layer) for layer in split if layer)


def read_rules(workspace: Workspace) -> tuple[list[LayerRule], list[str]]:
    """The rules that the project itself states, and notes on what of them is not judged here."""
    rules, notes = list[LayerRule](), list[str]()
    for file, options, contracts in _contracts(workspace):
        typing = str(options.get("exclude_type_checking_imports", "")).lower() not in ("true", "1", "yes", "on")
        for key, contract in contracts.items():
            contract_rules = _rules(key, contract, file, typing=typing)
            if not contract_rules:
                kind = str(contract.get("type", "none"))
                notes.append(f"The contract {key!r} in {file} is of type {kind!r}, which is not judged here.")
            rules += contract_rules
    layers = _list(_toml(workspace, "retinue.toml", "architecture").get("layers"))
    return rules + ([LayerRule("layers", "retinue.toml", layers_of(layers))] if layers else []), notes


def _contracts(workspace: Workspace) -> Iterator[tuple[str, Mapping[str, Any], dict[str, Mapping[str, Any]]]]:
    """import-linter's options and contracts, with the file they stand in."""
    for file in (".importlinter", "setup.cfg"):
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        with suppress(configparser.Error, RetinueError):
            parser.read_string(workspace.read_text(file, max_bytes=_LARGEST))
        sections = {name: dict(parser[name]) for name in parser.sections()}
        prefix = "importlinter:contract:"
        contracts = {name.removeprefix(prefix): one for name, one in sections.items() if name.startswith(prefix)}
        yield file, sections.get("importlinter", {}), dict(contracts)
    options = _toml(workspace, "pyproject.toml", "tool", "importlinter")
    items = cast("list[object]", one) if isinstance(one := options.get("contracts"), list) else []
    tables = [cast("dict[str, Any]", one) for one in items if isinstance(one, dict)]
    yield "pyproject.toml", options, {str(one.get("id") or one.get("name") or at): one for at, one in enumerate(tables)}


def _rules(key: str, contract: Mapping[str, Any], file: str, *, typing: bool) -> list[LayerRule]:
    """The rules that a contract of import-linter states: of layers, one for each container; none for other types."""
    pairs = (one.partition("->") for one in _list(contract.get("ignore_imports")))
    ignored = tuple((importer.strip(), imported.strip()) for importer, arrow, imported in pairs if arrow)
    rule = LayerRule(str(contract.get("name") or key), file, ignored=ignored, typing=typing)
    if contract.get("type") == "layers":
        # Parentheses mark a layer that may be missing: one that is missing matches nothing anyhow.
        lines = [line.replace("(", "").replace(")", "") for line in _list(contract.get("layers"))]
        rule = replace(rule, open_siblings=any(":" in line for line in lines))
        prefixes = [f"{box}." for box in _list(contract.get("containers"))] or [""]
        return [replace(rule, layers=layers_of(lines, prefix)) for prefix in prefixes]
    ends = _ENDS.get(str(contract.get("type")))
    return [replace(rule, **{end: tuple(_list(contract.get(key))) for end, key in ends.items()})] if ends else []


def _list(value: object) -> list[str]:
    """A TOML list, or the lines of an INI value without comments."""
    rows = cast("list[object]", value) if isinstance(value, list) else []
    lines = value.split("\n") if isinstance(value, str) else map(str, rows)
    return [line for one in lines if (line := one.strip()) and not line.startswith("#")]


def _toml(workspace: Workspace, file: str, *keys: str) -> dict[str, Any]:
    """A table of a TOML file; empty when it is not there, or none."""
    try:
        table = tomllib.loads(workspace.read_text(file, max_bytes=_LARGEST))
    except (RetinueError, ValueError, RecursionError):
        return {}
    for key in keys:
        inner: object = table.get(key)
        table = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return table


@lru_cache(maxsize=50_000)
def _first_match(patterns: tuple[str, ...], names: frozenset[str]) -> str:
    """The first pattern that one of `names` is, or lies below; empty when none is."""
    return next((one for one in patterns if any(_matches(_parts(one), _parts(name)) for name in names)), "")


@lru_cache(maxsize=50_000)
def _parts(name: str) -> tuple[str, ...]:
    """A dotted name or a path in its parts."""
    return tuple(name.strip().removesuffix("/").replace("/", ".").split("."))


def _is_any(pattern: str, names: Iterable[str]) -> bool:
    return any(_matches(_parts(pattern), _parts(name), exact=True) for name in names)


def _matches(pattern: Sequence[str], parts: Sequence[str], *, exact: bool = False) -> bool:
    """Whether a name is what a pattern says or, unless `exact`, lies below it; `*` is one part, `**` are some."""
    if not pattern or not parts:
        return not pattern and not (exact and parts)
    if pattern[0] == "**":
        return any(_matches(pattern[1:], parts[count:], exact=exact) for count in range(1, len(parts) + 1))
    return pattern[0] in ("*", parts[0]) and _matches(pattern[1:], parts[1:], exact=exact)
