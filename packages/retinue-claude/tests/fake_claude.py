"""What a program needs to pass for Claude Code: the beginning of each that `given.fake` writes, and no test itself."""

import json
import sys
from typing import Any

_greeted: list[str] = []


def say(**message: Any) -> None:
    """Say one message."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def hear() -> dict[str, Any]:
    """The next message; an empty one at the end."""
    line = sys.stdin.readline()
    return json.loads(line) if line else {}


def greet() -> str:
    """Answer the SDK's first request, and hear what is asked."""
    first = hear()
    say(type="control_response", response={"subtype": "success", "request_id": first["request_id"], "response": {}})
    asked = hear()
    say(type="system", subtype="init", session_id="00000000-0000-4000-8000-000000000000", claude_code_version="9.9.9")
    return asked["message"]["content"]


def respond(text: str, *, tokens: int = 10, uses: tuple[tuple[str, str, dict[str, Any]], ...] = ()) -> None:
    """A whole response of the model, not streamed."""
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    content += [{"type": "tool_use", "id": use, "name": name, "input": given} for use, name, given in uses]
    usage = {"input_tokens": tokens, "output_tokens": tokens}
    say(type="assistant", parent_tool_use_id=None, message={"model": "claude", "content": content, "usage": usage})


def served(message: dict[str, Any], *, number: int | str) -> dict[str, Any]:
    """Send a message to the server that our tools are; what it says."""
    request = {"subtype": "mcp_message", "server_name": "retinue", "message": {"jsonrpc": "2.0", **message}}
    say(type="control_request", request_id=f"call_{number}", request=request)
    return hear()


def call(name: str, arguments: dict[str, Any], *, number: int = 1) -> dict[str, Any]:
    """Have one of our tools used; what it says."""
    if not _greeted:
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fake", "version": "1"}}
        served({"id": 1000, "method": "initialize", "params": client}, number="initialize")
        served({"method": "notifications/initialized"}, number="initialized")
        _greeted.append(name)
    params = {"name": name, "arguments": arguments}
    return served({"id": number, "method": "tools/call", "params": params}, number=number)


def end(text: str, **facts: Any) -> None:
    """Say that it is over."""
    usage = {"input_tokens": 10, "output_tokens": 10}
    said: dict[str, Any] = {"subtype": "success", "is_error": False, "result": text, "usage": usage}
    say(type="result", **{**said, "total_cost_usd": 0.25, **facts})
