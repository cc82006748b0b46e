"""Strict YAML 1.2, as far as front matter needs it: what JSON can say, with the place of every part.

ruamel.yaml only cuts the text into events. Plain scalars are read by the core schema of YAML 1.2 here, because the
library's safe loader still reads `017` as octal and `12:30:45` as a number, and lets `%YAML 1.1` turn `NO` into false.
Anchors, aliases, tags, directives, duplicate keys and depth are refused, not resolved.
"""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.reader import ReaderError

from retinue.contract.json import JsonValue, pointer
from retinue.errors import ParseError

from .document import LineColumn, parse_error

MAX_DEPTH: Final = 20
MAX_LENGTH: Final = 128 * 1024
"""Longest YAML text, in characters: the scanner's time grows faster than the text."""

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE: Final = frozenset({"true", "True", "TRUE"})
_FALSE: Final = frozenset({"false", "False", "FALSE"})
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LONGEST_NUMBER: Final = 308
_SURROGATE = re.compile("[\ud800-\udfff]")

_TOO_DEEP = re.compile(rf"[\[{{](?:[^\[\]{{}}\n]{{0,40}}[\[{{]){{{2 * MAX_DEPTH},}}")
"""Brackets that open one after the other: the scanner would look far ahead at each of them."""

_HINT: Final = "Write it as strict YAML 1.2."
_KEY_OF_LINE = re.compile(r"[ \t]*(?:-[ \t]+)*(?P<key>[A-Za-z0-9_-]{1,60}):(?=[ \t])")


def read_yaml(text: str, *, first_line: int = 1) -> tuple[JsonValue, dict[str, LineColumn]]:
    """Read one YAML document.

    Args:
        text: The document, without the `---` lines around it.
        first_line: The line of the file on which `text` begins.

    Returns:
        The value, and the place of each member's key and each item by JSON Pointer.

    Raises:
        ParseError: It is no YAML, or says what JSON cannot; `detail` holds line and column in the file.
    """
    if len(text) > MAX_LENGTH:
        raise parse_error(
            f"The YAML has {len(text):,} characters; {MAX_LENGTH:,} are allowed.",
            line=first_line,
            hint="Move long text into the body.",
        )
    if deep := _TOO_DEEP.search(text):
        line = first_line + text.count("\n", 0, deep.start())
        column = deep.start() - text.rfind("\n", 0, deep.start())
        raise parse_error(
            f"More than {MAX_DEPTH} levels are nested (line {line}, column {column}).",
            line=line,
            column=column,
            hint="Flatten it.",
        )
    composer = _Composer(_events(text, first_line))
    return composer.document(), composer.positions


# Events. The library's are untyped: they are narrowed here, once.

_Kind: TypeAlias = Literal["alias", "scalar", "list", "object", "end", "document", "over"]
_EVENT_KINDS: Final[dict[str, _Kind]] = {
    "AliasEvent": "alias",
    "ScalarEvent": "scalar",
    "SequenceStartEvent": "list",
    "MappingStartEvent": "object",
    "SequenceEndEvent": "end",
    "MappingEndEvent": "end",
    "DocumentStartEvent": "document",
    "StreamEndEvent": "over",
}


@dataclass(frozen=True, slots=True)
class _Event:
    """One event of the parser.

    Attributes:
        text: What a scalar says.
        is_plain: The scalar stands without quotes, so it may be a number.
        place: Where it starts in the file.
        problem: What is not allowed about it, with a hint.
    """

    kind: _Kind
    text: str
    is_plain: bool
    place: LineColumn
    problem: tuple[str, str] | None


def _events(text: str, first_line: int) -> Generator[_Event]:
    """Cut `text` into events; whatever the library has against it becomes a `ParseError`."""
    try:
        # A new parser each time: a version directive in one text would stay in force for the next.
        parser: Any = YAML(typ="safe", pure=True)
        for raw in parser.parse(text):
            kind = _EVENT_KINDS.get(type(raw).__name__)
            if kind is None:  # the start of the stream, the end of a document
                continue
            problem: tuple[str, str] | None = None
            if kind == "alias":
                problem = "An alias is not allowed", "Write the value out."
            elif kind == "document" and (raw.version or raw.tags):
                problem = "A directive is not allowed", "Remove the line that starts with `%`."
            elif kind in {"scalar", "list", "object"} and raw.anchor is not None:
                problem = "An anchor is not allowed", "Remove the `&` name."
            elif kind in {"scalar", "list", "object"} and raw.tag is not None:
                problem = "A tag is not allowed", "Remove the `!` word."
            mark = raw.start_mark
            yield _Event(
                kind=kind,
                text=raw.value if kind == "scalar" else "",
                is_plain=kind == "scalar" and bool(raw.implicit[0]),
                place=(first_line + mark.line, mark.column + 1) if mark else (first_line, 1),
                problem=problem,
            )
    except MarkedYAMLError as error:
        raise _syntax_error(error, text, first_line) from None
    except ReaderError as error:
        facts: Any = error
        before = text[: facts.position]
        raise parse_error(
            f"The character U+{facts.character:04X} is not allowed in YAML.",
            line=first_line + before.count("\n"),
            column=len(before) - before.rfind("\n"),
            hint="Remove it.",
        ) from None
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        # The scanner meets some broken escapes and directives with errors of its own making.
        message = f"The YAML cannot be read: `{type(error).__name__}`."
        raise parse_error(message, line=first_line, hint=_HINT) from None


def _syntax_error(error: Any, text: str, first_line: int) -> ParseError:
    problem = str(error.problem or error.context or "it is not YAML")
    mark = error.problem_mark or error.context_mark
    line, column = (first_line + mark.line, mark.column + 1) if mark else (first_line, 1)
    if mark and "mapping values" in problem:
        lines = text.split("\n")[line - first_line :]  # none: the scanner takes more than that for the end of a line
        key = _KEY_OF_LINE.match(lines[0]) if lines else None
        if key and key.end() < mark.column:
            message = f"The unquoted text of `{key['key']}` holds a colon and a space."
            hint = f"Write `{key['key']}: |` and all of the text, indented, below it; or put it in quotes."
            return parse_error(message, line=line, column=column, hint=hint)
    return parse_error(f"The YAML breaks off: {problem}.", line=line, column=column, hint=_HINT)


# Values


class _Composer:
    """Builds one value out of events. Recursion is safe: depth is capped."""

    def __init__(self, events: Iterator[_Event]) -> None:
        self._events = events
        self._path: list[str | int] = []
        self.positions: dict[str, LineColumn] = {}

    def document(self) -> JsonValue:
        start = self._next()
        if start.kind == "over":
            return None
        first = self._next()
        self.positions[""] = first.place
        value = self._value(first)
        after = self._next()
        if after.kind != "over":
            raise _error_at(after, "A second document starts", "Keep one document.")
        return value

    def _next(self) -> _Event:
        event = next(self._events)
        if event.problem:
            raise _error_at(event, *event.problem)
        return event

    def _value(self, event: _Event) -> JsonValue:
        if event.kind == "scalar":
            return _scalar(event)
        if len(self._path) >= MAX_DEPTH:
            raise _error_at(event, f"More than {MAX_DEPTH} levels are nested", "Flatten it.")
        if event.kind == "list":
            items: list[JsonValue] = []
            while (event := self._next()).kind != "end":
                items.append(self._member(len(items), event.place, event))
            return items
        members: dict[str, JsonValue] = {}
        while (event := self._next()).kind != "end":
            if event.kind in {"list", "object"}:
                message = "A list or an object stands where a key belongs"
                raise _error_at(event, message, "Put text with brackets in quotes.")
            key = _scalar(event)
            if not isinstance(key, str):
                raise _error_at(event, "A key is not text", "Put the key in quotes.")
            if key in members:
                raise _error_at(event, f"The key {key!r} appears twice", "Keep one of the two.")
            members[key] = self._member(key, event.place, self._next())
        return members

    def _member(self, key: str | int, place: LineColumn, event: _Event) -> JsonValue:
        self._path.append(key)
        self.positions[pointer(self._path)] = place
        value = self._value(event)
        self._path.pop()
        return value


def _scalar(event: _Event) -> str | int | float | bool | None:
    """Read a scalar by the core schema of YAML 1.2."""
    text = event.text
    if not text.isascii() and _SURROGATE.search(text):  # escaped pairs are joined as in JSON, to one character
        try:
            text = text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise _error_at(event, "A text holds half of a surrogate pair", "Write the whole character.") from None
    if not event.is_plain:
        return text
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if len(text) > _LONGEST_NUMBER:
        return text
    if _NOT_FINITE.fullmatch(text):
        raise _error_at(event, f"`{text}` is not a finite number", "Leave the key out, or put it in quotes.")
    for pattern, base in ((_INTEGER, 10), (_OCTAL, 8), (_HEXADECIMAL, 16)):
        if pattern.fullmatch(text):
            return int(text, base)
    if not _FLOAT.fullmatch(text):
        return text
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        raise _error_at(event, f"`{text}` is too large a number", "Put it in quotes.")
    return number


def _error_at(event: _Event, what: str, hint: str) -> ParseError:
    line, column = event.place
    return parse_error(f"{what} (line {line}, column {column}).", line=line, column=column, hint=hint)
