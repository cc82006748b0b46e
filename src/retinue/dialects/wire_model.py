"""What the exact shapes of the dialects are made of. The shapes themselves are in each dialect's `wire`."""

from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints
from pydantic_core import PydanticCustomError

from retinue.contract.model import JsonMapping


def not_null(value: object) -> object:
    """Refuse null where a key may only be absent (C16)."""
    if value is None:
        raise PydanticCustomError("null", "null is not allowed here: leave the key out")
    return value


NOT_NULL: Final = BeforeValidator(not_null)
"""Beside a type with None: the key may be absent, which is None to us, and may not be null."""
NonBlankText: TypeAlias = Annotated[str, StringConstraints(pattern=r"\S")]
"""Text that is not blank."""


class WireModel(BaseModel):
    """A message or a part of one, exactly as the format shows it: strict, closed, frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    def to_json(self) -> JsonMapping:
        """What was said, key by key; what was not said is absent."""
        return self.model_dump(mode="json", exclude_unset=True, by_alias=True)
