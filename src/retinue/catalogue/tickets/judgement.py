"""How a model judges a ticket where rules cannot; what it calls met it shows in the ticket's own words."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import Field

from retinue.agents.port import RunContext
from retinue.agents.prompted.task_prompt import RULE, as_data_block
from retinue.catalogue._model_choice import structured_model_for
from retinue.catalogue._prose import code, quote
from retinue.catalogue._report import SkillReport
from retinue.contract.definition import Definition
from retinue.contract.event import Progress
from retinue.contract.model import Many, Model
from retinue.contract.result import Usage
from retinue.contract.task import Task
from retinue.errors import RetinueError
from retinue.llm.models import Models

_MAX_TEXT: Final = 40_000


class CriterionJudgement(Model):
    """What a model says of one criterion; `quotation` is what the ticket says of it, word for word, if anything."""

    criterion: str
    is_met: bool
    reason: Annotated[str, Field(min_length=1, max_length=400)]
    quotation: Annotated[str, Field(max_length=400)] = ""


class _Judgements(Model):
    judgements: Annotated[Many[CriterionJudgement], Field(max_length=100)]


_INSTRUCTIONS: Final = """\
You judge a ticket of a software project by criteria, and answer with one JSON object only.
- Give one judgement for each criterion, by its id.
- What you say is met you show: `quotation` has a passage of the ticket for it, copied word for word.
- `reason` is one sentence. Judge by what is written, not by what may have been meant.
"""


async def judge_criteria(
    criteria: Mapping[str, str],
    text: str,
    report: SkillReport,
    *,
    models: Models | None,
    definition: Definition,
    task: Task,
    run: RunContext,
) -> Mapping[str, CriterionJudgement]:
    """What a model says of each of `criteria`, held against `text`; empty without a model, which the report says.

    What it calls met without a passage that stands in `text` is sent back to it.
    """
    if not criteria:
        return {}
    if models is None or not models.configured:
        report.note(f"Not judged, which needs a model: {', '.join(map(code, criteria))}.")
        return {}
    try:
        thinker = structured_model_for(task, models, definition, run, purpose="to judge what rules cannot")
    except RetinueError as error:
        report.note(f"Not judged: {quote(error.message)}")
        return {}
    if len(text) > _MAX_TEXT:
        report.note(f"Of {len(text):,} characters the first {_MAX_TEXT:,} were judged.")
    passage = " ".join(text[:_MAX_TEXT].split()).casefold()

    def objections(answer: _Judgements) -> Sequence[str]:
        said = [one.criterion for one in answer.judgements]
        wrong = [f"{key!r} is judged {said.count(key)} times, not once." for key in criteria if said.count(key) != 1]
        wrong += [f"{key!r} is none of the criteria." for key in said if key not in criteria]
        for one in answer.judgements:
            words = " ".join(one.quotation.split()).casefold()
            if words not in passage or (one.is_met and not words):
                wrong.append(f"The quotation for {one.criterion!r} does not stand in the ticket.")
        return wrong

    lines = "\n".join(f"- {key}: {words}" for key, words in criteria.items())
    prompt = f"The criteria:\n{lines}\n\nThe ticket:\n{as_data_block(text[:_MAX_TEXT], 'the ticket')}"
    run.emit(Progress("judging", thinker.model.name))
    answer = await thinker.ask(f"{_INSTRUCTIONS}\n{RULE}", prompt, _Judgements, "judgements", check=objections)
    report.usage = Usage.total((report.usage, answer.usage))
    if answer.value is None:
        why = f"{code(thinker.model.name)} gave no judgement that holds: {quote(answer.refusal)}"
        report.warn("degraded_analysis", why, impact="What needs judgement is not judged.", recovery="Ask again.")
        return {}
    report.note(f"{code(thinker.model.name)} judged {', '.join(map(code, criteria))}.")
    return {one.criterion: one for one in answer.value.judgements}
