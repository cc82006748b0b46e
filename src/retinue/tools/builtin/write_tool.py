"""`write`: a whole file in one move. A file that is there is replaced only by who has read it."""

from typing import Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput
from retinue.tools.builtin.diff import unified
from retinue.tools.builtin.file_snapshots import FileSnapshots
from retinue.tools.builtin.support import require_workspace, run_in_thread, tool_spec, truncate
from retinue.tools.encoding import decode, is_binary
from retinue.tools.port import ToolContext, ToolOutput
from retinue.tools.workspace import Workspace

_SPEC: Final = tool_spec(
    "write",
    "Writes a whole text file of the workspace, making the folders above it. Use it for a new file, or to replace one "
    "that you have read; to change a part of a file use `edit`. Returns what changed, as a diff.",
    {
        "path": {"type": "string", "description": "The file, relative to the workspace.", "maxLength": 4096},
        "content": {"type": "string", "description": "All that the file shall say, as it shall stand there."},
    },
    required=("path", "content"),
    effects=("write",),
    timeout_s=30.0,
)


class WriteTool:
    """Writes files.

    Args:
        snapshots: What the conversation has read, and where it is noted what was written.
    """

    def __init__(self, snapshots: FileSnapshots) -> None:
        self._snapshots = snapshots

    @property
    def spec(self) -> ToolSpec:
        """What it says of itself."""
        return _SPEC

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Write.

        Raises:
            InvalidInput: The file is there and was not read, or has changed since; the content is too large or no
                Unicode; or something that is no regular file is in the way.
            AccessDenied: It may not be written, is protected, or there is no workspace.
            Unavailable: Somebody else keeps its folder locked.
            DeadlineExceeded: It took too long.
        """
        return await run_in_thread(
            _SPEC, context, self._write, require_workspace(context, _SPEC), arguments, context.output_limit
        )

    def _write(self, workspace: Workspace, arguments: JsonMapping, limit: int) -> ToolOutput:
        path, content = str(arguments["path"]), str(arguments["content"])
        data = _encoded(content, workspace.max_bytes)
        relative = workspace.relative(path)
        previous: list[bytes | None] = []

        def change(before: bytes | None) -> bytes:
            if before is not None and before != data:
                self._check_read(relative, before)
            previous.append(before)
            return data

        workspace.revise(path, change, create=True)
        self._snapshots.record(relative, data)
        before = previous[0]
        text, is_cut = truncate(_change_text(relative, before, content), limit, notice="(The diff goes on.)")
        return ToolOutput(
            text,
            data={
                "path": relative,
                "bytes": len(data),
                "action": "create" if before is None else "edit",
                "changed": before != data,
            },
            truncated=is_cut,
            files_written=() if before == data else (relative,),
        )

    def _check_read(self, path: str, before: bytes) -> None:
        if not self._snapshots.contains(path):
            raise InvalidInput(
                f"{path!r} is there already, and was not read in this conversation",
                hint="read it first, or change only a part of it with `edit`",
                path="/path",
            )
        self._snapshots.check(path, before)


def _encoded(content: str, most: int) -> bytes:
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"the content is not Unicode: character {error.start} is half of a surrogate pair",
            hint="write that character whole",
            path="/content",
        ) from None
    if len(data) > most:
        raise InvalidInput(
            f"the content holds {len(data):,} bytes, more than the cap of {most:,}",
            hint="write several smaller files",
            path="/content",
        )
    return data


def _change_text(path: str, before: bytes | None, content: str) -> str:
    size = len(content.encode())
    if before is None:
        lines = content.count("\n") + bool(content and not content.endswith("\n"))
        return f"`{path}` is new: {lines:,} lines, {size:,} bytes."
    if before == content.encode():
        return f"`{path}` said just that already; nothing was written."
    if is_binary(before):
        return f"`{path}`, a binary file, is now a text of {size:,} bytes."
    return unified(path, decode(before).text, content).removesuffix("\n")
