"""Reads pytest fixtures and tests: what each asks for, what a fixture gives, how a test is written."""

import ast
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from retinue.catalogue.pattern_discovery.facts import CaseFacts, Fixture
from retinue.catalogue.pattern_discovery.syntax import (
    Function,
    Names,
    descend,
    first_line,
    is_name,
    literal_strings,
    source_of,
    start_of,
)

__all__ = ["case_of", "fixture_of"]

_FIXTURES: Final = frozenset(
    {"pytest.fixture", "pytest.yield_fixture", "pytest_asyncio.fixture", "pytest.fixtures.fixture"}
)
_WRAPPERS: Final = frozenset({"AsyncGenerator", "AsyncIterable", "AsyncIterator", "Generator", "Iterable", "Iterator"})
_NOTHING: Final = frozenset({"None", "Any", "t.Any", "typing.Any", "object"})
_WORDS: Final = 80
_MOCKING: Final = ("unittest.mock", "mock")
_MOCK_FIXTURES: Final = ("monkeypatch", "mocker")
_RAISES: Final = frozenset({"pytest.raises", "pytest.warns", "pytest.deprecated_call"})
_GIVEN: Final = "hypothesis.given"


def fixture_of(node: Function, owner: str, names: Names) -> Fixture | None:
    """The fixture that a decorated function is, or None."""
    decorator = next((one for one in node.decorator_list if names.resolve(one) in _FIXTURES), None)
    if decorator is None:
        return None
    options = {one.arg: one.value for one in decorator.keywords} if isinstance(decorator, ast.Call) else {}
    constants = {key: value.value for key, value in options.items() if isinstance(value, ast.Constant)}
    own_name, scope = constants.get("name"), constants.get("scope", "function" if "scope" not in options else None)
    inside = list(descend(node.body, into_functions=False))
    yields = any(isinstance(one, ast.Yield) for one in inside)
    return Fixture(
        name=own_name if isinstance(own_name, str) else node.name,
        owner=owner,
        line=start_of(node),
        end=node.end_lineno or node.lineno,
        doc=first_line(node),
        scope=scope if isinstance(scope, str) else "dynamic",
        autouse=constants.get("autouse") is True,
        params=_params(options.get("params")),
        gives=_annotation(node.returns) or _value_given(inside),
        tears_down=yields or any(isinstance(one, ast.Attribute) and one.attr == "addfinalizer" for one in inside),
        depends_on=_requests(node, owner, node.decorator_list),
    )


def _params(node: ast.expr | None) -> list[str]:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [source_of(one, longest=80) for one in node.elts[:50]]
    text = source_of(node, longest=80)
    return [text] if text not in ("", "None") else []


# --- what is asked for ----------------------------------------------------------------------------------------------


def _requests(node: Function, owner: str, marks: Sequence[ast.expr]) -> list[str]:
    """The fixtures asked for by parameters, by `usefixtures` and by `request.getfixturevalue("name")`."""
    calls = [one for one in (*marks, *descend(node.body)) if isinstance(one, ast.Call)]
    by_name = [
        name
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("usefixtures", "getfixturevalue")
        for argument in call.args
        for name in literal_strings(argument)
    ]
    return list(dict.fromkeys([*_parameters(node, owner), *by_name]))


def _parameters(node: Function, owner: str) -> list[str]:
    """The parameters that pytest fills: those without a default, and without the instance or class."""
    positional = [*node.args.posonlyargs, *node.args.args]
    required = positional[: len(positional) - len(node.args.defaults)]
    if owner and not any(is_name(one, "staticmethod") for one in node.decorator_list):
        required = required[1:]
    named = [one for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default is None]
    return [one.arg for one in (*required, *named) if one.arg != "request"]


def _is_parametrize(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parametrize"


# --- what a fixture gives -------------------------------------------------------------------------------------------


def _annotation(node: ast.expr | None) -> str:
    """An annotation without the iterator around it; nothing for None and for what says as little."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ""
    if isinstance(node, ast.Subscript) and source_of(node.value).rpartition(".")[2] in _WRAPPERS:
        node = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    text = source_of(node, longest=100)
    return "" if text in _NOTHING else text


def _value_given(inside: Sequence[ast.AST]) -> str:
    """What it yields or returns, as a reader would name it: a local variable by what it was made of."""
    yielded = [one.value for one in inside if isinstance(one, ast.Yield)]
    returned = [one.value for one in inside if isinstance(one, ast.Return) and one.value is not None]
    bound: dict[str, ast.expr] = {}
    for one in inside:
        match one:
            case ast.Assign(targets=targets, value=value):
                bound = {target.id: value for target in targets if isinstance(target, ast.Name)} | bound
            case ast.withitem(context_expr=value, optional_vars=ast.Name(id=name)):
                bound.setdefault(name, value)
            case _:
                pass
    value = next(iter(yielded or returned), None)
    value = bound.get(value.id, value) if isinstance(value, ast.Name) else value
    value = value.value if isinstance(value, ast.Await) else value
    if isinstance(value, ast.Call):
        function = source_of(value.func, longest=80)
        return function if function.rpartition(".")[2][:1].isupper() else f"{function}()"
    text = source_of(value, longest=80)
    return "" if text == "None" else text


# --- how a test is written ------------------------------------------------------------------------------------------


def case_of(node: Function, owner: str, above: Sequence[ast.expr], names: Names, *, is_unittest: bool) -> CaseFacts:
    """The facts of a test.

    Args:
        node: The test.
        owner: Its class; empty in a module.
        above: The decorators of its classes, and the marks of its module (`pytestmark`).
        names: What names stand for.
        is_unittest: Its class is a `unittest.TestCase`.
    """
    parts = [list(descend([statement])) for statement in node.body]
    inside = [*descend(node.decorator_list), *(one for part in parts for one in part)]
    asserting = [sum(_is_assertion(one, names) for one in part) for part in parts]
    mocks = _mocks(node, [*above, *inside], names)
    marks = [*above, *node.decorator_list]
    kinds = {
        "parametrize": any(map(_is_parametrize, marks)),
        "mock": bool(mocks),
        "aaa": _is_in_three_parts(node, asserting),
        "class": bool(owner) and not is_unittest,
        "unittest": is_unittest,
        "raises": any(isinstance(one, ast.Call) and names.resolve(one) in _RAISES for one in inside),
        "property": any(names.resolve(one) == _GIVEN for one in marks),
    }
    used = (
        one.id if isinstance(one, ast.Name) else one.attr for one in inside if isinstance(one, ast.Name | ast.Attribute)
    )
    return CaseFacts(
        name=node.name,
        owner=owner,
        line=start_of(node),
        end=node.end_lineno or node.lineno,
        doc=first_line(node),
        requests=[] if is_unittest else _requests(node, owner, marks),
        patterns=[kind for kind, is_so in kinds.items() if is_so],
        mocks=mocks,
        asserts=sum(asserting),
        words=list(dict.fromkeys(used))[:_WORDS],
    )


def _mocks(node: Function, inside: Iterable[ast.AST], names: Names) -> list[str]:
    parameters = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
    mocks = dict.fromkeys(name for name in _MOCK_FIXTURES if name in parameters)
    for one in inside:
        if isinstance(one, ast.Call):
            target = names.resolve(one)
            mocks |= {
                target.removeprefix(f"{module}.").partition(".")[0]: None
                for module in _MOCKING
                if target.startswith(f"{module}.")
            }
    return list(mocks)


def _is_assertion(node: ast.AST, names: Names) -> bool:
    """An `assert`, a method such as `assertEqual` or `assert_called_once`, or a `pytest.raises`."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Assert)
    if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("assert"):
        following = node.func.attr.removeprefix("assert")[:1]
        return not following or following == "_" or following.isupper()
    return names.resolve(node) in _RAISES


def _is_in_three_parts(node: Function, asserting: Sequence[int]) -> bool:
    """Arrange, act, assert: two statements or more that assert nothing, a gap, then only such as do."""
    start = 1 if ast.get_docstring(node, clean=False) is not None else 0
    body, checks = node.body[start:], [count > 0 for count in asserting[start:]]
    first = checks.index(True) if True in checks else 0
    if first < 2 or not all(checks[first:]):
        return False
    return any(after.lineno - (before.end_lineno or 0) > 1 for before, after in pairwise(body[: first + 1]))
