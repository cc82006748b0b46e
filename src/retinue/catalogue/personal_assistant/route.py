"""What a prompt asks of the tools of some domains, read without a model: tools are presented to the router as skills.

A tool is used only for what it is clearly for. One that takes a text is for a clause that holds one of its phrases: its
example, or one from its notes; any other tool is for a clause of which it knows every word. A question only reads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, Final

from retinue.agents.extensions import Extension, ExtensionTool
from retinue.contract import names
from retinue.contract.definition import Definition, Skill
from retinue.contract.model import JsonMapping
from retinue.orchestration.reader.bind import ReaderEnvironment, bind
from retinue.orchestration.reader.router import Router
from retinue.orchestration.reader.text_tokens import FUNCTION_WORDS, word_tokens

_SMALL: Final = frozenset(word_tokens(FUNCTION_WORDS))
_POLITE: Final = frozenset(word_tokens("please can could would will you we just also then and now"))
_ASKING: Final = frozenset(("what", "who", "whose", "whom", "which", "why", "how"))
_AUXILIARY: Final = frozenset(("is", "are", "was", "were", "am", "does", "did", "do", "should", "shall", "has", "had",
                               "have", "may", "might", "can", "could", "will", "would"))  # fmt: skip
_PERSONS: Final = frozenset(("i", "we", "they", "he", "she", "it", "there", "any", "my", "our", "the"))
_LINKS: Final = frozenset(("to", "on", "in", "into"))
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NEAR: Final = {"today": 0, "tonight": 0, "tomorrow": 1}


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One clause, and the tool that it is for.

    Attributes:
        extension: None when no domain here is for it.
        tool: None when that is for a model to say.
        missing: Names of required parameters that the clause does not give.
    """

    clause: str
    extension: Extension | None = None
    tool: ExtensionTool | None = None
    arguments: JsonMapping = field(default_factory=dict[str, Any])
    missing: tuple[str, ...] = ()


def only_reads(tool: ExtensionTool) -> bool:
    """Whether a tool changes nothing, which its name says (B21)."""
    return not {"GET", "LIST", "FIND", "SEARCH"}.isdisjoint(tool.name.upper().split("_"))


def is_question(text: str) -> bool:
    """Whether every sentence of `text` asks something, and none asks for something to be done."""
    return all(map(_is_question_sentence, _sentences(text)))


def read_prompt(text: str, extensions: Sequence[Extension], *, today: date) -> list[ToolRequest]:
    """What each clause of `text` asks of the tools; two are told apart only where both are for a tool."""
    requests: list[ToolRequest] = []
    for sentence in _sentences(text):
        ending = sentence[-1] if sentence[-1] in ".?!" else ""
        clause, *rest = sentence.split(" and ")
        for part in rest:
            both = [_request(one.removesuffix(ending) + ending, extensions, today) for one in (clause, part)]
            if all(one.tool for one in both):
                requests.append(both[0])
                clause = part
            else:
                clause = f"{clause} and {part}"
        requests.append(_request(clause, extensions, today))
    return requests


def _sentences(text: str) -> Iterator[str]:
    for end in ("? ", "! ", ". ", "; "):
        text = text.replace(end, f"{end}\n")
    yield from (line.strip() for line in text.splitlines() if word_tokens(line))


def _is_question_sentence(sentence: str) -> bool:
    first, second, *_ = [*sentence.casefold().replace("\u2019", "'").replace(",", " ").split(), "", ""]
    if first == "please" or (first in ("can", "could", "will", "would") and second in ("you", "we")):
        return False
    # `isn't` asks as `is` does.
    lead = first.partition("'")[0].removesuffix("n")
    return (
        sentence.rstrip().endswith("?")
        or lead in _ASKING
        or (lead in ("when", "where") and (second in _AUXILIARY or "'" in first))
        or (lead in _AUXILIARY and second in _PERSONS)
        or (lead in ("is", "are", "was", "were", "does", "did") and bool(second))
    )


@lru_cache(maxsize=16)
def _routing(extensions: tuple[Extension, ...]) -> tuple[Router, dict[str, tuple[Extension, ExtensionTool, Skill]]]:
    """A router over the tools, and the tools by the names that it knows them by."""
    tools = [(extension, tool) for extension in extensions for tool in extension.tools]
    tools_by_name: dict[str, tuple[Extension, ExtensionTool, Skill]] = {}
    for place, (extension, tool) in enumerate(tools):
        words = tool.words
        examples = (words.example_prompt, *words.notes.partition("Args:")[0].replace(".", ",").split(","))
        tools_by_name[f"t{place}"] = (
            extension,
            tool,
            Skill(
                name=f"t{place}",
                description=f"{names.fold(tool.name).replace('_', ' ')}: {words.summary} {words.notes}",
                input_schema=tool.input_schema,
                examples=tuple(dict.fromkeys(filter(None, map(str.strip, examples)))),
            ),
        )
    definitions = [
        Definition(
            name=f"d{place}",
            description=extension.prompt or extension.name,
            skills=tuple(skill for owner, _, skill in tools_by_name.values() if owner is extension),
        )
        for place, extension in enumerate(extensions)
        if extension.tools
    ]
    return Router(definitions, threshold=0.0), tools_by_name


def _request(clause: str, extensions: Sequence[Extension], today: date) -> ToolRequest:
    """The first tool, best first, that the clause is for; one that can be called comes before one that must ask."""
    router, tools_by_name = _routing(tuple(extensions))
    must_read, first = _is_question_sentence(clause), None
    for candidate in router.route(clause, limit=len(tools_by_name)).candidates if tools_by_name else ():
        extension, tool, skill = tools_by_name[candidate.skill]
        if must_read and not only_reads(tool):
            continue
        request, rest = _bind_arguments(clause, extension, tool, skill, today)
        # Whether the clause is clearly for the tool: see above.
        if any(map(_is_text, skill.input_schema.get("properties", {}).values())):
            tokens = word_tokens(clause)
            while tokens and tokens[0] in _POLITE:
                del tokens[0]
            is_for = any(
                phrase == tokens[: len(phrase)] or (len(set(phrase) - _SMALL) > 1 and set(phrase).issubset(tokens))
                for phrase in map(word_tokens, skill.examples)
            )
        else:
            own = _SMALL.union(word_tokens(f"{extension.name} {skill.description} {' '.join(skill.examples)}"))
            is_for = all(token.isdigit() or token in own for token in word_tokens(rest))
        if is_for and not request.missing:
            return request
        first = first or (request if is_for else None)
    return first or ToolRequest(clause)


def _bind_arguments(
    clause: str, extension: Extension, tool: ExtensionTool, skill: Skill, today: date
) -> tuple[ToolRequest, str]:
    """The arguments of a tool, as far as they were said; and the clause without their words."""
    properties: dict[str, JsonMapping] = skill.input_schema.get("properties", {})
    days = [name for name, schema in properties.items() if "'date'" in str(schema)]
    day, rest = _day_ahead(clause, today) if days else (None, clause)
    bound = bind(skill, rest, environment=ReaderEnvironment(today=today))
    required: list[str] = skill.input_schema.get("required", [])
    text, remaining = next((name for name in required if _is_text(properties[name])), ""), rest
    values: JsonMapping = {} if day is None else {days[0]: day.isoformat()}
    for one in (one for one in bound.bindings if one.how == "said" and one.parameter != text):
        values[one.parameter] = one.value
        remaining = remaining.replace(one.words or "", " ", 1)
        if isinstance(one.value, str):
            rest = rest.replace(one.words or "", " ", 1)
    if text:
        # The text goes without the words before it that only lead to it, and a phrase behind it: "to my list".
        own, words = _SMALL.union(word_tokens(skill.description)), remaining.split()
        while words and own.issuperset(word_tokens(words[0])):
            del words[0]
        while words and only_reads(tool) and _SMALL.issuperset(word_tokens(words[-1])):
            del words[-1]
        for phrase in map(str.split, skill.examples):
            at = next((place for place, word in enumerate(phrase) if word in _LINKS), len(phrase))
            tail = [word.casefold() for word in words[at - len(phrase) :]]
            if at < len(phrase) - 1 and tail == phrase[at:]:
                del words[at - len(phrase) :]
        if content := " ".join(words).strip(" .,;:?!\"'\u201c\u201d"):
            values[text] = content
    missing = tuple(name for name in required if not values.get(name))
    return ToolRequest(clause, extension, tool, values, missing), rest


def _is_text(schema: JsonMapping) -> bool:
    return schema.get("type") == "string" and not {"enum", "format"} & set(schema)


def _day_ahead(clause: str, today: date) -> tuple[date | None, str]:
    """The day to come that a clause speaks of, and the clause without it: tomorrow, in 3 days, by Friday."""
    words = clause.split()
    bare_words = [word.strip(".,;!?").casefold() for word in words]
    for place, word in enumerate(bare_words):
        begin = place - (place > 0 and bare_words[place - 1] in ("on", "by", "until", "next", "this", "to"))
        if word in _NEAR or word in _WEEKDAYS:
            ahead = _NEAR[word] if word in _NEAR else (_WEEKDAYS.index(word) - today.weekday()) % 7 or 7
            return today + timedelta(days=ahead), " ".join([*words[:begin], *words[place + 1 :]])
        count, unit = [*bare_words[place + 1 : place + 3], "", ""][:2]
        if word == "in" and count.isdecimal() and len(count) < 4 and unit in ("day", "days", "week", "weeks"):
            days = int(count) * (7 if unit.startswith("week") else 1)
            return today + timedelta(days=days), " ".join([*words[:place], *words[place + 3 :]])
    return None, clause
