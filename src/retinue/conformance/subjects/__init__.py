"""Who can be judged: a callable, a command, something in a module, a Markdown agent, and an agent of Retinue's own.

Whatever one of them does (prints, raises, hangs, exits, returns nothing) is an exchange, never an exception.
"""

from .apart import isolated_module
from .calling import CallableSubject
from .command import CommandSubject
from .instructions import instructions_subject
from .named import SubjectInfo, command_subject, module_subject
from .spoken import dialect_adapter

__all__ = [
    "CallableSubject",
    "CommandSubject",
    "SubjectInfo",
    "command_subject",
    "instructions_subject",
    "isolated_module",
    "module_subject",
    "dialect_adapter",
]
