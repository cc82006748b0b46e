"""An agent tested without a provider: on a scripted model, which is recorded, and then on the recording."""

import asyncio
from pathlib import Path

import retinue
from retinue.agents.prompted import PromptedAgent
from retinue.contract.definition import Definition, Skill
from retinue.errors import UnknownName
from retinue.llm.models import Models
from retinue.llm.port import LanguageModel, Request, UserMessage
from retinue.llm.recording import Recorder, Replay
from retinue.llm.scripted import ScriptedModel

GREETER = Definition(
    name="greeter",
    version="1.0",
    description="Greets somebody by name. Use when a greeting is due. Returns the greeting.",
    instructions="You greet people. Answer in one short sentence.",
    skills=(Skill(name="greet", description="Greets somebody.", input_schema={"type": "object", "properties": {}}),),
)


async def greet(model: LanguageModel) -> str:
    """What the agent says on `model`."""
    result = await retinue.call(PromptedAgent(GREETER, models=Models.only(model)), "Greet Ada.")
    return result.content


async def main() -> None:
    """Record, replay, and ask for what was never recorded."""
    scripted = ScriptedModel(["Good day, Ada! Your key sk-0123456789abcdefghij is safe with me."])
    print("scripted:", await greet(Recorder(scripted, "greeter.jsonl")))
    print("replayed:", await greet(Replay("greeter.jsonl")))
    try:
        await Replay("greeter.jsonl").respond(Request((UserMessage("# Task\n\nGreet Bob."),)))
    except UnknownName as error:
        print("unknown: ", error.message)


if __name__ == "__main__":
    Path("greeter.jsonl").unlink(missing_ok=True)
    asyncio.run(main())
