"""What these tools share: the form of their schemas, the workspace they need, and work that ends in time."""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from time import time_ns
from typing import Final, ParamSpec, TypeVar

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import AccessDenied, DeadlineExceeded, InvalidInput
from retinue.tools.port import ToolContext, ToolOutput
from retinue.tools.workspace import Workspace

P = ParamSpec("P")
T = TypeVar("T")

_SECOND: Final = 1_000_000_000


def require_workspace(context: ToolContext, spec: ToolSpec) -> Workspace:
    """The workspace of a call."""
    if context.workspace is None:
        raise AccessDenied(
            f"`{spec.name}` needs a workspace, and this run has none", hint="start the run in a folder, or do without"
        )
    return context.workspace


def seconds_left(spec: ToolSpec, context: ToolContext, *, requested_s: float | None = None) -> float:
    """How long a call may take: the least of the tool's limit, what was asked for, and the time until the deadline."""
    remaining = spec.timeout_s if requested_s is None else min(requested_s, spec.timeout_s)
    if context.deadline_ns is not None:
        remaining = min(remaining, (context.deadline_ns - time_ns()) / _SECOND)
    if remaining <= 0:
        raise DeadlineExceeded(
            f"no time is left for `{spec.name}`", hint="answer with what is known", detail={"bound": "deadline"}
        )
    return remaining


async def run_in_thread(
    spec: ToolSpec, context: ToolContext, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Do blocking `work` in a thread, and wait for it no longer than the call may take."""
    seconds = seconds_left(spec, context)
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.to_thread(work, *args, **kwargs)
    except TimeoutError:
        raise DeadlineExceeded(
            f"`{spec.name}` took longer than {seconds:.3g} seconds",
            hint="ask for less at once",
            detail={"bound": "tool"},
        ) from None


def truncate(text: str, limit: int, *, notice: str) -> tuple[str, bool]:
    """As many whole lines of `text` as fit into `limit` characters, with `notice` said below when some are missing."""
    if len(text) <= limit:
        return text, False
    room = max(limit - len(notice) - 1, 0)
    end = text.rfind("\n", 0, room + 1)
    return f"{text[: end if end > 0 else room]}\n{notice}", True


class FileSnapshots:
    """The content, as a hash, that each file had when it was last read or written here. Threads may share it."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}

    def record(self, path: str, data: bytes) -> None:
        """Remember that `path` (relative, resolved) holds `data`."""
        self._digests[path] = sha256(data).digest()

    def contains(self, path: str) -> bool:
        """Whether the file was read or written here."""
        return path in self._digests

    def check(self, path: str, data: bytes) -> None:
        """Make sure that a file that was read still holds the same.

        Raises:
            InvalidInput: It has changed since.
        """
        if self._digests.get(path, digest := sha256(data).digest()) != digest:
            hint = "read the file again, then repeat the change with what it says now"
            raise InvalidInput(f"{path!r} has changed since it was read", hint=hint, path="/path")


class SnapshotTool:
    """What the tools that read and write whole files share.

    Args:
        snapshots: What the conversation has read and written.
    """

    spec: ToolSpec

    def __init__(self, snapshots: FileSnapshots) -> None:
        self._snapshots = snapshots

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Do it, in a thread."""
        workspace = require_workspace(context, self.spec)
        return await run_in_thread(self.spec, context, self.work, workspace, arguments, context.output_limit)

    def work(self, workspace: Workspace, arguments: JsonMapping, limit: int) -> ToolOutput:
        """Do it, and give at most `limit` characters."""
        raise NotImplementedError
