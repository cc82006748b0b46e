"""A report as one page of HTML that needs nothing else: no script, no network, no second file.

Every foreign text passes `markup.text`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from retinue.conformance.port import CheckReport, ProbeExchange, RequirementVerdict
from retinue.conformance.report.violations import RequirementViolation, counts, repeated_ids, violations_in
from retinue.orchestration.present.html_markup import document, element, text
from retinue.orchestration.present.numbers import format_duration

_MOST: Final = 4_000
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


def as_html(report: CheckReport, *, created: str = "") -> str:
    """`report` as the text of one HTML document.

    Args:
        report: What is shown.
        created: When it was made, as a person reads it.
    """
    title = f"{report.subject[:120]}: {report.dialect}"
    return document(
        title,
        element("header", "".join(_header(report))),
        element(
            "main", "\n".join((*_violation_sections(report), _table(report.verdicts), _exchanges(report.exchanges)))
        ),
        style=_STYLE,
        created_at=created,
    )


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
    yield element("p", text(f"{requirement.clause} ({', '.join(requirement.rows)})"), class_="clause")
    yield element("ul", "".join(element("li", _prose(wrong)) for wrong in violation.wrong))
    for exchange in violation.exchanges:
        yield _exchange(exchange)
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


def _exchanges(exchanges: Iterable[ProbeExchange]) -> str:
    return element("h2", "What was asked and answered") + "".join(map(_exchange, exchanges))


def _exchange(exchange: ProbeExchange) -> str:
    duration = f", {format_duration(exchange.duration_ns)}" if exchange.duration_ns else ""
    head = element("summary", text(f"{exchange.probe.name}: {exchange.probe.about[:-1]}{duration}"))
    parts: dict[str, str] = {"sent": exchange.request}
    parts |= {"answered": exchange.text} if exchange.text is not None else {"no answer": exchange.error}
    if exchange.status:
        parts["exit code"] = str(exchange.status)
    if exchange.stderr:
        parts["on stderr"] = exchange.stderr
    inside = "".join(
        element("dt", name) + element("dd", element("pre", text(_shorten(value)))) for name, value in parts.items()
    )
    return element("details", head + element("dl", inside))


def _shorten(value: str) -> str:
    return value if len(value) <= _MOST else f"{value[:_MOST]}\n… {len(value):,} characters in all"
