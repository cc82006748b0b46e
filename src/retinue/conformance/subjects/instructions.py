"""A Markdown agent as a subject: a model follows its instructions, and gets each request as it stands.

It is judged by what the model writes, before anything of Retinue reads or corrects it, and without tools.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from retinue.conformance.subjects.callable_subject import CallableSubject
from retinue.conformance.subjects.subject_info import SubjectInfo
from retinue.contract.definition import Definition
from retinue.errors import InvalidDefinition, Unavailable
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.conversation import converse
from retinue.llm.port import Request, UserMessage

if TYPE_CHECKING:
    from retinue.llm.models import Models


def instructions_subject(
    path: Path, definition: Definition, *, models: "Models | None", budget_tracker: BudgetTracker | None
) -> SubjectInfo:
    """The agent that `definition`, read from `path`, describes.

    Args:
        path: Its file, as reports call it.
        definition: What the file says.
        models: Where its model comes from.
        budget_tracker: What all requests together may spend.

    Raises:
        InvalidDefinition: The file holds no instructions.
        Unavailable: No model is configured.
        RetinueError: Its model cannot be opened.
    """
    instructions = definition.instructions
    if not instructions:
        raise InvalidDefinition(
            f"{str(path)!r} has no instructions to follow.", hint="Write them below its front matter."
        )
    if models is None:
        raise Unavailable(
            f"{str(path)!r} needs a model to be judged.", hint="Name one: `--model small`, or `--model provider:model`."
        )
    model = models.get(models.choose(own=definition.model, tier=definition.tier).name)

    async def answer(text: str) -> str:
        conversation = await converse(
            model, Request((UserMessage(text),), instructions=instructions), budget_tracker=budget_tracker
        )
        if conversation.error is not None:
            raise conversation.error
        return conversation.text

    return SubjectInfo(CallableSubject(answer, name=str(path)), definition.name, definition.dialect, definition)
