"""Cancellations that an agent's own `asyncio.TaskGroup` leaves standing, told from those that come from outside.

A group whose child failed cancels the task that waits for it, and does not always take that back (Python 3.11 does not
when the failure comes while the group is being left). Whoever catches the group's error goes on in good health, with a
mark on the task that says somebody wants it to stop. Nobody does.
"""

import asyncio
from typing import Any, Final

__all__ = ["Groups"]

_LEAVING: Final = asyncio.TaskGroup.__aexit__.__code__


class Groups:
    """The task groups of one piece of foreign code that have cancelled its task.

    Args:
        awaitable: The code.
        task: The task it runs in.
    """

    __slots__ = ("_awaitable", "_noted", "_task")

    def __init__(self, awaitable: object, task: "asyncio.Task[Any]") -> None:
        self._awaitable = awaitable
        self._task = task
        self._noted: list[tuple[object, int]] = []

    def note(self) -> None:
        """A cancellation has arrived: remember the group that it comes from, if it comes from one."""
        noted = [group for group, _ in self._noted]
        for group in self._left():
            # There is no public way to ask a group; a newer Python without these has no need of it either.
            failed = getattr(group, "_parent_cancel_requested", False) and getattr(group, "_errors", None)
            if failed and not any(group is each for each in noted):
                self._noted.append((group, self._task.cancelling()))

    def take_back(self) -> None:
        """Take back what a group has left standing that is through by now."""
        if not self._noted:
            return
        leaving = self._left()
        for noted in self._noted[:]:
            group, count = noted
            if not any(group is each for each in leaving):
                self._noted.remove(noted)
                if self._task.cancelling() >= count:
                    self._task.uncancel()

    def _left(self) -> list[object]:
        """The groups that the code is leaving right now, outermost first."""
        found: list[object] = []
        at: Any = self._awaitable
        while at is not None:
            frame = getattr(at, "cr_frame", None)
            if frame is not None and frame.f_code is _LEAVING:
                found.append(frame.f_locals.get("self"))
            at = getattr(at, "cr_await", None) or getattr(at, "gi_yieldfrom", None)
        return found
