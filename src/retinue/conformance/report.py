"""A report as what people and programs read: violations as lines of text, JSON, JUnit XML, and one page of HTML.

The page needs nothing else: no script, no network, no second file. Every foreign text in it passes `markup.text`. How
a report looks on a terminal is the business of `cli/check`.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from retinue.conformance.port import CheckReport, ProbeExchange, Requirement, RequirementVerdict
from retinue.contract.model import JsonMapping
from retinue.contract.report import ReportCase, render_junit
from retinue.contract.sanitize import printable
from retinue.orchestration.present.html_markup import document, element, text
from retinue.orchestration.present.numbers import format_duration

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
        yield f"clause: {_clause(requirement)}"
        yield from (f"- {_line(wrong)}" for wrong in self.wrong)
        for exchange in self.exchanges:
            if exchange.probe.name in shown_probes:
                continue
            yield f"{exchange.probe.name}: {exchange.probe.about}"
            status = f"{exchange.status} {exchange.media_type} " if exchange.headers else ""
            yield f"  sent:     {excerpt(exchange.request)}"
            answer = excerpt(exchange.text) if exchange.text is not None else _line(exchange.error)
            yield f"  answered: {status}{answer}"
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
    # An exchange that looks like one before it, under another probe's name, shows nothing new.
    distinct: dict[tuple[str, str | None, str], ProbeExchange] = {}
    for each in report.exchanges:
        if each.probe.name in probe_names:
            distinct.setdefault((each.request, each.text, each.error), each)
    exchanges = list(distinct.values())
    probes = {exchange.probe.name for exchange in report.exchanges}
    return RequirementViolation(verdict, tuple(_group_sentences(wrong, probes)), tuple(exchanges[:_EXCHANGES]))


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


def _clause(requirement: Requirement) -> str:
    rows = ", ".join(requirement.rows)
    return f"{requirement.clause} ({rows})" if rows else requirement.clause


def _line(text: str) -> str:
    return " ".join(printable(text).split())


_JSON_LENGTH: Final = 20_000
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
        "sent": _text_json(exchange.request),
        "answer": None if exchange.text is None else _text_json(exchange.text),
        "error": _writable(exchange.error) or None,
        "status": exchange.status,
        "headers": {name: _writable(value) for name, value in exchange.headers.items()} or None,
        "stderr": _writable(exchange.stderr) or None,
        "duration_ms": round(exchange.duration_ns / 1_000_000),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _text_json(text: str) -> JsonMapping:
    facts: JsonMapping = {"text": _writable(text[:_JSON_LENGTH])}
    return facts if len(text) <= _JSON_LENGTH else {**facts, "characters": len(text)}


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


# The page.

_HTML_LENGTH: Final = 4_000
_CODE: Final = re.compile(r"`([^`]+)`")
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2127; --soft: #5b6570; --faint: #dfe3e8; --paper: #ffffff; --tint: #f5f7f9;
  --good: #1a7f4b; --warn: #9a6100; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --soft: #9aa5b1; --faint: #343b44; --paper: #15191e;
  --tint: #1d2229; --good: #5cc48f; --warn: #e0a84a; --bad: #f28b82; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 58rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1rem; margin: 0; }
p, ul, pre, dl { margin: .5rem 0; }
header { border-bottom: 1px solid var(--faint); padding-bottom: 1rem; }
pre, code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .85em; }
pre { background: var(--tint); border-radius: .4rem; padding: .6rem .8rem; white-space: pre-wrap; max-height: 24rem;
  overflow: auto; }
.meta, .clause, footer, dt { color: var(--soft); font-size: .9rem; }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.bar { display: flex; height: .6rem; border-radius: .3rem; overflow: hidden; margin: 1rem 0 0; gap: 2px; }
.bar i { display: block; background: currentColor; }
.broken { border-left: .25rem solid currentColor; border-radius: 0 .4rem .4rem 0; padding: .25rem 1rem;
  margin: 1.25rem 0; }
.broken > * { color: var(--ink); } .broken > .clause { color: var(--soft); }
.broken b.bad { color: var(--bad); } .broken b.warn { color: var(--warn); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem 1rem .35rem 0; border-bottom: 1px solid var(--faint); }
th { color: var(--soft); font-size: .8rem; white-space: nowrap; }
td.word { white-space: nowrap; }
details { border-bottom: 1px solid var(--faint); padding: .5rem 0; }
summary { cursor: pointer; }
dt { margin-top: .5rem; } dd { margin: 0; }
footer { margin-top: 2.5rem; }
@media print { .broken { break-inside: avoid; } pre { max-height: none; } }
"""
_LOOKS: Final = {"passed": "good", "failed": "bad", "warned": "warn"}


def as_html(*reports: CheckReport, created: str = "") -> str:
    """`reports` as the text of one HTML document.

    Args:
        reports: What is shown, one after the other.
        created: When it was made, as a person reads it.
    """
    title = f"{reports[0].subject[:120]}: {', '.join(report.dialect for report in reports)}"
    return document(title, element("main", "\n".join(map(_report_html, reports))), style=_STYLE, created_at=created)


def _report_html(report: CheckReport) -> str:
    exchanges = element("h2", "What was asked and answered") + "".join(map(_exchange_html, report.exchanges))
    head = element("header", "".join(_header(report)))
    return "\n".join((head, *_violation_sections(report), _table(report.verdicts), exchanges))


def _header(report: CheckReport) -> Iterator[str]:
    number = counts(report)
    whole = max(1, len(report.verdicts))
    ending, look = ("conforms", "good") if report.passed else ("does not conform", "bad")
    basis = f"{report.dialect}, requirements {report.version}"
    yield element("h1", text(report.subject))
    yield element("p", f"{element('b', ending, class_=look)}{text(f' to {basis}')}", class_="meta")
    yield element("p", text(_counts_text(number)), class_="meta")
    for name, value in report.facts.items():
        yield element("p", text(f"{name}: {value}"), class_="meta")
    bars = (
        element("i", "", class_=_LOOKS[outcome], style=f"width: {100 * count / whole:.2f}%")
        for outcome, count in number.items()
        if count
    )
    yield element("div", "".join(bars), class_="bar", role="img", aria_label=_counts_text(number))


def _counts_text(number: dict[str, int]) -> str:
    return f"{number['passed']} passed, {number['failed']} failed, {number['warned']} warned"


def _violation_sections(report: CheckReport) -> Iterator[str]:
    violations = violations_in(report)
    if violations:
        yield element("h2", "What is not kept")
    repeated = repeated_ids(violations)
    for each in violations:
        if each.verdict.requirement.id not in repeated:
            yield element("section", "".join(_violation_html(each)), class_=f"broken {_LOOKS[each.verdict.outcome]}")
    if repeated:
        names = (each.verdict.requirement.id.partition("/")[2] for each in violations)
        same = (name for each, name in zip(violations, names, strict=True) if each.verdict.requirement.id in repeated)
        yield element("p", f"{element('b', 'For the same reasons')}: {text(', '.join(same))}")


def _violation_html(violation: RequirementViolation) -> Iterator[str]:
    requirement = violation.verdict.requirement
    outcome = violation.verdict.outcome
    yield element("h3", f"{element('b', outcome, class_=_LOOKS[outcome])} {text(requirement.id)}")
    yield element("p", _prose(f"{requirement.force}: {requirement.text}"))
    yield element("p", text(_clause(requirement)), class_="clause")
    yield element("ul", "".join(element("li", _prose(wrong)) for wrong in violation.wrong))
    for exchange in violation.exchanges:
        yield _exchange_html(exchange)
    if requirement.fix:
        yield element("p", f"{element('b', 'Fix')}: {_prose(requirement.fix)}")


def _prose(sentence: str) -> str:
    """A sentence with what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", text(sentence))


def _table(verdicts: Iterable[RequirementVerdict]) -> str:
    rows = (
        element(
            "tr",
            element("td", verdict.outcome, class_=f"word {_LOOKS[verdict.outcome]}")
            + element("td", verdict.requirement.force, class_="word")
            + element("td", text(verdict.requirement.id.partition("/")[2]), class_="word")
            + element("td", _prose(verdict.requirement.text)),
        )
        for verdict in verdicts
    )
    titles = "".join(
        element("th", title, scope="col") for title in ("Outcome", "Force", "Requirement", "What is asked")
    )
    body = element("tbody", "".join(rows))
    return element("h2", "All requirements") + element("table", element("thead", element("tr", titles)) + body)


def _exchange_html(exchange: ProbeExchange) -> str:
    duration = f", {format_duration(exchange.duration_ns)}" if exchange.duration_ns else ""
    head = element("summary", text(f"{exchange.probe.name}: {exchange.probe.about[:-1]}{duration}"))
    parts: dict[str, str] = {"sent": exchange.request}
    parts |= {"answered": exchange.text} if exchange.text is not None else {"no answer": exchange.error}
    if exchange.status:
        parts["HTTP status" if exchange.headers else "exit code"] = str(exchange.status)
    if exchange.stderr:
        parts["on stderr"] = exchange.stderr
    for name, value in parts.items():
        if len(value) > _HTML_LENGTH:
            parts[name] = f"{value[:_HTML_LENGTH]}\n… {len(value):,} characters in all"
    inside = "".join(element("dt", name) + element("dd", element("pre", text(value))) for name, value in parts.items())
    return element("details", head + element("dl", inside))
