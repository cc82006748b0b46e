"""Makes a function of some lines of Python: what goes in and what comes out is read from how names are used.

Text is cut and put, so comments and formatting stay. What cannot be done without a change of meaning is refused, with
the reason; nothing is guessed. The other refactorings use what it knows of names.
"""

import ast
import builtins
import keyword
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from retinue.errors import InvalidInput

from .source import ChangeSet, FileUpdate, check_lines


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
    in_class = any(isinstance(node, ast.ClassDef) for node in block.parents)
    if in_class and block.function is None:
        raise _refusal("the lines are in the body of a class", "Choose lines of a function or of the module.")
    parent = block.parents[-1]
    is_first = isinstance(parent, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef))
    if is_first and block.statements[0] is parent.body[0] and ast.get_docstring(parent, clean=False) is not None:
        raise _refusal("the first line is the documentation of its function", "Leave that line out.")
    for node, inside in _walk(block.statements):
        if why := _immovable_reason(node, inside):
            line = getattr(node, "lineno", _first_line(block.statements[0]))
            raise _refusal(f"line {line} {why}", "Leave that line out, or choose more around it.")
        private = [name for name in names_of(node) if name.startswith("__") and not name.endswith("__")]
        if in_class and private:
            raise _refusal(f"`{private[0]}` is private to its class", "Leave that line out.")
    flow = flow_of(block.parents, block.statements)
    if flow.refusal:
        raise _refusal(flow.refusal, "Choose other lines.")
    after = _rewrite(text, tree, block, flow, name)
    changes = ChangeSet.of(
        [FileUpdate(path, text, after, f"lines {first_line} to {last_line} are a function `{name}`")]
    )
    changes.check()
    return ExtractResult(changes, name, flow.inputs, flow.outputs)


_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_LEAVING = (ast.Raise, ast.Return, ast.Break, ast.Continue)
_Inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Flow:
    """What goes in and comes out, each in the order of first use.

    Attributes:
        refusal: Why it cannot be told; empty when it can.
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    refusal: str = ""


def flow_of(parents: Sequence[ast.AST], statements: Sequence[ast.stmt]) -> Flow:
    """The names that flow into and out of `statements`.

    Args:
        parents: What `statements` stands in, from the module inwards.
        statements: Statements of one block, side by side.
    """
    functions = [node for node in parents if isinstance(node, _Function)]
    scope = functions[-1] if functions else parents[0]
    own = _locals(functions[-1]) if functions else set(bound_names(statements))
    visible = own.union(*(_locals(each) for each in functions))
    assigned_names = tuple(dict.fromkeys(bound_names(statements)))
    inputs = [name for name in dict.fromkeys(free_names(statements)) if name in visible]
    if refusal := _shared_name_reason(scope, statements, visible, set(assigned_names)):
        return Flow(refusal=refusal)
    before = _bound_before(parents, statements)
    after = set(assigned_names)
    if functions:  # names that are read behind the lines, or in the next round of a loop around them
        last = statements[-1].end_lineno or 0
        inside = parents[parents.index(scope) :]
        after = set(read_names(node for node in ast.walk(scope) if getattr(node, "lineno", 0) > last))
        after |= set(read_names(node for node in inside if isinstance(node, (ast.For, ast.AsyncFor, ast.While))))
    outputs = tuple(name for name in assigned_names if name in after)
    if conflict := _read_on_failure(parents, statements, outputs):
        return Flow(refusal=f"`{conflict}` is read when a part of the lines fails, and would then have its old value")
    certain = surely_bound(statements)
    inputs += [name for name in outputs if name not in certain and name not in inputs]
    for name in inputs:
        if name in own and name not in before:
            return Flow(refusal=f"`{name}` may have no value there")
    return Flow(tuple(inputs), outputs)


def _arguments(function: _Function | ast.Lambda) -> list[ast.arg]:
    signature = function.args
    optional = filter(None, (signature.vararg, signature.kwarg))
    return [*signature.posonlyargs, *signature.args, *signature.kwonlyargs, *optional]


def _locals(function: _Function) -> set[str]:
    return {each.arg for each in _arguments(function)} | set(bound_names(function.body))


def _shared_name_reason(
    scope: ast.AST, statements: Sequence[ast.stmt], visible: set[str], assigned_names: set[str]
) -> str:
    first, last = statements[0].lineno, statements[-1].end_lineno or 0
    later = {
        node.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node.lineno > last
    }
    for node in ast.walk(scope):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and (
            conflicts := sorted(assigned_names.intersection(node.names))
        ):
            return f"`{conflicts[0]}` is declared global or nonlocal"
        if not isinstance(node, _Inner) or node is scope:
            continue
        names_read = set(read_names([node]))
        is_chosen = first <= node.lineno <= last
        if not is_chosen and (node.lineno > last or (node.end_lineno or 0) >= first):
            continue  # it comes to be afterwards, or stands around the chosen lines
        if conflicts := sorted(names_read & (visible & later if is_chosen else assigned_names)):
            return f"`{conflicts[0]}` is shared with a function inside, at line {node.lineno}"
    return ""


def _read_on_failure(parents: Sequence[ast.AST], statements: Sequence[ast.stmt], outputs: Sequence[str]) -> str:
    """A name that is read even if an exception ends the chosen lines: a call gives nothing then. Empty for none."""
    *earlier, last = statements
    risky = set(bound_names(earlier))
    if not isinstance(last, (ast.Assign, ast.AnnAssign)):
        risky.update(bound_names([last]))
    path: list[ast.AST] = [*parents, statements[0]]
    names_read: set[str] = set()
    for node, inner in pairwise(path):
        if isinstance(node, _Function):
            names_read = set()  # what is around a function sees nothing of its names
        elif isinstance(node, (ast.Try, ast.TryStar)):
            names_read |= set(read_names(node.finalbody)) if inner not in node.finalbody else set()
            if inner in node.body:
                names_read |= set(read_names(node.handlers))
                if not all(isinstance(each.body[-1], (ast.Raise, ast.Return)) for each in node.handlers):
                    names_read |= set(outputs)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            # Which contexts end exceptions is told by their names alone: nothing is imported or run.
            contexts = " ".join(ast.unparse(each.context_expr).lower() for each in node.items)
            if "suppress" in contexts or "raises" in contexts:
                names_read |= set(outputs)
    return next((name for name in outputs if name in risky and name in names_read), "")


def _bound_before(parents: Sequence[ast.AST], statements: Sequence[ast.stmt]) -> set[str]:
    """Names that surely have a value when the chosen statements begin."""
    bound: set[str] = set()
    path: list[ast.AST] = [*parents, statements[0]]
    for node, inner in pairwise(path):
        if isinstance(node, _Function):
            bound = {each.arg for each in _arguments(node)}
        match node:
            case ast.For() | ast.AsyncFor() if inner in node.body:
                bound |= set(bound_names([node.target]))
            case ast.With() | ast.AsyncWith():
                bound |= set(bound_names([each.optional_vars for each in node.items if each.optional_vars]))
            case ast.Try():
                bound |= {each.name for each in node.handlers if each.name and inner in each.body}
            case ast.Match():
                bound |= {name for case in node.cases if inner in case.body for name in bound_names([case.pattern])}
            case _:
                pass
        for body in bodies(node):
            place = next((number for number, each in enumerate(body) if each is inner), 0)
            bound |= surely_bound(body[:place])
    return bound


def bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements that a node holds."""
    for field in ("body", "orelse", "finalbody"):
        if isinstance(value := getattr(node, field, None), list):
            yield value
    for field in ("handlers", "cases"):
        for each in getattr(node, field, ()):
            yield each.body


def bound_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names that are bound in the scope of `nodes` themselves."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
                continue
            case ast.Lambda():
                continue
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                # Only `:=` reaches out of it.
                yield from (each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
                continue
            case ast.alias(name=whole, asname=short):
                yield short or whole.partition(".")[0]
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case _:
                pass
        yield from bound_names(ast.iter_child_nodes(node))


def read_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names that `nodes` read from their scope: without those that comprehensions and inner functions bind."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                yield name
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
                yield from read_names([node.value])
            case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef():
                arguments = _arguments(node)
                yield from read_names([*node.args.defaults, *filter(None, node.args.kw_defaults)])
                yield from read_names(each.annotation for each in arguments if each.annotation)
                body: Sequence[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else node.body
                if not isinstance(node, ast.Lambda):
                    yield from read_names([*node.decorator_list, *([node.returns] if node.returns else [])])
                own = {each.arg for each in arguments} | set(bound_names(body))
                yield from (name for name in read_names(body) if name not in own)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                bound = set(bound_names(each.target for each in node.generators))
                yield from read_names([node.generators[0].iter])
                yield from (name for name in read_names(ast.iter_child_nodes(node)) if name not in bound)
            case _:
                yield from read_names(ast.iter_child_nodes(node))


def free_names(statements: Sequence[ast.stmt], bound: frozenset[str] = frozenset()) -> Iterator[str]:
    """Names that may be read before `statements` themselves have bound them."""
    certain = set(bound)
    for statement in statements:
        yield from (name for name in _statement_free_names(statement, frozenset(certain)) if name not in certain)
        certain |= surely_bound([statement])


def surely_bound(statements: Sequence[ast.stmt]) -> set[str]:
    """Names that have a value once the statements have come to their end."""
    certain: set[str] = set()
    for statement in statements:
        match statement:
            case ast.If(body=body, orelse=orelse):
                certain |= _common([body, orelse])
            case ast.For() | ast.AsyncFor() | ast.While() | ast.Match():
                continue
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                certain |= _common([[*body, *orelse], *(each.body for each in handlers)]) | surely_bound(final)
            case ast.With(body=body, items=items) | ast.AsyncWith(body=body, items=items):
                certain |= set(bound_names(each.optional_vars for each in items if each.optional_vars))
                certain |= surely_bound(body)
            case ast.AugAssign() | ast.Delete() | ast.AnnAssign(value=None):
                continue
            case _:
                certain |= set(bound_names([statement]))
    return certain


def _statement_free_names(statement: ast.stmt, certain: frozenset[str]) -> Iterator[str]:
    match statement:
        case ast.If(test=test, body=body, orelse=orelse) | ast.While(test=test, body=body, orelse=orelse):
            yield from read_names([test])
            yield from free_names(body, certain)
            yield from free_names(orelse, certain)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from read_names([statement.iter, target])
            yield from free_names(statement.body, certain | set(bound_names([target])))
            yield from free_names(statement.orelse, certain)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            yield from read_names(each.context_expr for each in items)
            yield from free_names(
                body, certain | set(bound_names(each.optional_vars for each in items if each.optional_vars))
            )
        case ast.Try():
            yield from free_names(statement.body, certain)
            for handler in statement.handlers:
                yield from read_names([handler.type] if handler.type else [])
                yield from free_names(handler.body, certain | ({handler.name} if handler.name else set[str]()))
            yield from free_names(statement.orelse, certain | surely_bound(statement.body))
            yield from free_names(statement.finalbody, certain)
        case ast.Match(subject=subject, cases=cases):
            yield from read_names([subject])
            for case in cases:
                inner = certain | set(bound_names([case.pattern]))
                yield from (name for name in read_names([case.guard] if case.guard else []) if name not in inner)
                yield from free_names(case.body, inner)
        case _:
            yield from read_names([statement])


def _common(ways: Sequence[Sequence[ast.stmt]]) -> set[str]:
    ending = [surely_bound(way) for way in ways if not (way and isinstance(way[-1], _LEAVING))]
    return set[str].intersection(*ending) if ending else set()


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


def _rewrite(text: str, tree: ast.Module, block: _Block, flow: Flow, name: str) -> str:
    lines = text.split("\n")
    first, last = block.first, block.last
    begins, ends = _first_line(block.statements[0]), _last_line(block.statements[-1])
    head = block.statements[0]
    if lines[head.lineno - 1].encode()[: head.col_offset].strip():
        raise _refusal(
            f"line {head.lineno} also contains what surrounds its statement", "Break that line in two first."
        )
    for line in (*lines[first - 1 : begins - 1], *lines[ends:last]):
        if line.strip() and not line.lstrip().startswith("#"):
            raise _refusal(f"{line.strip()!r} is only a part of a statement", "Choose whole statements.")
    while first < begins and not lines[first - 1].strip():
        first += 1
    while last > ends and not lines[last - 1].strip():
        last -= 1
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
