"""Foreign agents behind the boundary: a command line, a function from text to text, prepared answers for tests.

Each writes the request in the dialect that its agent speaks and hands back what came. Reading that, judging it and
asking again with a correction is the boundary's work, the same for all.
"""

from .command_agent import MAX_BYTES, CommandAgent, split_command
from .text_agent import Scripted, ScriptedAnswer, ScriptedCall, TextAgent, scripted

__all__ = [
    "MAX_BYTES",
    "CommandAgent",
    "Scripted",
    "ScriptedAnswer",
    "ScriptedCall",
    "TextAgent",
    "scripted",
    "split_command",
]
