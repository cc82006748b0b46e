"""The agent: three reviews of tickets, with one result. What rules find stands in `review`."""

from os import PathLike
from pathlib import Path
from typing import Any, Final

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._lazy import read_skills
from retinue.catalogue._prose import code, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue._run_limits import RunDeadline
from retinue.catalogue.tickets import TicketTree, read_rubric
from retinue.catalogue.tickets.ticket_work import TicketTarget, find_ticket, judge_criteria, run_on_tickets
from retinue.contract.definition import ThinkingBounds
from retinue.contract.task import Task
from retinue.llm.models import Models

from .parameters import DesignReview
from .review import RUBRIC, GuardRubric, ReuseFinder, Reviewer

_MOST_ITEMS: Final = 200
_MOST_TOLD: Final = 12
_ORDER: Final = ("high", "medium", "low")
_SKILLS: Final = read_skills(__file__)
_REVIEW: Final[dict[str, Any]] = {
    "output": DesignReview, "target_field": "target", "effects": ("read",), "timeout_s": 90, "thinks": "can",
    "thinks_within": ThinkingBounds(requests=6, tokens_in=14_000, tokens_out=4_000),
}  # fmt: skip


@retinue.agent(
    name="design_guardian",
    version="1.0",
    category="analysis",
    wire_names={"markdown_json": "design-guardian"},
    tags=("tickets", "simplicity", "overengineering", "scope", "reuse"),
    tier="medium",
    tools=("read",),
)
class DesignGuardian:
    """Reviews tickets for overengineering: needless abstraction, premature optimisation, scope creep, missed reuse.

    Use it before work on a ticket begins, when a plan may be more than is needed; not for whether a ticket is complete
    or well worded. Returns issues with their places, and what to do about them.
    """

    def __init__(self, models: Models | None = None, *, cache_dir: str | PathLike[str] | None = None) -> None:
        self.models = models
        self.cache_dir = None if cache_dir is None else Path(cache_dir)

    @retinue.skill(**_REVIEW, **_SKILLS["story_review"])
    async def story_review(self, target: TicketTarget, task: Task, run: RunContext) -> Reply:
        """Reviews a story and its open tasks for overengineering and scope creep.

        Use it before a story is begun. Returns an overall assessment, issues, what could be reused, and advice.
        """
        return await self._review("story_review", target, task, run, "story")

    @retinue.skill(**_REVIEW, **_SKILLS["task_review"])
    async def task_review(self, target: TicketTarget, task: Task, run: RunContext) -> Reply:
        """Reviews a task or bug for overengineering, its steps held against the acceptance criteria of its story.

        Use it before a task is begun. Returns an overall assessment, issues, what could be reused, and advice.
        """
        return await self._review("task_review", target, task, run, "task", "bug")

    @retinue.skill(**_REVIEW, **_SKILLS["epic_review"])
    async def epic_review(self, target: TicketTarget, task: Task, run: RunContext) -> Reply:
        """Reviews an epic or initiative, and every open ticket that is part of it, for overengineering and scope creep.

        Use it when a larger piece of work is planned. Returns an overall assessment, issues, what could be reused, and
        advice.
        """
        return await self._review("epic_review", target, task, run, "epic", "initiative")

    async def _review(self, skill: str, target: str, task: Task, run: RunContext, *kinds: str) -> Reply:
        def work(tree: TicketTree, report: SkillReport, deadline: RunDeadline) -> Reviewer:
            rubric = read_rubric(GuardRubric, RUBRIC, run.workspace)
            ticket = find_ticket(tree, target, *kinds)
            reviewer = Reviewer(tree, ticket, rubric, run.workspace, report, deadline.check)
            reviewer.review()
            finder = ReuseFinder(reviewer, self.cache_dir)
            patterns = {*finder.fixtures, *finder.helpers, *finder.tests}
            report.figures = {"analysis_type": skill, "metadata": {"patterns_analyzed": len(patterns)}}
            report.figures["pattern_reuse"] = finder.find().to_json()
            return reviewer

        report, reviewer = await run_on_tickets(run, skill, work)
        questions = {name: rule.question for name, rule in reviewer.rubric.rules.items() if rule.question}
        text = "\n\n".join(one.text for one in reviewer.reviewed)
        judgements = await judge_criteria(
            questions, text, report, models=self.models, definition=DesignGuardian.definition, task=task, run=run
        )
        places = [(ticket, *place) for ticket in reviewer.reviewed for place in enumerate(ticket.rows, 1)]
        nowhere = (reviewer.target, reviewer.target.line, "")
        for one in (one for one in judgements.values() if not one.is_met):
            start = one.quotation.strip().partition("\n")[0] or "\n"  # which stands on no line
            ticket, line, _ = next((place for place in places if start in place[2]), nowhere)
            reviewer.add(one.criterion, ticket, line, one.quotation or one.reason, one.reason)
        report.figures["judgements"] = [one.to_json() for one in judgements.values()]
        report.figures["not_judged"] = [name for name in questions if name not in judgements]
        _report_issues(reviewer)
        return report.reply()


def _report_issues(reviewer: Reviewer) -> None:
    """Put what was found into the report, the gravest first."""
    rules, report, target = reviewer.rubric.rules, reviewer.report, reviewer.target
    issues = sorted(reviewer.issues.values(), key=lambda one: _ORDER.index(one.severity))
    word, rule = reviewer.rubric.assess(issues, len(reviewer.reviewed))
    name = target.ticket_id or target.path
    count = f"{plural(len(issues), 'issue')} in {plural(len(reviewer.reviewed), 'ticket')}"
    report.source = f"{target.path}:{target.line}"
    report.add("assessment", f"{code(name)} is assessed as {word.replace('_', ' ')}: {count}.")
    for one in issues[:_MOST_TOLD]:
        what = f"{one.severity} {one.category.replace('_', ' ')}: {one.description} {quote(one.evidence)}"
        report.add(one.category, what, source=one.location)
    if len(issues) > _MOST_TOLD:
        report.note(f"{len(issues) - _MOST_TOLD} more issues stand in the data.")
    report.note(f"The assessment: {rule}.")
    if len(reviewer.in_scope) > _MOST_ITEMS:
        report.note(f"Of {len(reviewer.in_scope):,} steps in scope the first {_MOST_ITEMS} are listed.")
    grouped = {one.rule: [each for each in issues if each.rule == one.rule] for one in issues}
    report.figures |= {
        "target": name, "overall_assessment": word, "assessment_rule": rule, "rubric": reviewer.rubric.name.to_json(),
        "reviewed": [one.ticket_id or one.path for one in reviewer.reviewed],
        "issues": [one.to_json() for one in issues],
        "simplification_opportunities": [
            {"current": one.evidence, "simpler": one.recommendation, "location": one.location}
            for one in issues if rules[one.rule].action == "simplify_approach"
        ],
        "scope_alignment": {"in_scope": reviewer.in_scope[:_MOST_ITEMS], "out_of_scope": [
            {"item": one.evidence, "reason": one.problem, "action": rules[one.rule].action, "location": one.location}
            for one in issues if one.category == "scope_creep"
        ]},
        "recommendations": [
            {"priority": each[0].severity, "action": rules[key].action, "impact": rules[key].impact,
             "description": f"{each[0].recommendation} ({', '.join(dict.fromkeys(one.ticket for one in each))})"}
            for key, each in grouped.items()
        ],
    }  # fmt: skip
    report.add_subjects([name, *(one.ticket for one in issues)])
