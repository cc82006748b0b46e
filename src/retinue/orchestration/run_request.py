"""What a run of a plan is told when it starts: the plan and its bounds, as the JSON payload of a workflow."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, Literal, TypeAlias
from zlib import crc32

from pydantic import Field
from pydantic_core import to_json

from retinue.contract.definition import Definition, Effect
from retinue.contract.model import Count, JsonMapping, Model
from retinue.contract.plan import NodeId, Plan
from retinue.contract.result import Usage
from retinue.contract.task import Budget, Task, Thinking
from retinue.contract.tokens import DEFAULT
from retinue.errors import InvalidInput
from retinue.orchestration.expected_files import overlap_findings

RUN_PLAN: Final = "run_plan"
"""The one workflow that runs plans. Its payload is an `RunRequest`."""

_SECOND: Final = 1_000_000_000

RESERVED: Final = "~"
"""Stands between a node and its further steps (`n1~2`), so no node may have it in its id."""

RUN_AGENT: Final = "orchestrator"
"""Whose name stands on the result of a run."""

OnUnexpected: TypeAlias = Literal["ask", "skip", "abort"]


class Caller(Model):
    """One delegation that stands above a run, because its agent answered with the plan.

    Attributes:
        node: Where it stands in the whole: its id behind those of the delegations above it (`n1/n2`).
        request: A digest of what exactly was asked, to know it again.
    """

    node: str
    agent: str
    skill: str
    request: str


class RunRequest(Model):
    """A plan to be run, and within which bounds.

    Attributes:
        answer: `merged` makes one answer with sources; `collected` leaves the results side by side; `reduced` makes
            them one result, as the agent's that answered with this plan; `asked` is the only node's own result.
        task: What the only node is asked, with all that came with it; `answer` is `asked` then.
        history: What was said before the goal, the oldest first, as `role: text`: its agents are told.
        effects: What its agents may touch at most; whatever the grants of the workflow allow when absent.
        deadline_ns: Absolute end, for a child run; a run of its own takes `budget.timeout_s`.
        depth: How many delegations stand above this run's nodes.
        above: Those delegations, the outermost first.
        today: The day that "yesterday" is relative to, `YYYY-MM-DD`, when an alternative has to be bound anew.
        counter: Which token counter measures hand-offs.
        parent: Id of the task that this run does, when it does one.
        model: The model that thinks along in this run; none when absent.
        thinking: How hard it is to think.
        spent: What the plan has cost already; it counts as this run's.
        planned_ns: How long the plan took to make; that counts as this run's too.
        definitions: A digest of the definition of each agent in the plan, to see whether it changed meanwhile.
        on_unexpected: What happens when an agent answers otherwise than it promises, after all attempts (K36): a person
            is asked whether to retry, skip or abort; its node is skipped; or the run ends with it.
    """

    plan: Plan
    budget: Budget = Field(default_factory=Budget)
    answer: Literal["merged", "collected", "reduced", "asked"] = "merged"
    task: Task | None = None
    history: tuple[str, ...] = ()
    effects: tuple[Effect, ...] | None = None
    deadline_ns: Count | None = None
    depth: Count = 0
    above: tuple[Caller, ...] = ()
    today: str | None = None
    counter: str = DEFAULT
    parent: str | None = None
    model: str | None = None
    thinking: Thinking | None = None
    spent: Usage | None = None
    planned_ns: Count = 0
    definitions: dict[str, str] = Field(default_factory=dict[str, str])
    on_unexpected: OnUnexpected = "skip"

    @classmethod
    def read(cls, payload: JsonMapping) -> "RunRequest":
        """The order that `payload` holds.

        Raises:
            InvalidInput: A node's id holds `~`, or two branches expect to write one file.
        """
        return _read(to_json(payload))

    def deadline(self, started_ns: int) -> int | None:
        """When a run that began then must be over, nanoseconds since 1970 UTC; None when nothing bounds it."""
        seconds = self.budget.timeout_s
        own = None if seconds is None else started_ns + int(seconds * _SECOND) - self.planned_ns
        return min((bound for bound in (own, self.deadline_ns) if bound is not None), default=None)

    def place_of(self, node: NodeId) -> str:
        """Where a node of this run stands in the whole: `n1/n2`."""
        return f"{self.above[-1].node}/{node}" if self.above else node


def digests_of(agents: Iterable[str], definition_of: Callable[[str], Definition | None]) -> dict[str, str]:
    """A digest of the definition of each of `agents`; where it stands is no part of it. Unknown ones are left out."""
    digests: dict[str, str] = {}
    for name in dict.fromkeys(agents):
        if (definition := definition_of(name)) is not None:
            text = definition.model_copy(update={"source": None}).to_json_text()
            digests[name] = f"{crc32(text.encode()):08x}"  # nobody attacks it, and `hashlib` costs the quick path 2 ms
    return digests


@lru_cache(maxsize=16)
def _read(payload: bytes) -> RunRequest:
    """Orders are values, so many runs of the same plan share one."""
    request = RunRequest.model_validate_json(payload)
    reserved = [node.id for node in request.plan.nodes if RESERVED in node.id]
    if reserved:
        raise InvalidInput(
            f"`{RESERVED}` is reserved, and is in the ids {', '.join(reserved[:5])}.",
            hint="Use letters, digits, dots and dashes.",
            path="/plan/nodes",
        )
    if overlaps := overlap_findings(request.plan):
        raise InvalidInput(
            " ".join(finding.message for finding in overlaps[:5]),
            hint="Give each branch a file of its own, or let one need the other.",
            path=f"/plan{overlaps[0].path}",
            detail={"findings": [finding.to_json() for finding in overlaps]},
        )
    return request
