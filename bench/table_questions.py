"""How many questions about tables nobody tuned on are answered, wrongly answered and refused, without a model.

The questions, with the SQL that answers each, stand in `bench/data/table_questions.json`, the tables in
`bench/data/tables`. Each is asked as a goal in a folder that holds its table alone. `python -m bench.table_questions`
shows every question with what came; the set `last` is asked only when it is named. Beside each question stands the call
that answers it, as a model would have to give it: `call` makes these calls, and all of them must be right.
"""

import asyncio
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from bench.table import Row
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.contract.result import Result
from retinue.engine.inprocess import InProcessEngine
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.tools.workspace import Workspace

__all__ = ["Question", "ask", "call", "load", "measure", "verdict"]

Verdict: TypeAlias = Literal["right", "wrong", "refused"]

_DATA: Final = Path(__file__).parent / "data"
_SETS: Final = ("first", "second", "third", "last")
_CLOSE: Final = 0.005
"""How far a figure may be from the right one, relatively: answers are rounded for readers."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        rows: The first rows of the right answer; None when the table cannot answer, so that a refusal is right.
        call: The `skill` and the `parameters` that give this answer; None when no call can.
    """

    set: str
    table: str
    question: str
    sql: str | None
    rows: list[list[Any]] | None
    call: dict[str, Any] | None


def load(name: str) -> list[Question]:
    """The questions of one set."""
    text = (_DATA / "table_questions.json").read_text(encoding="utf-8")
    return [Question(**one) for one in json.loads(text) if one["set"] == name]


def measure() -> list[Row]:
    """Ask all sets; only the counts of the last are ever looked at."""
    sets = {name: load(name) for name in _SETS}
    answers = call([one for questions in sets.values() for one in questions])
    right = sum(verdict(*answer) == "right" for answer in answers) / len(answers)
    rows = [row for name, questions in sets.items() for row in _rows(name, questions)]
    return [*rows, Row("questions about fresh tables, as typed calls: right", right, "share", 1.0, at_least=True)]


def _rows(name: str, questions: Sequence[Question]) -> list[Row]:
    counts = Counter(verdict(one, result) for one, result in ask(questions))
    total = len(questions)
    said = f"{counts['right']} right, {counts['wrong']} wrong, {counts['refused']} refused of {total}"
    return [
        Row(f"questions about fresh tables, {name} set: right", counts["right"] / total, "share", 0.5, True, said),
        Row(f"questions about fresh tables, {name} set: wrong", counts["wrong"] / total, "share", 0.02),
    ]


def ask(questions: Iterable[Question]) -> list[tuple[Question, Result | None]]:
    """Ask each in a folder of its own, as a goal; None where it could not even be planned."""

    async def goal(orchestrator: Orchestrator, one: Question) -> Result | None:
        plan = orchestrator.plan(one.question)
        return await orchestrator.run_plan(plan) if plan.nodes else None

    return asyncio.run(_each(list(questions), goal))


def call(questions: Iterable[Question]) -> list[tuple[Question, Result | None]]:
    """Make the typed call of each that has one, in a folder of its own. No words are read."""

    async def typed(orchestrator: Orchestrator, one: Question) -> Result | None:
        agent, _, skill = (one.call or {})["skill"].partition(".")
        return await orchestrator.run_task(agent, skill, parameters=(one.call or {})["parameters"])

    return asyncio.run(_each([one for one in questions if one.call is not None], typed))


async def _each(
    questions: Sequence[Question], answer: Callable[[Orchestrator, Question], Awaitable[Result | None]]
) -> list[tuple[Question, Result | None]]:
    answers: list[tuple[Question, Result | None]] = []
    for table in dict.fromkeys(one.table for one in questions):
        with tempfile.TemporaryDirectory(prefix="retinue-tables-") as place:
            shutil.copy(_DATA / "tables" / table, place)
            workspace, registry = Workspace(place), Registry(agents())
            async with InProcessEngine(workflows(registry, workspace=workspace)) as engine:
                orchestrator = Orchestrator(registry, engine, workspace=workspace)
                answers += [(one, await answer(orchestrator, one)) for one in questions if one.table == table]
    return answers


def verdict(question: Question, result: Result | None) -> Verdict:
    """Whether the answer has the expected cells, has others, or is a refusal."""
    if result is None or result.outcome in ("rejected", "error", "failed") or result.questions:
        return "right" if question.rows is None else "refused"
    if question.rows is None:
        return "wrong"
    expected = [cell for row in question.rows for cell in row]
    came = _cells(result.data)
    return "right" if all(any(_equal(cell, other) for other in came) for cell in expected) else "wrong"


def _cells(value: object) -> list[object]:
    """Every cell of the tables in a result, however deep they stand, and how many rows each has."""
    if isinstance(value, list):
        return [cell for inner in cast("list[object]", value) for cell in _cells(inner)]
    if not isinstance(value, dict):
        return []
    inside = cast("dict[str, Any]", value)
    tables: list[dict[str, Any]] = inside.get("tables") or []
    found: list[object] = [cell for table in tables for row in table["rows"] for cell in row]
    found += [len(table["rows"]) for table in tables]
    return found + [cell for name, inner in inside.items() if name != "tables" for cell in _cells(inner)]


def _equal(expected: object, cell: object) -> bool:
    if isinstance(expected, int | float) and isinstance(cell, int | float):
        return abs(cell - expected) <= _CLOSE * max(abs(expected), 1e-9)
    return str(cell).casefold().startswith(str(expected).casefold())


def main(sets: Sequence[str]) -> int:
    """Show each question of these sets with what came."""
    for one, result in ask(question for name in sets or _SETS[:2] for question in load(name)):
        print(f"{verdict(one, result):8} {one.table}: {one.question}")
        print(f"         expected {one.rows}, by {one.sql}")
        print(f"         came {'' if result is None else ' '.join(str(result.content).split())[:300]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
