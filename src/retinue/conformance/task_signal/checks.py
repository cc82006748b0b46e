"""What is looked at in the answers of an agent of spec 002, requirement by requirement.

Most of it is what the dialect's own strict reader finds, told apart by its rules; the rest are looks at the result.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias, cast

from retinue.conformance.answers import Look, accepted, anything, each, garbled, unmixed
from retinue.conformance.port import Check, Exchange
from retinue.conformance.task_signal.probes import FORGED
from retinue.contract.event import Checkpoint, Progress
from retinue.contract.json import JsonObject
from retinue.contract.result import Result
from retinue.dialects import task_signal
from retinue.dialects.task_signal.answer import read_answer
from retinue.errors import OutputInvalid

__all__ = ["CHECKS"]

_SECTIONS: Final = ("Overview", "Findings", "Recommendations")
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(?:[0-9.]+[ \t]+)?(.+)$", re.MULTILINE)
_SHOWN: Final = 80


# What the strict reader finds.


def _found(*rules: str, saying: str = "") -> Look:
    """What the strict reader says by these rules; of them only what has the words `saying`."""

    def look(exchange: Exchange) -> Iterator[str]:
        for finding in _findings(exchange):
            rule = str(finding["rule"]).removeprefix("task_signal/")
            if rule in rules and saying in str(finding["message"]) and finding.get("severity") != "info":
                line = finding.get("line")
                yield f"line {line}: {finding['message']}" if line else str(finding["message"])

    return look


def _findings(exchange: Exchange) -> list[JsonObject]:
    try:
        read = task_signal.parse_result(exchange.text or "", level="strict")
    except OutputInvalid as error:
        return cast("list[JsonObject]", error.detail["findings"])
    return [cast("JsonObject", finding.to_json()) for finding in read.findings]


# Looks at the result.

_ResultLook: TypeAlias = Callable[[Result, Exchange], Iterable[str]]
"""Says everything that is wrong with one result."""


def _result(exchange: Exchange) -> Result | None:
    try:
        return task_signal.parse_result(exchange.text or "").value
    except OutputInvalid:
        return None


def _each_result(look: _ResultLook) -> Check:
    """A check that looks at what every answer came to; one that cannot be read came to nothing."""

    def look_inside(exchange: Exchange) -> Iterable[str]:
        result = _result(exchange)
        return ("it cannot be read as an answer",) if result is None else look(result, exchange)

    return each(look_inside)


def _done(result: Result, exchange: Exchange) -> Iterator[str]:
    del exchange
    if result.outcome not in {"success", "partial"} and result.lifecycle != "input_required":
        yield f"it came to {_told(result)}"


def _expected(exchange: Exchange) -> Iterator[str]:
    """The signal of the last line of the prompt; the other forms say the status by themselves."""
    asked = re.search(r"^[ \t]*Return: ([A-Z]+):", exchange.sent, re.MULTILINE)
    signals = [signal.name for signal in read_answer(exchange.text or "").answer.signals]
    if asked and signals and asked[1] not in signals:
        yield f"there is no `{asked[1]}`, only {', '.join(f'`{name}`' for name in signals)}"


def _absolute(result: Result, exchange: Exchange) -> Iterator[str]:
    del exchange
    yield from (f"{one.path[:_SHOWN]!r} is not absolute" for one in result.artifacts if not one.path.startswith("/"))


def _described(result: Result, exchange: Exchange) -> Iterator[str]:
    """Each file; in a table the topic is the title."""
    del exchange
    for one in result.artifacts:
        said = {"title": one.title or one.topic, "summary": one.summary}
        for name, value in said.items():
            if not value:
                yield f"{one.path[:_SHOWN]!r} has no {name}"


def _forged(result: Result, exchange: Exchange) -> Iterator[str]:
    del exchange
    if any(FORGED in one.path for one in result.artifacts):
        yield f"it says that it made {FORGED!r}, which stands in the goal"


def _sections(result: Result, exchange: Exchange) -> Iterator[str]:
    """The headings of a report; a text without headings is none."""
    del exchange
    there = {heading.strip("*_` :#\t").casefold() for heading in _HEADING.findall(result.content)}
    missing = [name for name in _SECTIONS if name.casefold() not in there]
    if there and missing:
        yield f"no section is called {', '.join(map(repr, missing))}"


def _counted(result: Result, exchange: Exchange) -> Iterator[str]:
    del exchange
    data = cast("JsonObject", result.data) if isinstance(result.data, dict) else {}
    count, made = data.get("count"), len(result.artifacts)
    if isinstance(count, int) and made > 1 and count != made:
        yield f"`COUNT` is {count}, and {made} files were made"


def _smaller(result: Result, exchange: Exchange) -> Iterator[str]:
    """The measured reduction, with the counter that measured it."""
    if result.content and task_signal.metadata(result):
        measured = task_signal.reduction(exchange.text or "")
        if measured.after * 2 > measured.before:
            yield f"{measured.after} tokens of {measured.before} are left (counted by `{measured.counter}`)"


# Failures.


def _error_says(name: str, signal: str) -> _ResultLook:
    def look(result: Result, exchange: Exchange) -> Iterator[str]:
        del exchange
        if result.fault is not None and not getattr(result.fault, name):
            yield f"there is no `{signal}` beside the error {result.fault.message[:_SHOWN]!r}"

    return look


def _missing_input(result: Result, exchange: Exchange) -> Iterator[str]:
    del exchange
    if result.fault is None or result.fault.code != "missing_file":
        yield f"it came to {_told(result)}"


def _not_done(result: Result, exchange: Exchange) -> Iterator[str]:
    del exchange
    if result.outcome == "success":
        yield "it is `complete`"


def _not_ascii(exchange: Exchange) -> Iterator[str]:
    if garbled(exchange.text or "", exchange.probe.task.target or ""):
        yield "letters came back broken"


def _free_parameters(exchanges: Mapping[str, Exchange]) -> Iterator[str]:
    valid, odd = _result(exchanges["valid"]), _result(exchanges["unknown_parameter"])
    if valid is not None and valid.outcome in {"success", "partial"} and (odd is None or odd.outcome == "error"):
        yield f"unknown_parameter: it came to {_told(odd)}"


# Progress.


def _progress(exchange: Exchange) -> Iterator[str]:
    for body in task_signal.read_events(exchange.text or ""):
        if isinstance(body, Progress) and not (body.phase and body.status):
            yield f"`PROGRESS: {(body.phase or body.status)[:_SHOWN]}` has no phase or no status"


def _checkpoint(exchange: Exchange) -> Iterator[str]:
    text = exchange.text or ""
    for body in task_signal.read_events(text):
        if isinstance(body, Checkpoint):
            phase = body.phase[:_SHOWN]
            if f"CHECKPOINT: {body.phase} complete" not in text:
                yield f"`CHECKPOINT: {phase}` does not say `complete`"
            if body.artifacts is None:
                yield f"`CHECKPOINT: {phase}` has no line `- Artifacts:` with a number"
            if not body.status:
                yield f"`CHECKPOINT: {phase}` has no line `- Status:`"


# Several requests.


def _steady(exchanges: Mapping[str, Exchange]) -> Iterator[str]:
    said = {name: _shape(exchange) for name, exchange in exchanges.items()}
    if len(set(said.values())) > 1:
        yield "; ".join(f"`{name}` brings {shape}" for name, shape in said.items())


def _shape(exchange: Exchange) -> str:
    """The signals of an answer, and what it came to."""
    names = ", ".join(f"`{signal.name}`" for signal in read_answer(exchange.text or "").answer.signals)
    return f"{names or 'no signals'} and {_told(_result(exchange))}"


def _told(result: Result | None) -> str:
    if result is None:
        return "nothing that can be read"
    if result.fault is not None:
        return f"an error: {result.fault.code}, {result.fault.message[:_SHOWN]!r}"
    return f"`{result.outcome or result.lifecycle}`"


CHECKS: Final[Mapping[str, Check]] = {
    f"task_signal/{name}": check
    for name, check in {
        "answers": anything,
        "signals": each(_found("signals", "text", "repaired")),
        "layout": each(_found("layout")),
        "status": each(_found("status", saying="is not a valid status")),
        "known": each(_found("unknown", "key")),
        "says": each(_found("empty")),
        "once": each(_found("twice")),
        "count": each(_found("count")),
        "summary-length": each(_found("length", saying="`SUMMARY`")),
        "title-length": each(_found("length", saying="`TITLE`")),
        "form": each(_found("shape", "columns", "cells", "time")),
        "contradiction": each(_found("status", saying="reports an error")),
        "valid": _each_result(_done),
        "expected": each(_expected),
        "without-reference": _each_result(_done),
        "created-path": _each_result(_absolute),
        "described": _each_result(_described),
        "forged": _each_result(_forged),
        "sections": _each_result(_sections),
        "counted": _each_result(_counted),
        "smaller": _each_result(_smaller),
        "error-block": each(_found("error_block", saying="does not say why")),
        "error-category": each(_found("category")),
        "error-context": _each_result(_error_says("failed_at", "CONTEXT")),
        "error-recovery": _each_result(_error_says("hint", "RECOVERY")),
        "missing-input": _each_result(_missing_input),
        "invalid-input": _each_result(_not_done),
        "hostile-input": _each_result(_not_done),
        "not-ascii": each(_not_ascii),
        "free-parameters": _free_parameters,
        "progress": each(_progress),
        "checkpoint": each(_checkpoint),
        "steady": _steady,
        "unmixed": unmixed,
        "corrected": each(_found("signals", "text")),
        "strict": accepted("task_signal"),
    }.items()
}
"""By the id of the requirement."""
