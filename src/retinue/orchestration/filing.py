"""The files of one walk: who wrote what is noted as branches end, and when all have, what is left of it is measured.

The rules stand in `written` and `expected`; here they meet the results they change. Nothing is started here: that is
for `walk`.
"""

from collections.abc import Iterator
from typing import Final

from retinue.contract.event import Decision
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result
from retinue.orchestration.ending import counted
from retinue.orchestration.order import RESERVED
from retinue.orchestration.requests import Requests
from retinue.orchestration.synthesise import RUN_AGENT
from retinue.orchestration.written import Lost, Written, measured, without
from retinue.tools.workspace import Workspace

__all__ = ["Filing"]

_FILES: Final = f"{RESERVED}files"
"""The step that measures again, when all nodes have ended, what was written."""


class Filing:
    """What the branches of one plan wrote."""

    def __init__(self, run: str, plan: Plan, requests: Requests, workspace: Workspace | None) -> None:
        self._run, self._plan, self._requests, self._workspace = run, plan, requests, workspace
        self._written = Written(plan)

    def noted(self, node: Delegation, result: Result) -> tuple[Result, list[Lost]]:
        """`result` with what is to be said about its branches; and what of others it wrote over."""
        lost: list[Lost] = []
        if result.artifacts or result.files_written:
            lost = self._written.note(node, result)
        return (counted(node, result, self._requests.results) if node.join == "quorum" else result), lost

    @property
    def step(self) -> str:
        """The name of the step that measures again; empty when there is nothing to measure.

        A resumed run may have written more by then, and measures anew.
        """
        paths = self._written.paths
        return f"{_FILES}{len(paths)}" if paths else ""

    async def measure(self) -> Result:
        """The body of that step: what the files hold now. By now somebody may have written over them (H24)."""
        from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only runs that write files need threads

        found = await in_thread(measured, self._workspace, self._written.paths)
        return Result(task_id=f"{self._run}:{_FILES}", agent=RUN_AGENT, outcome="success", data=found)

    def settle(self, measurement: Result) -> Iterator[Lost]:
        """What is not there any more."""
        yield from self._written.settle(measurement.data if measurement.useful else {})

    def lose(self, node: Delegation, lost: Lost) -> None:
        """Take what was lost out of the result of whoever wrote it."""
        results = self._requests.results
        results[node.id] = without(node, results[node.id], lost)

    def verdict(self) -> Decision | None:
        """How many branches left the files that were expected of them; None when none were."""
        wanting = [node for node in self._plan.nodes if node.expects]
        if not wanting:
            return None
        there = sum(self._requests.results[node.id].useful for node in wanting)
        reason = f"{there} of {len(wanting)} branches left the files that were expected of them."
        return Decision("verify", reason, {"workers": len(wanting), "verified": there})
