"""The agent itself: four skills with one result, each over other sections of a ticket."""

from typing import Annotated, Any, Final

from pydantic import Field

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import phrases
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_limits import RunDeadline
from retinue.catalogue.tickets import Ticket, TicketTree, read_rubric
from retinue.catalogue.tickets.judgement import judge_criteria
from retinue.catalogue.tickets.ticket_work import TicketTarget, find_ticket, run_on_tickets
from retinue.contract.definition import Sample, ThinkingBounds
from retinue.contract.model import JsonMapping
from retinue.contract.task import Task
from retinue.llm.models import Models

from .parameters import DEFAULT_RUBRIC, SpecificationQuality, SpecificationRubric, SpecSection
from .rewrites import ask_for_rewrites
from .specification_check import SpecificationCheck

_Target = Annotated[TicketTarget, Field(pattern=r"[0-9/\\]")]
_SCORE: Final = "`STORY-0001.2.3` scores 100 of 100 (agent ready): 0 issues in 40 checkpoints."
_QUALITY: Final[JsonMapping] = {
    "ticket_id": "STORY-0001.2.3", "quality_score": 100, "quality_level": "agent_ready", "agent_ready": True,
    "issues": [], "section_scores": {"acceptance_criteria": 100}, "recommendations": [], "not_judged": ["edge_cases"],
    "summary": {"total_issues": 0, "by_category": {}, "by_severity": {}}, "answer": _SCORE,
    "rubric": {"id": "specification-quality", "version": "1.0"},
    "formula": {"id": "weighted-3-2-1", "text": "100 - penalties / checkpoints * 100", "checkpoints": 40},
    "findings": [{"topic": "score", "content": _SCORE, "source": "docs/tickets/STORY-0001.2.3.md:1"}],
}  # fmt: skip
_CHECKS: Final[dict[str, Any]] = {
    "output": SpecificationQuality, "target_field": "target", "effects": ("read",), "timeout_s": 300, "thinks": "can",
    "thinks_within": ThinkingBounds(requests=12, tokens_in=60_000, tokens_out=8_000),
    "samples": (Sample(title="Nothing is left open", parameters={"target": "STORY-0001.2.3"}, answer=_QUALITY),),
}  # fmt: skip


@retinue.agent(
    name="specification_quality_checker",
    version="1.0",
    category="analysis",
    wire_names={"markdown_json": "specification-quality-checker"},
    tags=("tickets", "specification", "quality", "vague", "wording"),
    tier="medium",
    tools=("read",),
)
class SpecificationQualityChecker:
    """Checks how exactly a ticket is specified: vague words, placeholders, missing numbers, errors and edge cases.

    Use it when somebody asks whether a ticket is worded precisely enough to be implemented; not for its dependencies or
    status. Returns a score, and each issue with its file, line and a fix.
    """

    def __init__(self, models: Models | None = None) -> None:
        self.models = models

    @retinue.skill(
        **_CHECKS,
        examples=phrases("""
            is the ticket STORY-0001.2.3 specified precisely; which words of ticket STORY-0001.2.3 are vague; check the
            specification quality of EPIC-0001.2; find vague wording in BUG-0007; does the ticket TASK-0001.2.3.4 have
            placeholders left; score how unambiguous the ticket STORY-0001.2.3 is; are there unquantified requirements
            in STORY-0001.2.3; could an agent implement STORY-0001.2.3 from its wording alone
        """),
    )
    async def full_ticket(self, target: _Target, task: Task, run: RunContext) -> Reply:
        """Checks the whole text of a ticket for vague words, placeholders and what it leaves unspecified.

        Use it before somebody starts to implement a ticket. Returns a score for the whole and for each section, and
        every issue with place and fix.
        """
        return await self._check((), target, task, run)

    @retinue.skill(
        **_CHECKS,
        examples=phrases("""
            are the acceptance criteria of STORY-0001.2.3 precise; which acceptance criteria of STORY-0001.2.3 cannot be
            tested; check the wording of the acceptance criteria in STORY-0001.2.3; are the BDD scenarios of
            STORY-0001.2.3 missing edge cases; vague acceptance criteria in EPIC-0001.2
        """),
    )
    async def acceptance_criteria(self, target: _Target, task: Task, run: RunContext) -> Reply:
        """Checks the wording of a ticket's acceptance criteria and scenarios, and whether one of them fails.

        Use it when criteria are to be tested. Returns a score and every issue with place and fix.
        """
        return await self._check(("acceptance_criteria", "bdd_scenarios"), target, task, run)

    @retinue.skill(
        **_CHECKS,
        examples=phrases("""
            is the technical design of STORY-0001.2.3 specified precisely; check the wording of the technical design in
            STORY-0001.2.3; what does the technical design of TASK-0001.2.3.4 leave open
        """),
    )
    async def technical_design(self, target: _Target, task: Task, run: RunContext) -> Reply:
        """Checks the wording of the technical design in a ticket.

        Use it when a design is to be implemented as it is written. Returns a score and every issue with place and fix.
        """
        return await self._check(("technical_design",), target, task, run)

    @retinue.skill(
        **_CHECKS,
        examples=phrases("""
            are the implementation steps of TASK-0001.2.3.4 precise; check the wording of the implementation checklist
            in TASK-0001.2.3.4; which steps of the checklist in TASK-0001.2.3.4 are vague
        """),
    )
    async def task_steps(self, target: _Target, task: Task, run: RunContext) -> Reply:
        """Checks the wording of the implementation steps in a ticket.

        Use it when somebody is to work through a checklist. Returns a score and every issue with place and fix.
        """
        return await self._check(("implementation_checklist",), target, task, run)

    async def _check(self, sections: tuple[SpecSection, ...], target: str, task: Task, run: RunContext) -> Reply:
        checks: list[SpecificationCheck] = []

        def work(tree: TicketTree, _: SkillReport, deadline: RunDeadline) -> Ticket:
            rubric = read_rubric(SpecificationRubric, DEFAULT_RUBRIC, run.workspace)
            checks.append(SpecificationCheck(find_ticket(tree, target), rubric, sections))
            checks[0].examine(deadline)
            return checks[0].ticket

        report = await run_on_tickets(run, task.skill or "", work)
        (check,), models = checks, self.models
        criteria = check.open_criteria()
        arguments: dict[str, Any] = {"definition": SpecificationQualityChecker.definition, "task": task, "run": run}
        texts = {key: one.text for key, one in criteria.items()}
        judgements = await judge_criteria(texts, check.ticket.text, report, models=models, **arguments)
        for key, judgement in judgements.items():
            check.add_judgement(criteria[key], judgement)
        if models is not None and models.configured:
            await ask_for_rewrites(check, report, models, **arguments)
        check.fill(report, [key for key in criteria if key not in judgements])
        return report.reply()
