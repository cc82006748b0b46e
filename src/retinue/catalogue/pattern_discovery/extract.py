"""From the bytes of files to their facts, a batch at a time; what runs in the worker processes.

One syntax tree is in memory at a time. A file that cannot be read is a fact too, with its line and reason.
"""

import ast
import gc
import warnings
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import Final

from retinue.catalogue.pattern_discovery.facts import Case, FileFacts, Fixture, Import, Step, Symbol
from retinue.catalogue.pattern_discovery.read_case import Surrounding, case_of
from retinue.catalogue.pattern_discovery.read_fixture import fixture_of, fixtures_by_call
from retinue.catalogue.pattern_discovery.read_step import phrases_of, steps_of
from retinue.catalogue.pattern_discovery.read_symbol import symbol_of
from retinue.catalogue.pattern_discovery.read_text import rules_of
from retinue.catalogue.pattern_discovery.tree import (
    Function,
    Names,
    descend,
    literal_strings,
    statements,
)
from retinue.tools.encoding import decode

__all__ = ["extract", "facts_of"]

_PARSING: Final = Lock()


def extract(batch: Sequence[tuple[str, bytes, bool]]) -> list[FileFacts]:
    """The facts of some files, in their order; each with whether tests are collected from it."""
    # A syntax tree has a million small parts and no circles: looking for some costs a tenth of the time.
    gc.disable()
    try:
        return [facts_of(path, data, collected=collected) for path, data, collected in batch]
    finally:
        gc.enable()


def facts_of(path: str, data: bytes, *, collected: bool) -> FileFacts:
    """The facts of one file. Never raises for what is in it."""
    try:
        if path.endswith(".py"):
            return _Module(data, collected=collected).facts()
        text = decode(data).text
        if path.endswith(".feature"):
            return FileFacts(phrases=list(phrases_of(text)))
        return FileFacts(rules=list(rules_of(text)))
    except SyntaxError as error:
        return FileFacts(error=f"it is not Python: {error.msg}", error_line=max(error.lineno or 0, 0))
    except (RecursionError, MemoryError):
        return FileFacts(error="it is nested too deeply to be read")
    except ValueError as error:
        return FileFacts(error=f"it is not Python: {error}")


def _parsed(data: bytes) -> ast.Module:
    # Bytes, so that the parser itself finds the encoding that the file declares (PEP 263).
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is its author's business
        return ast.parse(data)


class _Module:
    """One Python file while it is read."""

    def __init__(self, data: bytes, *, collected: bool) -> None:
        self._tree = _parsed(data)
        self._tests = collected
        self._lines = decode(data).text.splitlines() if self._tests else []
        nodes = list(descend([self._tree]))
        loaded = {node.id for node in nodes if isinstance(node, ast.Name)}
        self._imports = [found._replace(used=found.bound in loaded) for node in nodes for found in _imported(node)]
        self._names = Names(self._imports)
        self._dotted = _dotted(nodes, self._imports)
        self._inherited = _inherited([node for node in nodes if isinstance(node, ast.ClassDef)])
        self._fixtures: list[Fixture] = []
        self._cases: list[Case] = []
        self._steps: list[Step] = []

    def facts(self) -> FileFacts:
        """Everything in it."""
        body = list(statements(self._tree.body))
        functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        marks = [mark for node in body for mark in _marks(node)]
        symbols: list[Symbol] = []
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._function(node, "", is_unittest=False, above=marks)
                case ast.ClassDef():
                    self._class(node, "", marks)
                case _:
                    self._fixtures += fixtures_by_call(node, functions, self._names)
            if (symbol := symbol_of(node, self._names)) is not None:
                symbols.append(symbol)
        by_name = {one.name: one for one in symbols}  # of overloads the last is the one that runs
        mine = {one.line for one in (*self._fixtures, *self._cases, *self._steps)}
        return FileFacts(
            fixtures=self._fixtures,
            tests=self._cases,
            steps=self._steps,
            symbols=[one for one in by_name.values() if one.line not in mine],
            imports=self._imports,
            dotted=self._dotted,
            plugins=[name for node in body for name in _plugins(node)],
        )

    def _function(self, node: Function, owner: str, *, is_unittest: bool, above: Sequence[ast.expr]) -> None:
        fixture = fixture_of(node, owner, self._names)
        if fixture is not None:
            self._fixtures.append(fixture)
            return
        steps = list(steps_of(node, self._names))
        self._steps += steps
        if not steps and self._tests and node.name.startswith("test"):
            self._cases.append(case_of(node, Surrounding(owner, is_unittest, above, self._lines), self._names))

    def _class(self, node: ast.ClassDef, owner: str, above: Sequence[ast.expr]) -> None:
        """The tests and fixtures of a class, and of the classes in it."""
        is_unittest = any(self._names.resolve(base).endswith("TestCase") for base in node.bases)
        collected = is_unittest or node.name.startswith("Test") or node.name in self._inherited
        name = f"{owner}::{node.name}" if owner else node.name
        marks = [*above, *node.decorator_list, *(mark for one in node.body for mark in _marks(one))]
        for one in statements(node.body):
            if isinstance(one, ast.ClassDef):
                self._class(one, name, marks)
            elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                if collected:
                    self._function(one, name, is_unittest=is_unittest, above=marks)
                elif (fixture := fixture_of(one, name, self._names)) is not None:
                    self._fixtures.append(fixture)


def _inherited(classes: Sequence[ast.ClassDef]) -> set[str]:
    """The classes whose tests run as those of a test class in the same file that builds on them."""
    bases = {one.name: [base.id for base in one.bases if isinstance(base, ast.Name)] for one in classes}
    waiting = [name for name in bases if name.startswith("Test")]
    found: set[str] = set()
    while waiting:
        below = [base for base in bases.get(waiting.pop(), ()) if base in bases and base not in found]
        found.update(below)
        waiting += below
    return found


def _imported(node: ast.AST) -> Iterator[Import]:
    match node:
        case ast.Import(names=aliases):
            for one in aliases:
                # `import a.b` binds `a`, and `a.b.c` is then found by its dots alone.
                root = one.name.partition(".")[0]
                yield Import(one.asname, one.name) if one.asname else Import(root, root)
        case ast.ImportFrom(module=module, names=aliases, level=level):
            stem = f"{'.' * level}{module or ''}"
            for one in aliases:
                joint = "" if stem.endswith(".") else "."
                yield Import("*" if one.name == "*" else one.asname or one.name, f"{stem}{joint}{one.name}")
        case _:
            pass


def _dotted(nodes: Iterable[ast.AST], imports: Iterable[Import]) -> list[str]:
    """What is used through imported names, as far as the dots go: `flask.json.dumps`."""
    bound = {one.bound: one.target for one in imports}
    found: dict[str, None] = {}
    inner: set[int] = set()
    for node in nodes:
        if not isinstance(node, ast.Attribute) or id(node) in inner:
            continue
        parts: list[str] = []
        value: ast.expr = node
        while isinstance(value, ast.Attribute):
            parts.append(value.attr)
            value = value.value
            inner.add(id(value))
        if isinstance(value, ast.Name) and value.id in bound:
            found[".".join([bound[value.id], *reversed(parts[-3:])])] = None
    return list(found)


def _marks(node: ast.stmt) -> list[ast.expr]:
    """The marks that `pytestmark = …` puts on everything beside it."""
    if not isinstance(node, ast.Assign) or not any(_is_name(one, "pytestmark") for one in node.targets):
        return []
    return list(node.value.elts) if isinstance(node.value, ast.List | ast.Tuple) else [node.value]


def _plugins(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign) and any(_is_name(one, "pytest_plugins") for one in node.targets):
        return literal_strings(node.value)
    return []


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
