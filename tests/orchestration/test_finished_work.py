"""Nothing finished is ever lost: what came stays in the answer, whatever fails beside it, at any depth."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent
from retinue.contract.plan import Candidate, Delegation, Join, Plan
from retinue.contract.result import Result
from retinue.orchestration.orchestrator import Orchestrator
from tests.orchestration.parts import node, orchestrated


@dataclass(frozen=True)
class Tree:
    """A worker, or a supervisor over others."""

    fails: bool = False
    join: Join = "all"
    quorum: float = 1.0
    below: tuple["Tree", ...] = ()


@dataclass
class Team:
    """Workers who report under numbers of their own, and those who give them their work."""

    trees: dict[str, Tree] = field(default_factory=dict[str, Tree])
    finished: list[str] = field(default_factory=list[str])

    def nodes(self, trees: tuple[Tree, ...]) -> tuple[Delegation, ...]:
        return tuple(self._node(f"n{place}", tree) for place, tree in enumerate(trees))

    def _node(self, name: str, tree: Tree) -> Delegation:
        number = f"{len(self.trees):04}"
        self.trees[number] = tree
        return node(name, "supervisor" if tree.below else "worker", parameters={"number": number})

    def agents(self) -> tuple[Any, Any]:
        @agent(description="Reports.")
        async def worker(number: str) -> dict[str, str]:
            """Report."""
            if self.trees[number].fails:
                raise PermissionError(f"not {number}")
            self.finished.append(f"report {number} is done")
            return {"report": f"report {number} is done"}

        @agent(description="Has others report.", composes=True)
        async def supervisor(number: str) -> Reply:
            """Have others report."""
            tree = self.trees[number]
            return Reply(plan=Plan(nodes=self.nodes(tree.below), join=tree.join, quorum=tree.quorum))

        return worker, supervisor


JOINS = st.sampled_from(["all", "any", "quorum", "fail_fast"])
TREES = st.recursive(
    st.builds(Tree, fails=st.booleans()),
    lambda below: st.builds(
        Tree, join=JOINS, quorum=st.sampled_from([0.5, 1.0]), below=st.lists(below, min_size=1, max_size=4).map(tuple)
    ),
    max_leaves=12,
)
ONE_OF_FOUR = Tree(join="quorum", quorum=0.5, below=(Tree(), Tree(fails=True), Tree(fails=True), Tree(fails=True)))


@pytest.mark.requirement("A24", "A25", "H25")
@given(top=st.lists(TREES, min_size=1, max_size=3).map(tuple), join=JOINS, collected=st.booleans())
@example(top=(ONE_OF_FOUR,), join="all", collected=False)
@example(top=(Tree(join="fail_fast", below=(ONE_OF_FOUR, ONE_OF_FOUR)),), join="all", collected=True)
@example(top=(Tree(below=(Tree(),)), Tree(below=(Tree(below=(Tree(),)),))), join="any", collected=False)
def test_every_finished_report_is_in_the_answer_whichever_branches_fail(
    top: tuple[Tree, ...], join: Join, *, collected: bool
):
    team = Team()
    plan = Plan(goal="Report", nodes=team.nodes(top), join=join, quorum=0.5)

    async def work(orchestrator: Orchestrator) -> Result:
        if collected:
            return await orchestrator.gather(plan.nodes, join=join)
        return await orchestrator.run_plan(plan)

    result: Result = orchestrated(*team.agents(), work=work)
    written = json.dumps(result.data) if collected else result.content
    assert [report for report in team.finished if report not in written] == []


@pytest.mark.requirement("H25")
def test_a_supervisor_below_its_quorum_fails_and_shows_the_report_that_came():
    team = Team()
    plan = Plan(goal="Report", nodes=team.nodes((ONE_OF_FOUR,)))
    result: Result = orchestrated(*team.agents(), work=lambda orchestrator: orchestrator.run_plan(plan))
    assert (result.outcome, team.finished) == ("error", ["report 0001 is done"])
    assert "Only 1 of 4 branches reported, and 2 are wanted" in result.data["failures"][0]["message"]
    assert [section["outcome"] for section in result.data["answer"]] == ["error"]


def test_reports_of_a_supervisor_stay_when_its_work_is_given_to_somebody_else():
    team = Team()
    (failing,) = team.nodes((ONE_OF_FOUR,))
    chosen = Candidate(agent="supervisor", skill="supervisor", score=1, share=1)
    other = Candidate(agent="deputy", skill="deputy", score=1, share=1)
    failing = failing.model_copy(update={"chosen": chosen, "alternatives": (other,)})

    @agent(description="Has others report.")
    async def deputy() -> dict[str, str]:
        """Report."""
        return {"report": "the deputy's"}

    @agent(description="Reports.")
    async def worker(number: str) -> dict[str, str]:
        """Report."""
        if team.trees[number].fails:
            raise ConnectionRefusedError(number)
        return {"report": f"report {number} is done"}

    plan = Plan(goal="Report", nodes=(failing,))
    result: Result = orchestrated(
        worker, team.agents()[1], deputy, work=lambda orchestrator: orchestrator.run_plan(plan)
    )
    assert result.outcome == "success"
    assert [section["agent"] for section in result.data["answer"]] == ["supervisor", "deputy"]
    assert "report 0001 is done" in result.content


def test_reports_below_a_supervisor_stay_when_the_whole_run_is_stopped():
    team = Team()
    waiting = asyncio.Event()

    @agent(description="Waits until it is stopped.")
    async def endless(run: RunContext) -> dict[str, str]:
        """Wait."""
        waiting.set()
        await asyncio.Event().wait()
        return {}

    @agent(description="Has others report.", composes=True)
    async def chief(depth: int) -> Reply:
        """Have others report."""
        if depth:
            return Reply(plan=Plan(nodes=(node("deeper", "chief", parameters={"depth": depth - 1}),)))
        done, never = team.nodes((Tree(),))[0], node("never", "endless", needs=("n0",))
        return Reply(plan=Plan(nodes=(done, never)))

    async def work(orchestrator: Orchestrator) -> Result:
        plan = Plan(goal="Report", nodes=(node("top", "chief", parameters={"depth": 2}),))
        run = await orchestrator.start(plan)
        await waiting.wait()
        await orchestrator.engine.cancel(run)
        return await orchestrator.engine.result(run)

    result: Result = orchestrated(*team.agents(), endless, chief, work=work)
    assert result.outcome == "canceled"
    assert team.finished in (["report 0000 is done"], ["report 0001 is done"])
    assert team.finished[0] in result.content
