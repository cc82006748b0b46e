"""One call in a context of its own: what it leaves in context variables, no other call sees.

Agents keep the traces of a call in a context variable, as spec 001's do. Calls of one task, one after another, would
else share it. A task of its own would do too, but could not be closed when it refuses to end.
"""

from collections.abc import Awaitable, Generator
from contextvars import copy_context
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@coroutine
def in_context_copy(call: Awaitable[T]) -> Generator[Any, None, T]:
    """Await `call` in a copy of the caller's context."""
    context, steps = copy_context(), call.__await__()
    error: BaseException | None = None
    while True:
        try:
            future = context.run(steps.send, None) if error is None else context.run(steps.throw, error)
        except StopIteration as end:
            return end.value
        try:
            yield future
            error = None
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as raised:  # noqa: BLE001 - for the call to answer, a cancellation too
            error = raised
