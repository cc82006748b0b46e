"""What the contract asks of an answer beyond its shape: fields that agree, texts that help, values of the right kind.

Spec 003's own checklist (K8 to K11), each with its place. Before it, `normalise` repairs what a level tolerates and has
only one meaning (C3). The rest is checked here and by the shapes of `wire`.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import fold, to_kebab
from retinue.contract.result import WarningType
from retinue.contract.version import Version
from retinue.dialects.decoding import parse_timestamp
from retinue.dialects.diagnostics import Diagnostics, drop_nulls, take_unknown
from retinue.dialects.port import DEFAULT_AGENT, ParseContext
from retinue.errors import InvalidInput

from .block import NO_WARNING
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

_MAJOR: Final = Version.parse(CONTRACT).major
_VAGUE: Final = re.compile(
    r"(?:please\s+)?(?:just\s+)?(?:try\s+(?:it\s+)?(?:again|later)|retry|try\s+again\s+later|retry\s+later"
    r"|check\s+(?:the\s+|your\s+)?(?:input|inputs|error|errors|logs?|problem)"
    r"|fix\s+(?:it|this|the\s+(?:error|errors|issue|issues|problem|problems))"
    r"|contact\s+(?:the\s+)?(?:support|administrator|admin)|see\s+(?:the\s+)?(?:docs|documentation|logs?)"
    r"|something\s+went\s+wrong|an?\s+(?:unknown\s+)?error(?:\s+occurred)?|unknown(?:\s+error)?|failed|error"
    r"|none|n/?a|unknown|not\s+available|tbd|todo)\W*",
    re.IGNORECASE,
)


def check_answer(value: JsonObject, notes: Diagnostics, context: ParseContext) -> None:
    """Note everything that is wrong with the answer `value`."""
    status = value.get("status")
    _check_agent(value, notes, context)
    _check_version(value, notes)
    _check_operation(value, notes, context)
    _check_metadata(value, notes)
    entries = value.get("warnings")
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        # A synthetic one is our own: nobody is to be told that it says too little.
        if isinstance(entry, dict) and entry.get("synthetic") is not True:
            for name in [name for name in ("message", "impact", "recovery") if name in entry]:
                _check_text(entry[name], f"`{name}` of a warning", notes, path=f"/warnings/{index}/{name}")
    if status == "error":
        _check_text(value.get("message"), "`message`", notes, path="/message")
        context_object, word = value.get("context"), value.get("error_type")
        cause = context_object.get("class") if isinstance(context_object, dict) else None
        code = code_of(cause)
        if code is not None and ERROR_TYPES[code] != word:
            fix = f"Leave it out, or write {ERROR_TYPES[code]!r} as `error_type`."
            what = f"{cause!r} is not a finer cause of {word!r}."
            notes.add("class", what, path="/context/class", fix=fix, severity=notes.severity("standard"))
        suggestions = value.get("recovery_suggestions")
        if suggestions == []:
            fix = "Say at least one thing that the caller can do."
            what = "A failure without a suggestion leaves its caller alone."
            severity = notes.severity("standard")
            notes.add("recovery_suggestions", what, path="/recovery_suggestions", fix=fix, severity=severity)
        for index, each in enumerate(suggestions if isinstance(suggestions, list) else ()):
            _check_text(each, "A suggestion", notes, path=f"/recovery_suggestions/{index}")
        check_data_types(value.get("partial_results"), notes, path="/partial_results")
    else:
        check_data_types(value.get("result"), notes, path="/result", words="next_questions")


def _check_agent(value: JsonObject, notes: Diagnostics, context: ParseContext) -> None:
    agent = value.get("agent")
    if not isinstance(agent, str) or context.agent == DEFAULT_AGENT or fold(agent) == fold(context.agent):
        return
    notes.add(
        "agent",
        f"{context.agent!r} was asked, and {agent[:80]!r} says it answered.",
        path="/agent",
        fix="Give the name under which the agent was asked.",
        severity=notes.severity("lenient"),
    )


def _check_version(value: JsonObject, notes: Diagnostics) -> None:
    text = value.get("version")
    if not isinstance(text, str):
        return
    try:
        version = Version.parse(text)
    except InvalidInput as error:
        notes.add("version", error.message, path="/version", fix=error.hint, severity=notes.severity("lenient"))
        return
    if version.major != _MAJOR:
        fix = f"Answer by version {CONTRACT} of the contract."
        what = f"The answer follows version {text} of the contract, and {CONTRACT} is known here."
        notes.add("version", what, path="/version", fix=fix, severity=notes.severity("standard"))


def _check_operation(value: JsonObject, notes: Diagnostics, context: ParseContext) -> None:
    status, operation = value.get("status"), value.get("operation")
    if status in ("success", "partial") and operation is None:
        fix = "Say which operation was performed."
        notes.add("operation", "No `operation`.", path="/operation", fix=fix, severity=notes.severity("standard"))
    if isinstance(operation, str) and context.skill is not None and fold(operation) != fold(context.skill):
        fix = "Give the operation that was asked for."
        what = f"{context.skill!r} was asked for, and the answer is to {operation[:80]!r}."
        notes.add("operation", what, path="/operation", fix=fix, severity=notes.severity("standard"))


def _check_metadata(value: JsonObject, notes: Diagnostics) -> None:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return
    if "execution_time_ms" not in metadata:
        fix = "Measure the call, and give whole milliseconds."
        notes.add("time", "Nothing says how long it took.", path="/metadata/execution_time_ms", fix=fix)
    moment = metadata.get("error_timestamp")
    if isinstance(moment, str) and (parse_timestamp(moment) is None or not moment.endswith("Z")):
        path, fix = "/metadata/error_timestamp", "Write UTC, as in `2025-10-08T15:30:00Z`."
        severity = notes.severity("standard")
        notes.add("error_timestamp", f"{moment[:80]!r} is not a valid UTC time.", path=path, fix=fix, severity=severity)


def _check_text(text: JsonValue, what: str, notes: Diagnostics, *, path: str) -> None:
    """A text must say something; whether it helps can only be guessed, so that is never an error (K11)."""
    if not isinstance(text, str):
        return
    if not text.strip():
        fix, severity = "Say it in a sentence that helps.", notes.severity("standard")
        notes.add("empty", f"{what} is empty.", path=path, fix=fix, severity=severity)
    elif len(text) < 80 and _VAGUE.fullmatch(text.strip()):
        fix = "Name the file, the value or the step it is about."
        notes.add("vague", f"{what} says nothing specific: {text!r}.", path=path, fix=fix)


_Meaning: TypeAlias = Literal["score", "count", "path", "paths", "list", ""]
_Place: TypeAlias = "tuple[_Place, str | int] | None"

_SCORES: Final = frozenset(
    {
        "score",
        "scores",
        "percent",
        "percentage",
        "percentages",
        "pct",
        "completeness",
        "coverage",
        "confidence",
        "ratio",
    }
)
_COUNTS: Final = frozenset({"count", "counts", "total", "totals"})
_MEASURED: Final = frozenset(
    {"amount", "cost", "costs", "days", "duration", "eur", "hours", "minutes", "ms", "price", "revenue", "sales"}
    | {"seconds", "size", "time", "usd", "value", "weight"}
)
"""Totals of these are measured, not counted."""
_PATHS: Final = frozenset({"path", "file", "filename", "folder", "directory"})
_NO_PLURALS: Final = frozenset(
    {"status", "analysis", "basis", "bias", "bonus", "bus", "canvas", "cost_basis", "diagnosis", "emphasis", "focus"}
    | {"gas", "hypothesis", "lens", "news", "previous", "radius", "series", "synopsis", "synthesis", "thesis"}
    | {"this", "various", "virus", "was", "is", "has", "as", "us", "yes", "plus", "minus", "versus", "census", "locus"}
    | {"details", "notes", "remarks"}
)
_ASK_WHETHER: Final = frozenset({"allows", "has", "is", "needs", "supports", "uses", "was", "were"})
"""What such a word begins is true or false, whatever it ends in."""
_NUMBER: Final = re.compile(r"\s*[-+]?[0-9]+(?:\.[0-9]+)?\s*%?\s*")
_TRUTHS: Final = {"true": True, "false": False}
_MAX_FINDINGS: Final = 500


@lru_cache(maxsize=4096)
def _meaning(name: str) -> _Meaning:
    """What a field of this name holds."""
    words = fold(name[:100]).split("_")
    if not _SCORES.isdisjoint(words):
        return "score"
    if not _COUNTS.isdisjoint(words) and _MEASURED.isdisjoint(words):
        return "count"
    last = words[-1]
    if last in _PATHS:
        return "path"
    if last.removesuffix("s") in _PATHS:
        return "paths"
    single = last in _NO_PLURALS or last in _MEASURED or words[0] in _ASK_WHETHER
    plural = len(last) > 2 and last.endswith("s") and not last.endswith("ss") and not single
    return "list" if plural or last == "list" else ""


def check_data_types(root: JsonValue, notes: Diagnostics, *, path: str, words: str = "") -> None:
    """Find what breaks the data types or the paths anywhere inside `root`; when lenient, decode it in place.

    Linear in the size of `root`. After so many findings as `_MAX_FINDINGS` the rest is only counted.

    Args:
        root: The data.
        notes: Where findings go.
        path: Where `root` stands in the message.
        words: A member of `root` whose list holds what somebody says in words: a question may well read "true".
    """
    if not isinstance(root, dict | list):
        return
    severity = notes.severity("standard")
    waiting: list[tuple[dict[str, JsonValue] | list[JsonValue], _Place, str]] = [(root, None, "")]
    count = 0
    for container, place, outer in waiting:
        members = container.items() if isinstance(container, dict) else enumerate(container)
        for key, value in cast("list[tuple[str | int, JsonValue]]", list(members)):
            kind = type(value)
            name = key if type(key) is str else outer
            if kind is list and container is root and key == words:
                continue
            if kind is dict or kind is list:
                waiting.append((cast("list[JsonValue]", value), (place, key), name))
                continue
            problem = _problem(value, name)
            if problem is None or (value is None and type(key) is int):  # an empty cell is no missing list
                continue
            count += 1
            if count <= _MAX_FINDINGS:
                rule, what, fix = problem
                where = path + _pointer((place, key))
                notes.add(rule, f"{what}.", path=where, fix=fix, severity=severity)
            if notes.level == "lenient":
                _decode(container, key, value)
    if count > _MAX_FINDINGS:
        notes.add("many", f"Of such findings there are {count - _MAX_FINDINGS} more.", path=path, severity=severity)


def _problem(value: JsonValue, name: str) -> tuple[str, str, str] | None:
    """Rule, what is wrong and what to do, for one scalar; None when nothing is."""
    if isinstance(value, str):
        return _text_problem(value, name)
    meaning = _meaning(name)
    if value is None and meaning in {"list", "paths"}:
        return "null_list", f"{name[:80]!r} is null where a list belongs", "Write `[]` for an empty list."
    if value is None or isinstance(value, dict | list) or meaning != "count":
        return None
    if isinstance(value, bool) and not name.startswith(("is_", "has_")):
        return "count", f"{name[:80]!r} is a truth value, not a count", "Write a whole number."
    if value < 0 or isinstance(value, float):
        return "count", f"{value!r} is not a count", "Write a whole number, 0 or more."
    return None


def _text_problem(value: str, name: str) -> tuple[str, str, str] | None:
    if len(value) <= 5 and value.lower() in _TRUTHS:
        return "boolean", f"{value!r} is text, not a truth value", f"Write `{value.lower()}` without quotes."
    meaning = _meaning(name)
    if meaning in {"score", "count"} and len(value) < 40 and _NUMBER.fullmatch(value):
        return "number", f"{value!r} is text, not a number", f"Write `{value.strip(' %')}` without quotes."
    if meaning in {"path", "paths"}:
        problem = path_problem(value)
        if problem:
            return "path", problem, "Write the path absolute, or relative to the root of the repository."
    return None


_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")


def path_problem(path: str) -> str:
    """Why `path` is neither absolute nor relative to the repository's root, as a clause; empty when it is (K11)."""
    if ".." in path and ".." in path.replace("\\", "/").split("/"):
        return f"{path[:80]!r} climbs out with `..`"
    if path.startswith("~"):
        return f"{path[:80]!r} depends on whose home `~` is"
    if _DRIVE.match(path):
        return f"{path[:80]!r} names a drive"
    if "\\" in path:
        return f"{path[:80]!r} holds a backslash"
    return ""


def _pointer(place: _Place) -> str:
    parts: list[str | int] = []
    while place is not None:
        place, part = place
        parts.append(part)
    return pointer(reversed(parts))


def _decode(container: dict[str, JsonValue] | list[JsonValue], key: str | int, value: JsonValue) -> None:
    """Put what the text says in its place, where it has one meaning."""
    decoded: JsonValue = value
    if value is None:
        decoded = []
    elif isinstance(value, str) and value.lower() in _TRUTHS:
        decoded = _TRUTHS[value.lower()]
    elif isinstance(value, str) and len(value) < 40 and _NUMBER.fullmatch(value):
        digits = value.strip().rstrip("%").strip()
        decoded = float(digits) if "." in digits else int(digits)
    cast("dict[str | int, JsonValue]", container)[key] = decoded


_METADATA: Final = frozenset(AnswerMetadata.model_fields)
_CONTEXT: Final = frozenset(field.alias or name for name, field in ErrorContext.model_fields.items())
_WARNING: Final = frozenset(WarningEntry.model_fields)
_WHOLE_NUMBERS: Final = ("execution_time_ms", "files_read", "files_written", "completeness")


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
    # The status goes first: it says which envelope this is.
    word = value.get("status")
    if notes.level == "lenient" and isinstance(word, str) and word not in {"success", "partial", "error"}:
        status = STATUSES.get(word.strip().lower())
        if status is not None:
            notes.add("status", f"{word[:80]!r} was read as {status!r}.", path="/status", fix=f"Write {status!r}.")
            value["status"] = status
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
        normalisation.extras |= take_unknown(value, allowed, notes, _UNKNOWN, fix=_OWN_RESULT)
    drop_nulls(value, allowed - {"result"}, notes)
    return normalisation


def _normalise_metadata(value: JsonObject, notes: Diagnostics, normalisation: Normalisation) -> None:
    metadata = value["metadata"]
    if not isinstance(metadata, dict):
        return
    drop_nulls(metadata, _METADATA, notes, path="/metadata")
    for name in _WHOLE_NUMBERS:
        raw = metadata.get(name)
        whole = _whole_number(raw, lenient=notes.level == "lenient")
        if whole is None and name == "execution_time_ms" and isinstance(raw, float) and raw >= 0:
            whole = round(raw)
        if whole is not None:
            path = f"/metadata/{name}"
            notes.add("number", f"`{name}` is {raw!r}, not a whole number.", path=path, fix=f"Write {whole}.")
            metadata[name] = whole
    extras = take_unknown(metadata, _METADATA, notes, _UNKNOWN, fix=_OWN_RESULT, path="/metadata")
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
    if extra_keys := take_unknown(entry, _WARNING, notes, _UNKNOWN, fix=_OWN_RESULT, path=pointer(where)):
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
        if extra_keys := take_unknown(context, _CONTEXT, notes, _UNKNOWN, fix=_OWN_RESULT, path="/context"):
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


_UNKNOWN: Final = "The format has no `{}` here; it was kept."
_OWN_RESULT: Final = "Put what is the agent's own into `result`."
