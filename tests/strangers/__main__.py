"""What clients of others come to with our server, and with the servers of others: a call, a stream, a question, a cancel.

python -m tests.strangers [--json] [--only NAME]
"""

import argparse
import asyncio
import json
import tempfile
from pathlib import Path

from bench.peers.environments import variables
from retinue.agents.port import RunContext
from retinue.agents.python import agent
from retinue.contract.event import Progress
from retinue.contract.task import Question
from tests.servers.parts import running
from tests.strangers.start import CLIENTS, SERVERS, Stranger, serving
from tests.strangers.subjects import deeds

DEEDS = ("call", "stream", "question", "cancel", "wrong")


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


async def came_of(client: Stranger, server: Stranger, address: str) -> dict[str, str]:
    """The row of a client with the server at an address, or the one that it starts itself, over stdio."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "note.txt").write_text("hello")  # noqa: ASYNC240 - nothing else goes on
        if not address:
            program, *arguments = server.command(*(server.stdio or ()))
            entry = {"command": program, "args": arguments, "env": {"MEMORY_FILE_PATH": f"{folder}/memory.json"}}
            Path(folder, "mcp.json").write_text(json.dumps({"mcpServers": {"stranger": entry}}))  # noqa: ASYNC240
        process = await asyncio.create_subprocess_exec(
            *client.command(address or "stranger", server.name),
            cwd=folder,
            env=variables(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await process.communicate()
    came = dict.fromkeys(DEEDS, f"fails: {errors.decode()[-500:]}") if process.returncode else json.loads(out)
    over = ", over stdio" if not address else ", over HTTP" if server.stdio is not None else ""
    return {"client": client.name, **came, "server": f"{server.name}{over}"}


async def judge(only: str) -> list[dict[str, str]]:
    """A row for each client with our server, then for each server of others with its own client, that of the SDK in
    the version which the server speaks, and ours.
    """
    rows: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder), agents=(stranger,)) as server:
            address = f"{server.address}/agents/general/stranger"
            others = [each for each in CLIENTS[1:] if only in each.name]
            rows += [await came_of(each, Stranger("retinue", ""), address) for each in others]
    for other in SERVERS:
        if only not in other.name:
            continue
        if other.path is not None:
            with serving(other) as address:
                rows += [await came_of(each, other, address) for each in clients_of(other)]
        if other.stdio is not None:
            rows.append(await came_of(CLIENTS[0], other, ""))
    return rows


def clients_of(server: Stranger) -> tuple[Stranger, ...]:
    """Ours, and for a server of A2A its own and that of the SDK."""
    ours, sdk, old_sdk, *_ = CLIENTS
    if server.stdio is not None:
        return (ours,)
    speaks_old = server.lock in {"strangers-a2a-sdk", "strangers-agno"}
    own = next(each for each in CLIENTS[1:] if each.lock == server.lock)
    return tuple(dict.fromkeys((ours, own, old_sdk if speaks_old else sdk)))


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
