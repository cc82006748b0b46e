"""`retinue runs`: the history of what was asked, what people thought of it, and going on with what ended badly."""

import asyncio
import time
from pathlib import Path
from typing import Any

import click

from retinue.cli.app import Exit
from retinue.cli.ask import with_command
from retinue.cli.delivery import Form
from retinue.cli.output import (
    cut_to_screen,
    echo,
    echo_err,
    echo_json,
    json_text,
    label,
    minute_text,
    plural,
    present,
    safe,
    safe_lines,
)
from retinue.cli.project import Project, open_project, report_notes
from retinue.cli.questions import answer_in, ask_person
from retinue.cli.remote import with_remote
from retinue.cli.result_output import (
    as_document,
    decisions_in,
    draw,
    ending_text,
    report_failure,
    report_warnings,
    show_agent_result,
    show_goal_result,
    summary_line,
    with_explanation,
    write_document,
)
from retinue.cli.screen import is_interactive
from retinue.cli.session import (
    Invocation,
    StartRun,
    fork,
    invocation_in,
    resume,
    run_session,
    with_module,
    workspace_of,
)
from retinue.cli.settings import journal_of, settings_of
from retinue.contract.event import UsageReported
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Usage
from retinue.engine.base import RunRecord
from retinue.engine.ids import CHILD
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.statistics import Rating, Verdict
from retinue.errors import InvalidInput, ParseError, UnknownName
from retinue.orchestration.present.numbers import format_duration, usage_parts
from retinue.orchestration.run_nodes import event_text

_DAY_NS = 86_400 * 10**9
_MOST_DAYS = 100_000
_LONGEST_COMMENT = 2_000


def list_runs(*, limit: int, as_json: bool) -> None:
    """List runs, the newest first."""
    with _journal() as journal:
        records = journal.list(limit)
    if as_json:
        echo_json([_facts(record) for record in records])
    elif records:
        for record in records:
            word, style = _state(record)
            duration = "" if record.ended_ns is None else format_duration(max(0, record.ended_ns - record.started_ns))
            head = f"{safe(record.run)}  {minute_text(record.started_ns)}  "
            line = cut_to_screen(f"{head}{word:<19}  {duration:>8}  {safe(record.damage or record.label)}")
            echo(line.replace(word, click.style(word, fg=style), 1) if line.startswith(head + word) else line)
    else:
        echo_err('No runs yet. Start one with: retinue run "…"')


def show_run(*, run: str | None, with_events: bool, explain: bool, form: Form) -> None:
    """Show RUN and its result; the newest by default."""
    with _journal() as journal:
        record = journal.get(find_run(journal, run))
        result, rating = journal.result(record.run), journal.rating(record.run)
        events = journal.events(record.run, limit=-1) if with_events else ()
        plan = _plan(journal, record.run) if result else None
        questions = journal.questions(record.run) if record.lifecycle == "input_required" else ()
        spent: Usage | None = None
        if result is None:  # what a result would say: each model call is told when it is settled
            runs = (record.run, *journal.find(f"{record.run}{CHILD}"))
            bodies = [event.body for each in runs for event in journal.events(each, limit=-1)]
            spent = Usage.total(body.usage for body in bodies if isinstance(body, UsageReported))
        if explain and result and plan:
            result = with_explanation(result, plan, decisions_in(journal.events(record.run, limit=-1)))
    if form.as_json:
        facts = _facts(record) | ({"result": result.to_json()} if result else {})
        facts |= {"usage": spent.to_json()} if spent else {}
        facts |= {"events": [event.to_json() for event in events]} if with_events else {}
        if rating is not None:
            comment = {"comment": rating.comment} if rating.comment else {}
            facts["rating"] = {"verdict": rating.verdict, **comment, "at_ns": rating.at_ns}
        write_document(json_text(facts), form)
        return
    if form.document is not None and result is not None:
        write_document(as_document(result, form, run=record.run), form)
        return
    word, style = _state(record)
    echo_err(click.style(safe(record.label), bold=True))
    head = click.style(f"{minute_text(record.started_ns)}, run {safe(record.run)}: ", dim=True)
    echo_err(f"{head}{click.style(word, fg=style)}")
    for event in events:
        offset = f"{(event.at_ns - record.started_ns) / 1e9:8.3f} s"
        echo(cut_to_screen(f"{offset}  {safe(event.node):<6}  {event.kind:<10}  {safe(event_text(event.body))}"))
    if result is None:
        steps = f"{plural(len(record.finished_steps), 'result')} kept"
        steps += "".join(f", {part}" for part in usage_parts(spent)) if spent else ""
        if record.stalled:
            echo_err(f"Its process has ended; {steps}. Continue with: retinue runs resume {record.run}")
        elif record.lifecycle == "submitted":
            echo_err(f"It is in the queue; {steps}. `retinue worker` in its folder runs it.")
        elif record.lifecycle == "input_required":
            for each in questions:
                echo_err(f"{label('question', 'yellow')} {safe(each.question.id)}: {safe_lines(each.question.text)}")
            echo_err(f"It waits for an answer; {steps}. Answer with: retinue runs answer {record.run}")
        else:
            echo_err(f"It is still running; {steps}.")
        return
    if result.content.strip():
        draw(result, root=workspace_of(plan))
    echo_err(summary_line(result))
    if rating is not None:
        comment = f": {safe(rating.comment)}" if rating.comment else ""
        echo_err(f"rated {rating.verdict} on {minute_text(rating.at_ns)}{comment}")
    report_warnings(result)


def resume_run(*, run: str | None, accept_changes: bool, form: Form, workspace: Path | None) -> int:
    """Continue RUN (the newest by default) without repeating finished steps."""
    with _journal() as journal:
        name = find_run(journal, run)
        plan = _plan(journal, name)
    return _go_on(plan, resume(name, accept_changes=accept_changes), form, workspace)


def fork_run(
    *, run: str, without: tuple[str, ...], changes: tuple[str, ...], form: Form, workspace: Path | None
) -> int:
    """Start a copy of RUN that keeps what has finished."""
    by_step: dict[str, JsonMapping] = {}
    for change in changes:
        place, equals, value = change.partition("=")
        step, _, parameter = place.strip().partition(".")
        if not (equals and step and parameter):
            raise click.UsageError(f"{change[:80]!r} is no change. Use --set STEP.PARAMETER=VALUE.")
        by_step.setdefault(step, {})[parameter] = value
    with _journal() as journal:
        name = find_run(journal, run)
        plan = _plan(journal, name)
    return _go_on(plan, fork(name, plan, without=without, changes=by_step), form, workspace)


def _go_on(plan: Plan, start: StartRun, form: Form, workspace: Path | None) -> int:
    """Open what `plan` was run with, and start there."""
    options = invocation_in(plan) or Invocation()
    project = open_again(options, workspace or workspace_of(plan), quiet=form.quiet, as_json=form.machine)
    session = run_session(project, form, start, recorded=True)
    if options.verb != "ask":
        return show_goal_result(session, form, fail_on=project.settings.get("run.fail_on"))
    code = show_agent_result(session, form)
    if not (form.quiet or form.machine):
        report_failure(session, code)
    return code


def open_again(options: Invocation, folder: Path | None, *, quiet: bool, as_json: bool) -> Project:
    """The folder as the command saw it that settled `options`."""
    project = open_project(folder, model=options.model or None, runner=options.runner or None, level=options.level)
    report_notes(project, quiet=quiet, as_json=as_json)
    project = with_remote(project, options.remote, quiet=quiet or as_json)
    if options.module:
        project, _ = with_module(project, options.module)
    if options.agents:
        project = project.with_only(options.agents)
    if options.command:
        project, _ = with_command(project, options.command)
    return project


def answer_run(*, run: str, words: tuple[str, ...], question: str | None) -> int:
    """Answer a question of RUN."""
    with _journal() as journal:
        name = find_run(journal, run)
        pending = [each for each in journal.questions(name) if question in (None, each.question.id)]
        if not pending:
            asked = f"called {question[:80]!r} " if question else ""
            raise UnknownName(
                f"Run `{name}` has no question {asked}that waits for an answer.",
                hint=f"See what it waits for: retinue runs show {name}",
                suggestions=tuple(each.question.id for each in journal.questions(name)),
            )
        if not words and not is_interactive():
            for each in pending:
                echo_err(f"{safe(each.question.id)}: {safe(each.question.text)}")
            raise InvalidInput(
                "No answer was given.", hint=f"Give it behind the run: retinue runs answer {name} ANSWER"
            )
        if words and len(pending) > 1:
            ids = ", ".join(f"`{safe(each.question.id)}`" for each in pending)
            raise InvalidInput(f"{len(pending)} questions wait.", hint=f"Say which, with --question: {ids}.")
        for each in pending:
            answer = answer_in(each.question, " ".join(words)) if words else ask_person(each.question)
            if answer is not None:
                journal.answer(each.run, answer)
                echo_err(f"Answered `{safe(each.question.id)}` of run {name}.")
        stalled = journal.get(name).stalled
    if stalled:
        echo_err(f"Its process has ended. Continue with: retinue runs resume {name}")
    return Exit.OK


def cancel_run(*, run: str, reason: str) -> None:
    """Stop RUN, whatever process works on it."""

    async def cancel(journal: Journal, name: str) -> None:
        async with InProcessEngine({}, journal=journal) as engine:
            await engine.cancel(name, reason=reason or "Stopped with `retinue runs cancel`.")

    with _journal() as journal:
        name = find_run(journal, run)
        if journal.get(name).ended_ns is not None:
            raise InvalidInput(f"Run `{name}` has ended already.", hint=f"See it with: retinue runs show {name}")
        asyncio.run(cancel(journal, name))
        journal.flush()
        ended = journal.get(name).ended_ns is not None
    echo_err(f"Run {name} is stopped." if ended else f"Run {name} was told to stop.")


def rate_run(*, run: str, verdict: Verdict, comment: str) -> None:
    """Rate the answer of RUN as good or bad; a new rating replaces the old one."""
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


def prune_runs(*, keep: int | None, days: float | None) -> None:
    """Delete runs from the history, except those still running."""
    if keep is None and days is None:
        raise click.UsageError("Give --keep N, --older-than DAYS, or both.")
    if days is not None and not days <= _MOST_DAYS:  # so that it refuses `nan` too
        raise click.UsageError(f"{days:g} is not a number of days. The maximum is {_MOST_DAYS:,}.")
    limit_ns = None if days is None else time.time_ns() - int(days * _DAY_NS)
    with _journal() as journal:
        deleted_count = journal.prune(older_than_ns=limit_ns, keep=keep)
    echo_err(f"{plural(deleted_count, 'run')} deleted.")


def _journal() -> Journal:
    return journal_of(settings_of(None))


def find_run(journal: Journal, run: str | None) -> str:
    """The id of the run that is meant."""
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


def _plan(journal: Journal, run: str) -> Plan:
    """The plan of a run."""
    try:
        return Plan.model_validate_json(dumps(journal.history(run).payload.get("plan")))
    except ValueError as error:
        message = f"Cannot read the plan of run `{run}`."
        raise ParseError(message, hint="Start it again.", detail={"reason": str(error)[:500]}) from None


def _facts(record: RunRecord) -> dict[str, Any]:
    """A record as JSON data; what is not there is left out."""
    facts = {
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
    return present(facts)


# For people.


def _state(record: RunRecord) -> tuple[str, str]:
    """How far a run is, in words, and the colour of it."""
    if record.damage:
        return "damaged", "red"
    if record.stalled:
        return "stalled", "yellow"
    if record.lifecycle == "submitted":
        return "queued", "cyan"
    if record.lifecycle == "input_required" and record.outcome is None:
        return "waits for an answer", "yellow"
    return ("working", "cyan") if record.lifecycle == "working" else ending_text(record.outcome)
