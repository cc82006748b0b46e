"""Real refactorings: rename, move, extract. Each gives `Changes`, a value with a diff; writing is asked for apart.

Formatting and comments are kept, because texts are cut and put and never printed anew. What would change the meaning is
refused with the reason.
"""

from .changes import Action, Change, Changes, Edit, edited, syntax_error
from .extract import Extracted, extract
from .move import Moved, move
from .rename import Renamed, rename

__all__ = [
    "Action",
    "Change",
    "Changes",
    "Edit",
    "Extracted",
    "Moved",
    "Renamed",
    "edited",
    "extract",
    "move",
    "rename",
    "syntax_error",
]
