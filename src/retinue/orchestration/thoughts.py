"""What one walk asks its model, each as the body of a step: a replay reads the answer and asks nobody (A25, B25).

Three occasions: a request too large for one agent, a failure with several ways out, and the answer of a run of several
parts. Without a model nothing is asked, and the walk does as the rules say. What is made of an answer is decided
by pure functions elsewhere: `reconsider`, `citing`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retinue.contract.model import JsonMapping
from retinue.contract.result import Result, Usage
from retinue.contract.task import Thinking
from retinue.engine.base import REAL, Step
from retinue.llm.purse import Purse
from retinue.orchestration.account import Account
from retinue.orchestration.check import Check
from retinue.orchestration.context import Surface
from retinue.orchestration.order import RESERVED, Order
from retinue.orchestration.reconsider import Options
from retinue.orchestration.requests import Progress, Requests
from retinue.orchestration.shares import USUAL
from retinue.orchestration.synthesise import RUN_AGENT, Ended
from retinue.orchestration.thinker import Thinker

if TYPE_CHECKING:
    from retinue.llm.port import LanguageModel
    from retinue.orchestration.reader.model import ModelReader

__all__ = ["SPLIT_TOKENS", "SYNTHESIS", "Mind", "Thoughts", "split_name", "think_name"]

SPLIT_TOKENS: Final = 400
"""An instruction of more tokens may be several requests, and a model is asked whether it is."""

_SEVERAL: Final = 2

SYNTHESIS: Final = f"{RESERVED}synthesis"
"""The step in which a model writes the summary of a run."""


def think_name(node: str, number: int) -> str:
    """The step in which a model reconsiders a node for the so-manieth time.

    It begins with the reserved sign, as all steps do that are no agent's: whoever follows a run tells by that.
    """
    return f"{RESERVED}think{number}.{node}"


def split_name(node: str) -> str:
    """The step in which a model splits the request of a node."""
    return f"{RESERVED}split.{node}"


@dataclass(frozen=True, slots=True)
class Mind:
    """The model that thinks along in a run.

    Attributes:
        model: What it is called.
        open: Gives the model; what it raises is a refusal like any other.
        planner: Gives whoever splits requests.
        thinking: How hard it is to think.
        clock: What time it is.
    """

    model: str
    open: "Callable[[], LanguageModel]"
    planner: "Callable[[], ModelReader]"
    thinking: Thinking | None = None
    clock: Callable[[], int] = REAL.clock

    def ready(self, purse: Purse, deadline_ns: int | None) -> Thinker | str:
        """The model, ready to be asked; or why it is not."""
        try:
            model = self.open()
        except Exception as error:  # noqa: BLE001 - a provider may fail in any way; then the rules decide
            return f"it cannot be asked: {error}"
        return Thinker(model, purse, deadline_ns, self.thinking, self.clock)


@dataclass(frozen=True, slots=True)
class Thoughts:
    """What one walk asks.

    Each method gives the name of a step and its body, or None when there is nothing to ask.
    """

    mind: Mind
    order: Order
    surface: Surface
    account: Account
    requests: Requests
    check: Check

    def reconsidering(self, progress: Progress, result: Result, options: Options) -> tuple[str, Step] | None:
        """Which of the ways that are open for a failed node is taken."""
        mind = self.mind
        if not options.worth_a_thought:
            return None
        node, goal = progress.node, self.order.plan.goal
        progress.thoughts += 1
        name = think_name(node.id, progress.thoughts)
        purse = self._purse(name)

        async def body() -> Result:
            thinker = mind.ready(purse, self.surface.deadline_ns)
            if isinstance(thinker, str):
                return self._said(name, {"model": mind.model, "options": list(options.ids), "refused": thinker})
            return await options.asked(node, result, thinker, goal=goal, task=self._task(name))

        return name, body

    def splitting(self, progress: Progress) -> tuple[str, Step] | None:
        """Whether the request of a node is several, when it is large enough to be (A25).

        Not when its agent may answer with a plan itself, when it has to leave a file, or when it is handed something:
        the parts would know nothing of that.
        """
        mind, node, order = self.mind, progress.node, self.order
        if len(node.instruction) <= SPLIT_TOKENS or order.depth >= order.budget.depth:
            return None
        bound = node.expects or node.needs or self.requests.composes(node)
        if bound or self.requests.counter.count(node.instruction) <= SPLIT_TOKENS:
            return None
        name = split_name(node.id)
        purse = self._purse(name)
        above = (*order.above, self.check.caller(node, order.place_of(node.id)))
        most = max(order.budget.nodes - self.account.ledger.nodes, 0)

        async def body() -> Result:
            thinker = mind.ready(purse, self.surface.deadline_ns)
            if isinstance(thinker, str):
                return self._said(name, {"model": mind.model, "reason": thinker})
            split = await mind.planner().split(
                node, thinker, goal=order.plan.goal, above=above, most=most, around=self.requests.around
            )
            data: JsonMapping = {"model": mind.model, "reason": split.reason}
            data |= {"plan": split.plan.to_json()} if split.plan is not None else {}
            return self._said(name, data, split.usage)

        return name, body

    def writing(self, ended: Ended) -> tuple[str, Step] | None:
        """The summary of several answers (B25). A single answer is its own."""
        mind = self.mind
        if self.order.answer == "collected" or sum(one.useful for one in ended.results.values()) < _SEVERAL:
            return None
        from retinue.orchestration.citing import evidence_of, written  # noqa: PLC0415 - only with a model

        evidence = evidence_of(ended)
        if not evidence.pieces:
            return None
        name = f"{SYNTHESIS}.{evidence.digest}"  # a resumed run may have more evidence, and then another summary
        purse = self._purse(name)

        async def body() -> Result:
            thinker = mind.ready(purse, self.surface.deadline_ns)
            if isinstance(thinker, str):
                return self._said(name, {"model": mind.model, "refused": thinker})
            return await written(self.order.plan.goal, evidence, thinker, task=self._task(name))

        return name, body

    def _purse(self, name: str) -> Purse:
        """What one thought may take: what the orchestrator's share of the budget has left (H26)."""
        tokens = self.order.budget.tokens
        if tokens is None:
            return self.account.open(name)
        taken = self.account.overhead_usage
        left = USUAL.of_orchestrator(tokens) - ((taken.tokens if taken else None) or 0)
        return self.account.open(name, tokens=max(left, 0))

    def _task(self, name: str) -> str:
        return f"{self.surface.run}:{name}"

    def _said(self, name: str, data: JsonMapping, usage: Usage | None = None) -> Result:
        return Result(task_id=self._task(name), agent=RUN_AGENT, outcome="success", data=data, usage=usage)
