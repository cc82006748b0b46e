"""What can be said of a parameter's type with `Annotated`, for whoever fills it in from a person's words."""

from dataclasses import dataclass
from typing import Any, cast

from retinue.contract.facts import FACTS_KEYWORD
from retinue.contract.model import JsonMapping

__all__ = ["Choices", "FromFacts"]


@dataclass(frozen=True, slots=True)
class FromFacts:
    """Says that the values of a text parameter are names among the skill's facts.

        author: Annotated[str, FromFacts("author")] = ""

    Attributes:
        kind: Which of `Facts.names`.
    """

    kind: str

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> JsonMapping:
        """The schema of the type, with the kind of its facts."""
        return {**handler(core), FACTS_KEYWORD: self.kind}


class Choices:
    """Says what each value of a `Literal` means, in words that people use when they ask for it.

        show: Annotated[Literal["count", "people"], Choices(count="how many commits", people="who wrote most")]

    They stand in the schema as `enumDescriptions`, in the order of `enum`: a model reads them, and so do the rules.
    """

    def __init__(self, **meanings: str) -> None:
        self._meanings = meanings

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> JsonMapping:
        """The schema of the type, with what its values mean."""
        schema = cast("JsonMapping", handler(core))
        listed = cast("list[object]", schema.get("enum") or [schema.get("const")])
        return {**schema, "enumDescriptions": [self._meanings.get(str(value), "") for value in listed]}
