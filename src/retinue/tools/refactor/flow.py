"""How names flow through some statements of a function: what they need from before, what is needed of them after.

Conservative: what cannot be told for certain is a reason to refuse, never a guess. Comprehensions and inner functions
have scopes of their own, branches and loops may not run. No types.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from .names import certainly_stored, needed, reads, stored

__all__ = ["Flow", "flow_of"]

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


def flow_of(parents: Sequence[ast.AST], chosen: Sequence[ast.stmt]) -> Flow:
    """The names that flow into and out of `chosen`.

    Args:
        parents: What `chosen` stands in, from the module inwards.
        chosen: Statements of one block, side by side.
    """
    functions = [node for node in parents if isinstance(node, _Function)]
    scope = functions[-1] if functions else parents[0]
    own = _locals(functions[-1]) if functions else set(stored(chosen))
    visible = own.union(*(_locals(each) for each in functions))
    written = tuple(dict.fromkeys(stored(chosen)))
    inputs = [name for name in dict.fromkeys(needed(chosen)) if name in visible]
    if refusal := _shared(scope, chosen, visible, set(written)):
        return Flow(refusal=refusal)
    before = _before(parents, chosen)
    after = _read_after(scope, chosen, parents) if functions else set(written)
    outputs = tuple(name for name in written if name in after)
    if taken := _needed_on_failure(parents, chosen, outputs):
        return Flow(refusal=f"`{taken}` is read when a part of the lines fails, and would then have its old value")
    certain = certainly_stored(chosen)
    inputs += [name for name in outputs if name not in certain and name not in inputs]
    for name in inputs:
        if name in own and name not in before:
            return Flow(refusal=f"`{name}` may have no value there")
    return Flow(tuple(inputs), outputs)


def _parameters(function: _Function) -> set[str]:
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return {each.arg for each in arguments}


def _locals(function: _Function) -> set[str]:
    return _parameters(function) | set(stored(function.body))


def _shared(scope: ast.AST, chosen: Sequence[ast.stmt], visible: set[str], written: set[str]) -> str:
    """Why a name cannot be parted from where it stands; empty when all can."""
    first, last = chosen[0].lineno, chosen[-1].end_lineno or 0
    later = {
        node.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node.lineno > last
    }
    for node in ast.walk(scope):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and (taken := sorted(written.intersection(node.names))):
            return f"`{taken[0]}` is declared global or nonlocal"
        if not isinstance(node, _Inner) or node is scope:
            continue
        read = set(reads([node]))
        is_chosen = first <= node.lineno <= last
        if not is_chosen and (node.lineno > last or (node.end_lineno or 0) >= first):
            continue  # it comes to be afterwards, or stands around the chosen lines
        if taken := sorted(read & (visible & later if is_chosen else written)):
            return f"`{taken[0]}` is shared with a function inside, at line {node.lineno}"
    return ""


def _read_after(scope: ast.AST, chosen: Sequence[ast.stmt], parents: Sequence[ast.AST]) -> set[str]:
    """Names that are read behind the chosen lines, or in the next round of a loop around them."""
    last = chosen[-1].end_lineno or 0
    behind = [node for node in ast.walk(scope) if getattr(node, "lineno", 0) > last]
    inside = parents[parents.index(scope) :]
    rounds = [node for node in inside if isinstance(node, (ast.For, ast.AsyncFor, ast.While))]
    return set(reads(behind)) | set(reads(rounds))


def _needed_on_failure(parents: Sequence[ast.AST], chosen: Sequence[ast.stmt], outputs: Sequence[str]) -> str:
    """A name that is read even if an exception ends the chosen lines: a call gives nothing then. Empty for none."""
    *earlier, last = chosen
    risky = set(stored(earlier))
    if not isinstance(last, (ast.Assign, ast.AnnAssign)):
        risky.update(stored([last]))
    path: list[ast.AST] = [*parents, chosen[0]]
    read: set[str] = set()
    for node, inner in pairwise(path):
        if isinstance(node, _Function):
            read = set()  # what is around a function sees nothing of its names
        elif isinstance(node, (ast.Try, ast.TryStar)):
            read |= set(reads(node.finalbody)) if inner not in node.finalbody else set()
            if inner in node.body:
                read |= set(reads(node.handlers))
                read |= set(outputs) if not all(_leaves(each) for each in node.handlers) else set()
        elif isinstance(node, (ast.With, ast.AsyncWith)) and any(_swallows(each) for each in node.items):
            read |= set(outputs)
    return next((name for name in outputs if name in risky and name in read), "")


def _leaves(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], (ast.Raise, ast.Return))


def _swallows(item: ast.withitem) -> bool:
    """Whether a context goes by a name under which contexts end exceptions."""
    return any(word in ast.unparse(item.context_expr).lower() for word in ("suppress", "raises"))


def _before(parents: Sequence[ast.AST], chosen: Sequence[ast.stmt]) -> set[str]:
    """Names that surely have a value when the chosen statements begin."""
    surely: set[str] = set()
    path: list[ast.AST] = [*parents, chosen[0]]
    for node, inner in pairwise(path):
        if isinstance(node, _Function):
            surely = _parameters(node)
        surely |= _bound_by(node, inner)
        for body in _bodies(node):
            place = next((number for number, each in enumerate(body) if each is inner), 0)
            surely |= certainly_stored(body[:place])
    return surely


def _bound_by(node: ast.AST, inner: ast.AST) -> set[str]:
    """Names that a statement binds for what stands in it."""
    match node:
        case ast.For() | ast.AsyncFor() if inner in node.body:
            return set(stored([node.target]))
        case ast.With() | ast.AsyncWith():
            return set(stored([each.optional_vars for each in node.items if each.optional_vars]))
        case ast.Try():
            return {each.name for each in node.handlers if each.name and inner in each.body}
        case ast.Match():
            return {name for case in node.cases if inner in case.body for name in stored([case.pattern])}
        case _:
            return set()


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        if isinstance(value := getattr(node, field, None), list):
            yield value
    for field in ("handlers", "cases"):
        for each in getattr(node, field, ()):
            yield each.body
