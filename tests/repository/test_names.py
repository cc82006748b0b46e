"""Where `__all__` says something it is complete, sorted and real; modules say what they are, in names that say it too."""

import ast
import importlib
import re
from collections.abc import Iterator

import pytest

import retinue
from tests.repository.tree import PACKAGE, ROOT, Module, modules

BARE = re.compile(
    r"_*(?:aside|asked|bare|begun|being|bore|borne|broken|brought|built|came|counted|cut|denied|"
    r"done|drawn|elsewhere|ended|fed|felt|folded|found|gave|given|gone|grown|heard|hear|"
    r"hearing|held|hidden|hold|joined|judged|kept|known|left|listed|looked|lost|made|meant|"
    r"mend|mended|met|named|noted|parted|placed|plain|put|reached|retold|said|sat|say|seen|"
    r"sent|settled|shown|sound|sought|spoken|standing|stopped|stray|tamed|taken|tell|telling|"
    r"tellings|thought|told|took|wanted|whose|written)",
    re.IGNORECASE,
)
"""Participles and verbs that say what happened to a thing, and not what it is."""

ALLOWED = {
    "bare": "a git repository without a work tree",
    "denied": "permissions that are refused: the word of every permission system",
    "done": "how many of `total`: a field of progress events",
    "met": "how many criteria are met: a field of results that spec 003 gives",
    "said": "a field of journals and recordings that exist",
    "wanted": "a field of plans that exist",
    "whose": "a field of checkpoints that exist",
}

VAGUE = {"base_utils", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}


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


def test_public_names_are_complete_sorted_and_real() -> None:
    for module in modules():
        names = declared(module)
        if names is None or not module.public:  # one that exports what it defines needs no list
            continue
        assert names == sorted(set(names), key=rank), module.where
        assert set(defined(module)) - set(names) == set(), f"{module.where}: public, but not in `__all__`"
        loaded = importlib.import_module(module.name)
        assert [name for name in names if not hasattr(loaded, name)] == [], module.where


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


def bare_names(tree: ast.AST) -> Iterator[str]:
    """Variables, parameters, functions and classes that are named by one bare participle or verb."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                pass
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                pass
            case _:
                continue
        if BARE.fullmatch(name) and name.strip("_") not in ALLOWED:
            yield f"{getattr(node, 'lineno', 0)}: {name}"


def test_names_say_what_a_thing_is() -> None:
    """A variable named `said` or `kept` makes its reader look for what; see docs/reference/glossary.md for our words."""
    assert [f"{module.where}:{place}" for module in modules() for place in bare_names(module.tree)] == []


def test_a_bare_participle_is_found() -> None:
    code = "class Asked:\n    def _told(self, kept, names):\n        names = said = 1\n        self.given = done = 2\n"
    assert list(bare_names(ast.parse(code))) == ["1: Asked", "2: _told", "2: kept"]


def test_the_glossary_is_short() -> None:
    page = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    words = [row.split("|")[1].strip() for row in page.splitlines() if row.startswith("| ")][2:]
    assert words == list(dict.fromkeys(words))
    assert len(words) <= 40
