"""Reads one test function: what it asks for, how it is written, what it replaces and how often it asserts."""

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue.pattern_discovery.facts import Case
from retinue.catalogue.pattern_discovery.read_fixture import asked_for, parameters_of, start_of, used_by_marks
from retinue.catalogue.pattern_discovery.tree import Function, Names, descend, first_line, literal_strings

__all__ = ["Surrounding", "case_of"]

_WORDS: Final = 80
_MOCKING: Final = frozenset({"unittest.mock", "mock"})
_MOCK_FIXTURES: Final = ("monkeypatch", "mocker")
_RAISES: Final = frozenset({"pytest.raises", "pytest.warns", "pytest.deprecated_call"})
_MARKED: Final = re.compile(r"^\s*#\s*(arrange|act|assert|given|when|then)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Surrounding:
    """What stands around a test and counts for it.

    Attributes:
        decorators: Of its classes and module (`pytestmark`).
        lines: Of the whole file.
    """

    owner: str
    is_unittest: bool
    decorators: Sequence[ast.expr]
    lines: Sequence[str]


def case_of(node: Function, around: Surrounding, names: Names) -> Case:
    """The facts of a test."""
    parts = [list(descend([statement])) for statement in node.body]
    inside = [*descend(node.decorator_list), *(one for part in parts for one in part)]
    asserting = [sum(_is_assertion(one, names) for one in part) for part in parts]
    mocks = _mocks(node, around.decorators, inside, names)
    marks = [*around.decorators, *node.decorator_list]
    filled = _filled_otherwise(node, marks, names)
    requests = [] if around.is_unittest else [one for one in parameters_of(node, around.owner) if one not in filled]
    requests += [*used_by_marks(marks), *_indirect(marks), *asked_for(node)]
    found = {
        "parametrize": any(_is_mark(one, "parametrize") for one in marks),
        "mock": bool(mocks),
        "aaa": _is_in_three_parts(node, around.lines, asserting),
        "class": bool(around.owner) and not around.is_unittest,
        "unittest": around.is_unittest,
        "raises": any(isinstance(one, ast.Call) and names.resolve(one) in _RAISES for one in inside),
        "property": any(names.resolve(one) == "hypothesis.given" for one in marks),
    }
    return Case(
        name=node.name,
        owner=around.owner,
        line=start_of(node),
        end=node.end_lineno or node.lineno,
        doc=first_line(node),
        requests=list(dict.fromkeys(requests)),
        patterns=[kind for kind, so in found.items() if so],
        mocks=mocks,
        asserts=sum(asserting),
        words=_words(inside),
    )


# --- what fills its parameters --------------------------------------------------------------------------------------


def _filled_otherwise(node: Function, marks: Sequence[ast.expr], names: Names) -> set[str]:
    """Parameters that no fixture fills: they are parametrized, patched in, or drawn by Hypothesis."""
    parameters = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    own = [one for one in parameters if one not in ("self", "cls")]
    filled = {name for one in marks for name in _parametrized(one)} - set(_indirect(marks))
    patched = sum(_injects(one, names) for one in node.decorator_list)
    filled.update(own[:patched])
    for one in node.decorator_list:
        if isinstance(one, ast.Call) and names.resolve(one) == "hypothesis.given":
            filled.update(keyword.arg for keyword in one.keywords if keyword.arg)
            filled.update(own[len(own) - len(one.args) :] if one.args else [])
    return filled


def _is_mark(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name


def _parametrized(node: ast.expr) -> list[str]:
    if not isinstance(node, ast.Call) or not _is_mark(node, "parametrize"):
        return []
    given = {one.arg: one.value for one in node.keywords}
    return literal_strings(node.args[0] if node.args else given.get("argnames"))


def _indirect(marks: Sequence[ast.expr]) -> list[str]:
    """Parametrized names that are fixtures all the same: `indirect=True`, or named there."""
    found: list[str] = []
    for one in marks:
        if not isinstance(one, ast.Call) or not _is_mark(one, "parametrize"):
            continue
        value = next((keyword.value for keyword in one.keywords if keyword.arg == "indirect"), None)
        if isinstance(value, ast.Constant) and value.value is True:
            found += _parametrized(one)
        found += literal_strings(value)
    return found


def _injects(node: ast.expr, names: Names) -> bool:
    """Whether a decorator of `unittest.mock` hands its mock to the test: it does unless told what to put in place."""
    if not isinstance(node, ast.Call):
        return False
    target = names.resolve(node)
    module, _, name = target.partition(".patch")
    if module not in _MOCKING or name not in ("", ".object"):
        return False
    own = 1 if name == "" else 2
    return len(node.args) <= own and all(one.arg != "new" for one in node.keywords)


# --- how it is written ----------------------------------------------------------------------------------------------


def _mocks(node: Function, above: Iterable[ast.expr], inside: Sequence[ast.AST], names: Names) -> list[str]:
    asked = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
    found = dict.fromkeys(name for name in _MOCK_FIXTURES if name in asked)
    for one in (*above, *inside):
        if isinstance(one, ast.Call):
            target = names.resolve(one)
            for module in _MOCKING:
                if target.startswith(f"{module}."):
                    found[target.removeprefix(f"{module}.").partition(".")[0]] = None
    return list(found)


def _is_assertion(node: ast.AST, names: Names) -> bool:
    """An `assert`, a method such as `assertEqual` or `assert_called_once`, or a `pytest.raises`."""
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and re.match(r"assert(?:[A-Z_]|\Z)", node.func.attr):
        return True
    return names.resolve(node) in _RAISES


def _is_in_three_parts(node: Function, lines: Sequence[str], asserting: Sequence[int]) -> bool:
    """Arrange, act, assert: its comments say so, or its statements come in that order and are never mixed.

    Without comments: at least two statements that assert nothing, then only such as do, and a blank line in between or
    between the first two.
    """
    said = {
        found[1].lower()
        for line in lines[node.lineno - 1 : node.end_lineno]
        if (found := _MARKED.match(line)) is not None
    }
    if said >= {"act", "assert"} or said >= {"when", "then"}:
        return True
    start = 1 if ast.get_docstring(node, clean=False) is not None else 0
    body, checks = node.body[start:], [count > 0 for count in asserting[start:]]
    first = checks.index(True) if True in checks else len(checks)
    if first < 2 or first == len(checks) or not all(checks[first:]):
        return False
    return any(not line.strip() for line in lines[body[0].lineno : body[first].lineno])


def _words(inside: Iterable[ast.AST]) -> list[str]:
    found: dict[str, None] = {}
    for one in inside:
        match one:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found[name] = None
            case _:
                continue
        if len(found) >= _WORDS:
            break
    return list(found)
