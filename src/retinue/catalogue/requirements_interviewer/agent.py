"""The agent: one interview for each kind of ticket. How it is led stands in the modules beside."""

from typing import Any, Final

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import phrases
from retinue.contract.definition import Sample, ThinkingBounds
from retinue.contract.task import Task
from retinue.llm.models import Models

from .conduct import InterviewSession
from .parameters import InitiativeRequest, InterviewRequest, InterviewResult

_SKILL: Final[dict[str, Any]] = {
    "output": InterviewResult, "instruction_field": "topic", "target_field": "target", "effects": ("read", "write"),
    "timeout_s": 300, "thinks": "can", "thinks_within": ThinkingBounds(requests=132, tokens_out=1_000),
}  # fmt: skip
_EXAMPLES: Final = """
    interview me about a new {0}; ask me what the new {1} needs; work out {2} with me; help me to put a new {0} into
    words; write a new {0} with me; question me until the {0} can be written down
"""
_FIRST: Final = {"target": "", "answers": {"title": "Faster search"}}
_FIRST_STEP: Final[dict[str, Any]] = {
    "ticket_id": "INIT-0002", "rubric": {"id": "requirements-initiative", "version": "1.0"},
    "captured": {"core": {"title": "Faster search"}, "acceptance_criteria": [], "bdd_scenarios": [], "children": [],
                 "technical_design": {}, "dependencies": [], "risks": []},
    "quotes": [{"question": "title", "text": "Faster search"}],
    "completeness": {"met": 1, "total": 8, "percent": 12, "target": 95, "target_met": False, "missing": [{
        "criterion": "urgency", "description": "It says why now.", "question": "why_now",
        "reason": "`why_now` is not answered."}]},
    "next_questions": [{"id": "problem", "text": "[2 of 16] What is wrong today, and for whom?",
                        "options": ["skip", "back", "stop"]}],
    "ticket": {"path": "docs/tickets/INIT-0002/README.md", "text": "# INIT-0002: Faster search\n", "is_written": False},
    "state": '{"form":"retinue-interview/1","rubric":{"id":"requirements-initiative","version":"1.0"},"target":"",'
             '"entries":[{"question":"title","text":"Faster search"}]}',
    "answer": "`INIT-0002` meets 1 of 8 criteria, 12 %.", "findings": [],
}  # fmt: skip


@retinue.agent(
    name="requirements_interviewer",
    version="1.0",
    category="planning",
    aliases=("interviewer",),
    wire_names={"markdown_json": "requirements-interviewer"},
    tags=("tickets", "requirements", "interview", "writing"),
    tier="small",
    tools=("write",),
)
class RequirementsInterviewer:
    """Interviews a person about a new ticket, one question at a time, and writes it down in their own words.

    Use it when a ticket that is not there yet has to be worked out with somebody; not to judge one that is. Returns the
    ticket, how complete it is, and what is still to be asked.

    Args:
        models: Who judges whether an answer is vague; without them rules do.
    """

    def __init__(self, models: Models | None = None) -> None:
        self.models = models

    @retinue.skill(
        **_SKILL,
        examples=phrases(_EXAMPLES.format("initiative", "initiative", "an initiative")),
        samples=(Sample(title="The first answer", parameters=_FIRST, answer=_FIRST_STEP),),
    )
    async def initiative(self, request: InitiativeRequest, task: Task, run: RunContext) -> Reply:
        """Asks a person sixteen questions about a new initiative: its problem, figures, parts and risks.

        Use it when an initiative is to be worked out with somebody. Returns its ticket, and what is still missing.
        """
        return await self._lead(request, task, run)

    @retinue.skill(**_SKILL, examples=phrases(_EXAMPLES.format("epic", "epic below `INIT-0001`", "an epic")))
    async def epic(self, request: InterviewRequest, task: Task, run: RunContext) -> Reply:
        """Asks a person seventeen questions about a new epic: what will be there, its stories, scenarios and size.

        Use it when an epic is to be worked out with somebody. Returns its ticket, and what is still missing.
        """
        return await self._lead(request, task, run)

    @retinue.skill(
        **_SKILL,
        examples=(
            *phrases(_EXAMPLES.format("story", "user story in `EPIC-0001.2`", "a user story")),
            "gather the requirements of a new story from me",
        ),
    )
    async def story(self, request: InterviewRequest, task: Task, run: RunContext) -> Reply:
        """Asks a person twenty-two questions about a new story: who wants what and why, criteria, scenarios, tasks.

        Use it when a user story is to be worked out with somebody. Returns its ticket, and what is still missing.
        """
        return await self._lead(request, task, run)

    @retinue.skill(**_SKILL, examples=phrases(_EXAMPLES.format("task", "task of `STORY-0001.2.3`", "a task")))
    async def task(self, request: InterviewRequest, task: Task, run: RunContext) -> Reply:
        """Asks a person seventeen questions about a new task: what is there after it, its steps, files and tests.

        Use it when a task is to be worked out with somebody. Returns its ticket, and what is still missing.
        """
        return await self._lead(request, task, run)

    async def _lead(self, request: InterviewRequest, task: Task, run: RunContext) -> Reply:
        definition = RequirementsInterviewer.definition
        return await InterviewSession(request, task, run, self.models, definition, task.skill or "").lead()
