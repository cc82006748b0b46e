"""Tools as skills: so that the rules planner can rank them, and the binder fill in what was said (G23).

What a binder does not read is the free text that most tools want: what to note, what to be reminded of. It is what is
left of the clause when the words that only name the tool, and those of the other values, are taken away.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any, Final, cast

from retinue.agents.extensions import Extension, ExtensionTool
from retinue.contract import names
from retinue.contract.definition import Definition, Skill
from retinue.contract.model import JsonMapping
from retinue.orchestration.reader.bind import bind
from retinue.orchestration.reader.parameters import Surroundings

from .days import find_day

__all__ = ["SMALL_WORDS", "Filled", "around", "as_definition", "fill"]

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_LINKS: Final = frozenset(("about", "at", "by", "due", "for", "from", "in", "of", "on", "until", "with", "to", "and"))
SMALL_WORDS: Final = _LINKS | frozenset(
    ("a", "an", "the", "i", "me", "my", "we", "you", "it", "this", "that", "there", "can", "could", "do", "does"),
).union(
    (
        "have",
        "has",
        "is",
        "are",
        "was",
        "were",
        "need",
        "one",
        "what",
        "will",
        "would",
        "please",
        "just",
        "so",
        "some",
        "like",
        "than",
    )
)
"""Words that lead to a text and are not part of it."""


@dataclass(frozen=True, slots=True)
class Filled:
    """The arguments of one tool, as far as they were said.

    Attributes:
        missing: Names of required parameters that nobody said.
    """

    arguments: JsonMapping = field(default_factory=dict[str, Any])
    missing: tuple[str, ...] = ()


def around() -> Surroundings:
    """What may be known beside a clause: the day it is."""
    return Surroundings(today=date.today())  # noqa: DTZ011 - the person's own day is meant


@lru_cache(maxsize=64)
def as_definition(extension: Extension) -> Definition:
    """The extension as an agent whose skills are its tools."""
    skills = tuple(map(_skill, extension.tools))
    return Definition(name=_folded(extension.name), description=extension.prompt or extension.name, skills=skills)


def _skill(tool: ExtensionTool) -> Skill:
    words = tool.words
    described = " ".join(filter(None, (words.summary, words.notes))) or tool.name
    return Skill(
        name=_folded(tool.name),
        description=described,
        input_schema=tool.signature.input_schema,
        examples=tuple(filter(None, (words.example_prompt,))),
    )


def _folded(name: str) -> str:
    folded = names.fold(name)
    return folded if re.match("[a-z]", folded) else f"x_{folded}".rstrip("_")


def fill(tool: ExtensionTool, clause: str, *, today: date) -> Filled:
    """What `clause` says for the parameters of `tool`."""
    schema = tool.signature.input_schema
    properties = cast("dict[str, JsonMapping]", schema.get("properties", {}))
    bound = bind(_skill(tool), clause, around=Surroundings(today=today), open_text=False)
    values = {binding.parameter: binding.value for binding in bound.bindings if binding.how == "said"}
    taken = [binding.words for binding in bound.bindings if binding.how == "said" and binding.words]
    for name in (name for name, facts in properties.items() if _is_day(facts) and name not in values):
        if found := find_day(clause, today=today):
            values[name] = found.day.isoformat()
            taken.append(found.words)
    required = cast("list[str]", schema.get("required", []))
    if (text := next(_free_texts(properties, values, required), None)) and (left := _left_over(tool, clause, taken)):
        values[text] = left
    return Filled(values, tuple(name for name in required if name not in values))


def _is_day(facts: JsonMapping) -> bool:
    return facts.get("format") == "date" or any(each.get("format") == "date" for each in facts.get("anyOf", ()))


def _free_texts(properties: dict[str, JsonMapping], values: JsonMapping, required: list[str]) -> Iterator[str]:
    """Parameters that take any text, those that are required first."""
    free = [
        name
        for name, facts in properties.items()
        if facts.get("type") == "string" and name not in values and not {"enum", "format", "pattern"} & set(facts)
    ]
    yield from sorted(free, key=lambda name: name not in required)


def _left_over(tool: ExtensionTool, clause: str, taken: list[str]) -> str:
    """The clause without the words that lead to the tool, and without those of other values."""
    text = clause
    for words in taken:
        text = text.replace(words, " ", 1)
    quoted = re.search(r"[\"“]([^\"”]+)[\"”]", text)
    if quoted:
        return quoted[1].strip()
    said = f"{tool.name.replace('_', ' ')} {tool.words.summary} {tool.words.notes}".casefold()
    own = {form for word in _WORD.findall(said) for form in (word, word.removesuffix("s"))} | SMALL_WORDS
    words = list(_WORD.finditer(text))
    while words and {words[0].group().casefold(), words[0].group().casefold().removesuffix("s")} & own:
        del words[0]
    while words and words[-1].group().casefold() in _LINKS:
        del words[-1]
    return " ".join(text[words[0].start() : words[-1].end()].split()) if words else ""
