"""Checks of our own over Python syntax trees: what a linter may be missing for. Pure; every finding, in file order."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["Issue", "Severity", "check_files", "check_python", "check_text"]

Severity: TypeAlias = Literal["high", "medium", "low"]

_LONG: Final = 80
_COMPLEX: Final = 10
_TODO: Final = re.compile(r"(?:#|//|/\*|\*)\s*(TODO|FIXME|XXX|HACK)\b[:\s]*(.{0,120})")
_BRANCHES: Final = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.IfExp,
    ast.Assert,
    ast.comprehension,
)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing to look at.

    Attributes:
        rule: The check's name, or the linter's code.
        fix: What to do.
        by: Who found it: `syntax tree`, or the linter.
    """

    rule: str
    severity: Severity
    file: str
    line: int
    message: str
    fix: str = ""
    by: str = "syntax tree"


def check_files(files: Sequence[tuple[str, str]]) -> list[list[Issue]]:
    """What there is to say of each file, a path with its text."""
    return [
        [*check_text(path, text), *(check_python(path, text) if path.endswith((".py", ".pyi")) else ())]
        for path, text in files
    ]


def check_text(path: str, text: str) -> Iterator[Issue]:
    """What any source file may hold: work that was left for later."""
    for number, line in enumerate(text.split("\n"), 1):
        if found := _TODO.search(line):
            yield Issue(
                "todo",
                "low",
                path,
                number,
                f"{found[1]}: {found[2].strip() or 'nothing is said'}",
                "Do it, or open a ticket.",
            )


def check_python(path: str, text: str) -> list[Issue]:
    """What a Python file does that is likely to hurt; a file that cannot be parsed has that as its one issue."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return [
            Issue("syntax", "high", path, error.lineno or 1, f"It cannot be parsed: {error.msg}.", "Fix the syntax.")
        ]
    except (ValueError, RecursionError) as error:
        return [Issue("syntax", "high", path, 1, f"It cannot be parsed: {error}.", "Fix the file.")]
    issues = [issue for node in ast.walk(tree) for issue in _of_node(path, node)]
    issues += [
        Issue("unused-import", "low", path, line, f"`{name}` is imported and not used.", "Remove the import.")
        for name, line in _unused_imports(path, tree)
    ]
    issues += [
        Issue("missing-docstring", "low", path, line, f"`{name}` has no docstring.", "Say what it does.")
        for name, line, _ in _undocumented(tree)
    ]
    return sorted(issues, key=lambda each: (each.line, each.rule))


def _undocumented(tree: ast.Module) -> Iterator[tuple[str, int, bool]]:
    """Public classes and functions: name, line, and whether it is the module itself; only those without a docstring."""
    for name, node in _public(tree):
        if ast.get_docstring(node) is None:
            yield name, node.lineno, False


def _public(tree: ast.Module) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """What a module offers to others: its classes, their methods, its functions."""
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, *_FUNCTIONS)) and not node.name.startswith("_"):
            yield node.name, node
            for inner in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(inner, _FUNCTIONS) and not inner.name.startswith("_"):
                    yield f"{node.name}.{inner.name}", inner


def _of_node(path: str, node: ast.AST) -> Iterator[Issue]:
    match node:
        case ast.ExceptHandler(type=None):
            yield Issue(
                "bare-except",
                "high",
                path,
                node.lineno,
                "`except:` also catches `KeyboardInterrupt`.",
                "Name the exceptions.",
            )
        case ast.ExceptHandler(type=ast.Name(id="Exception" | "BaseException" as name), body=body):
            if not any(isinstance(each, ast.Raise) for each in body):
                severity: Severity = "high" if all(isinstance(each, ast.Pass) for each in body) else "medium"
                yield Issue(
                    "broad-except",
                    severity,
                    path,
                    node.lineno,
                    f"`except {name}` hides every failure.",
                    "Catch what can be handled, or raise again.",
                )
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _of_function(path, node)
        case ast.Compare(left=_, ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=None)]):
            yield Issue("none-comparison", "low", path, node.lineno, "None is compared with `==`.", "Use `is`.")
        case ast.Call(func=ast.Name(id="eval" | "exec" as name)):
            yield Issue(
                "dynamic-code", "high", path, node.lineno, f"`{name}` runs text as code.", "Parse the text instead."
            )
        case ast.Call(keywords=keywords) if any(_is_shell(each) for each in keywords):
            yield Issue(
                "shell", "high", path, node.lineno, "A command goes through a shell.", "Give an argument vector."
            )
        case _:
            return


def _of_function(path: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Issue]:
    for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
        if isinstance(default, (ast.List, ast.Dict, ast.Set)):
            yield Issue(
                "mutable-default",
                "high",
                path,
                default.lineno,
                f"A default of `{node.name}` is shared by all calls.",
                "Use None, and make it inside.",
            )
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    if length > _LONG:
        yield Issue("too-long", "medium", path, node.lineno, f"`{node.name}` has {length} lines.", "Extract its parts.")
    paths = 1 + sum(isinstance(each, _BRANCHES) for each in ast.walk(node))
    paths += sum(len(each.values) - 1 for each in ast.walk(node) if isinstance(each, ast.BoolOp))
    if paths > _COMPLEX:
        yield Issue(
            "too-complex",
            "medium",
            path,
            node.lineno,
            f"`{node.name}` has {paths} paths through it.",
            "Extract decisions.",
        )


def _is_shell(keyword: ast.keyword) -> bool:
    return keyword.arg == "shell" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True


def _unused_imports(path: str, tree: ast.Module) -> Iterator[tuple[str, int]]:
    if path.endswith("__init__.py"):
        return
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    texts = " ".join(
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            continue
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []:
            name = alias.asname or alias.name.partition(".")[0]
            if (
                name != "*"
                and name not in used
                and not re.search(rf"\b{re.escape(name)}\b", texts)
                and alias.asname != alias.name
            ):
                yield name, node.lineno
