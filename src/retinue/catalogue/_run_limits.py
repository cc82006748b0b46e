"""What a run allows its agent: the time that is left, and the tools that it may use.

A thread cannot be interrupted, so work in one checks the deadline between its pieces. The deadline ends a little before
the time is up: what was found so far must still be put together and returned.

A tool is allowed by the rules of the run, or because a person says so. What stays denied is an error.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final, ParamSpec, TypeVar

from retinue.agents.grants import PermissionSubject
from retinue.agents.port import RunContext
from retinue.contract.definition import ToolSpec
from retinue.contract.task import Question
from retinue.engine.blocking import in_thread
from retinue.errors import AccessDenied, Canceled, DeadlineExceeded


async def ensure_allowed(
    run: RunContext,
    spec: ToolSpec,
    subjects: Sequence[PermissionSubject],
    action: str,
    *,
    agent: str,
    skill: str | None,
    key: str,
) -> None:
    """See that a tool may be used on all that `subjects` names; a person is asked once for all of them.

    Args:
        run: Knows the rules, and asks.
        spec: The tool.
        subjects: What it would be used on.
        action: The same for a person, whole, as in "May `agent` … ?".
        agent: Who wants it.
        skill: For which of its skills.
        key: Tells this question from others: an agent that waited for an answer runs anew and asks the same again.

    Raises:
        AccessDenied: It may not.
    """
    verdict = run.grants.verdict(spec, *subjects)
    if verdict.word == "deny":
        raise AccessDenied(f"It may not {action}: {verdict.reason}.", hint="Ask for it without, or change the rules.")
    if verdict.word == "allow":
        return
    identity = chr(0).join((agent, key, spec.name, *(each.real for each in subjects)))
    question = Question(
        id=f"approve_{sha256(identity.encode(errors='replace')).hexdigest()[:16]}",
        text=f"May `{agent}` {action}?",
        kind="approval",
        agent=agent,
        skill=skill,
    )
    answer = await run.ask(question)
    if answer is None or answer.value is not True:
        raise AccessDenied(
            f"It may not {action}: it was not approved.", hint="Approve it, or add a rule that allows it."
        )


P = ParamSpec("P")
T = TypeVar("T")

_SECOND: Final = 1_000_000_000
_RESERVE_SHARE: Final = 0.1
_MAX_RESERVE_NS: Final = 2 * _SECOND


class RunDeadline:
    """Says when to stop.

    Args:
        run: Whose clock and deadline count.
        seconds: A bound of the agent's own, from now.
    """

    def __init__(self, run: RunContext, *, seconds: float | None = None) -> None:
        self._now = run.now
        self._stopped = False
        now = run.now()
        bounds = [] if seconds is None else [now + int(seconds * _SECOND)]
        if run.deadline_ns is not None:
            reserve = min(int(max(run.deadline_ns - now, 0) * _RESERVE_SHARE), _MAX_RESERVE_NS)
            bounds.append(run.deadline_ns - reserve)
        self._end = min(bounds, default=None)

    def stop(self) -> None:
        """Stop at the next check: the result is no longer waited for."""
        self._stopped = True

    def remaining_s(self) -> float | None:
        """Seconds left, none below 0; None when nothing bounds them."""
        return None if self._end is None else max(self._end - self._now(), 0) / _SECOND

    def check(self) -> None:
        """Raise if the time is up or the work was stopped.

        Raises:
            DeadlineExceeded: Time is up, or nearly.
            Canceled: The result is no longer waited for.
        """
        if self._stopped:
            raise Canceled("The work was stopped.")
        if self._end is not None and self._now() >= self._end:
            raise DeadlineExceeded("Time was up.", hint="Allow more time, or ask for less.", detail={"bound": "agent"})


async def in_cancellable_thread(
    deadline: RunDeadline, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run `function`, which checks `deadline`, in a thread; when the caller is cancelled the thread soon ends too."""
    try:
        return await in_thread(function, *args, **kwargs)
    finally:
        deadline.stop()
