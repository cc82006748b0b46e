"""From the bytes of files to their facts, a batch at a time; what runs in the worker processes.

One syntax tree is in memory at a time. A file that cannot be read is a fact too, with its line and reason.
"""

import ast
import gc
import warnings
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Final

from retinue.catalogue.pattern_discovery.facts import (
    CaseFacts,
    FileFacts,
    Fixture,
    ImportBinding,
    PublicSymbol,
    StepDefinition,
)
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
            return _facts_of_module(data, is_test=is_test)
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


def _facts_of_module(data: bytes, *, is_test: bool) -> FileFacts:
    # Bytes, so that the parser itself finds the encoding that the file declares (PEP 263).
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is its author's business
        tree = ast.parse(data)
    nodes = list(descend([tree]))
    loaded = {node.id for node in nodes if isinstance(node, ast.Name)}
    imports = [one._replace(used=one.bound in loaded) for node in nodes for one in _imports(node)]
    names = Names(imports)
    fixtures: list[Fixture] = []
    cases: list[CaseFacts] = []
    steps: list[StepDefinition] = []
    for node, owner, marks, is_unittest in _functions(tree.body, "", [], names, is_unittest=False):
        fixture, own_steps = fixture_of(node, owner, names), list(steps_of(node, names))
        fixtures += [fixture] if fixture else []
        steps += own_steps
        if is_test and node.name.startswith("test") and not fixture and not own_steps:
            cases.append(case_of(node, owner, marks, names, is_unittest=is_unittest))
    lines = {one.line for one in (*fixtures, *cases, *steps)}
    # Of overloads the last is the one that runs.
    symbols = {one.name: one for node in statements(tree.body) if (one := _symbol(node)) is not None}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    inner = {id(node.value) for node in attributes}  # of `a.b.c` only the whole counts
    dotted = (name for node in attributes if id(node) not in inner and (name := names.imported(node)))
    return FileFacts(
        fixtures=fixtures,
        tests=cases,
        steps=steps,
        symbols=[one for one in symbols.values() if one.line not in lines],
        imports=imports,
        dotted=list(dict.fromkeys(dotted)),
        plugins=[name for value in _assigned(tree.body, "pytest_plugins") for name in literal_strings(value)],
    )


def _functions(
    body: Sequence[ast.stmt], owner: str, above: Sequence[ast.expr], names: Names, *, is_unittest: bool
) -> Iterator[tuple[Function, str, Sequence[ast.expr], bool]]:
    """The functions of a body and of the classes in it, each with its class, the marks above it, and its kind of class.

    A class that is not called as tests are counts too: in files of tests it is one that others build on.
    """
    marks = [*above, *_assigned(body, "pytestmark")]
    for node in statements(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, owner, marks, is_unittest
        elif isinstance(node, ast.ClassDef):
            is_case = any(names.resolve(base).endswith("TestCase") for base in node.bases)
            name = f"{owner}::{node.name}" if owner else node.name
            yield from _functions(node.body, name, [*marks, *node.decorator_list], names, is_unittest=is_case)


def _imports(node: ast.AST) -> Iterator[ImportBinding]:
    match node:
        case ast.Import(names=aliases):
            for one in aliases:
                # `import a.b` binds `a`, and `a.b.c` is then found by its dots alone.
                root = one.name.partition(".")[0]
                yield ImportBinding(one.asname, one.name) if one.asname else ImportBinding(root, root)
        case ast.ImportFrom(module=module, names=aliases, level=level):
            stem = f"{'.' * level}{module or ''}"
            for one in aliases:
                joint = "" if stem.endswith(".") else "."
                yield ImportBinding("*" if one.name == "*" else one.asname or one.name, f"{stem}{joint}{one.name}")
        case _:
            pass


def _assigned(body: Sequence[ast.stmt], name: str) -> list[ast.expr]:
    """What a statement of this body binds the name to; each part of a list."""
    values = [
        node.value for node in body if isinstance(node, ast.Assign) and any(is_name(one, name) for one in node.targets)
    ]
    return [one for value in values for one in (value.elts if isinstance(value, ast.List | ast.Tuple) else [value])]


def _symbol(node: ast.stmt) -> PublicSymbol | None:
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
    return PublicSymbol(node.name, signature, first_line(node), start_of(node))
