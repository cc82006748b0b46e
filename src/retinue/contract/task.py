"""One request to one agent."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from retinue.contract.model import Count, JsonMapping, Model, SnakeName

__all__ = ["Context", "ContextLevel", "Limits", "OutputWish", "Task", "Thinking"]

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
