"""`write`: a whole file in one move, only over one that was read; `edit`: exact replacements, all or none."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final, TypeAlias

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput
from retinue.tools.builtin.replace import Replacement, apply_replacements
from retinue.tools.builtin.support import SnapshotTool, truncate
from retinue.tools.encoding import decode, encode, is_binary
from retinue.tools.port import ToolOutput, tool_spec
from retinue.tools.workspace import Workspace

_WRITE: Final = tool_spec(
    "write",
    "Writes a whole text file of the workspace, making the folders above it. Use it for a new file, or to replace one "
    "that you have read; to change a part of a file use `edit`. Returns what changed, as a diff.",
    {
        "path": {"type": "string", "description": "The file, relative to the workspace.", "maxLength": 4096},
        "content": {"type": "string", "description": "The whole new content of the file."},
    },
    required=("path", "content"),
    effects=("write",),
    timeout_s=30.0,
    idempotent=True,  # a file that it had not seen before is not replaced
)


class WriteTool(SnapshotTool):
    """Writes files."""

    spec: ToolSpec = _WRITE

    def work(self, workspace: Workspace, arguments: JsonMapping, limit: int) -> ToolOutput:
        """Write a file."""
        path, content = str(arguments["path"]), str(arguments["content"])
        try:
            data = content.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"the content is not Unicode: character {error.start} is half of a surrogate pair",
                hint="write that character whole",
                path="/content",
            ) from None
        if len(data) > workspace.max_bytes:
            raise InvalidInput(
                f"the content holds {len(data):,} bytes, more than the cap of {workspace.max_bytes:,}",
                hint="write several smaller files",
                path="/content",
            )
        relative = workspace.relative(path)
        previous: list[bytes | None] = []

        def change(before: bytes | None) -> bytes:
            if before is not None and before != data:
                if not self._snapshots.contains(relative):
                    raise InvalidInput(
                        f"{relative!r} is there already, and was not read in this conversation",
                        hint="read it first, or change only a part of it with `edit`",
                        path="/path",
                    )
                self._snapshots.check(relative, before)
            previous.append(before)
            return data

        workspace.revise(path, change, create=True)
        self._snapshots.record(relative, data)
        before = previous[0]
        if before is None:
            lines = content.count("\n") + bool(content and not content.endswith("\n"))
            text = f"`{relative}` is new: {lines:,} lines, {len(data):,} bytes."
        elif before == data:
            text = f"`{relative}` already has this content; nothing was written."
        elif is_binary(before):
            text = f"`{relative}`, a binary file, is now a text of {len(data):,} bytes."
        else:
            text = unified(relative, decode(before).text, content).removesuffix("\n")
        text, is_cut = truncate(text, limit, notice="(The diff is longer.)")
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


_EDIT: Final = tool_spec(
    "edit",
    "Changes parts of a text file of the workspace. Use it once you know exactly what the file says. Each `old` must "
    "stand in the file exactly once, white space and all, or nothing is changed; edits are done one after the other. "
    "Returns what changed, as a diff.",
    {
        "path": {"type": "string", "description": "The file, relative to the workspace.", "maxLength": 4096},
        "edits": {
            "type": "array",
            "description": "What to replace.",
            "minItems": 1,
            "maxItems": 100,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["old", "new"],
                "properties": {
                    "old": {
                        "type": "string",
                        "minLength": 1,
                        "description": "What stands there now, without line numbers.",
                    },
                    "new": {"type": "string", "description": "The new text; empty to delete."},
                    "replace_all": {
                        "type": "boolean",
                        "default": False,
                        "description": "Replace it everywhere, however often it stands there.",
                    },
                },
            },
        },
    },
    required=("path", "edits"),
    effects=("read", "write"),
    timeout_s=30.0,
)


class EditTool(SnapshotTool):
    """Edits files."""

    spec: ToolSpec = _EDIT

    def work(self, workspace: Workspace, arguments: JsonMapping, limit: int) -> ToolOutput:
        """Edit a file."""
        path = str(arguments["path"])
        relative = workspace.relative(path)
        replacements = [
            Replacement(str(item["old"]), str(item["new"]), everywhere=bool(item.get("replace_all", False)))
            for item in arguments["edits"]
        ]
        outcomes: list[tuple[str, str, bytes]] = []

        def change(before: bytes | None) -> bytes:
            data = before or b""  # there is one: it may not be new
            self._snapshots.check(relative, data)
            if is_binary(data):
                raise InvalidInput(f"{relative!r} is a binary file", hint="only text can be edited", path="/path")
            decoded = decode(data)
            now = apply_replacements(decoded.text, replacements)
            try:
                after = encode(now, data)
            except UnicodeEncodeError as error:
                character = now[error.start : error.start + 1]
                raise InvalidInput(
                    f"{character!r} cannot be written in this file, which is in {decoded.encoding}",
                    hint="write it with characters of that encoding, or convert the file to UTF-8 first",
                    path="/edits",
                ) from None
            if len(after) > workspace.max_bytes:
                raise InvalidInput(f"{relative!r} would grow over {workspace.max_bytes:,} bytes", hint="split the file")
            outcomes.append((decoded.text, now, after))
            return after

        workspace.revise(path, change)
        before, now, after = outcomes[0]
        self._snapshots.record(relative, after)
        diff, is_cut = truncate(unified(relative, before, now), limit, notice="(The diff is longer.)")
        return ToolOutput(
            diff.removesuffix("\n"),
            origin=f"file {relative}",
            data={"path": relative, "edits": len(replacements), "action": "edit"},
            truncated=is_cut,
            files_read=(relative,),
            files_written=(relative,),
        )


_CONTEXT: Final = 3
_COMPARED: Final = 4000
_Block: TypeAlias = tuple[int, int, int, int]
"""Lines `i:j` of the old text became lines `k:l` of the new."""


def unified(path: str, before: str | None, after: str) -> str:
    """The change of the file `path`; with `before` None it is new. Empty when nothing changed."""
    if before == after:
        return ""
    old, new = _lines(before or ""), _lines(after)
    label = f"{path}\t" if " " in path else path  # a tab ends a name that has spaces, for `patch`
    rows = ["--- /dev/null\n" if before is None else f"--- a/{label}\n", f"+++ b/{label}\n"]
    # Only what lies between the lines that both begin and end with is compared: comparing takes square time.
    first, most = 0, min(len(old), len(new))
    while first < most and old[first] == new[first]:
        first += 1
    tail = 0
    while tail < most - first and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    inner_old, inner_new = old[first : len(old) - tail], new[first : len(new) - tail]
    if max(len(inner_old), len(inner_new)) > _COMPARED:
        blocks: list[_Block] = [(first, first + len(inner_old), first, first + len(inner_new))]
    else:
        codes = SequenceMatcher(None, inner_old, inner_new).get_opcodes()
        blocks = [(first + i, first + j, first + k, first + m) for word, i, j, k, m in codes if word != "equal"]
    # A hunk begins where more lines lie between two changes than both of them show around themselves.
    starts = [at for at, block in enumerate(blocks) if not at or block[0] - blocks[at - 1][1] > 2 * _CONTEXT]
    for start, end in pairwise([*starts, len(blocks)]):
        group = blocks[start:end]
        lead, trail = min(_CONTEXT, group[0][0]), min(_CONTEXT, len(old) - group[-1][1])
        at, to_old = group[0][0] - lead, group[-1][1] + trail
        rows.append(f"@@ -{_range(at, to_old)} +{_range(group[0][2] - lead, group[-1][3] + trail)} @@\n")
        for i, j, k, m in group:
            rows += (*_marked(" ", old[at:i]), *_marked("-", old[i:j]), *_marked("+", new[k:m]))
            at = j
        rows += _marked(" ", old[at:to_old])
    return "".join(rows)


def _lines(text: str) -> list[str]:
    """Lines with their ends; `str.splitlines` would also split at form feeds and their like."""
    pieces = text.split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _range(start: int, end: int) -> str:
    length = end - start
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
