"""Every exception Retinue raises, as one tree.

    RetinueError
    ├── YourError                  you asked wrongly: the same request will fail again
    │   ├── InvalidInput           a goal, parameter, option or plan does not fit
    │   │   ├── UnknownName        nothing is called that; `suggestions` says what is
    │   │   └── InvalidDefinition  an agent definition breaks the rules
    │   ├── MissingFile            a file or folder that must be there is not
    │   ├── ParseError             text that must be read cannot be; says line and column
    │   ├── AccessDenied           the fence of the workspace, or the system, says no
    │   │   └── NotTrusted         the folder has not been trusted by its user
    │   └── Unauthenticated        nobody said who is asking
    ├── TheirError                 the agent or peer failed, or sent nonsense
    │   ├── OutputInvalid          an answer breaks its own contract
    │   ├── NetworkError           nobody answered
    │   └── Unavailable            somebody answered "not now"
    │       └── NotInstalled       a program, model or optional part is missing here
    ├── LimitReached               a bound was hit; what was done so far is kept
    │   ├── DeadlineExceeded       out of time
    │   ├── BudgetExceeded         out of tokens, money, nodes or depth
    │   └── Canceled               somebody asked to stop
    └── InternalError              our own mistake

A failing agent is not an exception but a `Result` that carries a `contract.Fault`. Faults and these errors say the
same thing in two forms; `Fault.from_error` and `Fault.to_error` go between them without loss.
"""

from typing import Any, ClassVar, Literal, TypeAlias

__all__ = [
    "AccessDenied",
    "BudgetExceeded",
    "Canceled",
    "DeadlineExceeded",
    "FaultCode",
    "InternalError",
    "InvalidDefinition",
    "InvalidInput",
    "LimitReached",
    "MissingFile",
    "NetworkError",
    "NotInstalled",
    "NotTrusted",
    "OutputInvalid",
    "ParseError",
    "RetinueError",
    "TheirError",
    "Unauthenticated",
    "Unavailable",
    "UnknownName",
    "YourError",
]

FaultCode: TypeAlias = Literal[
    "missing_file",
    "invalid_input",
    "output_invalid",
    "parse_error",
    "access_denied",
    "unauthenticated",
    "network_error",
    "unavailable",
    "timeout",
    "budget_exceeded",
    "canceled",
    "internal_error",
]
"""The twelve codes every failure is sorted into (features.md, section 3, "fault code")."""


class RetinueError(Exception):
    """A failure with its cause, its place and what to do next.

    Attributes:
        code: One of the twelve fault codes.
        message: One sentence: what went wrong, with the offending values.
        hint: What to do next, clear enough for a model to follow. Empty when there is nothing to do.
        path: JSON Pointer (or file position) of the offending place; empty for the whole.
        suggestions: Names or steps that would have worked, best first.
        detail: Further facts as JSON data (`line`, `column`, `findings`, …). `retryable` is False where asking again is
            of no use, although it is for others of the same class.
        retry_after_s: Seconds the peer asked us to wait, when it did.
    """

    code: ClassVar[FaultCode] = "internal_error"
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        path: str = "",
        suggestions: tuple[str, ...] = (),
        detail: dict[str, Any] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path = path
        self.suggestions = suggestions
        self.detail: dict[str, Any] = dict(detail) if detail else {}
        self.retry_after_s = retry_after_s


class YourError(RetinueError):
    """You asked wrongly; the same request will fail again."""

    code = "invalid_input"


class InvalidInput(YourError):
    """A goal, parameter, option or plan does not fit what was promised."""


class UnknownName(InvalidInput):
    """Nothing is called that. `suggestions` holds what there is, nearest first (K21)."""


class InvalidDefinition(InvalidInput):
    """An agent definition breaks the rules; `detail["findings"]` lists every one."""


class MissingFile(YourError):
    """A file or folder that must be there is not."""

    code = "missing_file"


class ParseError(YourError):
    """Text that must be read cannot be; `detail` holds `line` and `column` (both from 1)."""

    code = "parse_error"


class AccessDenied(YourError):
    """The fence of the workspace, or the operating system, says no."""

    code = "access_denied"


class NotTrusted(AccessDenied):
    """The folder names code to run and its user has not said yes to it."""


class Unauthenticated(YourError):
    """Nobody said who is asking, or the key is wrong."""

    code = "unauthenticated"


class TheirError(RetinueError):
    """The agent or peer failed, or sent nonsense."""

    code = "output_invalid"


class OutputInvalid(TheirError):
    """An answer breaks its own contract; the same question may go better with a correction."""


class NetworkError(TheirError):
    """No answer came."""

    code = "network_error"
    retryable = True


class Unavailable(TheirError):
    """Somebody answered "not now"."""

    code = "unavailable"
    retryable = True


class NotInstalled(Unavailable):
    """A program, a model or an optional part is missing here. Waiting does not bring it."""

    retryable = False


class LimitReached(RetinueError):
    """A bound was hit. What was done so far is kept."""

    code = "budget_exceeded"


class DeadlineExceeded(LimitReached):
    """Out of time. `detail["bound"]` names the bound that won (C21)."""

    code = "timeout"
    retryable = True


class BudgetExceeded(LimitReached):
    """Out of tokens, money, nodes or depth."""


class Canceled(LimitReached):
    """Somebody asked to stop."""

    code = "canceled"


class InternalError(RetinueError):
    """Our own mistake. Please report it with the run's journal."""
