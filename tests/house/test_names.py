"""Where `__all__` says something it is complete, sorted and real; modules say what they are, in names that say it too."""

import ast
import importlib
import re
from collections.abc import Iterator

import pytest

import retinue
from tests.house.tree import PACKAGE, Module, modules

VAGUE = {"base_utils", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
PUBLIC = [module for module in modules() if module.public]


def declared(module: Module) -> list[str] | None:
    """What `__all__` lists; None when there is none."""
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return None


def defined(module: Module) -> Iterator[str]:
    """Every public name the module makes itself; what it imports belongs to others, type variables to nobody."""
    for node in module.tree.body:
        names: list[str] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        elif isinstance(node, ast.Assign) and not is_type_variable(node.value):
            names = [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
        yield from (name for name in names if not name.startswith("_"))


def is_type_variable(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in {
        "ParamSpec",
        "TypeVar",
        "TypeVarTuple",
    }


def rank(name: str) -> tuple[int, list[tuple[int, str]]]:
    """Constants, then classes, then functions; each by name, numbers in it by value (the linter's order)."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, [(int(part or 0), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.name)
def test_public_names_are_complete_sorted_and_real(module: Module) -> None:
    names = declared(module)
    if names is None:  # a module that exports what it defines needs no list
        return
    assert names == sorted(set(names), key=rank)
    assert set(defined(module)) - set(names) == set(), f"{module.where}: public, but not in `__all__`"
    loaded = importlib.import_module(module.name)
    assert [name for name in names if not hasattr(loaded, name)] == []


def test_the_package_exports_what_it_promises() -> None:
    assert set(retinue.__all__) <= set(dir(retinue))
    assert [name for name in retinue.__all__ if getattr(retinue, name) is None] == []
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(retinue, "no_such_name")  # noqa: B009 - a constant attribute would be a type error


def test_every_module_says_what_it_is() -> None:
    assert [module.where for module in modules() if not ast.get_docstring(module.tree)] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    names = {path: path.stem.strip("_") for path in PACKAGE.rglob("*") if path.suffix in {"", ".py"}}
    assert [path for path, name in names.items() if name in VAGUE] == []
