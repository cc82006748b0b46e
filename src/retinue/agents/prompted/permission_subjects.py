"""What a call of a tool is about, as rules and people see it: paths, a command line, an address.

A rule is held against everything a call is about, so all of it is found. Where a path leads is looked up here, since a
rule that denies `docs/**` must hold for a link to `docs`, too.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, cast
from urllib.parse import unquote, urlsplit

from retinue.agents.grants import TAKES_PATHS, PermissionSubject, normal_path
from retinue.contract.formatting import truncate
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.sanitize import printable
from retinue.errors import AccessDenied, RetinueError
from retinue.tools.workspace import Workspace

_PATH_KEYS: Final = frozenset(
    {
        "path", "paths", "file", "files", "file_path", "folder", "directory", "source", "target", "destination",
        "from", "to",
    }
)  # fmt: skip
_ADDRESS_KEYS: Final = frozenset({"url", "urls", "uri", "uris"})
_OTHER_KEYS: Final = frozenset({"query", "agent", "name"})
_SUBJECT_KEYS: Final[Mapping[str, str]] = {
    "delegate": "agent",
    "recall": "query",
    "skill": "name",
    "web_fetch": "url",
    "web_search": "query",
}
"""Of our own tools that take no paths, the argument that rules speak of."""

_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^\s]*\Z", re.IGNORECASE)
_FILE: Final = re.compile(r"file:", re.IGNORECASE)
_MAX_SUMMARY: Final = 300
_LONGEST_PATH: Final = 4_096


def permission_subjects(
    tool: str, arguments: JsonMapping, *, workspace: Workspace | None = None
) -> tuple[PermissionSubject, ...]:
    """What a call is about, everything of it that a rule may speak of; never nothing.

    Of a tool that is not ours nobody knows which argument is a path. So every text of the call, at any depth, is held
    against the rules that ask or deny; whatever may be a path or an address must also fit a rule that allows.

    Args:
        tool: The tool's name.
        arguments: Those of the call; they have passed its schema.
        workspace: The folder, to find out where a path leads.
    """
    if tool == "shell":
        from retinue.tools.builtin.shell_tool import argument_vector, command_line  # noqa: PLC0415 - for a shell alone

        line = ""  # where the tool will refuse the command
        with suppress(RetinueError, TypeError):
            line = command_line(argument_vector(cast("Any", arguments.get("command"))))
        return (PermissionSubject(line),)
    if tool == "glob":
        return (path_subject(str(arguments.get("pattern", ".")), workspace),)
    if tool in TAKES_PATHS:
        paths = (text for key, text in _texts(arguments) if key in _PATH_KEYS)
        return tuple(path_subject(path, workspace) for path in paths) or (path_subject(".", workspace),)
    if tool in _SUBJECT_KEYS:
        return (PermissionSubject(str(arguments.get(_SUBJECT_KEYS[tool], ""))),)
    return _external_subjects(arguments, workspace)


def path_subject(path: str, workspace: Workspace | None) -> PermissionSubject:
    """A path, as it is written and where it leads."""
    normal = normal_path(path)
    if workspace is None:
        return PermissionSubject(normal, root=".")
    root = str(workspace.root)
    try:
        real = workspace.relative(path)
    except AccessDenied:  # it leads out of the workspace
        real = os.path.realpath(os.path.join(root, path))  # noqa: PTH118 - `Path` drops what is compared here
    except RetinueError:  # it is no path at all, and the tool will say so
        real = normal
    spellings = {normal, normal.removeprefix(f"{root}/")} - {real}
    return PermissionSubject(real, tuple(sorted(spellings)), root=root)


def call_summary(subjects: Iterable[PermissionSubject], arguments: JsonMapping) -> str:
    """A call as one short line for a person.

    Args:
        subjects: What `subjects` gave.
        arguments: Those of the call.
    """
    searched = [str(arguments[key]) for key in ("pattern", "operation") if key in arguments]
    reals = (each.real for each in subjects if not each.incidental and each.real != ".")
    line = ", ".join(dict.fromkeys((*searched, *reals)))
    return truncate(" ".join(printable(line[: 4 * _MAX_SUMMARY]).split()), _MAX_SUMMARY)


def _texts(arguments: JsonMapping) -> Iterator[tuple[str, str]]:
    """Every text in `arguments` with its key, at any depth; keys of inner objects are texts too, without a key."""
    queue: list[tuple[str, object]] = [(key, value) for key, value in arguments.items()]
    while queue:
        key, value = queue.pop(0)
        match value:
            case str() if value:
                yield key, value
            case list():
                queue += [(key, each) for each in cast("list[object]", value)]
            case dict():
                inner = cast("Mapping[str, object]", value)
                yield from (("", name) for name in inner)
                # What lies in an object under `path` is a path, whatever its own key.
                queue += ((key if key in _PATH_KEYS else name, each) for name, each in inner.items())
            case _:
                pass


def _external_subjects(arguments: JsonMapping, workspace: Workspace | None) -> tuple[PermissionSubject, ...]:
    """What a call of somebody else's tool is about: what it must be allowed for first, then whatever else it holds."""
    primary, texts = list[PermissionSubject](), list[tuple[str, str]]()
    for key, text in dict.fromkeys(_texts(arguments)):
        if key not in _PATH_KEYS and _ADDRESS.match(text) and not _FILE.match(text):
            path = _external_path(text, workspace)  # for rules that deny: some read `x://../docs` as a path
            primary.append(PermissionSubject(text, (path.real, *path.spellings)))
        elif key in _PATH_KEYS or key in _ADDRESS_KEYS or _may_be_path(text, workspace):
            primary.append(_external_path(text, workspace))
        else:
            texts.append((key, text))
    if not primary:
        primary = [PermissionSubject(text) for key, text in texts if key in _OTHER_KEYS]
    if not primary:
        whole = ""
        with suppress(RetinueError):
            whole = dumps(arguments)
        primary = [PermissionSubject(whole)]
    return (*primary, *(PermissionSubject(text, incidental=True) for _, text in texts))


def _external_path(text: str, workspace: Workspace | None) -> PermissionSubject:
    """A path or the URI of a file, as others may read it: with its escapes undone, too."""
    path = text
    if _FILE.match(text):
        with suppress(ValueError):  # no address after all
            path = unquote(urlsplit(text).path)
    subject = path_subject(path, workspace)
    alternatives = {text, normal_path(unquote(path))} - {subject.real}
    return PermissionSubject(subject.real, tuple(sorted({*subject.spellings, *alternatives})), root=subject.root)


def _may_be_path(text: str, workspace: Workspace | None) -> bool:
    if len(text) > _LONGEST_PATH or "\n" in text:
        return False
    if text.startswith((".", "~")) or not {"/", "\\"}.isdisjoint(unquote(text)):
        return True
    return workspace is not None and os.path.lexists(os.path.join(workspace.root, text))  # noqa: PTH118 - as above
