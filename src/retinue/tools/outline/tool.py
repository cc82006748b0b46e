"""Outlines as a tool for a model."""

import asyncio
from typing import Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import AccessDenied
from retinue.tools.port import ToolContext, ToolOutput
from retinue.tools.workspace import Workspace

from .builder import FileOutline, OutlineItem, outline
from .grammars import language_for

_SPEC: Final = ToolSpec(
    name="outline",
    description=(
        "Lists what a source file defines (Python, JavaScript, TypeScript, Rust, Go): classes, functions and methods "
        "with their signature, first line of documentation and line range. Cheaper than reading the file."
    ),
    input_schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["file_path"],
        "properties": {"file_path": {"type": "string", "minLength": 1, "description": "Relative to the workspace."}},
    },
    effects=("read",),
    timeout_s=30.0,
)


class OutlineTool:
    """What a file defines, as text."""

    @property
    def spec(self) -> ToolSpec:
        """What it says of itself."""
        return _SPEC

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Outline one file.

        Raises:
            AccessDenied: There is no workspace, or the file lies outside.
            InvalidInput: The file is binary, too large, or in a language without a grammar.
            MissingFile: It is not there.
            NotInstalled: The grammar is not here.
        """
        if context.workspace is None:
            raise AccessDenied("There is no workspace to read code in.", hint="Start the run in a folder.")
        path = context.workspace.relative(str(arguments["file_path"]))
        result = await asyncio.to_thread(outline_of, context.workspace, path)
        lines = [f"note: {note}" for note in result.notes] + [_format_item(item) for item in result.items]
        text, count = "", 0
        for line in lines:
            if len(text) + len(line) > context.output_limit - 100:
                break
            text, count = f"{text}{line}\n", count + 1
        if count < len(lines):
            text += f"({len(lines) - count} more are left out)\n"
        return ToolOutput(
            text.rstrip("\n") or "Nothing is defined there.",
            origin=f"file {path}",
            truncated=count < len(lines),
            files_read=(path,),
        )


def outline_of(workspace: Workspace, path: str) -> FileOutline:
    """The outline of a file of the workspace. Takes its time: call it in a thread.

    Raises: as `OutlineTool.use`.
    """
    language = language_for(path)
    return outline(workspace.read_text(path), language)


def _format_item(item: OutlineItem) -> str:
    doc = f"  # {item.doc}" if item.doc else ""
    return f"{item.first_line}-{item.last_line}: {'  ' * item.depth}{item.signature}{doc}"
