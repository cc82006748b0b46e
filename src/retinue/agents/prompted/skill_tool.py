"""The tool that gives a model the instructions of a skill when it needs them (`SKILL.md`): progressive disclosure.

The model is told each skill's name and description from the start, and its body only when it asks.
"""

from collections.abc import Mapping
from typing import cast

from retinue.agents.load.markdown import FILES
from retinue.agents.tool_references import SKILL
from retinue.contract.definition import Definition, ToolSpec
from retinue.contract.model import JsonMapping
from retinue.tools.port import ToolContext, ToolOutput


class SkillTool:
    """The skills that one agent is offered.

    Args:
        definitions: Their definitions, by the name that the agent's own definition gives.
    """

    def __init__(self, definitions: Mapping[str, Definition]) -> None:
        self._definitions = dict(definitions)
        schema: JsonMapping = {
            "type": "object",
            "properties": {"name": {"enum": sorted(self._definitions), "description": "Which."}},
            "required": ["name"],
            "additionalProperties": False,
        }
        description = (
            "Gives the instructions of a skill. Use it before work that a skill is for. Returns how it is done."
        )
        self._spec = ToolSpec(name=SKILL, description=description, input_schema=schema, effects=("read",))

    @property
    def spec(self) -> ToolSpec:
        """What it says of itself."""
        return self._spec

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Give a skill's instructions."""
        del context
        definition = self._definitions[str(arguments["name"])]
        files: object = definition.extras.get(FILES)
        names = cast("list[object]", files) if isinstance(files, list) else []
        suffix = f"\n\nFiles beside it: {', '.join(map(str, names))}" if names else ""
        text = f"{definition.instructions or 'It has no instructions.'}{suffix}"
        return ToolOutput(text, f"skill {definition.name}")
