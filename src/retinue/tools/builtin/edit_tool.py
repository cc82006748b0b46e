"""`edit`: exact replacements in one file, all or none, in one move."""

from typing import Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput
from retinue.tools.builtin.diff import unified
from retinue.tools.builtin.file_snapshots import FileSnapshots
from retinue.tools.builtin.replace import Replacement, apply_replacements
from retinue.tools.builtin.support import require_workspace, run_in_thread, tool_spec, truncate
from retinue.tools.encoding import DecodedText, decode, encode, is_binary
from retinue.tools.port import ToolContext, ToolOutput
from retinue.tools.workspace import Workspace

_SPEC: Final = tool_spec(
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
                    "new": {"type": "string", "description": "What shall stand there; empty to delete."},
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


class EditTool:
    """Edits files.

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
        """Edit.

        Raises:
            InvalidInput: An old text does not stand there, or not only once (`detail["findings"]`); the file changed
                since it was read, or is no text; or a character has no place in its encoding.
            AccessDenied: It may not be read and written, is protected, or there is no workspace.
            MissingFile: It is not there.
            Unavailable: Somebody else keeps its folder locked.
            DeadlineExceeded: It took too long.
        """
        return await run_in_thread(
            _SPEC, context, self._edit, require_workspace(context, _SPEC), arguments, context.output_limit
        )

    def _edit(self, workspace: Workspace, arguments: JsonMapping, limit: int) -> ToolOutput:
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
            decoded = _text(relative, data)
            now = apply_replacements(decoded.text, replacements)
            after = _encoded(now, data, decoded)
            if len(after) > workspace.max_bytes:
                raise InvalidInput(f"{relative!r} would grow over {workspace.max_bytes:,} bytes", hint="split the file")
            outcomes.append((decoded.text, now, after))
            return after

        workspace.revise(path, change)
        before, now, after = outcomes[0]
        self._snapshots.record(relative, after)
        diff, is_cut = truncate(unified(relative, before, now), limit, notice="(The diff goes on.)")
        return ToolOutput(
            diff.removesuffix("\n"),
            origin=f"file {relative}",
            data={"path": relative, "edits": len(replacements), "action": "edit"},
            truncated=is_cut,
            files_read=(relative,),
            files_written=(relative,),
        )


def _text(path: str, data: bytes) -> DecodedText:
    if is_binary(data):
        raise InvalidInput(f"{path!r} is a binary file", hint="only text can be edited", path="/path")
    return decode(data)


def _encoded(text: str, before: bytes, read: DecodedText) -> bytes:
    try:
        return encode(text, before)
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{text[error.start : error.start + 1]!r} cannot be written in this file, which is in {read.encoding}",
            hint="write it with characters of that encoding, or convert the file to UTF-8 first",
            path="/edits",
        ) from None
