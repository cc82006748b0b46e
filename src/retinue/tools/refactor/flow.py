"""How names flow through some statements of a function: what they need from before, what is needed of them after.

Conservative: what cannot be told for certain is a reason to refuse, never a guess. Comprehensions and inner functions
have scopes of their own, branches and loops may not run. No types.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from .bindings import bound_names, free_names, read_names, surely_bound

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
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
    after = _names_read_after(scope, statements, parents) if functions else set(assigned_names)
    outputs = tuple(name for name in assigned_names if name in after)
    if conflict := _read_on_failure(parents, statements, outputs):
        return Flow(refusal=f"`{conflict}` is read when a part of the lines fails, and would then have its old value")
    certain = surely_bound(statements)
    inputs += [name for name in outputs if name not in certain and name not in inputs]
    for name in inputs:
        if name in own and name not in before:
            return Flow(refusal=f"`{name}` may have no value there")
    return Flow(tuple(inputs), outputs)


def _parameters(function: _Function) -> set[str]:
    signature = function.args
    arguments = [
        *signature.posonlyargs,
        *signature.args,
        *signature.kwonlyargs,
        *filter(None, (signature.vararg, signature.kwarg)),
    ]
    return {each.arg for each in arguments}


def _locals(function: _Function) -> set[str]:
    return _parameters(function) | set(bound_names(function.body))


def _shared_name_reason(
    scope: ast.AST, statements: Sequence[ast.stmt], visible: set[str], assigned_names: set[str]
) -> str:
    """Why a name cannot be parted from where it stands; empty when all can."""
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


def _names_read_after(scope: ast.AST, statements: Sequence[ast.stmt], parents: Sequence[ast.AST]) -> set[str]:
    """Names that are read behind the chosen lines, or in the next round of a loop around them."""
    last = statements[-1].end_lineno or 0
    behind = [node for node in ast.walk(scope) if getattr(node, "lineno", 0) > last]
    inside = parents[parents.index(scope) :]
    rounds = [node for node in inside if isinstance(node, (ast.For, ast.AsyncFor, ast.While))]
    return set(read_names(behind)) | set(read_names(rounds))


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
                names_read |= set(outputs) if not all(_leaves(each) for each in node.handlers) else set()
        elif isinstance(node, (ast.With, ast.AsyncWith)) and any(_swallows(each) for each in node.items):
            names_read |= set(outputs)
    return next((name for name in outputs if name in risky and name in names_read), "")


def _leaves(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], (ast.Raise, ast.Return))


def _swallows(item: ast.withitem) -> bool:
    """Whether a context goes by a name under which contexts end exceptions."""
    return any(word in ast.unparse(item.context_expr).lower() for word in ("suppress", "raises"))


def _bound_before(parents: Sequence[ast.AST], statements: Sequence[ast.stmt]) -> set[str]:
    """Names that surely have a value when the chosen statements begin."""
    bound: set[str] = set()
    path: list[ast.AST] = [*parents, statements[0]]
    for node, inner in pairwise(path):
        if isinstance(node, _Function):
            bound = _parameters(node)
        bound |= _bound_by(node, inner)
        for body in _bodies(node):
            place = next((number for number, each in enumerate(body) if each is inner), 0)
            bound |= surely_bound(body[:place])
    return bound


def _bound_by(node: ast.AST, inner: ast.AST) -> set[str]:
    """Names that a statement binds for what stands in it."""
    match node:
        case ast.For() | ast.AsyncFor() if inner in node.body:
            return set(bound_names([node.target]))
        case ast.With() | ast.AsyncWith():
            return set(bound_names([each.optional_vars for each in node.items if each.optional_vars]))
        case ast.Try():
            return {each.name for each in node.handlers if each.name and inner in each.body}
        case ast.Match():
            return {name for case in node.cases if inner in case.body for name in bound_names([case.pattern])}
        case _:
            return set()


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        if isinstance(value := getattr(node, field, None), list):
            yield value
    for field in ("handlers", "cases"):
        for each in getattr(node, field, ()):
            yield each.body
