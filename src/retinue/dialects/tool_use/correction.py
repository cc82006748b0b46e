"""The correction object (A12): what failed, and how to do better. Also the error keys of an envelope are read here."""

from typing import Final

from retinue.contract import json
from retinue.contract.finding import Level
from retinue.contract.json import JsonObject
from retinue.contract.model import JsonMapping
from retinue.contract.task import Correction
from retinue.dialects.diagnostics import Diagnostics, drop_nulls, parse_object, read_numbers, refuse, validate
from retinue.dialects.losses import rendered_message
from retinue.dialects.port import Parsed, RenderedMessage
from retinue.errors import FaultCode, InvalidInput

from .extras import UnknownKeys
from .wire import CODES, ERROR_TYPES, CorrectionObject

MAX_RETRIES: Final = 2
"""Of the spec's loop; written where the correction itself sets none."""


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
            for key, word in (("error_type", "runtime_error"), ("correction_hint", ""), ("retry_count", 1)):
                if key not in value:
                    value[key] = word
                    what = f"`{key}` is missing; {word!r} was taken."
                    notes.add("missing", what, path=f"/{key}", fix=f"Send `{key}`.")
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
