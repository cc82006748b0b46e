"""Where Python files name something: as code, in texts, and in `__all__`. What a name means is not known here.

A language server misses what it cannot type and what imports hand on. So whoever renames looks here for what was left.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .changes import Edit
from .names import stored

__all__ = ["Mention", "mentions", "public_names", "rebinds"]

_STRING: Final = re.compile(r"[A-Za-z]{0,3}(['\"]{1,3})(.*)\1", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mention:
    """One place that holds a name, its line and column from 1.

    Attributes:
        is_code: It is a name of the code. Else it stands in a comment or a text.
        is_path: It is the last part of a text that is a name or a dotted path, as in `getattr(it, "name")`.
    """

    line: int
    column: int
    is_code: bool
    is_path: bool = False


def mentions(text: str, name: str) -> Iterator[Mention]:
    """Every place of a Python file that holds `name` as a whole word; none when it has no tokens."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    dotted = re.compile(rf"(?:[\w.:]*[.:])?{re.escape(name)}")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                if token.string == name:
                    yield Mention(token.start[0], token.start[1] + 1, is_code=True)
            elif token.type in (tokenize.STRING, tokenize.COMMENT):
                inside = _STRING.fullmatch(token.string)
                is_path = inside is not None and dotted.fullmatch(inside[2]) is not None
                for found in word.finditer(token.string):
                    before, newline, same = token.string[: found.start()].rpartition("\n")
                    line = token.start[0] + before.count("\n") + len(newline)
                    column = len(same) + 1 + (0 if newline else token.start[1])
                    yield Mention(line, column, is_code=False, is_path=is_path)
    except (tokenize.TokenError, SyntaxError):
        return


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
