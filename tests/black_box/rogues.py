"""Agents that behave as badly as agents do, as the text of their file."""

ROGUES = '''"""Agents that misbehave."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import retinue
from retinue.contract.event import Progress
from retinue.contract.task import Question


@retinue.agent
async def singer(task: str) -> dict[str, str]:
    """Sings loud songs. Use when a song must be sung. Returns the song."""
    return {"song": task}


@retinue.agent
async def hanger(task: str) -> dict[str, str]:
    """Hangs framed pictures. Use when a picture must be hung. Returns the picture."""
    await asyncio.Event().wait()
    return {}


@retinue.agent
def digger(task: str) -> dict[str, str]:
    """Digs deep tunnels. Use when a tunnel must be dug. Returns the tunnel."""
    while True:
        time.sleep(0.05)


@retinue.agent
async def blocker(task: str) -> dict[str, str]:
    """Blocks narrow roads. Use when a road must be blocked. Returns the road."""
    time.sleep(0.7)
    return {"road": task}


@retinue.agent
async def spinner(task: str) -> dict[str, str]:
    """Spins raw yarn. Use when yarn must be spun. Returns the yarn."""
    os.write(2, b"spinning\\n")
    while True:
        pass


@retinue.agent
async def printer(task: str) -> dict[str, str]:
    """Prints newspapers. Use when a newspaper must be printed. Returns the paper."""
    print("printed")
    os.write(1, b"written\\n")
    subprocess.run(["echo", "from a child"], check=True)
    sys.stdout.flush()
    return {"paper": task}


@retinue.agent
async def leaver(task: str) -> dict[str, str]:
    """Leaves burning houses. Use when a house must be left. Returns the key."""
    sys.exit(0)


@retinue.agent
def thread_leaver(task: str) -> dict[str, str]:
    """Leaves dark caves. Use when a cave must be left. Returns the lamp."""
    sys.exit(3)


@retinue.agent
async def quitter(task: str) -> dict[str, str]:
    """Quits boring jobs. Use when a job must be quit. Returns the salary."""
    await asyncio.sleep(0.3)
    os._exit(42)


@retinue.agent
async def interrupter(task: str) -> dict[str, str]:
    """Interrupts long talks. Use when a talk must be interrupted. Returns silence."""
    raise KeyboardInterrupt


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")

    __repr__ = __str__


@retinue.agent
async def thrower(task: str) -> dict[str, str]:
    """Throws heavy stones. Use when a stone must be thrown. Returns the stone."""
    raise Mute


@retinue.agent
async def faker(task: str) -> retinue.Reply:
    """Fakes old paintings. Use when a painting must be faked. Returns the painting."""
    paths = ("../outside.md", "/etc/passwd", "never-written.md")
    artifacts = tuple(retinue.Artifact(path=path, type="report") for path in paths)
    return retinue.Reply(data={"fake": task}, artifacts=artifacts)


@retinue.agent
async def reader(path: str, run: retinue.RunContext) -> dict[str, str]:
    """Reads written letters. Use when a letter must be read. Returns the letter."""
    return {"letter": run.workspace.read_text(path)}


@retinue.agent
async def counter(task: str, run: retinue.RunContext) -> dict[str, str]:
    """Counts white sheep. Use when sheep must be counted. Returns the number."""
    with (run.workspace.root / "counted.txt").open("a") as file:
        file.write("once\\n")
    return {"sheep": task}


@retinue.agent
async def guard(task: str, run: retinue.RunContext) -> dict[str, str]:
    """Waits at city gates. Use when somebody must wait at a gate. Returns who passed."""
    run.emit(Progress("waiting", "gate", 0, 1))
    while not (run.workspace.root / "open").exists():
        await run.sleep(0.05)
    return {"passed": task}
'''
