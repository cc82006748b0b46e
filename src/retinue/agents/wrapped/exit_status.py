"""What the end of a program says: its exit status or signal, its last words on stderr, its silence."""

import signal
from collections.abc import Mapping
from typing import Final

from retinue.contract.fault import Fault
from retinue.contract.model import DialectName
from retinue.errors import FaultCode, OutputInvalid

_SHOWN: Final = 5
_BY_HAND: Final = "Run the command by hand with the same input."

_STATUSES: Final[Mapping[int, tuple[FaultCode, str]]] = {
    75: ("unavailable", "It asks to be tried again later."),
    126: ("access_denied", "Something it calls may not be run: check its permissions."),
    127: ("missing_file", "Something it calls is not installed, or not where programs are looked for."),
}
"""Exit statuses that mean the same everywhere."""


def describe_exit(status: int) -> str:
    """How it ended, as the end of a sentence. A negative status is a signal."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def exit_fault(status: int, name: str, stderr: str, *, hidden_variables: tuple[str, ...]) -> Fault:
    """Why there is no answer, by the way the program ended.

    Args:
        status: Its exit status; negative is the signal that ended it.
        name: What it is called.
        stderr: The end of what it said there.
        hidden_variables: Variables that it speaks of, that are set, and that it was not shown.
    """
    code, reason = _STATUSES.get(status, ("internal_error", ""))
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    tail = f": {lines[-1][:300]}" if lines else " and gave no answer."
    if status == -signal.SIGKILL:
        reason = "The system ends programs like this when memory runs out."
    elif hidden_variables and not reason:
        names_text = ", ".join(f"`{each}`" for each in hidden_variables[:_SHOWN])
        reason = f"It sees few variables, and not {names_text}: name it, as by `--env {hidden_variables[0]}`."
    hint = reason or ("See what else it said in `detail.stderr`." if len(lines) > 1 else _BY_HAND)
    return Fault(
        code=code,
        message=f"`{name}` {describe_exit(status)}{tail}",
        hint=hint,
        suggestions=(_BY_HAND,),
        retryable=code == "unavailable",
        detail={"class": "exit", "status": status, **({"stderr": stderr} if stderr.strip() else {})},
    )


def no_output_error(name: str, dialect: DialectName | None, stderr: str) -> OutputInvalid:
    """The error for a program that exited with status 0 and printed no answer."""
    note = " on stdout, only on stderr" if stderr.strip() else ""
    return OutputInvalid(
        f"`{name}` exited with status 0, but printed nothing{note}.",
        hint=f"Print the answer on stdout, in `{dialect}`." if dialect else "Print the answer on stdout.",
        detail={"reason": "silence", **({"stderr": stderr} if note else {})},
    )
