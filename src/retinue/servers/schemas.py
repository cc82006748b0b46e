"""JSON Schemas of skills as parts of larger documents."""

from typing import Any, cast

from retinue.contract.model import JsonMapping


def embed_schema(schema: JsonMapping, place: str) -> JsonMapping:
    """`schema` as it must be written where the JSON Pointer `place` of another document will be.

    Its own references begin at its root, which is `place` then. A bare copy would leave them dangling.
    """

    def rewrite(value: Any) -> Any:
        if isinstance(value, dict):
            items = cast("JsonMapping", value).items()
            return {
                key: f"#{place}{each[1:]}"
                if key in {"$ref", "$dynamicRef"} and isinstance(each, str) and (each == "#" or each.startswith("#/"))
                else rewrite(each)
                for key, each in items
                if key not in {"$schema", "$id"}
            }
        return [rewrite(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value

    return rewrite(schema)


def body_schema(schema: JsonMapping | None) -> JsonMapping | None:
    """What a skill's route answers when its output is of `schema`: always an object (P3). None where that varies."""
    kind: object = None if schema is None else schema.get("type")
    if schema is None or kind == "object":
        return schema
    if kind not in {"string", "number", "integer", "boolean", "array"}:
        return None
    value = embed_schema(schema, "/properties/value")
    return {"type": "object", "properties": {"value": value}, "required": ["value"], "additionalProperties": False}
