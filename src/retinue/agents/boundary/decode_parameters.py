"""Parameters that came as text (C44) become what a skill's schema asks for, and every decoding is recorded.

Only what has one meaning is decoded: `5` where an integer is wanted, `yes` for a boolean, `a, b` for a list. Everything
else stays as it was said, for the validator to refuse with its place. Typed callers never come here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from retinue.contract import json
from retinue.contract.json import pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import fold
from retinue.errors import ParseError

_DEPTH: Final = 20
_BRANCHES: Final = 50


@dataclass(frozen=True, slots=True)
class Decoding:
    """One thing that was read as something else.

    Attributes:
        path: JSON Pointer of the parameter.
        how: What it was read as: `name`, or the JSON type.
    """

    path: str
    original: object
    value: object
    how: str

    def to_json(self) -> JsonMapping:
        """This decoding as JSON data."""
        return {"path": self.path, "said": self.original, "value": self.value, "how": self.how}


def decode_parameters(parameters: JsonMapping, schema: JsonMapping) -> tuple[JsonMapping, tuple[Decoding, ...]]:
    """`parameters` with names folded to those of `schema`, and texts read as the types it states.

    Names that fit none of its properties stay as they are; so do two names that fold to the same one.
    """
    decoder = _Decoder(schema)
    value = decoder.decode_members(parameters, decoder.resolve(schema), [])
    return value, tuple(decoder.decodings)


class _DecodeError(Exception):
    """The text does not say a value of the type that is wanted."""


class _Decoder:
    """One walk over parameters and their schema side by side."""

    def __init__(self, root: JsonMapping) -> None:
        self.decodings: list[Decoding] = []
        self._root = root

    def decode_members(self, members: JsonMapping, schema: JsonMapping, path: list[str | int]) -> JsonMapping:
        """Fold the names of one object, and decode what they hold."""
        properties = _mapping(schema.get("properties"))
        by_fold = {fold(name): name for name in properties}
        by_name: JsonMapping = {name: value for name, value in members.items() if name in properties}
        for name, value in members.items():
            if name in properties:
                continue
            target = by_fold.get(fold(name), name)
            if target in by_name:
                target = name
            by_name[target] = value
            if target != name:
                self.decodings.append(Decoding(pointer([*path, target]), name, target, "name"))
        return {
            name: self.decode_value(value, _mapping(properties[name]), [*path, name]) if name in properties else value
            for name, value in by_name.items()
        }

    def decode_value(self, value: object, schema: JsonMapping, path: list[str | int]) -> object:
        """Decode one value; a text that says nothing its schema asks for stays a text."""
        branches = list(self._branches(schema, _BRANCHES)) if len(path) <= _DEPTH else []
        if isinstance(value, dict):
            members = cast("JsonMapping", value)
            branch = next((branch for branch in branches if "properties" in branch), None)
            return self.decode_members(members, branch, path) if branch else members
        if isinstance(value, list):
            items = cast("list[object]", value)
            branch = next((branch for branch in branches if isinstance(branch.get("items"), dict)), None)
            return self._decode_items(items, branch, path) if branch else items
        if not isinstance(value, str) or not branches or any("string" in _json_types(each) for each in branches):
            return value
        # Read the text as the first type that it says.
        for branch in branches:
            for kind in _json_types(branch):
                before = len(self.decodings)
                try:
                    decoded = self._decode_as(kind, value.strip(), branch, path)
                except _DecodeError:
                    del self.decodings[before:]
                    continue
                if type(decoded) is not str or decoded != value:
                    how = "string" if kind == _WORD else kind
                    self.decodings.insert(before, Decoding(pointer(path), value, decoded, how))
                return decoded
        return value

    def resolve(self, schema: JsonMapping) -> JsonMapping:
        """`schema`, or what its `$ref` within the document leads to."""
        for _ in range(_DEPTH):
            reference: object = schema.get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#"):
                break
            place: object = self._root
            for part in reference[1:].split("/")[1:]:
                place = _mapping(place).get(part.replace("~1", "/").replace("~0", "~"))
            schema = _mapping(place)
        return schema

    def _decode_as(self, kind: str, text: str, schema: JsonMapping, path: list[str | int]) -> object:
        if kind == "array":
            return self._decode_items(_parse_list(text), schema, path)
        if kind == "object":
            members = _parse_json(text) if text.startswith("{") else None
            if not isinstance(members, dict):
                raise _DecodeError
            return self.decode_members(cast("JsonMapping", members), schema, path)
        value = _parse_scalar(kind, text)
        options: object = schema.get("enum", [schema["const"]] if "const" in schema else None)
        return value if not isinstance(options, list) else _match_option(value, cast("list[object]", options))

    def _decode_items(self, items: list[object], schema: JsonMapping, path: list[str | int]) -> list[object]:
        inner = _mapping(schema.get("items"))
        return [self.decode_value(item, inner, [*path, index]) for index, item in enumerate(items)]

    def _branches(self, schema: JsonMapping, most: int) -> Iterator[JsonMapping]:
        """The alternatives a schema leaves, each without references."""
        resolved = self.resolve(schema)
        for keyword in ("anyOf", "oneOf", "allOf"):
            inner: object = resolved.get(keyword)
            if isinstance(inner, list) and most > 0:
                for each in cast("list[object]", inner):
                    yield from self._branches(_mapping(each), most // 2)
                return
        if resolved:
            yield resolved


def _mapping(value: object) -> JsonMapping:
    return cast("JsonMapping", value) if isinstance(value, dict) else {}


def _json_types(schema: JsonMapping) -> list[str]:
    """The types a schema takes, as words for `_decode_as`; `word` is one of its options, `string` any text."""
    stated: object = schema.get("type")
    has_choices = "enum" in schema or "const" in schema
    if isinstance(stated, list):
        kinds = [kind for kind in cast("list[object]", stated) if isinstance(kind, str) and kind in _READABLE]
    elif isinstance(stated, str):
        kinds = [stated] if stated in _READABLE else []
    elif has_choices:
        options: object = schema.get("enum", [schema.get("const")])
        types = [_NAMES.get(type(each)) for each in cast("list[object]", options)] if isinstance(options, list) else []
        kinds = [kind for kind in dict.fromkeys(types) if kind]
    else:
        kinds = ["string"]
    return [_WORD if kind == "string" and has_choices else kind for kind in kinds]


# What a text says, by type.

_WORD: Final = "word"
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]{1,300}(?:\.[0-9]{1,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,3})?")
_YES: Final = frozenset({"yes", "true", "on", "y", "1"})
_NO: Final = frozenset({"no", "false", "off", "n", "0"})
_NULL: Final = frozenset({"", "null", "none"})
_READABLE: Final = frozenset({"integer", "number", "boolean", "null", "string", "array", "object"})
_NAMES: Final[dict[type, str]] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def _parse_scalar(kind: str, text: str) -> object:
    word = text.casefold()
    match kind:
        case "integer" | "number" if _INTEGER.fullmatch(text):
            return int(text)
        case "number" if _NUMBER.fullmatch(text) and abs(value := float(text)) != float("inf"):
            return value
        case "boolean" if word in _YES or word in _NO:
            return word in _YES
        case "null" if word in _NULL:
            return None
        case "word":
            return text
        case _:
            raise _DecodeError


def _parse_list(text: str) -> list[object]:
    """A list in JSON, else what stands between line breaks, semicolons or commas."""
    if text.startswith("["):
        value = _parse_json(text)
        if not isinstance(value, list):
            raise _DecodeError
        return cast("list[object]", value)
    lines = text.splitlines()
    parts = lines if len(lines) > 1 else text.split(";" if ";" in text else ",")
    return [part for each in parts if (part := each.strip().removeprefix("- ").strip())]


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ParseError:
        raise _DecodeError from None


def _match_option(value: object, options: list[object]) -> object:
    """The option that `value` means: a word may be spelled in another way."""
    if not isinstance(value, str):
        if any(type(option) is type(value) and option == value for option in options):
            return value
        raise _DecodeError
    words = [option for option in options if isinstance(option, str)]
    if value in words:
        return value
    matches = [word for word in words if word.casefold() == value.casefold()] or [
        word for word in words if fold(word) == fold(value) != ""
    ]
    if len(matches) != 1:
        raise _DecodeError
    return matches[0]
