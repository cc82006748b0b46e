"""The options of `@agent` and `@skill`: what the function does not say itself."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict, cast

from pydantic import PydanticUserError

from retinue.contract.definition import Deprecation, Effect, Method, ModelUse, Sample, ThinkingBounds
from retinue.contract.facts import FACTS_KEYWORD, Facts
from retinue.contract.model import DialectName, JsonMapping
from retinue.errors import InvalidDefinition
from retinue.tools.workspace import Workspace


@dataclass(frozen=True, slots=True)
class FromFacts:
    """Says that the values of a text parameter are names among the skill's facts.

        author: Annotated[str, FromFacts("author")] = ""

    Attributes:
        kind: Which of `Facts.names`.
    """

    kind: str

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> JsonMapping:
        """The schema of the type, with the kind of its facts."""
        return {**handler(core), FACTS_KEYWORD: self.kind}


class Choices:
    """Says what each value of a `Literal` means, in words that people use when they ask for it.

        show: Annotated[Literal["count", "people"], Choices(count="how many commits", people="who wrote most")]

    They stand in the schema as `enumDescriptions`, in the order of `enum`: a model reads them, and so do the rules.
    """

    def __init__(self, **meanings: str) -> None:
        self._meanings = meanings

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> JsonMapping:
        """The schema of the type, with what its values mean."""
        schema = cast("JsonMapping", handler(core))
        values = cast("list[object]", schema.get("enum") or [schema.get("const")])
        return {**schema, "enumDescriptions": [self._meanings.get(str(value), "") for value in values]}


class SkillOptions(TypedDict, total=False):
    """Options of one skill. What is left out is read from the function or its docstring.

    Attributes:
        name: Its name, in any convention; the function's otherwise.
        description: What it does, when to use it, what it returns; the docstring otherwise.
        instruction_field: The parameter that takes a free instruction; found by its name otherwise (C45).
        target_field: The parameter that takes the target (C45).
        defaults: What the binder fills in when the request says nothing, by parameter.
        timeout_s: Seconds one call may take.
        effects: What it may touch outside itself: `read`, `write`, `network`.
        examples: Utterances that should be routed here. What is asked about, such as a file or a name, stands in
            backticks: it is a value, not a word of the skill.
        samples: Requests with their answers, checked by lint.
        output: The type of the answer, where the return annotation does not say it.
        method: The HTTP method of its endpoint; POST where none is said (P5).
        path: The path of its endpoint, where it is not the one that category, agent and skill give (P6).
        unavailable: Why it cannot be called here, with the way out. A function is asked when the definition is read;
            one with a parameter is given the object of the class.
        thinks: Whether it asks a model; `never` otherwise.
        thinks_within: What it asks of models at most.
        facts: What its parameters can be in a workspace; for turning a person's words into parameters. A
            function with two parameters is given the object of the class first.
    """

    name: str
    description: str
    instruction_field: str
    target_field: str
    defaults: JsonMapping
    timeout_s: float
    effects: Sequence[Effect]
    examples: Sequence[str]
    samples: Sequence[Sample]
    output: object
    method: Method
    path: str
    unavailable: str | Callable[[], str] | Callable[[Any], str]
    thinks: ModelUse
    thinks_within: ThinkingBounds
    facts: Callable[[Workspace], Facts] | Callable[[Any, Workspace], Facts]


class AgentOptions(SkillOptions, total=False):
    """Options of an agent. A function is an agent with one skill, so those of the skill go here too.

    Attributes:
        version: MAJOR.MINOR[.PATCH]; `1.0`, or `2.0` for a function called `x_v2` (C11).
        aliases: Further names it answers to.
        wire_names: What each dialect calls it, where folding the name would not give that (C46).
        tier: `small`, `medium` or `large`; `haiku`, `sonnet` and `opus` are read as these.
        model: A full model id.
        tools: Names of the tools it may use.
        composes: It answers with a `Plan`; true without being said when the return annotation is one.
        dialect: The wire format that the text it returns is written in.
        deprecated: That it should no longer be used; a text says why.
        extras: Further facts, kept as they are.
    """

    version: str
    aliases: Sequence[str]
    wire_names: Mapping[DialectName, str]
    category: str
    tags: Sequence[str]
    tier: str
    model: str
    tools: Sequence[str]
    composes: bool
    dialect: DialectName
    deprecated: bool | str | Deprecation
    extras: JsonMapping


# How errors name what was decorated


@contextmanager
def checking_types_of(function: Callable[..., object]) -> Generator[None]:
    """Name the function in the error about a type that pydantic cannot handle."""
    try:
        yield
    except (PydanticUserError, TypeError) as error:
        raise InvalidDefinition(
            f"`{qualified_name(function)}` has a type that cannot be used: {str(error).partition(chr(10))[0]}",
            hint="Use texts, numbers, lists, dictionaries, enums, dataclasses or pydantic models.",
        ) from error


def qualified_name(function: Callable[..., object]) -> str:
    """What messages call `function`."""
    return getattr(function, "__qualname__", None) or repr(function)
