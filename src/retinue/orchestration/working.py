"""The body of a node's step: one call through the boundary, then a look at the files that were expected of it (H24).

What it came to is also noted here at once, for a run that is stopped before the walk has taken it.
"""

from functools import partial

from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.engine.base import Step
from retinue.orchestration.account import Account
from retinue.orchestration.context import NodeContext, Surface, asked_inside, memo_for
from retinue.orchestration.expected import verified
from retinue.orchestration.order import Order
from retinue.orchestration.requests import Progress, Requests

__all__ = ["Working"]


class Working:
    """Makes the steps of one walk.

    Attributes:
        came: What each node came to last, by its id.
    """

    def __init__(self, order: Order, surface: Surface, account: Account, requests: Requests) -> None:
        self.came: dict[str, Result] = {}
        self._order, self._surface, self._account, self._requests = order, surface, account, requests

    def step(self, progress: Progress, name: str) -> Step:
        """The body of the step called `name`, in which the agent of a node is called."""
        node = progress.node
        context = NodeContext(
            self._surface,
            node.id,
            budget=self._account.ledger.left(),
            depth=self._order.depth,
            answers=progress.answers,
            memo=memo_for(node, progress.last),
        )
        context.purse = self._account.open(name)
        return partial(self._call, self._requests.task(progress, name), context, progress)

    async def _call(self, task: Task, context: NodeContext, progress: Progress) -> Result:
        context.asked = task
        result = await self._surface.call(task, context)
        if expects := progress.node.expects:
            from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only runs that write files need threads

            result = await in_thread(verified, result, expects, self._surface.workspace)
        self.came[context.node] = result
        question = context.waits_for
        if question is None or result.useful:
            return result
        return asked_inside(task, context, question, result.usage)
