"""What happens during a run, one fact at a time.

Events are the hot path, so they are slotted dataclasses: nobody validates what we ourselves just wrote.
What an agent puts into one is checked where it enters, in `agents/`.
"""

from dataclasses import dataclass, field, fields
from typing import TypeAlias

from retinue.contract.model import JsonMapping, Model
from retinue.contract.result import Result, Usage
from retinue.contract.task import Answer, Question


@dataclass(slots=True)
class NodeStarted:
    """A node, or with an empty node name the whole run, has begun."""

    agent: str = ""
    skill: str = ""
    instruction: str = ""


@dataclass(slots=True)
class Progress:
    """How far a phase is (H18). `done` of `total` when they can be counted."""

    phase: str
    status: str = ""
    done: int | None = None
    total: int | None = None


@dataclass(slots=True)
class Checkpoint:
    """A phase is complete, and what it left behind can be relied on (H19)."""

    phase: str
    status: str = ""
    artifacts: int | None = None


@dataclass(slots=True)
class Decision:
    """A choice between possible moves, and why (P15)."""

    move: str
    reason: str
    facts: JsonMapping = field(default_factory=dict)


@dataclass(slots=True)
class Message:
    """A message for a person."""

    text: str
    level: str = "info"


@dataclass(slots=True)
class TextDelta:
    """A model went on with its answer. Pieces are gathered for a moment, so there are few of them."""

    text: str


@dataclass(slots=True)
class ToolCallEvent:
    """A tool was used. The output itself stays in the result's traces.

    Attributes:
        about: What the call was about, in a few words: a path, a command line, a URL.
    """

    tool: str
    duration_ns: int | None = None
    failed: bool = False
    about: str = ""


@dataclass(slots=True)
class TurnsAdded:
    """A conversation with a model went on: what its step needs to continue here when its process has died.

    Attributes:
        conversation: Tells it from the others of its run.
        start: How many of the turns that are recorded stay; the new ones follow them.
        turns: The new ones, as `llm.turns` writes them. Results of tools after results of tools are one turn.
        notes: What else its agent has to know to continue, since the last such event.
    """

    conversation: str
    start: int
    turns: list[JsonMapping]
    notes: JsonMapping = field(default_factory=dict)


@dataclass(slots=True)
class UsageReported:
    """Tokens and money spent since the last such event: by each model call when it is settled, by others at the end."""

    usage: Usage


@dataclass(slots=True)
class AttemptRetried:
    """An attempt failed and the policy gives it another one."""

    code: str
    message: str
    wait_s: float = 0.0


@dataclass(slots=True)
class QuestionAsked:
    """A person is being asked."""

    question: Question


@dataclass(slots=True)
class QuestionAnswered:
    """A person, or the policy, answered."""

    answer: Answer


@dataclass(slots=True)
class DelegationFinished:
    """An agent that another one asked inside its step has ended.

    Attributes:
        result: How it ended and what it took. What it said went to whoever asked, and stands in that one's result.
    """

    result: Result


@dataclass(slots=True)
class NodeFinished:
    """A node, or with an empty node name the whole run, has ended. What it came to is all here."""

    result: Result


Body: TypeAlias = (
    NodeStarted
    | Progress
    | Checkpoint
    | Decision
    | Message
    | TextDelta
    | ToolCallEvent
    | TurnsAdded
    | UsageReported
    | AttemptRetried
    | QuestionAsked
    | QuestionAnswered
    | DelegationFinished
    | NodeFinished
)


@dataclass(slots=True)
class Event:
    """One fact about one run.

    Attributes:
        node: Id of the delegation; empty for the run itself.
        attempt: From 1; 0 when it belongs to no attempt.
        sequence: Counts up within a run; gaps never happen.
        at_ns: When, in nanoseconds since 1970 UTC, by the engine's clock.
    """

    run: str
    node: str
    attempt: int
    sequence: int
    at_ns: int
    body: Body

    @property
    def kind(self) -> str:
        """The body's class as a word: `progress`, `tool_call` and so on."""
        return KINDS[type(self.body)]

    def to_json(self) -> JsonMapping:
        """This event as one flat JSON object; absent facts are left out."""
        head: JsonMapping = {
            "kind": self.kind,
            "run": self.run,
            "node": self.node,
            "attempt": self.attempt,
            "sequence": self.sequence,
            "at_ns": self.at_ns,
        }
        for item in fields(self.body):
            value: object = getattr(self.body, item.name)
            if isinstance(value, Model):
                head[item.name] = value.to_json()
            elif value is not None:
                head[item.name] = value
        return head


KINDS: dict[type[Body], str] = {
    NodeStarted: "started",
    Progress: "progress",
    Checkpoint: "checkpoint",
    Decision: "decision",
    Message: "message",
    TextDelta: "text_delta",
    ToolCallEvent: "tool_call",
    TurnsAdded: "turns",
    UsageReported: "usage",
    AttemptRetried: "retried",
    QuestionAsked: "asked",
    QuestionAnswered: "answered",
    DelegationFinished: "delegated",
    NodeFinished: "finished",
}
