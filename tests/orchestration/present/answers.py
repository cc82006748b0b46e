"""Answers to draw: results merged as a run merges them."""

from typing import Any

from retinue.contract.fault import Fault
from retinue.contract.plan import Delegation, Dropped, Plan
from retinue.contract.result import Result
from retinue.contract.task import Question
from retinue.contract.tokens import get_counter
from retinue.orchestration.handoff import Savings
from retinue.orchestration.synthesise import FinishedRun, synthesise

__all__ = ["CHART", "LINE", "TABLE", "good", "merged", "whole"]

TABLE: dict[str, Any] = {
    "title": "Commits by author",
    "columns": [
        {"name": "author"},
        {"name": "commits", "kind": "number"},
        {"name": "share", "kind": "number", "unit": "%"},
        {"name": "where", "kind": "source"},
    ],
    "rows": [["Ada | Lovelace", 12345, 0.30000000000000004, "src/a_b.py:3"], ["<b>Bob</b>", 3, None, None]],
    "total_rows": 70,
    "note": "Counted by `email`.",
}
CHART: dict[str, Any] = {
    "title": "Latency",
    "labels": ["/a", "/b"],
    "series": [{"name": "p50", "values": [12, 30]}, {"name": "p99", "values": [120, -30]}],
    "unit": "ms",
}
LINE: dict[str, Any] = {
    "title": "Commits by year",
    "kind": "line",
    "labels": [str(year) for year in range(2010, 2017)],
    "series": [{"name": "commits", "values": [300, 420, 500, 321, None, 180, 30]}],
}


def good(content: str = "Said.", data: object = None, agent: str = "reader") -> Result:
    """What an agent came to that did well."""
    return Result(task_id="t", agent=agent, skill="read", outcome="success", content=content, data=data)


def merged(*results: Result, goal: str = "a goal", dropped: tuple[Dropped, ...] = ()) -> Result:
    """The answer of a run of these results."""
    nodes = tuple(
        Delegation(id=f"n{place}", agent=one.agent, skill="read", instruction=f"request {place}")
        for place, one in enumerate(results)
    )
    ended = FinishedRun(
        "t", Plan(goal=goal, nodes=nodes, dropped=dropped),
        dict(zip((one.id for one in nodes), results, strict=True)), duration_ns=1_234_567_890,
    )  # fmt: skip
    return synthesise(ended, savings=Savings("words"), counter=get_counter("words"))


def whole() -> Result:
    """An answer with a block of every kind."""
    fault = Fault(code="internal_error", message="it broke `x`", hint="Fix it.")
    figures = {"tables": [TABLE, {"odd": 1}], "charts": [CHART, LINE], "citations": ["src/a.py:3"]}
    return merged(
        good("The **first** answer.", figures),
        good("The second.", {"citations": ["src/a.py:3"]}, agent="writer"),
        Result(task_id="t", agent="breaker", outcome="failed", fault=fault),
        Result(task_id="t", agent="asker", lifecycle="input_required", questions=(Question(id="q", text="Which?"),)),
        dropped=(Dropped(clause="make coffee", reason="No agent here does this."),),
    )
