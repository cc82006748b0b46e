"""The agent itself: reads a task, answers with a plan. Who walks it, and what comes of it, is orchestration's."""

from typing import Final, cast

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._definitions import load_definition
from retinue.catalogue._prose import one_line
from retinue.contract.definition import Definition
from retinue.contract.fault import Fault
from retinue.contract.result import Warned
from retinue.contract.task import Task
from retinue.errors import InvalidInput

__all__ = ["ResearchSupervisor"]

_WORKER: Final = "researcher_analyst"
_SKILL: Final = "research"
_MOST: Final = 12
"""Subjects that are looked up; what is said about more of them nobody reads."""

_QUORUM: Final = 0.5
_SHOWN: Final = 80


class ResearchSupervisor:
    """Has the researcher look up several subjects at once."""

    @property
    def definition(self) -> Definition:
        """What it says of itself."""
        return load_definition(__package__ or "")

    async def run(self, task: Task, run: RunContext, /) -> Reply:  # noqa: ARG002 - the port gives it
        """Do `research_each`: a plan with one worker a subject."""
        from retinue.catalogue.research_supervisor.question import (  # noqa: PLC0415 - when it is needed
            DEFAULT,
            question_about,
            sources_for,
        )
        from retinue.orchestration.supervise import supervise  # noqa: PLC0415

        said = cast("list[str]", task.parameters["subjects"])
        named: dict[str, str] = {}
        for text in said:
            if one := one_line(text):
                named.setdefault(one.casefold(), one)
        subjects = list(named.values())
        if not subjects:
            return _nothing()
        asked = str(task.parameters.get("question") or "")
        chosen, left_out = subjects[:_MOST], subjects[_MOST:]
        sources = sources_for(asked, cast("list[str]", task.parameters.get("sources", DEFAULT)))
        plan = supervise(
            chosen,
            agent=_WORKER,
            skill=_SKILL,
            parameters={"sources": sources, "depth": "quick_scan"},
            quorum=_QUORUM,
            goal=asked or "What is said about each",
        )
        workers = [
            worker.model_copy(update={"instruction": question_about(subject, asked)})
            for worker, subject in zip(plan.nodes, chosen, strict=True)
        ]
        plan = plan.model_copy(update={"nodes": tuple(workers)})
        return Reply(plan=plan, warnings=(_left_out(left_out),) if left_out else ())


def _nothing() -> Reply:
    error = InvalidInput(
        "None of the subjects has a name.", hint="Say what should be looked up.", path="/parameters/subjects"
    )
    return Reply(outcome="error", fault=Fault.from_error(error))


def _left_out(subjects: list[str]) -> Warned:
    names = ", ".join(f"{one_line(subject, longest=_SHOWN)!r}" for subject in subjects[:_MOST])
    more = f" and {len(subjects) - _MOST} more" if len(subjects) > _MOST else ""
    return Warned(
        type="missing_data",
        message=f"At most {_MOST} subjects are looked up; left out: {names}{more}.",
        impact="Nothing is said about these.",
        recovery="Ask about them by themselves.",
    )
