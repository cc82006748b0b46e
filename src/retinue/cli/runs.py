"""`retinue runs`: the history of what was asked, what people thought of it, and going on with what ended badly."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retinue.cli.options import document_options, form_of, form_options, json_option, run_ids, workspace_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retinue.cli.session import Invocation
    from retinue.contract.event import Event
    from retinue.contract.plan import Plan
    from retinue.contract.result import Result
    from retinue.engine.base import RunRecord
    from retinue.engine.journal import Journal
    from retinue.engine.statistics import Rating, Verdict

_DAY_NS = 86_400 * 10**9
_MOST_DAYS = 100_000
_DEFAULT_LIMIT = 20
_LONGEST_COMMENT = 2_000


@click.group("runs", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List, show, rate and resume past runs. Lists them by default.

    RUN is an id, or the start or end of one.
    """
    if context.invoked_subcommand is None:
        context.invoke(_list, limit=_DEFAULT_LIMIT, as_json=False)


@command.command("list")
@click.option(
    "--limit", "-n", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="Maximum number to show."
)
@json_option
def _list(*, limit: int, as_json: bool) -> None:
    """List runs, the newest first."""
    from retinue.cli.output import echo_err, echo_json

    with _journal() as journal:
        records = journal.list(limit)
    if as_json:
        echo_json([_facts(record) for record in records])
    elif records:
        _print_table(records)
    else:
        echo_err('No runs yet. Start one with: retinue run "…"')


@command.command("show")
@click.argument("run", required=False, shell_complete=run_ids)
@click.option("--events", "with_events", is_flag=True, help="Also show each step.")
@click.option("--explain", is_flag=True, help="Also show why each agent was chosen, and other decisions.")
@document_options
@json_option
def _show(
    *, run: str | None, with_events: bool, explain: bool, as_json: bool, kind: str | None, output: Path | None
) -> None:
    """Show RUN and its result; the newest by default."""
    from retinue.cli.output import echo_err, json_text, safe
    from retinue.cli.result_output import as_document, draw, report_warnings, summary_line, write_document

    form = form_of(as_json=as_json, kind=kind, output=output)
    with _journal() as journal:
        record = journal.get(find_run(journal, run))
        result = journal.result(record.run)
        events = journal.events(record.run, limit=-1) if with_events else ()
        rating = journal.rating(record.run)
        invocation = _invocation(journal, record.run) if result else None
        result = _with_explanation(journal, record.run, result) if result and explain else result
    if form.as_json:
        facts = _facts(record) | ({"result": result.to_json()} if result else {})
        facts |= {"events": [event.to_json() for event in events]} if with_events else {}
        facts |= {"rating": _rating_facts(rating)} if rating else {}
        write_document(json_text(facts), form)
        return
    if form.document is not None and result is not None:
        write_document(as_document(result, form, run=record.run), form)
        return
    _report_head(record)
    for event in events:
        _print_event(event, record.started_ns)
    if result is None:
        _report_unfinished(record)
        return
    if result.content.strip():
        draw(result, root=Path(invocation.workspace) if invocation and invocation.workspace else None)
    echo_err(summary_line(result))
    if rating is not None:
        comment = f": {safe(rating.comment)}" if rating.comment else ""
        echo_err(f"rated {rating.verdict} on {_when(rating.at_ns)}{comment}")
    report_warnings(result)


def _rating_facts(rating: "Rating") -> dict[str, Any]:
    facts = {"verdict": rating.verdict, "comment": rating.comment, "at_ns": rating.at_ns}
    return {name: value for name, value in facts.items() if value}


def _with_explanation(journal: "Journal", run: str, result: "Result") -> "Result":
    from retinue.cli.explanation import decisions_in, with_explanation

    return with_explanation(result, _plan(journal, run), decisions_in(journal.events(run, limit=-1)))


@command.command("resume")
@click.argument("run", required=False, shell_complete=run_ids)
@click.option("--accept-changes", is_flag=True, help="Continue even if agents have changed since the run began.")
@form_options
@workspace_option
def _resume(
    *,
    run: str | None,
    accept_changes: bool,
    as_json: bool,
    as_jsonl: bool,
    quiet: bool,
    kind: str | None,
    output: Path | None,
    workspace: Path | None,
) -> int:
    """Continue RUN (the newest by default) without repeating finished steps.

    It runs in the folder it was started in, unless --workspace is given. If an agent has changed since, you are asked
    first.
    """
    from retinue.cli.active import with_module
    from retinue.cli.failure import report_failure
    from retinue.cli.project import open_project, report_notes
    from retinue.cli.result_output import show_agent_result, show_goal_result
    from retinue.cli.session import Invocation, resume, run_session

    form = form_of(as_json=as_json, as_jsonl=as_jsonl, quiet=quiet, kind=kind, output=output)
    with _journal() as journal:
        name = find_run(journal, run)
        invocation = _invocation(journal, name)
    folder = Path(invocation.workspace) if invocation and invocation.workspace else None
    options = invocation or Invocation("run", "")
    level = options.level if options.level in ("strict", "standard", "lenient") else None
    project = open_project(workspace or folder, model=options.model or None, runner=options.runner or None, level=level)
    report_notes(project, quiet=form.quiet, as_json=form.machine)
    if invocation and invocation.module:
        project, _ = with_module(project, invocation.module)
    if invocation and invocation.agents:
        project = project.with_only(invocation.agents)
    if invocation and invocation.command:
        from retinue.cli.command_agent import with_command

        project, _ = with_command(project, invocation.command)
    session = run_session(project, form, resume(name, accept_changes=accept_changes), recorded=True)
    is_ask = invocation is not None and invocation.verb == "ask"
    if is_ask:
        code = show_agent_result(session, form)
        if not (form.quiet or form.machine):
            report_failure(session, code)
        return code
    return show_goal_result(session, form, fail_on=project.settings.get("run.fail_on"))


@command.command("rate")
@click.argument("run", shell_complete=run_ids)
@click.argument("verdict", type=click.Choice(["good", "bad"]))
@click.option("--comment", default="", metavar="TEXT", help="Reason for the rating.")
def _rate(*, run: str, verdict: "Verdict", comment: str) -> None:
    """Rate the answer of RUN as good or bad; a new rating replaces the old one.

    `retinue stats` counts ratings for every agent that took part.
    """
    from retinue.cli.output import echo_err
    from retinue.engine.statistics import Rating
    from retinue.errors import InvalidInput

    if len(comment) > _LONGEST_COMMENT:
        message = f"The comment has {len(comment):,} characters; the limit is {_LONGEST_COMMENT:,}."
        raise InvalidInput(message, hint="Make it shorter.", path="/comment")
    with _journal() as journal:
        name = find_run(journal, run)
        if journal.get(name).ended_ns is None:
            raise InvalidInput(f"Run `{name}` has no answer yet.", hint="Rate it when it has finished.")
        # `comment` without halves of surrogate pairs, which arguments of a command may bring along.
        journal.rate(name, Rating(verdict, comment.encode(errors="replace").decode(), time.time_ns()))
    echo_err(f"Rated run {name} as {verdict}.")


@command.command("prune")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Keep the newest N runs.")
@click.option(
    "--older-than", "days", type=click.FloatRange(min=0), metavar="DAYS", help="Delete only runs older than this."
)
def _prune(*, keep: int | None, days: float | None) -> None:
    """Delete runs from the history, except those still running."""
    from retinue.cli.output import echo_err, plural

    if keep is None and days is None:
        raise click.UsageError("Give --keep N, --older-than DAYS, or both.")
    if days is not None and not days <= _MOST_DAYS:  # so that it refuses `nan` too
        raise click.UsageError(f"{days:g} is not a number of days. The maximum is {_MOST_DAYS:,}.")
    limit_ns = None if days is None else time.time_ns() - int(days * _DAY_NS)
    with _journal() as journal:
        deleted_count = journal.prune(older_than_ns=limit_ns, keep=keep)
    echo_err(f"{plural(deleted_count, 'run')} deleted.")


def _journal() -> "Journal":
    from retinue.cli import user_paths
    from retinue.engine.journal import Journal

    return Journal(user_paths.journal_file())


def find_run(journal: "Journal", run: str | None) -> str:
    """The id of the run that is meant.

    Raises:
        UnknownName: There is none.
        InvalidInput: Several ids begin or end like that.
    """
    from retinue.cli.output import safe
    from retinue.errors import InvalidInput, UnknownName

    if run is None:
        newest = journal.list(1)
        if not newest:
            raise UnknownName("No runs yet.", hint='Start one with: retinue run "…"')
        return newest[0].run
    matches = journal.find(run) if run else ()
    if run in matches:
        return run
    if len(matches) > 1:
        ids = ", ".join(map(safe, matches[:5])) + (" …" if len(matches) > 5 else "")
        hint = f"Give more of the id: {ids}."
        raise InvalidInput(f"{len(matches)} runs match {run[:80]!r}.", hint=hint, suggestions=matches[:5])
    return matches[0] if matches else journal.get(run).run


def _invocation(journal: "Journal", run: str) -> "Invocation | None":
    from retinue.cli.session import invocation_in

    plan = _plan(journal, run)
    return invocation_in(plan) if plan else None


def _plan(journal: "Journal", run: str) -> "Plan":
    """The plan that a run walks.

    Raises:
        ParseError: It cannot be read.
    """
    from retinue.contract.json import dumps
    from retinue.contract.plan import Plan
    from retinue.errors import ParseError

    try:
        return Plan.model_validate_json(dumps(journal.history(run).payload.get("plan")))
    except ValueError as error:
        message = f"Cannot read the plan of run `{run}`."
        raise ParseError(message, hint="Start it again.", detail={"reason": str(error)[:500]}) from None


def _facts(record: "RunRecord") -> dict[str, Any]:
    """A record as JSON data; what is not there is left out."""
    facts: dict[str, Any] = {
        "run": record.run,
        "workflow": record.workflow,
        "lifecycle": record.lifecycle,
        "outcome": record.outcome,
        "label": record.label,
        "started_ns": record.started_ns,
        "ended_ns": record.ended_ns,
        "stalled": record.stalled,
        "parent": record.parent,
        "finished_steps": list(record.finished_steps),
        "damage": record.damage or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


# For people.


def _state(record: "RunRecord") -> tuple[str, str]:
    """How far a run is, in words, and the colour of it."""
    from retinue.cli.result_output import ending_text

    if record.damage:
        return "damaged", "red"
    if record.stalled:
        return "stalled", "yellow"
    return ("working", "cyan") if record.lifecycle == "working" else ending_text(record.outcome)


def _when(at_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_ns / 1e9))


def _duration_text(record: "RunRecord") -> str:
    from retinue.cli.output import format_duration

    return "" if record.ended_ns is None else format_duration(max(0, record.ended_ns - record.started_ns))


def _print_table(records: "Sequence[RunRecord]") -> None:
    from retinue.cli.output import cut_to_screen, echo, safe

    for record in records:
        word, style = _state(record)
        head = f"{safe(record.run)}  {_when(record.started_ns)}  "
        about = safe(record.damage or record.label)
        tail = f"{word:<19}  {_duration_text(record):>8}  {about}"
        line = cut_to_screen(head + tail)
        echo(line.replace(word, click.style(word, fg=style), 1) if line.startswith(head + word) else line)


def _report_head(record: "RunRecord") -> None:
    from retinue.cli.output import echo_err, safe

    word, style = _state(record)
    echo_err(click.style(safe(record.label), bold=True))
    echo_err(
        click.style(f"{_when(record.started_ns)}, run {safe(record.run)}: ", dim=True) + click.style(word, fg=style)
    )


def _report_unfinished(record: "RunRecord") -> None:
    from retinue.cli.output import echo_err, plural

    saved = f"{plural(len(record.finished_steps), 'result')} kept"
    if record.stalled:
        echo_err(f"Its process has ended; {saved}. Continue with: retinue runs resume {record.run}")
    else:
        echo_err(f"It is still running; {saved}.")


def _print_event(event: "Event", started_ns: int) -> None:
    from retinue.cli.nodes import event_text
    from retinue.cli.output import cut_to_screen, echo, safe

    offset = f"{(event.at_ns - started_ns) / 1e9:8.3f} s"
    echo(cut_to_screen(f"{offset}  {safe(event.node):<6}  {event.kind:<10}  {safe(event_text(event.body))}"))
