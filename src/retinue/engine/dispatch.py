"""The port between workers and a broker that says which of them goes on with which run.

A message says "go on with run X" and no more: what has happened in the run is in its journal, and its epoch tells who
may write to it. So a message may come twice, and one that is lost is sent again (`Journal.to_send`).
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

Job: TypeAlias = Callable[[str], Awaitable[bool]]
"""Goes on with a run; says whether its message is done with. What is not goes to another worker when this one ends."""


class Dispatch(Protocol):
    """A broker, as a worker of some places sees it."""

    async def open(self, job: Job) -> None:
        """Take messages from now on, and give each run to `job`: so many at once as there is room for.

        When the connection is lost it is made again, and jobs go on meanwhile.

        Raises:
            AccessDenied: The broker does not let us in.
            Unavailable: It cannot be reached.
        """
        ...

    async def send(self, run: str, place: str) -> None:
        """Send a message to the workers of `place`, which must be one of this worker's; it outlives the broker's death.

        Raises:
            Unavailable: The broker is away.
        """
        ...

    async def is_idle(self, place: str) -> bool:
        """Whether no message waits for a worker of `place`.

        Raises:
            Unavailable: The broker is away.
        """
        ...

    async def close(self) -> None:
        """Take no more messages, and give back those that are not done with."""
        ...
