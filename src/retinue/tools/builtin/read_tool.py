"""`read`: the lines of a text file, numbered. Binary files and images are refused by name, never shown as noise."""

from typing import Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput, RetinueError
from retinue.tools import file_text, paths
from retinue.tools.builtin.support import FileSnapshots, require_workspace, run_in_thread, tool_spec
from retinue.tools.encoding import is_binary
from retinue.tools.port import ToolContext, ToolOutput
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
        snapshots: Where it is noted what was read.
    """

    def __init__(self, snapshots: FileSnapshots) -> None:
        self._snapshots = snapshots

    @property
    def spec(self) -> ToolSpec:
        """What it says of itself."""
        return _SPEC

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Read.

        Raises:
            InvalidInput: The range is none, or the file is binary, an image or no regular file.
            AccessDenied: It may not be read, or there is no workspace.
            MissingFile: It is not there.
            DeadlineExceeded: It took too long.
        """
        return await run_in_thread(
            _SPEC, context, self._read, require_workspace(context, _SPEC), arguments, context.output_limit
        )

    def _read(self, workspace: Workspace, arguments: JsonMapping, limit: int) -> ToolOutput:
        path, first = str(arguments["path"]), int(arguments.get("first_line", 1))
        # Noted before it is read: what changes in between is then refused once too often, never overwritten.
        self._note(workspace, path)
        content = file_text.read(
            workspace,
            path,
            first_line=first,
            last_line=arguments.get("last_line"),
            max_lines=_MOST_LINES,
            max_bytes=max(4 * limit, 1),
        )
        rows = _numbered_rows(content, limit)
        last = first + len(rows) - 1
        is_cut = content.truncated or last < content.last_line
        notes = [_end_notice(content, last)] if is_cut or not rows else []
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

    def _note(self, workspace: Workspace, path: str) -> None:
        relative = workspace.relative(path)
        try:
            data = workspace.read_bytes(path)
        except InvalidInput:
            return  # too large to be read whole, and so to be edited
        if is_binary(data):
            raise _not_text_error(relative)
        self._snapshots.record(relative, data)


def _not_text_error(path: str) -> RetinueError:
    kind = paths.media_type(path, is_text=False)
    if kind.startswith("image/"):
        return InvalidInput(
            f"{path!r} is an image ({kind}), and only text can be read here",
            hint="look for a text that describes it, or ask somebody who can see it",
            path="/path",
        )
    return InvalidInput(
        f"{path!r} is a binary file ({kind}), and only text can be read", hint="read its source instead", path="/path"
    )


def _numbered_rows(content: file_text.FileText, limit: int) -> list[str]:
    """The lines with their numbers, as many as fit."""
    rows: list[str] = []
    room = limit
    if content.last_line < content.first_line:
        return rows
    for number, line in enumerate(content.text.split("\n"), content.first_line):
        text = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… ({len(line):,} characters)"
        row = f"{number:>6}\t{text}"
        room -= len(row) + 1
        if room < 0 and rows:
            break
        rows.append(row)
    return rows


def _end_notice(content: file_text.FileText, last: int) -> str:
    total = "" if content.total_lines is None else f" of {content.total_lines:,}"
    if content.size == 0:
        return "(The file is empty.)"
    if last < content.first_line:
        return f"(There is no line {content.first_line:,}; the file ends before it.)"
    return f"(Line {last:,}{total}. To go on, read with `first_line` {last + 1}.)"
