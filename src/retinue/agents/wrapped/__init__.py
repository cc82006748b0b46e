"""Foreign agents behind the boundary: a command line, a function from text to text, prepared answers for tests.

Each writes the request in the dialect that its agent speaks and hands back what came. Reading that, judging it and
asking again with a correction is the boundary's work, the same for all.
"""

from .command import MAX_BYTES, CommandAgent
from .command_line import split_command
from .function import TextAgent
from .scripted_agent import ScriptedAnswer, Scripted, ScriptedCall, scripted

__all__ = [
    "MAX_BYTES",
    "CommandAgent",
    "ScriptedAnswer",
    "Scripted",
    "ScriptedCall",
    "TextAgent",
    "scripted",
    "split_command",
]
