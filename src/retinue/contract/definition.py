"""What an agent says of itself, and what a tool does.

How a definition is read from a file is the business of `agents/`; running a tool is for `tools/`.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias, cast, get_args

from pydantic import Field, StringConstraints

from retinue.contract.model import Count, DialectName, JsonMapping, Model, SnakeName
from retinue.contract.old_names import with_old_names

Tier: TypeAlias = Literal["small", "medium", "large"]
Effect: TypeAlias = Literal["read", "write", "network"]
Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
ModelUse: TypeAlias = Literal["never", "can", "must", "by_others"]
"""Whether a skill asks a model: where one is configured (`can`), always (`must`), or by the agents of the plan that it
answers with (`by_others`)."""
VersionText: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8}))?$")
]

_TIERS: dict[str, Tier] = {
    "small": "small", "haiku": "small",
    "medium": "medium", "sonnet": "medium",
    "large": "large", "opus": "large",
}  # fmt: skip


def read_tier(word: str) -> Tier | None:
    """The tier that `word` names (`haiku`, `sonnet` and `opus` are aliases); None for `inherit` and for a model id."""
    return _TIERS.get(word.strip().lower())


class Source(Model):
    """Where something was said. `line` and `column` count from 1."""

    file: str
    line: Count | None = None
    column: Count | None = None


class CallSite(Model):
    """A place in a text where an agent is called: in a slash command, a prompt, another agent's file (K23, C27).

    Attributes:
        agent: Whom it calls, as it is written there; a slash command begins with `/`.
        skill: Which operation it asks for, as it is written there.
        form: How it calls: by an input block, by `Read and follow:` and the agent's file, by `subagent_type`, or by
            naming a slash command.
    """

    agent: str
    skill: str | None = None
    target: str | None = None
    form: Literal["block", "file", "subagent", "command"]
    source: Source


class Sample(Model):
    """One request with the answer it should get; lint checks both against the skill's schemas.

    `parameters` and `answer` are absent when the sample shows only one side.
    """

    title: str = ""
    parameters: JsonMapping | None = None
    answer: JsonMapping | None = None
    source: Source | None = None


class ThinkingBounds(Model):
    """What one call of a skill asks of models at most, as far as its own code bounds that (C19).

    Attributes:
        requests: How often it asks, corrections included.
        tokens_in: Tokens of one request, beside what the task itself says.
        tokens_out: Tokens of one answer.
    """

    requests: Annotated[int, Field(ge=1, strict=True)] | None = None
    tokens_in: Count | None = None
    tokens_out: Count | None = None


_INSTRUCTION_NAMES: Final = ("task", "instruction", "query", "question", "prompt", "goal")


def instruction_field(input_schema: JsonMapping) -> str | None:
    """The parameter for a free instruction, if the author does not say: the first usual name that is a text (C45)."""
    properties: object = input_schema.get("properties")
    if not isinstance(properties, dict):
        return None
    for name in _INSTRUCTION_NAMES:
        parameter = cast("dict[str, Any]", properties).get(name)
        if isinstance(parameter, dict):
            facts = cast("dict[str, Any]", parameter)
            if facts.get("type") == "string" and not {"enum", "const", "format", "pattern"}.intersection(facts):
                return name
    return None


TASK_SCHEMA: Final[JsonMapping] = {
    "type": "object",
    "properties": {"task": {"type": "string", "minLength": 1, "description": "What to do, in full sentences."}},
    "required": ["task"],
    "additionalProperties": False,
}
"""What an agent takes whose file declares no schema: most Markdown definitions."""

GENERIC_SKILL: Final = "tasks"
"""The skill that takes any task in words: the generic endpoint of spec 004, a message without a skill in A2A (P1)."""


class Skill(Model):
    """One addressable thing an agent does: spec 003's operation, 004's capability, MCP's tool.

    Attributes:
        instruction_field: The parameter that takes a free instruction (C45).
        target_field: The parameter that takes the target (C45).
        defaults: What the binder fills in when the request says nothing; shown whenever used.
        effects: What it may touch outside itself. Empty means it only computes, absent that nobody has said.
        examples: Utterances that should be routed here.
        samples: Requests and answers that must pass the two schemas.
        unavailable: Why this skill cannot be called here, with the way out; empty when it can.
        thinks: Whether it asks a model: then a model is chosen and estimated for it (A16, A17).
        thinks_within: What it asks at most; absent for instructions, whose bounds are the runner's and the model's.
    """

    name: SnakeName
    description: str
    input_schema: JsonMapping
    output_schema: JsonMapping | None = None
    instruction_field: str | None = None
    target_field: str | None = None
    defaults: JsonMapping = Field(default_factory=dict[str, Any])
    timeout_s: Annotated[float, Field(gt=0)] | None = None
    effects: tuple[Effect, ...] | None = None
    method: Method | None = None
    path: str | None = None
    examples: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()
    unavailable: str = ""
    thinks: ModelUse = "never"
    thinks_within: ThinkingBounds | None = None

    @property
    def possible_effects(self) -> tuple[Effect, ...]:
        """What it may touch as far as anybody knows: everything, while nobody has said."""
        return get_args(Effect) if self.effects is None else self.effects


class Runner(Model):
    """How a prompted agent wants to be run. What is absent is left to the runtime."""

    max_turns: Annotated[int, Field(ge=1, strict=True)] | None = None
    permission_mode: str | None = None
    effort: str | None = None
    skills: tuple[str, ...] = ()
    memory: str | None = None


class Deprecation(Model):
    """That something should no longer be used, and what to use instead (A27, C34)."""

    since: str | None = None
    use: str | None = None
    note: str = ""


@with_old_names(asked="skill_for", thinks="uses_model")
class Definition(Model):
    """What an agent says of itself (A4, C46).

    Attributes:
        name: Canonical snake_case name, without a version suffix: `x_v2` is version 2 of `x` (C11).
        wire_names: What each dialect calls it, where folding the name would not give that.
        tools: Names of the tools it may use; None means its parent's.
        dialect: The wire format it speaks, when it speaks one.
        composes: It delegates: it answers with a `Plan` that becomes a child run.
        extras: What the format said and we have no word for; reported, never dropped.
    """

    name: SnakeName
    version: VersionText = "1.0"
    description: str
    skills: Annotated[tuple[Skill, ...], Field(min_length=1)]
    aliases: tuple[str, ...] = ()
    wire_names: dict[DialectName, str] = Field(default_factory=dict[DialectName, str])
    category: str | None = None
    tags: tuple[str, ...] = ()
    tier: Tier | None = None
    model: str | None = None
    tools: tuple[str, ...] | None = None
    instructions: str | None = None
    dialect: DialectName | None = None
    composes: bool = False
    runner: Runner = Runner()
    deprecated: Deprecation | None = None
    source: Source | None = None
    extras: JsonMapping = Field(default_factory=dict[str, Any])

    def skill(self, name: str) -> Skill | None:
        """The skill called `name`, or None."""
        return next((skill for skill in self.skills if skill.name == name), None)

    @property
    def default_skill(self) -> Skill | None:
        """The skill that a request without one means: the only one beside the generic one, or the agent's namesake."""
        generic = self.generic_skill
        own = (
            self.skills if generic is None or len(self.skills) == 1 else [one for one in self.skills if one != generic]
        )
        return own[0] if len(own) == 1 else self.skill(self.name)

    @property
    def generic_skill(self) -> Skill | None:
        """The skill for what none of the others is for; None where there is none (P1)."""
        skill = self.skill(GENERIC_SKILL)
        return skill if skill is not None and skill.input_schema == TASK_SCHEMA else None

    @property
    def is_remote(self) -> bool:
        """Whether it is a stranger's: at a URL, or an MCP server."""
        return self.source is not None and self.source.file.startswith(("http://", "https://", "mcp:"))

    def skill_for(self, name: str | None) -> Skill | None:
        """The skill that a request for `name` is meant for, the first when it names none; None when there is none."""
        return self.skill(name) if name else self.skills[0]

    def uses_model(self, name: str | None) -> bool:
        """Whether the skill that a request for `name` is meant for asks a model, or can where one is configured."""
        skill = self.skill_for(name)
        return skill is not None and skill.thinks != "never"

    @property
    def major(self) -> int:
        """The major version."""
        return int(self.version.partition(".")[0])


ToolName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=64)]
"""What every provider accepts as the name of a tool."""


class ToolSpec(Model):
    """A tool as a model is told of it.

    Attributes:
        name: What a model calls it: `read`, `web_fetch`, `mcp__server__tool`.
        input_schema: A JSON Schema of an object; calls that break it never reach the tool.
        effects: What it may touch outside itself. Empty means it only computes.
        timeout_s: The longest one call may take.
        idempotent: The same call made twice does no more than once.
    """

    name: ToolName
    description: str
    input_schema: JsonMapping
    effects: tuple[Effect, ...] = ()
    timeout_s: Annotated[float, Field(gt=0)] = 60.0
    idempotent: bool = False

    @property
    def is_repeatable(self) -> bool:
        """Whether a call may be made again when nobody knows whether it was made."""
        return self.idempotent or set(self.effects) <= {"read"}
