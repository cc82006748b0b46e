"""The questions about fresh tables: their rows are what their SQL gives, and a verdict tells right, wrong and refused."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from bench.table_questions import Question, call, load, verdict
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.catalogue.data_analyst import columns
from retinue.contract.result import Result
from retinue.engine.inprocess import InProcessEngine
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel
from retinue.orchestration.orchestrator import Orchestrator
from retinue.orchestration.planning import Planning, planning_of
from retinue.tools.workspace import Workspace

duckdb = pytest.importorskip("duckdb")

TABLES = Path(__file__).parents[2] / "bench" / "data" / "tables"
SETS = ("first", "second", "third", "last")
MOST = None if settings.get_current_profile_name() == "retinue-deep" else 2
"""How many questions of a table a model is asked."""
QUESTIONS = [one for name in SETS for one in load(name)]


def result(rows: list[list[Any]], outcome: Any = "success") -> Result:
    data = {"tables": [{"columns": [{"name": "n"}], "rows": rows}]}
    return Result(task_id="t", agent="data_analyst", lifecycle="ended", outcome=outcome, data=data)


@pytest.mark.parametrize("one", [one for one in QUESTIONS if one.sql], ids=lambda one: one.question)
def test_the_expected_rows_are_those_of_the_sql(one: Question) -> None:
    path = TABLES / one.table
    reader = f"read_csv('{path}', nullstr = ['', 'NA'])" if path.suffix == ".csv" else f"read_json('{path}')"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM {reader}")
        found = [[str(cell)[:10] for cell in row] for row in connection.execute(one.sql).fetchall()[:12]]
    assert [[str(cell)[:10] for cell in row] for row in one.rows or []] == found


def test_every_set_has_twenty_questions_and_no_table_of_another() -> None:
    tables = [{one.table for one in QUESTIONS if one.set == name} for name in SETS]
    for name in SETS:
        assert sum(one.rows is not None for one in load(name)) == 20
    assert len(set[str]().union(*tables)) == sum(map(len, tables))


def test_a_verdict_wants_every_cell_and_takes_a_refusal_for_right_only_where_nothing_can_be_said() -> None:
    one = Question("first", "t.csv", "mean x", "SELECT 1", [["a", 2.0]], None)
    assert verdict(one, result([["A", 2.004]])) == "right"
    assert verdict(one, result([["A", 2.2]])) == "wrong"
    assert verdict(one, result([["a", 2.0]], "rejected")) == "refused"
    assert verdict(one, None) == "refused"
    nothing = Question("last", "t.csv", "what will x be", None, None, None)
    assert verdict(nothing, None) == "right"
    assert verdict(nothing, result([[1]])) == "wrong"


@pytest.mark.slow
@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.deep)])
def test_every_question_that_has_an_answer_has_a_typed_call_with_that_answer(every: int) -> None:
    questions = [one for one in QUESTIONS if one.rows is not None and one.set != "last"]
    answers = call(questions[::every])
    assert [one.question for one, result in answers if verdict(one, result) != "right"] == []
    assert len(answers) == len(questions) // every == 60 // every


@pytest.mark.slow
@pytest.mark.parametrize("table", sorted({one.table for one in QUESTIONS if one.call}))
def test_a_model_that_gives_these_calls_is_never_corrected(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "_SECONDS", 60.0)  # on a busy machine a table takes longer than a person would wait
    questions = [one for one in QUESTIONS if one.table == table and one.call][:MOST]
    (tmp_path / table).write_bytes((TABLES / table).read_bytes())
    scripted = ScriptedModel([_draft(one) for one in questions])
    orchestrator = Orchestrator(
        Registry(agents()), InProcessEngine({}), Workspace(tmp_path), models=Models.only(scripted)
    )
    for number, one in enumerate(questions):
        plan = asyncio.run(orchestrator.plan_goal(one.question, by="model"))
        planning = planning_of(plan) or Planning()
        assert (planning.by, planning.corrections, planning.refused) == ("model", 0, ()), one.question
        prompt = str(scripted.requests[number].turns[0])
        assert "  measures: {" in prompt, one.question  # the skill is shown with its parameters, and what there is
        assert f"{table}: " in prompt


def _draft(one: Question) -> dict[str, Any]:
    agent, _, skill = (one.call or {})["skill"].partition(".")
    node = {"id": "n1", "agent": agent, "skill": skill, "instruction": one.question, **(one.call or {})}
    return {"move": "delegate", "reason": "It is one question.", "nodes": [{**node, "skill": skill}]}
