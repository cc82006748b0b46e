"""Who can be judged: a callable, a command, something in a module, a Markdown agent, and an agent of Retinue's own.

Whatever one of them does (prints, raises, hangs, exits, returns nothing) is an exchange, never an exception.
"""

from .apart import module_apart
from .calling import CallableSubject
from .command import CommandSubject
from .instructions import instructions_named
from .named import Named, command_named, module_named
from .spoken import spoken

__all__ = [
    "CallableSubject",
    "CommandSubject",
    "Named",
    "command_named",
    "instructions_named",
    "module_apart",
    "module_named",
    "spoken",
]
