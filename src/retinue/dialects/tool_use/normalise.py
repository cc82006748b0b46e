"""What a reader below strict bears of an envelope: words of other specs, nulls, free text, keys too many (C3)."""

from dataclasses import dataclass, field
from typing import Final

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.result import Artifact
from retinue.dialects.coercion import drop_nulls, read_numbers
from retinue.dialects.diagnostics import Diagnostics
from retinue.errors import FaultCode

from .correction import normalise_error
from .extras import UnknownKeys
from .wire import OUTCOMES, CorrectionObject, EnvelopeMetadata, ReturnEnvelope, Status


@dataclass(slots=True)
class EnvelopeNormaliser:
    """What is borne of an envelope, and what of it the wire model has no place for.

    Attributes:
        unstructured: A `result` that is not structured.
        codes: The code that an error type of another spec names.
    """

    unknown_keys: UnknownKeys = field(default_factory=UnknownKeys)
    unstructured: JsonValue = None
    codes: tuple[FaultCode, ...] = ()

    def __call__(self, value: JsonObject, notes: Diagnostics) -> None:
        """Mend `value`, and note everything that was mended."""
        drop_nulls(value, [key for key in ReturnEnvelope.model_fields if key != "status"], notes)
        self.unknown_keys.keys.update(lift_error(value, notes))
        self._normalise_status(value, notes)
        self._normalise_metadata(value, notes)
        self.codes = normalise_error(value, notes)
        if "result" in value and not isinstance(value["result"], dict | list):
            self.unstructured = value.pop("result")
            notes.add("structured", "`result` is not structured.", path="/result", fix="Send an object.")
        self.unknown_keys.extract(value, ReturnEnvelope, notes)

    def _normalise_status(self, value: JsonObject, notes: Diagnostics) -> None:
        """Words of the other specs for the same (C1); another spelling only when lenient."""
        if "status" not in value and "error_type" in value:
            value["status"] = "error"
            fix = "Put the error into an envelope, beside `status` and `metadata`."
            notes.add("status", "The error object stands alone; it is read as an `error`.", path="/status", fix=fix)
        word = value.get("status")
        if not isinstance(word, str) or word in OUTCOMES:
            return
        name = word.strip().casefold() if notes.level == "lenient" else word
        status = name if name in OUTCOMES else _STATUSES.get(name)
        if status is not None:
            value["status"] = status
            fix = f"Use one of: {', '.join(OUTCOMES)}."
            notes.add("status", f"{word[:100]!r} is read as `{status}`.", path="/status", fix=fix)

    def _normalise_metadata(self, value: JsonObject, notes: Diagnostics) -> None:
        if "metadata" not in value:
            value["metadata"] = {}
            notes.add("metadata", "`metadata` is missing.", path="/metadata", fix="Send it, with what was measured.")
        metadata = value["metadata"]
        if not isinstance(metadata, dict):
            return
        drop_nulls(metadata, EnvelopeMetadata.model_fields, notes, path="/metadata")
        if notes.level == "lenient":
            read_numbers(metadata, ("execution_time_ms", "tokens_used", "confidence"), notes, path="/metadata")
        if str(metadata.get("confidence")).strip().casefold() in _LABELS:
            self.unknown_keys.keys.setdefault("metadata", {})["confidence"] = metadata.pop("confidence")
            path, fix = "/metadata/confidence", "Send a number from 0 to 1, or leave it out."
            notes.add(
                "confidence", "`confidence` is a label; it was kept, and no number made of it.", path=path, fix=fix
            )
        duration = metadata.get("execution_time_ms")
        if isinstance(duration, float) and duration >= 0:
            metadata["execution_time_ms"] = round(duration)
            path = "/metadata/execution_time_ms"
            notes.add("milliseconds", f"{duration} is not a whole number.", path=path, fix="Round it.")
        self.unknown_keys.extract(metadata, EnvelopeMetadata, notes, section="metadata")
        if "artifacts" in metadata and not _are_artifacts(metadata["artifacts"]):
            self.unknown_keys.keys.setdefault("metadata", {})["artifacts"] = metadata.pop("artifacts")
            path, fix = "/metadata/artifacts", "Send a list of objects, each with the `path` of a file."
            notes.add("artifacts", "`artifacts` are not files; they were kept.", path=path, fix=fix)


_LABELS: Final = frozenset({"high", "medium", "low", "very high", "very low"})
"""How sure an agent says that it is where it has no number (C31)."""


def lift_error(value: JsonObject, notes: Diagnostics) -> JsonObject:
    """Put an error that stands under `error` beside the other keys, where an envelope has it.

    Returns:
        What was under `error` and is no part of an error.
    """
    raw = value.get("error")
    error: JsonObject = {"message": raw} if isinstance(raw, str) and raw.strip() else {}
    error = raw if isinstance(raw, dict) else error
    fields = [key for key in CorrectionObject.model_fields if key in error]
    if value.get("status") == "success" or not {"message", "error_type"} & error.keys() or value.keys() & set(fields):
        return {}
    value |= {key: error[key] for key in fields}
    del value["error"]
    fix = "Put `error_type`, `message`, `correction_hint` and `retry_count` beside `status`."
    notes.add("error", "The error stands under `error`.", path="/error", fix=fix)
    rest = {key: item for key, item in error.items() if key not in fields}
    return {"error": rest} if rest else {}


def _are_artifacts(artifacts: JsonValue) -> bool:
    try:
        for each in artifacts if isinstance(artifacts, list) else [artifacts]:
            Artifact.model_validate_json(json.dumps(each))
    except ValidationError:
        return False
    return isinstance(artifacts, list)


_STATUSES: Final[dict[str, Status]] = {
    "complete": "success",
    "completed": "success",
    "done": "success",
    "canceled": "error",
    "rejected": "error",
}
