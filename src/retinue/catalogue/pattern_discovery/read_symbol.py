"""Reads what a module offers to others: its public functions and classes, and what hides differences of systems."""

import ast
from typing import Final

from retinue.catalogue.pattern_discovery.facts import Symbol
from retinue.catalogue.pattern_discovery.read_fixture import start_of
from retinue.catalogue.pattern_discovery.tree import Function, Names, descend, first_line, source_of

__all__ = ["symbol_of"]

_PLATFORM: Final = ("os.name", "os.uname", "platform.machine", "platform.system", "platform.uname", "sys.platform")


def symbol_of(node: ast.stmt, names: Names) -> Symbol | None:
    """The public symbol that a statement of a module defines, or None. Constants only where they ask for the system."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _defined(node, "function", _head(node), names)
        case ast.ClassDef():
            bases = ", ".join(source_of(base, longest=60) for base in node.bases)
            return _defined(node, "class", f"class {node.name}({bases})" if bases else f"class {node.name}", names)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if not name.startswith("_"):
            if not _asks_for_system(value, names):
                return None
            end = node.end_lineno or node.lineno
            return Symbol(
                name, "constant", f"{name} = {source_of(value, longest=120)}", "", node.lineno, end, platform=True
            )
        case _:
            return None


def _defined(node: Function | ast.ClassDef, kind: str, signature: str, names: Names) -> Symbol | None:
    if node.name.startswith("_"):
        return None
    platform = kind == "function" and _asks_for_system(node, names)
    end = node.end_lineno or node.lineno
    return Symbol(node.name, kind, signature, first_line(node), start_of(node), end, platform=platform)


def _head(node: Function) -> str:
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {source_of(node.returns, longest=60)}" if node.returns else ""
    return f"{keyword} {node.name}({source_of(node.args, longest=140)}){returns}"


def _asks_for_system(node: ast.AST, names: Names) -> bool:
    """Whether it decides by the operating system; to mention it, as in a message, is not to decide by it."""
    for one in descend([node]):
        match one:
            case ast.Compare(left=left, comparators=others):
                asked = [left, *others]
            case ast.Call(func=ast.Attribute(value=value, attr="startswith")):
                asked = [value]
            case _:
                continue
        if any(names.resolve(expression).startswith(_PLATFORM) for expression in asked):
            return True
    return False
