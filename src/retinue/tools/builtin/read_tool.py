"""`read`: the lines of a text file, numbered. Binary files and images are refused by name, never shown as noise."""

from contextlib import suppress
from typing import Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput
from retinue.tools import file_text, paths
from retinue.tools.builtin.support import FileSnapshots, require_workspace, run_in_thread
from retinue.tools.encoding import is_binary
from retinue.tools.port import ToolContext, ToolOutput, tool_spec
from retinue.tools.workspace import Workspace

_LONGEST_LINE: Final = 2000
_MOST_LINES: Final = 2000

_SPEC: Final = tool_spec(
    "read",
    "Reads a text file of the workspace. Use it before you change a file, and when a search has named one. Returns its "
    "lines, each with its number and a tab before it; a long file is cut, and the end says how to go on.",
    {
        "path": {"type": "string", "description": "The file, relative to the workspace.", "maxLength": 4096},
        "first_line": {"type": "integer", "minimum": 1, "default": 1, "description": "Where to begin, from 1."},
        "last_line": {"type": "integer", "minimum": 1, "description": "Where to end, included; absent: the end."},
    },
    required=("path",),
    effects=("read",),
    timeout_s=30.0,
)


class ReadTool:
    """Reads files.

    Args:
        snapshots: Records what was read.
    """

    spec: ToolSpec = _SPEC

    def __init__(self, snapshots: FileSnapshots) -> None:
        self._snapshots = snapshots

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Read a file."""
        return await run_in_thread(
            _SPEC, context, self._read, require_workspace(context, _SPEC), arguments, context.output_limit
        )

    def _read(self, workspace: Workspace, arguments: JsonMapping, limit: int) -> ToolOutput:
        path, first = str(arguments["path"]), int(arguments.get("first_line", 1))
        relative, binary_type = workspace.relative(path), ""
        # Recorded before it is read: what changes in between is then refused once too often, never overwritten.
        with suppress(InvalidInput):  # one that is too large to be read whole cannot be edited either
            data = workspace.read_bytes(path)
            if is_binary(data):
                binary_type = paths.media_type(relative, is_text=False)
            else:
                self._snapshots.record(relative, data)
        if binary_type:
            what = "an image" if binary_type.startswith("image/") else "a binary file"
            raise InvalidInput(
                f"{relative!r} is {what} ({binary_type}), and only text can be read here",
                hint="read its source, or a text that describes it",
                path="/path",
            )
        content = file_text.read(
            workspace,
            path,
            first_line=first,
            last_line=arguments.get("last_line"),
            max_lines=_MOST_LINES,
            max_bytes=max(4 * limit, 1),
        )
        rows: list[str] = []
        room = limit
        for number, line in enumerate(content.text.split("\n") if content.last_line >= first else (), first):
            text = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… ({len(line):,} characters)"
            rows.append(f"{number:>6}\t{text}")
            room -= len(rows[-1]) + 1
            if room < 0 and len(rows) > 1:
                rows.pop()
                break
        last = first + len(rows) - 1
        is_cut = content.truncated or last < content.last_line
        notes: list[str] = []
        if content.size == 0:
            notes.append("(The file is empty.)")
        elif not rows:
            notes.append(f"(There is no line {first:,}; the file ends before it.)")
        elif is_cut:
            total = "" if content.total_lines is None else f" of {content.total_lines:,}"
            notes.append(f"(Line {last:,}{total}. To go on, read with `first_line` {last + 1}.)")
        if not content.certain:
            notes.append("(This is not UTF-8; it was read as Latin-1.)")
        return ToolOutput(
            text="\n".join([*rows, *notes]),
            origin=f"file {content.path}",
            data={
                "path": content.path,
                "first_line": first,
                "last_line": last,
                "encoding": content.encoding,
                **({} if content.total_lines is None else {"total_lines": content.total_lines}),
            },
            truncated=is_cut,
            files_read=(content.path,),
        )
