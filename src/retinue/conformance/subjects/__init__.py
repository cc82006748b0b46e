"""Who can be judged: a callable, a command, something in a module, a Markdown agent, and an agent of Retinue's own.

Whatever one of them does (prints, raises, hangs, exits, returns nothing) is an exchange, never an exception.
"""

from .adapter import dialect_adapter
from .callable_subject import CallableSubject
from .command_line import CommandSubject
from .module_process import isolated_module
from .subject_info import SubjectInfo, command_subject, instructions_subject, module_subject

__all__ = [
    "CallableSubject",
    "CommandSubject",
    "SubjectInfo",
    "command_subject",
    "dialect_adapter",
    "instructions_subject",
    "isolated_module",
    "module_subject",
]
