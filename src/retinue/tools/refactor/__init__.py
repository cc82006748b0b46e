"""Real refactorings: rename, move, extract. Each gives `Changes`, a value with a diff; writing is asked for apart.

Formatting and comments are kept, because texts are cut and put and never printed anew. What would change the meaning is
refused with the reason.
"""

from .extract import ExtractResult, extract
from .move import MoveResult, move
from .rename import RenameResult, rename
from .source import Action, ChangeSet, FileUpdate, SourceEdit, apply_edits, syntax_error

__all__ = [
    "Action",
    "ChangeSet",
    "ExtractResult",
    "FileUpdate",
    "MoveResult",
    "RenameResult",
    "SourceEdit",
    "apply_edits",
    "extract",
    "move",
    "rename",
    "syntax_error",
]
