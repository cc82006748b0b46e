"""What these tools share: texts that are cut, and the files that a conversation has read."""

from hashlib import sha256

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput
from retinue.tools.port import ToolContext, ToolOutput, require_workspace, run_in_thread
from retinue.tools.workspace import Workspace


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
