"""Small questions to a Python syntax tree: names behind aliases, children, texts. It knows nothing of tests."""

import ast
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from retinue.catalogue._prose import one_line

from .facts import ImportBinding

__all__ = ["Function", "Names", "descend", "first_line", "source_of", "start_of", "statements"]

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_LONGEST: Final = 200
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Names:
    """What the names of a module stand for, by its imports.

    Attributes:
        stars: The modules of which everything was imported.
    """

    def __init__(self, imports: Sequence[ImportBinding]) -> None:
        self._targets = {one.bound: one.target for one in imports if one.bound != "*"}
        self.stars = frozenset(one.target.removesuffix(".*") for one in imports if one.bound == "*")

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


def statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements that run when a body does: also those under `if`, `try` and `with`."""
    return [node for node in descend(body, into_functions=False) if isinstance(node, ast.stmt)]


def descend(roots: Sequence[ast.AST], *, into_functions: bool = True) -> Iterator[ast.AST]:
    """`roots` and everything below them, in source order; of names and constants, which are most, nothing is below."""
    waiting = [*reversed(roots)]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.Name | ast.Constant) and (into_functions or not isinstance(node, _SCOPES)):
            waiting += [*ast.iter_child_nodes(node)][::-1]


def start_of(node: Function | ast.ClassDef) -> int:
    """The line on which it begins, its decorators included."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def source_of(node: ast.AST | None, *, longest: int = _LONGEST) -> str:
    """`node` as code on one line, cut with an ellipsis; empty for nothing."""
    try:
        return one_line(ast.unparse(node), longest=longest) if node else ""
    except RecursionError:
        return "…"


def first_line(node: Function | ast.ClassDef) -> str:
    """The first paragraph of its docstring, on one line."""
    return one_line((ast.get_docstring(node) or "").partition("\n\n")[0], longest=_LONGEST)
