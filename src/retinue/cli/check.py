"""`retinue check`: an agent, judged by what its dialect asks of it."""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

import click

from retinue.cli import watchdog
from retinue.cli.app import Exit, colour
from retinue.cli.delivery import Parameters, choose_format, deliver
from retinue.cli.output import echo_err, json_text, label, minute_text, safe, status_line
from retinue.cli.project import Bounds, budget_of, open_project
from retinue.conformance.check_request import CheckRequest, judge_url, prepare
from retinue.conformance.port import CheckReport, Probe, ProbeExchange, RequirementVerdict
from retinue.conformance.report import (
    as_html,
    as_json,
    as_junit,
    counts,
    repeated_ids,
    violations_in,
)
from retinue.errors import InvalidInput
from retinue.llm.budget_tracker import BudgetTracker
from retinue.orchestration.present.numbers import format_duration

_Kind: TypeAlias = Literal["text", "json", "junit", "html"]

_ENDINGS: Final[dict[str, _Kind]] = {
    ".txt": "text", ".json": "json", ".xml": "junit", ".html": "html", ".htm": "html",
}  # fmt: skip
_REQUEST_HINT: Final = (
    "If these requests were not valid for it, say how to ask: --agent, --operation, --target, --definition."
)
_URL_HINT: Final = "If these requests were not valid for it, say how to ask: --instruction, --operation, --param."
_LOOKS: Final = {"passed": "green", "failed": "red", "warned": "yellow"}


def check_agents(
    *,
    subjects: tuple[str, ...],
    is_command: bool,
    parameters: Parameters,
    model: str | None,
    kind: str | None,
    output: Path | None,
    strict: bool,
    as_json: bool,
    yes: bool,
    **fields: Any,
) -> int:
    """Test each SUBJECT against the requirements of its dialect.

    Args:
        subjects: The agents to test.
        is_command: Each of them is a command line.
        parameters: Those that a request needs.
        model: What answers for a Markdown agent.
        kind: The format of the report.
        output: Its file.
        strict: A SHOULD that fails is an error.
        as_json: The same as `kind="json"`.
        yes: Hostile requests need no further word.
        fields: What else was said, as the fields of `CheckRequest`.
    """
    report_kind = cast("_Kind", choose_format(kind, output, _ENDINGS, as_json=as_json, default="text"))
    if fields["is_hostile"] and not yes:
        _confirm_hostile(subjects)
    reports: list[CheckReport] = []
    try:
        for subject in subjects:
            is_text = subject.lower().endswith(".md") and not is_command
            budgeted: dict[str, Any] = {}
            if is_text:  # it gets models, and may spend as much as the settings allow a run
                project = open_project(None, model=model)
                budget = budget_of(project.settings, Bounds())
                tracker = BudgetTracker(tokens=budget.tokens, usd=budget.cost_usd)
                budgeted = {"models": project.configured_models, "budget_tracker": tracker}
            request = CheckRequest(
                words=subject,
                is_command=is_command,
                parameters={**parameters[0], **parameters[1]},
                **{name: value for name, value in fields.items() if value is not None},
                **budgeted,
            )
            reports += watchdog.run(_run_check(request))
    finally:  # the reports on those before one that cannot be judged are not lost
        if reports:
            text = _report_text(reports, report_kind)
            if output is None:
                click.echo(text, nl=False, color=colour())
            else:
                deliver(click.unstyle(text), output)
    failures = [
        not report.passed or (strict and any(each.outcome != "passed" for each in report.verdicts))
        for report in reports
    ]
    for report, has_failed in zip(reports, failures, strict=True):
        number = counts(report)
        head = label(*(("failed", "red") if has_failed else ("conforms", "green")))
        text = f"{number['passed']} passed, {number['failed']} failed, {number['warned']} warned"
        if mistakes := sum(bool(each.mistake) for each in report.verdicts):
            text += f"; {mistakes} could not be checked because of a bug in Retinue: please report it"
        head = f"{safe(report.subject)} {head}" if len(reports) > 1 else head
        echo_err(f"{head}: {text}{f'; written to {output}' if output else ''}")
    failed = any(failures)
    if failed and not (fields["agent"] and fields["operation"]) and fields["definition"] is None:
        is_url = not is_command and any(subject.startswith(("http://", "https://")) for subject in subjects)
        echo_err(f"{label(' next')}: {_URL_HINT if is_url else _REQUEST_HINT}")
    return Exit.NONCONFORMING if failed else Exit.OK


def _confirm_hostile(subjects: Sequence[str]) -> None:
    """Ask whether these servers may be sent hostile requests.

    Raises:
        InvalidInput: There is nobody to ask.
        click.Abort: They may not.
    """
    if not sys.stdin.isatty():
        raise InvalidInput("Cannot ask for confirmation without a terminal.", hint="Say --yes if you may do this.")
    echo_err(f"{', '.join(map(safe, subjects))}: endless bodies, 64 connections at once, malformed requests.")
    click.confirm("Is this server yours, or may you test it?", abort=True, err=True)


# The judgement.


async def _run_check(request: CheckRequest) -> tuple[CheckReport, ...]:
    progress = CheckProgress()
    with status_line(progress.text):
        if request.is_url:
            return await judge_url(request, on_exchange=progress.on_exchange)
        check = await prepare(request)
        try:
            return (await check.judge(on_exchange=progress.on_exchange),)
        finally:
            check.close()


class CheckProgress:
    """Counts the requests that have come back, so that one that hangs shows."""

    def __init__(self) -> None:
        self._began_ns = time.monotonic_ns()
        self._count = 0
        self._latest = ""

    def on_exchange(self, probe: Probe, exchange: ProbeExchange) -> None:
        """Another request has come back."""
        self._count += 1
        self._latest = f", the latest `{probe.name}` after {format_duration(exchange.duration_ns)}"

    def text(self) -> str:
        """How far the check is."""
        duration = format_duration(time.monotonic_ns() - self._began_ns)
        answers = "1 request has" if self._count == 1 else f"{self._count} requests have"
        return f"{duration}: {answers} come back{self._latest}"


# The report.


def _report_text(reports: Sequence[CheckReport], kind: _Kind) -> str:
    match kind:
        case "text":
            return "\n\n".join("\n".join(_report_lines(report)) for report in reports) + "\n"
        case "json":
            documents = [as_json(report) for report in reports]
            whole = {"passed": all(report.passed for report in reports), "reports": documents}
            return json_text(documents[0] if len(documents) == 1 else whole) + "\n"
        case "junit":
            return as_junit(*reports)
        case "html":
            return as_html(*reports, created=minute_text(time.time_ns()))


def _report_lines(report: CheckReport) -> Iterator[str]:
    """The report as a person reads it on a terminal."""
    yield f"{label(safe(report.subject))} by {report.dialect}, requirements {report.version}"
    yield from (click.style(f"{name}: {safe(value)}", dim=True) for name, value in report.facts.items())
    violations = violations_in(report)
    repeated = repeated_ids(violations)
    shown_probes: set[str] = set()
    for each in violations:
        if _id(each.verdict) in repeated:
            continue
        yield ""
        outcome = each.verdict.outcome
        yield f"{label(outcome, _LOOKS[outcome])} {label(_id(each.verdict))}"
        # A request that was shown above is not shown again.
        yield from (f"  {line}" for line in each.lines(shown_probes=shown_probes))
        shown_probes.update(exchange.probe.name for exchange in each.exchanges)
    yield from _name_lines(
        "for the same reasons", [each.verdict for each in violations if _id(each.verdict) in repeated]
    )
    yield from _name_lines("", [each for each in report.verdicts if each.outcome == "passed"])


def _id(verdict: RequirementVerdict) -> str:
    return verdict.requirement.id


def _name_lines(why: str, verdicts: Sequence[RequirementVerdict]) -> Iterator[str]:
    """The names of requirements that there is nothing more to say of, one line for each outcome."""
    for outcome, look in _LOOKS.items():
        names = [_id(each).partition("/")[2] for each in verdicts if each.outcome == outcome]
        if names:
            yield ""
            yield f"{label(outcome, look)} {f'{why}: ' if why else ''}{', '.join(names)}"
