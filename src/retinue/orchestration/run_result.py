"""What a run comes to when all its nodes have ended: in which form, and whether it is enough.

Each form is made in `synthesise`, or below; here one is chosen, branches are counted against the quorum
(H24, H25), and a fault is told where in the whole it happened.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from retinue.agents.boundary.validate_reply import render_content
from retinue.contract.fault import Fault
from retinue.contract.json import as_list, as_mapping
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Artifact, Result, Usage, Warned
from retinue.contract.table import Cell, Table, TableColumn
from retinue.contract.tokens import TokenCounter
from retinue.errors import Unavailable
from retinue.orchestration.handoff import Savings, full_text, metadata_of, summarise
from retinue.orchestration.plan_state import required_count
from retinue.orchestration.present.blocks import answer_blocks, sanitize_markdown, sources_in
from retinue.orchestration.present.blocks_markdown import blocks_to_markdown
from retinue.orchestration.run_request import RunRequest
from retinue.orchestration.synthesise import EMPTY_ANSWER, FinishedRun, collect, has_reports, synthesise

if TYPE_CHECKING:
    from retinue.orchestration.cited_summary import CitedSummary

PARTS: Final = "parts"
"""The key of `Result.extras` under which a child run hands up what each node came to, for the agent that planned it."""

_SUBJECTS: Final = 50
_CITED: Final = 5
_TITLE: Final = 120


def as_agent_result(
    request: RunRequest, run: FinishedRun, merged: Result, summary: "CitedSummary | None" = None
) -> Result:
    """`merged`, the answer of a child run, as one agent's result."""
    merged_data = cast("JsonMapping", merged.data)
    pairs = run.pairs()
    whole = sum(result.outcome == "success" for _, result in pairs)
    in_part = sum(has_reports(result) for _, result in pairs) - whole
    tally = f"{whole} of {len(pairs)} {'part is' if len(pairs) == 1 else 'parts are'} answered"
    tally += f", {in_part} more in part." if in_part else "."
    claims: list[str] = []
    for claim in summary.claims if summary else ():
        places = dict.fromkeys(piece.source for piece in claim.pieces if piece.source)
        claims.append(f"{claim.text} ({', '.join(places)})" if places else claim.text)
    answer = "\n".join((*claims, tally))
    parts = [_part(request, node, result) for node, result in run.reports]
    data: JsonMapping = {
        "answer": answer,
        "findings": [_with_place(request, finding) for finding in cast("list[JsonMapping]", merged_data["findings"])],
        "notes": [f"{_title(node)}: {_why_not(result)}" for node, result in pairs if not result.useful],
        "subjects": [_title(node) for node, _ in pairs][:_SUBJECTS],
        "parts": parts,
        "failures": [_with_place(request, failure) for failure in cast("list[JsonMapping]", merged_data["failures"])],
        "not_answered": merged_data["not_answered"],
        "metadata": [metadata for _, result in pairs if result.useful and (metadata := metadata_of(result))],
        "tables": [_overview(request.plan, pairs).to_json(), *_collect_items(run.reports, "tables")],
        "charts": _collect_items(run.reports, "charts"),
    }
    filled_data = {name: value for name, value in data.items() if value not in ([], None)}
    opening = "\n\n".join(filter(None, (sanitize_markdown("\n".join(f"- {claim}" for claim in claims)), tally)))
    sections = [opening]
    for part in parts:  # as its agent gave it: escaped where it is shown
        if part["text"]:  # of a part with nothing but files, the files are told of all parts together
            sources = cast("list[str]", part["sources"])
            cited = f"\n\nSources: {', '.join(sources[:_CITED])}" if sources else ""
            sections.append(f"### {part['title']}\n\n{part['text']}{cited}")
    artifacts: list[Artifact] = []
    for _, result in pairs:  # with how its worker ended: above, only the whole is known
        status = "complete" if result.outcome == "success" else result.outcome
        finished = result.artifacts if result.useful else ()
        artifacts += [one if one.status else one.model_copy(update={"status": status}) for one in finished]
    warnings = merged.warnings
    if summary is not None:
        filled_data |= {"summary": summary.facts} if summary.facts else {}
        warnings = (*warnings, *summary.warnings)
    update = {"data": filled_data, "content": "\n\n".join(sections), "artifacts": tuple(artifacts)}
    return merged.model_copy(update={**update, "warnings": warnings})


def locate_fault(request: RunRequest, run: FinishedRun, fault: Fault | None) -> Fault | None:
    """`fault` with the node it belongs to, seen from the whole: the deepest that is known."""
    if fault is None or not request.above or "node" in fault.detail:
        return fault
    node = next((node for node, result in run.pairs() if result.fault == fault), None)
    where = request.above[-1].node if node is None else request.place_of(node.id)
    return fault.model_copy(update={"detail": {**fault.detail, "node": where}})


def _part(request: RunRequest, node: Delegation, result: Result) -> JsonMapping:
    """What one delegation brought, as its agent said it; no text where it brought only files."""
    text = result.content
    if not text.strip():
        text = render_content(result.data) if result.data is not None else "" if result.artifacts else EMPTY_ANSWER
    return {
        "node": request.place_of(node.id),
        "title": _title(node),
        "agent": result.agent,
        "skill": result.skill or node.skill or "",
        "outcome": result.outcome,
        "text": text,
        "sources": list(sources_in(result.data)),
    }


def _with_place(request: RunRequest, item: JsonMapping) -> JsonMapping:
    return {**item, "node": request.place_of(str(item["node"]))} if "node" in item else item


def _overview(plan: Plan, pairs: list[tuple[Delegation, Result]]) -> Table:
    title = summarise(plan.goal).text
    rows: list[tuple[Cell, ...]] = []
    for node, result in pairs:
        answer = "yes" if result.outcome == "success" else "in part" if has_reports(result) else "no"
        rows.append((_title(node), answer, *_gist(result)))
    columns = (
        TableColumn(name="subject"),
        TableColumn(name="found"),
        TableColumn(name="first sentence"),
        TableColumn(name="source", kind="source"),
    )
    return Table(
        title=title[:1].upper() + title[1:],
        columns=columns,
        rows=tuple(rows),
    )


def _gist(result: Result) -> tuple[Cell, Cell]:
    """The first thing that a result says, and its place."""
    if not result.useful:
        return _why_not(result), None
    if result.outcome == "partial" and result.warnings:
        return summarise(result.warnings[0].message).text, None  # what it found may be something else
    data = as_mapping(result.data)
    first = as_mapping(next(iter(as_list(data.get("findings"))), None))
    content, source = first.get("content"), first.get("source")
    if isinstance(content, str) and content.strip():
        return summarise(content).text, source if isinstance(source, str) else None
    answer = data.get("answer")
    file = result.artifacts[0] if result.artifacts else None
    text = answer if isinstance(answer, str) else result.content.strip() or (file and (file.summary or file.title))
    return summarise(text or full_text(result)).text, file and file.path


def _why_not(result: Result) -> str:
    if result.fault is not None:
        return summarise(result.fault.message).text
    return "It waits for an answer." if result.questions else "It brought nothing."


def _collect_items(reports: list[tuple[Delegation, Result]], name: str) -> list[object]:
    return [item for _, result in reports for item in as_list(as_mapping(result.data).get(name))]


def _title(node: Delegation) -> str:
    title = " ".join((node.target or node.instruction or f"{node.agent} {node.skill or ''}").split())
    return title if len(title) <= _TITLE else f"{title[:_TITLE].rsplit(' ', 1)[0]} …"


def build_result(
    request: RunRequest,
    run: FinishedRun,
    *,
    savings: Savings,
    counter: TokenCounter,
    record: Result | None = None,
    usage: Usage | None = None,
) -> Result:
    """The result of a run."""
    if request.answer == "collected":
        result = collect(run)
    elif request.answer == "asked" and len(run.results) == 1:
        (result,) = run.results.values()
        result = result.model_copy(update={"task_id": run.task_id})
    else:
        merged = synthesise(run, savings=savings, counter=counter)
        summary = None
        if record is not None:
            from retinue.orchestration import cited_summary  # noqa: PLC0415 - only with a model

            summary = cited_summary.verify_summary(cited_summary.collect_evidence(run), record)
            if request.answer == "merged":  # what holds of the summary leads
                merged = cited_summary.with_summary(merged, summary)
                merged = merged.model_copy(update={"content": blocks_to_markdown(answer_blocks(merged.data))})
        result = as_agent_result(request, run, merged, summary) if request.answer == "reduced" else merged
    if usage is not None:
        result = result.model_copy(update={"usage": usage})
    if run.plan.call_again and request.above:
        parts = {name: one.to_json() for name, one in run.results.items()}
        result = result.model_copy(update={"extras": {**result.extras, PARTS: parts}})
    if run.plan.join == "quorum" and result.outcome in {"success", "partial", "error"}:
        result = _apply_quorum(request, run, result)
    fault = locate_fault(request, run, result.fault)
    return result if fault is result.fault else result.model_copy(update={"fault": fault})


def with_quorum_warnings(node: Delegation, result: Result, results: Mapping[str, Result]) -> Result:
    """`result` of a node that joined a quorum, with a warning when not all were there, or not all were counted in."""
    needs = tuple(dict.fromkeys(node.needs))
    missing = [need for need in needs if not results[need].useful]
    warnings: list[Warned] = []
    if missing:
        count = f"{len(needs) - len(missing)} of {len(needs)}"
        message = f"`{node.id}` works with {count} branches: {_names(missing)} brought nothing."
        warnings.append(_missing_warning(message))
    metadata, arrivals = as_mapping(result.data).get("metadata"), len(needs) - len(missing)
    if isinstance(metadata, list) and (size := len(as_list(cast("object", metadata)))) != arrivals:
        message = f"`{node.id}` aggregates {size} items, and {arrivals} were handed on."
        warnings.append(_missing_warning(message))
    return result.model_copy(update={"warnings": (*result.warnings, *warnings)}) if warnings else result


def _apply_quorum(request: RunRequest, run: FinishedRun, result: Result) -> Result:
    """Fewer than all but the share: a warning. Fewer than the share: an error, with what there is kept (H25).

    Who has looked and found nothing (`rejected`) has reported.
    """
    needed = {need for node in run.plan.nodes for need in node.needs}
    ends = [(node, one) for node, one in run.pairs() if node.id not in needed]
    missing = [node.id for node, one in ends if not one.useful and one.outcome != "rejected"]
    if not missing:
        return result
    arrivals, required = len(ends) - len(missing), required_count(run.plan.quorum, len(ends))
    if arrivals >= required:
        warning = _missing_warning(f"{arrivals} of {len(ends)} branches reported: {_names(missing)} did not.")
        return result.model_copy(update={"warnings": (*result.warnings, warning)})
    # A branch may end without a fault, such as one that was stopped.
    silent = Fault.from_error(Unavailable("It brought nothing.", hint="Ask again."))
    failed = ((node.id, one.fault) for node, one in ends if node.id in missing and one.fault is not None)
    first, fault = next(failed, (missing[0], silent))
    message = f"Only {arrivals} of {len(ends)} branches reported, and {required} are wanted: {_names(missing)} did not."
    detail = {"node": request.place_of(first), **fault.detail, "wanted": required, "came": arrivals, "missing": missing}
    blamed = fault.model_copy(update={"message": f"{message} The first: {fault.message}", "detail": detail})
    return result.model_copy(update={"outcome": "error", "fault": blamed})


def _missing_warning(message: str) -> Warned:
    return Warned(
        type="missing_data",
        message=message,
        impact="The answer rests on fewer parts than were asked for.",
        recovery="Ask for the missing ones again, or set the quorum to 1.0 to insist on all.",
    )


def _names(ids: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in ids[:10]) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
