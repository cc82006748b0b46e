"""What a level bears of an answer that breaks the contract (C3): the object is mended in place, every time with a note.

Only what has one meaning is mended. What is left is judged by `contract_checks` and by the shapes of `wire`.
"""

from dataclasses import dataclass, field
from typing import Any, Final, get_args

from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import to_kebab
from retinue.contract.result import WarningType
from retinue.dialects.diagnostics import Diagnostics, drop_nulls
from retinue.dialects.port import ParseContext

from .vocabulary import NO_WARNING
from .wire import (
    CONTRACT,
    ERROR_TYPES,
    FAULT_CODES,
    STATUSES,
    AnswerMetadata,
    ErrorContext,
    UnknownEnvelope,
    WarningEntry,
    are_artifacts,
    code_of,
    envelope_for,
)

_METADATA: Final = frozenset(AnswerMetadata.model_fields)
_CONTEXT: Final = frozenset(field.alias or name for name, field in ErrorContext.model_fields.items())
_WARNING: Final = frozenset(WarningEntry.model_fields)
_COUNTS: Final = ("execution_time_ms", "files_read", "files_written", "completeness")


@dataclass(slots=True)
class Normalisation:
    """What mending took out of the object, or knows about it.

    Attributes:
        extras: What the format has no word for, by where it stood.
        filled_keys: Top-level keys that the text did not have and mending put there.
    """

    extras: JsonMapping = field(default_factory=dict[str, Any])
    filled_keys: set[str] = field(default_factory=set[str])


def normalise(value: JsonObject, notes: Diagnostics, context: ParseContext) -> Normalisation:
    """Mend `value` as far as its level goes."""
    normalisation = Normalisation()
    if notes.level == "strict":
        return normalisation
    _normalise_status(value, notes)
    # The spec's own sample of degradation leaves out the whole head; whoever asked knows it (C3, K34).
    fills: JsonObject = {"agent": to_kebab(context.agent) or context.agent, "version": CONTRACT, "metadata": {}}
    for name, fill in fills.items():
        if value.get(name) is None:
            fix = f"Always include `{name}`."
            notes.add(f"no_{name}", f"The answer has no `{name}`.", path=f"/{name}", fix=fix)
            value[name] = fill
            normalisation.filled_keys.add(name)
    version = value["version"]
    if notes.level == "lenient" and isinstance(version, int | float) and not isinstance(version, bool):
        notes.add("version", f"The version {version!r} is a number.", path="/version", fix="Write it as text.")
        value["version"] = f"{version:g}" if isinstance(version, float) and version % 1 else f"{version:.1f}"
    _normalise_metadata(value, notes, normalisation)
    _normalise_warnings(value, notes, normalisation)
    if value.get("status") == "error":
        _normalise_failure(value, notes, normalisation)
    shape = envelope_for(value.get("status"))
    allowed = frozenset(shape.model_fields)
    if shape is not UnknownEnvelope:
        _extract_extras(value, allowed, notes, normalisation.extras, ())
    drop_nulls(value, allowed - {"result"}, notes)
    return normalisation


def _normalise_status(value: JsonObject, notes: Diagnostics) -> None:
    word = value.get("status")
    if notes.level != "lenient" or not isinstance(word, str) or word in {"success", "partial", "error"}:
        return
    status = STATUSES.get(word.strip().lower())
    if status is not None:
        notes.add("status", f"{word[:80]!r} was read as {status!r}.", path="/status", fix=f"Write {status!r}.")
        value["status"] = status


def _normalise_metadata(value: JsonObject, notes: Diagnostics, normalisation: Normalisation) -> None:
    metadata = value["metadata"]
    if not isinstance(metadata, dict):
        return
    drop_nulls(metadata, _METADATA, notes, path="/metadata")
    for name in _COUNTS:
        raw = metadata.get(name)
        whole = _whole_number(raw, lenient=notes.level == "lenient")
        if whole is None and name == "execution_time_ms" and isinstance(raw, float) and raw >= 0:
            whole = round(raw)
        if whole is not None:
            path = f"/metadata/{name}"
            notes.add("number", f"`{name}` is {raw!r}, not a whole number.", path=path, fix=f"Write {whole}.")
            metadata[name] = whole
    extras: JsonMapping = {}
    _extract_extras(metadata, _METADATA, notes, extras, ("metadata",))
    if "artifacts" in metadata and not are_artifacts(metadata["artifacts"]):
        path, fix = "/metadata/artifacts", "Write a list of objects, each with the `path` of a file."
        notes.add("artifacts", "`artifacts` names no files; it was kept.", path=path, fix=fix)
        extras["artifacts"] = metadata.pop("artifacts")
    if extras:
        normalisation.extras["metadata"] = extras


def _whole_number(value: JsonValue, *, lenient: bool) -> int | None:
    """The whole number that something else says plainly."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if lenient and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return None


def _normalise_warnings(value: JsonObject, notes: Diagnostics, normalisation: Normalisation) -> None:
    if "warnings" in value and value["warnings"] is None:
        notes.add("null_list", "`warnings` is null.", path="/warnings", fix="Leave it out, or write `[]`.")
        del value["warnings"]
    entries = value.get("warnings", [])
    if value.get("status") == "partial" and entries == []:
        fix = "Say in `warnings` what is missing, what that means and how to get the whole."
        notes.add("no_warnings", "The answer is partial, but does not say why.", path="/warnings", fix=fix)
        placeholders: list[JsonValue] = [{"type": "degraded_analysis", "message": NO_WARNING, "synthetic": True}]
        value["warnings"] = entries = placeholders
    if not isinstance(entries, list):
        return
    extras: JsonMapping = {}
    for index, entry in enumerate(entries):
        if isinstance(entry, str) and notes.level == "lenient":
            fix = "Send an object with `type`, `message`, `impact` and `recovery`."
            notes.add("warning", "A warning is a bare text.", path=pointer(("warnings", index)), fix=fix)
            whole: JsonObject = {"type": "degraded_analysis", "message": entry, "impact": "", "recovery": ""}
            entries[index] = whole
        elif isinstance(entry, dict):
            _normalise_warning(entry, notes, extras, ("warnings", index))
    if extras:
        normalisation.extras["warnings"] = extras


def _normalise_warning(entry: JsonObject, notes: Diagnostics, extras: JsonMapping, where: tuple[str, int]) -> None:
    drop_nulls(entry, _WARNING, notes, path=pointer(where))
    for name in ("message", "impact", "recovery"):
        if name not in entry:
            if entry.get("synthetic") is not True:
                path = pointer((*where, name))
                notes.add("warning", f"A warning does not say its `{name}`.", path=path, fix=f"Say `{name}`.")
            entry[name] = ""
    kind = entry.get("type")
    unknown = notes.level == "lenient" and isinstance(kind, str) and kind not in get_args(WarningType)
    if "type" not in entry or unknown:
        fix = "Say `missing_data`, `degraded_analysis` or `incomplete_context`."
        problem = f"{str(kind)[:80]!r} is not a type of a warning; `degraded_analysis` was taken." if kind else ""
        what = problem or "A warning does not say its `type`."
        notes.add("warning", what, path=pointer((*where, "type")), fix=fix)
        entry["type"] = "degraded_analysis"
    extra_keys: JsonMapping = {}
    _extract_extras(entry, _WARNING, notes, extra_keys, where)
    if extra_keys:
        extras[str(where[1])] = extra_keys


def _normalise_failure(value: JsonObject, notes: Diagnostics, normalisation: Normalisation) -> None:
    if "result" in value and "partial_results" not in value:
        fix = "Call it `partial_results`."
        notes.add("result", "A failure has a `result`; it was read as `partial_results`.", path="/result", fix=fix)
        value["partial_results"] = value.pop("result")
    fills: JsonObject = {"message": "", "recovery_suggestions": [], "context": {}}
    for name, fill in fills.items():
        if value.get(name) is None:
            notes.add(f"no_{name}", f"The failure does not say `{name}`.", path=f"/{name}", fix=f"Say `{name}`.")
            value[name] = fill
    if notes.level == "lenient" and isinstance(text := value["recovery_suggestions"], str):
        path = "/recovery_suggestions"
        notes.add("null_list", "`recovery_suggestions` is one text.", path=path, fix="Write a list.")
        value["recovery_suggestions"] = [text]
    context = value["context"]
    if isinstance(context, dict):
        drop_nulls(context, _CONTEXT, notes, path="/context")
        extra_keys: JsonMapping = {}
        _extract_extras(context, _CONTEXT, notes, extra_keys, ("context",))
        if extra_keys:
            normalisation.extras["context"] = extra_keys
        _normalise_error_type(value, context, notes, normalisation)


def _normalise_error_type(
    value: JsonObject, context: JsonObject, notes: Diagnostics, normalisation: Normalisation
) -> None:
    """One of our other codes is a finer cause; when lenient, any other word is an internal error."""
    word = value.get("error_type")
    if isinstance(word, str) and word in FAULT_CODES:
        return
    code = code_of(word)
    if code is None and notes.level != "lenient":
        return
    error_type = ERROR_TYPES[code] if code else "internal_error"
    notes.add("error_type", f"{word!r} was read as {error_type!r}.", path="/error_type", fix=f"Write {error_type!r}.")
    value["error_type"] = error_type
    if code:
        context.setdefault("class", code)
    elif word is not None:
        normalisation.extras["error_type"] = word


def _extract_extras(
    value: JsonObject, allowed: frozenset[str], notes: Diagnostics, extras: JsonMapping, where: tuple[str | int, ...]
) -> None:
    """Take what the format has no word for out of `value`: it rides in the extras (C7)."""
    for name in [name for name in value if name not in allowed]:
        path = pointer((*where, name))
        fix = "Put what is the agent's own into `result`."
        notes.add("unknown", f"The format has no `{name[:80]}` here; it was kept.", path=path, fix=fix)
        extras[name] = value.pop(name)
