"""What a message holds beside the spec's keys: taken out when it is read, given back when it is written (C7).

It rides in `extras["tool_use"]`, which has the shape of the message: `{"trace_id": 1, "metadata": {"region": "eu"}}`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from pydantic import BaseModel

from retinue.contract.json import JsonObject, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.dialects.diagnostics import Diagnostics

_MAX_FINDINGS: Final = 50
"""Unknown keys of one object that are each spoken of."""


@dataclass(slots=True)
class UnknownKeys:
    """The keys of one message that the spec does not show."""

    keys: JsonMapping = field(default_factory=dict[str, object])

    def extract(
        self,
        value: JsonObject,
        wire: type[BaseModel],
        notes: Diagnostics,
        *,
        section: str = "",
        path: str | None = None,
    ) -> None:
        """Move what `wire` has no field for out of `value`, and say so.

        Args:
            value: The message, or the object in it that is called `section`.
            wire: Its shape.
            notes: Where to say it.
            section: What the object is called among what is kept.
            path: JSON Pointer of the object, where that is not its section.
        """
        here = path if path is not None else pointer([section]) if section else ""
        unknown = [key for key in value if key not in wire.model_fields]
        if unknown:
            rest = {key: value.pop(key) for key in unknown}
            self.keys.update({section: rest} if section else rest)
        for key in unknown[:_MAX_FINDINGS]:
            near = nearest(key, wire.model_fields, limit=1)
            fix = f"Did you mean {near[0]!r}?" if near else "Leave it out, or agree on it."
            notes.add("unknown-key", f"The format has no {key[:100]!r}.", path=here + pointer([key]), fix=fix)

    @property
    def extras(self) -> JsonMapping:
        """For the noun."""
        return {"tool_use": self.keys} if self.keys else {}


def restore_extras(
    message: JsonMapping,
    extras: JsonMapping,
    *,
    reserved: Collection[str],
    sections: Mapping[str, type[BaseModel]] | None = None,
) -> None:
    """Put what rode in `extras` back into `message`, where no key of it has a meaning of its own.

    Args:
        message: As the spec has it; is changed.
        extras: Of the noun.
        reserved: The keys that mean something in such a message.
        sections: The objects inside of it, and their shapes.
    """
    own: object = extras.get("tool_use")
    for key, value in cast("JsonMapping", own).items() if isinstance(own, dict) else ():
        inner: object = message.get(key)
        if sections and key in sections and isinstance(value, dict) and isinstance(inner, dict):
            rest, section = cast("JsonMapping", value), cast("JsonMapping", inner)
            section.update({name: rest[name] for name in rest if name not in sections[key].model_fields})
        elif key not in reserved:
            message[key] = value
