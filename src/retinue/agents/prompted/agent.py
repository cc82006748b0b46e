"""A definition that a model follows: an agent, called like any other.

What one call does stands in `attempt`. Judging the answer, and asking again with what was wrong with it, is the
boundary's work; the same conversation then goes on.
"""

from collections import OrderedDict
from collections.abc import Mapping
from secrets import token_hex
from typing import Final

from retinue.agents.grants import Grants
from retinue.agents.load.loaded_agents import NEEDS_MODEL
from retinue.agents.port import Reply, RunContext
from retinue.contract.definition import Definition, Skill
from retinue.contract.task import Task
from retinue.llm.models import Models
from retinue.tools.port import Tool

from .attempt import PromptedAttempt
from .definition_permissions import EffectivePermissions, requested_permissions
from .delegate_tool import PARENT_MODEL
from .loop import BUILTIN_LOOP, Loop
from .task_prompt import instructions
from .toolbox import EMPTY, Toolbox

_MAX_TOOLSETS: Final = 64
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

    def __init__(
        self, definition: Definition, *, models: Models, toolbox: Toolbox = EMPTY, loop: Loop = BUILTIN_LOOP
    ) -> None:
        # `definition` with its skills no longer waiting for a model, and saying that they ask one.
        self._definition = definition.model_copy(update={"skills": tuple(map(_asking, definition.skills))})
        self._models = models
        self._toolbox = toolbox
        self._loop = loop
        self._requested = requested_permissions(definition, toolbox)
        self._effective: tuple[Grants, EffectivePermissions] | None = None
        self._instruction_cache: dict[tuple[str, bool, tuple[str, ...]], str] = {}
        self._toolsets: OrderedDict[str, Mapping[str, Tool]] = OrderedDict()

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
        choice = self._models.choose(
            model=task.model,
            own=self._definition.model,
            tier=self._definition.tier,
            parent=parent if isinstance(parent, str) else None,
        )
        call = PromptedAttempt(
            self._definition,
            task,
            run,
            skill=self._skill(task),
            permissions=self._permissions_for(run.grants),
            choice=choice,
            model=self._loop.model(choice.name, self._models),
            loop=self._loop,
            open_toolset=self._open_toolset,
            instructions=self._instructions,
        )
        return await call.reply()

    def _skill(self, task: Task) -> Skill:
        skill = None if task.skill is None else self._definition.skill(task.skill)
        return skill or self._definition.skills[0]

    def _permissions_for(self, grants: Grants) -> EffectivePermissions:
        """What it may use on behalf of the holder of `grants`, found out once for one that calls again and again."""
        if self._effective is None or self._effective[0] is not grants:
            self._effective = grants, self._requested.within(grants)
        return self._effective[1]

    def _instructions(self, skill: Skill, skills: Mapping[str, Definition], is_structured: bool) -> str:  # noqa: FBT001 - a callback
        """What the system says, made once."""
        key = skill.name, is_structured, tuple(skills)
        text = self._instruction_cache.get(key)
        if text is None:
            text = self._instruction_cache[key] = instructions(
                self._definition, skill, skills=skills, is_structured=is_structured
            )
        return text

    def _open_toolset(self, toolset: str) -> tuple[str, dict[str, Tool]]:
        """The tools of a conversation: those it had before, else new ones under a new name."""
        if not self._toolbox.is_stateful:
            return "", self._toolbox.open_tools()
        tools = self._toolsets.get(toolset)
        if tools is None:
            toolset = token_hex(8)
            tools = self._toolsets[toolset] = self._toolbox.open_tools()
            if len(self._toolsets) > _MAX_TOOLSETS:
                self._toolsets.popitem(last=False)
        return toolset, dict(tools)


def _asking(skill: Skill) -> Skill:
    unavailable = "" if skill.unavailable == NEEDS_MODEL else skill.unavailable
    # Instructions touch nothing but by their tools, and every use of one is judged by itself.
    effects = skill.effects or ()
    return skill.model_copy(update={"unavailable": unavailable, "thinks": "must", "effects": effects})
