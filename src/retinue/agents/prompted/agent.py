"""A definition that a model follows: an agent, called like any other.

What one call does stands in `calling`. Judging the answer, and asking again with what was wrong with it, is the
boundary's work; the same conversation then goes on.
"""

from collections import OrderedDict
from collections.abc import Mapping
from secrets import token_hex
from typing import Final

from retinue.agents.grants import Grants
from retinue.agents.load.prompted import NEEDS_MODEL
from retinue.agents.port import Reply, RunContext
from retinue.contract.definition import Definition, Skill
from retinue.contract.task import Task
from retinue.llm.models import Models
from retinue.tools.port import Tool

from .calling import Call
from .delegating import PARENT_MODEL
from .granted import Granted, own_of
from .loop import OWN, Loop
from .prompt import instructions
from .toolbox import EMPTY, Toolbox

__all__ = ["PromptedAgent"]

_OPEN: Final = 64
"""Conversations whose tools are kept, for the case that they go on."""


class PromptedAgent:
    """An agent made of instructions.

        agent = PromptedAgent(definition, models=Models.only(model), toolbox=default_toolbox())
        result = await retinue.call(agent, "Find the dead code")

    Args:
        definition: What it says of itself; how it is to behave stands in its `instructions`.
        models: Where its model comes from.
        toolbox: The tools there are; it gets those that its definition names, within what its caller may use.
        loop: Drives its model.
    """

    def __init__(self, definition: Definition, *, models: Models, toolbox: Toolbox = EMPTY, loop: Loop = OWN) -> None:
        self._definition = _callable(definition)
        self._models = models
        self._toolbox = toolbox
        self._loop = loop
        self._own = own_of(definition, toolbox)
        self._granted: tuple[Grants, Granted] | None = None
        self._told: dict[tuple[str, bool, tuple[str, ...]], str] = {}
        self._open: OrderedDict[str, Mapping[str, Tool]] = OrderedDict()

    @property
    def definition(self) -> Definition:
        """What it says of itself; its skills can be called."""
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Do the task.

        Raises:
            Canceled: A person must be asked first; the next call goes on from here.
            RetinueError: No model can be asked, or it failed before it said anything.
        """
        parent: object = task.extras.get(PARENT_MODEL)
        chosen = self._models.choose(
            model=task.model,
            own=self._definition.model,
            tier=self._definition.tier,
            parent=parent if isinstance(parent, str) else None,
        )
        call = Call(
            self._definition,
            task,
            run,
            skill=self._skill(task),
            granted=self._granted_by(run.grants),
            chosen=chosen,
            model=self._loop.model(chosen.name, self._models),
            loop=self._loop,
            opened=self._opened,
            instructions=self._instructions,
        )
        return await call.reply()

    def _skill(self, task: Task) -> Skill:
        named = None if task.skill is None else self._definition.skill(task.skill)
        return named or self._definition.skills[0]

    def _granted_by(self, above: Grants) -> Granted:
        """What it may use on behalf of the holder of `above`, found out once for one that calls again and again."""
        if self._granted is None or self._granted[0] is not above:
            self._granted = above, self._own.granted(above)
        return self._granted[1]

    def _instructions(self, skill: Skill, skills: Mapping[str, Definition], owed: bool) -> str:  # noqa: FBT001 - a callback
        """What the system says, made once."""
        key = skill.name, owed, tuple(skills)
        told = self._told.get(key)
        if told is None:
            told = self._told[key] = instructions(self._definition, skill, skills=skills, owed=owed)
        return told

    def _opened(self, kit: str) -> tuple[str, dict[str, Tool]]:
        """The tools of a conversation: those it had before, else new ones under a new name."""
        if not self._toolbox.remembers:
            return "", self._toolbox.opened()
        known = self._open.get(kit)
        if known is None:
            kit = token_hex(8)
            known = self._open[kit] = self._toolbox.opened()
            if len(self._open) > _OPEN:
                self._open.popitem(last=False)
        return kit, dict(known)


def _callable(definition: Definition) -> Definition:
    """`definition` with its skills no longer waiting for a model, and saying that they ask one."""
    return definition.model_copy(update={"skills": tuple(map(_asking, definition.skills))})


def _asking(skill: Skill) -> Skill:
    unavailable = "" if skill.unavailable == NEEDS_MODEL else skill.unavailable
    # Instructions touch nothing but by their tools, and every use of one is judged by itself.
    effects = skill.effects or ()
    return skill.model_copy(update={"unavailable": unavailable, "thinks": "must", "effects": effects})
