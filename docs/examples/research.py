"""A question about a folder, answered by quotations, and then in the words of a model that had to cite them."""

import asyncio
from pathlib import Path

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel
from retinue.tools.workspace import Workspace

GUIDE = "# Kettle\n\nThe valve opens at 110 degrees, because steam must never burst the lid.\n"


async def research(question: str, models: Models | None = None) -> Result:
    """What `researcher_analyst` finds in the folder where this runs."""
    task = Task(
        id="t",
        agent="researcher_analyst",
        skill="research",
        parameters={"task": question, "depth": "quick_scan", "sources": ["docs"]},
    )
    return await Boundary(Registry(agents(models=models))).call(task, LocalContext(workspace=Workspace(Path.cwd())))


async def main() -> None:
    """Ask twice."""
    quoted = await research("Why does the valve open?")
    print("quoted: ", quoted.content)

    claims = [
        {"text": "To keep steam from bursting the lid, the valve opens at 110 degrees.", "cites": ["f1"]},
        {"text": "It opens at 90 degrees in winter.", "cites": ["f1"]},
    ]
    model = ScriptedModel([{"claims": claims}])
    written = await research("Why does the valve open?", Models.only(model))
    print("written:", written.data["answer"])
    for each in written.data["summary"]["dropped"]:
        print("dropped:", each["text"], "-", each["reason"])


if __name__ == "__main__":
    Path("GUIDE.md").write_text(GUIDE, encoding="utf-8")
    asyncio.run(main())
