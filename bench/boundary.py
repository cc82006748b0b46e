"""What a checked call costs: in a warm process, and as the first thing a fresh one does."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

import retinue
from bench.table import Row, median_of
from retinue.agents.boundary import Boundary
from retinue.agents.boundary.prepare import json_copy
from retinue.agents.local import LocalContext
from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract import json, schema
from retinue.contract.definition import Definition, Skill
from retinue.contract.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = 2_000
PROCESSES = 15


class Count(BaseModel):
    words: int
    letters: int


@agent
async def at_once(text: str) -> Count:
    """Counts. Use it when a length is asked for. Returns words and letters."""
    return Count(words=len(text.split()), letters=len(text))


@agent
async def waiting(text: str) -> Count:
    """Counts, but waits first. Use it when a length is asked for. Returns words and letters."""
    await asyncio.sleep(0)
    return Count(words=len(text.split()), letters=len(text))


class ByHand:
    """The same without `@agent`, so that only the boundary is measured."""

    definition = Definition(
        name="by_hand",
        description="Counts.",
        skills=(
            Skill(
                name="count",
                description="Counts.",
                input_schema={
                    "type": "object",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                    "additionalProperties": False,
                },
                output_schema={
                    "type": "object",
                    "properties": {"words": {"type": "integer"}, "letters": {"type": "integer"}},
                    "required": ["words", "letters"],
                    "additionalProperties": False,
                },
            ),
        ),
    )

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        del run
        text: str = task.parameters["text"]
        return Reply(data={"words": len(text.split()), "letters": len(text)})


REGISTRY = Registry([at_once, waiting, ByHand()])


def checked_call(name: str) -> float:
    """Microseconds a call, input and output validated, events recorded."""

    async def work() -> float:
        boundary = Boundary(REGISTRY)
        task = Task(id="bench", agent=name, parameters={"text": "two words"})
        result = await boundary.call(task, LocalContext())
        assert result.outcome == "success", result
        began = time.perf_counter()
        for _ in range(CALLS):
            await boundary.call(task, LocalContext())
        return (time.perf_counter() - began) / CALLS * 1e6

    return median_of(7, lambda: asyncio.run(work()))


def at_the_same_time() -> float:
    """Microseconds a call when a thousand run at once and each waits once."""

    async def work() -> float:
        boundary = Boundary(REGISTRY)
        task = Task(id="bench", agent="waiting", parameters={"text": "two words"})
        began = time.perf_counter()
        await asyncio.gather(*(boundary.call(task, LocalContext()) for _ in range(1_000)))
        return (time.perf_counter() - began) * 1e3

    return median_of(7, lambda: asyncio.run(work()))


RECORD = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "name": {"type": "string", "maxLength": 80},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}},
        "checked": {"type": "boolean"},
        "text": {"type": "string"},
    },
    "required": ["id", "name", "score"],
    "additionalProperties": False,
}
RESULT = {
    "items": [
        {
            "id": number,
            "name": "alpha beta",
            "score": 0.5,
            "tags": ["a", "b"],
            "place": {"path": "docs/guide.md", "line": number},
            "checked": True,
            "text": "Some text of about forty characters.",
        }
        for number in range(12)
    ]
}


def validation() -> tuple[float, int]:
    """Microseconds to copy and validate a result, and its size in bytes."""
    gives = schema.compile({"type": "object", "properties": {"items": {"type": "array", "items": RECORD}}})

    def work() -> float:
        began = time.perf_counter()
        for _ in range(CALLS):
            assert gives.is_valid(json_copy(RESULT), bounded=True)
        return (time.perf_counter() - began) / CALLS * 1e6

    return median_of(7, work), len(json.dumps(json_copy(RESULT)))


def plain_call() -> float:
    """Microseconds a call of a function that is no agent yet, after the first: its types are read once."""

    async def count(text: str) -> int:
        """Counts. Use it when a length is asked for. Returns words."""
        return len(text.split())

    async def work() -> float:
        began = time.perf_counter()
        for _ in range(CALLS):
            await retinue.call(count, text="two words")
        return (time.perf_counter() - began) / CALLS * 1e6

    return median_of(7, lambda: asyncio.run(work()))


NEW_AGENTS = """
import asyncio, retinue
from bench.table import peak_mb
async def work(agents):
    for number in range(agents):
        definition = retinue.Definition(
            name=f"agent_{number}", description="Counts.",
            skills=(retinue.Skill(
                name="count", description="Counts.", input_schema={"type": "object", "properties": {f"n{number}": {}}},
            ),),
        )
        await retinue.call(retinue.scripted({"words": 2}, definition=definition))
asyncio.run(work(1_000))
before = peak_mb()
asyncio.run(work(3_200))
print(peak_mb() - before)
"""


def growth_mb() -> float:
    """MB that 3,200 calls of as many new agents add, in a process of its own that has called a thousand."""
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run([sys.executable, "-c", NEW_AGENTS], cwd=root, check=True, capture_output=True, text=True)
    return float(done.stdout)


ONE_MODEL = """
from pydantic import BaseModel
class Count(BaseModel):
    words: int
    letters: int
Count(words=2, letters=9)
"""
FIRST_CALL = """
import asyncio
import retinue
from pydantic import BaseModel
class Count(BaseModel):
    words: int
    letters: int
@retinue.agent
async def counter(text: str) -> Count:
    '''Counts. Use it when a length is asked for. Returns words and letters.'''
    return Count(words=len(text.split()), letters=len(text))
assert asyncio.run(retinue.call(counter, text="two words")).outcome == "success"
"""


def fresh_processes() -> tuple[float, float]:
    """Milliseconds of a process that defines one pydantic model, and of one that makes a checked call.

    Interleaved, and the quickest of each: whatever else the machine does only adds.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run(program: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True, env=environment)
        return (time.perf_counter() - began) * 1e3

    rounds = [(run(ONE_MODEL), run(FIRST_CALL)) for _ in range(PROCESSES + 1)][1:]
    return min(one for one, _ in rounds), min(first for _, first in rounds)


def measure() -> Iterator[Row]:
    calls: list[tuple[str, Callable[[], float], str]] = [
        (
            "checked call of an async Python agent",
            lambda: checked_call("at_once"),
            "types read and written by pydantic",
        ),
        ("the same, and the agent waits once", lambda: checked_call("waiting"), "with its timer"),
        ("the boundary's own share of it", lambda: checked_call("by_hand"), "an agent without `@agent`"),
        ("the same of a plain function, by `retinue.call`", plain_call, "its types are read once"),
        ("a thousand checked calls at once, each", at_the_same_time, "each agent waits once"),
    ]
    for name, work, note in calls:
        yield Row(name, work(), "µs", goal=100, note=note)
    yield Row("memory that 3,200 calls of new agents add", growth_mb(), "MB", goal=10, note="process of its own")
    spent, size = validation()
    yield Row("copying and validating a 2 kB result", spent, "µs", goal=50, note=f"{size} bytes of JSON")
    one, first = fresh_processes()
    yield Row("process that defines one pydantic model", one, "ms")
    yield Row("process that makes its first checked call", first, "ms")
    yield Row("first checked call over one pydantic model", first / one, "times", goal=1.8, note="interleaved")
