"""The reasons of a run put into its result: in its data, and below its text."""

from collections.abc import Iterable
from typing import cast

from retinue.contract.event import Decision, Event
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Result
from retinue.orchestration.decisions import RecordedDecision
from retinue.orchestration.explain import explain
from retinue.orchestration.present.blocks_markdown import blocks_to_markdown
from retinue.orchestration.present.explanation import explanation_blocks
from retinue.orchestration.run_request import RESERVED


def with_explanation(result: Result, plan: Plan, decisions: Iterable[RecordedDecision]) -> Result:
    """`result` with why `plan` is as it is, and what was decided on the way."""
    explanation = explain(plan, decisions, confidence=result.confidence)
    facts = cast("JsonMapping", result.data) if isinstance(result.data, dict) else {}
    if "tokens" in facts:
        explanation["tokens"] = facts["tokens"]
    text = "\n\n".join(filter(None, (result.content.strip(), blocks_to_markdown(explanation_blocks(explanation)))))
    return result.model_copy(update={"content": text, "data": {**facts, "explanation": explanation}})


def decisions_in(events: Iterable[Event]) -> list[RecordedDecision]:
    """The decisions among the recorded events of one run."""
    return [
        RecordedDecision.of(event.node.partition(RESERVED)[0], event.body)
        for event in events
        if isinstance(event.body, Decision)
    ]
