"""What an MCP tool answered, as text for a model: its texts, and a line for whatever is no text."""

from typing import TYPE_CHECKING, Final

from retinue.contract.formatting import truncate
from retinue.contract.json import dumps
from retinue.contract.sanitize import printable
from retinue.errors import InvalidInput

if TYPE_CHECKING:
    from mcp import types

_LONGEST: Final = 300


def result_text(result: "types.CallToolResult", *, limit: int) -> tuple[str, bool]:
    """The text of an answer, and whether it was cut.

    Args:
        result: The answer.
        limit: The most characters of it; a line that says what is missing comes on top.
    """
    parts = [_block_text(block) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [_structured_text(result.structured_content)]
    text = "\n\n".join(parts)
    if len(text) <= limit:
        return text or "[it answered nothing]", False
    return f"{text[:limit]}\n\n[{len(text) - limit} more characters are left out]", True


def _block_text(block: "types.ContentBlock") -> str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return f"[{block.type}, {_line(block.mime_type)}, {len(block.data) * 3 // 4} bytes: not shown]"
        case "resource_link":
            return f"[the resource {_line(block.name)}: {_line(str(block.uri))}]"
        case "resource":
            resource = block.resource
            text = getattr(resource, "text", None)
            return text if isinstance(text, str) else f"[the resource {_line(str(resource.uri))}: not text, not shown]"


def _line(text: str) -> str:
    """A stranger's name for something, so that it stays within its brackets."""
    line = " ".join(printable(text[: 2 * _LONGEST]).split()).replace("[", "(").replace("]", ")")
    return truncate(line, _LONGEST)


def _structured_text(value: object) -> str:
    try:
        return dumps(value)
    except InvalidInput:
        return "[its structured answer is not JSON]"
