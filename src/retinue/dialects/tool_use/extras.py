"""The parts that requests and answers share: keys that the spec does not show (C7), and the correction object (A12).

Unknown keys are taken out when a message is read, and given back when it is written.

They ride in `extras["tool_use"]`, which has the shape of the message: `{"trace_id": 1, "metadata": {"region": "eu"}}`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from pydantic import BaseModel

from retinue.contract import json
from retinue.contract.finding import Level
from retinue.contract.json import JsonObject, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.contract.task import Correction
from retinue.dialects.diagnostics import Diagnostics, drop_nulls, parse_object, read_numbers, refuse, validate
from retinue.dialects.losses import own_extras, rendered_message
from retinue.dialects.port import Parsed, RenderedMessage
from retinue.errors import FaultCode, InvalidInput

from .wire import CODES, ERROR_TYPES, CorrectionObject

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
            # A section may hold what was kept of it before, such as a confidence that is a label.
            (self.keys.setdefault(section, {}) if section else self.keys).update(rest)
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
    for key, value in own_extras(extras, "tool_use").items():
        inner: object = message.get(key)
        if sections and key in sections and isinstance(value, dict) and isinstance(inner, dict):
            rest, section = cast("JsonMapping", value), cast("JsonMapping", inner)
            section.update({name: rest[name] for name in rest if name not in sections[key].model_fields})
        elif key not in reserved:
            message[key] = value


MAX_RETRIES: Final = 2
"""Of the spec's loop; written where the correction itself sets none."""


def fill_missing(value: JsonObject, defaults: JsonObject, notes: Diagnostics, *, path: str = "") -> None:
    """Put the default of each missing key into `value`, and note it."""
    for key, default in defaults.items():
        if key not in value:
            value[key] = default
            what = f"`{key}` is missing; {default!r} was taken."
            notes.add("missing", what, path=f"{path}/{key}", fix=f"Send `{key}`.")


def parse_correction(text: str | bytes, *, level: Level = "standard") -> Parsed[Correction]:
    """Read a correction object.

    A `validation_error` alone is about a request, as in the spec's sample; what refuses an answer comes with the
    request that is made again.

    Raises:
        ParseError: The text is no single JSON object.
        InvalidInput: It holds no correction.
    """
    notes = Diagnostics("tool_use", level)
    unknown_keys, codes = UnknownKeys(), list[FaultCode]()

    def normalise(value: JsonObject, notes: Diagnostics) -> None:
        codes.extend(normalise_error(value, notes))
        if notes.level == "lenient":
            fill_missing(value, {"error_type": "runtime_error", "correction_hint": "", "retry_count": 1}, notes)
        unknown_keys.extract(value, CorrectionObject, notes)

    wire = validate(parse_object(text, notes), CorrectionObject, notes, refusal=InvalidInput, normalise=normalise)
    correction = correction_of(wire, notes, code=codes[0] if codes else CODES[wire.error_type])
    return Parsed(correction, "correction", tuple(notes.findings))


def render_correction(correction: Correction) -> RenderedMessage:
    """Write a correction object."""
    return rendered_message(
        json.dumps(write_correction(correction)),
        "correction",
        correction,
        dialect="tool_use",
        read=lambda text: parse_correction(text).value,
        reasons={"/code": "one word stands for several there", "/max_retries": "the format requires a number"},
    )


def write_correction(correction: Correction) -> JsonMapping:
    """The object, with all five keys."""
    return {
        "error_type": ERROR_TYPES[correction.code],
        "message": correction.message,
        "correction_hint": correction.hint,
        "retry_count": correction.retry_count,
        "max_retries": MAX_RETRIES if correction.max_retries is None else correction.max_retries,
    }


def correction_of(wire: CorrectionObject, notes: Diagnostics, *, code: FaultCode, path: str = "") -> Correction:
    """The noun. Retries count from 1; who counts from 0 is borne unless strict.

    Raises:
        InvalidInput: A strict reader was given retry 0.
    """
    if wire.retry_count == 0:
        severity = "error" if notes.level == "strict" else "warning"
        fix = "Count the first retry as 1."
        notes.add("retry-count", "`retry_count` is 0.", path=f"{path}/retry_count", fix=fix, severity=severity)
        if notes.has_errors:
            refuse(notes, InvalidInput)
    return Correction(
        code=code,
        message=wire.message,
        hint=wire.correction_hint,
        retry_count=wire.retry_count or 1,
        max_retries=wire.max_retries,
    )


def normalise_error(value: JsonObject, notes: Diagnostics, *, path: str = "") -> tuple[FaultCode, ...]:
    """Mend the keys of an error in `value`.

    Returns:
        The finer code that an error type of another spec names, if there is one (C2).
    """
    drop_nulls(value, CorrectionObject.model_fields, notes, path=path)
    if notes.level == "lenient":
        read_numbers(value, ("retry_count", "max_retries"), notes, path=path)
    word = value.get("error_type")
    if not isinstance(word, str) or word in CODES:
        return ()
    name = word.strip().casefold()
    code = _OTHER_WORDS.get(name, "internal_error")
    value["error_type"] = name if name in CODES else ERROR_TYPES[code]
    message = f"{word[:100]!r} is not an error type of this format; it is read as `{value['error_type']}`."
    notes.add("error-type", message, path=f"{path}/error_type", fix=f"Use one of: {', '.join(CODES)}.")
    return () if name in CODES else (code,)


_OTHER_WORDS: Final[dict[str, FaultCode]] = {
    **{code: code for code in ERROR_TYPES},
    "file_not_found": "missing_file",
    "validation": "output_invalid",
}
"""What the other specs call their errors, in small letters."""
