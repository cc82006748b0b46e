"""Which language server is started for which language: `ty server` for Python, others as the user has set them.

A server is a program, so its argument vector comes from the user's settings or a trusted project, never from a file
that an agent has read.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from retinue.errors import InvalidInput, NotInstalled
from retinue.processes.start import find_program

LANGUAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        ".c": "c", ".cc": "cpp", ".cpp": "cpp", ".cs": "csharp", ".cts": "typescript", ".go": "go", ".h": "c",
        ".hpp": "cpp", ".java": "java", ".js": "javascript", ".jsx": "javascriptreact", ".kt": "kotlin",
        ".lua": "lua", ".mjs": "javascript", ".mts": "typescript", ".php": "php", ".py": "python", ".pyi": "python",
        ".rb": "ruby", ".rs": "rust", ".scala": "scala", ".swift": "swift", ".ts": "typescript",
        ".tsx": "typescriptreact", ".zig": "zig",
    }
)  # fmt: skip
"""The language of a file, by its suffix, as LSP calls it."""

_FAMILIES: Final[Mapping[str, str]] = MappingProxyType(
    {"javascriptreact": "javascript", "typescriptreact": "typescript", "typescript": "javascript", "cpp": "c"}
)
"""Whose server is taken where a language has none of its own."""


def language_of(path: str) -> str:
    """The language of `path`.

    Raises:
        InvalidInput: It has no suffix of a known language.
    """
    language = LANGUAGES.get(Path(path).suffix.lower())
    if language is None:
        raise InvalidInput(
            f"{path!r} is not a source file of a known language.", hint="Name a source file, such as `.py`."
        )
    return language


def command_for(language: str, configured: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The argument vector of the server for `language`.

    Raises:
        NotInstalled: There is none, or its program is not here.
    """
    name: str | None = language
    while name is not None:
        if argv := configured.get(name):
            return _resolve_program(argv)
        name = _FAMILIES.get(name)
    if language == "python":
        venv_program = Path(sys.executable).parent / "ty"
        program = str(venv_program) if os.access(venv_program, os.X_OK) else find_program("ty")
        if program is None:
            raise NotInstalled("The language server `ty` is not here.", hint="install `retinue[code]`")
        return (program, "server")
    raise NotInstalled(
        f"No language server is configured for `{language}`.",
        hint=f"Configure one for `{language}` by its argument vector, or read the file's outline.",
    )


def _resolve_program(argv: tuple[str, ...]) -> tuple[str, ...]:
    program = argv[0] if Path(argv[0]).is_absolute() else find_program(argv[0])
    if program is None or not os.access(program, os.X_OK):
        raise NotInstalled(f"The language server {argv[0]!r} is not here.", hint=f"Install `{Path(argv[0]).name}`.")
    return (program, *argv[1:])
