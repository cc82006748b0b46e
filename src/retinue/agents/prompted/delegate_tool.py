"""The tool by which an agent calls another: through the boundary, within its own grants, and the answer is data.

Whom it may call, and how deep and how often, is decided by the run; here only what the model is told of it.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.agents.grants import Grants
from retinue.agents.load.markdown import FILES
from retinue.agents.port import RunContext
from retinue.agents.tool_references import DELEGATE, SKILL
from retinue.contract.definition import Definition, ToolSpec
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.names import fold
from retinue.contract.result import Result, Usage
from retinue.contract.task import Task
from retinue.errors import UnknownName
from retinue.tools.port import ToolContext, ToolOutput

PARENT_MODEL: Final = "parent_model"
"""Where `Task.extras` says with which model the caller thinks: what `inherit` means."""

_DAY_S: Final = 86_400.0
_DESCRIPTION: Final = (
    "Asks another agent to do a part of the work, and waits for its answer. Use it when the part is that agent's "
    "trade. Say in `instruction` all that it must know: it sees nothing of this conversation. Returns its answer, or "
    "why there is none.\n\nThe agents, each with its skills:\n\n"
)
_INPUT_SCHEMA: Final[JsonMapping] = {
    "type": "object",
    "properties": {
        "agent": {"type": "string", "minLength": 1, "maxLength": 100, "description": "Whom to ask, by name."},
        "skill": {"type": "string", "maxLength": 100, "description": "For what, if it has several skills."},
        "instruction": {"type": "string", "maxLength": 50_000, "description": "What to do, in full sentences."},
        "parameters": {"type": "object", "description": "What the skill takes, when it takes more than words."},
    },
    "required": ["agent", "instruction"],
    "additionalProperties": False,
}  # fmt: skip


class DelegateTool:
    """Calls agents on behalf of one agent.

    Args:
        agent: Its name.
        model: The model it thinks with.
        grants: What it may use, and so whom it calls.
        run: Calls them.
        agents_text: Who there is and what each does.

    Attributes:
        spec: What the model is told of it.
        usage: What those it called have spent.
    """

    def __init__(self, *, agent: str, model: str, grants: Grants, run: RunContext, agents_text: str) -> None:
        self._agent, self._model, self._grants, self._run = agent, model, grants, run
        self.spec = _spec(agents_text)
        self.usage: Usage | None = None

    def effective_spec(self, arguments: JsonMapping) -> tuple[ToolSpec, str]:
        """The tool with the effects of the skill that is asked for, which permissions are about; and whose it is."""
        definition = self._run.definition_of(str(arguments["agent"]))
        if definition is None:
            return self.spec, fold(str(arguments["agent"]))
        skill_name = arguments.get("skill")
        match = None if skill_name is None else definition.skill(fold(str(skill_name)))
        skills = definition.skills if match is None else (match,)
        effects = tuple(dict.fromkeys(effect for skill in skills for effect in skill.possible_effects))
        return self.spec.model_copy(update={"effects": effects}), definition.name

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """As `delegate`, for a call that nobody goes on with."""
        del context
        return await self.delegate(arguments, key=None)

    async def delegate(self, arguments: JsonMapping, *, key: str | None) -> ToolOutput:
        """Call the agent. What it came to is told whatever it is; only an answer that is none at all is an error.

        Args:
            arguments: Whom to ask for what.
            key: Tells this call from the others, also when it goes on after a question.

        Raises:
            UnknownName: There is no such agent.
            RetinueError: It failed, with the reason.
        """
        name, skill = str(arguments["agent"]), arguments.get("skill")
        definition = self._run.definition_of(name)
        try:
            task = Task(
                id=DELEGATE,
                agent=(fold(name) if definition is None else definition.name),
                skill=None if skill is None else fold(str(skill)),
                instruction=str(arguments["instruction"]),
                parameters=dict(arguments.get("parameters") or {}),
                produced_by="model",
                source_agent=self._agent,
                extras={PARENT_MODEL: self._model},
            )
        except ValidationError:
            raise UnknownName(f"Unknown agent {name[:80]!r}.", hint="Name one of the agents listed.") from None
        result = await self._run.delegate(task, grants=self._grants, key=key)
        self.usage = Usage.total((self.usage, result.usage))
        if not result.useful and not result.questions:
            if result.fault is None:
                message = f"`{result.agent}` ended as {result.outcome!r} and gave no reason."
                raise UnknownName(message, hint="Do without it.")
            error = result.fault.to_error()
            if result.content:
                error.hint = f"{error.hint} What it said before: {result.content}".strip()
            raise error
        return ToolOutput(
            _result_text(result),
            f"agent {result.agent}",
            files_read=result.files_read,
            files_written=result.files_written,
        )


@lru_cache(maxsize=8)
def _spec(agents_text: str) -> ToolSpec:
    """The same for all who work beside the same others: made once, whoever calls."""
    return ToolSpec(name=DELEGATE, description=_DESCRIPTION + agents_text, input_schema=_INPUT_SCHEMA, timeout_s=_DAY_S)


def _result_text(result: Result) -> str:
    """The answer in words, with what makes it less than whole."""
    data: Any = result.data
    parts = [result.content or (dumps(data) if data is not None else "")]
    if result.content and isinstance(data, dict):
        parts.append(dumps(cast("object", data)))
    if result.outcome == "partial":
        parts.append("This is only a part of what was asked for.")
    parts += [f"Warning: {warning.message}" for warning in result.warnings]
    parts += [f"It must know first: {question.text}" for question in result.questions]
    parts += [f"It wrote the file {path!r}." for path in result.files_written]
    return "\n\n".join(filter(None, parts)) or "It gave an empty answer."


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
