"""Which MCP servers there are: the `mcpServers` of a `.mcp.json`, read strictly. Starts and asks nobody.

A file of a project names programs to run and places to send to, so it counts only while its folder is trusted. What a
server needs of the environment is named (`${NAME}`, `${NAME:-default}`) and looked up when it is started.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retinue.agents.code_files import code_files
from retinue.agents.load.document import MAX_BYTES, read_bytes
from retinue.agents.trust import TrustStore
from retinue.contract import json as strict
from retinue.errors import MissingFile, NotTrusted, ParseError, Unavailable

PROJECT_FILE: Final = ".mcp.json"

_NAME: Final = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
_LONGEST_NAME: Final = 32
_MOST: Final = 50
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")
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


def project_servers(folder: Path, *, trust: TrustStore) -> McpServers:
    """The servers of a project's own `.mcp.json`; none when it has no such file.

    Raises:
        NotTrusted: The user has not approved the folder, or not this file.
        ParseError: The file cannot be read.
        AccessDenied: The file may not be read.
    """
    root = folder.resolve()
    path = root / PROJECT_FILE
    if not path.is_file():
        return McpServers()
    trust.check(root)
    if path not in code_files(root):
        raise NotTrusted(f"{str(path)!r} was not approved.", hint="Name its servers in your own settings.")
    return read_servers(path, cwd=root)


def read_servers(path: Path, *, cwd: Path) -> McpServers:
    """The servers of the file at `path`; those that cannot be used are `absent`, with everything that is wrong.

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


_Text: TypeAlias = Annotated[str, Field(pattern=r"^[^\x00]*$")]
_Required: TypeAlias = Annotated[str, Field(pattern=r"^[^\x00]*$", min_length=1)]


class _StdioEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    type: str = "stdio"
    command: _Required
    args: list[_Text] = []
    env: dict[_Text, _Text] = {}
    cwd: _Text = "."


class _HttpEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    type: str = "http"
    url: _Required
    headers: dict[_Text, _Text] = {}


_EXPECTED: Final = {
    "command": "is missing or not text",
    "url": "is missing or not text",
    "args": "is not a list of texts",
    "cwd": "is not text",
    "env": "is not an object of texts",
    "headers": "is not an object of texts",
}


def _server(name: str, entry: strict.JsonValue, *, cwd: Path) -> McpServer | str:
    """The server that an entry describes, or everything that is wrong with it."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        return f"its name must be letters, digits, `-` and single `_`, at most {_LONGEST_NAME}"
    if not isinstance(entry, dict):
        return "its entry is not an object"
    kind = entry.get("type", "stdio" if "command" in entry else "http")
    if kind == "sse":
        return "the old SSE transport is not supported; use its streamable HTTP endpoint (`type` `http`)"
    if not isinstance(kind, str) or (kind != "stdio" and kind not in _HTTP_TYPES):
        return f"its `type` is {str(kind)[:40]!r}, not `stdio` or `http`"
    try:
        if kind != "stdio":
            http = _HttpEntry.model_validate(entry)
            return HttpServer(name, http.url, http.headers)
        stdio = _StdioEntry.model_validate(entry)
    except ValidationError as error:
        problems: dict[str, None] = {}
        for each in error.errors(include_url=False):
            key = str(each["loc"][0])
            if each["type"] == "extra_forbidden":
                problems[f"it has the unknown key {key[:40]!r}"] = None
            elif each["type"] == "string_pattern_mismatch":
                problems["it has a NUL character"] = None
            else:
                problems[f"its `{key}` {_EXPECTED[key]}"] = None
        return "; ".join(problems)
    return StdioServer(name, stdio.command, tuple(stdio.args), stdio.env, str(cwd / stdio.cwd))
