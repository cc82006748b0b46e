"""Several subjects looked up at once: the plan that is answered with, and what a run makes of it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.catalogue.research_supervisor import ResearchSupervisor
from retinue.contract import schema
from retinue.contract.event import NodeFinished
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result
from retinue.contract.task import Question, Task
from retinue.engine.inprocess import InProcessEngine
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.orchestration.plan_checker import findings
from retinue.orchestration.reader.router import Router
from retinue.tools.workspace import Workspace

LIMITS = """# Limits

Every request to `/orders` is answered within 200 ms, also on a bad day.

## Users

The endpoint `/users` promises an answer within half a second.
"""


def planned(subjects: list[str], **parameters: Any) -> Any:
    task = Task(id="t", agent="research_supervisor", parameters={"subjects": subjects, **parameters})
    return asyncio.run(ResearchSupervisor.run(task, LocalContext()))


@given(st.text(max_size=300), st.text(min_size=1, max_size=50).filter(str.isalnum))
def test_every_worker_is_asked_about_its_subject(asked: str, subject: str):
    assert planned([subject], question=asked).plan.nodes[0].instruction.endswith(f"`{subject}`")


@pytest.mark.requirement("H22", "A25")
def test_the_answer_is_a_plan_with_a_worker_for_each_subject():
    reply = planned(["/orders", "/users", " /Orders "], question="compare them with the docs", sources=["docs"])
    plan: Plan = reply.plan
    assert [(one.id, one.target, one.agent, one.skill) for one in plan.nodes] == [
        ("001_orders", "/orders", "researcher_analyst", "research"),
        ("002_users", "/users", "researcher_analyst", "research"),
    ]
    assert plan.nodes[0].parameters == {"sources": ["docs"], "depth": "quick_scan"}
    assert (plan.join, plan.quorum) == ("quorum", 0.5)
    assert findings(plan, [agent.definition for agent in agents()]) == []


@pytest.mark.requirement("H22")
def test_at_most_twelve_are_looked_up_and_the_others_named():
    reply = planned([f"name_{number}" for number in range(30)])
    assert len(reply.plan.nodes) == 12
    (warning,) = reply.warnings
    assert "'name_12'" in warning.message
    assert "and 6 more" in warning.message


def test_subjects_without_a_name_are_refused():
    reply = planned([" ", "\n"])
    assert (reply.outcome, reply.fault.code) == ("error", "invalid_input")


def walked(folder: Path, plan: Plan) -> tuple[Result, list[Result]]:
    async def main() -> tuple[Result, list[Result]]:
        registry, workspace = Registry(agents()), Workspace(folder)
        async with InProcessEngine(workflows(registry, workspace=workspace)) as engine:
            run = await Orchestrator(registry, engine, workspace=workspace).start(plan)
            result = await engine.result(run)
            events = [event async for event in engine.events(run, follow=False)]
            bodies = [event.body.result for event in events if isinstance(event.body, NodeFinished) and event.node]
            return result, bodies

    return asyncio.run(main())


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "limits.md").write_text(LIMITS)
    (tmp_path / "README.md").write_text("# Shop\n\nA shop with a few endpoints.\n")
    return tmp_path


@pytest.mark.requirement("H20", "H22", "H24")
def test_each_subject_gets_a_section_with_sources_and_a_row_found_or_not(docs: Path):
    parameters = {"subjects": ["/orders", "/users", "/nowhere"], "sources": ["docs"]}
    node = Delegation(
        id="n2",
        agent="research_supervisor",
        skill="research_each",
        instruction="compare them with what the docs promise",
        parameters=parameters,
    )
    result, finished = walked(docs, Plan(goal="Slow endpoints", nodes=(node,)))
    child = finished[-1]
    assert child.data["subjects"] == parameters["subjects"]
    (table,) = child.data["tables"]
    rows = {row[0]: row[1:] for row in table["rows"]}
    assert rows["/orders"][0] == "yes"
    assert "within 200 ms" in rows["/orders"][1]
    assert rows["/orders"][2].startswith("docs/limits.md:")
    assert "half a second" in rows["/users"][1]
    assert rows["/nowhere"][0] != "yes"
    assert rows["/nowhere"][2] is None
    skill = ResearchSupervisor.definition.skills[0]
    assert skill.output_schema is not None
    assert schema.compile(skill.output_schema).findings(child.data) == []
    assert result.outcome == "partial"
    assert "#### /orders" in result.content
    assert "docs/limits.md:3" in result.content
    assert result.files_read == ("docs/limits.md",) or "docs/limits.md" in result.files_read


@pytest.mark.requirement("H20")
def test_subjects_are_taken_from_the_result_that_is_needed(docs: Path):
    from retinue.agents.python import agent

    @agent(description="Finds slow endpoints.")
    async def slow() -> dict[str, Any]:
        """Find them."""
        return {"answer": "Two are slow.", "subjects": ["/users", "/orders"]}

    asked = Question(id="subjects", text="Which?", parameter="subjects", answer_schema={"type": "array"})
    plan = Plan(
        nodes=(
            Delegation(id="n1", agent="slow"),
            Delegation(
                id="n2",
                agent="research_supervisor",
                skill="research_each",
                instruction="what do the docs promise for each of them",
                needs=("n1",),
                questions=(asked,),
            ),
        )
    )

    async def main() -> Result:
        registry, workspace = Registry((*agents(), slow)), Workspace(docs)
        async with InProcessEngine(workflows(registry, workspace=workspace)) as engine:
            return await Orchestrator(registry, engine, workspace=workspace).run_plan(plan)

    result = asyncio.run(main())
    assert result.outcome == "success"
    assert result.content.index("#### /users") < result.content.index("#### /orders")


@pytest.mark.parametrize(
    "clause",
    ["compare them with what the documentation promises", "what do the docs say about each of them"],
)
def test_questions_about_each_of_several_are_routed_here(clause: str):
    routing = Router([agent.definition for agent in agents()]).route(clause)
    assert routing.candidates[0].agent == "research_supervisor"
