"""`assess`: an assessment of a whole project as a plan over several agents. Who walks it is orchestration's."""

from typing import Final

from retinue.contract.plan import Delegation, Plan

__all__ = ["assessment"]

_SELF: Final = "system_architect"
_DOCUMENTS: Final = "What do the documents say about the architecture?"
"""The words of the request are left out: what documents call things is not what somebody asks in passing."""


def assessment(question: str) -> Plan:
    """The plan: what the project is made of, where change is hard, what its tests build on, what is written of it."""
    nodes = (
        Delegation(id="structure", agent=_SELF, skill="overview", parameters={"question": question}),
        # After the structure, so that the files are read once.
        Delegation(
            id="hotspots",
            agent=_SELF,
            skill="hotspots",
            parameters={"question": question},
            needs=("structure",),
            context={"structure": "none"},
            optional=True,
        ),
        Delegation(
            id="tests", agent="pattern_discovery", skill="full_survey", parameters={"question": question}, optional=True
        ),
        Delegation(
            id="documents",
            agent="researcher_analyst",
            skill="research",
            parameters={"task": _DOCUMENTS, "depth": "quick_scan", "sources": ["docs"]},
            optional=True,
        ),
    )
    return Plan(goal=question or "Assess the project", nodes=nodes)
