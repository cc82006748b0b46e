"""The input block as text: how its lines are read, and how a value is written so that it reads back as it was.

Knows lines, keys, quoting and the format's own words; what a field means is decided in `parse` and `render`. A value is
plain text where that has one meaning, else a JSON string: so no value can forge a field, a section or the end of the
block.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from retinue.contract import json
from retinue.contract.names import fold, to_kebab
from retinue.contract.version import split_versioned_name
from retinue.dialects import decoding

from .wire import ErrorType

KEYS: Final = ("Agent", "Operation", "Target", "Context")
"""The bold keys of the block, in their order."""

LISTS: Final = ("Optional Parameters", "Correction")
"""The bold keys with a list below them. The second is ours, for a request that is made again."""

_KEYS_BY_LOWER: Final = {key.lower(): key for key in (*KEYS, *LISTS)}
_FIELD: Final = re.compile(r"\*\*([^*:]{1,64})(:\*\*|\*\*[ \t]*+:)(.*)")
_ITEM: Final = re.compile(r"[-*+][ \t]+(.*)")
_BREAK: Final = re.compile(r"[\r\n]")
_FENCE: Final = re.compile(r"(`{3,}|~{3,})[^`]*")

Oddity: TypeAlias = Literal["colon_outside", "no_dash", "no_key"]
"""What is odd in the spelling of a field that can be read all the same."""


@dataclass(frozen=True, slots=True)
class BlockField:
    """A key and what stands behind it.

    Attributes:
        raw: The lines of the value as they stand, without white space around them.
        line: Where it starts in the text, from 1.
    """

    key: str
    raw: str
    line: int
    oddity: Oddity | None = None

    @property
    def value(self) -> str:
        """What the lines say: the text itself, or the one that a JSON string says."""
        return unquote(self.raw)


@dataclass(slots=True)
class Block:
    """One input block, as it stands in a text; nothing in it has been judged.

    Attributes:
        line: Where it starts, from 1.
        fields: Bold keys with their values, in their order, the unknown and the repeated ones too.
        parameters: The list under "Optional Parameters".
        correction: The list under "Correction".
        headings: The bold keys of the lists.
        before: The prose between the block before, or the start of the text, and this one.
        after: The prose behind it, up to the next one.
        is_fenced: It stands in a code fence.
    """

    line: int
    fields: list[BlockField] = field(default_factory=list[BlockField])
    parameters: list[BlockField] = field(default_factory=list[BlockField])
    correction: list[BlockField] = field(default_factory=list[BlockField])
    headings: list[BlockField] = field(default_factory=list[BlockField])
    before: str = ""
    after: str = ""
    is_fenced: bool = False

    def get(self, key: str) -> str | None:
        """What is said under `key`, one of `KEYS`; None when nothing is."""
        return next((each.value for each in self.fields if each.key == key), None)

    def line_of(self, key: str) -> int:
        """Where `key` stands; the start of the block when it does not."""
        return next((each.line for each in (*self.fields, *self.headings) if each.key == key), self.line)


def find_blocks(text: str) -> tuple[Block, ...]:
    """Every input block in `text`: in prose, in slash commands, in code fences. Linear; never raises.

    A block starts at a bold "Agent", or at an "Operation" where no block is open. Prose ends its fields: what follows,
    up to the next "Agent", is its `after`.
    """
    reader = _MarkdownReader()
    for number, line in enumerate(text.split("\n"), start=1):
        reader.feed(line.removesuffix("\r"), number)
    return reader.finish()


@dataclass(slots=True)
class _OpenValue:
    """A value whose lines are being read, and where it goes."""

    key: str
    lines: list[str]
    line: int
    into: list[BlockField]
    oddity: Oddity | None


class _MarkdownReader:
    """Where we are in the text: in prose, or among a block's fields, one of them or a list perhaps still open."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._prose: list[str] = []
        self._fence = ""
        self._among_fields = False
        self._unnamed = True
        self._value: _OpenValue | None = None
        self._list: list[BlockField] | None = None
        self._dashless = False

    def feed(self, line: str, number: int) -> None:
        """Read one line."""
        content = line.strip()
        if not content:
            self._close()
            self._dashless = False
            self._prose.append(line)
        elif content.startswith(("```", "~~~")):
            ends = self._fence and content.startswith(self._fence) and not content.strip(self._fence[0])
            if ends and self._blocks and self._blocks[-1].is_fenced:
                self._close()
                self._among_fields, self._list = False, None
            else:
                self._to_prose(line)
            if ends:
                self._fence = ""
            elif not self._fence and (match := _FENCE.fullmatch(content)):
                self._fence = match[1]
        elif not (content.startswith("**") and self._at_field(content, number)) and not self._at_value(
            line, content, number
        ):
            self._to_prose(line)

    def finish(self) -> tuple[Block, ...]:
        """Close what is open, and give what was found."""
        self._close()
        self._end_prose()
        return tuple(self._blocks)

    def _at_field(self, content: str, number: int) -> bool:
        """Take the line as a bold key; False when it is none, or part of the prose."""
        match = _FIELD.fullmatch(content)
        if match is None:
            return False
        key = _format_key(match[1])
        starts = key == "Agent" and not (self._among_fields and self._unnamed)
        starts = starts or (key == "Operation" and not self._blocks)
        if not starts and not self._among_fields:
            return False
        self._close()
        if starts:
            self._start(number)
        self._prose.clear()
        self._unnamed = self._unnamed and key != "Agent"
        block, oddity = self._blocks[-1], None if match[2] == ":**" else "colon_outside"
        self._list = None
        if key in LISTS:
            block.headings.append(BlockField(key, match[3].strip(), number, oddity))
            self._list = block.parameters if key == LISTS[0] else block.correction
            self._dashless = True
        else:
            self._value = _OpenValue(key or match[1].strip(), [match[3].strip()], number, block.fields, oddity)
        return True

    def _at_value(self, line: str, content: str, number: int) -> bool:
        """Take the line as an item of a list or as more of a value; False when it is prose."""
        if not self._among_fields:
            return False
        item = _ITEM.fullmatch(content) if self._list is not None else None
        if item is not None and (self._value is None or not line[0].isspace()):
            self._item(item[1].strip(), number, None)
        elif self._list is not None and self._dashless and ":" in content and not line[0].isspace():
            self._item(content, number, "no_dash")
        elif self._value is not None:
            self._value.lines.append(content)
        else:
            return False
        return True

    def _item(self, text: str, number: int, oddity: Oddity | None) -> None:
        self._close()
        self._dashless = oddity is not None
        key, value = _pair(text)
        into = self._list if self._list is not None else []
        self._value = _OpenValue(key or "", [value], number, into, oddity if key is not None else "no_key")

    def _to_prose(self, line: str) -> None:
        self._close()
        self._among_fields, self._list = False, None
        self._prose.append(line)

    def _start(self, number: int) -> None:
        is_fenced = bool(self._fence) and bool(self._prose) and self._prose[-1].strip().startswith(self._fence)
        if is_fenced:
            self._prose.pop()
        before = self._end_prose()
        self._blocks.append(Block(number, before=before, is_fenced=is_fenced))
        self._among_fields = self._unnamed = True

    def _end_prose(self) -> str:
        """The prose so far; it stands behind the last block, if there is one."""
        prose = "\n".join(self._prose).strip()
        self._prose.clear()
        if not self._blocks:
            return prose
        self._blocks[-1].after = prose
        return ""

    def _close(self) -> None:
        if self._value is not None:
            value, self._value = self._value, None
            value.into.append(BlockField(value.key, "\n".join(value.lines).strip(), value.line, value.oddity))


_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"')


def _pair(text: str) -> tuple[str | None, str]:
    """Key and value of an item; no key when there is no colon."""
    string = _STRING.match(text)
    if string is not None and text.startswith(":", string.end()):
        return unquote(string[0]), text[string.end() + 1 :].strip()
    bold = _FIELD.fullmatch(text)
    if bold is not None:
        return bold[1].strip(), bold[3].strip()
    key, colon, value = text.partition(":")
    return (key.strip(), value.strip()) if colon else (None, text)


def _format_key(key: str) -> str:
    return _KEYS_BY_LOWER.get(" ".join(key.lower().split()), "")


def unquote(text: str) -> str:
    """What a JSON string says; any other text says itself."""
    inner = decoding.unquote_json(text)
    return text if inner is None else inner


_ODD_START: Final = re.compile(r'["\s]|\*\*|[-*+][ \t]|```|~~~')


def line_text(value: str, *, lines: bool = False, labels: tuple[str, ...] = ()) -> str:
    """`value` as what stands behind a key: a JSON string where plain text would not read back.

    Args:
        value: Any text.
        lines: Several lines may stand there, one below the other.
        labels: What no line may start with, since it would mean something else.
    """
    parts = value.split("\n") if lines else [value]
    is_plain = (
        value != ""
        and all(part and part == part.strip() and "\n" not in part for part in parts)
        and "\r" not in value
        and not value.startswith('"')
        and not any(_ODD_START.match(part) for part in parts[1:])
        and not (labels and any(part.startswith(labels) for part in parts))
    )
    return value if is_plain else json.dumps(value)


def item_text(key: str, value: str) -> str:
    """One item of a list."""
    is_plain = key and key == key.strip() and key[0] not in '"*' and not any(mark in key for mark in ":\r\n")
    return f"- {key if is_plain else json.dumps(key)}: {line_text(value)}"


def prose_text(value: str) -> str:
    """`value` as prose behind the block: a JSON string where plain text would not read back."""
    is_plain = (
        "\r" not in value
        and value == value.strip()
        and not value.startswith(('"', "**", "- ", "-\t", "* ", "*\t", "+ ", "+\t"))
        and not any(_key_of(line.strip()) == KEYS[0] for line in value.split("\n"))
    )
    return value if is_plain else json.dumps(value)


def starts_or_fences(text: str) -> bool:
    """Whether a line of `text` would start a block or a code fence."""
    lines = (line.strip() for line in text.split("\n"))
    return any(line.startswith(("```", "~~~")) or _key_of(line) in KEYS[:2] for line in lines)


def is_unknown_key(name: str) -> bool:
    """Whether `name` can stand as a bold key that the format does not know."""
    return _key_of(f"**{name}:**") == "" and name == name.strip() != "" and not _BREAK.search(name)


def _key_of(line: str) -> str | None:
    """The known key that a line has, empty for an unknown one; None for no bold key."""
    match = _FIELD.fullmatch(line)
    return None if match is None else _format_key(match[1])


CLOSING_SENTENCES: Final = (
    "Execute per AGENT_CONTRACT.md.",
    "Execute per AGENT_CONTRACT.md",
    "Execute the analysis and return structured JSON output per AGENT_CONTRACT.md.",
)
"""The sentences that close an invocation (K23), ours first; they ask for nothing of their own."""

_MAJORS: Final = 10**9

LABELS: Final = ("Why:", "Constraint:")
"""What begins a line of the context that is not the context itself."""

UNSTATED: Final = "Not stated."
"""Stands where the format demands a text and there is none; read back as none."""

ASKING: Final = "The agent needs an answer before it can go on."
AT_WORK: Final = "The agent has not finished."
NO_WARNING: Final = "The agent called its answer partial, and gave no reason."

RECOVERIES: Final[Mapping[ErrorType, str]] = {
    "missing_file": "Check that the path and the branch are right, or create the file.",
    "invalid_input": "Check the request against what the operation takes, and add what is missing.",
    "parse_error": "Fix the form of the file: its sections and its syntax.",
    "access_denied": "Check the permissions of the file, and who runs the agent.",
    "timeout": "Narrow the target, or allow more time.",
    "internal_error": "Report the failure with its message, and ask again with a narrower target.",
}
"""What to do about each kind of failure, for an agent that does not say (K7)."""

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_ ][A-Za-z0-9]+)*")


def from_wire(name: str) -> str:
    """A name of the wire in our spelling (C46); what is no name stays as it is."""
    return fold(name) if _NAME.fullmatch(name) else name


def to_wire(name: str) -> str:
    """The spelling of the wire, where `from_wire` reads it back; else the name as it is."""
    kebab = to_kebab(name)
    return kebab if from_wire(kebab) == name else name


def strip_unstated(text: str) -> str:
    """A text that was filled in is none."""
    return "" if text == UNSTATED else text


def agent_in(name: str) -> tuple[str, int | None]:
    """The agent that the wire names, and the major version it asks for (C11)."""
    return split_versioned_name(fold(name))


def agent_text(agent: str, major: int | None) -> str:
    """An agent as the wire names it."""
    return to_kebab(agent) if major is None or major >= _MAJORS else f"{to_kebab(agent)}-v{major}"


def context_in(raw: str) -> tuple[str, str, tuple[str, ...]]:
    """What, why and the constraints, out of the lines of the context."""
    what: list[str] = []
    why: list[str] = []
    constraints: list[str] = []
    for line in raw.split("\n"):
        label = next((label for label in LABELS if line.startswith(label)), "")
        into = {"": what, LABELS[0]: why, LABELS[1]: constraints}[label]
        into.append(unquote(line[len(label) :].strip()))
    return "\n".join(what), "\n".join(why), tuple(constraints)


def context_text(what: str, why: str, constraints: Iterable[str]) -> str:
    """The lines of the context that say so."""
    lines = [line_text(what, lines=True, labels=LABELS)] if what else []
    lines += [f"{LABELS[0]} {line_text(why)}"] if why else []
    lines += [f"{LABELS[1]} {line_text(each)}" for each in constraints]
    return "\n".join(lines)


def instruction_in(after: str) -> tuple[str, str]:
    """What the prose behind the block asks for, and which form that is: the closing sentence is no part of it."""
    for sentence in CLOSING_SENTENCES:
        if after == sentence or after.endswith(f"\n\n{sentence}"):
            return unquote(after.removesuffix(sentence).strip()), "invocation"
    return unquote(after), "block"
