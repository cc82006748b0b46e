"""The answer in a model's words, every sentence of it held against the findings it cites (B25).

The model sees only what was found, as data, and holds no tools. What does not hold is dropped; when nothing holds, or
there is no model, no budget or no time, the quotations are the answer.
"""

from collections.abc import Sequence

from retinue.agents.port import RunContext
from retinue.catalogue._choosing import model_for
from retinue.catalogue.researcher_analyst.quotations import Quotation
from retinue.contract.definition import Definition
from retinue.contract.event import Decision
from retinue.contract.task import Task
from retinue.errors import RetinueError
from retinue.llm.models import Models
from retinue.orchestration.citing import Evidence, Piece, Summary, held, written
from retinue.orchestration.thinker import Thinker

__all__ = ["in_words_of_a_model"]


async def in_words_of_a_model(
    question: str,
    quotations: Sequence[Quotation],
    models: Models,
    *,
    definition: Definition,
    task: Task,
    run: RunContext,
) -> Summary:
    """What of a model's answer to `question` holds against what was found."""
    pieces = tuple(
        Piece(f"f{number}", one.source, f"{one.prose().plain()}\n{one.block}".rstrip(), one.place)
        for number, one in enumerate(quotations, 1)
    )
    evidence = Evidence(pieces)
    try:
        chosen = model_for(task, models, definition)
        model = models.get(chosen.name)
    except RetinueError as error:
        return Summary(refused=error.message)
    run.emit(Decision("model", f"`{chosen.name}` is asked to write the answer: {chosen.why}."))
    thinker = Thinker(model, run.purse, run.deadline_ns, task.thinking, run.now)
    return held(evidence, await written(question, evidence, thinker, task=task.id))
