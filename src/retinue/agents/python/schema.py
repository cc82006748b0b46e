"""JSON Schemas out of Python types, in the form a definition wants: closed, described, nothing nullable by accident."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema, core_schema, to_jsonable_python

from retinue.contract.model import JsonMapping

__all__ = ["input_schema", "output_schema"]


class _Untitled(GenerateJsonSchema):
    """Without the titles that only repeat the name of a field."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonMapping:
        """As pydantic does it, with the first paragraph of the docstring: the rest is for who reads the class."""
        made = super().model_schema(schema)
        if isinstance(description := made.get("description"), str):
            made["description"] = description.partition("\n\n")[0]
        return made

    def field_title_should_be_set(self, schema: CoreSchema | core_schema.ComputedField | Any) -> bool:
        del schema
        return False


def input_schema(
    takes: TypeAdapter[Any], *, defaults: Mapping[str, object], described: Mapping[str, str]
) -> JsonMapping:
    """What a skill takes: an object, closed (A6, A20).

    Args:
        takes: Builds the parameters.
        defaults: What the function itself fills in, by parameter.
        described: Descriptions from the docstring, for parameters whose types have none.
    """
    schema = takes.json_schema(schema_generator=_Untitled, mode="validation")
    for unwanted in ("title", "description"):
        schema.pop(unwanted, None)
    schema = _with_words_in_place(schema)
    schema.setdefault("properties", {})
    schema.setdefault("required", [])
    schema["additionalProperties"] = False
    for name, parameter in _properties(schema).items():
        if name in defaults and "default" not in parameter:
            _add_default(parameter, defaults[name])
        if parameter.get("default", ...) is None:
            _forbid_null(parameter)
        if name in described and "description" not in parameter:
            parameter["description"] = described[name]
    return schema


def output_schema(gives: TypeAdapter[Any]) -> JsonMapping:
    """What a skill gives. What may be null may also be absent, and is left out when it is null (C16)."""
    schema = gives.json_schema(schema_generator=_Untitled, mode="serialization")
    for part in (schema, *schema.get("$defs", {}).values()):
        nullable = {name for name, facts in _properties(part).items() if _allows_null(facts)}
        for name in nullable:
            _properties(part)[name].pop("default", None)
        if nullable and "required" in part:
            part["required"] = [name for name in part["required"] if name not in nullable]
    return schema


def _properties(schema: JsonMapping) -> dict[str, JsonMapping]:
    return cast("dict[str, JsonMapping]", schema.get("properties", {}))


def _with_words_in_place(schema: JsonMapping) -> JsonMapping:
    """Put the words of an enum where they are used: whoever fills in a parameter looks there."""
    words = {f"#/$defs/{name}": facts for name, facts in schema.get("$defs", {}).items() if "enum" in facts}

    def placed(part: Any) -> Any:
        if isinstance(part, list):
            return [placed(item) for item in cast("list[Any]", part)]
        if not isinstance(part, dict):
            return part
        facts = cast("JsonMapping", part)
        if facts.get("$ref") in words:
            facts = {**words[facts["$ref"]], **{key: value for key, value in facts.items() if key != "$ref"}}
            facts.pop("title", None)
        return {key: placed(value) for key, value in facts.items()}

    whole: JsonMapping = placed(schema)
    kept = {name: facts for name, facts in whole.pop("$defs", {}).items() if f"#/$defs/{name}" not in words}
    return {**whole, "$defs": kept} if kept else whole


def _add_default(parameter: JsonMapping, value: object) -> None:
    """Show the default of a parameter; one that JSON cannot say stays the function's own business."""
    try:
        parameter["default"] = to_jsonable_python(value)
    except (TypeError, ValueError, RecursionError):
        return


def _forbid_null(parameter: JsonMapping) -> None:
    """An optional parameter is left out, never sent as null (C16)."""
    del parameter["default"]
    kinds = [kind for kind in parameter.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        del parameter["anyOf"]
        for key, value in kinds[0].items():
            parameter.setdefault(key, value)
    elif kinds:
        parameter["anyOf"] = kinds


def _allows_null(facts: JsonMapping) -> bool:
    return facts.get("type") == "null" or {"type": "null"} in facts.get("anyOf", ())
