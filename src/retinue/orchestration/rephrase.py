"""A failed request once more, in more general words, to whatever else its agent does (P14, C47).

This is the generic task of an agent in process: the words are routed among the agent's *other* skills, and when none
fits the answer is no. What is left out of the words is named, so that nobody takes the broader answer for the one that
was asked for. Whether it should come to this at all is decided in `escalate`.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeGuard

from retinue.contract.definition import Definition
from retinue.contract.fault import Fault
from retinue.contract.plan import Binding, Candidate, Delegation

__all__ = ["Broader", "broader", "generic_task", "lost_words", "parameter_at_fault"]

_POINTER: Final = re.compile(r"(?:/parameters)?/([A-Za-z_][A-Za-z0-9_]*)(?:/.*)?")
_LINKS: Final = (
    "a about after an and at before between by during for from in into of on or since the to until with within"
)
_DANGLING: Final = re.compile(rf"(?:\s+(?:{'|'.join(_LINKS.split())}))+(?=\s*[,.;:?!]|\s*$)", re.IGNORECASE)
"""What is left hanging when the words after it have gone: "since", "in the"."""
_LOOSE: Final = re.compile(r"[\"'`(\[]\s*[\"'`)\]]")
_SPACED: Final = re.compile(r"\s+(?=[,.;:?!])")


@dataclass(frozen=True, slots=True)
class Broader:
    """A request in more general words.

    Attributes:
        left_out: The words of the old one that it does without.
    """

    words: str
    left_out: tuple[str, ...]


def parameter_at_fault(fault: Fault | None, parameters: Collection[str]) -> str | None:
    """Which of `parameters` a fault points at."""
    found = _POINTER.fullmatch(fault.path) if fault else None
    return found[1] if found and found[1] in parameters else None


def broader(node: Delegation, fault: Fault | None) -> Broader | None:
    """The request of `node` without what limited it; None when nothing did, or nothing would be left.

    What the fault points at goes. When it points at nothing, whatever was read out of the words for the skill that
    failed goes, since another skill has its own parameters.
    """
    said = {one.parameter: one for one in node.bindings if _limits(one, node.instruction)}
    named = parameter_at_fault(fault, said)
    dropped = [said[named]] if named is not None else list(said.values())
    words = node.instruction
    for binding in sorted(dropped, key=lambda one: -len(one.words)):
        words = _as_words(binding.words).sub(" ", words, count=1)
    words = _SPACED.sub("", " ".join(_LOOSE.sub(" ", words).split()))
    words = " ".join(_DANGLING.sub("", words).split()).strip(" ,;:-")
    left_out = tuple(dict.fromkeys(binding.words for binding in dropped))
    return Broader(words, left_out) if left_out and len(words.split()) > 1 else None


def lost_words(node: Delegation, request: Delegation) -> tuple[str, ...]:
    """The words that limited `node` and that `request`, the same put to somebody else, tells nobody."""
    told = [one.words for one in request.bindings] + [text for text in request.parameters.values() if _is_text(text)]
    said = (one.words for one in node.bindings if _limits(one, node.instruction))
    return tuple(dict.fromkeys(words for words in said if not any(words in text for text in told)))


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def _limits(binding: Binding, instruction: str) -> bool:
    """Whether words of the instruction, and not all of it, became a parameter."""
    words = binding.words
    said = binding.how == "said" and bool(words.strip()) and words != instruction
    return said and _as_words(words).search(instruction) is not None


def _as_words(text: str) -> re.Pattern[str]:
    """Finds `text` where it is not part of a longer word."""
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")


def generic_task(definition: Definition, words: str, tried: Collection[tuple[str, str | None]]) -> Candidate | str:
    """Which skill of an agent its generic task would use for `words`, those that were tried left out; or why none."""
    others = tuple(skill for skill in definition.skills if (definition.name, skill.name) not in tried)
    if not any(not skill.unavailable for skill in others):
        return "has no other skill"
    from retinue.orchestration.reader.router import Router  # noqa: PLC0415 - only a request that failed needs it

    routing = Router([definition.model_copy(update={"skills": others})]).route(words, limit=1)
    return f"does nothing like it: {routing.reason}" if routing.abstained else routing.candidates[0]
