"""`retinue check`: an agent, judged by what its dialect asks of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

import click

from retinue.cli.colour import colour
from retinue.cli.exits import Exit
from retinue.cli.options import Duration, json_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from retinue.conformance.check_request import CheckRequest
    from retinue.conformance.port import CheckReport, RequirementVerdict
    from retinue.conformance.report import RequirementViolation

_Kind: TypeAlias = Literal["text", "json", "junit", "html"]

_DIALECTS: Final = ("tool_use", "run_agent", "task_signal", "markdown_json", "agent_http")
_ENDINGS: Final[dict[str, _Kind]] = {
    ".txt": "text", ".json": "json", ".xml": "junit", ".html": "html", ".htm": "html",
}  # fmt: skip
_REQUEST_FIELDS: Final = (
    "agent", "definition", "dialect", "environment", "instruction", "operation", "partial_target", "target",
    "timeout_s",
)  # fmt: skip
"""Options that go into the order as they are."""
_REQUEST_HINT: Final = (
    "If these requests were not valid for it, say how to ask: --agent, --operation, --target, --definition."
)
_LOOKS: Final = {"passed": "green", "failed": "red", "warned": "yellow"}


@click.command("check")
@click.argument("subjects", metavar="SUBJECT...", nargs=-1, required=True)
@click.option(
    "--command",
    "is_command",
    is_flag=True,
    help="Each SUBJECT is a command line that reads the request on stdin and writes the answer to stdout.",
)
@click.option("--dialect", type=click.Choice(_DIALECTS), help="Dialect to test. [default: detected]")
@click.option(
    "--definition",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Its definition, JSON or Markdown, from which valid requests are made.",
)
@click.option("--agent", metavar="NAME", help="The agent's name in its own answers.")
@click.option("--operation", metavar="NAME", help="An operation it supports.")
@click.option("--target", metavar="TEXT", help="A valid target.")
@click.option("--partial-target", metavar="TEXT", help="A target that it can handle only in part.")
@click.option("--instruction", metavar="TEXT", help="The instruction, for dialects that ask in plain text.")
@click.option("--param", "-p", "pairs", multiple=True, metavar="NAME=VALUE", help="A required parameter; repeatable.")
@click.option("--params", "document", metavar="JSON", help="Required parameters, as a JSON object.")
@click.option("--model", metavar="NAME", help="Model to run a Markdown agent with: a tier, or provider:model.")
@click.option(
    "--env",
    "environment",
    multiple=True,
    metavar="NAME",
    help="Environment variable to pass to the command; repeatable.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=Duration(),
    help="Time limit of one request: seconds, or 90s, 5m. [default: 30]",
)
@click.option("--format", "kind", type=click.Choice(["text", "json", "junit", "html"]), help="Report format.")
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write the report to this file.")
@click.option("--strict", is_flag=True, help="Treat a failed SHOULD as an error.")
@json_option
def command(**options: Any) -> int:
    """Test each SUBJECT against the requirements of its dialect.

    SUBJECT is `agent.py` or `package.module` with a `run_agent`, `agent.py:answer` for a function from text to text (or
    an agent of Retinue), a Markdown agent such as `.claude/agents/reviewer.md`, run by a model, or, with --command, a
    command line, run without a shell. It gets valid, unusual and hostile requests. Its code is imported or run, so name
    only code that you trust.

    \b
      retinue check agents/hierarchical.py
      retinue check --command "./review --json" --dialect markdown_json --agent reviewer --operation full-review

    Exits 8 when a MUST requirement fails.
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue.cli.delivery import check_output, deliver
    from retinue.cli.output import echo_err

    output: Path | None = options["output"]
    kind = _kind(options["kind"], output, as_json=options["as_json"])
    if output is not None:
        check_output(output)
    if kind == "html" and len(options["subjects"]) > 1:
        raise click.UsageError("An HTML report shows one SUBJECT. Name only one, or use another --format.")
    reports: list[CheckReport] = []
    try:
        reports.extend(_judge(subject, options) for subject in options["subjects"])
    finally:  # the reports on those before one that cannot be judged are not lost
        if reports:
            text = _report_text(reports, kind)
            if output is None:
                click.echo(text, nl=False, color=colour())
            else:
                deliver(click.unstyle(text), output)
    failures = [_has_failed(report, strict=options["strict"]) for report in reports]
    for report, has_failed in zip(reports, failures, strict=True):
        _report_ending(report, output, failed=has_failed, with_subject=len(reports) > 1)
    failed = any(failures)
    if failed and not (options["agent"] and options["operation"]) and options["definition"] is None:
        echo_err(f"{click.style(' next', bold=True)}: {_REQUEST_HINT}")
    return Exit.NONCONFORMING if failed else Exit.OK


def _kind(format_name: str | None, output: Path | None, *, as_json: bool) -> _Kind:
    """In which format the report is written.

    Raises:
        UsageError: Two are asked for, or nothing says which.
    """
    if as_json and format_name not in {None, "json"}:
        raise click.UsageError(f"--json and --format {format_name} are two formats. Use only one.")
    if format_name is not None or as_json:
        return cast("_Kind", format_name or "json")
    if output is None:
        return "text"
    kind = _ENDINGS.get(output.suffix.lower())
    if kind is None:
        raise click.UsageError(
            f"Cannot tell the format of {output.name[:80]!r}. Add --format text, json, junit or html."
        )
    return kind


# The judgement.


def _has_failed(report: "CheckReport", *, strict: bool) -> bool:
    return not report.passed or (strict and any(each.outcome != "passed" for each in report.verdicts))


def _judge(subject: str, options: dict[str, Any]) -> "CheckReport":
    """The report on `subject`, asked as the options say.

    Raises:
        RetinueError: There is no such subject, or nothing says how it is to be judged.
    """
    from retinue.cli import watchdog
    from retinue.cli.check_progress import CheckProgress
    from retinue.conformance.check_request import prepare

    async def run_check(request: "CheckRequest") -> "CheckReport":
        with CheckProgress() as progress:
            check = await prepare(request)
            try:
                return await check.judge(on_exchange=progress.on_exchange)
            finally:
                check.close()

    return watchdog.run(run_check(_check_request(subject, options)))


def _check_request(subject: str, options: dict[str, Any]) -> "CheckRequest":
    from retinue.cli.arguments import parameters_of
    from retinue.conformance.check_request import CheckRequest

    untyped, typed = parameters_of(options["pairs"], options["document"])
    fields = {name: options[name] for name in _REQUEST_FIELDS if options[name] is not None}
    if subject.lower().endswith(".md") and not options["is_command"]:
        fields |= _model_fields(options["model"])
    return CheckRequest(words=subject, is_command=options["is_command"], parameters={**untyped, **typed}, **fields)


def _model_fields(model: str | None) -> dict[str, Any]:
    """The models of a Markdown agent, and what they may spend: as the settings bound a run."""
    from retinue.cli.options import Bounds
    from retinue.cli.project import budget_of, open_project
    from retinue.llm.budget_tracker import BudgetTracker

    project = open_project(None, model=model)
    budget = budget_of(project.settings, Bounds())
    budget_tracker = BudgetTracker(tokens=budget.tokens, usd=budget.cost_usd)
    return {"models": project.models if project.models.configured else None, "budget_tracker": budget_tracker}


# The report.


def _report_text(reports: "Sequence[CheckReport]", kind: _Kind) -> str:
    from retinue.cli.output import json_text
    from retinue.conformance.report import as_html, as_junit

    writers: dict[_Kind, Callable[[], str]] = {
        "text": lambda: "\n\n".join("\n".join(_report_lines(report)) for report in reports) + "\n",
        "json": lambda: json_text(_document(reports)) + "\n",
        "junit": lambda: as_junit(*reports),
        "html": lambda: as_html(reports[0], created=_today()),
    }
    return writers[kind]()


def _document(reports: "Sequence[CheckReport]") -> dict[str, Any]:
    """The report, or all of them in one document."""
    from retinue.conformance.report import as_json

    documents = [as_json(report) for report in reports]
    return documents[0] if len(documents) == 1 else {"passed": all(r.passed for r in reports), "reports": documents}


def _today() -> str:
    from datetime import datetime

    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")


def _report_lines(report: "CheckReport") -> "Iterator[str]":
    """The report as a person reads it on a terminal."""
    from retinue.cli.output import safe
    from retinue.conformance.report import repeated_ids, violations_in

    yield f"{click.style(safe(report.subject), bold=True)} by {report.dialect}, requirements {report.version}"
    yield from (click.style(f"{name}: {safe(value)}", dim=True) for name, value in report.facts.items())
    violations = violations_in(report)
    repeated = repeated_ids(violations)
    shown_probes: set[str] = set()
    for each in violations:
        if _id(each.verdict) in repeated:
            continue
        yield ""
        yield from _violation_lines(each, shown_probes)
        shown_probes.update(exchange.probe.name for exchange in each.exchanges)
    yield from _name_lines(
        "for the same reasons", [each.verdict for each in violations if _id(each.verdict) in repeated]
    )
    yield from _name_lines("", [each for each in report.verdicts if each.outcome == "passed"])


def _id(verdict: "RequirementVerdict") -> str:
    return verdict.requirement.id


def _name_lines(why: str, verdicts: "Sequence[RequirementVerdict]") -> "Iterator[str]":
    """The names of requirements that there is nothing more to say of, one line for each outcome."""
    for outcome, look in _LOOKS.items():
        names = [_id(each).partition("/")[2] for each in verdicts if each.outcome == outcome]
        if names:
            yield ""
            yield f"{click.style(outcome, fg=look, bold=True)} {f'{why}: ' if why else ''}{', '.join(names)}"


def _violation_lines(violation: "RequirementViolation", shown_probes: set[str]) -> "Iterator[str]":
    outcome, requirement = violation.verdict.outcome, violation.verdict.requirement
    yield f"{click.style(outcome, fg=_LOOKS[outcome], bold=True)} {click.style(requirement.id, bold=True)}"
    yield from (f"  {line}" for line in violation.lines(shown_probes=shown_probes))


def _report_ending(report: "CheckReport", output: Path | None, *, failed: bool, with_subject: bool) -> None:
    from retinue.cli.output import echo_err, safe
    from retinue.conformance.report import counts

    number = counts(report)
    head = click.style("failed" if failed else "conforms", fg="red" if failed else "green", bold=True)
    text = f"{number['passed']} passed, {number['failed']} failed, {number['warned']} warned"
    mistakes = sum(bool(each.mistake) for each in report.verdicts)
    if mistakes:
        text += f"; {mistakes} could not be checked because of a bug in Retinue: please report it"
    head = f"{safe(report.subject)} {head}" if with_subject else head
    echo_err(f"{head}: {text}{f'; written to {output}' if output else ''}")
