"""A failure as data. The same facts as an exception are in `retinue.errors`; nothing here is raised."""

import math
import re
from typing import Any, Final, Self

from pydantic import Field

from retinue import errors
from retinue.contract.formatting import short_repr
from retinue.contract.json import dumps
from retinue.contract.model import Count, JsonMapping, Model


class Fault(Model):
    """What went wrong with one attempt, sorted into the twelve codes (features.md §3, C2).

    `detail["class"]` keeps the finer cause; for a fault made from one of our errors it is the class name.

    Attributes:
        path: JSON Pointer of the offending value.
        operation: What was attempted, usually the skill.
        target: What it was attempted on.
        failed_at: The step that failed.
        timestamp_ns: When, in nanoseconds since 1970 UTC.
    """

    code: errors.FaultCode
    message: str
    hint: str = ""
    suggestions: tuple[str, ...] = ()
    path: str = ""
    retryable: bool = False
    retry_after_s: float | None = None
    operation: str | None = None
    target: str | None = None
    failed_at: str | None = None
    timestamp_ns: Count | None = None
    detail: JsonMapping = Field(default_factory=dict)

    @classmethod
    def from_error(cls, error: BaseException, **place: Any) -> Self:
        """The fault that says what `error` says.

        Args:
            error: Any exception. One that is not ours becomes `internal_error`, its class kept in `detail`.
            place: `operation`, `target`, `failed_at`, `timestamp_ns`: facts the error could not know.
        """
        kind = type(error).__name__
        place = {name: _replace_surrogates(value) if isinstance(value, str) else value for name, value in place.items()}
        if not isinstance(error, errors.RetinueError):
            text = _message_of(error)
            message = f"`{kind}`: {text}" if text else f"`{kind}` was raised without a message."
            return cls(code="internal_error", message=message, detail={"class": kind}, **place)
        wait = error.retry_after_s
        return cls(
            code=error.code,
            message=_replace_surrogates(error.message),
            hint=_replace_surrogates(error.hint),
            suggestions=tuple(map(_replace_surrogates, error.suggestions)),
            path=_replace_surrogates(error.path),
            retryable=error.retryable and error.detail.get("retryable") is not False,
            retry_after_s=wait if wait is not None and math.isfinite(wait) else None,
            detail={**_json_detail(error.detail), "class": kind},
            **place,
        )

    def to_error(self) -> errors.RetinueError:
        """The exception that says what this fault says: the class it came from, else the one for its code."""
        name = self.detail.get("class")
        kind = _CLASSES.get(name) if isinstance(name, str) else None
        if kind is None or kind.code != self.code:
            kind = _BY_CODE[self.code]
        return kind(
            self.message,
            hint=self.hint,
            path=self.path,
            suggestions=self.suggestions,
            detail={name: value for name, value in self.detail.items() if name != "class"},
            retry_after_s=self.retry_after_s,
        )


def public_fault(fault: Fault, *, run: str, root: str = "") -> Fault:
    """What of `fault` may be told to whoever asked from outside.

    Our own errors are written for the one who asked. The text of any other exception is not: it names files, hosts and
    values of the agent's own, so a fixed sentence stands in its place, with the id under which history and log have the
    rest. The same holds where an error of ours names a place on this machine. Of `detail` only the findings about what
    was sent are told.

    Args:
        fault: As the boundary gave it.
        run: The id by which the operator finds it.
        root: The workspace; paths in it may be told.
    """
    is_ours = fault.code != "internal_error" and fault.detail.get("class") in _CLASSES
    texts = (fault.message, fault.hint, *fault.suggestions)
    if is_ours and (fault.code in _ABOUT_DATA or not any(_names_place(text, root) for text in texts)):
        return fault.model_copy(
            update={"detail": {name: fault.detail[name] for name in _PUBLIC_DETAIL if name in fault.detail}}
        )
    return fault.model_copy(
        update={
            "message": f"The agent failed. Its operator finds the reason under run `{run}`.",
            "hint": "Ask again later, or tell its operator the id of the run.",
            "suggestions": (),
            "path": "",
            "detail": {"run": run},
        }
    )


_PUBLIC_DETAIL = ("class", "findings", "correct", "bound", "retryable")
"""Facts of `detail` that are about the request or its limits."""


_ABOUT_DATA: Final = frozenset[errors.FaultCode]({"invalid_input", "output_invalid", "parse_error"})
"""Their messages name places in the data, as JSON Pointers, which look like paths."""
_ABSOLUTE: Final = re.compile(r"(?<![\w./:])(?:/[\w.+-]+){2,}")


def _names_place(text: str, root: str) -> bool:
    """Whether `text` names a file of this machine outside `root`."""
    return any(not (root and match[0].startswith(f"{root}/")) for match in _ABSOLUTE.finditer(text))


def _message_of(error: BaseException) -> str:
    try:
        return _replace_surrogates(str(error))
    except Exception:  # noqa: BLE001 - an exception that cannot even be printed must still become a fault
        return ""


def _replace_surrogates(text: str) -> str:
    """`text` without halves of surrogate pairs, which file names bring along and no JSON text can hold."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _json_detail(detail: JsonMapping) -> JsonMapping:
    """`detail` if it is JSON data, as it should be; else how it looks."""
    try:
        dumps(detail)
    except errors.InvalidInput:
        return {"shown": _replace_surrogates(short_repr(detail))}
    return detail


_CLASSES: dict[str, type[errors.RetinueError]] = {
    name: kind
    for name in errors.__all__
    if isinstance(kind := getattr(errors, name), type) and issubclass(kind, errors.RetinueError)
}
_BY_CODE: dict[errors.FaultCode, type[errors.RetinueError]] = {
    "missing_file": errors.MissingFile,
    "invalid_input": errors.InvalidInput,
    "output_invalid": errors.OutputInvalid,
    "parse_error": errors.ParseError,
    "access_denied": errors.AccessDenied,
    "unauthenticated": errors.Unauthenticated,
    "network_error": errors.NetworkError,
    "unavailable": errors.Unavailable,
    "timeout": errors.DeadlineExceeded,
    "budget_exceeded": errors.BudgetExceeded,
    "canceled": errors.Canceled,
    "internal_error": errors.InternalError,
}
