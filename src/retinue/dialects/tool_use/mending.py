"""What a reader below strict bears of an envelope: words of other specs, nulls, free text, keys too many (C3)."""

from dataclasses import dataclass, field
from typing import Final

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.result import Artifact
from retinue.dialects.mending import drop_nulls, read_numbers
from retinue.dialects.reading import Notes
from retinue.errors import FaultCode

from .correction import mend_error
from .rest import Rest
from .wire import OUTCOMES, CorrectionObject, Envelope, Metadata, Status

__all__ = ["Mended", "lift_error"]


@dataclass(slots=True)
class Mended:
    """What is borne of an envelope, and what of it the wire model has no place for.

    Attributes:
        free: A `result` that is not structured.
        finer: The code that an error type of another spec names.
    """

    rest: Rest = field(default_factory=Rest)
    free: JsonValue = None
    finer: tuple[FaultCode, ...] = ()

    def __call__(self, value: JsonObject, notes: Notes) -> None:
        """Mend `value`, and note everything that was mended."""
        drop_nulls(value, [key for key in Envelope.model_fields if key != "status"], notes)
        self.rest.kept.update(lift_error(value, notes))
        self._status(value, notes)
        self._metadata(value, notes)
        self.finer = mend_error(value, notes)
        if "result" in value and not isinstance(value["result"], dict | list):
            self.free = value.pop("result")
            notes.add("structured", "`result` is not structured.", path="/result", fix="Send an object.")
        self.rest.take(value, Envelope, notes)

    def _status(self, value: JsonObject, notes: Notes) -> None:
        """Words of the other specs for the same (C1); another spelling only when lenient."""
        if "status" not in value and "error_type" in value:
            value["status"] = "error"
            fix = "Put the error into an envelope, beside `status` and `metadata`."
            notes.add("status", "The error object stands alone; it is read as an `error`.", path="/status", fix=fix)
        word = value.get("status")
        if not isinstance(word, str) or word in OUTCOMES:
            return
        folded = word.strip().casefold() if notes.level == "lenient" else word
        meant = folded if folded in OUTCOMES else _STATUSES.get(folded)
        if meant is not None:
            value["status"] = meant
            fix = f"Use one of: {', '.join(OUTCOMES)}."
            notes.add("status", f"{word[:100]!r} is read as `{meant}`.", path="/status", fix=fix)

    def _metadata(self, value: JsonObject, notes: Notes) -> None:
        if "metadata" not in value:
            value["metadata"] = {}
            notes.add("metadata", "`metadata` is missing.", path="/metadata", fix="Send it, with what was measured.")
        metadata = value["metadata"]
        if not isinstance(metadata, dict):
            return
        drop_nulls(metadata, Metadata.model_fields, notes, path="/metadata")
        if notes.level == "lenient":
            read_numbers(metadata, ("execution_time_ms", "tokens_used", "confidence"), notes, path="/metadata")
        if str(metadata.get("confidence")).strip().casefold() in _LABELS:
            self.rest.kept.setdefault("metadata", {})["confidence"] = metadata.pop("confidence")
            path, fix = "/metadata/confidence", "Send a number from 0 to 1, or leave it out."
            notes.add(
                "confidence", "`confidence` is a label; it was kept, and no number made of it.", path=path, fix=fix
            )
        took = metadata.get("execution_time_ms")
        if isinstance(took, float) and took >= 0:
            metadata["execution_time_ms"] = round(took)
            path = "/metadata/execution_time_ms"
            notes.add("milliseconds", f"{took} is not a whole number.", path=path, fix="Round it.")
        self.rest.take(metadata, Metadata, notes, section="metadata")
        if "artifacts" in metadata and not _are_ours(metadata["artifacts"]):
            self.rest.kept.setdefault("metadata", {})["artifacts"] = metadata.pop("artifacts")
            path, fix = "/metadata/artifacts", "Send a list of objects, each with the `path` of a file."
            notes.add("artifacts", "`artifacts` are not files; they were kept.", path=path, fix=fix)


_LABELS: Final = frozenset({"high", "medium", "low", "very high", "very low"})
"""How sure an agent says that it is where it has no number (C31)."""


def lift_error(value: JsonObject, notes: Notes) -> JsonObject:
    """Put an error that stands under `error` beside the other keys, where an envelope has it.

    Returns:
        What was under `error` and is no part of an error.
    """
    said = value.get("error")
    error: JsonObject = {"message": said} if isinstance(said, str) and said.strip() else {}
    error = said if isinstance(said, dict) else error
    fields = [key for key in CorrectionObject.model_fields if key in error]
    if value.get("status") == "success" or not {"message", "error_type"} & error.keys() or value.keys() & set(fields):
        return {}
    value |= {key: error[key] for key in fields}
    del value["error"]
    fix = "Put `error_type`, `message`, `correction_hint` and `retry_count` beside `status`."
    notes.add("error", "The error stands under `error`.", path="/error", fix=fix)
    rest = {key: item for key, item in error.items() if key not in fields}
    return {"error": rest} if rest else {}


def _are_ours(artifacts: JsonValue) -> bool:
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
