"""One answer from the results of a run: merged by template, with sources, and with everything that is missing said.

Nothing is rewritten and nothing is judged here: a section is what its agent said. What failed, what nobody could do,
what was stopped and what still has to be asked stands in the answer as well, never left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeVar, cast

from retinue.agents.boundary.validate_reply import render_content
from retinue.contract import CONTRACT_VERSION
from retinue.contract.fault import Fault
from retinue.contract.json import as_mapping, as_mappings
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Dropped, Plan
from retinue.contract.result import Lifecycle, Outcome, Result, Usage, Versions, Warned
from retinue.contract.task import Question
from retinue.contract.tokens import TokenCounter
from retinue.errors import InvalidInput
from retinue.orchestration.handoff import Savings, full_text
from retinue.orchestration.planning import planning_of
from retinue.orchestration.present.blocks import answer_blocks, figures_in, place_of, sanitize_markdown, sources_in
from retinue.orchestration.present.blocks_markdown import blocks_to_markdown
from retinue.orchestration.run_request import RUN_AGENT

T = TypeVar("T")

EMPTY_ANSWER: Final = "Done: it says nothing more."
"""What stands for an answer that is a word for success alone."""

_TITLE_CHARS: Final = 120
_FACT_CHARS: Final = 30


@dataclass(frozen=True)
class FinishedRun:
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
        # What a node came to before it was put to somebody else may hold finished files too.
        pairs = ((node, one) for node, last in self.pairs() for one in (*self.earlier.get(node.id, ()), last))
        return [(node, result) for node, result in pairs if has_reports(result)]

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
        pending = tuple(question for questions in waiting for question in questions)
        planning = planning_of(self.plan)
        if planning is None or planning.move != "clarify" or self.plan.nodes:
            return pending
        return (Question(id="clarify", text=planning.text, agent=RUN_AGENT), *pending)


def has_reports(result: Result) -> bool:
    """Whether `result` holds something that was finished, though it may itself be a failure."""
    reports: object = result.extras.get("reports")
    return result.useful or (isinstance(reports, int) and reports > 0)


def synthesise(run: FinishedRun, *, savings: Savings, counter: TokenCounter) -> Result:
    """The answer to the plan's goal."""
    seen_lines: set[str] = set()
    sections = [_section(node, result, seen_lines) for node, result in run.reports]
    for (_, result), section in zip(run.reports, sections, strict=True):
        savings.add(full=counter.count(full_text(result)), handed_on=counter.count(str(section["text"])))
    if not (sections or run.plan.nodes or _unplanned(run.plan) or run.questions):  # nothing was asked
        text, note = "That asks for nothing, so no agent was called. Say what you want to know or have found out.", ""
        planning = planning_of(run.plan)
        if planning is not None and planning.move == "respond_directly":
            text = sanitize_markdown(planning.text)
            note = f"`{planning.model}` says this by itself: no agent was called, and nothing was looked up."
        section: JsonMapping = {"node": "", "title": "", "agent": RUN_AGENT, "skill": "", "outcome": "success"}
        section |= {"text": text, "sources": [], **({"left_out": [note]} if note else {})}
        sections = [section]
    # Findings that several agents made stand there once.
    findings: dict[tuple[str, str], JsonMapping] = {}
    for node, result in run.reports:
        for finding in as_mappings(as_mapping(result.data).get("findings")):
            content = str(finding.get("content") or finding.get("topic") or "")
            key = (" ".join(content.lower().split()), place_of(finding))
            findings.setdefault(key, {**finding, "agent": result.agent, "node": node.id})
    data: JsonMapping = {
        "goal": run.plan.goal,
        "answer": sections,
        "findings": list(findings.values()),
        "not_answered": [one.model_dump(mode="json", exclude={"wanted"}) for one in run.plan.dropped],
        "failures": [_failure(node, result) for node, result in run.failures],
        "questions": [question.to_json() for question in run.questions],
        "not_needed": sorted(run.unneeded),
        "tokens": savings.to_json(),
        "targets": compare_to_targets(run.plan, run.results, savings=savings, duration_ns=run.duration_ns),
        "plan": run.plan.to_json(),
    }
    whole = _result(run, data, blocks_to_markdown(answer_blocks(data)))
    return whole.model_copy(update={"extras": {**whole.extras, "targets": data["targets"]}})


def collect(run: FinishedRun) -> Result:
    """The results side by side, for a plan made by hand: by the ids of the nodes, and what failed.

    What answers in text alone, as many programs do, has no data: then its text stands there. `incomplete` holds the
    data of failures below which something was finished, where there are any.
    """
    useful = [(node.id, result) for node, result in run.pairs() if result.useful]
    results: JsonMapping = {name: result.content if result.data is None else result.data for name, result in useful}
    content = "\n\n".join(
        f"## {name}\n\n{sanitize_markdown(result.content)}" for name, result in useful if result.content
    )
    incomplete: dict[str, list[object]] = {}
    for node, result in run.reports:
        if not result.useful:
            incomplete.setdefault(node.id, []).append(result.data)
    data: JsonMapping = {"results": results, "failures": [_failure(node, one) for node, one in run.failures]}
    return _result(run, {**data, "incomplete": incomplete} if incomplete else data, content)


def _result(run: FinishedRun, data: JsonMapping, content: str) -> Result:
    lifecycle, outcome = _run_outcome(run)
    results = list(run.results.values())
    useful = [result for result in results if result.useful]
    failed = [result.fault for _, result in run.failures if result.fault]
    fault = failed[0] if failed and outcome is not None and not useful else None
    if fault is None and outcome == "rejected":
        nearest = dict.fromkeys(f"{near.agent}.{near.skill}" for one in run.plan.dropped for near in one.nearest)
        error = InvalidInput(
            "No agent here can do any part of this goal.",
            hint="Say it in other words, ask an agent by name, or add one that does it.",
            suggestions=tuple(nearest),
            path="/goal",
        )
        fault = Fault.from_error(error)
    # A chain is as sure as its weakest part; unknown when one part is (C31).
    confidences = [result.confidence for result in useful if result.confidence is not None]
    confidence = min(confidences) if confidences and len(confidences) == len(useful) else None
    request_count = len(run.results) - len(run.unneeded) + len(_unplanned(run.plan))
    completeness = None if request_count < 1 else min(100, 100 * len(useful) // request_count)
    return Result(
        task_id=run.task_id,
        agent=RUN_AGENT,
        versions=Versions(contract=CONTRACT_VERSION),
        lifecycle=lifecycle,
        outcome=outcome,
        data=data,
        content=content,
        artifacts=union(result.artifacts for _, result in run.reports),
        warnings=_warnings(run),
        fault=fault,
        usage=Usage.total(result.usage for result in results),
        duration_ns=run.duration_ns,
        confidence=confidence,
        completeness=completeness,
        files_read=union(result.files_read for result in results),
        files_written=union(result.files_written for result in results),
        questions=run.questions,
        extras={"calls": run.calls, "reports": len(run.reports)},
    )


def _run_outcome(run: FinishedRun) -> tuple[Lifecycle, Outcome | None]:
    """How the run as a whole ended (C1, C29)."""
    useful = [result for result in run.results.values() if result.useful]
    required = [node for node, _ in run.failures if not node.optional]
    missing = _unplanned(run.plan)
    if not useful:
        if run.questions:
            return "input_required", None
        if not run.plan.nodes and not missing:  # nothing was asked, and that is what it got
            return "ended", "success"
        if all(result.outcome == "rejected" for result in run.results.values()):  # nobody was asked, or nobody knew
            return "ended", "rejected"
        all_canceled = all(result.outcome == "canceled" for result in run.results.values())
        return "ended", "canceled" if all_canceled and run.results else "error"
    if run.plan.join == "fail_fast" and required:
        return "ended", "error"
    # `any` and `quorum` are whole in spite of a failure once they stopped whoever they no longer needed.
    satisfied = not required or (run.plan.join in {"any", "quorum"} and bool(run.unneeded))
    whole = satisfied and not missing and not run.questions
    return "ended", "success" if whole and all(result.outcome == "success" for result in useful) else "partial"


def _unplanned(plan: Plan) -> list[Dropped]:
    """What was asked and is not planned; what the goal says not to do is no loss."""
    return [dropped for dropped in plan.dropped if dropped.wanted]


def _section(node: Delegation, result: Result, seen_lines: set[str]) -> JsonMapping:
    figures = figures_in(result.data).to_json()
    if result.content.strip():
        text = sanitize_markdown(result.content)
    elif result.data is None:
        text = "" if result.artifacts else EMPTY_ANSWER
    elif not isinstance(result.data, dict) or not figures:
        text = render_content(cast("object", result.data))
    else:  # without what is drawn; nothing when all of it is
        data = cast("JsonMapping", result.data)
        rest = {name: value for name, value in data.items() if name not in {"tables", "charts"}}
        text = render_content(rest) if rest else ""
    return {
        "node": node.id,
        "title": _title(node),
        "agent": result.agent,
        "skill": result.skill or node.skill or "",
        "outcome": result.outcome,
        "text": _without_repeats(text, seen_lines) if text else "",
        "sources": list(sources_in(cast("object", result.data))),
        **({"artifacts": [artifact.to_json() for artifact in result.artifacts]} if result.artifacts else {}),
        **figures,
    }


def _title(node: Delegation) -> str:
    title = " ".join((node.instruction or f"{node.agent} {node.skill or ''}").split()).strip()
    short = title if len(title) <= _TITLE_CHARS else f"{title[:_TITLE_CHARS].rsplit(' ', 1)[0]} …"
    return short[:1].upper() + short[1:]


def _without_repeats(text: str, seen_lines: set[str]) -> str:
    """`text` without the lines that an earlier section has word for word.

    The sentence it begins with answers its question: where something new follows, it stays.
    """
    lines: list[str] = []
    lead = ""
    fenced = False
    for line in text.strip().split("\n"):
        # A line of code belongs to the code around it, however often it stands in the answer.
        fenced ^= line.startswith("```")
        fact = line.strip(" -*•\t").lower()
        if not fenced and len(fact) >= _FACT_CHARS:
            if fact in seen_lines:
                lead = line if not lines and not lead and line[:1] not in "-*•|#" else lead
                continue
            seen_lines.add(fact)
        lines.append(line)
    rest = "\n".join(lines).strip()
    return "\n\n".join(filter(None, (lead, rest))) if rest else "Nothing beyond what stands above."


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


def _warnings(run: FinishedRun) -> tuple[Warned, ...]:
    warnings: list[Warned] = []
    no_answer = "This part of the goal is not answered."
    for node, result in run.failures:
        failure = _failure(node, result)
        impact = "An optional part is missing." if node.optional else no_answer
        recovery = failure["hint"] or "Ask for it again, or ask another agent."
        message = f"{failure['title']}: {failure['message']}"
        warnings.append(Warned(type="missing_data", message=message, impact=impact, recovery=recovery))
    for dropped in _unplanned(run.plan):
        message, recovery = (
            f"No agent here does this: {dropped.clause}",
            "Add an agent that does it, or say it in other words.",
        )
        warnings.append(Warned(type="incomplete_context", message=message, impact=no_answer, recovery=recovery))
    for question in run.questions:
        impact, recovery = "Without an answer this part of the goal is not done.", "Answer the question."
        warnings.append(Warned(type="incomplete_context", message=question.text, impact=impact, recovery=recovery))
    own = (warning for result in run.results.values() for warning in result.warnings)
    return tuple(dict.fromkeys([*warnings, *own]))


def union(groups: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    """The items of all `groups` in order, each once."""
    return tuple(dict.fromkeys(one for group in groups for one in group))


_TARGETS: Final = {
    "delegation": (0.90, 0.50),
    "files": (1.00, 0.80),
    "reduction": (0.90, 0.50),
    "speed_up": (0.40, 0.20),
}
"""Shares to reach, and shares that they should not fall below (H28). Of the goal's requests those that went to agents;
of the expected files those that are there; of all tokens that could have been handed on those that were not; of the
time that the branches took one by one, what side by side spared."""


def compare_to_targets(
    plan: Plan, results: Mapping[str, Result], *, savings: Savings, duration_ns: int | None
) -> JsonMapping:
    """The measured figures of a run, each with its target, and whether it is met.

    What a run did not do has no figure: without expected files there is no share of them, and one branch alone is no
    quicker than itself. A child run hands its figures up in its extras, as parts and wholes, so that those of the run
    above count what happened below a supervisor too. Nothing follows from these; they are told.
    """
    below = [result.extras.get("targets") for result in results.values()]
    durations = [
        (_figure(result.extras.get("targets"), "speed_up")[1] or result.duration_ns or 0) for result in results.values()
    ]
    branches = sum(map(bool, durations)) + sum(_figure(each, "speed_up")[1] > 0 for each in below)
    wanted_files = [(node.id, expected.path) for node in plan.nodes for expected in node.expects]
    files = {(name, artifact.path) for name, one in results.items() for artifact in one.artifacts if artifact.size}
    own = {
        "delegation": (len(plan.nodes), len(plan.nodes) + sum(dropped.wanted for dropped in plan.dropped)),
        "files": (sum(one in files for one in wanted_files), len(wanted_files)),
        "reduction": (savings.full - savings.handed_on, savings.full),
    }
    figures: dict[str, tuple[int, int]] = {}
    for name, figure in own.items():
        parts, wholes = zip(figure, *(_figure(each, name) for each in below), strict=True)
        figures[name] = sum(parts), sum(wholes)
    if duration_ns and branches > 1:
        figures["speed_up"] = sum(durations) - duration_ns, sum(durations)
    comparison: JsonMapping = {}
    for name, (part, whole) in figures.items():
        if whole:
            share, (aim, critical) = part / whole, _TARGETS[name]
            verdict = "met" if share >= aim else "critical" if share < critical else "below"
            facts = {"measured": round(share, 4), "part": part, "whole": whole}
            comparison[name] = {**facts, "target": aim, "critical": critical, "verdict": verdict}
    return comparison


def _figure(targets: object, name: str) -> tuple[int, int]:
    """Part and whole as a child run gave them; an agent that fills its extras with something else gave none."""
    figure = as_mapping(as_mapping(targets).get(name))
    part, whole = figure.get("part"), figure.get("whole")
    return (part, whole) if isinstance(part, int) and isinstance(whole, int) and part <= whole > 0 else (0, 0)
