"""One answer from the results of a run: merged by template, with sources, and with everything that is missing said.

Nothing is rewritten and nothing is judged here: a section is what its agent said. What failed, what nobody could do,
what was stopped and what still has to be asked stands in the answer as well, never left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeVar, cast

from retinue.agents.boundary.content import render_content
from retinue.contract import CONTRACT_VERSION
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Dropped, Plan
from retinue.contract.result import Lifecycle, Outcome, Result, Versions, Warned
from retinue.contract.task import Question
from retinue.contract.tokens import TokenCounter
from retinue.errors import InvalidInput
from retinue.orchestration.account import total_usage
from retinue.orchestration.condense import Savings, full_text
from retinue.orchestration.planning import planning_of
from retinue.orchestration.present.blocks import blocks_of, place_of, sources_in, tame
from retinue.orchestration.present.figures import figures_in
from retinue.orchestration.present.markdown import as_markdown
from retinue.orchestration.targets import against_targets

__all__ = ["DONE", "RUN_AGENT", "Ended", "collect", "has_reports", "synthesise"]

T = TypeVar("T")

RUN_AGENT: Final = "orchestrator"
"""Whose name stands on the result of a run."""

DONE: Final = "Done: it says nothing more."
"""What stands for an answer that is a word for success alone."""

_TITLE_CHARS: Final = 120
_FACT_CHARS: Final = 30


@dataclass(frozen=True)
class Ended:
    """A run whose nodes have all ended.

    Attributes:
        results: By id of the node, in the plan's order.
        earlier: By id of the node, what it had come to before it was put to somebody else.
        unneeded: Nodes that were stopped, or never started, because a join was satisfied without them.
        calls: Agents called, alternatives and child runs included.
    """

    task_id: str
    plan: Plan
    results: Mapping[str, Result]
    unneeded: frozenset[str] = frozenset()
    duration_ns: int | None = None
    calls: int = 0
    earlier: Mapping[str, Sequence[Result]] = field(default_factory=dict[str, Sequence[Result]])

    def pairs(self) -> list[tuple[Delegation, Result]]:
        """Each node with what it came to; those that never ended are left out."""
        return [(node, self.results[node.id]) for node in self.plan.nodes if node.id in self.results]

    @cached_property
    def reports(self) -> list[tuple[Delegation, Result]]:
        """All that was finished: useful results, and failures below which something was, at any depth.

        The reports that came do not vanish because their supervisor has too few of them, or was asked no longer.
        """
        came = ((node, one) for node, last in self.pairs() for one in (*self.earlier.get(node.id, ()), last))
        return [(node, result) for node, result in came if has_reports(result)]

    @cached_property
    def failures(self) -> list[tuple[Delegation, Result]]:
        """The nodes that brought nothing although they should have."""
        return [
            (node, result)
            for node, result in self.pairs()
            if not result.useful and result.lifecycle != "input_required" and node.id not in self.unneeded
        ]

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """What somebody would have to say for the rest."""
        waiting = (result.questions for result in self.results.values() if result.lifecycle == "input_required")
        asked = tuple(question for questions in waiting for question in questions)
        planning = planning_of(self.plan)
        if planning is None or planning.move != "clarify" or self.plan.nodes:
            return asked
        return (Question(id="clarify", text=planning.text, agent=RUN_AGENT), *asked)


def has_reports(result: Result) -> bool:
    """Whether `result` holds something that was finished, though it may itself be a failure."""
    reports: object = result.extras.get("reports")
    return result.useful or (isinstance(reports, int) and reports > 0)


def synthesise(ended: Ended, *, savings: Savings, counter: TokenCounter) -> Result:
    """The answer to the plan's goal."""
    seen: set[str] = set()
    sections = [_section(node, result, seen) for node, result in ended.reports]
    for (_, result), section in zip(ended.reports, sections, strict=True):
        savings.add(full=counter.count(full_text(result)), handed_on=counter.count(str(section["text"])))
    data: JsonMapping = {
        "goal": ended.plan.goal,
        "answer": sections or _for_nothing(ended),
        "findings": _findings(ended.reports),
        "not_answered": [one.model_dump(mode="json", exclude={"wanted"}) for one in ended.plan.dropped],
        "failures": [_failure(node, result) for node, result in ended.failures],
        "questions": [question.to_json() for question in ended.questions],
        "not_needed": sorted(ended.unneeded),
        "tokens": savings.to_json(),
        "targets": against_targets(ended.plan, ended.results, savings=savings, duration_ns=ended.duration_ns),
        "plan": ended.plan.to_json(),
    }
    whole = _result(ended, data, as_markdown(blocks_of(data)))
    return whole.model_copy(update={"extras": {**whole.extras, "targets": data["targets"]}})


def collect(ended: Ended) -> Result:
    """The results side by side, for a plan made by hand: by the ids of the nodes, and what failed.

    What answers in text alone, as many programs do, has no data: then its text stands there. `incomplete` holds the
    data of failures below which something was finished, where there are any.
    """
    useful = [(node.id, result) for node, result in ended.pairs() if result.useful]
    results: JsonMapping = {name: result.content if result.data is None else result.data for name, result in useful}
    content = "\n\n".join(f"## {name}\n\n{tame(result.content)}" for name, result in useful if result.content)
    incomplete: dict[str, list[object]] = {}
    for node, result in ended.reports:
        if not result.useful:
            incomplete.setdefault(node.id, []).append(result.data)
    data: JsonMapping = {"results": results, "failures": [_failure(node, one) for node, one in ended.failures]}
    return _result(ended, {**data, "incomplete": incomplete} if incomplete else data, content)


def _result(ended: Ended, data: JsonMapping, content: str) -> Result:
    lifecycle, outcome = _ending(ended)
    results = list(ended.results.values())
    useful = [result for result in results if result.useful]
    failed = [result.fault for _, result in ended.failures if result.fault]
    fault = _nobody(ended.plan) if outcome == "rejected" else None
    if outcome is not None and not useful and failed:
        fault = failed[0]
    return Result(
        task_id=ended.task_id,
        agent=RUN_AGENT,
        versions=Versions(contract=CONTRACT_VERSION),
        lifecycle=lifecycle,
        outcome=outcome,
        data=data,
        content=content,
        artifacts=_union(result.artifacts for _, result in ended.reports),
        warnings=_warnings(ended),
        fault=fault,
        usage=total_usage(results),
        duration_ns=ended.duration_ns,
        confidence=_confidence(useful),
        completeness=_completeness(ended, len(useful)),
        files_read=_union(result.files_read for result in results),
        files_written=_union(result.files_written for result in results),
        questions=ended.questions,
        extras={"calls": ended.calls, "reports": len(ended.reports)},
    )


def _ending(ended: Ended) -> tuple[Lifecycle, Outcome | None]:
    """How the run as a whole ended (C1, C29)."""
    useful = [result for result in ended.results.values() if result.useful]
    required = [node for node, _ in ended.failures if not node.optional]
    missing = _unplanned(ended.plan)
    if not useful:
        if ended.questions:
            return "input_required", None
        if not ended.plan.nodes and not missing:  # nothing was asked, and that is what it got
            return "ended", "success"
        if all(result.outcome == "rejected" for result in ended.results.values()):  # nobody was asked, or nobody knew
            return "ended", "rejected"
        stopped = all(result.outcome == "canceled" for result in ended.results.values())
        return "ended", "canceled" if stopped and ended.results else "error"
    if ended.plan.join == "fail_fast" and required:
        return "ended", "error"
    satisfied = ended.plan.join in {"any", "quorum"} and (bool(ended.unneeded) or not required)
    whole = (satisfied or not required) and not missing and not ended.questions
    return "ended", "success" if whole and all(result.outcome == "success" for result in useful) else "partial"


def _unplanned(plan: Plan) -> list[Dropped]:
    """What was asked and is not planned; what the goal says not to do is no loss."""
    return [dropped for dropped in plan.dropped if dropped.wanted]


def _for_nothing(ended: Ended) -> list[JsonMapping]:
    """The answer to a goal for which no agent is needed."""
    if ended.plan.nodes or _unplanned(ended.plan) or ended.questions:
        return []
    section: JsonMapping = {
        "node": "",
        "title": "",
        "agent": RUN_AGENT,
        "skill": "",
        "outcome": "success",
        "text": "That asks for nothing, so no agent was called. Say what you want to know or have found out.",
        "sources": [],
    }
    planning = planning_of(ended.plan)
    if planning is not None and planning.move == "respond_directly":
        note = f"`{planning.model}` says this by itself: no agent was called, and nothing was looked up."
        section |= {"text": tame(planning.text), "left_out": [note]}
    return [section]


def _section(node: Delegation, result: Result, seen: set[str]) -> JsonMapping:
    figures = figures_in(result.data).to_json()
    if result.content.strip():
        text = tame(result.content)
    elif result.data is None:
        text = "" if result.artifacts else DONE
    else:
        text = _worded(result.data, figures)
    return {
        "node": node.id,
        "title": _title(node),
        "agent": result.agent,
        "skill": result.skill or node.skill or "",
        "outcome": result.outcome,
        "text": _without_repeats(text, seen) if text else "",
        "sources": list(sources_in(result.data)),
        **({"artifacts": [artifact.to_json() for artifact in result.artifacts]} if result.artifacts else {}),
        **figures,
    }


def _worded(data: object, figures: JsonMapping) -> str:
    """`data` in words, without what is drawn; nothing when all of it is."""
    if not isinstance(data, dict) or not figures:
        return render_content(cast("object", data))
    rest = {name: value for name, value in cast("JsonMapping", data).items() if name not in {"tables", "charts"}}
    return render_content(rest) if rest else ""


def _title(node: Delegation) -> str:
    title = " ".join((node.instruction or f"{node.agent} {node.skill or ''}").split()).strip()
    cut = title if len(title) <= _TITLE_CHARS else f"{title[:_TITLE_CHARS].rsplit(' ', 1)[0]} …"
    return cut[:1].upper() + cut[1:]


def _without_repeats(text: str, seen: set[str]) -> str:
    """`text` without the lines that an earlier section has word for word.

    The sentence it begins with answers its question: where something new follows, it stays.
    """
    kept: list[str] = []
    lead = ""
    fenced = False
    for line in text.strip().split("\n"):
        fenced ^= line.startswith("```")
        fact = line.strip(" -*•\t").lower()
        if not fenced and len(fact) >= _FACT_CHARS:
            if fact in seen:
                lead = line if not kept and not lead and line[:1] not in "-*•|#" else lead
                continue
            seen.add(fact)
        kept.append(line)
    rest = "\n".join(kept).strip()
    return "\n\n".join(filter(None, (lead, rest))) if rest else "Nothing beyond what stands above."


def _findings(reports: list[tuple[Delegation, Result]]) -> list[JsonMapping]:
    """The findings of all agents, the same fact from the same place once."""
    found: dict[tuple[str, str], JsonMapping] = {}
    for node, result in reports:
        said = cast("dict[str, object]", result.data) if isinstance(result.data, dict) else {}
        listed = said.get("findings")
        for item in cast("list[object]", listed) if isinstance(listed, list) else []:
            if isinstance(item, dict):
                finding = cast("JsonMapping", item)
                content = str(finding.get("content") or finding.get("topic") or "")
                key = (" ".join(content.lower().split()), place_of(finding))
                found.setdefault(key, {**finding, "agent": result.agent, "node": node.id})
    return list(found.values())


def _failure(node: Delegation, result: Result) -> JsonMapping:
    fault = result.fault
    return {
        "node": node.id,
        "title": _title(node),
        "agent": result.agent,
        "skill": result.skill or node.skill or "",
        "outcome": result.outcome or result.lifecycle,
        "code": fault.code if fault else "internal_error",
        "message": fault.message if fault else "It brought nothing and did not say why.",
        "hint": fault.hint if fault else "",
        **({"artifacts": [artifact.to_json() for artifact in result.artifacts]} if result.artifacts else {}),
    }


def _warnings(ended: Ended) -> tuple[Warned, ...]:
    missing = [
        Warned(
            type="missing_data",
            message=f"{_title(node)}: {failure['message']}",
            impact="This part of the goal is not answered." if not node.optional else "An optional part is missing.",
            recovery=str(failure["hint"]) or "Ask for it again, or ask another agent.",
        )
        for node, result in ended.failures
        for failure in (_failure(node, result),)
    ]
    unasked = [
        Warned(
            type="incomplete_context",
            message=f"Nobody here does this: {dropped.clause}",
            impact="This part of the goal is not answered.",
            recovery="Add an agent that does it, or say it in other words.",
        )
        for dropped in _unplanned(ended.plan)
    ]
    waiting = [
        Warned(
            type="incomplete_context",
            message=question.text,
            impact="Without an answer this part of the goal is not done.",
            recovery="Answer the question.",
        )
        for question in ended.questions
    ]
    own = [warning for result in ended.results.values() for warning in result.warnings]
    return tuple(dict.fromkeys([*missing, *unasked, *waiting, *own]))


def _completeness(ended: Ended, useful: int) -> int | None:
    """How many of the requests in the goal were answered, in full or in part, as a percentage."""
    asked = len(ended.results) - len(ended.unneeded) + len(_unplanned(ended.plan))
    return None if asked < 1 else min(100, 100 * useful // asked)


def _confidence(useful: list[Result]) -> float | None:
    """A chain is as sure as its weakest part; unknown when one part is (C31)."""
    known = [result.confidence for result in useful if result.confidence is not None]
    return min(known) if known and len(known) == len(useful) else None


def _nobody(plan: Plan) -> Fault:
    near = tuple(dict.fromkeys(f"{one.agent}.{one.skill}" for dropped in plan.dropped for one in dropped.nearest))
    return Fault.from_error(
        InvalidInput(
            "No agent here can do any part of this goal.",
            hint="Say it in other words, ask an agent by name, or add one that does it.",
            suggestions=near,
            path="/goal",
        )
    )


def _union(groups: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(one for group in groups for one in group))
