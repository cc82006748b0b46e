"""`read`: the lines of a text file, numbered. Binary files and images are refused by name, never shown as noise."""

import codecs
from contextlib import suppress
from dataclasses import dataclass
from os import fstat
from typing import BinaryIO, Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput
from retinue.tools import paths
from retinue.tools.builtin.support import SnapshotTool
from retinue.tools.encoding import decode, encoding_of, is_binary
from retinue.tools.port import ToolOutput, tool_spec
from retinue.tools.workspace import PathLike, Workspace

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


class ReadTool(SnapshotTool):
    """Reads files."""

    spec: ToolSpec = _SPEC

    def work(self, workspace: Workspace, arguments: JsonMapping, limit: int) -> ToolOutput:
        """Read a file."""
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
        content = read_lines(
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


_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class FileText:
    """Lines of a file.

    Attributes:
        path: The file, relative to the workspace.
        text: The lines, joined by LF.
        first_line: The number of the first of them, from 1.
        last_line: The number of the last; `first_line - 1` when there are none.
        total_lines: How many the file has; None when it was not read to its end.
        size: The bytes of the whole file.
        encoding: How it was decoded.
        certain: False when the encoding was a last resort (Latin-1).
        truncated: Whether lines that were asked for are missing because of a cap.
    """

    path: str
    text: str
    first_line: int
    last_line: int
    total_lines: int | None
    size: int
    encoding: str
    certain: bool
    truncated: bool


def read_lines(
    workspace: Workspace,
    path: PathLike,
    *,
    first_line: int = 1,
    last_line: int | None = None,
    max_lines: int = 2000,
    max_bytes: int = 256 * 1024,
) -> FileText:
    """Read the lines `first_line` to `last_line` (both included) of a text file.

    At most `max_lines` and about `max_bytes` are given; the memory it needs does not grow with the file. A file larger
    than the workspace's cap must be asked for by `last_line`.

    Raises:
        InvalidInput: The range is not valid; or the file is binary, too large to read whole, or not a regular file.
        AccessDenied: It may not be read.
        MissingFile: It is not there.
    """
    if first_line < 1 or (last_line is not None and last_line < first_line - 1):
        raise InvalidInput(f"lines {first_line!r} to {last_line!r} are not a range", hint="count lines from 1")
    relative = workspace.relative(path)
    with workspace.open(path) as file:
        size = fstat(file.fileno()).st_size
        head = file.read(8192)
        if is_binary(head):
            raise InvalidInput(f"{relative!r} is a binary file", hint="only text can be read")
        file.seek(0)
        if size <= workspace.max_bytes:
            decoded = decode(workspace.read_bytes(path))
            rows = decoded.text.split("\n")
            if not rows[-1]:
                rows.pop()
            selection = [row.removesuffix("\r") for row in rows[first_line - 1 : last_line]]
            total, encoding, certain, is_truncated = len(rows), decoded.encoding, decoded.certain, False
        elif last_line is None or encoding_of(head) not in (None, "utf-8-sig"):
            raise InvalidInput(
                f"{relative!r} holds {size} bytes, more than the cap of {workspace.max_bytes}",
                hint="ask for a range of lines with `first_line` and `last_line`",
                detail={"size": size, "max_bytes": workspace.max_bytes},
            )
        else:
            total = None
            selection, encoding, certain, is_truncated = _select_from_file(file, first_line, last_line, max_bytes)
    lines, remaining = selection[:max_lines], max_bytes
    for count, line in enumerate(lines):
        remaining -= len(line.encode("utf-8", "surrogatepass")) + 1
        if remaining < -1:  # of a first line that is too long by itself, its beginning
            lines = lines[:count] or [line[:max_bytes]]
            break
    return FileText(
        path=relative,
        text="\n".join(lines),
        first_line=first_line,
        last_line=first_line + len(lines) - 1,
        total_lines=total,
        size=size,
        encoding=encoding,
        certain=certain,
        truncated=is_truncated or lines != selection,
    )


def _select_from_file(file: BinaryIO, first: int, last: int, max_bytes: int) -> tuple[list[str], str, bool, bool]:
    """Lines `first` to `last` of a file that is not held in memory: only their bytes are kept.

    Gives them with their encoding, whether that is certain, and whether some are missing.
    """
    buffer = bytearray()
    line, has_lines, at_end = 1, False, False
    while line <= last and len(buffer) <= max_bytes:
        chunk = file.read(_CHUNK)
        if not chunk:
            at_end = True
            break
        breaks = chunk.count(b"\n")
        if line + breaks >= first:
            has_lines = True
            pieces = chunk.split(b"\n")
            buffer += b"\n".join(pieces[max(0, first - line) : last - line + 1])
            # A line that ends inside this chunk, with more of the range to come in the next one, keeps its break
            # through the empty piece after it; the end of the range has none.
        line += breaks
    is_truncated = len(buffer) > max_bytes
    data, encoding = bytes(buffer[:max_bytes]), "utf-8"
    try:  # the bytes may stop in the middle of a character
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(data)
    except UnicodeDecodeError:
        text, encoding = data.decode("latin-1"), "latin-1"
    lines = [row.removesuffix("\r") for row in text.split("\n")] if has_lines else []
    if at_end and lines and not lines[-1]:
        lines.pop()
    return lines, encoding, encoding == "utf-8", is_truncated
