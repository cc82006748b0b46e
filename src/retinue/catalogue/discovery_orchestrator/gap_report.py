"""One report out of what several agents found: which member of whose answer becomes what. Nothing is judged again.

The answers are read as data that anybody may have written: what is absent or of another form is left out.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from retinue.agents.port import Reply
from retinue.catalogue._prose import code, first_of, one_line, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.contract.fault import Fault
from retinue.contract.json import as_mapping, as_mappings, dumps
from retinue.contract.model import JsonMapping, Model
from retinue.contract.result import Result
from retinue.errors import Unavailable

from .parameters import DiscoveryGap, DiscoveryIssue, DiscoverySuggestion

M = TypeVar("M", bound=Model)

_MOST_PATTERNS: Final = 10
"""Of each kind of pattern."""
MATRIX: Final = tomllib.loads(Path(__file__).with_name("discovery.toml").read_text(encoding="utf-8"))


def build_reply(parts: Mapping[str, Result], target: str) -> Reply:
    """The reply made of `parts`, by `AGENT.SKILL.NUMBER`: whole, partial where some failed, an error where all did."""
    answers = {name: one for name, one in parts.items() if one.useful or one.outcome == "rejected"}
    invoked, failures = list(dict.fromkeys(map(_agent_of, parts))), dict[str, Fault]()
    report = SkillReport()
    for name, part in parts.items():
        agent = _agent_of(name)
        if name not in answers:
            error = Unavailable("It brought nothing.", hint="Ask it again.")
            failures[agent] = fault = part.fault or Fault.from_error(error)
            message = f"{code(name.rpartition('.')[0])} failed: {quote(fault.message)}"
            impact = MATRIX["not_known_without"].get(agent, "Its part of the answer is missing.")
            report.warn("missing_data", message, impact=impact, recovery=fault.hint or "Ask it again.")
        elif part.fault is not None:  # it looked, and there is nothing
            report.note(f"{code(name.rpartition('.')[0])}: {quote(part.fault.message)}")
    if parts and not answers:
        first = next(iter(failures.values()))
        message = f"None of {first_of(f'`{agent}`' for agent in invoked)} could answer. The first said: {first.message}"
        return Reply(outcome="error", fault=first.model_copy(update={"message": message}))
    report.warnings += [warning for part in answers.values() for warning in part.warnings]
    failed = [agent for agent in invoked if not any(_agent_of(name) == agent for name in answers)]
    data = [(_agent_of(name), as_mapping(part.data)) for name, part in answers.items() if part.useful]
    gaps = _merged(gap for agent, answer in data for gap in _gaps(agent, answer))
    flags = _each_once(
        _read(DiscoveryIssue, {**issue, "ticket_id": issue.get("ticket") or answer.get("target")}, agent)
        for agent, answer in data if "overall_assessment" in answer for issue in as_mappings(answer.get("issues"))
    )  # fmt: skip
    issues = _each_once(issue for agent, answer in data for issue in _issues(agent, answer))
    patterns = _each_once(one for agent, answer in data for one in _patterns(agent, answer))
    blocked = sum(gap.is_blocked for gap in gaps)
    ready = sum(gap.ready is True and not gap.is_blocked for gap in gaps)
    report.figures = {
        "summary": {
            "total_gaps": len(gaps), "ready_to_write": ready, "blocked": blocked, "overengineering_flags": len(flags)
        },
        "gaps": [gap.to_json() for gap in gaps],
        "pattern_suggestions": [one.to_json() for one in patterns],
        "complexity_flags": [flag.to_json() for flag in flags],
        "quality_issues": [issue.to_json() for issue in issues],
        "metadata": {"agents_invoked": invoked, "agents_failed": failed},
    }  # fmt: skip
    counts = [plural(len(gaps), "gap"), plural(len(flags), "sign of overengineering", "signs of overengineering")]
    counts.append(plural(len(issues), "issue of quality", "issues of quality"))
    counts.append(plural(len(patterns), "pattern to use", "patterns to use"))
    report.add("discovery", f"{code(target) if target else 'No ticket'}: {', '.join(counts)}.")
    if gaps:
        of_gaps = f"{ready} can be written now, and {blocked} wait for something else"
        report.add("discovery", f"Of the gaps, {of_gaps}.")
    lines = [(gap, gap.ticket_id or ", ".join(gap.missing_tickets), gap.fix or gap.description or "") for gap in gaps]
    rows = [(ticket, gap.type, gap.priority or "", gap.state, text) for gap, ticket, text in lines]
    report.add_table("Gaps", ("ticket", "type", "priority", "state", "what to do"), rows)
    for name, entries in (("Signs of overengineering", flags), ("Issues of quality", issues)):
        texts = [(one, one.problem or one.description or one.term or "") for one in entries]
        rows = [(one.ticket_id or "", one.category, one.location or "", text) for one, text in texts]
        report.add_table(name, ("ticket", "category", "location", "problem"), rows)
    places = [f"{one.path}:{one.line}" if one.path and one.line else one.path for one in patterns]
    rows = [(one.kind, one.name, place, one.reason or "") for one, place in zip(patterns, places, strict=True)]
    report.add_table("Patterns to use", ("kind", "name", "place", "reason"), rows)
    report.add_subjects([name for gap in gaps for name in (gap.ticket_id, *gap.missing_tickets)])
    return report.reply()


def _agent_of(part: str) -> str:
    return part.partition(".")[0]


def _read(kind: type[M], facts: JsonMapping, agent: str) -> M:
    """`facts` as far as they fit `kind`."""
    values = {name: value for name, value in facts.items() if name in kind.model_fields} | {"agents": [agent]}
    try:
        return kind.model_validate_json(dumps(values))
    except ValidationError as error:
        wrong = {each["loc"][0] for each in error.errors()}
        return kind.model_validate_json(dumps({name: values[name] for name in values if name not in wrong}))


def _merged(gaps: Iterable[DiscoveryGap]) -> list[DiscoveryGap]:
    """Each ticket and type once: what the first agent left open, a later one fills in."""
    merged: dict[tuple[object, ...], DiscoveryGap] = {}
    for gap in gaps:
        key = (gap.ticket_id, gap.missing_tickets, gap.type)
        before = merged.setdefault(key, gap)
        if before is not gap:
            lists = ("missing", "blocked_by", "blocking", "agents")
            update: JsonMapping = {
                name: tuple(dict.fromkeys((*getattr(before, name), *getattr(gap, name)))) for name in lists
            }
            fields = (name for name in DiscoveryGap.model_fields if name not in update)
            update |= {name: getattr(gap, name) for name in fields if getattr(before, name) is None}
            merged[key] = before.model_copy(update=update)
    return sorted(merged.values(), key=lambda gap: gap.priority or "P9")


def _each_once(items: Iterable[M]) -> list[M]:
    return list({item.to_json_text(): item for item in items}.values())


def _gaps(agent: str, answer: JsonMapping) -> Iterator[DiscoveryGap]:
    """`hierarchy_gaps` lists them; the others say what one ticket lacks, or what keeps one task from being started."""
    ticket = answer.get("ticket_id") or answer.get("task_id")
    for gap in as_mappings(answer.get("gaps")):
        yield _read(DiscoveryGap, gap, agent)
    for blocker in as_mappings(answer.get("blocking_issues")):
        yield _read(DiscoveryGap, {**blocker, "ticket_id": ticket, "ready": False}, agent)
    criteria = as_mappings(answer.get("missing_criteria"))
    if criteria or answer.get("agent_ready") is False:
        level, score = answer.get("quality_level"), answer.get("completeness_score")
        facts = {"ticket_id": ticket, "missing": [str(one.get("criterion", "")) for one in criteria]}
        text = first_of((str(one.get("fix") or one.get("description") or "") for one in criteria), 3, separator=" ")
        facts |= {"completeness": score, "fix": text or "Mend its issues of quality."}
        facts |= {"description": f"Its text is `{one_line(str(level))}`."} if level else {}
        yield _read(DiscoveryGap, facts, agent)


def _issues(agent: str, answer: JsonMapping) -> Iterator[DiscoveryIssue]:
    """Of the text of one ticket, or of a story and its tasks."""
    story = as_mapping(answer.get("story"))
    texts = [answer] if "overall_assessment" not in answer else []
    for text in (*texts, story, *as_mappings(answer.get("tasks"))):
        ticket = text.get("ticket_id") or text.get("id")
        for issue in as_mappings(text.get("issues")):
            yield _read(DiscoveryIssue, {"ticket_id": ticket, "category": issue.get("type", ""), **issue}, agent)


def _patterns(agent: str, answer: JsonMapping) -> Iterator[DiscoverySuggestion]:
    """The most relevant of each kind, and what a design makes anew although it is there."""
    kinds = {"fixtures": "fixture", "helpers": "helper", "test_patterns": "test pattern", "steps": "step"}
    for member, kind in kinds.items():
        entries = [one for one in as_mappings(answer.get(member)) if one.get("relevance")]
        for one in sorted(entries, key=lambda entry: -float(entry["relevance"]))[:_MOST_PATTERNS]:
            name = one.get("name") or one.get("symbol") or one.get("text") or one.get("kind") or ""
            facts = {**one, "kind": kind, "name": name, "line": one.get("line") or one.get("line_start")}
            yield _read(DiscoverySuggestion, facts, agent)
    for violation in as_mappings(as_mapping(answer.get("pattern_reuse")).get("violations")):
        facts = {"kind": "made anew", "name": violation.get("evidence", ""), "path": violation.get("location")}
        yield _read(DiscoverySuggestion, {**facts, "reason": violation.get("problem")}, agent)
