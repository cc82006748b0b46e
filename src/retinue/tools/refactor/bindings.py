"""Which names some Python code reads and binds, in its own scope. Pure; the order is that of the text."""

import ast
from collections.abc import Iterable, Iterator, Sequence

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


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
                yield from _function_reads(node)
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


def _function_reads(node: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    signature = node.args
    arguments = [
        *signature.posonlyargs,
        *signature.args,
        *signature.kwonlyargs,
        *filter(None, (signature.vararg, signature.kwarg)),
    ]
    yield from read_names([*signature.defaults, *filter(None, signature.kw_defaults)])
    yield from read_names(each.annotation for each in arguments if each.annotation)
    body: Sequence[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else node.body
    if isinstance(node, _FUNCTIONS):
        yield from read_names([*node.decorator_list, *([node.returns] if node.returns else [])])
    bound = {each.arg for each in arguments} | set(bound_names(body))
    yield from (name for name in read_names(body) if name not in bound)


def _common(ways: Sequence[Sequence[ast.stmt]]) -> set[str]:
    """What all ways bind that come to their end."""
    ending = [surely_bound(way) for way in ways if not _leaves(way)]
    return set[str].intersection(*ending) if ending else set()


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Raise, ast.Return, ast.Break, ast.Continue))
