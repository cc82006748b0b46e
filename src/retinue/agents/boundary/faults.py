"""Failures of an agent as faults, whatever was raised and however broken it is itself.

The one place where an agent's exceptions become data. What comes out can always be shown, written and read back.
"""

from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.agents.port import RunContext
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding, findings_of
from retinue.contract.model import JsonMapping
from retinue.contract.result import Artifact, Cost, Result, Trace, Usage, Warned
from retinue.contract.task import Task
from retinue.errors import FaultCode, InvalidInput, OutputInvalid, RetinueError

_LONGEST: Final = 10_000
_MAX_SHOWN: Final = 3

_BUILT_IN: Final[tuple[tuple[type[BaseException], FaultCode], ...]] = (
    (TimeoutError, "timeout"),
    (ConnectionError, "network_error"),
    (FileNotFoundError, "missing_file"),
    (PermissionError, "access_denied"),
)
"""Exceptions of the language that say plainly what kind of failure it is (K33)."""

_REPORT_MODELS: Final = frozenset(model.__name__ for model in (Artifact, Cost, Result, Trace, Usage, Warned))
"""What an agent builds to report its work. An invalid one is a wrong answer, as it is in JSON."""

_ENDS_PROGRAM: Final = (SystemExit, GeneratorExit)
_TRANSIENT: Final = frozenset[FaultCode]({"timeout", "network_error", "unavailable"})
_FIX_AGENT: Final = "The error is inside the agent: fix it, or use another agent."
_MUST_NOT_END: Final = "An agent must not end the program: let it return, or raise an error of its own."


def fault_of(error: BaseException, task: Task, run: RunContext, *, failed_at: str = "run") -> Fault:
    """The fault that says what `error` says. Never raises, not even for an error that cannot be shown."""
    place = _place(task, run, failed_at)
    try:
        if isinstance(error, ValidationError) and error.title in _REPORT_MODELS:
            return output_invalid(list(findings_of(error, rule=f"reply/{error.title.lower()}")), task, run)
        return Fault.model_validate_json(_build_fault(error, task.agent, place).to_json_text())
    except Exception:  # noqa: BLE001 - `__str__`, an attribute or the detail of a foreign error is broken
        kind = type(error).__name__
        message = f"`{task.agent}` raised `{kind}`, which cannot be shown."
        return Fault(code="internal_error", message=message, hint=_FIX_AGENT, detail={"class": kind}, **place)


def output_invalid(findings: list[Finding], task: Task, run: RunContext) -> Fault:
    """The fault for an answer that breaks its contract, with every finding."""
    error = _with_findings(OutputInvalid, f"The answer of `{task.agent}` breaks its contract", findings)
    return Fault.from_error(error, **_place(task, run, "output"))


def invalid_input(findings: list[Finding], task: Task, run: RunContext) -> Fault:
    """The fault for a task that a skill does not take, with every finding."""
    error = _with_findings(InvalidInput, f"`{task.agent}` cannot be called like this", findings)
    return Fault.from_error(error, **_place(task, run, "input"))


def _place(task: Task, run: RunContext, failed_at: str) -> dict[str, Any]:
    """What was attempted, on what, and when."""
    return {"operation": task.skill, "target": task.target, "failed_at": failed_at, "timestamp_ns": run.now()}


def _with_findings(kind: type[RetinueError], message: str, findings: list[Finding]) -> RetinueError:
    text = " ".join(f"{finding.message[:-1]} (at `{finding.path or '/'}`)." for finding in findings[:_MAX_SHOWN])
    more = f" And {len(findings) - _MAX_SHOWN} more." if len(findings) > _MAX_SHOWN else ""
    fixes = tuple(dict.fromkeys(f"`{finding.path or '/'}`: {finding.fix}" for finding in findings if finding.fix))
    return kind(
        f"{message}: {text}{more}",
        hint=" ".join(fixes[:_MAX_SHOWN]),
        path=findings[0].path,
        suggestions=fixes[:20],
        detail={"findings": [finding.to_json() for finding in findings]},
    )


def notes_of(error: BaseException | None) -> tuple[str, ...]:
    """What was noted on an exception on its way (`add_note`)."""
    notes: object = getattr(error, "__notes__", None)
    if not isinstance(notes, list):
        return ()
    texts = (note for note in cast("list[object]", notes) if isinstance(note, str))
    return tuple(_truncate(text.encode(errors="replace").decode()) for text in texts)


def _build_fault(error: BaseException, agent: str, place: JsonMapping) -> Fault:
    fault = Fault.from_error(error, **place)
    if isinstance(error, RetinueError):
        short = len(fault.message) <= _LONGEST
        return fault if short else fault.model_copy(update={"message": _truncate(fault.message)})
    kind = type(error).__name__
    code = next((code for base, code in _BUILT_IN if isinstance(error, base)), fault.code)
    description = fault.message.replace(f"`{kind}` was raised without", f"`{kind}` without")
    hint = _MUST_NOT_END if isinstance(error, _ENDS_PROGRAM) else _FIX_AGENT if code == "internal_error" else ""
    where, trace = "", error.__traceback__
    while trace is not None:  # function and line in which it was raised
        frame = trace.tb_frame
        where = f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}:{trace.tb_lineno}"
        trace = trace.tb_next
    return fault.model_copy(
        update={
            "code": code,
            "message": f"`{agent}` raised {_truncate(description)}",
            "hint": hint,
            "retryable": code in _TRANSIENT,
            "detail": {**fault.detail, **({"where": where} if where else {})},
        }
    )


def _truncate(text: str) -> str:
    """A foreign text for a message: not endless."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"
