"""What a Python module offers to others: the names that it binds at its top, and those in its `__all__`."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from .bindings import bound_names
from .changes import SourceEdit

_STRING: Final = re.compile(r"[A-Za-z]{0,3}(['\"]{1,3})(.*)\1", re.DOTALL)


def rename_exports(text: str, old: str, new: str) -> list[SourceEdit]:
    """Edits that put `new` for `old` in what a module says to be public (`__all__`)."""
    lines = text.split("\n")
    edits: list[SourceEdit] = []
    for element in _exported_elements(text):
        if element.value == old and element.end_lineno == element.lineno:
            line = lines[element.lineno - 1].encode()
            first = len(line[: element.col_offset].decode()) + 1
            literal = line[element.col_offset : element.end_col_offset].decode()
            at = literal.find(old)
            if at > 0 and _STRING.fullmatch(literal):
                edits.append(SourceEdit(element.lineno, first + at, element.lineno, first + at + len(old), new))
    return edits


def loses_name(before: str, after: str, old: str) -> bool:
    """Whether a module bound `old` at its top before, and no longer does."""
    return old in _top_names(before) and old not in _top_names(after)


def _top_names(text: str) -> set[str]:
    tree = _tree(text)
    return set() if tree is None else set(bound_names(tree.body))


def _exported_elements(text: str) -> Iterator[ast.Constant]:
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
