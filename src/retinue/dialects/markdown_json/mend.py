"""What a level bears of an answer that breaks the contract (C3): the object is mended in place, every time with a note.

Only what has one meaning is mended. What is left is judged by `checks` and by the shapes of `wire`.
"""

from dataclasses import dataclass, field
from typing import Any, Final, get_args

from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import to_kebab
from retinue.contract.result import WarningType
from retinue.dialects.mending import drop_nulls
from retinue.dialects.port import Known
from retinue.dialects.reading import Notes

from .wire import (
    CONTRACT,
    ERROR_TYPES,
    FAULT_CODES,
    STATUSES,
    ErrorContext,
    Metadata,
    UnknownEnvelope,
    WarningEntry,
    code_of,
    envelope_for,
    names_files,
)
from .words import NO_WARNING

__all__ = ["Mended", "mend"]

_METADATA: Final = frozenset(Metadata.model_fields)
_CONTEXT: Final = frozenset(field.alias or name for name, field in ErrorContext.model_fields.items())
_WARNING: Final = frozenset(WarningEntry.model_fields)
_COUNTS: Final = ("execution_time_ms", "files_read", "files_written", "completeness")


@dataclass(slots=True)
class Mended:
    """What mending took out of the object, or knows about it.

    Attributes:
        extras: What the format has no word for, by where it stood.
        unsaid: Top-level keys that the text did not have and mending put there.
    """

    extras: JsonMapping = field(default_factory=dict[str, Any])
    unsaid: set[str] = field(default_factory=set[str])


def mend(value: JsonObject, notes: Notes, known: Known) -> Mended:
    """Mend `value` as far as its level goes."""
    mended = Mended()
    if notes.level == "strict":
        return mended
    _status(value, notes)
    _head(value, notes, known, mended)
    _metadata(value, notes, mended)
    _warnings(value, notes, mended)
    if value.get("status") == "error":
        _failure(value, notes, mended)
    shape = envelope_for(value.get("status"))
    allowed = frozenset(shape.model_fields)
    if shape is not UnknownEnvelope:
        _set_aside(value, allowed, notes, mended.extras, ())
    drop_nulls(value, allowed - {"result"}, notes)
    return mended


def _status(value: JsonObject, notes: Notes) -> None:
    said = value.get("status")
    if notes.level != "lenient" or not isinstance(said, str) or said in {"success", "partial", "error"}:
        return
    meant = STATUSES.get(said.strip().lower())
    if meant is not None:
        notes.add("status", f"{said[:80]!r} was read as {meant!r}.", path="/status", fix=f"Write {meant!r}.")
        value["status"] = meant


def _head(value: JsonObject, notes: Notes, known: Known, mended: Mended) -> None:
    """The spec's own sample of degradation leaves out the whole head; whoever asked knows it (C3, K34)."""
    fills: JsonObject = {"agent": to_kebab(known.agent) or known.agent, "version": CONTRACT, "metadata": {}}
    for name, fill in fills.items():
        if value.get(name) is None:
            fix = f"Always include `{name}`."
            notes.add(f"no_{name}", f"The answer has no `{name}`.", path=f"/{name}", fix=fix)
            value[name] = fill
            mended.unsaid.add(name)
    version = value["version"]
    if notes.level == "lenient" and isinstance(version, int | float) and not isinstance(version, bool):
        notes.add("version", f"The version {version!r} is a number.", path="/version", fix="Write it as text.")
        value["version"] = f"{version:g}" if isinstance(version, float) and version % 1 else f"{version:.1f}"


def _metadata(value: JsonObject, notes: Notes, mended: Mended) -> None:
    metadata = value["metadata"]
    if not isinstance(metadata, dict):
        return
    drop_nulls(metadata, _METADATA, notes, path="/metadata")
    for name in _COUNTS:
        said = metadata.get(name)
        whole = _whole(said, lenient=notes.level == "lenient")
        if whole is None and name == "execution_time_ms" and isinstance(said, float) and said >= 0:
            whole = round(said)
        if whole is not None:
            path = f"/metadata/{name}"
            notes.add("number", f"`{name}` is {said!r}, not a whole number.", path=path, fix=f"Write {whole}.")
            metadata[name] = whole
    kept: JsonMapping = {}
    _set_aside(metadata, _METADATA, notes, kept, ("metadata",))
    if "artifacts" in metadata and not names_files(metadata["artifacts"]):
        path, fix = "/metadata/artifacts", "Write a list of objects, each with the `path` of a file."
        notes.add("artifacts", "`artifacts` names no files; it was kept.", path=path, fix=fix)
        kept["artifacts"] = metadata.pop("artifacts")
    if kept:
        mended.extras["metadata"] = kept


def _whole(said: JsonValue, *, lenient: bool) -> int | None:
    """The whole number that something else says plainly."""
    if isinstance(said, float) and said.is_integer():
        return int(said)
    if lenient and isinstance(said, str) and said.isascii() and said.isdigit() and len(said) < 20:
        return int(said)
    return None


def _warnings(value: JsonObject, notes: Notes, mended: Mended) -> None:
    if "warnings" in value and value["warnings"] is None:
        notes.add("null_list", "`warnings` is null.", path="/warnings", fix="Leave it out, or write `[]`.")
        del value["warnings"]
    listed = value.get("warnings", [])
    if value.get("status") == "partial" and listed == []:
        fix = "Say in `warnings` what is missing, what that means and how to get the whole."
        notes.add("no_warnings", "The answer is partial, but does not say why.", path="/warnings", fix=fix)
        owed: list[JsonValue] = [{"type": "degraded_analysis", "message": NO_WARNING, "synthetic": True}]
        value["warnings"] = listed = owed
    if not isinstance(listed, list):
        return
    kept: JsonMapping = {}
    for index, entry in enumerate(listed):
        if isinstance(entry, str) and notes.level == "lenient":
            fix = "Send an object with `type`, `message`, `impact` and `recovery`."
            notes.add("warning", "A warning is a bare text.", path=pointer(("warnings", index)), fix=fix)
            whole: JsonObject = {"type": "degraded_analysis", "message": entry, "impact": "", "recovery": ""}
            listed[index] = whole
        elif isinstance(entry, dict):
            _warning(entry, notes, kept, ("warnings", index))
    if kept:
        mended.extras["warnings"] = kept


def _warning(entry: JsonObject, notes: Notes, kept: JsonMapping, where: tuple[str, int]) -> None:
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
        said = f"{str(kind)[:80]!r} is not a type of a warning; `degraded_analysis` was taken." if kind else ""
        what = said or "A warning does not say its `type`."
        notes.add("warning", what, path=pointer((*where, "type")), fix=fix)
        entry["type"] = "degraded_analysis"
    aside: JsonMapping = {}
    _set_aside(entry, _WARNING, notes, aside, where)
    if aside:
        kept[str(where[1])] = aside


def _failure(value: JsonObject, notes: Notes, mended: Mended) -> None:
    if "result" in value and "partial_results" not in value:
        fix = "Call it `partial_results`."
        notes.add("result", "A failure has a `result`; it was read as `partial_results`.", path="/result", fix=fix)
        value["partial_results"] = value.pop("result")
    fills: JsonObject = {"message": "", "recovery_suggestions": [], "context": {}}
    for name, fill in fills.items():
        if value.get(name) is None:
            notes.add(f"no_{name}", f"The failure does not say `{name}`.", path=f"/{name}", fix=f"Say `{name}`.")
            value[name] = fill
    if notes.level == "lenient" and isinstance(said := value["recovery_suggestions"], str):
        path = "/recovery_suggestions"
        notes.add("null_list", "`recovery_suggestions` is one text.", path=path, fix="Write a list.")
        value["recovery_suggestions"] = [said]
    context = value["context"]
    if isinstance(context, dict):
        drop_nulls(context, _CONTEXT, notes, path="/context")
        aside: JsonMapping = {}
        _set_aside(context, _CONTEXT, notes, aside, ("context",))
        if aside:
            mended.extras["context"] = aside
        _error_type(value, context, notes, mended)


def _error_type(value: JsonObject, context: JsonObject, notes: Notes, mended: Mended) -> None:
    """One of our other codes is a finer cause; when lenient, any other word is an internal error."""
    said = value.get("error_type")
    if isinstance(said, str) and said in FAULT_CODES:
        return
    known = code_of(said)
    if known is None and notes.level != "lenient":
        return
    meant = ERROR_TYPES[known] if known else "internal_error"
    notes.add("error_type", f"{said!r} was read as {meant!r}.", path="/error_type", fix=f"Write {meant!r}.")
    value["error_type"] = meant
    if known:
        context.setdefault("class", known)
    elif said is not None:
        mended.extras["error_type"] = said


def _set_aside(
    value: JsonObject, allowed: frozenset[str], notes: Notes, kept: JsonMapping, where: tuple[str | int, ...]
) -> None:
    """Take what the format has no word for out of `value`: it rides in the extras (C7)."""
    for name in [name for name in value if name not in allowed]:
        path = pointer((*where, name))
        fix = "Put what is the agent's own into `result`."
        notes.add("unknown", f"The format has no `{name[:80]}` here; it was kept.", path=path, fix=fix)
        kept[name] = value.pop(name)
