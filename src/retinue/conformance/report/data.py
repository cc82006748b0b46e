"""A report as one JSON document."""

from typing import Any, Final

from retinue.conformance.port import CheckReport, ProbeExchange, RequirementVerdict
from retinue.conformance.report.violations import counts
from retinue.contract.model import JsonMapping

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
