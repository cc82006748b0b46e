"""Answers of a server read into values: hovers, edits, the names of files. What does not fit is left out."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from retinue.contract.json import JsonValue
from retinue.errors import Unavailable

from .locations import RawLocation, parse_locations


def path_of(uri: str) -> str:
    """The path a `file:` URI names; empty when it is none."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    path = unquote(parts.path)
    return path if parts.scheme == "file" and not parts.netloc and Path(path).is_absolute() and "\0" not in path else ""


def hover_text(contents: JsonValue) -> str:
    """The text of a hover, in any of its four forms; empty when it has none."""
    match contents:
        case str(text) | {"value": str(text)}:
            return text.strip()
        case list(parts):
            return "\n\n".join(filter(None, map(hover_text, parts)))
        case _:
            return ""


def parse_workspace_edits(answer: JsonValue) -> list[tuple[RawLocation, str]]:
    """The edits of a `WorkspaceEdit`, in either of its two forms."""
    by_file: list[tuple[str, JsonValue]] = []
    match answer:
        case {"documentChanges": list(changes)}:
            for change in changes:
                match change:
                    case {"textDocument": {"uri": str(uri)}, "edits": edits}:
                        by_file.append((uri, edits))
                    case _:
                        raise Unavailable("The rename would move files, which is not done here.", hint="Move the file.")
        case {"changes": dict(changes)}:
            by_file = list(changes.items())
        case _:
            return []
    return [
        (place, text)
        for uri, edits in by_file
        for edit in (edits if isinstance(edits, list) else [])
        if isinstance(edit, dict) and isinstance(text := edit.get("newText"), str)
        for place in parse_locations([{"uri": uri, "range": edit.get("range")}])
    ]
