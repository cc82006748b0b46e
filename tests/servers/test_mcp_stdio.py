"""`retinue serve --stdio` as a client starts it: the protocol on stdout, everything else on stderr."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.cli.shell import COMMAND, environment, run
from tests.servers.mcp_parts import MODES, Mode, accept, text_of

pytestmark = pytest.mark.slow

AGENTS = '''
import retinue
from retinue import Question

print("noise at import")


@retinue.agent(effects=[])
async def greet(name: str) -> str:
    """Greets somebody by name. Use when a greeting is due. Returns the greeting."""
    print("noise while it works")
    return f"Hello, {name}"


@retinue.agent(effects=["read", "write"])
async def keeper(text: str) -> str:
    """Keeps a text. Use to keep it. Returns that it did."""
    return "kept"


@retinue.agent(effects=[])
async def asker(topic: str, run: retinue.RunContext) -> str:
    """Asks about a topic. Use when in doubt. Returns the answer."""
    answer = await run.ask(Question(id="q", text=f"What of {topic}?"))
    return f"You said {answer.value if answer else None}"


@retinue.agent(effects=[])
async def sleeper(seconds: float, run: retinue.RunContext) -> str:
    """Sleeps. Use to wait. Returns that it woke."""
    await run.sleep(seconds)
    return "awake"
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with agents."""
    where = tmp_path / "work"
    where.mkdir()
    (where / "agents.py").write_text(AGENTS)
    return where


def command(home: Path, folder: Path, *words: str) -> StdioServerParameters:
    """How a client starts the server."""
    program, *arguments = [*COMMAND, "serve", "agents.py", "--stdio", *words]
    return StdioServerParameters(command=program, args=arguments, cwd=folder, env=environment(home))


@pytest.mark.parametrize("mode", MODES)
def test_a_client_on_stdio_calls_and_is_asked(tmp_path: Path, folder: Path, mode: Mode) -> None:
    async def main() -> None:
        async with Client(command(tmp_path, folder), mode=mode, elicitation_callback=accept) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["asker", "greet", "keeper", "sleeper"]
            assert text_of(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada"
            assert text_of(await client.call_tool("asker", {"topic": "rain"})) == "You said north"
            refused = await client.call_tool("keeper", {"text": "x"})
            assert refused.is_error
            assert "access_denied" in text_of(refused)
        async with Client(command(tmp_path, folder, "--effects", "read,write"), mode=mode) as client:
            assert text_of(await client.call_tool("keeper", {"text": "x"})) == "kept"

    asyncio.run(main())


def test_stdout_is_the_protocol_alone_and_a_closed_stdin_ends_the_run(tmp_path: Path, folder: Path) -> None:
    version = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    calls = [{"name": "greet", "arguments": {"name": "Ada"}}, {"name": "sleeper", "arguments": {"seconds": 60}}]
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": version},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": calls[0]},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": calls[1]},
    ]
    process = subprocess.Popen(
        [*COMMAND, "serve", "agents.py", "--stdio"],
        cwd=folder,
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("".join(f"{json.dumps(line)}\n" for line in lines))
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert [answer["id"] for answer in answers] == [1, 2]
    rest, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert "noise while it works" in errors
    assert "Traceback" not in errors
    listed = run(tmp_path, folder, "runs", "list", "--json").stdout
    assert "canceled" in listed


def test_what_does_not_fit_is_refused(tmp_path: Path, folder: Path) -> None:
    refused = run(tmp_path, folder, "serve", "agents.py", "--stdio", "--effects", "fly")
    assert refused.returncode == 2
    assert "'fly' is not an effect" in refused.stderr
    assert refused.stdout == ""
