"""Why a plan is as it is, and what was decided on the way, as data (P15, C29).

A pure reading of what the plan and the record say already. Nothing is judged here a second time: a reason that nobody
noted when the choice was made is absent, not made up afterwards. How it is drawn is for `present.explained`.
"""

from collections.abc import Iterable

from retinue.contract.model import JsonMapping
from retinue.contract.plan import Candidate, Delegation, Plan
from retinue.contract.result import label_of
from retinue.orchestration.decisions import RecordedDecision
from retinue.orchestration.planning import allocations_of, planning_of


def explain(plan: Plan, decisions: Iterable[RecordedDecision] = (), *, confidence: float | None = None) -> JsonMapping:
    """Who was considered for each clause and why, how each parameter got its value, what was dropped and decided.

    `clauses` and `dropped` are the plan's; `decisions` the run's, in order, but for those that only repeat the plan.

    Args:
        plan: What was to be done.
        decisions: What was decided while it was.
        confidence: How sure the answer is, when somebody computed it.
    """
    facts: JsonMapping = {}
    if confidence is not None:  # a number that nobody computed has no label either
        facts["confidence"] = {"value": confidence, "label": label_of(confidence)}
    if (planning := planning_of(plan)) is not None:
        # What it cost stands in the usage of the run.
        entries = planning.to_json().items()
        facts["planning"] = {
            name: value for name, value in entries if value not in ("", 0, []) and name not in {"usage", "text"}
        }
    run_decisions = [
        one for one in decisions if one.move not in {"choose", "drop"} and not one.move.startswith("plan_")
    ]
    allocations = allocations_of(plan)
    return facts | {
        "clauses": [_clause(node, allocations.get(node.id)) for node in plan.nodes],
        "dropped": [
            {"clause": one.clause, "reason": one.reason, "nearest": [_candidate(near) for near in one.nearest]}
            for one in plan.dropped
        ],
        "decisions": [
            {"node": one.node, "move": one.move, "reason": one.reason, **({"facts": one.facts} if one.facts else {})}
            for one in run_decisions
        ],
    }


def _clause(node: Delegation, allocation: JsonMapping | None) -> JsonMapping:
    chosen = node.chosen
    considered = [{**_candidate(chosen), "verdict": "chosen"}] if chosen is not None else []
    for other in node.alternatives:
        verdict = "kept in case it fails"
        if chosen is not None:
            verdict = f"fits less well by {max(chosen.share - other.share, 0):.2f}; {verdict}"
            if other.share > chosen.share:
                verdict = "shares more words and less of what tells them apart; kept in case it fails"
        considered.append({**_candidate(other), "verdict": verdict})
    if node.bindings:
        parameters: list[JsonMapping] = []
        for one in node.bindings:
            facts: JsonMapping = {"parameter": one.parameter, "value": one.value, "how": one.how}
            parameters.append(facts | ({"words": one.words} if one.words else {}))
    else:  # a plan made by hand does not say where they come from
        parameters = [{"parameter": name, "value": value, "how": "given"} for name, value in node.parameters.items()]
    model = allocation or ({"model": node.model} if node.model is not None else None)
    return {
        "node": node.id,
        "clause": node.instruction,
        "agent": node.agent,
        "skill": node.skill or "",
        "needs": list(node.needs),
        "candidates": considered,
        "parameters": parameters,
        "questions": [question.text for question in node.questions],
        **({"model": model} if model is not None else {}),
        **({"thinking": node.thinking} if node.thinking is not None else {}),
    }


def _candidate(candidate: Candidate) -> JsonMapping:
    facts: JsonMapping = {"agent": candidate.agent, "skill": candidate.skill, "share": candidate.share}
    return facts | ({"reason": candidate.reason} if candidate.reason else {})
