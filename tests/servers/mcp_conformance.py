"""A server for the official conformance suite of MCP: the suite calls tools and prompts by fixed names.

python -m tests.servers.mcp_conformance --port 8101             # what agents of a registry can be
python -m tests.servers.mcp_conformance --port 8101 --fixtures  # and what only judges how the SDK is put together
"""

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any

from starlette.applications import Starlette

from retinue.agents.load.command import load_command
from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract.event import Progress
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Artifact
from retinue.contract.task import Answer, Question, Task
from retinue.engine.inprocess import InProcessEngine
from retinue.errors import Unavailable
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.servers.admission import Admission
from retinue.servers.app import LOCAL_NAMES
from retinue.servers.guard import RequestGuard
from retinue.servers.keys import KeyStore
from retinue.servers.mcp import McpDoor
from retinue.servers.server import listen, serve
from retinue.servers.service import Service
from retinue.tools.workspace import Workspace
from tests.servers.mcp_fixtures import mount
from tests.servers.mcp_parts import PIXEL

FILES = {"a.png": PIXEL, "a.wav": b"RIFF\x24\x00\x00\x00WAVE", "a.txt": b"This is an embedded resource content."}
PNG, WAV, TEXT = (
    Artifact(path=name, media_type=kind)
    for name, kind in zip(FILES, ("image/png", "audio/wav", "text/plain"), strict=True)
)


def form(**properties: Any) -> dict[str, Any]:
    """A schema of an object whose fields are all needed."""
    return {"type": "object", "properties": properties, "required": list(properties)}


NAME = form(name={"type": "string"})


async def ask(run: RunContext, name: str, text: str, schema: dict[str, Any]) -> Any:
    """What a person fills in."""
    answer: Answer | None = await run.ask(Question(id=name, text=text, answer_schema=schema))
    return answer.value if answer else None


@agent(effects=[])
async def test_simple_text() -> str:
    """Says a text. Use to test. Returns it."""
    return "This is a simple text response for testing."


@agent(effects=[])
async def test_image_content() -> Reply:
    """Shows an image. Use to test. Returns it."""
    return Reply(text="", artifacts=(PNG,))


@agent(effects=[])
async def test_audio_content() -> Reply:
    """Plays a sound. Use to test. Returns it."""
    return Reply(text="", artifacts=(WAV,))


@agent(effects=[])
async def test_embedded_resource() -> Reply:
    """Hands out a file. Use to test. Returns it."""
    return Reply(text="", artifacts=(TEXT,))


@agent(effects=[])
async def test_multiple_content_types() -> Reply:
    """Hands out three things. Use to test. Returns them."""
    return Reply(text="Multiple content types test:", artifacts=(PNG, TEXT))


@agent(effects=[])
async def test_error_handling() -> str:
    """Fails. Use to test. Returns nothing."""
    raise Unavailable("This tool intentionally returns an error for testing")


@agent(effects=[])
async def test_tool_with_progress(run: RunContext) -> str:
    """Goes on step by step. Use to test. Returns that it is through."""
    for done in (0, 50, 100):
        run.emit(Progress("work", done=done, total=100))
        await run.sleep(0.05)
    return "through"


@agent(effects=[])
async def test_elicitation(message: str, run: RunContext) -> str:
    """Asks a message. Use to test. Returns the answer."""
    return (
        f"User response: {await ask(run, 'who', message, form(username={'type': 'string'}, email={'type': 'string'}))}"
    )


@agent(effects=[])
async def test_elicitation_sep1034_defaults(run: RunContext) -> str:
    """Asks with defaults. Use to test. Returns the answer."""
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return f"Elicitation completed: {await ask(run, 'who', 'Who are you?', form(**fields))}"


@agent(effects=[])
async def test_elicitation_sep1330_enums(run: RunContext) -> str:
    """Asks with choices. Use to test. Returns the answer."""
    options, titled = ["option1", "option2", "option3"], [
        {"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)
    ]  # fmt: skip
    fields = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return f"Elicitation completed: {await ask(run, 'what', 'Choose.', form(**fields))}"


@agent(effects=[])
async def test_input_required_result_elicitation(run: RunContext) -> str:
    """Asks for a name. Use to test. Returns a greeting."""
    return f"Hello, {(await ask(run, 'user_name', 'What is your name?', NAME))['name']}!"


@agent(effects=[])
async def test_input_required_result_request_state(run: RunContext) -> str:
    """Asks to go on. Use to test. Returns that it did."""
    return f"state-ok {await ask(run, 'confirm', 'Please confirm', form(ok={'type': 'boolean'}))}"


@agent(effects=[])
async def test_input_required_result_multi_round(run: RunContext) -> str:
    """Asks twice. Use to test. Returns both answers."""
    name = await ask(run, "step1", "Step 1: What is your name?", NAME)
    color = await ask(run, "step2", "Step 2: What is your favorite color?", form(color={"type": "string"}))
    return f"{name['name']} likes {color['color']}"


@agent(effects=[])
async def test_input_required_result_tampered_state(run: RunContext) -> str:
    """Asks to go on. Use to test. Returns that it did."""
    return f"done {await ask(run, 'confirm', 'Please confirm', form(ok={'type': 'boolean'}))}"


@agent(effects=[])
async def test_streaming_elicitation(run: RunContext) -> str:
    """Asks. Use to test. Returns the answer."""
    return f"done {await ask(run, 'confirm', 'Please confirm', form(ok={'type': 'boolean'}))}"


# The extension for tasks


@agent(effects=[])
async def greet(name: str) -> str:
    """Greets. Use to greet. Returns the greeting."""
    return f"Hello, {name}!"


@agent(effects=[], timeout_s=120)
async def slow_compute(run: RunContext, seconds: float = 0, label: str = "") -> str:
    """Takes its time. Use to test. Returns that it is through."""
    await run.sleep(seconds)
    return f"computed {label}"


@agent(effects=[], timeout_s=120)
async def failing_job(run: RunContext) -> str:
    """Fails after a second. Use to test. Returns nothing."""
    await run.sleep(1)
    raise Unavailable("This job always fails.")


@agent(effects=[], timeout_s=120)
async def protocol_error_job(task: Task) -> str:
    """Breaks. Use to test. Returns nothing."""
    raise ValueError(task.id)


@agent(effects=[], timeout_s=120)
async def confirm_delete(run: RunContext, filename: str = "") -> str:
    """Asks before it does something. Use to test. Returns the answer."""
    return f"{filename}: {await ask(run, 'confirm', 'Delete it?', form(confirm={'type': 'boolean'}))}"


@agent(effects=[])
async def multi_input_part(which: str, run: RunContext) -> str:
    """Asks one thing. Use to test. Returns the answer."""
    return f"{which}: {await ask(run, which, f'What of {which}?', form(value={'type': 'string'}))}"


@agent(effects=[], timeout_s=120, composes=True)
async def multi_input() -> Plan:
    """Asks two things at once. Use to test. Returns the answers."""
    parts = ("first", "second")
    return Plan(
        goal="Ask both.",
        nodes=tuple(Delegation(id=each, agent="multi_input_part", parameters={"which": each}) for each in parts),
    )


AGENTS = tuple(
    each for name, each in list(globals().items())
    if name.startswith(("test_", "multi_input"))
    or name in {"greet", "slow_compute", "failing_job", "protocol_error_job", "confirm_delete"}
)  # fmt: skip
COMMANDS = {
    "test_simple_prompt": b"This is a simple prompt for testing.",
    "test_prompt_with_arguments": b"---\nargument-hint: <arg1> <arg2>\n---\nPrompt with arguments: arg1='$1', arg2='$2'",
}


def registry() -> Registry:
    """All agents of the suite."""
    agents = Registry(AGENTS)
    for name, data in COMMANDS.items():
        loaded = load_command(data, file=f".claude/commands/{name}.md")
        for each in loaded.agents:
            agents.add(each)
    return agents


async def main(port: int, *, fixtures: bool) -> None:
    """Serve until the process is told to stop."""
    with tempfile.TemporaryDirectory() as folder, listen("127.0.0.1", port) as sock:
        for name, data in FILES.items():
            (Path(folder) / name).write_bytes(data)
        agents, workspace = registry(), Workspace(Path(folder))
        engine = InProcessEngine(workflows(agents, workspace=workspace), waits_for_answers=True)
        async with engine:
            service = Service(Orchestrator(agents, engine, workspace), Admission(KeyStore(Path(folder) / "keys")))
            door = McpDoor(service)
            if fixtures:
                mount(door.server)
            app = Starlette(routes=door.routes, lifespan=door.lifespan)
            await serve(RequestGuard(app, hosts=LOCAL_NAMES), service, sock, on_ready=lambda: None)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8101)
    parser.add_argument("--fixtures", action="store_true")
    chosen = parser.parse_args()
    asyncio.run(main(chosen.port, fixtures=chosen.fixtures))
