"""`read`: the lines of a text file, numbered. Binary files and images are refused by name, never shown as noise."""

from typing import Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput, RetinueError
from retinue.tools import files, paths
from retinue.tools.encoding import is_binary
from retinue.tools.hands.calling import fence, in_time, told
from retinue.tools.hands.seen import Seen
from retinue.tools.port import Grip, ToolOutput
from retinue.tools.workspace import Workspace

__all__ = ["Read"]

_LONGEST_LINE: Final = 2000
_MOST_LINES: Final = 2000

_SPEC: Final = told(
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


class Read:
    """Reads files.

    Args:
        seen: Where it is noted what was read.
    """

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    @property
    def spec(self) -> ToolSpec:
        """What it says of itself."""
        return _SPEC

    async def use(self, arguments: JsonMapping, grip: Grip, /) -> ToolOutput:
        """Read.

        Raises:
            InvalidInput: The range is none, or the file is binary, an image or no regular file.
            AccessDenied: It may not be read, or there is no workspace.
            MissingFile: It is not there.
            DeadlineExceeded: It took too long.
        """
        return await in_time(_SPEC, grip, self._read, fence(grip, _SPEC), arguments, grip.output_limit)

    def _read(self, workspace: Workspace, arguments: JsonMapping, limit: int) -> ToolOutput:
        path, first = str(arguments["path"]), int(arguments.get("first_line", 1))
        # Noted before it is read: what changes in between is then refused once too often, never overwritten.
        self._note(workspace, path)
        found = files.read(
            workspace,
            path,
            first_line=first,
            last_line=arguments.get("last_line"),
            max_lines=_MOST_LINES,
            max_bytes=max(4 * limit, 1),
        )
        rows = _numbered(found, limit)
        last = first + len(rows) - 1
        is_cut = found.truncated or last < found.last_line
        notes = [_ending(found, last)] if is_cut or not rows else []
        if not found.certain:
            notes.append("(This is not UTF-8; it was read as Latin-1.)")
        return ToolOutput(
            text="\n".join([*rows, *notes]),
            origin=f"file {found.path}",
            data={
                "path": found.path,
                "first_line": first,
                "last_line": last,
                "encoding": found.encoding,
                **({} if found.total_lines is None else {"total_lines": found.total_lines}),
            },
            truncated=is_cut,
            files_read=(found.path,),
        )

    def _note(self, workspace: Workspace, path: str) -> None:
        relative = workspace.relative(path)
        try:
            data = workspace.read_bytes(path)
        except InvalidInput:
            return  # too large to be read whole, and so to be edited
        if is_binary(data):
            raise _no_text(relative)
        self._seen.note(relative, data)


def _no_text(path: str) -> RetinueError:
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


def _numbered(found: files.FileText, limit: int) -> list[str]:
    """The lines with their numbers, as many as fit."""
    rows: list[str] = []
    left = limit
    if found.last_line < found.first_line:
        return rows
    for number, line in enumerate(found.text.split("\n"), found.first_line):
        shown = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… ({len(line):,} characters)"
        row = f"{number:>6}\t{shown}"
        left -= len(row) + 1
        if left < 0 and rows:
            break
        rows.append(row)
    return rows


def _ending(found: files.FileText, last: int) -> str:
    total = "" if found.total_lines is None else f" of {found.total_lines:,}"
    if found.size == 0:
        return "(The file is empty.)"
    if last < found.first_line:
        return f"(There is no line {found.first_line:,}; the file ends before it.)"
    return f"(Line {last:,}{total}. To go on, read with `first_line` {last + 1}.)"
