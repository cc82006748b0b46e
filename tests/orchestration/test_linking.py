"""Requests that hang together, from goal to answer, and who may change things."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from retinue.agents.python import agent
from retinue.contract.definition import Definition, Skill
from retinue.contract.task import Answer, Question
from retinue.orchestration.orchestrator import Orchestrator
from retinue.orchestration.reader.planner import Planner
from retinue.tools.workspace import Workspace
from tests.orchestration.harder_agents import EVERYBODY, PROJECT
from tests.orchestration.parts import orchestrated


class Rows(BaseModel):
    rows: int


@agent(description="Counts rows of files.", examples=["how many rows are in orders.csv", "count the rows of a.csv"])
async def rows(files: list[str]) -> Rows:
    """Count the rows of files.

    Args:
        files: Which files.
    """
    return Rows(rows=len(files))


CLEANER = Definition(
    name="cleaner",
    description="Deletes branches that are merged.",
    skills=(
        Skill(
            name="clean_up",
            description="Removes what is merged.",
            input_schema={"type": "object", "properties": {}},
            effects=("read", "write"),
            examples=("delete merged branches", "clean up my branches", "remove old branches"),
        ),
    ),
)


def test_whoever_may_change_things_is_asked_to():
    (node,) = Planner([*EVERYBODY, CLEANER]).plan("delete all branches", environment=PROJECT).nodes
    assert (node.agent, node.skill) == ("cleaner", "clean_up")


def test_an_answer_to_which_file_becomes_the_list_that_is_asked_for(tmp_path: Path):
    for year in ("2024", "2025"):
        (tmp_path / year).mkdir()
        (tmp_path / year / "returns.csv").write_text("a\n1\n")
    workspace = Workspace(tmp_path)

    async def answerer(question: Question) -> Answer | None:
        assert question.options == ("2024/returns.csv", "2025/returns.csv")
        return Answer(question_id=question.id, value=question.options[1])

    async def work(orchestrator: Orchestrator) -> Any:
        there = Orchestrator(orchestrator.registry, orchestrator.engine, workspace=workspace)
        return await there.run_goal("how many rows are in returns.csv")

    result = orchestrated(rows, work=work, answerer=answerer, workspace=workspace)
    assert result.outcome == "success", result.fault
    assert "1" in result.content


def test_a_goal_that_asks_for_nothing_calls_nobody():
    result = orchestrated(rows, work=lambda orchestrator: orchestrator.run_goal("thanks a lot!"))
    assert (result.outcome, result.extras["calls"]) == ("success", 0)
    assert "no agent was called" in result.content
