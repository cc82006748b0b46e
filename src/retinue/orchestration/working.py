"""The body of a node's step: one call through the boundary, then a look at the files that were expected of it (H24).

What it came to is also noted here at once, for a run that is stopped before the walk has taken it.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from retinue.contract.model import JsonMapping
from retinue.contract.plan import Expected
from retinue.contract.result import Result
from retinue.engine.base import Step
from retinue.orchestration.account import Account
from retinue.orchestration.context import NodeContext, Surface, asked_inside, memo_for
from retinue.orchestration.expected import verified
from retinue.orchestration.order import Order
from retinue.orchestration.requests import Progress, Requests

if TYPE_CHECKING:
    from retinue.orchestration.thoughts import Mind

__all__ = ["Working"]


class Working:
    """Makes the steps of one walk.

    Attributes:
        came: What each node came to last, by its id.
    """

    def __init__(
        self, order: Order, surface: Surface, account: Account, requests: Requests, *, mind: "Mind | None" = None
    ) -> None:
        self.came: dict[str, Result] = {}
        self._mind = mind
        self._order, self._surface, self._account, self._requests = order, surface, account, requests

    def step(self, progress: Progress, name: str) -> Step:
        """The body of the step called `name`, in which the agent of a node is called.

        What its needs hand on is settled now. The rest is made when the step begins: of a thousand that are ready at
        once, few are under way at the same moment.
        """
        return partial(self._call, progress, name, self._requests.handed_on(progress.node))

    async def _call(self, progress: Progress, name: str, inputs: JsonMapping) -> Result:
        node = progress.node
        task = self._requests.task(progress, name, inputs)
        context = NodeContext(
            self._surface,
            node.id,
            budget=self._account.ledger.left(),
            depth=self._order.depth,
            answers=progress.answers,
            memo=memo_for(node, progress.last),
            open_purse=partial(self._account.open, name),
        )
        context.asked = task
        result = context.accounted(await self._surface.call(task, context))
        if expects := node.expects:
            result = await self._with_files(result, expects, context)
        self.came[node.id] = result
        question = context.waits_for
        if question is None or result.useful:
            return result
        return asked_inside(task, context, question, result.usage)

    async def _with_files(self, said: Result, expects: Sequence[Expected], context: NodeContext) -> Result:
        """`said` with what is true of the files that were expected, research reports judged by their criteria."""
        from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only runs that write files need threads

        result = await in_thread(verified, said, tuple(expects), self._surface.workspace)
        reports = [expected for expected in expects if expected.rules == "research"]
        if not reports or not result.useful:
            return result
        from retinue.orchestration.judging_reports import judged, read_reports  # noqa: PLC0415 - few runs write reports

        mind = self._mind
        thinker = None if mind is None else partial(mind.ready, context.purse, context.deadline_ns)
        texts = await in_thread(read_reports, reports, context.workspace)
        return await judged(said, result, reports, texts, thinker, phases=context.phases)
