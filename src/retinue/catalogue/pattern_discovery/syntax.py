"""Small questions to a Python syntax tree: names behind aliases, children, texts. It knows nothing of tests."""

import ast
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias, cast

from retinue.catalogue.pattern_discovery.facts import ImportBinding

__all__ = [
    "Function", "Names", "descend", "first_line", "is_name", "literal_strings", "source_of", "start_of", "statements",
]  # fmt: skip

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_LONGEST: Final = 200
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_PLAIN: Final = frozenset(
    {"arg", "attr", "conversion", "ctx", "id", "kind", "level", "module", "name", "op", "ops", "simple", "type_comment"}
)
"""Fields that hold text, numbers or operators."""

_below: dict[type[ast.AST], tuple[str, ...]] = {}
"""The fields of each kind of node that may hold others, the last first."""


class Names:
    """What the names of a module stand for, by its imports.

    Args:
        imports: All of the module's imports.
    """

    def __init__(self, imports: Sequence[ImportBinding]) -> None:
        self._targets = {one.bound: one.target for one in imports if one.bound != "*"}
        self._stars = tuple(one.target.removesuffix(".*") for one in imports if one.bound == "*")

    def resolve(self, node: ast.expr) -> str:
        """`node` as a dotted name with its imports followed (`pt.fixture` is `pytest.fixture`); empty when it is none.

        A call is asked for its function, so `fixture(scope="module")` is `pytest.fixture` too.
        """
        parts: list[str] = []
        while isinstance(node, ast.Attribute | ast.Call):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
            node = node.value if isinstance(node, ast.Attribute) else node.func
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self._targets.get(node.id, node.id), *reversed(parts)])

    def imported(self, node: ast.Attribute) -> str:
        """The same for what is used through an import, as in `flask.json.dumps`; empty for anything else."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return self.resolve(node) if isinstance(root, ast.Name) and root.id in self._targets else ""

    def starred(self, module: str) -> bool:
        """Whether everything was imported from `module`."""
        return module in self._stars


def statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements that run when a body does: also those under `if`, `try` and `with`."""
    return [node for node in descend(body, into_functions=False) if isinstance(node, ast.stmt)]


def descend(roots: Sequence[ast.AST], *, into_functions: bool = True) -> Iterator[ast.AST]:
    """`roots` and everything below them, in source order, but for operators and what stands for "load" and "store".

    Not `ast.walk`: most nodes are names and constants, and to look for something below each of them takes most of its
    time.
    """
    waiting = list(reversed(roots))
    while waiting:
        node = waiting.pop()
        yield node
        kind = node.__class__
        if kind is ast.Name or kind is ast.Constant or (not into_functions and isinstance(node, _SCOPES)):
            continue
        fields = _below.get(kind)
        if fields is None:
            fields = _below[kind] = tuple(name for name in reversed(node._fields) if name not in _PLAIN)
        for field in fields:
            value = getattr(node, field, None)
            if value.__class__ is list:
                waiting += [one for one in cast("list[object]", value)[::-1] if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST):
                waiting.append(value)


def start_of(node: Function | ast.ClassDef) -> int:
    """The line on which it begins, its decorators included."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def source_of(node: ast.AST | None, *, longest: int = _LONGEST) -> str:
    """`node` as code on one line, cut with an ellipsis; empty for nothing."""
    try:
        return _cut(ast.unparse(node), longest) if node else ""
    except RecursionError:
        return "…"


def first_line(node: Function | ast.ClassDef) -> str:
    """The first paragraph of its docstring, on one line."""
    return _cut((ast.get_docstring(node) or "").partition("\n\n")[0], _LONGEST)


def is_name(node: ast.expr, name: str) -> bool:
    """Whether it is this name, and nothing else."""
    return isinstance(node, ast.Name) and node.id == name


def literal_strings(node: ast.expr | None) -> list[str]:
    """The texts in a literal: of one text, or of a list or tuple; a text of names is parted at its commas."""
    match node:
        case ast.Constant(value=str(text)):
            return [name for part in text.split(",") if (name := part.strip())]
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return [one.value for one in elements if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        case _:
            return []


def _cut(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
