"""How a role asks a model: which one, within what is left to spend, and what it took."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from retinue.agents.port import RunContext
from retinue.contract.result import Usage
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
        chosen = self.models.choose(model=self.settings.model(role), tier="small")
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
