"""One parameter of a skill as the binder sees it: its name in words, its plain schema, what it accepts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

from retinue.contract.model import JsonMapping
from retinue.contract.schema import Validator, compile as compiled
from retinue.errors import InvalidDefinition
from retinue.orchestration.routing.words import word_tokens

__all__ = ["Parameter", "parameters_of"]

_WORD: Final = re.compile(r"[^\W_]+")
_REFERENCES: Final = 8


@dataclass(frozen=True)
class Parameter:
    """One property of an input schema.

    Attributes:
        schema: Its own schema; references and "or null" are resolved.
        whole: The schema it stands in, for what it refers to.
    """

    name: str
    schema: JsonMapping
    whole: JsonMapping
    required: bool

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of its name, lower case."""
        return tuple(word.lower() for word in _WORD.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.name)))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The words of its name and description without endings."""
        return frozenset(word_tokens(f"{' '.join(self.words)} {self.description}"))

    @property
    def description(self) -> str:
        """What the schema says it is."""
        return str(self.schema.get("description") or self.schema.get("title") or "")

    @property
    def type(self) -> str:
        """Its JSON type; empty when it takes several."""
        said = self.schema.get("type")
        return said if isinstance(said, str) else ""

    @cached_property
    def items(self) -> "Parameter | None":
        """What a list of it holds."""
        inside = self.schema.get("items")
        if self.type != "array" or not isinstance(inside, dict):
            return None
        return Parameter(self.name, _plain(cast("JsonMapping", inside), self.whole), self.whole, required=False)

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The texts it accepts, when they are a fixed set."""
        options = self.schema.get("enum")
        if not isinstance(options, list):
            branches = self.schema.get("anyOf") or self.schema.get("oneOf")
            listed = cast("list[object]", branches) if isinstance(branches, list) else []
            options = [cast("JsonMapping", branch).get("const") for branch in listed if isinstance(branch, dict)]
        return tuple(option for option in cast("list[object]", options) if isinstance(option, str) and option)

    def says(self, *words: str) -> bool:
        """Whether its name has one of `words`."""
        return not set(words).isdisjoint(self.words)

    @property
    def alone(self) -> JsonMapping:
        """Its schema with the definitions that it may refer to."""
        definitions = {key: self.whole[key] for key in ("$defs", "definitions", "$schema") if key in self.whole}
        return {**definitions, **self.schema}

    def accepts(self, value: object) -> bool:
        """Whether `value` passes its schema; nothing passes one that cannot be used."""
        return self._validator is not None and self._validator.accepts(value)

    @cached_property
    def _validator(self) -> Validator | None:
        try:
            return compiled(self.alone)
        except InvalidDefinition:
            return None


def parameters_of(input_schema: Mapping[str, object]) -> tuple[Parameter, ...]:
    """The parameters of a skill, in the order of its schema."""
    properties = input_schema.get("properties")
    required = input_schema.get("required")
    needed = set(cast("list[object]", required)) if isinstance(required, list) else set[object]()
    if not isinstance(properties, dict):
        return ()
    return tuple(
        Parameter(name, _plain(cast("JsonMapping", inside), input_schema), dict(input_schema), name in needed)
        for name, inside in cast("dict[str, object]", properties).items()
        if isinstance(inside, dict)
    )


def _plain(inside: JsonMapping, whole: Mapping[str, object]) -> JsonMapping:
    """`inside` with its reference followed and an "or null" left out."""
    found = dict(inside)
    for _ in range(_REFERENCES):
        if isinstance(reference := found.get("$ref"), str):
            found = {**_at(whole, reference), **{key: value for key, value in found.items() if key != "$ref"}}
            continue
        branches = found.get("anyOf")
        if isinstance(branches, list):
            kept = [branch for branch in cast("list[JsonMapping]", branches) if branch != {"type": "null"}]
            if len(kept) == 1 and len(kept) < len(cast("list[object]", branches)):
                found = {**kept[0], **{key: value for key, value in found.items() if key != "anyOf"}}
                continue
        break
    return found


def _at(whole: Mapping[str, object], reference: str) -> JsonMapping:
    """What a local reference points to; empty when it points elsewhere."""
    place: object = whole
    for part in reference.removeprefix("#/").split("/"):
        place = cast("JsonMapping", place).get(part) if isinstance(place, dict) else None
    return cast("JsonMapping", place) if isinstance(place, dict) else {}
