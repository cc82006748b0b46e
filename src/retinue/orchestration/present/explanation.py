"""Why a run did what it did: `explain` collects it as data, and `explanation_blocks` draws it below the answer.

Every word of it is foreign text.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias, cast

from retinue.contract.event import Decision
from retinue.contract.json import as_list, as_mapping, as_mappings, dumps
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Candidate, Delegation, Plan
from retinue.contract.result import Outcome, label_of
from retinue.contract.table import Table, TableColumn
from retinue.orchestration.planning import allocations_of, planning_of
from retinue.orchestration.present.blocks import (
    Block,
    Heading,
    MarkdownBlock,
    answer_blocks,
    as_code,
    as_line,
    as_prose,
)

_ORIGINS: Final = {
    "said": "said",
    "default": "the default of the schema",
    "fallback": "what the skill takes when nothing is said",
    "delegation": "handed on",
    "given": "given",
}
_MAX_CHARS: Final = 120


def answer_and_explanation(data: object) -> tuple[Block, ...]:
    """The blocks of the data of a run's result, its explanation last when it has one."""
    return (*answer_blocks(data), *explanation_blocks(as_mapping(as_mapping(data).get("explanation"))))


def explanation_blocks(explanation: JsonMapping) -> Iterator[Block]:
    """What `explain` gives, in reading order."""
    if planning := as_mapping(explanation.get("planning")):
        yield Heading("Who made the plan")
        move = as_line(str(planning["move"]).replace("_", " "))
        by = "The rules" if planning["by"] == "rules" else f"A model, {as_code(str(planning.get('model', '')))}: {move}"
        corrections: object = planning.get("corrections")
        times = f" Its draft was sent back {corrections} times." if corrections else ""
        yield MarkdownBlock(f"{by}.{times} {as_prose(str(planning.get('reason', '')))}".rstrip())
    for clause in as_mappings(explanation.get("clauses")):
        yield from _clause_blocks(clause)
    if level := as_mapping(explanation.get("confidence")):
        yield Heading("How sure it is")
        yield MarkdownBlock(
            f"{str(level['label']).capitalize()}: {level['value']:.2f}, by what the agents say of themselves."
        )
    dropped: list[str] = []
    for one in as_mappings(explanation.get("dropped")):
        near = ", ".join(as_code(f"{each['agent']}.{each['skill']}") for each in as_mappings(one.get("nearest")))
        nearest = f" Nearest: {near}." if near else ""
        dropped.append(f"- {as_line(_clip(str(one['clause'])))}: {as_prose(str(one['reason']))}{nearest}")
    if dropped:
        yield Heading("Why something was left out")
        yield MarkdownBlock("\n".join(dropped))
    decisions: list[str] = []
    for one in as_mappings(explanation.get("decisions")):
        node = f"{as_code(str(one['node']))} " if one["node"] else ""
        decisions.append(f"- {node}{as_line(str(one['move']).replace('_', ' '))}: {as_prose(str(one['reason']))}")
    if decisions:
        yield Heading("What was decided on the way")
        yield MarkdownBlock("\n".join(decisions))
    facts = as_mapping(explanation.get("tokens"))
    full, used = facts.get("full"), facts.get("handed_on")
    if isinstance(full, int) and isinstance(used, int) and full:
        yield Heading("How much of the results was passed on")
        yield MarkdownBlock(f"{used:,} of {full:,} tokens (counted by {as_code(str(facts.get('counter', '')))}).")


def binding_origin(how: str, words: str, *, clause: str = "") -> str:
    """Where a value comes from, in words; `clause` is what all of the words are."""
    if how == "said" and words == clause:
        return "all of it"
    origin = _ORIGINS.get(how, how)
    return f"{origin}: {_clip(words)!r}" if words else origin


def _clause_blocks(clause: JsonMapping) -> Iterator[Block]:
    agent = ".".join(filter(None, (str(clause["agent"]), str(clause["skill"]))))
    needs = cast("list[str]", clause["needs"])
    after = f", after {', '.join(map(as_code, needs))}" if needs else ""
    yield Heading(
        f"Why {clause['node']}: {_clip(str(clause['clause']))}" if clause["clause"] else f"Why {clause['node']}"
    )
    # With which model its agent thinks, why, and how hard (A31).
    text = ""
    if facts := as_mapping(clause.get("model")):
        name = as_code(str(facts.get("model") or facts.get("tier") or ""))
        score = f", score {facts['score']}" if "score" in facts else ""
        points = "; ".join(map(str, as_list(facts.get("reasons"))))
        why = "; ".join(filter(None, (str(facts.get("why", "")), points)))
        text = f" It thinks with {name}{score}{f': {as_prose(why)}' if why else ''}."
    if "thinking" in clause:
        text += f" Thinking mode: {as_line(str(clause['thinking']).replace('_', ' '))}."
    yield MarkdownBlock(f"Put to {as_code(agent)}{after}.{text}")
    considered = [
        (
            f"{one['agent']}.{one['skill']}",
            round(float(one["share"]), 2),
            "; ".join(filter(None, (str(one.get("reason", "")), str(one["verdict"])))),
        )
        for one in as_mappings(clause.get("candidates"))
    ]
    if considered:
        columns = (TableColumn(name="considered"), TableColumn(name="fit", kind="number"), TableColumn(name="because"))
        yield Table(columns=columns, rows=tuple(considered))
    bound = [
        (
            str(one["parameter"]),
            _clip(dumps(one["value"])),
            binding_origin(str(one["how"]), str(one.get("words", "")), clause=str(clause["clause"])),
        )
        for one in as_mappings(clause.get("parameters"))
    ]
    if bound:
        columns = (TableColumn(name="parameter"), TableColumn(name="value"), TableColumn(name="from"))
        yield Table(columns=columns, rows=tuple(bound))
    questions = cast("list[str]", clause["questions"])
    if questions:
        yield MarkdownBlock("\n".join(f"- to be asked: {as_prose(text)}" for text in questions))


def _clip(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_CHARS else f"{line[:_MAX_CHARS]}…"


Tone: TypeAlias = Literal["good", "warn", "bad"]

_LABELS: Final[dict[Outcome | None, tuple[str, Tone]]] = {
    "success": ("answered", "good"),
    "partial": ("answered in part", "warn"),
    "canceled": ("stopped", "warn"),
    "rejected": ("not answered", "bad"),
    "error": ("failed", "bad"),
    "failed": ("failed", "bad"),
    None: ("waits for an answer", "warn"),
}


def outcome_label(outcome: Outcome | None) -> tuple[str, Tone]:
    """The words for an outcome, and its tone; without one the run waits for somebody."""
    return _LABELS[outcome]


def explain(
    plan: Plan, decisions: Iterable[tuple[str, Decision]] = (), *, confidence: float | None = None
) -> JsonMapping:
    """Who was considered for each clause and why, how each parameter got its value, what was dropped and decided.

    `clauses` and `dropped` are the plan's; `decisions` the run's, in order, but for those that only repeat the plan.

    Args:
        plan: What was to be done.
        decisions: What was decided while it was, each with its node: `n1/n2` of a child run, empty for the run.
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
    allocations = allocations_of(plan)
    return facts | {
        "clauses": [_clause(node, allocations.get(node.id)) for node in plan.nodes],
        "dropped": [
            {"clause": one.clause, "reason": one.reason, "nearest": [_candidate(near) for near in one.nearest]}
            for one in plan.dropped
        ],
        "decisions": [
            {"node": node, "move": one.move, "reason": one.reason, **({"facts": one.facts} if one.facts else {})}
            for node, one in decisions
            if one.move not in {"choose", "drop"} and not one.move.startswith("plan_")
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
