"""The one door to claude-agent-sdk: its control protocol over a channel of ours, and our tools as a server it serves.

Its own ways to start a program and to read what that says are not used: see `transport`.
"""

from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Protocol, TypeAlias

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import NotInstalled

from .launch import SERVER

ToolHandler: TypeAlias = Callable[[str, JsonMapping], Awaitable[tuple[str, bool]]]
"""Uses one of our tools by name: what it says, and whether it failed."""

_ALLOWED: Final = frozenset({"StructuredOutput"})
"""Tools of Claude Code's own that may be used: by this one it hands over an object."""


class Client(Protocol):
    """A conversation with Claude Code, as the SDK has it."""

    async def connect(self) -> None:
        """Start it, and agree on what each side can."""
        ...

    async def query(self, prompt: str) -> None:
        """Say something."""
        ...

    async def disconnect(self) -> None:
        """End it, with the calls of tools under way."""
        ...


def load_sdk() -> ModuleType:
    """The SDK.

    Raises:
        NotInstalled: It is not there; the hint names it.
    """
    try:
        return import_module("claude_agent_sdk")
    except ImportError:
        raise NotInstalled(
            "The runner `claude` needs claude-agent-sdk, which is not installed.",
            hint="Install `claude-agent-sdk`.",
        ) from None


def open_client(sdk: Any, transport: object, tools: Sequence[ToolSpec], call_tool: ToolHandler) -> Client:
    """A client over `transport`, whose tools are `tools` and no others.

    Args:
        sdk: What `load_sdk` gave.
        transport: Has the methods of the SDK's `Transport`.
        tools: What Claude Code is told of.
        call_tool: Does what a call of one asks for.
    """
    names = {f"mcp__{SERVER}__{spec.name}" for spec in tools}

    async def can_use_tool(name: str, arguments: JsonMapping, context: object) -> object:
        # Whether a call of one of our tools may be made is asked where it would be made: nobody can pass by there.
        del arguments, context
        if name in names or name in _ALLOWED:
            return sdk.PermissionResultAllow()
        return sdk.PermissionResultDeny(message=f"There is no tool {name[:80]!r} here. Do without it.")

    sdk_tools = [_sdk_tool(sdk, spec, call_tool) for spec in tools]
    options = sdk.ClaudeAgentOptions(
        mcp_servers={SERVER: sdk.create_sdk_mcp_server(SERVER, tools=sdk_tools)},
        can_use_tool=can_use_tool,
        verbatim_prompts=True,  # else a word of the task that begins with `@` or `/` would be a file or a command
    )
    client: Client = sdk.ClaudeSDKClient(options, transport=transport)
    return client


def _sdk_tool(sdk: Any, spec: ToolSpec, call_tool: ToolHandler) -> object:
    async def handle(arguments: JsonMapping) -> JsonMapping:
        text, failed = await call_tool(spec.name, arguments)
        return {"content": [{"type": "text", "text": text}], "is_error": failed}

    schema: JsonMapping = {"type": "object", "properties": {}, **spec.input_schema}
    return sdk.SdkMcpTool(name=spec.name, description=spec.description, input_schema=schema, handler=handle)
