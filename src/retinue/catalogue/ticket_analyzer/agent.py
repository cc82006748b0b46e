"""The agent: typed skills over a tree of tickets. What they find out stands in the modules beside."""

from collections.abc import Callable
from typing import Any, Final

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import phrases
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_limits import RunDeadline
from retinue.catalogue.tickets import Ticket, TicketTree
from retinue.catalogue.tickets.judgement import judge_criteria
from retinue.catalogue.tickets.ticket_work import find_ticket, run_on_tickets
from retinue.contract.definition import Sample, ThinkingBounds
from retinue.contract.model import JsonMapping
from retinue.contract.task import Task
from retinue.llm.models import Models

from .completeness import TicketScore, TicketScorer
from .hierarchy import HierarchySurvey
from .parameters import HierarchyGaps, HierarchyQuery, StoryDeep, TaskStart, TicketCompleteness, TicketQuery
from .story_review import StoryReview, report_readiness

_BUG: Final = "BUG-0001 is 100 % complete (`ready`): 5 of 5 criteria met, of 5 in the rubric."
_COMPLETE: Final[JsonMapping] = {
    "ticket_id": "BUG-0001", "ticket_type": "bug", "path": "docs/tickets/BUG-0001.md", "completeness_score": 100,
    "score_breakdown": {"clear_title": True}, "missing_criteria": [], "quality_level": "ready",
    "basis": "5 of 5 criteria met, of 5 in the rubric", "rubric": {"id": "ticket-completeness", "version": "1.0"},
    "not_judged": [], "answer": f"{_BUG} (docs/tickets/BUG-0001.md:1)",
    "findings": [{"topic": "completeness", "content": _BUG, "source": "docs/tickets/BUG-0001.md:1"}],
}  # fmt: skip
_SKILL: Final[dict[str, Any]] = {
    "instruction_field": "question", "target_field": "target", "effects": ("read",), "timeout_s": 120,
}  # fmt: skip
_THINKS: Final[dict[str, Any]] = {
    **_SKILL, "thinks": "can", "thinks_within": ThinkingBounds(requests=6, tokens_in=60_000, tokens_out=6_000),
}  # fmt: skip
_STORIES: Final = phrases("""
    analyse the story STORY-0001.2.3 in depth; review the story STORY-0001.2.3 with its tasks; how good is
    STORY-0001.2.3 and how far has it come; is the progress that STORY-0001.2.3 states right; does STORY-0001.1.1 fit
    its epic; deep analysis of the user story STORY-0002.1.4; check the story and its tasks before work begins
""")
_COMPLETENESS: Final = phrases("""
    how complete is the ticket EPIC-0001.2; score the completeness of TASK-0001.2.3.4; what is missing in the ticket
    STORY-0001.2.3; which criteria does INIT-0001 not meet; is the ticket BUG-0007 complete; completeness score of
    EPIC-0002.1; what does TASK-0001.1.1.2 lack
""")
_GAPS: Final = phrases("""
    which tickets are missing; find gaps in the ticket hierarchy; which tickets are incomplete below EPIC-0001.2; are
    there broken links between tickets; which tickets are out of sync; which tasks does no story list; gaps in the
    backlog; what is missing in the tickets below INIT-0001; which stories have no tasks yet
""")
_STARTS: Final = phrases("""
    can TASK-0001.2.3.4 be started; is TASK-0001.2.3.4 ready to be implemented; what blocks TASK-0001.2.3.4; may I
    start the task TASK-0001.1.1.2; what has to be done before TASK-0002.1.1.3 can begin; readiness of
    TASK-0001.2.3.4; are the prerequisites of TASK-0001.2.3.4 done
""")


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

    Args:
        models: Who judges what rules cannot; without them that is listed as not judged.
    """

    def __init__(self, models: Models | None = None) -> None:
        self.models = models

    @retinue.skill(
        **_THINKS,
        output=StoryDeep,
        examples=_STORIES,
        samples=(Sample(title="Before work begins", parameters={"target": "STORY-0001.1.1", "mode": "pre-work"}),),
    )
    async def story_deep(self, query: TicketQuery, task: Task, run: RunContext) -> Reply:
        """Analyses one story in depth: its completeness, its tasks, its progress and its place below its epic.

        Use it before or while a story is worked on. Returns scores of the story and its tasks, issues with place and
        fix, stated and actual progress, and whether it serves its epic.
        """
        return await self._judge(lambda scorer: StoryReview(scorer, query), task, run)

    @retinue.skill(
        **_THINKS,
        output=TicketCompleteness,
        examples=_COMPLETENESS,
        samples=(Sample(title="A bug", parameters={"target": "BUG-0001"}, answer=_COMPLETE),),
    )
    async def ticket_completeness(self, query: TicketQuery, task: Task, run: RunContext) -> Reply:
        """Scores how complete one ticket is: an initiative, epic, story, task or bug.

        Use it to see what a ticket lacks before it is worked on. Returns the score, each criterion, what is missing
        with place, impact and fix, and the level of quality.
        """
        return await self._judge(lambda scorer: scorer.score(find_ticket(scorer.tree, query.target)), task, run)

    @retinue.skill(
        **_SKILL,
        output=HierarchyGaps,
        examples=_GAPS,
        samples=(Sample(title="Epics and stories", parameters={"target": "INIT-0001", "scope": "epic-and-stories"}),),
    )
    async def hierarchy_gaps(self, query: HierarchyQuery, run: RunContext) -> Reply:
        """Finds what a tree of tickets lacks: missing, incomplete and unlisted tickets, broken links, wrong statuses.

        Use it to see which tickets are to be written or mended next. Returns gaps with type, priority, place and fix.
        """

        def work(tree: TicketTree, report: SkillReport, deadline: RunDeadline) -> None:
            HierarchySurvey(TicketScorer(tree, run.workspace), query, deadline).report(report)

        return (await run_on_tickets(run, "hierarchy_gaps", work)).reply()

    @retinue.skill(
        **_SKILL,
        output=TaskStart,
        examples=_STARTS,
        samples=(Sample(title="May it be started", parameters={"target": "TASK-0001.1.1.1"}),),
    )
    async def task_readiness(self, query: TicketQuery, run: RunContext) -> Reply:
        """Tells whether a task may be started, and what blocks it.

        Use it before a task is begun. Returns whether it is ready, what blocks it with the status that is needed,
        missing files, and what to see to first.
        """

        def work(tree: TicketTree, report: SkillReport, _deadline: RunDeadline) -> None:
            report_readiness(TicketScorer(tree, run.workspace), query, report)

        return (await run_on_tickets(run, "task_readiness", work)).reply()

    async def _judge(
        self, review_of: Callable[[TicketScorer], StoryReview | TicketScore], task: Task, run: RunContext
    ) -> Reply:
        reviews: list[StoryReview | TicketScore] = []

        def work(tree: TicketTree, _report: SkillReport, _deadline: RunDeadline) -> Ticket:
            review = review_of(TicketScorer(tree, run.workspace))
            reviews.append(review)
            return review.story if isinstance(review, StoryReview) else review.ticket

        report = await run_on_tickets(run, task.skill or "", work, with_relatives=True)
        (review,), models, definition = reviews, self.models, TicketAnalyzer.definition
        judgements = await judge_criteria(
            review.to_judge, review.text, report, models=models, definition=definition, task=task, run=run
        )
        review.report(judgements, report)
        return report.reply()
