"""Which MCP servers there are: the `mcpServers` of a `.mcp.json`, read strictly. Starts and asks nobody.

A file of a project names programs to run and places to send to, so it counts only while its folder is trusted. What a
server needs of the environment is named (`${NAME}`, `${NAME:-default}`) and looked up when it is started.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from retinue.agents.code_files import code_files
from retinue.agents.load.document import MAX_BYTES, read_bytes
from retinue.contract import json as strict
from retinue.errors import MissingFile, NotTrusted, ParseError, Unavailable

if TYPE_CHECKING:
    from retinue.agents.trust import TrustStore

PROJECT_FILE: Final = ".mcp.json"

_NAME: Final = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
_LONGEST_NAME: Final = 32
_MOST: Final = 50
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")
_STDIO_KEYS: Final = frozenset({"type", "command", "args", "env", "cwd"})
_HTTP_KEYS: Final = frozenset({"type", "url", "headers"})
_HTTP_TYPES: Final = frozenset({"http", "streamable-http", "streamable_http"})


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server that is a program, spoken to by its stdin and stdout.

    Attributes:
        command: The program; never a line for a shell.
        cwd: Where it runs.
    """

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str = "."


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server at a URL, spoken to by streamable HTTP."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


McpServer: TypeAlias = StdioServer | HttpServer


@dataclass(frozen=True, slots=True)
class McpServers:
    """What a file says.

    Attributes:
        absent: Servers that cannot be used, with the reason.
    """

    servers: tuple[McpServer, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict[str, str])


def project_servers(folder: Path, *, trust: "TrustStore") -> McpServers:
    """The servers that a project's own `.mcp.json` names; none when it has no such file.

    Raises:
        NotTrusted: The user has not said yes to the folder, or not to this file.
        ParseError: The file cannot be read.
        AccessDenied: The file may not be read.
    """
    root = folder.resolve()
    path = root / PROJECT_FILE
    if not path.is_file():
        return McpServers()
    trust.check(root)
    if path not in code_files(root):
        raise NotTrusted(f"Nobody was asked about {str(path)!r}.", hint="Name its servers in your own settings.")
    return read_servers(path, cwd=root)


def read_servers(path: Path, *, cwd: Path) -> McpServers:
    """The servers that the file at `path` names. Every one that cannot be used is told, with all that is wrong.

    Args:
        path: A JSON file with `mcpServers`, as other programs write it.
        cwd: Where programs run that do not say.

    Raises:
        MissingFile: There is none.
        ParseError: It is not JSON, or has no `mcpServers`.
        AccessDenied: It may not be read.
    """
    try:
        value = strict.loads(read_bytes(path, max_bytes=MAX_BYTES), max_bytes=MAX_BYTES)
    except MissingFile:
        raise MissingFile(f"There is no file {str(path)!r}.", hint="Name a JSON file with `mcpServers`.") from None
    entries = value.get("mcpServers") if isinstance(value, dict) else None
    if not isinstance(entries, dict):
        raise ParseError(
            f"{str(path)!r} has no object `mcpServers`.",
            hint='Write `{"mcpServers": {"name": {"command": "…", "args": []}}}`.',
            path="/mcpServers",
        )
    servers: list[McpServer] = []
    absent: dict[str, str] = {}
    for name, entry in entries.items():
        read = "there are too many servers in the file" if len(servers) >= _MOST else _server(name, entry, cwd=cwd)
        if isinstance(read, str):
            absent[name[:80]] = read
        else:
            servers.append(read)
    return McpServers(tuple(servers), absent)


def referenced_variables(server: McpServer) -> tuple[str, ...]:
    """The variables that a server names."""
    if isinstance(server, StdioServer):
        texts = (server.command, *server.args, *server.env.values())
    else:
        texts = (server.url, *server.headers.values())
    return tuple(match[1] for text in texts for match in _VARIABLE.finditer(text))


def expand_variables(text: str, *, environ: Mapping[str, str], server: str) -> str:
    """`text` with the variables it names.

    Raises:
        Unavailable: One is not set; the hint names it.
    """

    def value(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name in environ:
            return environ[name]
        if default is not None:
            return default
        raise Unavailable(
            f"The MCP server {server!r} needs the variable `{name}`, which is not set.", hint=f"Set `{name}`."
        )

    return _VARIABLE.sub(value, text)


def _server(name: str, entry: strict.JsonValue, *, cwd: Path) -> McpServer | str:
    """The server that an entry describes, or all that is wrong with it."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        return f"its name must be letters, digits, `-` and single `_`, at most {_LONGEST_NAME}"
    if not isinstance(entry, dict):
        return "its entry is not an object"
    kind = entry.get("type", "stdio" if "command" in entry else "http")
    problem = _kind_problem(kind) or "; ".join(_entry_problems(entry, stdio=kind == "stdio"))
    if problem:
        return problem
    facts = cast("dict[str, str]", entry)
    if kind != "stdio":
        return HttpServer(name, facts["url"], _mapping(entry, "headers"))
    args = tuple(cast("list[str]", entry.get("args", [])))
    return StdioServer(name, facts["command"], args, _mapping(entry, "env"), str(cwd / facts.get("cwd", ".")))


def _kind_problem(kind: strict.JsonValue) -> str:
    if kind == "sse":
        return "the old SSE transport is not spoken here; use its streamable HTTP endpoint (`type` `http`)"
    is_known = isinstance(kind, str) and (kind == "stdio" or kind in _HTTP_TYPES)
    return "" if is_known else f"its `type` is {str(kind)[:40]!r}, not `stdio` or `http`"


def _entry_problems(entry: strict.JsonObject, *, stdio: bool) -> list[str]:
    required, allowed = ("command", _STDIO_KEYS) if stdio else ("url", _HTTP_KEYS)
    problems = [f"it has the unknown key {key[:40]!r}" for key in entry if key not in allowed]
    if not isinstance(entry.get(required), str) or not entry[required]:
        problems.append(f"its `{required}` is missing or no text")
    if not isinstance(entry.get("cwd", ""), str):
        problems.append("its `cwd` is not text")
    args = entry.get("args", [])
    if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
        problems.append("its `args` are not a list of texts")
    for key in ("env", "headers"):
        pairs = entry.get(key, {})
        if not isinstance(pairs, dict) or not all(isinstance(each, str) for each in pairs.values()):
            problems.append(f"its `{key}` is not an object of texts")
    if any("\0" in text for text in _texts(entry)):
        problems.append("it holds a NUL character")
    return problems


def _texts(value: strict.JsonValue) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in (key, *_texts(each))]
    return [text for each in value for text in _texts(each)] if isinstance(value, list) else []


def _mapping(entry: strict.JsonObject, key: str) -> dict[str, str]:
    return dict(cast("dict[str, str]", entry.get(key, {})))
