"""What the contract asks of an answer beyond its shape: fields that agree, texts that help, values of the right kind.

Spec 003's own checklist (K8 to K11), each with its place. Judges an object of any shape; mends nothing but what
`data_types` decodes when lenient.
"""

import re
from typing import Final, cast

from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.names import fold
from retinue.contract.version import Version
from retinue.dialects.dates import parse_timestamp
from retinue.dialects.diagnostics import Diagnostics
from retinue.dialects.port import DEFAULT_AGENT, ParseContext
from retinue.errors import InvalidInput

from .data_types import check_data_types
from .wire import CONTRACT, ERROR_TYPES, code_of

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
    _check_warnings(value, notes)
    if status == "error":
        _check_text(value.get("message"), "`message`", notes, path="/message")
        _check_class(value, notes)
        suggestions = value.get("recovery_suggestions")
        if suggestions == []:
            fix = "Say at least one thing that the caller can do."
            what = "A failure without a suggestion leaves its caller alone."
            severity = notes.severity("standard")
            notes.add("recovery_suggestions", what, path="/recovery_suggestions", fix=fix, severity=severity)
        for index, each in enumerate(cast("list[JsonValue]", suggestions if isinstance(suggestions, list) else [])):
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


def _check_warnings(value: JsonObject, notes: Diagnostics) -> None:
    entries = value.get("warnings")
    for index, entry in enumerate(cast("list[JsonValue]", entries if isinstance(entries, list) else [])):
        if not isinstance(entry, dict) or entry.get("synthetic") is True:
            continue
        path = f"/warnings/{index}"
        for name in ("message", "impact", "recovery"):
            if name in entry:
                _check_text(entry[name], f"`{name}` of a warning", notes, path=f"{path}/{name}")


def _check_class(value: JsonObject, notes: Diagnostics) -> None:
    context, word = value.get("context"), value.get("error_type")
    cause = context.get("class") if isinstance(context, dict) else None
    code = code_of(cause)
    if code is not None and ERROR_TYPES[code] != word:
        fix = f"Leave it out, or write {ERROR_TYPES[code]!r} as `error_type`."
        what = f"{cause!r} is not a finer cause of {word!r}."
        notes.add("class", what, path="/context/class", fix=fix, severity=notes.severity("standard"))


def _check_text(text: JsonValue, what: str, notes: Diagnostics, *, path: str) -> None:
    """A text must say something; whether it helps can only be guessed, so that is never an error (K11)."""
    if not isinstance(text, str):
        return
    if not text.strip():
        fix, severity = "Say it in a sentence that helps.", notes.severity("standard")
        notes.add("empty", f"{what} is empty.", path=path, fix=fix, severity=severity)
    elif len(text) < 80 and _VAGUE.fullmatch(text.strip()):
        fix = "Name the file, the value or the step it is about."
        notes.add("vague", f"{what} helps nobody: {text!r}.", path=path, fix=fix)
