"""Asks a model for words that can take the place of vague ones; none may say a number that the ticket does not."""

import re
from typing import Annotated, Final

from pydantic import Field

from retinue.agents.port import RunContext
from retinue.agents.prompted.task_prompt import RULE, as_data_block
from retinue.catalogue._model_choice import structured_model_for
from retinue.catalogue._prose import code, one_line, quote
from retinue.catalogue._report import SkillReport
from retinue.contract.definition import Definition
from retinue.contract.event import Progress
from retinue.contract.model import Many, Model
from retinue.contract.result import Usage
from retinue.contract.task import Task
from retinue.errors import RetinueError
from retinue.llm.models import Models

from .parameters import SpecFix
from .specification_check import SpecificationCheck

_MOST: Final = 40
"""Issues that a model is asked about."""
_MAX_TEXT: Final = 40_000
_NUMBER: Final = re.compile(
    r"(?P<number>\d+(?:[.,]\d+)*|[½¼¾]|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|fifty|hundred"
    r"|thousand|million|dozen|twice|half|hourly|daily|weekly|monthly)\b)(?:[ ]?(?:[^\W\d_]{1,12}|%))?",
    re.IGNORECASE,
)
"""A number and the word behind it, which a rewrite has to take over together."""
_INSTRUCTIONS: Final = """\
You make statements of a ticket exact, and answer with one JSON object only.
- For each issue that the ticket itself lets you mend, give one rewrite, by the number of the issue.
- `old` is a passage of the ticket, copied word for word, with the vague words in it; `new` takes its place.
- Decide nothing that the ticket leaves open. Where a number, a limit, a message or a name is missing, write a blank
  that says what is missing, such as <number of seconds>. A number that is not in the ticket is refused.
"""


class ProposedRewrite(Model):
    """A passage of the ticket and what is to stand in its place."""

    issue: Annotated[int, Field(ge=1)]
    old: Annotated[str, Field(min_length=1, max_length=600)]
    new: Annotated[str, Field(min_length=1, max_length=800)]


class _Rewrites(Model):
    rewrites: Annotated[Many[ProposedRewrite], Field(max_length=_MOST)]


async def ask_for_rewrites(
    check: SpecificationCheck,
    report: SkillReport,
    models: Models,
    *,
    definition: Definition,
    task: Task,
    run: RunContext,
) -> None:
    """Put a model's rewrites into the issues that no rule can mend; those that do not hold are left out, with why."""
    text, fixes = check.ticket.text, [one.fix for one in check.issues]
    places = [at for at, fix in enumerate(fixes) if fix and fix.old and (fix.has_blanks or fix.new is None)][:_MOST]
    issues = [check.issues[at] for at in places]
    said = {
        "".join(form.split()).casefold() for match in _NUMBER.finditer(text) for form in (match[0], match["number"])
    }

    def refusal(one: ProposedRewrite) -> str:
        """Why a rewrite does not hold; empty when it does."""
        if (
            one.issue > len(issues)
            or one.old not in text
            or issues[one.issue - 1].term not in " ".join(one.old.split())
        ):
            return f"{one.old[:80]!r} is no passage of the ticket with the words of issue {one.issue}"
        invented = [match[0] for match in _NUMBER.finditer(one.new) if "".join(match[0].split()).casefold() not in said]
        return f"{invented[0]!r} in {one.new[:80]!r} does not stand in the ticket" if invented else ""

    def objections(answer: _Rewrites) -> list[str]:
        """Sent back only when nothing of it holds."""
        wrong = [f"Of the rewrites, {why}." for why in map(refusal, answer.rewrites) if why]
        return wrong if len(wrong) == len(answer.rewrites) else []

    if not issues:
        return
    try:
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
        why = refusal(one)
        if why:
            report.note(f"A rewrite by {name} was left out: {quote(why)}.")
        else:
            fix = SpecFix.of(one.old, one_line(one.new, limit=800), "model")
            check.issues[places[one.issue - 1]] = issues[one.issue - 1].model_copy(update={"fix": fix})
