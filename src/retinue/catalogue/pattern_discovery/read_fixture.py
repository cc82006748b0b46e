"""Reads the pytest fixtures of a module: what each is called, what it gives, and what it asks for."""

import ast
from collections.abc import Iterator
from typing import Final

from retinue.catalogue.pattern_discovery.facts import Fixture
from retinue.catalogue.pattern_discovery.tree import Function, Names, descend, first_line, literal_strings, source_of

__all__ = ["asked_for", "fixture_of", "fixtures_by_call", "parameters_of", "start_of", "used_by_marks"]

_FIXTURES: Final = frozenset(
    {"pytest.fixture", "pytest.yield_fixture", "pytest_asyncio.fixture", "pytest.fixtures.fixture"}
)
_WRAPPERS: Final = frozenset({"AsyncGenerator", "AsyncIterable", "AsyncIterator", "Generator", "Iterable", "Iterator"})


def fixture_of(node: Function, owner: str, names: Names) -> Fixture | None:
    """The fixture that a decorated function is, or None."""
    decorator = next((one for one in node.decorator_list if names.resolve(one) in _FIXTURES), None)
    return None if decorator is None else _made(node, decorator, owner, node.name)


def fixtures_by_call(node: ast.stmt, functions: dict[str, Function], names: Names) -> Iterator[Fixture]:
    """Fixtures without a decorator: `client = pytest.fixture(make)` or `pytest.fixture(scope=…)(make)`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return
    call = node.value
    if names.resolve(call) not in _FIXTURES or not call.args or not isinstance(call.args[0], ast.Name):
        return
    made_from = functions.get(call.args[0].id)
    settings = call.func if isinstance(call.func, ast.Call) else call
    if made_from is not None:
        bound = [target.id for target in node.targets if isinstance(target, ast.Name)]
        yield from (_made(made_from, settings, "", name) for name in bound)


def _made(node: Function, decorator: ast.expr, owner: str, name: str) -> Fixture:
    given = {one.arg: one.value for one in decorator.keywords} if isinstance(decorator, ast.Call) else {}
    named = given.get("name")
    params = given.get("params")
    autouse = given.get("autouse")
    gives, tears_down = _given(node)
    asked = [*parameters_of(node, owner), *used_by_marks(node.decorator_list), *asked_for(node)]
    return Fixture(
        name=named.value if isinstance(named, ast.Constant) and isinstance(named.value, str) else name,
        owner=owner,
        line=start_of(node),
        end=node.end_lineno or node.lineno,
        doc=first_line(node),
        scope=_scope(given.get("scope")),
        autouse=isinstance(autouse, ast.Constant) and autouse.value is True,
        params=_params(params),
        gives=gives,
        tears_down=tears_down,
        depends_on=list(dict.fromkeys(asked)),
    )


def _scope(node: ast.expr | None) -> str:
    if node is None:
        return "function"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "dynamic"


def _params(node: ast.expr | None) -> list[str]:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [source_of(one, longest=80) for one in node.elts[:50]]
    return [source_of(node, longest=80)] if node is not None and source_of(node) != "None" else []


def start_of(node: Function | ast.ClassDef) -> int:
    """The line on which it begins, its decorators included."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def parameters_of(node: Function, owner: str) -> list[str]:
    """The parameters that pytest fills: those without a default, and without the instance or class."""
    positional = [*node.args.posonlyargs, *node.args.args]
    required = positional[: len(positional) - len(node.args.defaults)]
    static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list)
    if owner and not static:
        required = required[1:]
    named = [one for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default is None]
    return [one.arg for one in (*required, *named) if one.arg != "request"]


def used_by_marks(decorators: list[ast.expr]) -> list[str]:
    """What `@pytest.mark.usefixtures(...)` names."""
    calls = [one for one in decorators if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)]
    return [
        name
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "usefixtures"
        for argument in call.args
        for name in literal_strings(argument)
    ]


def asked_for(node: Function) -> list[str]:
    """What it asks for while it runs, by `request.getfixturevalue("name")`."""
    if not any(one.arg == "request" for one in (*node.args.args, *node.args.kwonlyargs)):
        return []
    calls = (one for one in descend(node.body) if isinstance(one, ast.Call))
    return [
        name
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "getfixturevalue" and call.args
        for name in literal_strings(call.args[0])
    ]


# --- what a test gets -----------------------------------------------------------------------------------------------


def _given(node: Function) -> tuple[str, bool]:
    """What a fixture gives, and whether it cleans up afterwards."""
    inside = list(descend(node.body, into_functions=False))
    yielded = next((one for one in inside if isinstance(one, ast.Yield)), None)
    finalizes = any(isinstance(one, ast.Attribute) and one.attr == "addfinalizer" for one in inside)
    annotated = _annotated(node.returns)
    if annotated:
        return annotated, yielded is not None or finalizes
    returned = next((one.value for one in inside if isinstance(one, ast.Return) and one.value is not None), None)
    value = yielded.value if yielded is not None else returned
    return _named(value, inside), yielded is not None or finalizes


def _annotated(node: ast.expr | None) -> str:
    """An annotation without the iterator around it; nothing for None and for what says as little."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ""
    if isinstance(node, ast.Subscript) and source_of(node.value).rpartition(".")[2] in _WRAPPERS:
        inner = node.slice
        node = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
    text = source_of(node, longest=100)
    return "" if text in ("None", "Any", "t.Any", "typing.Any", "object") else text


def _named(value: ast.expr | None, inside: list[ast.AST]) -> str:
    """The value as a reader would name it: a local variable by what it was made of."""
    seen: set[str] = set()
    while isinstance(value, ast.Name) and value.id not in seen:
        seen.add(value.id)
        made = _bound_to(value.id, inside)
        if isinstance(made, str):
            return made
        if made is None:
            break
        value = made
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return ""
    if isinstance(value, ast.Await):
        value = value.value
    if isinstance(value, ast.Call):
        called = source_of(value.func, longest=80)
        return called if called.rpartition(".")[2][:1].isupper() else f"{called}()"
    return source_of(value, longest=80)


def _bound_to(name: str, inside: list[ast.AST]) -> ast.expr | str | None:
    """What `name` was first bound to in these statements: an expression, or the head of a nested function or class."""
    for node in inside:
        match node:
            case ast.Assign(targets=targets, value=value) if any(_is(one, name) for one in targets):
                return value
            case ast.AnnAssign(target=target, annotation=annotation) if _is(target, name):
                return source_of(annotation, longest=80)
            case ast.withitem(context_expr=value, optional_vars=ast.Name(id=bound)) if bound == name:
                return value
            case ast.FunctionDef(name=bound) | ast.AsyncFunctionDef(name=bound) if bound == name:
                return f"a function {name}({source_of(node.args, longest=60)})"
            case ast.ClassDef(name=bound) if bound == name:
                return f"a class {name}"
            case _:
                pass
    return None


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
