"""What a reader below strict bears of an envelope: words of other specs, nulls, free text, keys too many (C3)."""

from dataclasses import dataclass, field
from typing import Final

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.result import Artifact
from retinue.dialects.reading import Notes
from retinue.errors import FaultCode

from .correction import mend_error
from .rest import Rest, drop_nulls, numbers
from .wire import OUTCOMES, Envelope, Metadata, Status

__all__ = ["Mended"]


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
        self._status(value, notes)
        self._metadata(value, notes)
        self.finer = mend_error(value, notes)
        if "result" in value and not isinstance(value["result"], dict | list):
            self.free = value.pop("result")
            notes.add("structured", "`result` is not structured.", path="/result", fix="Send an object.")
        self.rest.take(value, Envelope, notes)

    def _status(self, value: JsonObject, notes: Notes) -> None:
        """Words of the other specs for the same (C1); another spelling only when lenient."""
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
            notes.add("metadata", "`metadata` is missing.", fix="Send it, with what was measured.")
        metadata = value["metadata"]
        if not isinstance(metadata, dict):
            return
        drop_nulls(metadata, Metadata.model_fields, notes, path="/metadata")
        if notes.level == "lenient":
            numbers(metadata, ("execution_time_ms", "tokens_used", "confidence"), notes, path="/metadata")
        took = metadata.get("execution_time_ms")
        if isinstance(took, float) and took >= 0:
            metadata["execution_time_ms"] = round(took)
            path = "/metadata/execution_time_ms"
            notes.add("milliseconds", f"{took} is no whole number.", path=path, fix="Round it.")
        self.rest.take(metadata, Metadata, notes, section="metadata")
        if "artifacts" in metadata and not _are_ours(metadata["artifacts"]):
            self.rest.kept.setdefault("metadata", {})["artifacts"] = metadata.pop("artifacts")
            path, fix = "/metadata/artifacts", "Send a list of objects, each with the `path` of a file."
            notes.add("artifacts", "`artifacts` are no files; they were kept.", path=path, fix=fix)


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
