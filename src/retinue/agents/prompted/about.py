"""What a call of a tool is about, as rules and people see it: a path, a command line, an address.

A rule is held against every path of a call, so all of them are found. Pure.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final, cast

from retinue.agents.patterns import normal_path
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.sanitize import printable
from retinue.contract.text import cut
from retinue.errors import RetinueError

__all__ = ["shown_call", "tellings"]

_PATH_KEYS: Final = (
    "path", "paths", "file", "files", "file_path", "folder", "source", "target", "destination", "from", "to",
)  # fmt: skip
_OTHER_KEYS: Final = ("url", "uri", "query", "agent", "name")
_PATH_TOOLS: Final = frozenset({"read", "write", "edit", "glob", "grep", "outline", "git", "lsp"})
_SHOWN: Final = 300


def tellings(tool: str, arguments: JsonMapping, *, root: PurePath | None = None) -> tuple[str, ...]:
    """What a call is about, everything of it that a rule may speak of; never nothing.

    Args:
        tool: The tool's name.
        arguments: Those of the call; they have passed its schema.
        root: The workspace; a path inside it is given relative to it.
    """
    if tool == "shell":
        return (_command_line(arguments.get("command")),)
    if tool == "glob":
        return (_relative(str(arguments.get("pattern", ".")), root),)
    if tool in _PATH_TOOLS:
        return tuple(_relative(path, root) for path in _texts(arguments, _PATH_KEYS)) or (".",)
    first = next(_texts(arguments, _OTHER_KEYS), "")
    paths = tuple(_relative(path, root) for path in _texts(arguments, _PATH_KEYS))
    return ((first,) if first else paths) or (_written(arguments),)


def shown_call(about: tuple[str, ...], arguments: JsonMapping) -> str:
    """A call as one short line for a person.

    Args:
        about: What `tellings` gave.
        arguments: Those of the call.
    """
    searched = [str(arguments[key]) for key in ("pattern", "operation") if key in arguments]
    line = ", ".join(dict.fromkeys((*searched, *(each for each in about if each != "."))))
    return cut(" ".join(printable(line[: 4 * _SHOWN]).split()), _SHOWN)


def _texts(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        value: object = arguments.get(key)
        if isinstance(value, str) and value:
            yield value
        elif isinstance(value, list):
            yield from (each for each in cast("list[object]", value) if isinstance(each, str))


def _command_line(command: object) -> str:
    """The words as they will be run, however they were written; nothing when the tool will refuse them."""
    from retinue.tools.hands import argument_vector, command_line  # noqa: PLC0415 - only calls of a shell need it

    try:
        return command_line(argument_vector(cast("Any", command)))
    except (RetinueError, TypeError):
        return ""


def _relative(path: str, root: PurePath | None) -> str:
    normal = normal_path(path)
    if root is not None and normal.startswith("/"):
        try:
            return PurePath(normal).relative_to(root).as_posix()
        except ValueError:
            return normal
    return normal


def _written(arguments: JsonMapping) -> str:
    try:
        return dumps(arguments)
    except RetinueError:
        return ""
