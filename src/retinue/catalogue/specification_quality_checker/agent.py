"""The agent itself: four skills with one result, each over other sections of a ticket.

A model is asked for words that can take the place of vague ones; none may say a number that the ticket does not.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.agents.prompted.task_prompt import RULE, as_data_block
from retinue.catalogue._lazy import read_skills
from retinue.catalogue._model_choice import structured_model_for
from retinue.catalogue._prose import code, one_line, quote
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_limits import RunDeadline
from retinue.catalogue.tickets import TicketTree, read_rubric
from retinue.catalogue.tickets.ticket_work import TicketTarget, find_ticket, run_on_tickets
from retinue.contract.definition import ThinkingBounds
from retinue.contract.event import Progress
from retinue.contract.model import Many, Model
from retinue.contract.result import Usage
from retinue.contract.task import Task
from retinue.errors import RetinueError
from retinue.llm.models import Models

from .parameters import DEFAULT_RUBRIC, SpecFix, SpecificationQuality, SpecificationRubric, SpecSection
from .specification_check import SpecificationCheck

_SKILLS: Final = read_skills(__file__)
_CHECKS: Final[dict[str, Any]] = {
    "output": SpecificationQuality, "target_field": "target", "effects": ("read",), "timeout_s": 300, "thinks": "can",
    "thinks_within": ThinkingBounds(requests=12, tokens_in=60_000, tokens_out=8_000),
}  # fmt: skip
_MAX_TEXT: Final = 40_000
_MOST_REWRITES: Final = 40  # issues that a model is asked about
# A number and the word behind it, which a rewrite has to take over together.
_NUMBER: Final = re.compile(
    r"(?P<number>\d+(?:[.,]\d+)*|[½¼¾]|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|fifty|hundred"
    r"|thousand|million|dozen|twice|half|hourly|daily|weekly|monthly)\b)(?:[ ]?(?:[^\W\d_]{1,12}|%))?",
    re.IGNORECASE,
)
_INSTRUCTIONS: Final = Path(__file__).with_name("rewrite.md").read_text(encoding="utf-8")


class ProposedRewrite(Model):
    """A passage of the ticket and what is to stand in its place."""

    issue: Annotated[int, Field(ge=1)]
    old: Annotated[str, Field(min_length=1, max_length=600)]
    new: Annotated[str, Field(min_length=1, max_length=800)]


class _Rewrites(Model):
    rewrites: Annotated[Many[ProposedRewrite], Field(max_length=_MOST_REWRITES)]


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

    @retinue.skill(**_CHECKS, **_SKILLS["full_ticket"])
    async def full_ticket(self, target: TicketTarget, task: Task, run: RunContext) -> Reply:
        """Checks the whole text of a ticket for vague words, placeholders and what it leaves unspecified.

        Use it before somebody starts to implement a ticket. Returns a score for the whole and for each section, and
        every issue with place and fix.
        """
        return await self._check((), target, task, run)

    @retinue.skill(**_CHECKS, **_SKILLS["acceptance_criteria"])
    async def acceptance_criteria(self, target: TicketTarget, task: Task, run: RunContext) -> Reply:
        """Checks the wording of a ticket's acceptance criteria and scenarios, and whether one of them fails.

        Use it when criteria are to be tested. Returns a score and every issue with place and fix.
        """
        return await self._check(("acceptance_criteria", "bdd_scenarios"), target, task, run)

    @retinue.skill(**_CHECKS, **_SKILLS["technical_design"])
    async def technical_design(self, target: TicketTarget, task: Task, run: RunContext) -> Reply:
        """Checks the wording of the technical design in a ticket.

        Use it when a design is to be implemented as it is written. Returns a score and every issue with place and fix.
        """
        return await self._check(("technical_design",), target, task, run)

    @retinue.skill(**_CHECKS, **_SKILLS["task_steps"])
    async def task_steps(self, target: TicketTarget, task: Task, run: RunContext) -> Reply:
        """Checks the wording of the implementation steps in a ticket.

        Use it when somebody is to work through a checklist. Returns a score and every issue with place and fix.
        """
        return await self._check(("implementation_checklist",), target, task, run)

    async def _check(self, sections: tuple[SpecSection, ...], target: str, task: Task, run: RunContext) -> Reply:
        def work(tree: TicketTree, _: SkillReport, deadline: RunDeadline) -> SpecificationCheck:
            rubric = read_rubric(SpecificationRubric, DEFAULT_RUBRIC, run.workspace)
            check = SpecificationCheck(find_ticket(tree, target), rubric, sections)
            check.examine(deadline)
            return check

        report, check = await run_on_tickets(run, task.skill or "", work, subject=lambda one: one.ticket)
        definition = SpecificationQualityChecker.definition
        await check.judge(report, models=self.models, definition=definition, task=task, run=run)
        await self._rewrite(check, report, task, run)
        check.fill(report)
        return report.reply()

    async def _rewrite(self, check: SpecificationCheck, report: SkillReport, task: Task, run: RunContext) -> None:
        """Put a model's words into the issues that no rule can mend; what does not hold is left out, with why."""
        text, models, fixes = check.ticket.text, self.models, enumerate(one.fix for one in check.issues)
        places = [at for at, fix in fixes if fix and fix.old and fix.has_blanks is not False]
        issues = [check.issues[at] for at in places[:_MOST_REWRITES]]
        said = {_without_spaces(form) for match in _NUMBER.finditer(text) for form in match.group(0, "number")}

        def refusal(one: ProposedRewrite) -> str:  # why it does not hold; empty when it does
            of_issue = one.issue <= len(issues) and issues[one.issue - 1].term in " ".join(one.old.split())
            if not of_issue or one.old not in text:
                return f"{one.old[:80]!r} is no passage of the ticket with the words of issue {one.issue}"
            invented = [match[0] for match in _NUMBER.finditer(one.new) if _without_spaces(match[0]) not in said]
            return f"{invented[0]!r} in {one.new[:80]!r} does not stand in the ticket" if invented else ""

        def objections(answer: _Rewrites) -> list[str]:  # sent back only when nothing of it holds
            wrong = [f"Of the rewrites, {why}." for why in map(refusal, answer.rewrites) if why]
            return wrong if len(wrong) == len(answer.rewrites) else []

        if not issues or models is None or not models.configured:
            return
        try:
            definition = SpecificationQualityChecker.definition
            thinker = structured_model_for(task, models, definition, run, purpose="for exact words")
        except RetinueError as error:
            report.note(f"No model wrote exact words: {quote(error.message)}")
            return
        issue_lines = "\n".join(f"{number}. {one.term!r} in: {one.context}" for number, one in enumerate(issues, 1))
        blocks = as_data_block(issue_lines, "the ticket"), as_data_block(text[:_MAX_TEXT], "the ticket")
        run.emit(Progress("rewriting", thinker.model.name))
        prompt = f"The issues:\n{blocks[0]}\n\nThe ticket:\n{blocks[1]}"
        answer = await thinker.ask(f"{_INSTRUCTIONS}\n{RULE}", prompt, _Rewrites, "rewrites", check=objections)
        report.usage, name = Usage.total([report.usage, answer.usage]), code(thinker.model.name)
        if answer.value is None:
            report.note(f"{name} wrote no exact words that hold: {quote(answer.refusal)}")
        for one in answer.value.rewrites if answer.value else ():
            if why := refusal(one):
                report.note(f"A rewrite by {name} was left out: {quote(why)}.")
            else:
                fix = SpecFix.of(one.old, one_line(one.new, limit=800), "model")
                check.issues[places[one.issue - 1]] = issues[one.issue - 1].model_copy(update={"fix": fix})


def _without_spaces(text: str) -> str:
    return "".join(text.split()).casefold()
