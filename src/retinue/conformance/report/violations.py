"""What there is to say of a requirement that is not kept: what is wrong, the requests it showed on, and the way out."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from retinue.conformance.port import CheckReport, ProbeExchange, RequirementVerdict
from retinue.contract.model import JsonMapping
from retinue.contract.report import ReportCase, render_junit
from retinue.contract.sanitize import printable

_EXCHANGES: Final = 2
_NAMES: Final = 3
_MISTAKE: Final = "Our own check broke, so it is not known whether this holds"


@dataclass(frozen=True, slots=True)
class RequirementViolation:
    """One broken requirement, ready to be shown. All text is foreign in part: whoever shows it escapes it.

    Attributes:
        wrong: A sentence for everything that is wrong, with the probes it showed on.
        exchanges: The first requests on which it showed.
    """

    verdict: RequirementVerdict
    wrong: tuple[str, ...]
    exchanges: tuple[ProbeExchange, ...]

    def lines(self, *, shown_probes: Collection[str] = ()) -> Iterator[str]:
        """All of it as lines of text without control characters.

        Args:
            shown_probes: Names of probes that the reader has been shown.
        """
        requirement = self.verdict.requirement
        yield f"{requirement.force}: {requirement.text}"
        yield f"clause: {requirement.clause} ({', '.join(requirement.rows)})"
        yield from (f"- {_line(wrong)}" for wrong in self.wrong)
        for exchange in self.exchanges:
            if exchange.probe.name in shown_probes:
                continue
            yield f"{exchange.probe.name}: {exchange.probe.about}"
            yield f"  sent:     {excerpt(exchange.request)}"
            yield f"  answered: {excerpt(exchange.text) if exchange.text is not None else _line(exchange.error)}"
        if requirement.fix:
            yield f"fix: {requirement.fix}"


def violations_in(report: CheckReport) -> tuple[RequirementViolation, ...]:
    """The broken requirements, MUST before SHOULD."""
    verdicts = [verdict for verdict in report.verdicts if verdict.outcome != "passed"]
    verdicts.sort(key=lambda verdict: verdict.outcome)  # `failed` stands before `warned`
    return tuple(_violation(verdict, report) for verdict in verdicts)


def repeated_ids(violations: Iterable[RequirementViolation]) -> frozenset[str]:
    """The requirements that break on nothing but what broke one before them, by id.

    An agent that answers nothing breaks them all: what is to be mended stands at the first.
    """
    before: set[str] = set()
    repeated: set[str] = set()
    for each in violations:
        wrong = set(each.verdict.wrong)
        if wrong and wrong <= before:
            repeated.add(each.verdict.requirement.id)
        before |= wrong
    return frozenset(repeated)


def counts(report: CheckReport) -> dict[str, int]:
    """How many requirements passed, failed and warned."""
    by_outcome = Counter(verdict.outcome for verdict in report.verdicts)
    return {outcome: by_outcome[outcome] for outcome in ("passed", "failed", "warned")}


def excerpt(text: str, *, most: int = 300) -> str:
    """The beginning of a foreign text on one line, and how long it is when that is not all."""
    line = _line(text[: 4 * most])
    start = line[:most].rstrip() if len(line) > most or len(text) > 4 * most else line
    return f"{start or '(nothing)'}{f' … ({len(text):,} characters)' if start != line or len(text) > 4 * most else ''}"


def _violation(verdict: RequirementVerdict, report: CheckReport) -> RequirementViolation:
    wrong = (f"{_MISTAKE}: {verdict.mistake}",) if verdict.mistake else verdict.wrong
    probe_names = {each.partition(": ")[0] for each in wrong}
    exchanges = _distinct(each for each in report.exchanges if each.probe.name in probe_names)
    probes = {exchange.probe.name for exchange in report.exchanges}
    return RequirementViolation(verdict, tuple(_group_sentences(wrong, probes)), tuple(exchanges[:_EXCHANGES]))


def _distinct(exchanges: Iterable[ProbeExchange]) -> list[ProbeExchange]:
    """Those that show something the ones before do not."""
    unlike: dict[tuple[str, str | None, str], ProbeExchange] = {}
    for each in exchanges:
        unlike.setdefault((each.request, each.text, each.error), each)
    return list(unlike.values())


def _group_sentences(wrong: tuple[str, ...], probes: Collection[str]) -> Iterator[str]:
    """The sentences, each once: `valid, again and 3 more: it is no JSON`."""
    names: dict[str, list[str]] = {}
    for each in wrong:
        name, _, sentence = each.partition(": ")
        if name in probes:
            names.setdefault(sentence, []).append(name)
        else:
            names[each] = []
    for sentence, probe_names in names.items():
        more = f" and {len(probe_names) - _NAMES} more" if len(probe_names) > _NAMES else ""
        yield f"{', '.join(probe_names[:_NAMES])}{more}: {sentence}" if probe_names else sentence


def _line(text: str) -> str:
    return " ".join(printable(text).split())


_MOST: Final = 20_000
"""Characters of a text that are kept."""


def as_json(report: CheckReport) -> JsonMapping:
    """`report` as JSON data. Long texts are cut, and `characters` says how long they were."""
    return {
        "subject": _writable(report.subject),
        "dialect": report.dialect,
        "version": report.version,
        "passed": report.passed,
        "counts": counts(report),
        "facts": {name: _writable(str(value)) for name, value in report.facts.items()},
        "requirements": [_requirement(verdict) for verdict in report.verdicts],
        "exchanges": [_exchange(exchange) for exchange in report.exchanges],
    }


def _requirement(verdict: RequirementVerdict) -> JsonMapping:
    requirement = verdict.requirement
    facts: JsonMapping = {
        "id": requirement.id,
        "outcome": verdict.outcome,
        "force": requirement.force,
        "text": requirement.text,
        "clause": requirement.clause,
        "rows": list(requirement.rows),
        "probes": list(requirement.probes),
    }
    if verdict.outcome != "passed":
        facts |= {"wrong": [_writable(each) for each in verdict.wrong], "fix": requirement.fix}
    if verdict.mistake:
        facts["mistake"] = _writable(verdict.mistake)
    return facts


def _exchange(exchange: ProbeExchange) -> JsonMapping:
    facts: dict[str, Any] = {
        "probe": exchange.probe.name,
        "about": exchange.probe.about,
        "sent": _text(exchange.request),
        "answer": None if exchange.text is None else _text(exchange.text),
        "error": _writable(exchange.error) or None,
        "status": exchange.status,
        "stderr": _writable(exchange.stderr) or None,
        "duration_ms": round(exchange.duration_ns / 1_000_000),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _text(text: str) -> JsonMapping:
    facts: JsonMapping = {"text": _writable(text[:_MOST])}
    return facts if len(text) <= _MOST else {**facts, "characters": len(text)}


def _writable(text: str) -> str:
    """`text` without halves of surrogate pairs, which no JSON text can hold."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def as_junit(*reports: CheckReport) -> str:
    """`reports` as the text of an XML file."""
    cases: list[ReportCase] = []
    for report in reports:
        violations = {each.verdict.requirement.id: each for each in violations_in(report)}
        prefix = f"{report.subject}: " if len(reports) > 1 else ""
        cases += (_case(verdict, violations.get(verdict.requirement.id), prefix=prefix) for verdict in report.verdicts)
    return render_junit(f"retinue check: {', '.join(report.subject for report in reports)}", cases)


def _case(verdict: RequirementVerdict, violation: RequirementViolation | None, *, prefix: str) -> ReportCase:
    group, _, name = verdict.requirement.id.partition("/")
    group = prefix + group
    if violation is None:
        return ReportCase(name=name, group=group)
    failed = verdict.outcome == "failed"
    failure = violation.wrong[0] if violation.wrong else verdict.requirement.text
    return ReportCase(name=name, group=group, failure=failure if failed else None, detail="\n".join(violation.lines()))
