"""Reads steps of behaviour-driven tests: as code (pytest-bdd, behave) and as lines of `.feature` files.

A step's text becomes literal words with gaps between them. That is exact for plain and `parse` texts; of a regular
expression only the words count, so that no expression of a stranger is ever run.
"""

import ast
import re
from collections.abc import Iterator
from fnmatch import translate
from glob import escape
from typing import Final

from .facts import StepSentence
from .syntax import Function, Names, start_of

__all__ = ["matcher_of", "phrases_of", "steps_of"]

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


def steps_of(node: Function, names: Names) -> Iterator[StepSentence]:
    """The steps that a function implements, one for each decorator."""
    for decorator in node.decorator_list:
        library, _, name = names.resolve(decorator).rpartition(".")
        default = _LIBRARIES.get(library or next((one for one in _LIBRARIES if one in names.stars), ""))
        if not isinstance(decorator, ast.Call) or not default or name.lower() not in _KINDS:
            continue
        match [*decorator.args, *(one.value for one in decorator.keywords if one.arg in ("name", "sentence"))]:
            case [ast.Constant(value=str(text)), *_]:
                yield StepSentence(name.lower(), text, start_of(node), default)
            case [ast.Call(args=[ast.Constant(value=str(text)), *_]) as parser, *_]:
                form = _FORMS.get(names.resolve(parser).rpartition(".")[2], "exact")
                yield StepSentence(name.lower(), text, start_of(node), form)
            case _:
                pass


def phrases_of(text: str) -> Iterator[StepSentence]:
    """The steps of a `.feature` file; `And` and `But` are of the kind before them."""
    kind, quotation = "given", ""
    for number, line in enumerate(text.splitlines(), 1):
        word, _, rest = line.strip().partition(" ")
        if word[:3] in ('"""', "```"):
            quotation = "" if quotation == word[:3] else quotation or word[:3]
        elif not quotation and rest.strip() and word in ("Given", "When", "Then", "And", "But", "*"):
            kind = kind if word in ("And", "But", "*") else word.lower()
            yield StepSentence(kind, rest.strip(), number)


def matcher_of(step: StepSentence) -> re.Pattern[str]:
    """What the lines look like that a step fits. It takes no longer than the line is long, whatever the step says."""
    pieces = [step.text]
    if step.form == "parse":
        pieces = _FIELD.split(step.text)
    elif step.form == "re":
        literal = _GAP.split(step.text.removeprefix("^").removesuffix("$"))
        pieces = [piece.replace("\\", "") for piece in literal]
    return re.compile(translate("*".join(map(escape, pieces))))
