"""Our own caller: the command for a call and a wrong parameter, Python where events and a cancel are to be seen.

The server at a URL, or the one that `mcp.json` in this folder names; behind the address stands what the server is.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from deeds import QUESTION, SLEEP_S, NoWord, expect, judge

import retinue
from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.port import Agent
from retinue.agents.registry import Registry
from retinue.agents.remote.discovery import RemoteAgents
from retinue.agents.remote.mcp_servers import read_servers
from retinue.contract.event import Progress, TextDelta
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question, Task

WORDS = {"call": "echo hello", "stream": "count", "question": "ask", "cancel": "sleep"}
TOOLS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "mcp": {
        "call": ("echo", {"text": "hello"}),
        "stream": ("count", {"last": 3}),
        "question": ("ask", {}),
        "cancel": ("sleep", {"seconds": SLEEP_S}),
        "canceled": ("count_canceled", {}),
        "wrong": ("count", {"last": "soon"}),
    },
    "@modelcontextprotocol/server-everything": {
        "call": ("echo", {"message": "hello"}),
        "stream": ("trigger_long_running_operation", {"duration": 1, "steps": 3}),
        "question": ("trigger_elicitation_request", {}),
        "wrong": ("get_sum", {"a": "soon", "b": 1}),
    },
    "@modelcontextprotocol/server-filesystem": {
        "call": ("read_text_file", {"path": "note.txt"}),
        "wrong": ("read_text_file", {"path": "note.txt", "head": "soon"}),
    },
    "@modelcontextprotocol/server-memory": {
        "call": ("create_entities", {"entities": '[{"name": "hello", "entityType": "word", "observations": []}]'}),
        "wrong": ("create_entities", {"entities": "soon"}),
    },
}
AGNO_LACKS = {"question": "no state of its A2A asks", "cancel": "its card has the address of `message/stream` alone"}
LACKS = {
    "stream": "no tool tells how far it is",
    "question": "no tool asks",
    "cancel": "no tool stops before its end",
    "wrong": "its card says no parameters",
}
ENVIRONMENT = {
    **os.environ,
    **{f"RETINUE_{name}_DIR": str(Path.cwd() / name.lower()) for name in ("STATE", "CACHE", "CONFIG")},
    "RETINUE_MCP_FILE": "mcp.json" if Path("mcp.json").exists() else "",
}


def told(deed: str) -> tuple[str, str, dict[str, Any]]:
    """The skill, the words and the parameters of a deed."""
    if sys.argv[2] == "agno" and deed in AGNO_LACKS:
        raise NoWord(AGNO_LACKS[deed])
    tools = TOOLS.get(sys.argv[2])
    if deed not in (WORDS if tools is None else tools):
        raise NoWord(LACKS[deed])
    return ("", WORDS[deed], {}) if tools is None else (tools[deed][0], "", tools[deed][1])


async def command(address: str, deed: str) -> tuple[int | None, str]:
    """How `retinue ask` ends, and what it prints."""
    skill, words, parameters = told(deed)
    options = [word for name, value in parameters.items() for word in ("-p", f"{name}={value}")]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "retinue", "ask", address, skill or words, *options, "--json"),
        env=ENVIRONMENT, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    return process.returncode, out.decode()


class Person(LocalContext):
    """Answers that it is blue, and keeps what was asked."""

    def __init__(self) -> None:
        super().__init__(answer=self.say)
        self.asked = ""

    async def say(self, question: Question) -> Answer:
        self.asked += question.text
        return Answer(question_id=question.id, value="blue")


@asynccontextmanager
async def reached(address: str) -> AsyncGenerator[Agent]:
    own = read_servers(Path("mcp.json"), cwd=Path.cwd()).servers if not address.startswith("http") else ()
    async with RemoteAgents([], servers=own) if own else retinue.connect(stranger=address) as remote:
        yield remote.agents[0]


async def asked(agent: Agent, run: Person, deed: str) -> Result:
    skill, words, parameters = told(deed)
    skill = skill or agent.definition.skills[0].name
    task = Task(id=deed, agent=agent.definition.name, skill=skill, instruction=words, parameters=parameters)
    return await Boundary(Registry()).call_agent(agent, task, run)


async def call(address: str) -> None:
    code, out = await command(address, "call")
    expect((code, out), "(0, ")
    expect(out, "hello")


async def stream(address: str) -> None:
    async with reached(address) as agent, Person() as run:
        result = await asked(agent, run, "stream")
        expect(result, "outcome='success'")
        came = [event.body for event in run.events if isinstance(event.body, (Progress, TextDelta))]
        if len(came) < 2:
            raise AssertionError(f"{len(came)} events")


async def question(address: str) -> None:
    async with reached(address) as agent, Person() as run:
        result = await asked(agent, run, "question")
        expect(run.asked or result, "Your full, legal name" if "everything" in sys.argv[2] else QUESTION)
        expect(result.content or result.data, "blue")


async def cancel(address: str) -> None:
    told("cancel")
    async with reached(address) as agent, Person() as run:
        asking = asyncio.ensure_future(asked(agent, run, "cancel"))
        await asyncio.wait({asking}, timeout=2)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        if sys.argv[2] == "mcp":
            expect(await asked(agent, run, "canceled"), "data={'result': 1}")
        else:  # what has become of the task there
            expect(await asked(agent, run, "cancel"), "outcome='canceled'")


async def wrong(address: str) -> None:
    code, out = await command(address, "wrong")
    expect((code, out), "(2, ")
    expect(out, '"path": "/parameters/')


if __name__ == "__main__":
    judge("retinue", call=call, stream=stream, question=question, cancel=cancel, wrong=wrong)
