"""Makes a function of some lines of Python: what goes in and what comes out is read from how names are used.

Text is cut and put, so comments and formatting stay. What cannot be done without a change of meaning is refused, with
the reason; nothing is guessed.
"""

import ast
import builtins
import keyword
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from retinue.errors import InvalidInput

from .changes import ChangeSet, FileUpdate, check_lines
from .flow import Flow, bodies, flow_of

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class ExtractResult:
    """An extraction, ready to be shown or applied.

    Attributes:
        inputs: The parameters of the new function.
        outputs: What it returns.
    """

    changes: ChangeSet
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def extract(path: str, text: str, *, first_line: int, last_line: int, name: str) -> ExtractResult:
    """Move the lines `first_line` to `last_line` of a Python file into a new function called `name`.

    Raises:
        InvalidInput: The lines are not whole statements of one block, or cannot be moved without a change of meaning;
            the message says why.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise _refusal(f"{name!r} is not a valid name", "Give one identifier that is not a keyword.")
    if hasattr(builtins, name):
        raise _refusal(f"{name!r} is a built-in of Python", "Choose a name of your own.")
    check_lines(path, text)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise _refusal(f"{path!r} cannot be parsed: {error}", "Fix the file first.") from error
    if any(name == identifier for node in ast.walk(tree) for identifier in names_of(node)):
        raise _refusal(f"{name!r} is already used in {path!r}", "Choose a name that the file does not use yet.")
    block = _block(tree, first_line, last_line)
    _check_movable(block)
    flow = flow_of(block.parents, block.statements)
    if flow.refusal:
        raise _refusal(flow.refusal, "Choose other lines.")
    after = _rewrite(text, tree, block, flow, name)
    changes = ChangeSet.of(
        [FileUpdate(path, text, after, f"lines {first_line} to {last_line} are a function `{name}`")]
    )
    changes.check()
    return ExtractResult(changes, name, flow.inputs, flow.outputs)


@dataclass(frozen=True, slots=True)
class _Block:
    """The chosen statements, what they stand in from the outside in, and the lines that were asked for."""

    statements: Sequence[ast.stmt]
    parents: Sequence[ast.AST]
    first: int
    last: int

    @property
    def function(self) -> _Function | None:
        return next((node for node in reversed(self.parents) if isinstance(node, _Function)), None)


def _block(tree: ast.Module, first: int, last: int) -> _Block:
    parents: list[ast.AST] = [tree]
    while True:
        inner: ast.AST | None = None
        for body in bodies(parents[-1]):
            statements = [each for each in body if first <= _first_line(each) and _last_line(each) <= last]
            touched = [each for each in body if _first_line(each) <= last and _last_line(each) >= first]
            if statements and len(statements) == len(touched):
                return _Block(statements, parents, first, last)
            if len(touched) == 1 and not statements:
                inner = touched[0]
        if inner is None:
            raise _refusal(
                f"lines {first} to {last} are not whole statements of one block",
                "Begin at the first line of a statement and end at the last line of one beside it.",
            )
        parents.append(inner)


def _check_movable(block: _Block) -> None:
    in_class = any(isinstance(node, ast.ClassDef) for node in block.parents)
    if in_class and block.function is None:
        raise _refusal("the lines stand in the body of a class", "Choose lines of a function or of the module.")
    parent = block.parents[-1]
    is_first = isinstance(parent, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef))
    if is_first and block.statements[0] is parent.body[0] and ast.get_docstring(parent, clean=False) is not None:
        raise _refusal("the first line is the documentation of what it stands in", "Leave that line out.")
    for node, inside in _walk(block.statements):
        if why := _immovable_reason(node, inside):
            line = getattr(node, "lineno", _first_line(block.statements[0]))
            raise _refusal(f"line {line} {why}", "Leave that line out, or choose more around it.")
        private = [name for name in names_of(node) if name.startswith("__") and not name.endswith("__")]
        if in_class and private:
            raise _refusal(f"`{private[0]}` is private to its class", "Leave that line out.")


def _immovable_reason(node: ast.AST, inside: frozenset[str]) -> str:
    here = "function" not in inside
    match node:
        case ast.Return() | ast.Yield() | ast.YieldFrom() if here:
            return "leaves or suspends the function"
        case ast.Await() | ast.AsyncFor() | ast.AsyncWith() | ast.comprehension(is_async=1) if here:
            return "awaits"
        case ast.Break() | ast.Continue() if here and "loop" not in inside:
            return "steers a loop around it"
        case ast.Global() | ast.Nonlocal() | ast.Delete():
            return "rebinds or deletes names of the function"
        case ast.ImportFrom(names=names) if any(each.name == "*" for each in names):
            return "imports everything"
        case ast.Name(id="super" | "locals" | "vars" | "dir" | "eval" | "exec" | "__class__" as name):
            return f"uses `{name}`, which means something only there"
        case _:
            return ""


def _walk(statements: Iterable[ast.stmt]) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Every node below, with what of the selection it stands in: a `function`, a `loop`."""
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(each, frozenset()) for each in reversed(list(statements))]
    while waiting:
        node, inside = waiting.pop()
        yield node, inside
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            inside = inside | {"loop"}
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            inside = inside | {"function"}
        waiting.extend((child, inside) for child in reversed(list(ast.iter_child_nodes(node))))


def _range(lines: Sequence[str], block: _Block) -> tuple[int, int]:
    first, last = block.first, block.last
    begins, ends = _first_line(block.statements[0]), _last_line(block.statements[-1])
    head = block.statements[0]
    if lines[head.lineno - 1].encode()[: head.col_offset].strip():
        raise _refusal(f"line {head.lineno} holds what its statement stands in, too", "Break that line in two first.")
    for line in (*lines[first - 1 : begins - 1], *lines[ends:last]):
        if line.strip() and not line.lstrip().startswith("#"):
            raise _refusal(f"{line.strip()!r} is only a part of a statement", "Choose whole statements.")
    while first < begins and not lines[first - 1].strip():
        first += 1
    while last > ends and not lines[last - 1].strip():
        last -= 1
    return first, last


def _rewrite(text: str, tree: ast.Module, block: _Block, flow: Flow, name: str) -> str:
    lines = text.split("\n")
    first, last = _range(lines, block)
    begins = _first_line(block.statements[0])
    head_line = lines[begins - 1]
    indent = head_line[: len(head_line) - len(head_line.lstrip())]
    string_lines: set[int] = set()  # they begin inside a string, so they must not move
    for node, _ in _walk(block.statements):
        is_text = isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
        )
        if is_text and isinstance(node, ast.expr):
            string_lines.update(range(node.lineno + 1, (node.end_lineno or 0) + 1))
    body = [
        line if number in string_lines or not line.strip() else f"    {line.removeprefix(indent)}"
        for number, line in enumerate(lines[first - 1 : last], first)
    ]
    call, results = f"{name}({', '.join(flow.inputs)})", ", ".join(flow.outputs)
    if results:
        body.append(f"    return {results}")
    replacement = f"{indent}{results} = {call}" if results else f"{indent}{call}"
    # The new function goes before the statement of the module that holds the lines.
    top = next(each for each in tree.body if _first_line(each) <= begins <= _last_line(each))
    at = _first_line(top) - 1
    while at and lines[at - 1].startswith("#"):  # a comment directly above a definition belongs to it
        at -= 1
    tail = "\r" if lines and lines[0].endswith("\r") else ""
    new = [f"{line}{tail}" if not line.endswith("\r") else line for line in (f"def {call}:", *body, "", "")]
    return "\n".join((*lines[:at], *new, *lines[at : first - 1], replacement + tail, *lines[last:]))


def names_of(node: ast.AST) -> tuple[str, ...]:
    """The names that one node of a tree mentions itself."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.alias(name=whole, asname=short):
            return (short or whole.partition(".")[0],)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return tuple(names)
        case ast.keyword(arg=str(name)) | ast.ExceptHandler(name=str(name)):
            return (name,)
        case _:
            return ()


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _refusal(why: str, hint: str) -> InvalidInput:
    return InvalidInput(f"This cannot be extracted: {why}.", hint=hint)
