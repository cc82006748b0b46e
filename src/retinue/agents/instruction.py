"""Which parameter of a skill takes a free instruction, when its author does not say (C45)."""

from typing import Any, Final, cast

from retinue.contract.model import JsonMapping

_NAMES: Final = ("task", "instruction", "query", "question", "prompt", "goal")


def instruction_field(input_schema: JsonMapping) -> str | None:
    """The first of the usual names that is a free text in `input_schema`; None when there is none."""
    properties: object = input_schema.get("properties")
    if not isinstance(properties, dict):
        return None
    for name in _NAMES:
        parameter = cast("dict[str, Any]", properties).get(name)
        if isinstance(parameter, dict):
            facts = cast("dict[str, Any]", parameter)
            if facts.get("type") == "string" and not {"enum", "const", "format", "pattern"}.intersection(facts):
                return name
    return None
