"""From the bytes of files to their facts, a batch at a time; what runs in the worker processes.

One syntax tree is in memory at a time. A file that cannot be read is a fact too, with its line and reason.
"""

import ast
import gc
import warnings
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Final

from retinue.catalogue.pattern_discovery.facts import Case, FileFacts, Fixture, Import, Step, Symbol
from retinue.catalogue.pattern_discovery.prohibitions import rules_of
from retinue.catalogue.pattern_discovery.pytest_functions import case_of, fixture_of
from retinue.catalogue.pattern_discovery.steps import phrases_of, steps_of
from retinue.catalogue.pattern_discovery.syntax import (
    Function,
    Names,
    descend,
    first_line,
    is_name,
    literal_strings,
    source_of,
    start_of,
    statements,
)
from retinue.tools.encoding import decode

__all__ = ["TEST", "extract", "facts_of"]

TEST: Final = "test"
"""The tag of files from which tests are collected."""

_PARSING: Final = Lock()


def extract(batch: Sequence[tuple[str, bytes, str]]) -> list[FileFacts]:
    """The facts of some files, in their order."""
    # A syntax tree has a million small parts and no circles: looking for some costs a tenth of the time.
    gc.disable()
    try:
        return [facts_of(path, data, is_test=tag == TEST) for path, data, tag in batch]
    finally:
        gc.enable()


def facts_of(path: str, data: bytes, *, is_test: bool) -> FileFacts:
    """The facts of one file, from which tests are collected or not. Never raises for what is in it."""
    try:
        if path.endswith(".py"):
            return _Module(data, is_test=is_test).facts()
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


class _Module:
    """One Python file while it is read."""

    def __init__(self, data: bytes, *, is_test: bool) -> None:
        # Bytes, so that the parser itself finds the encoding that the file declares (PEP 263).
        with _PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is its author's business
            self._tree = ast.parse(data)
        self._is_test = is_test
        self._nodes = list(descend([self._tree]))
        loaded = {node.id for node in self._nodes if isinstance(node, ast.Name)}
        imports = [one for node in self._nodes for one in _imports(node)]
        self._imports = [one._replace(used=one.bound in loaded) for one in imports]
        self._names = Names(self._imports)
        self._fixtures: list[Fixture] = []
        self._cases: list[Case] = []
        self._steps: list[Step] = []

    def facts(self) -> FileFacts:
        """Everything in it."""
        body = list(statements(self._tree.body))
        marks = [mark for node in body for mark in _marks(node)]
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._function(node, "", is_unittest=False, above=marks)
            elif isinstance(node, ast.ClassDef):
                self._class(node, "", marks)
        symbols = [symbol for node in body if (symbol := _symbol(node)) is not None]
        by_name = {one.name: one for one in symbols}  # of overloads the last is the one that runs
        dotted = (
            name for node in self._nodes if isinstance(node, ast.Attribute) and (name := self._names.imported(node))
        )
        mine = {one.line for one in (*self._fixtures, *self._cases, *self._steps)}
        return FileFacts(
            fixtures=self._fixtures,
            tests=self._cases,
            steps=self._steps,
            symbols=[one for one in by_name.values() if one.line not in mine],
            imports=self._imports,
            dotted=list(dict.fromkeys(dotted)),
            plugins=[name for node in body for name in _plugins(node)],
        )

    def _function(self, node: Function, owner: str, *, is_unittest: bool, above: Sequence[ast.expr]) -> None:
        fixture = fixture_of(node, owner, self._names)
        if fixture is not None:
            self._fixtures.append(fixture)
            return
        steps = list(steps_of(node, self._names))
        self._steps += steps
        if not steps and self._is_test and node.name.startswith("test"):
            self._cases.append(case_of(node, owner, above, self._names, is_unittest=is_unittest))

    def _class(self, node: ast.ClassDef, owner: str, above: Sequence[ast.expr]) -> None:
        """The tests and fixtures of a class, and of the classes in it. One without the name of a test is a base."""
        is_unittest = any(self._names.resolve(base).endswith("TestCase") for base in node.bases)
        name = f"{owner}::{node.name}" if owner else node.name
        marks = [*above, *node.decorator_list, *(mark for one in node.body for mark in _marks(one))]
        for one in statements(node.body):
            if isinstance(one, ast.ClassDef):
                self._class(one, name, marks)
            elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                self._function(one, name, is_unittest=is_unittest, above=marks)


def _imports(node: ast.AST) -> Iterator[Import]:
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


def _marks(node: ast.stmt) -> list[ast.expr]:
    """The marks that `pytestmark = …` puts on everything beside it."""
    if not isinstance(node, ast.Assign) or not any(is_name(one, "pytestmark") for one in node.targets):
        return []
    return list(node.value.elts) if isinstance(node.value, ast.List | ast.Tuple) else [node.value]


def _plugins(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign) and any(is_name(one, "pytest_plugins") for one in node.targets):
        return literal_strings(node.value)
    return []


def _symbol(node: ast.stmt) -> Symbol | None:
    """The public function or class that a statement of a module defines, or None."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
        return None
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(source_of(base, longest=60) for base in node.bases)
        signature = f"class {node.name}({bases})" if bases else f"class {node.name}"
    else:
        keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        returns = f" -> {source_of(node.returns, longest=60)}" if node.returns else ""
        signature = f"{keyword} {node.name}({source_of(node.args, longest=140)}){returns}"
    kind = "class" if isinstance(node, ast.ClassDef) else "function"
    return Symbol(node.name, kind, signature, first_line(node), start_of(node), node.end_lineno or node.lineno)
