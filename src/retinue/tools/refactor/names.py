"""Which names some Python code reads and binds, in its own scope. Pure; the order is that of the text."""

import ast
from collections.abc import Iterable, Iterator, Sequence

__all__ = ["certainly_stored", "needed", "reads", "stored"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def stored(nodes: Iterable[ast.AST]) -> Iterator[str]:
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
        yield from stored(ast.iter_child_nodes(node))


def reads(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names that `nodes` read from their scope: without those that comprehensions and inner functions bind."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                yield name
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
                yield from reads([node.value])
            case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _function_reads(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                bound = set(stored(each.target for each in node.generators))
                yield from reads([node.generators[0].iter])
                yield from (name for name in reads(ast.iter_child_nodes(node)) if name not in bound)
            case _:
                yield from reads(ast.iter_child_nodes(node))


def needed(statements: Sequence[ast.stmt], bound: frozenset[str] = frozenset()) -> Iterator[str]:
    """Names that may be read before `statements` themselves have bound them."""
    certain = set(bound)
    for statement in statements:
        yield from (name for name in _needs(statement, frozenset(certain)) if name not in certain)
        certain |= certainly_stored([statement])


def certainly_stored(statements: Sequence[ast.stmt]) -> set[str]:
    """Names that have a value once the statements have come to their end."""
    certain: set[str] = set()
    for statement in statements:
        match statement:
            case ast.If(body=body, orelse=orelse):
                certain |= _common([body, orelse])
            case ast.For() | ast.AsyncFor() | ast.While() | ast.Match():
                continue
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                certain |= _common([[*body, *orelse], *(each.body for each in handlers)]) | certainly_stored(final)
            case ast.With(body=body, items=items) | ast.AsyncWith(body=body, items=items):
                certain |= set(stored(each.optional_vars for each in items if each.optional_vars))
                certain |= certainly_stored(body)
            case ast.AugAssign() | ast.Delete() | ast.AnnAssign(value=None):
                continue
            case _:
                certain |= set(stored([statement]))
    return certain


def _needs(statement: ast.stmt, certain: frozenset[str]) -> Iterator[str]:
    match statement:
        case ast.If(test=test, body=body, orelse=orelse) | ast.While(test=test, body=body, orelse=orelse):
            yield from reads([test])
            yield from needed(body, certain)
            yield from needed(orelse, certain)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from reads([statement.iter, target])
            yield from needed(statement.body, certain | set(stored([target])))
            yield from needed(statement.orelse, certain)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            yield from reads(each.context_expr for each in items)
            yield from needed(body, certain | set(stored(each.optional_vars for each in items if each.optional_vars)))
        case ast.Try():
            yield from needed(statement.body, certain)
            for handler in statement.handlers:
                yield from reads([handler.type] if handler.type else [])
                yield from needed(handler.body, certain | ({handler.name} if handler.name else set[str]()))
            yield from needed(statement.orelse, certain | certainly_stored(statement.body))
            yield from needed(statement.finalbody, certain)
        case ast.Match(subject=subject, cases=cases):
            yield from reads([subject])
            for case in cases:
                inner = certain | set(stored([case.pattern]))
                yield from (name for name in reads([case.guard] if case.guard else []) if name not in inner)
                yield from needed(case.body, inner)
        case _:
            yield from reads([statement])


def _function_reads(node: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    given = node.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    yield from reads([*given.defaults, *filter(None, given.kw_defaults)])
    yield from reads(each.annotation for each in arguments if each.annotation)
    body: Sequence[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else node.body
    if isinstance(node, _FUNCTIONS):
        yield from reads([*node.decorator_list, *([node.returns] if node.returns else [])])
    bound = {each.arg for each in arguments} | set(stored(body))
    yield from (name for name in reads(body) if name not in bound)


def _common(ways: Sequence[Sequence[ast.stmt]]) -> set[str]:
    """What all ways bind that come to their end."""
    ending = [certainly_stored(way) for way in ways if not _leaves(way)]
    return set[str].intersection(*ending) if ending else set()


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Raise, ast.Return, ast.Break, ast.Continue))
