"""`retinue runs`: the history of what was asked, what people thought of it, and going on with what ended badly."""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from retinue.cli.app import Exit
from retinue.cli.ask import with_command
from retinue.cli.delivery import Form
from retinue.cli.output import (
    cut_to_screen,
    echo,
    echo_err,
    echo_json,
    json_line,
    json_text,
    label,
    minute_text,
    plural,
    present,
    safe,
    safe_lines,
    table,
)
from retinue.cli.project import Project, open_project, report_notes
from retinue.cli.questions import answer_in, ask_person
from retinue.cli.recorded_run import RecordedRun, find_run, open_journal, plan_of
from retinue.cli.remote import with_remote
from retinue.cli.result_output import (
    FailOn,
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
    FinishedSession,
    Invocation,
    StartRun,
    follow_session,
    fork,
    idle_engine,
    invocation_in,
    resume,
    run_session,
    with_module,
    workspace_of,
)
from retinue.contract.event import Event
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Result, Usage
from retinue.engine.base import EVERY_RUN, PendingQuestion, RunRecord
from retinue.engine.ids import CHILD
from retinue.engine.journal import Journal
from retinue.engine.statistics import Rating, Verdict
from retinue.errors import InvalidInput, ParseError, UnknownName
from retinue.orchestration.fault_journal import FaultEntry
from retinue.orchestration.present.numbers import format_duration, usage_parts
from retinue.orchestration.run_nodes import event_text

_DAY_NS = 86_400 * 10**9
_MOST_DAYS = 100_000
_LONGEST_COMMENT = 2_000
_MOST_RUNS: Final = 1_000_000


def list_runs(*, limit: int, as_json: bool) -> None:
    """List runs, the newest first."""
    with open_journal() as journal:
        records = journal.list(limit)
    if as_json:
        echo_json([_facts(record) for record in records])
    elif records:
        for record in records:
            word, style = _state(record)
            duration = "" if record.ended_ns is None else format_duration(max(0, record.ended_ns - record.started_ns))
            head = f"{safe(record.run)}  {minute_text(record.started_ns)}  "
            reason = record.damage or (f"waits for {record.waits_for}: " if record.waits_for else "") + record.label
            line = cut_to_screen(f"{head}{word:<19}  {duration:>8}  {safe(reason)}")
            echo(line.replace(word, click.style(word, fg=style), 1) if line.startswith(head + word) else line)
    else:
        echo_err('No runs yet. Start one with: retinue run "…"')


def show_run(*, run: str | None, with_events: bool, with_faults: bool, explain: bool, form: Form) -> None:
    """Show RUN with its steps and its result; the newest by default."""
    with open_journal() as journal:
        name = find_run(journal, run)
        whole = RecordedRun.read(journal, name)
        record, plan = whole.record, whole.plan
        result, rating = journal.result(name), journal.rating(name)
        events = [event for event in whole.events if event.run == name]
        questions = journal.questions(name) if record.lifecycle == "input_required" else ()
    spent = whole.spent if result is None else None  # else the result says it
    if result is not None and result.usage is None:  # it was ended before it began
        result = result.model_copy(update={"usage": whole.spent})
    if explain and result:
        result = with_explanation(result, plan, decisions_in(events))
    if form.as_json:
        facts = whole_facts(whole, result, rating, events if with_events else None)
        write_document(json_text(facts | ({"usage": spent.to_json()} if spent else {})), form)
        return
    if form.document is not None and result is not None:
        write_document(as_document(result, form, run=name), form)
        return
    word, style = _state(record)
    echo_err(click.style(safe(record.label), bold=True))
    head = click.style(f"{minute_text(record.started_ns)}, run {safe(name)}: ", dim=True)
    echo_err(f"{head}{click.style(word, fg=style)}")
    for line in whole.step_lines(with_notes=True):
        echo_err(line)
    for event in events if with_events else ():
        offset = f"{(event.at_ns - record.started_ns) / 1e9:8.3f} s"
        echo(cut_to_screen(f"{offset}  {safe(event.node):<6}  {event.kind:<10}  {safe(event_text(event.body))}"))
    for line in whole.post_mortem() if with_faults else ():
        echo(line)
    if result is None:
        _report_unfinished(record, questions, spent)
        return
    if result.content.strip():
        draw(result, root=workspace_of(plan))
    echo_err(summary_line(result))
    if whole.faults and not with_faults:
        open_count = sum(entry.status != "RESOLVED" for entry in whole.faults)
        state = f"{open_count:,} not resolved" if open_count else "resolved"
        hint = f"What was tried, and what to do: retinue runs show {name} --faults"
        echo_err(f"{plural(len(whole.faults), 'fault')}, {state}. {hint}")
    if rating is not None:
        comment = f": {safe(rating.comment)}" if rating.comment else ""
        echo_err(f"rated {rating.verdict} on {minute_text(rating.at_ns)}{comment}")
    report_warnings(result)


def _report_unfinished(record: RunRecord, questions: Sequence[PendingQuestion], spent: Usage | None) -> None:
    run, steps = record.run, f"{plural(len(record.finished_steps), 'result')} kept"
    steps += "".join(f", {part}" for part in usage_parts(spent)) if spent else ""
    for each in questions:
        options = f" ({', '.join(map(safe, each.question.options))})" if each.question.options else ""
        echo_err(f"{label('question', 'yellow')} {safe(each.question.id)}: {safe_lines(each.question.text)}{options}")
    if record.stalled:
        echo_err(f"Its process has ended; {steps}. Continue with: retinue runs resume {run}")
    elif record.stopped_pid is not None:
        echo_err(f"Its process is stopped; {steps}. Let it go on: kill -CONT {record.stopped_pid}")
    elif record.lifecycle == "submitted":
        way_on = (
            f"It waits for {safe(record.waits_for)}." if record.waits_for else "`retinue worker` in its folder runs it."
        )
        echo_err(f"It is in the queue; {steps}. {way_on}")
    elif record.lifecycle == "input_required":
        echo_err(f"It waits for an answer; {steps}. Answer with: retinue runs answer {run}")
    else:
        echo_err(f"It is still running; {steps}. Follow it with: retinue runs follow {run}")


def list_steps(*, run: str | None, as_json: bool) -> None:
    """List the steps of RUN, the newest by default, and what a resumed run keeps of them."""
    with open_journal() as journal:
        whole = RecordedRun.read(journal, find_run(journal, run))
    if not as_json:
        for line in whole.step_lines():
            echo(line)
        return
    rows: list[dict[str, Any]] = []
    for path, node, is_kept in whole.steps():
        facts = {name: value for name, value in node.to_json().items() if name not in {"id", "children"}}
        rows.append({"step": path, **facts, "kept": is_kept})
    echo_json(rows)


def follow_run(*, run: str | None, form: Form) -> int:
    """Show the progress of RUN, which may run in another process, until it ends, and then its result."""
    with open_journal() as journal:
        name = find_run(journal, run)
        plan = plan_of(journal, name)
    return _show_session(follow_session(name, plan, form), form)


def list_faults(
    *,
    command: str | None,
    kind: str | None,
    since: int | None,
    workflow: str | None,
    limit: int,
    as_json: bool,
    as_jsonl: bool,
) -> None:
    """List what failed in past runs, the newest first, and whether it was mended."""
    with open_journal() as journal:
        if workflow is not None:
            names = [find_run(journal, workflow)]
        else:
            facts = journal.facts(since_ns=since)
            failing = {call.run.partition(CHILD)[0] for call in facts.calls if call.faults}
            failing |= {one.run for one in facts.runs if one.fault}
            names = [one.run for one in reversed(facts.runs) if one.run in failing]
            if facts.unfinished:
                records = [one for one in journal.list(_MOST_RUNS) if one.ended_ns is None and not one.damage]
                names += [one.run for one in records if one.started_ns >= (since or 0)]
        entries: list[FaultEntry] = []
        for name in names:
            with contextlib.suppress(ParseError):  # `runs list` says so of it
                entries += [
                    entry
                    for entry in RecordedRun.read(journal, name).faults
                    if command in {None, entry.command} and kind in {None, entry.fault.code, entry.persistence}
                ]
    entries.sort(key=lambda entry: entry.at_ns, reverse=True)
    documents = [entry.to_json() for entry in entries[:limit]]
    if as_json:
        echo_json(documents)
    elif as_jsonl:
        for document in documents:
            echo(json_line(document))
    elif not entries:
        echo_err("No faults.")
    else:
        rows = [
            (
                minute_text(entry.at_ns),
                entry.status,
                entry.fault.code,
                entry.persistence,
                safe(entry.agent),
                safe(entry.run),
                safe(entry.path),
                safe(entry.fault.message),
            )
            for entry in entries[:limit]
        ]
        for line in table(("when", "status", "type", "kind", "agent", "run", "step", "what"), rows):
            echo(line)
        if len(entries) > limit:
            echo_err(f"and {len(entries) - limit:,} more: see them with `--limit`")


def resume_run(*, run: str | None, accept_changes: bool, form: Form, workspace: Path | None) -> int:
    """Continue RUN (the newest by default) without repeating finished steps."""
    with open_journal() as journal:
        name = find_run(journal, run)
        plan = plan_of(journal, name)
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
    with open_journal() as journal:
        name = find_run(journal, run)
        plan = plan_of(journal, name)
    return _go_on(plan, fork(name, plan, without=without, changes=by_step), form, workspace)


def _go_on(plan: Plan, start: StartRun, form: Form, workspace: Path | None) -> int:
    """Open what `plan` was run with, and start there."""
    options = invocation_in(plan) or Invocation()
    project = open_again(options, workspace or workspace_of(plan), quiet=form.quiet, as_json=form.machine)
    session = run_session(project, form, start, recorded=True)
    return _show_session(session, form, fail_on=project.settings.get("run.fail_on"))


def _show_session(session: FinishedSession, form: Form, *, fail_on: FailOn = "failure") -> int:
    """Show what a run came to as the command does that started it."""
    invocation = invocation_in(session.plan)
    if invocation is None or invocation.verb != "ask":
        return show_goal_result(session, form, fail_on=fail_on)
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
    with open_journal() as journal:
        name = find_run(journal, run)
        pending = [each for each in journal.questions(name) if question in (None, each.question.id)]
        if not pending:
            phrase = f"called {question[:80]!r} " if question else ""
            raise UnknownName(
                f"Run `{name}` has no question {phrase}that waits for an answer.",
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
        is_stalled = journal.get(name).stalled
    if is_stalled:
        echo_err(f"Its process has ended. Continue with: retinue runs resume {name}")
    return Exit.OK


def cancel_run(*, run: str, reason: str) -> None:
    """Stop RUN, whatever process works on it."""

    async def cancel(journal: Journal, name: str) -> None:
        async with idle_engine(journal) as engine:
            await engine.cancel(name, reason=reason or "Stopped with `retinue runs cancel`.")

    with open_journal() as journal:
        name = find_run(journal, run)
        if journal.get(name).ended_ns is not None:
            raise InvalidInput(f"Run `{name}` has ended already.", hint=f"See it with: retinue runs show {name}")
        asyncio.run(cancel(journal, name))
        journal.flush()
        has_ended = journal.get(name).ended_ns is not None
    echo_err(f"Run {name} is stopped." if has_ended else f"Run {name} was told to stop.")


def rate_run(*, run: str, verdict: Verdict, comment: str) -> None:
    """Rate the answer of RUN as good or bad; a new rating replaces the old one."""
    if len(comment) > _LONGEST_COMMENT:
        message = f"The comment has {len(comment):,} characters; the limit is {_LONGEST_COMMENT:,}."
        raise InvalidInput(message, hint="Make it shorter.", path="/comment")
    with open_journal() as journal:
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
    with open_journal() as journal:
        deleted_count = journal.prune(older_than_ns=limit_ns, keep=keep)
    echo_err(f"{plural(deleted_count, 'run')} deleted.")


def whole_facts(
    whole: RecordedRun, result: Result | None, rating: Rating | None, events: Sequence[Event] | None
) -> JsonMapping:
    """A run with its steps and faults as JSON data."""
    facts = _facts(whole.record) | {"steps": [node.to_json() for node in whole.nodes.top]}
    facts |= {"faults": [entry.to_json() for entry in whole.faults]} if whole.faults else {}
    facts |= {"result": result.to_json()} if result else {}
    facts |= {"events": [event.to_json() for event in events]} if events is not None else {}
    if rating is not None:
        comment = {"comment": rating.comment} if rating.comment else {}
        facts["rating"] = {"verdict": rating.verdict, **comment, "at_ns": rating.at_ns}
    return facts


def check_store(*, as_json: bool) -> int:
    """Find what is damaged in a history."""
    with open_journal(must_exist=True) as journal:
        try:
            count, damage = journal.count(EVERY_RUN), journal.check()
        except ParseError as error:  # it is not even a database any more
            count, damage = 0, [("", error.message)]
    if as_json:
        problems = [present({"run": run or None, "message": message}) for run, message in damage]
        echo_json({"store": journal.place, "runs": count, "problems": problems})
    else:
        for run, message in damage:
            echo(f"{safe(run) or 'store'}: {safe(message)}")
        echo_err(f"{safe(journal.place)}: {plural(count, 'run')}, {plural(len(damage), 'problem')}")
    return Exit.INVALID if damage else Exit.OK


def migrate_store() -> None:
    """Bring a history to the present format."""
    with open_journal(must_exist=True) as journal:
        before, now = journal.migrate()
    change = (
        f"brought from format {before} to {now}" if before != now else f"format {now}" if now else "nothing there yet"
    )
    echo_err(f"{safe(journal.place)}: {change}.")


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
        "stalled": record.stalled or record.stopped_pid is not None,
        "stopped_pid": record.stopped_pid,
        "parent": record.parent,
        "finished_steps": list(record.finished_steps),
        "damage": record.damage or None,
        "waits_for": record.waits_for or None,
    }
    return present(facts)


# For people.


def _state(record: RunRecord) -> tuple[str, str]:
    """How far a run is, in words, and the colour of it."""
    if record.damage:
        return "damaged", "red"
    if record.stalled or record.stopped_pid is not None:
        return "stalled", "yellow"
    if record.lifecycle == "submitted":
        return "queued", "cyan"
    if record.lifecycle == "input_required" and record.outcome is None:
        return "waits for an answer", "yellow"
    return ("working", "cyan") if record.lifecycle == "working" else ending_text(record.outcome)
