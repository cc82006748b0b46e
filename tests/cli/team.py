"""The agents of the project in which these tests work, as the text of their file."""

TEAM = '''"""A team for trying out the command line."""

import asyncio
import os
import sys
import time

import retinue
from retinue.contract.event import Progress
from retinue.contract.task import Question


@retinue.agent
async def singer(task: str, times: int = 1) -> dict[str, str]:
    """Sings loud songs. Use when a song must be sung. Returns the song."""
    return {"song": " ".join([task] * times)}


@retinue.agent
async def painter(colour: str) -> dict[str, str]:
    """Paints a wooden fence. Use when a fence must be painted. Returns the fence."""
    return {"fence": colour}


@retinue.agent
async def breaker(task: str) -> dict[str, str]:
    """Breaks glass windows. Use when a window must be broken. Returns the shards."""
    raise RuntimeError("the \\x1b[31mhammer\\x1b[0m slipped\\u202e")


@retinue.agent
async def printer(task: str) -> dict[str, str]:
    """Prints newspapers. Use when a newspaper must be printed. Returns the paper."""
    print("ink everywhere")
    return {"paper": task}


@retinue.agent
async def leaker(task: str) -> dict[str, str]:
    """Leaks water pipes. Use when a pipe must be leaked. Returns the water."""
    os.write(1, b"water everywhere\\n")
    return {"water": task}


@retinue.agent
async def crawler(task: str, run: retinue.RunContext) -> dict[str, str]:
    """Crawls slowly over leaves. Use when leaves must be crawled over. Returns what it saw."""
    for step in range(300):
        run.emit(Progress("crawling", "leaf", step, 300))
        await run.sleep(0.1)
    return {"saw": task}


@retinue.agent
async def curious(task: str, run: retinue.RunContext) -> dict[str, str]:
    """Digs deep holes. Use when a hole must be dug. Returns the hole."""
    answer = await run.ask(Question(id="depth", text="How deep?", kind="choice", options=("shallow", "deep")))
    return {"hole": str(answer.value if answer else "none")}


@retinue.agent
async def chief(task: str) -> retinue.Plan:
    """Governs small villages. Use when a village must be governed. Returns what everybody did."""
    return retinue.Plan(
        goal=task,
        nodes=(
            retinue.Delegation(id="a", agent="singer", instruction="a hymn"),
            retinue.Delegation(id="b", agent="printer", instruction="the news"),
        ),
    )


@retinue.agent
def sleeper(task: str) -> dict[str, str]:
    """Sleeps in soft beds. Use when a bed must be slept in. Returns the dream."""
    time.sleep(60)
    return {"dream": task}


@retinue.agent
def hostile(task: str) -> str:
    """Writes rude letters. Use when a letter must be written. Returns the letter."""
    return "\\x1b[2J\\x1b[31mred\\x1b[0m \\u202etxt \\x9b31m"
'''
