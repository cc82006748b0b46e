"""The registry in a few lines of plain text: who there is and what each does, for whoever has to choose (B19).

No schemas and no parameters: they cost a model tokens and help it little to choose. What the chosen skill takes stands
in its definition.
"""

from collections.abc import Iterable
from typing import Final
from weakref import WeakKeyDictionary

from retinue.agents.registry import Registry
from retinue.contract.definition import Definition, Skill
from retinue.contract.sanitize import printable

_LONGEST: Final = 200
_CACHE: Final[WeakKeyDictionary[Registry, tuple[int, str]]] = WeakKeyDictionary()


def light_schema(definitions: Iterable[Definition]) -> str:
    """One paragraph for each agent: its name and first sentence, then a line for each skill that can be called.

        weather_reporter — Tells the weather of a city
        - forecast: Says what the weather will be EX: "will it rain in Vienna tomorrow"

    An agent with several live majors stands there once, as the oldest: it answers to the bare name. Every text is one
    line, whatever its author wrote.
    """
    oldest: dict[str, Definition] = {}
    for definition in definitions:
        current = oldest.get(definition.name)
        if current is None or definition.major < current.major:
            oldest[definition.name] = definition
    paragraphs = [_paragraph(definition) for definition in oldest.values()]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def light_schema_of(registry: Registry) -> str:
    """The light schema of all agents in `registry`, made once and anew when an agent has been added."""
    cached = _CACHE.get(registry)
    if cached is None or cached[0] != len(registry):
        cached = _CACHE[registry] = (len(registry), light_schema(registry.selectable()))
    return cached[1]


def _paragraph(definition: Definition) -> str:
    skills = [_line_of(skill) for skill in definition.skills if not skill.unavailable]
    return "\n".join([f"{definition.name} — {_first_sentence(definition.description)}", *skills]) if skills else ""


def _line_of(skill: Skill) -> str:
    line = f"- {skill.name}: {_first_sentence(skill.description)}"
    example = next((sentence for text in skill.examples if (sentence := _one_line(text))), "")
    return f'{line} EX: "{example}"' if example else line


def _first_sentence(text: str) -> str:
    line = _one_line(text)
    return line.partition(". ")[0].removesuffix(".")


def _one_line(text: str) -> str:
    line = " ".join(printable(text[: _LONGEST * 4]).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"
