"""Which files pytest collects tests from, as the project's own settings say; read as data, never by pytest itself."""

import configparser
import re
import tomllib
from collections.abc import Sequence
from fnmatch import translate
from typing import Any, Final

from retinue.errors import RetinueError
from retinue.tools.workspace import Workspace

__all__ = ["DEFAULT", "Collected", "collected_by"]

DEFAULT: Final = ("test_*.py", "*_test.py")
"""What pytest takes when nobody says otherwise."""

_FILES: Final = (
    ("pytest.ini", "pytest"), (".pytest.ini", "pytest"), ("pyproject.toml", ""), ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)  # fmt: skip
_LARGEST: Final = 256 * 1024
_MOST: Final = 50


class Collected:
    """A test of paths.

    Args:
        patterns: With a `/` for the end of a path, without one for the name of a file.
    """

    def __init__(self, patterns: Sequence[str] = DEFAULT) -> None:
        wanted = [one for one in patterns[:_MOST] if one and len(one) < 200]
        paths = [translate(one if one.startswith("*") else f"*/{one}") for one in wanted if "/" in one]
        names = [translate(one) for one in wanted if "/" not in one]
        self._paths = re.compile("|".join(paths)) if paths else None
        self._names = re.compile("|".join(names)) if names else None

    def __contains__(self, path: str) -> bool:
        if not path.endswith(".py"):
            return False
        if self._names is not None and self._names.match(path.rpartition("/")[2]):
            return True
        return self._paths is not None and self._paths.match(f"/{path}") is not None


def collected_by(workspace: Workspace) -> Collected:
    """What the first of pytest's settings files at the root says; pytest's own rule where none does."""
    for name, section in _FILES:
        try:
            text = workspace.read_text(name, max_bytes=_LARGEST)
        except RetinueError:
            continue
        try:
            found = _from_ini(text, section) if section else _from_toml(text)
        except (configparser.Error, ValueError, AttributeError, RecursionError):
            continue  # pytest would say so itself
        if found is not None:
            return Collected(found or DEFAULT)
    return Collected()


def _from_ini(text: str, section: str) -> list[str] | None:
    """The patterns of a section; None when the file has no such section, so that the next file is asked."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    return parser.get(section, "python_files", fallback="").split() if parser.has_section(section) else None


def _from_toml(text: str) -> list[str] | None:
    tool: dict[str, Any] = tomllib.loads(text).get("tool", {}).get("pytest", {})
    options: dict[str, Any] = tool.get("ini_options") or tool
    if not options:
        return None
    said: object = options.get("python_files", [])
    if isinstance(said, str):
        return said.split()
    return [str(one) for one in said] if isinstance(said, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - TOML
