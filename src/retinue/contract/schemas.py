"""The JSON Schemas of the public nouns, made from them; `docs/reference/schemas` holds them for those without Python.

They say what we write: an absent key is left out, never null (C16).
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final, TypeVar, cast, get_args

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from retinue.contract.definition import Definition, Skill
from retinue.contract.event import KINDS, Body, Event
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding, Loss
from retinue.contract.model import JsonMapping, Model
from retinue.contract.names import nearest
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result
from retinue.contract.table import Chart, Table
from retinue.contract.task import Answer, Budget, Question, Task
from retinue.errors import UnknownName

_JSON_SCHEMA_URI: Final = "https://json-schema.org/draft/2020-12/schema"

S = TypeVar("S")

_ALIASES: Final = {"answer_schema": "schema"}
"""Attributes that another key stands for on the wire."""

_MODELS: Final[dict[str, type[Model]]] = {
    "answer": Answer,
    "budget": Budget,
    "chart": Chart,
    "definition": Definition,
    "delegation": Delegation,
    "fault": Fault,
    "finding": Finding,
    "loss": Loss,
    "plan": Plan,
    "question": Question,
    "result": Result,
    "skill": Skill,
    "table": Table,
    "task": Task,
}


NOUNS: Final = tuple(sorted([*_MODELS, "event"]))
"""What there is a schema of."""


def load(noun: str) -> JsonMapping:
    """The schema of one noun.

    Raises:
        UnknownName: There is none of that name.
    """
    if noun not in NOUNS:
        near = nearest(noun, NOUNS)
        raise UnknownName(
            f"There is no schema of {noun!r}.", hint=f"There are {', '.join(NOUNS)}.", suggestions=near or NOUNS
        )
    return _schema_of_events() if noun == "event" else _schema_of(_MODELS[noun])


class _WithoutNull(GenerateJsonSchema):
    """Says what `Model.to_json` writes: an absent value has no key, so no type is ever null for that reason.

    In a row it is: there None is the value of a place, and a place cannot be left out.
    """

    _in_row = False

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        """A row, whose values may be null."""
        return self._in_context(super().tuple_schema, schema, in_row=True)

    def model_field_schema(self, schema: core_schema.ModelField) -> JsonSchemaValue:
        """A field, which is left out instead."""
        return self._in_context(super().model_field_schema, schema, in_row=False)

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """The type itself, and null in a row."""
        return super().nullable_schema(schema) if self._in_row else self.generate_inner(schema["schema"])

    def _in_context(self, make: Callable[[S], JsonSchemaValue], schema: S, *, in_row: bool) -> JsonSchemaValue:
        before, self._in_row = self._in_row, in_row
        try:
            return make(schema)
        finally:
            self._in_row = before

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """A default of None is no default, but absence."""
        if schema.get("default", MISSING) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:
        """The names of the fields are their titles."""
        del schema
        return False


def _schema_of(noun: type[Any]) -> JsonMapping:
    adapter = TypeAdapter[Any](noun)
    schema = adapter.json_schema(by_alias=True, schema_generator=_WithoutNull)
    for part in (schema, *schema.get("$defs", {}).values()):
        # The first paragraph of a docstring, and its `Attributes:` by name.
        summary, *sections = inspect.cleandoc(part["description"]).split("\n\n")
        part["description"] = _line(summary)
        attributes = next((section for section in sections if section.startswith("Attributes:\n")), "")
        for entry in re.split(r"\n {4}(?=\w)", attributes.removeprefix("Attributes:"))[1:]:
            name, _, text = entry.partition(":")
            key = name if name in part["properties"] else _ALIASES[name]
            part["properties"][key]["description"] = _line(text)
    return {"$schema": _JSON_SCHEMA_URI, **schema}


def _line(text: str) -> str:
    return " ".join(text.split())


def _schema_of_events() -> JsonMapping:
    """One object for each kind, head and body side by side, as `Event.to_json` writes them."""
    parts: JsonMapping = {}
    kinds: list[JsonMapping] = []
    head = _schema_of(Event)["properties"]
    for body in cast("tuple[type[Body], ...]", get_args(Body)):
        schema = _schema_of(body)
        parts |= schema.get("$defs", {})
        always = [item.name for item in fields(Event) if item.name != "body"]
        required_names = [
            item.name for item in fields(body) if is_dataclass(body) and item.name in schema.get("required", ())
        ]
        kinds.append(
            {
                "title": body.__name__,
                "description": schema["description"],
                "type": "object",
                "properties": {
                    "kind": {"const": KINDS[body]},
                    **{name: head[name] for name in always},
                    **schema["properties"],
                },
                "required": ["kind", *always, *required_names],
                "additionalProperties": False,
            }
        )
    return {
        "$schema": _JSON_SCHEMA_URI,
        "title": "Event",
        "description": "One fact about one run.",
        "oneOf": kinds,
        "$defs": dict(sorted(parts.items())),
    }
