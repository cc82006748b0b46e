"""`assess`: an assessment of a whole project as a plan over several agents. Who walks it is orchestration's."""

from typing import Final

from retinue.contract.plan import Delegation, Plan
from retinue.contract.task import Task

__all__ = ["assessment"]

_SELF: Final = "system_architect"


def assessment(task: Task) -> Plan:
    """The plan: what the project is made of, where change is hard, what its tests build on, what is written of it."""
    question = str(task.parameters.get("question") or task.instruction)
    nodes = (
        Delegation(id="structure", agent=_SELF, skill="overview", parameters={"question": question}),
        Delegation(id="hotspots", agent=_SELF, skill="hotspots", parameters={"question": question}, optional=True),
        Delegation(
            id="tests", agent="pattern_discovery", skill="full_survey", parameters={"question": question}, optional=True
        ),
        Delegation(
            id="documents",
            agent="researcher_analyst",
            skill="research",
            parameters={"task": _asked(question), "depth": "quick_scan", "sources": ["docs"]},
            optional=True,
        ),
    )
    return Plan(goal=question or "Assess the project", nodes=nodes)


def _asked(question: str) -> str:
    """What is looked up in the documents; a question of the user's own where there is one."""
    return f"What do the documents say about the architecture? {question}".strip()[:1000]
