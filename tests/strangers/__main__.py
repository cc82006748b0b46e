"""What clients of others come to with our server, and with the servers of others: a call, a stream, a question, a cancel.

python -m tests.strangers [--json] [--only NAME]
"""

import argparse
import asyncio
import json
import tempfile
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from bench.peers.environments import variables
from retinue.agents.port import RunContext
from retinue.agents.python import agent
from retinue.contract.event import Progress
from retinue.contract.task import Question
from tests.servers.parts import running
from tests.strangers.start import CLIENTS, SERVERS, Stranger, serving
from tests.strangers.subjects import deeds

DEEDS = ("call", "stream", "question", "cancel")


@agent(effects=[])
async def stranger(instruction: str, run: RunContext) -> str:
    """Does what it is told. Use to try a client. Returns what was asked for."""
    word, _, rest = instruction.partition(" ")
    if word == "count":
        for each in deeds.WORDS:
            run.emit(Progress(each))
        return " ".join(deeds.WORDS)
    if word == "ask":
        answer = await run.ask(Question(id="color", text=deeds.QUESTION))
        return f"You said {answer.value if answer else None}"
    if word == "sleep":
        await run.sleep(deeds.SLEEP_S)
    return rest


async def came_of(client: Stranger, address: str) -> dict[str, str]:
    """What a client says of its four deeds."""
    process = await asyncio.create_subprocess_exec(
        *client.command(address), env=variables(), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, errors = await process.communicate()
    if process.returncode:
        return dict.fromkeys(DEEDS, f"fails: {errors.decode()[-500:]}")
    return json.loads(out)


async def judge(only: str) -> list[dict[str, str]]:
    """A row for each client with our server, then for each server of others with the client that speaks like it."""
    rows: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder), agents=(stranger,)) as server:
            for client in CLIENTS:
                if only in client.name:
                    address = f"{server.address}/agents/general/stranger"
                    rows.append(row(client, "retinue", await came_of(client, address)))
    for other in SERVERS:
        if only in other.name:
            rows += await a2a_rows(other) if other.stdio is None else [await tools_of(other)]
    return rows


async def a2a_rows(server: Stranger) -> list[dict[str, str]]:
    """What its own client comes to with a server, and that of the SDK in the version which the server speaks."""
    speaks_old = server.lock in {"strangers-a2a-sdk", "strangers-agno"}
    clients = {each.lock: each for each in CLIENTS if each.lock == server.lock}
    clients |= {each.lock: each for each in CLIENTS[speaks_old : speaks_old + 1]}
    with serving(server) as address:
        return [row(each, server.name, await came_of(each, address)) for each in clients.values()]


async def tools_of(server: Stranger) -> dict[str, str]:
    """How many tools the client of MCP's SDK sees: that the server is there."""
    came: list[str] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        addresses: list[Any] = [stack.enter_context(serving(server))] if server.path else []
        if server.stdio is not None:
            program, *arguments = server.command(*server.stdio)
            env = {**variables(), "MEMORY_FILE_PATH": f"{folder}/memory.json"}
            addresses.append(StdioServerParameters(command=program, args=arguments, cwd=folder, env=env))
        for address in addresses:
            async with Client(address) as client:
                count = len((await client.list_tools()).tools)
            came.append(f"{count} tools over {'HTTP' if isinstance(address, str) else 'stdio'}")
    return row(Stranger("mcp", ""), server.name, {"version": version("mcp"), "call": ", ".join(came)})


def row(client: Stranger, server: str, came: dict[str, str]) -> dict[str, str]:
    """A row of the table."""
    return {"client": client.name, **came, "server": server}


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(prog="python -m tests.strangers", description=__doc__)
    parser.add_argument("--json", action="store_true", help="the rows as JSON instead of a table")
    parser.add_argument("--only", default="", help="part of a name")
    options = parser.parse_args()
    rows = asyncio.run(judge(options.only))
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        columns = ("client", "version", "server", *DEEDS)
        print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
        for each in rows:
            print(f"| {' | '.join(each.get(column, '').replace('|', '/') for column in columns)} |")


if __name__ == "__main__":
    main()
