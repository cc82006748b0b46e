"""The agent: typed skills over a tree of tickets. What they find out stands in the modules beside."""

from collections.abc import Callable
from typing import Any, Final

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._lazy import read_skills
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_limits import RunDeadline
from retinue.catalogue.tickets import TicketTree
from retinue.catalogue.tickets.ticket_work import find_ticket, judge_criteria, run_on_tickets
from retinue.contract.definition import ThinkingBounds
from retinue.contract.task import Task
from retinue.llm.models import Models

from .completeness import TicketScore, TicketScorer
from .hierarchy import HierarchySurvey
from .parameters import HierarchyGaps, HierarchyQuery, StoryDeep, TaskStart, TicketCompleteness, TicketQuery
from .story_review import StoryReview, report_readiness

_SKILL: Final[dict[str, Any]] = {
    "instruction_field": "question", "target_field": "target", "effects": ("read",), "timeout_s": 120,
}  # fmt: skip
_THINKS: Final[dict[str, Any]] = {
    **_SKILL, "thinks": "can", "thinks_within": ThinkingBounds(requests=6, tokens_in=60_000, tokens_out=6_000),
}  # fmt: skip
_SKILLS: Final = read_skills(__file__)


@retinue.agent(
    name="ticket_analyzer",
    version="1.0",
    category="analysis",
    wire_names={"markdown_json": "ticket-analyzer"},
    tags=("tickets", "stories", "completeness", "backlog", "readiness"),
    tier="small",
    tools=("read",),
)
class TicketAnalyzer:
    """Analyses tickets in Markdown: how complete they are, what the tree of them lacks, what can be started.

    Use it for questions about initiatives, epics, stories, tasks and bugs as tickets, by their ids; not for what
    commits or code say. Returns scores by a rubric, and what is missing with file, line and fix.
    """

    def __init__(self, models: Models | None = None) -> None:
        self.models = models  # who judges what rules cannot; without them that is listed as not judged

    @retinue.skill(output=StoryDeep, **_THINKS, **_SKILLS["story_deep"])
    async def story_deep(self, query: TicketQuery, task: Task, run: RunContext) -> Reply:
        """Analyses one story in depth: its completeness, its tasks, its progress and its place below its epic.

        Use it before or while a story is worked on. Returns scores of the story and its tasks, issues with place and
        fix, stated and actual progress, and whether it serves its epic.
        """
        return await self._judge(lambda scorer: StoryReview(scorer, query), task, run)

    @retinue.skill(output=TicketCompleteness, **_THINKS, **_SKILLS["ticket_completeness"])
    async def ticket_completeness(self, query: TicketQuery, task: Task, run: RunContext) -> Reply:
        """Scores how complete one ticket is: an initiative, epic, story, task or bug.

        Use it to see what a ticket lacks before it is worked on. Returns the score, each criterion, what is missing
        with place, impact and fix, and the level of quality.
        """
        return await self._judge(lambda scorer: scorer.score(find_ticket(scorer.tree, query.target)), task, run)

    @retinue.skill(output=HierarchyGaps, **_SKILL, **_SKILLS["hierarchy_gaps"])
    async def hierarchy_gaps(self, query: HierarchyQuery, run: RunContext) -> Reply:
        """Finds what a tree of tickets lacks: missing, incomplete and unlisted tickets, broken links, wrong statuses.

        Use it to see which tickets are to be written or mended next. Returns gaps with type, priority, place and fix.
        """

        def work(tree: TicketTree, report: SkillReport, deadline: RunDeadline) -> None:
            HierarchySurvey(TicketScorer(tree, run.workspace), query, deadline).report(report)

        report, _ = await run_on_tickets(run, "hierarchy_gaps", work)
        return report.reply()

    @retinue.skill(output=TaskStart, **_SKILL, **_SKILLS["task_readiness"])
    async def task_readiness(self, query: TicketQuery, run: RunContext) -> Reply:
        """Tells whether a task may be started, and what blocks it.

        Use it before a task is begun. Returns whether it is ready, what blocks it with the status that is needed,
        missing files, and what to see to first.
        """

        def work(tree: TicketTree, report: SkillReport, _: RunDeadline) -> None:
            report_readiness(TicketScorer(tree, run.workspace), query, report)

        report, _ = await run_on_tickets(run, "task_readiness", work)
        return report.reply()

    async def _judge(
        self, review_of: Callable[[TicketScorer], StoryReview | TicketScore], task: Task, run: RunContext
    ) -> Reply:
        report, review = await run_on_tickets(
            run, task.skill or "", lambda tree, _, __: review_of(TicketScorer(tree, run.workspace)),
            subject=lambda one: one.ticket, with_relatives=True,
        )  # fmt: skip
        models, definition = self.models, TicketAnalyzer.definition
        judgements = await judge_criteria(
            review.to_judge, review.text, report, models=models, definition=definition, task=task, run=run
        )
        review.report(judgements, report)
        return report.reply()
