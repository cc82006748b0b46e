"""How a role asks a model: which one, within what is left to spend, and what it took.

The model that is set for one role comes before the one that the whole task was given.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from retinue.agents.port import RunContext
from retinue.catalogue._choosing import model_for
from retinue.contract.definition import Definition
from retinue.contract.result import Usage
from retinue.contract.task import Task
from retinue.llm.converse import Conversation, converse
from retinue.llm.models import Models
from retinue.llm.port import Request, ToolAnswer, ToolUse

from .settings import Role, Settings

__all__ = ["Mind"]


@dataclass(slots=True)
class Mind:
    """The models of one call, and what they took.

    Attributes:
        names: Which model each role had.
        used: What every conversation took, in the order in which they ended.
    """

    models: Models
    settings: Settings
    run: RunContext
    task: Task
    definition: Definition
    names: dict[Role, str] = field(default_factory=dict[Role, str])
    used: list[Usage] = field(default_factory=list[Usage])

    async def ask(
        self,
        role: Role,
        request: Request,
        *,
        use: Callable[[ToolUse], Awaitable[ToolAnswer]] | None = None,
        max_turns: int = 1,
    ) -> Conversation:
        """One conversation of a role.

        Raises:
            RetinueError: As `converse`; a conversation that was stopped later is given as it is.
        """
        chosen = model_for(self.task, self.models, self.definition, must=self.settings.model(role))
        self.names[role] = chosen.name
        conversation = await converse(
            self.models.get(chosen.name),
            request,
            use=use,
            purse=self.run.purse,
            max_turns=max_turns,
            clock=self.run.now,
            deadline_ns=self.run.deadline_ns,
        )
        self.used.append(conversation.usage)
        return conversation
