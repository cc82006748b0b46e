"""Reads steps of behaviour-driven tests: as code (pytest-bdd, behave) and as lines of `.feature` files.

A step's text becomes pieces of literal words with gaps between them. That is exact for plain and `parse` texts; of a
regular expression only the words count, so that no expression of a stranger is ever run.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final

from retinue.catalogue.pattern_discovery.facts import Phrase, Step
from retinue.catalogue.pattern_discovery.read_fixture import start_of
from retinue.catalogue.pattern_discovery.tree import Function, Names

__all__ = ["fits", "phrases_of", "pieces_of", "steps_of"]

_KINDS: Final = frozenset({"given", "when", "then", "step"})
_LIBRARIES: Final = ("behave", "pytest_bdd")
_PHRASE: Final = re.compile(r"\s*(Given|When|Then|And|But|\*)\s+(\S.*?)\s*\Z")
_FIELD: Final = re.compile(r"\{[^{}]*\}")
_LONGEST: Final = 300


def steps_of(node: Function, names: Names) -> Iterator[Step]:
    """The steps that a function implements, one for each decorator."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and (kind := _kind(decorator, names)):
            arguments = [*decorator.args, *(one.value for one in decorator.keywords if one.arg in ("name", "sentence"))]
            text, form = _text(arguments[0], names) if arguments else ("", "exact")
            if text and form == "exact" and names.starred("behave"):
                form = "parse"
            if text:
                yield Step(kind, text[:_LONGEST], form, start_of(node), node.end_lineno or node.lineno)


def _kind(node: ast.Call, names: Names) -> str:
    library, _, name = names.resolve(node).rpartition(".")
    kind = name.lower()
    if kind not in _KINDS:
        return ""
    known = (
        library in _LIBRARIES
        or (not library and names.starred("behave"))
        or (not library and names.starred("pytest_bdd"))
    )
    return kind if known else ""


def _text(node: ast.expr, names: Names) -> tuple[str, str]:
    """The text of a step, and how it is read."""
    match node:
        case ast.Constant(value=str(text)):
            return text, "exact"
        case ast.Call(args=[ast.Constant(value=str(text)), *_]):
            parser = names.resolve(node).rpartition(".")[2]
            forms = {"parse": "parse", "cfparse": "parse", "re": "re", "compile": "re", "string": "exact"}
            return text, forms.get(parser, "exact")
        case _:
            return "", "exact"


def phrases_of(text: str) -> Iterator[Phrase]:
    """The steps of a `.feature` file; `And` and `But` are of the kind before them."""
    kind, quoted = "given", ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = line.strip()[:3]
        if mark in ('"""', "```"):
            quoted = "" if quoted == mark else quoted or mark
            continue
        found = None if quoted else _PHRASE.match(line)
        if found is None:
            continue
        said = found[1].lower()
        kind = kind if said in ("and", "but", "*") else said
        yield Phrase(kind, found[2][:_LONGEST], number)


def pieces_of(text: str, form: str) -> tuple[str, ...]:
    """The literal words of a step's text, in order, with a gap between each two."""
    match form:
        case "parse":
            return tuple(_FIELD.split(text))
        case "re":
            return tuple(_expression_pieces(text))
        case _:
            return (text,)


def fits(pieces: Sequence[str], phrase: str) -> bool:
    """Whether `phrase` has the pieces in order, from its first character to its last."""
    first, *rest = pieces
    if not rest:
        return first == phrase
    if not phrase.startswith(first) or len(phrase) < sum(map(len, pieces)):
        return False
    at = len(first)
    for piece in rest[:-1]:
        found = phrase.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return len(phrase) - at >= len(rest[-1]) and phrase.endswith(rest[-1])


def _expression_pieces(pattern: str) -> list[str]:
    """The literal runs of a regular expression; groups, classes and repeats are gaps."""
    pieces, depth, at = [""], 0, 0
    pattern = pattern.removeprefix("^").removesuffix("$")
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            following = pattern[at + 1 : at + 2]
            literal = following if following and not following.isalnum() else None
            at += 2
        elif character == "[":
            end = pattern.find("]", at + 2)
            literal, at = None, (end if end >= 0 else len(pattern)) + 1
        else:
            depth += (character == "(") - (character == ")")
            literal = None if character in "().*+?{}|" else character
            at += 1
        if literal is None or depth > 0:
            repeats = character in "*+?{" and depth == 0
            if repeats and pieces[-1]:  # what is repeated may be missing
                pieces[-1] = pieces[-1][:-1]
            pieces += [""] if pieces[-1] or len(pieces) == 1 else []
        else:
            pieces[-1] += literal
    return pieces
