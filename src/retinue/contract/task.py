"""One request to one agent, and what goes with it: a run's budget, a question to a person, a correction.

`orchestration` tracks what is spent of a budget; the boundary decides whether an agent is asked again.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, StringConstraints

from retinue.contract.model import Count, JsonMapping, Model, SnakeName
from retinue.errors import FaultCode

Thinking: TypeAlias = Literal["standard", "think", "think_hard", "ultrathink"]
ContextLevel: TypeAlias = Literal["full", "summary", "metadata", "none"]
"""How much of an earlier result an edge carries to the next agent (C30)."""


class Limits(Model):
    """The bounds of one task. The tightest of all bounds wins, and is named (C21).

    Attributes:
        timeout_s: Seconds for the whole call, all attempts together.
        deadline_ns: Absolute end, nanoseconds since 1970 UTC.
        tokens: Tokens in and out together.
        cost_usd: Money.
        retries: Further attempts after the first (C6); absent means the policy's.
    """

    timeout_s: Annotated[float, Field(gt=0)] | None = None
    deadline_ns: Count | None = None
    tokens: Count | None = None
    cost_usd: Annotated[float, Field(ge=0)] | None = None
    retries: Annotated[int, Field(ge=0, le=10)] | None = None


class Context(Model):
    """What the agent should know beside its instruction (A7, A9): minimal on purpose.

    Attributes:
        history: Earlier turns, oldest first, as `role: text` lines (B2).
        memory: Free text of things remembered (B3).
        inputs: What earlier agents hand on, by the id of their delegation.
    """

    what: str = ""
    why: str = ""
    constraints: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    memory: str = ""
    inputs: JsonMapping = Field(default_factory=dict)


class OutputWish(Model):
    """How the caller wants the answer: transport format and report style are two things (C22).

    Attributes:
        path: Where a report should be written, relative to the workspace.
        answer_schema: A JSON Schema the answer must pass, beside the skill's own. `schema` on the wire.
    """

    transport: str | None = None
    style: str | None = None
    path: str | None = None
    answer_schema: JsonMapping | None = Field(default=None, alias="schema")


class Task(Model):
    """One request to one agent.

    Attributes:
        major: Which major version of the agent is meant; absent means the oldest live one (C11, A28).
        produced_by: Who made the parameters. A model gets refused ones back as a correction; a person gets them once
            (C6).
        untyped: The parameters came as text and are to be decoded by the skill's schema (C44).
        parent: Id of the task that delegated this one.
        depth: How many delegations stand above this one.
        idempotency_key: Sent on outward calls, so that a repeat does nothing twice.
    """

    id: str
    agent: SnakeName
    major: Count | None = None
    skill: SnakeName | None = None
    instruction: str = ""
    target: str | None = None
    produced_by: Literal["person", "model"] | None = None
    parameters: JsonMapping = Field(default_factory=dict)
    untyped: bool = False
    context: Context = Field(default_factory=Context)
    limits: Limits = Field(default_factory=Limits)
    output: OutputWish = Field(default_factory=OutputWish)
    source_agent: str | None = None
    parent: str | None = None
    depth: Count = 0
    model: str | None = None
    thinking: Thinking | None = None
    idempotency_key: str | None = None
    extras: JsonMapping = Field(default_factory=dict)


class Budget(Model):
    """The bounds of one run. What is absent is unbounded, but nodes and depth never are.

    Attributes:
        timeout_s: Seconds for the whole run.
        nodes: Delegations, child runs and alternatives included.
        depth: Delegations above each other (A25).
    """

    timeout_s: Annotated[float, Field(gt=0)] | None = None
    tokens: Count | None = None
    cost_usd: Annotated[float, Field(ge=0)] | None = None
    nodes: Annotated[int, Field(ge=1, le=100_000)] = 10_000
    depth: Annotated[int, Field(ge=1, le=100)] = 5


class Question(Model):
    """Something only a person can say.

    Attributes:
        kind: `approval` is a yes or no, and no when nobody is there; `choice` takes one of `options`.
        parameter: The parameter that the answer fills, when it fills one (C45).
        answer_schema: A JSON Schema for the answer.
    """

    id: str
    text: str
    kind: Literal["question", "approval", "choice"] = "question"
    options: tuple[str, ...] = ()
    agent: str | None = None
    skill: str | None = None
    parameter: str | None = None
    answer_schema: JsonMapping | None = None


class Answer(Model):
    """What was said to a question.

    Attributes:
        by: Who said it: `person`; `key:NAME` for a person known by a server's key; `policy` because nobody was there.
    """

    question_id: str
    value: Any = None
    by: Annotated[str, StringConstraints(pattern=r"^(?:person|policy|key:[A-Za-z0-9._-]{1,64})$")] = "person"

    @property
    def by_person(self) -> bool:
        """Whether a person said it."""
        return self.by != "policy"


class Correction(Model):
    """A refused answer, or refused parameters, with all that is needed to do better (A12).

    Attributes:
        code: `output_invalid` for an answer; `invalid_input` for parameters that go back to the model that made them.
        hint: The fix, clear enough for a model to follow.
        findings: Every finding, as JSON data.
        retry_count: Which retry this is, from 1.
        max_retries: How many there are at most.
        previous: The data that was refused; None when there was none.
        said: The text that was refused, as the agent wrote it.
    """

    code: FaultCode = "output_invalid"
    message: str
    hint: str = ""
    findings: tuple[JsonMapping, ...] = ()
    retry_count: Count = Field(default=1, ge=1)
    max_retries: Count | None = None
    previous: Any = None
    said: str | None = None
