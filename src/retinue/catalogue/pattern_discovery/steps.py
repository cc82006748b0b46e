"""Reads steps of behaviour-driven tests: as code (pytest-bdd, behave) and as lines of `.feature` files.

A step's text becomes pieces of literal words with gaps between them. That is exact for plain and `parse` texts; of a
regular expression only the words count, so that no expression of a stranger is ever run.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final

from retinue.catalogue.pattern_discovery.facts import Phrase, StepDefinition
from retinue.catalogue.pattern_discovery.syntax import Function, Names, start_of

__all__ = ["fits", "phrases_of", "pieces_of", "steps_of"]

_KINDS: Final = frozenset({"given", "when", "then", "step"})
_LIBRARIES: Final = {"behave": "parse", "pytest_bdd": "exact"}
"""How each library reads a text that names no parser."""
_FORMS: Final = {"parse": "parse", "cfparse": "parse", "re": "re", "compile": "re"}
_FIELD: Final = re.compile(r"\{[^{}]*\}")
_GAP: Final = re.compile(
    r"""(?x)(?: \((?:[^()]|\([^()]*\))*\) | \[[^\]]*\] | \\[A-Za-z0-9] | \\?.(?=[*?+{]) | [.|^$(){}\[\]*?+] )
        [*?+]? (?:\{[^}]*\})?"""
)
"""What is no literal word in a regular expression: groups, classes, and whatever is repeated and so may be missing."""
_LONGEST: Final = 300


def steps_of(node: Function, names: Names) -> Iterator[StepDefinition]:
    """The steps that a function implements, one for each decorator."""
    for decorator in node.decorator_list:
        library, _, name = names.resolve(decorator).rpartition(".")
        default = _LIBRARIES.get(library or next(filter(names.starred, _LIBRARIES), ""))
        if isinstance(decorator, ast.Call) and default and name.lower() in _KINDS:
            arguments = [*decorator.args, *(one.value for one in decorator.keywords if one.arg in ("name", "sentence"))]
            text, form = _text(arguments[0], names, default) if arguments else ("", default)
            if text:
                yield StepDefinition(name.lower(), text[:_LONGEST], form, start_of(node))


def _text(node: ast.expr, names: Names, default: str) -> tuple[str, str]:
    """The text of a step, and how it is read."""
    match node:
        case ast.Constant(value=str(text)):
            return text, default
        case ast.Call(args=[ast.Constant(value=str(text)), *_]):
            return text, _FORMS.get(names.resolve(node).rpartition(".")[2], "exact")
        case _:
            return "", "exact"


def phrases_of(text: str) -> Iterator[Phrase]:
    """The steps of a `.feature` file; `And` and `But` are of the kind before them."""
    kind, quotation = "given", ""
    for number, line in enumerate(text.splitlines(), 1):
        word, _, rest = line.strip().partition(" ")
        if word[:3] in ('"""', "```"):
            quotation = "" if quotation == word[:3] else quotation or word[:3]
        elif not quotation and rest.strip() and word in ("Given", "When", "Then", "And", "But", "*"):
            kind = kind if word in ("And", "But", "*") else word.lower()
            yield Phrase(kind, rest.strip()[:_LONGEST], number)


def pieces_of(text: str, form: str) -> tuple[str, ...]:
    """The literal words of a step's text, in order, with a gap between each two."""
    if form == "parse":
        return tuple(_FIELD.split(text))
    if form != "re":
        return (text,)
    literal = _GAP.split(text.removeprefix("^").removesuffix("$"))
    return tuple(piece.replace("\\", "") for piece in literal)


def fits(pieces: Sequence[str], phrase: str) -> bool:
    """Whether `phrase` has the pieces in order, from its first character to its last."""
    first, *rest = pieces
    if not rest:
        return first == phrase
    if not phrase.startswith(first) or len(phrase) < sum(map(len, pieces)):
        return False
    at = len(first)
    for piece in rest[:-1]:
        place = phrase.find(piece, at)
        if place < 0:
            return False
        at = place + len(piece)
    return len(phrase) - at >= len(rest[-1]) and phrase.endswith(rest[-1])
