"""What a Python module offers to others: the names that it binds at its top, and those in its `__all__`."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from .changes import Edit
from .names import stored

__all__ = ["public_names", "rebinds"]

_STRING: Final = re.compile(r"[A-Za-z]{0,3}(['\"]{1,3})(.*)\1", re.DOTALL)


def public_names(text: str, old: str, new: str) -> list[Edit]:
    """Edits that put `new` for `old` in what a module says to be public (`__all__`)."""
    lines = text.split("\n")
    edits: list[Edit] = []
    for element in _public(text):
        if element.value == old and element.end_lineno == element.lineno:
            line = lines[element.lineno - 1].encode()
            first = len(line[: element.col_offset].decode()) + 1
            said = line[element.col_offset : element.end_col_offset].decode()
            at = said.find(old)
            if at > 0 and _STRING.fullmatch(said):
                edits.append(Edit(element.lineno, first + at, element.lineno, first + at + len(old), new))
    return edits


def rebinds(before: str, after: str, old: str) -> bool:
    """Whether a module bound `old` at its top before, and no longer does."""
    return old in _bound(before) and old not in _bound(after)


def _bound(text: str) -> set[str]:
    tree = _tree(text)
    return set() if tree is None else set(stored(tree.body))


def _public(text: str) -> Iterator[ast.Constant]:
    tree = _tree(text)
    for node in tree.body if tree else []:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                yield from _texts(value)
            case ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value):
                yield from _texts(value)
            case ast.AugAssign(target=ast.Name(id="__all__"), value=value):
                yield from _texts(value)
            case _:
                continue


def _texts(value: ast.expr) -> Iterator[ast.Constant]:
    yield from (each for each in ast.walk(value) if isinstance(each, ast.Constant) and isinstance(each.value, str))


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
