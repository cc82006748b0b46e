"""Failures of an agent as faults, whatever was raised and however broken it is itself.

The one place where an agent's exceptions become data. What comes out can always be shown, written and read back.
"""

from types import TracebackType
from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract.fault import Fault
from retinue.contract.finding import Finding, findings_of
from retinue.contract.model import JsonMapping
from retinue.contract.result import Artifact, Cost, Result, Trace, Usage, Warned
from retinue.errors import FaultCode, InvalidInput, OutputInvalid, RetinueError

_LONGEST: Final = 10_000
_SHOWN: Final = 3

_BUILT_IN: Final[tuple[tuple[type[BaseException], FaultCode], ...]] = (
    (TimeoutError, "timeout"),
    (ConnectionError, "network_error"),
    (FileNotFoundError, "missing_file"),
    (PermissionError, "access_denied"),
)
"""Exceptions of the language that say plainly what kind of failure it is (K33)."""

_REPORT_MODELS: Final = frozenset(model.__name__ for model in (Artifact, Cost, Result, Trace, Usage, Warned))
"""What an agent builds to tell of its work. One that does not hold is a wrong answer, as it is in JSON."""

_ENDS_PROGRAM: Final = (SystemExit, GeneratorExit)


def fault_of(
    error: BaseException, *, agent: str, operation: str | None, target: str | None, now_ns: int, failed_at: str = "run"
) -> Fault:
    """The fault that says what `error` says. Never raises, not even for an error that cannot be shown."""
    place: dict[str, Any] = {"operation": operation, "target": target, "failed_at": failed_at, "timestamp_ns": now_ns}
    try:
        if isinstance(error, ValidationError) and error.title in _REPORT_MODELS:
            findings = list(findings_of(error, rule=f"reply/{error.title.lower()}"))
            return output_invalid(findings, agent=agent, operation=operation, target=target, now_ns=now_ns)
        fault = _build_fault(error, agent, place)
        return Fault.model_validate_json(fault.to_json_text())
    except Exception:  # noqa: BLE001 - `__str__`, an attribute or the detail of a foreign error is broken
        kind = type(error).__name__
        message = f"`{agent}` raised `{kind}`, which cannot be shown."
        return Fault(code="internal_error", message=message, hint=_FIX_AGENT, detail={"class": kind}, **place)


def output_invalid(
    findings: list[Finding], *, agent: str, operation: str | None, target: str | None, now_ns: int
) -> Fault:
    """The fault for an answer that breaks its contract, with every finding."""
    message = f"The answer of `{agent}` breaks its contract: {_summary(findings)}"
    error = OutputInvalid(message, **_from_findings(findings))
    return Fault.from_error(error, operation=operation, target=target, failed_at="output", timestamp_ns=now_ns)


def invalid_input(
    findings: list[Finding], *, agent: str, operation: str | None, target: str | None, now_ns: int
) -> Fault:
    """The fault for a task that a skill does not take, with every finding."""
    message = f"`{agent}` cannot be called like this: {_summary(findings)}"
    error = InvalidInput(message, **_from_findings(findings))
    return Fault.from_error(error, operation=operation, target=target, failed_at="input", timestamp_ns=now_ns)


def notes_of(error: BaseException | None) -> tuple[str, ...]:
    """What was noted on an exception on its way (`add_note`)."""
    notes: object = getattr(error, "__notes__", None)
    if not isinstance(notes, list):
        return ()
    texts = (note for note in cast("list[object]", notes) if isinstance(note, str))
    return tuple(_truncate(text.encode(errors="replace").decode()) for text in texts)


_FIX_AGENT: Final = "The error is inside the agent: fix it, or use another agent."
_MUST_NOT_END: Final = "An agent must not end the program: let it return, or raise an error of its own."


def _build_fault(error: BaseException, agent: str, place: JsonMapping) -> Fault:
    fault = Fault.from_error(error, **place)
    if isinstance(error, RetinueError):
        return (
            fault if len(fault.message) <= _LONGEST else fault.model_copy(update={"message": _truncate(fault.message)})
        )
    kind = type(error).__name__
    code = next((code for base, code in _BUILT_IN if isinstance(error, base)), fault.code)
    description = fault.message.replace(f"`{kind}` was raised without", f"`{kind}` without")
    hint = _MUST_NOT_END if isinstance(error, _ENDS_PROGRAM) else _FIX_AGENT if code == "internal_error" else ""
    where = _where(error.__traceback__)
    return fault.model_copy(
        update={
            "code": code,
            "message": f"`{agent}` raised {_truncate(description)}",
            "hint": hint,
            "retryable": code in _TRANSIENT,
            "detail": {**fault.detail, **({"where": where} if where else {})},
        }
    )


_TRANSIENT: Final = frozenset[FaultCode]({"timeout", "network_error", "unavailable"})


def _truncate(text: str) -> str:
    """A foreign text for a message: not endless."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def _where(trace: TracebackType | None) -> str:
    """Function and line in which it was raised."""
    while trace and trace.tb_next:
        trace = trace.tb_next
    if trace is None:
        return ""
    frame = trace.tb_frame
    return f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}:{trace.tb_lineno}"


def _summary(findings: list[Finding]) -> str:
    text = " ".join(f"{finding.message[:-1]} (at `{finding.path or '/'}`)." for finding in findings[:_SHOWN])
    return f"{text} And {len(findings) - _SHOWN} more." if len(findings) > _SHOWN else text


def _from_findings(findings: list[Finding]) -> dict[str, Any]:
    fixes = tuple(dict.fromkeys(f"`{finding.path or '/'}`: {finding.fix}" for finding in findings if finding.fix))
    return {
        "hint": " ".join(fixes[:_SHOWN]),
        "path": findings[0].path,
        "suggestions": fixes[:20],
        "detail": {"findings": [finding.to_json() for finding in findings]},
    }
