"""What comes back from one task. A failing agent returns a result; it does not raise."""

from sys import float_info
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, Literal, TypeAlias, cast

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypeVar

from retinue.contract import json
from retinue.contract.fault import Fault, public_fault
from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.model import Completeness, Confidence, Count, JsonMapping, Model
from retinue.contract.old_names import with_old_names
from retinue.contract.task import Question
from retinue.errors import OutputInvalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True, default=Any)

Lifecycle: TypeAlias = Literal["submitted", "working", "input_required", "ended"]
Outcome: TypeAlias = Literal["success", "partial", "error", "failed", "canceled", "rejected"]
"""How an ended task ended (C1). `failed` is an `error` whose attempts are used up."""
WarningType: TypeAlias = Literal["missing_data", "degraded_analysis", "incomplete_context"]


class Warned(Model):
    """Something that makes a result less than whole (K4, K5).

    Attributes:
        synthetic: We wrote it because the agent owed one and gave none (C3).
    """

    type: WarningType
    message: str
    impact: str = ""
    recovery: str = ""
    synthetic: bool = False


class Artifact(Model):
    """A file an agent says it made. `size` and `sha256` are measured by the boundary, never taken on trust."""

    path: str
    type: str | None = None
    title: str | None = None
    topic: str | None = None
    status: str | None = None
    summary: str | None = None
    size: Count | None = None
    sha256: str | None = None
    media_type: str | None = None


class Trace(Model):
    """One tool call (B5). `output` is text: structured output is its canonical JSON (C8)."""

    tool: str
    output: str
    args: JsonMapping | None = None
    duration_ns: Count | None = None


class Cost(Model):
    """Money, with the price it was computed from (C18). An unknown model has no `Cost`, not a cost of 0."""

    usd: Annotated[float, Field(ge=0)]
    price_id: str
    price_date: str


class UsagePart(Model):
    """Tokens and money that one model took. What nobody measured is absent.

    Attributes:
        tokens_total: In and out together, where whoever measured says their sum; it may hold more than the other two.
        cost: What all of it cost.
        counter: The token counter that measured, when it was not the provider.
        agent: Who took it, when that is not whose result it is told in, but somebody who was asked inside that step.
    """

    # A part has no parts: a whole usage in its place is refused, though it is one of these by its class.
    model_config = ConfigDict(revalidate_instances="subclass-instances")

    tokens_in: Count | None = None
    tokens_out: Count | None = None
    tokens_total: Count | None = None
    tokens_cached: Count | None = None
    requests: Count | None = None
    cost: Cost | None = None
    model: str | None = None
    counter: str | None = None
    agent: str | None = None

    @property
    def tokens(self) -> int | None:
        """All tokens: the sum that was said, else in and out together; None when nobody counted any."""
        if self.tokens_total is not None:
            return self.tokens_total
        if self.tokens_in is None and self.tokens_out is None:
            return None
        return (self.tokens_in or 0) + (self.tokens_out or 0)

    @property
    def is_unpriced(self) -> bool:
        """Whether a model was used and nobody knows what all of that cost."""
        return self.cost is None and bool(self.tokens or self.requests)


@with_old_names(taken_by="with_agent", together="total")
class Usage(UsagePart):
    """Tokens and money of one result: as of one part of it, and the parts.

    Attributes:
        cost: What all of it cost. There is none as soon as the price of some of it is not known.
        model: The model; several with commas between them.
        parts: What it was added up from, when that is more than one: by agent and model, and what has no price apart.
    """

    parts: tuple[UsagePart, ...] | None = None

    @property
    def known_usd(self) -> float | None:
        """US dollars that it is known to have cost, which is the least it can have; None when no price is known."""
        if self.cost is not None:
            return self.cost.usd
        amounts = [part.cost.usd for part in self.parts or () if part.cost is not None]
        return min(sum(amounts), float_info.max) if amounts else None

    def split(self) -> tuple[UsagePart, ...]:
        """Its parts; it alone when it has none."""
        return self.parts or (self,)

    def with_agent(self, agent: str) -> "Usage":
        """The same, said to be what `agent` took, but for the parts that others are said to have taken."""
        if _is_empty(self):
            return self
        parts = _group_parts(part.model_copy(update={"agent": part.agent or agent}) for part in self.split())
        return self.model_copy(update=_part_fields(parts))

    @classmethod
    def total(cls, usages: "Iterable[Usage | None]") -> "Usage | None":
        """All of `usages` as one; None when there is none.

        A count stands for those that have one. The cost is there only when everybody who used a model has one (C18): a
        sum that leaves somebody out would be too low. What is known nevertheless stands in the parts.
        """
        present = [usage for usage in usages if usage is not None]
        if len(present) < 2:
            return present[0] if present else None
        nonempty = [usage for usage in present if not _is_empty(usage)]
        if len(nonempty) < 2:
            return (nonempty or present)[0]
        return cls(
            **_sum_parts(nonempty), **_part_fields(_group_parts(part for usage in nonempty for part in usage.split()))
        )


def _is_empty(usage: Usage) -> bool:
    return all(value is None for name, value in usage if name != "agent")


def _group_parts(parts: "Iterable[UsagePart]") -> tuple[UsagePart, ...]:
    """The parts as few as they can be: those of one agent and model as one, but what has no price apart."""
    groups: dict[tuple[str | None, str | None, bool], list[UsagePart]] = {}
    for part in parts:
        groups.setdefault((part.agent, part.model, part.is_unpriced), []).append(part)
    return tuple(UsagePart(**_sum_parts(group), agent=agent) for (agent, _, _), group in groups.items())


def _part_fields(parts: tuple[UsagePart, ...]) -> JsonMapping:
    """The fields of a usage that say whose it is and what it is made of."""
    agents = {part.agent for part in parts}
    return {"agent": agents.pop() if len(agents) == 1 else None, "parts": parts if len(parts) > 1 else None}


def _sum_parts(parts: "Sequence[UsagePart]") -> JsonMapping:
    """What was measured of several, as of one."""
    costs = [each.cost for each in parts if each.cost is not None]
    return {
        "tokens_in": _sum([each.tokens_in for each in parts]),
        "tokens_out": _sum([each.tokens_out for each in parts]),
        # There is a sum as soon as one of them says no more than that.
        "tokens_total": sum(each.tokens or 0 for each in parts)
        if any(each.tokens_total is not None for each in parts)
        else None,
        "tokens_cached": _sum([each.tokens_cached for each in parts]),
        "requests": _sum([each.requests for each in parts]),
        "cost": None if any(each.is_unpriced for each in parts) else _cost(costs),
        "model": _join_words([each.model for each in parts]),
        "counter": _join_words([each.counter for each in parts]),
    }


def _sum(counts: "Sequence[int | None]") -> int | None:
    present = [count for count in counts if count is not None]
    return sum(present) if present else None


def _cost(costs: "Sequence[Cost]") -> Cost | None:
    if not costs:
        return None
    return Cost(
        usd=min(sum(cost.usd for cost in costs), float_info.max),
        price_id=_join_words([cost.price_id for cost in costs]) or "",
        price_date=_join_words([cost.price_date for cost in costs]) or "",
    )


def _join_words(texts: "Sequence[str | None]") -> str | None:
    """Each word once, in the order in which they were first said: `a` and `b, a` give `a, b`."""
    return ", ".join(dict.fromkeys(word for each in texts if each for word in each.split(", "))) or None


class Versions(Model):
    """Which agent and which contract made a result (C35)."""

    agent: str | None = None
    contract: str | None = None


class Attempt(Model):
    """One try at a task: how long it took and, when it failed, why."""

    number: Annotated[int, Field(ge=1)]
    duration_ns: Count
    fault: Fault | None = None
    usage: Usage | None = None


class Result(Model, Generic[T_co]):
    """What one task came to. `Result[Greeting]` is one whose `output` is a `Greeting`.

    Attributes:
        data: The structured answer; always JSON data.
        content: The answer as text, rendered from `data` when the agent gave none (C8).
        retries: Attempts after the first.
        confidence: 0 to 1; absent when nobody computed it (C31).
        completeness: 0 to 100; absent when nobody computed it.
        questions: What the agent must know to go on; with lifecycle `input_required`.
        reasoning: For the journal only; never handed on (C9).
        native: The peer's own words, kept.
    """

    task_id: str
    agent: str
    skill: str | None = None
    versions: Versions = Versions()
    lifecycle: Lifecycle = "ended"
    outcome: Outcome | None = None
    data: Any = None
    content: str = ""
    artifacts: tuple[Artifact, ...] = ()
    warnings: tuple[Warned, ...] = ()
    fault: Fault | None = None
    traces: tuple[Trace, ...] = ()
    usage: Usage | None = None
    duration_ns: Count | None = None
    attempts: tuple[Attempt, ...] = ()
    retries: Count = 0
    confidence: Confidence | None = None
    completeness: Completeness | None = None
    files_read: tuple[str, ...] = ()
    files_written: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    reasoning: str | None = None
    native: str | None = None
    extras: JsonMapping = Field(default_factory=dict)
    # Not a private attribute of pydantic, which costs every result a dictionary and a tenth of its making; a copy that
    # knows better keeps its own beside the fields, as a `cached_property` does.
    _answer_type: ClassVar[Any] = Any

    @property
    def useful(self) -> bool:
        """It brought something: a whole or a partial answer."""
        return self.outcome in {"success", "partial"}

    @property
    def output(self) -> T_co:
        """The answer as the type that the called function declares; `data` itself where no type is known.

        `retinue.call` knows the type of an agent made of a Python function. For any other result `as_type` says it.

        Raises:
            RetinueError: There is no answer: what `fault` says, as an exception.
            OutputInvalid: The data of a partial answer is not of that type; or there is neither answer nor fault.
        """
        if not self.useful:
            if self.fault is not None:
                raise self.fault.to_error()
            hint = "Answer its `questions` first." if self.questions else "See `outcome` and `content`."
            raise OutputInvalid(f"`{self.agent}` gave no answer.", hint=hint)
        if self._answer_type is Any:
            return cast("T_co", self.data)
        try:
            return TypeAdapter[T_co](self._answer_type).validate_json(json.dumps(self.data))
        except ValidationError as error:
            findings = findings_of(error, rule="result/type")
            raise OutputInvalid(
                f"The answer of `{self.agent}` is not of the type that was asked for: {summarise_findings(findings)}.",
                hint="Use `data`, which is what there is.",
                path=findings[0].path,
                detail=as_detail(findings),
            ) from None

    def as_type(self, answer_type: type[T], /) -> "Result[T]":
        """The same result, whose `output` is of `answer_type`.

        result = (await boundary.call(task, run)).as_type(Greeting)
        """
        result = cast("Result[T]", self.model_copy())
        vars(result)["_answer_type"] = answer_type
        return result


def public_result(result: Result, *, run: str, root: str = "") -> Result:
    """What of `result` may be told to whoever asked from outside: nothing of the words of the agent's own exceptions.

    Args:
        result: As the boundary gave it.
        run: The id by which the operator finds the rest.
        root: The workspace; paths in it may be told.
    """
    if result.fault is None and not any(attempt.fault for attempt in result.attempts):
        return result
    fault = result.fault and public_fault(result.fault, run=run, root=root)
    attempts = tuple(
        attempt.model_copy(update={"fault": attempt.fault and public_fault(attempt.fault, run=run, root=root)})
        for attempt in result.attempts
    )
    # What the boundary adds as a warning may quote a note on an exception, or what an agent raised when told to stop.
    warnings = tuple(warning for warning in result.warnings if not warning.synthetic)
    return result.model_copy(update={"fault": fault, "attempts": attempts, "warnings": warnings})


# A confidence as one word, for people and for formats that have no number. The number is what counts.

Label: TypeAlias = Literal["high", "medium", "low"]

HIGH: Final = 0.8
MEDIUM: Final = 0.5


def label_of(confidence: float | None) -> Label | None:
    """`high` from 0.8, `medium` from 0.5, else `low` (C31); None when nobody computed a confidence."""
    if confidence is None:
        return None
    if confidence >= HIGH:
        return "high"
    return "medium" if confidence >= MEDIUM else "low"
