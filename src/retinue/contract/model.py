"""The one base of every contract noun: frozen, strict, closed, finite. No field lives here."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

DialectName: TypeAlias = Literal["tool_use", "run_agent", "task_signal", "markdown_json", "agent_http", "a2a"]
"""The six wire formats: those of spec 000 to 004, and A2A."""

JsonMapping: TypeAlias = dict[str, Any]
"""A JSON object. Its insides are checked where they enter (`contract.json`, `contract.schema`), not by pydantic."""

SnakeName: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$", min_length=1, max_length=64)
]
"""A canonical name (C10, C46): snake_case, ASCII."""

T = TypeVar("T")

if TYPE_CHECKING:
    from collections.abc import Sequence

    Many: TypeAlias = Sequence[T]
else:
    Many: TypeAlias = Annotated[tuple[T, ...], Field(strict=False)]
"""Given as a list or a tuple, as people write it; held as a tuple, since a noun is frozen."""

Count: TypeAlias = Annotated[int, Field(ge=0)]
Confidence: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Completeness: TypeAlias = Annotated[int, Field(ge=0, le=100)]


class Model(BaseModel):
    """A contract noun.

    Strict: `"1"` is not 1 and `True` is not 1 (C5). Closed: an unknown field is refused. Frozen, though a dict field is
    still a dict: copy it where it crosses the boundary. The validator is built at first use, so importing costs little.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    def to_json(self) -> JsonMapping:
        """This noun as JSON data: absent keys are left out, never null (C16)."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)

    def to_json_text(self, *, indent: int | None = None) -> str:
        """This noun as JSON text, absent keys left out."""
        return self.model_dump_json(exclude_none=True, by_alias=True, indent=indent)
