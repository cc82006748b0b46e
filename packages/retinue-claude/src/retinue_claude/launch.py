"""How Claude Code is started: which program, with which words, in which environment.

It gets no tools of its own, no settings of its user's, no servers but ours, and no variables but those listed here.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

from retinue.contract.json import dumps
from retinue.errors import NotInstalled
from retinue.llm.port import Request
from retinue.processes.start import clean_environment, find_program

from .claude_model import ADDRESS, KEY, ClaudeModel
from .home import ClaudeHome

SERVER: Final = "retinue"
"""The name of the server that our tools are, as Claude Code knows it."""

_INHERITED: Final = ("HTTP_PROXY", "HTTPS_PROXY", "NODE_EXTRA_CA_CERTS", "NO_PROXY", "SSL_CERT_DIR", "SSL_CERT_FILE")
"""How the network is reached is for the user to say."""

_FIXED: Final[Mapping[str, str]] = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",  # no updates, no telemetry, no reports of errors
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
    "CLAUDE_CODE_MAX_RETRIES": "0",  # whether something is tried again is for the boundary to say
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "MAX_MCP_OUTPUT_TOKENS": "1000000",  # how much a tool may say is for us to say
    "MCP_TOOL_TIMEOUT": "86400000",  # a tool may ask a person, and has a time limit of its own
}

_MAX_ARGUMENT: Final = 100_000
"""Bytes of a schema that can be a word of a command line."""


def find_claude(sdk: ModuleType) -> str:
    """The program: that which comes with the SDK, else that of the PATH.

    Raises:
        NotInstalled: There is none.
    """
    bundled = Path(sdk.__file__ or "").parent / "_bundled" / "claude"
    program = str(bundled) if bundled.is_file() else find_program("claude")
    if program is None:
        raise NotInstalled(
            "Claude Code is not here: `claude-agent-sdk` has not brought it along, and no `claude` is on the PATH.",
            hint="Install Claude Code, or the wheel of `claude-agent-sdk` for this system.",
        )
    return program


def argument_vector(
    program: str, model: ClaudeModel, request: Request, *, home: ClaudeHome, max_turns: int
) -> list[str]:
    """The command line of one process.

    Args:
        program: Claude Code.
        model: Whom it asks.
        request: What it begins with.
        home: Its folder.
        max_turns: The most requests it may make.
    """
    servers = dumps({"mcpServers": {SERVER: {"type": "sdk", "name": SERVER}}})
    argv = [
        program,
        *("--output-format", "stream-json", "--input-format", "stream-json", "--verbose", "--include-partial-messages"),
        *("--bare", "--setting-sources=", "--strict-mcp-config", "--disable-slash-commands", "--tools", ""),
        *("--permission-mode", "default", "--permission-prompt-tool", "stdio", "--mcp-config", servers),
        *("--model", model.id, "--max-turns", str(max_turns)),
        *("--system-prompt-file", home.write("instructions.txt", instructions(request))),
        *(("--effort", request.effort) if request.effort else ("--thinking", "disabled")),
    ]
    if request.shape is not None and _fits_argument(request):
        argv += ["--json-schema", dumps(request.shape.schema)]
    return argv


def instructions(request: Request) -> str:
    """What the system says, and what our tools are called here."""
    parts = [request.instructions]
    if request.tools:
        parts.append(
            f"Each of your tools is called `mcp__{SERVER}__NAME` here. Where `NAME` alone is said, it is meant."
        )
    if request.shape is not None and not _fits_argument(request):
        parts.append(f"The JSON Schema of your final answer: {dumps(request.shape.schema)}")
    return "\n\n".join(filter(None, parts))


def environment(model: ClaudeModel, *, home: ClaudeHome, max_tokens: int | None) -> dict[str, str]:
    """The variables it gets."""
    inherited = {
        name: value
        for each in _INHERITED
        for name in (each, each.lower())
        if (value := os.environ.get(name)) is not None
    }
    variables = {KEY: model.key, "CLAUDE_CONFIG_DIR": str(home.config), "HOME": str(home.root), "PWD": str(home.work)}
    if model.address:
        variables[ADDRESS] = model.address
    if max_tokens is not None:
        variables["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(max_tokens)
    return clean_environment({**inherited, **_FIXED, **variables})


def _fits_argument(request: Request) -> bool:
    return request.shape is not None and len(dumps(request.shape.schema)) < _MAX_ARGUMENT
