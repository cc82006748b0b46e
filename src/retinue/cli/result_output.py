"""What a run came to, shown: the answer on stdout, everything about it on stderr, and its exit code.

The answer is Markdown. On a terminal it is drawn, elsewhere it is printed as it is, so that it can go into a file.
"""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

import click

from retinue.cli.app import Exit, for_agent_result, for_result
from retinue.cli.delivery import Form, deliver
from retinue.cli.option_chooser import comparison_line
from retinue.cli.output import (
    echo,
    echo_err,
    echo_json,
    first_few,
    json_line,
    json_text,
    label,
    plural,
    report_warning,
    safe,
    safe_lines,
)
from retinue.cli.session import FinishedSession, invocation_in, workspace_of
from retinue.contract.event import Decision, Event
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Outcome, Result
from retinue.dialects.run_agent import tool_names
from retinue.errors import RetinueError
from retinue.orchestration.present.blocks import MarkdownBlock
from retinue.orchestration.present.blocks_markdown import blocks_to_markdown
from retinue.orchestration.present.explanation import answer_and_explanation, explain, explanation_blocks, outcome_label
from retinue.orchestration.present.html_page import as_html
from retinue.orchestration.present.numbers import format_duration, usage_parts
from retinue.orchestration.run_request import RESERVED, RUN_AGENT

FailOn: TypeAlias = Literal["failure", "partial"]

_MAX_SHOWN: Final = 10
"""Warnings that are shown; the rest is counted."""


def show_detached(run: str, form: Form) -> int:
    """Show the id of a run that is left to a worker."""
    if form.machine:
        echo_json({"run": run})
    else:
        echo(run)
        if not form.quiet:
            echo_err(f"`retinue worker` runs it; see it with: retinue runs show {run}")
    return Exit.OK


def show_goal_result(session: FinishedSession, form: Form, *, fail_on: FailOn = "failure") -> Exit:
    """Show what a goal came to, and give the exit code."""
    code = Exit.INTERRUPTED if session.interrupted else for_result(session.result, fail_on=fail_on)
    _show(session, session.result, form, code)
    return code


def show_agent_result(session: FinishedSession, form: Form, *, extras: dict[str, Any] | None = None) -> Exit:
    """Show what one agent came to that was asked; as JSON its own result, not the one merged from it.

    Args:
        session: The run.
        form: How to show it.
        extras: What else belongs into the result.
    """
    result = agent_result(session)
    if extras:
        result = result.model_copy(update={"extras": {**result.extras, **extras}})
    code = Exit.INTERRUPTED if session.interrupted else for_agent_result(result)
    _show(session, result, form, code)
    return code


def agent_result(session: FinishedSession) -> Result:
    """The asked agent's own result, or that of the run where it was canceled or waits for an answer.

    What it took is what the run took: also before it was resumed.
    """
    result = session.result
    if session.agent_result is not None and result.outcome != "canceled" and result.lifecycle != "input_required":
        result = session.agent_result.model_copy(update={"usage": result.usage})
        if result.agent == RUN_AGENT:  # the agent delegated all of it
            node = session.plan.nodes[0]
            result = result.model_copy(update={"agent": node.agent, "skill": node.skill})
    return result


def _show(session: FinishedSession, result: Result, form: Form, code: Exit) -> None:
    """Show `result`; its text is the one that was merged, where foreign Markdown has been tamed."""
    if form.as_json:
        write_document(json_text(result.to_json()), form)
    if form.machine:
        if code != Exit.OK:
            echo_err(json_line({"error": next(_errors(session, result, code))}))
        return
    whole = session.result
    data, has_text = _data(whole), bool(whole.content.strip())
    is_refusal = result is whole and result.outcome == "rejected" and has_text
    # There is more to read than that nothing came.
    has_answer = has_text and any((is_refusal, whole.useful, *map(data.get, ("answer", "questions", "explanation"))))
    if result.useful and result.data is None and not (result.content.strip() or result.artifacts or result.questions):
        has_answer = False  # the agent did it without a word: nothing is printed then, as after any command
    if form.document is not None and (has_answer or form.document == "html"):
        write_document(as_document(session.result, form, run=session.run if session.recorded else ""), form)
    elif has_answer:
        draw(session.result, root=workspace_of(session.plan))
    if not form.quiet:
        if has_answer and sys.stderr.isatty():
            echo_err("")
        echo_err(summary_line(session.result, run=session.run if session.recorded else ""))
        # Say what was expected of the way that was chosen, beside what it took (C19).
        option: object = session.result.extras.get("option")
        if isinstance(option, dict) and (line := comparison_line(cast("dict[str, Any]", option))):
            echo_err(line)
        # Which tools the asked agent used, each once, in the order of their first use (B16), and which files it wrote.
        tools = tool_names(result) if result.traces else ()
        for head, names in (("tools", tools), ("wrote", session.result.files_written)):
            if names:
                echo_err(f"{head}: {first_few([*map(safe, names)], _MAX_SHOWN)}")
        report_warnings(session.result, engine=session.warnings)
    if code != Exit.OK and not is_refusal:  # a refusal is an answer: it says itself what to do next
        for error in _errors(session, result, code):
            echo_err(f"{label('error', 'red')}: {safe(error['message'])}")
            echo_err(f" {label('next')}: {safe(error['hint'])}")


# The answer.


def draw(result: Result, *, root: Path | None = None) -> None:
    """Print an answer: drawn on a terminal, as Markdown into a pipe and on a dumb terminal.

    Args:
        result: What a run came to.
        root: The workspace, where its sources are.
    """
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        click.echo(safe_lines(_markdown(result)))
        return
    from retinue.cli.drawing import draw_blocks  # rich is slow to import

    draw_blocks(answer_and_explanation(result.data) or (MarkdownBlock(result.content),), root=root)


def as_document(result: Result, form: Form, *, run: str = "") -> str:
    """An answer as the text that `form` asks for: a page of HTML, or Markdown."""
    if form.document != "html":
        return safe_lines(_markdown(result))
    return as_html(result, run=run, created_at=time.strftime("%Y-%m-%d %H:%M"))


def write_document(text: str, form: Form) -> None:
    """Give a document to stdout or into the file that `form` names, and say where it is."""
    whole = text if text.endswith("\n") else f"{text}\n"
    try:
        deliver(whole, form.output)
    except RetinueError:
        deliver(whole, None)
        raise
    if form.output is not None and not form.quiet:
        echo_err(f"written to {safe(form.output)}")


def _markdown(result: Result) -> str:
    """The answer as Markdown that stdout can carry."""
    if (sys.stdout.encoding or "").lower().startswith("utf"):
        return result.content
    return blocks_to_markdown(answer_and_explanation(result.data), is_ascii=True) or result.content


def _data(result: Result) -> dict[str, Any]:
    return cast("dict[str, Any]", result.data) if isinstance(result.data, dict) else {}


def _entries(result: Result, name: str) -> list[dict[str, Any]]:
    value: object = _data(result).get(name)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", each) for each in items if isinstance(each, dict)]


# The summary.

_COLOURS: Final = {"good": "green", "warn": "yellow", "bad": "red"}


def ending_text(outcome: Outcome | None) -> tuple[str, str]:
    """How a run ended, in words, and the colour of it."""
    words, tone = outcome_label(outcome)
    return words, _COLOURS[tone]


def summary_line(result: Result, *, run: str = "") -> str:
    """One line: how it ended, who worked, how long, what it cost and saved. What was not measured is left out."""
    word, style = ending_text(result.outcome)
    dot = " · " if (sys.stderr.encoding or "").lower().startswith("utf") else " - "
    agents = {str(each.get("agent")) for name in ("answer", "failures") for each in _entries(result, name)}
    agents.discard(RUN_AGENT)
    parts = [plural(len(agents), "agent")] if agents else []
    parts += [format_duration(result.duration_ns)] if result.duration_ns is not None else []
    parts += filter(None, usage_parts(result.usage)) if result.usage is not None else ()
    parts += [plural(len(result.warnings), "warning")] if result.warnings else []
    parts += [f"run {run}"] if run else []
    return label(word, style) + click.style("".join(f"{dot}{part}" for part in parts), dim=True)


def report_warnings(result: Result, *, engine: tuple[str, ...] = ()) -> None:
    """Say what makes the result less than whole, but for what stands in the answer itself."""
    messages = [str(each.get("message")) for each in _entries(result, "failures")]
    messages += [str(each.get("clause")) for each in _entries(result, "not_answered")]
    messages += [question.text for question in result.questions]
    warnings = [each for each in result.warnings if not each.message.endswith(tuple(messages))]
    for warning in warnings[:_MAX_SHOWN]:
        report_warning(warning)
    if len(warnings) > _MAX_SHOWN:
        echo_err(f"and {plural(len(warnings) - _MAX_SHOWN, 'more warning')}: see them with `--json`")
    for text in engine:
        echo_err(f"{label('warning', 'yellow')}: {safe(text)}")


# What went wrong.


def _errors(session: FinishedSession, result: Result, code: Exit) -> Iterator[dict[str, Any]]:
    """What ended it before its time, each with what to do next; at least one."""
    again = f"`retinue runs resume {session.run}`"
    if code == Exit.INTERRUPTED:
        hint = (
            f"Continue with {again}; finished work is kept." if session.recorded else "Run it again: nothing was saved."
        )
        yield {"code": "canceled", "message": "Interrupted.", "hint": hint}
        return
    if code == Exit.QUESTION:
        yield from _open_questions(session, result, again if session.recorded else "")
        return
    failures = [] if session.result.fault and result.fault else _entries(session.result, "failures")
    for failure in failures:
        message = f"{failure.get('title')} (`{failure.get('agent')}`): {failure.get('message')}"
        yield {"code": failure.get("code"), "message": message, "hint": failure.get("hint") or _events_hint(session)}
    if failures:
        return
    if result.fault is not None:
        fault = result.fault.to_json()
        facts = {name: fault[name] for name in ("code", "message", "hint", "path", "suggestions") if fault.get(name)}
        near = result.fault.suggestions if result.outcome == "rejected" else ()
        hint = (result.fault.hint or _events_hint(session)) + (f" Nearest: {', '.join(near)}." if near else "")
        yield {**facts, "hint": hint}
        return
    hint = "See the warnings, or leave out `--fail-on partial` to accept a partial answer."
    yield {"code": "output_invalid", "message": "Part of the goal was not answered.", "hint": hint}


def _open_questions(session: FinishedSession, result: Result, again: str) -> Iterator[dict[str, Any]]:
    invocation = invocation_in(session.plan)
    for question in result.questions:
        advice = "Say it"
        if question.parameter and invocation is not None and invocation.verb == "ask":
            advice = f"Give it with `--param {question.parameter}=…`, or say it"
        elif question.parameter:
            advice = f"Put `{question.parameter}` into the plan (`retinue plan … --output FILE`), or say it"
        where = f"; or answer in a terminal: {again}" if again else ""
        facts = {"code": "invalid_input", "message": f"No terminal to ask in: {question.text}"}
        yield {**facts, "hint": f"{advice} in the request{where}.", "question": question.to_json()}
    if not result.questions:
        yield {"code": "invalid_input", "message": "Waiting for an answer.", "hint": f"Continue with {again}."}


def _events_hint(session: FinishedSession) -> str:
    if session.recorded:
        return f"See what happened with `retinue runs show {session.run} --events`."
    return "Run it again without `--no-journal` to see its events."


def with_explanation(result: Result, plan: Plan, decisions: Iterable[tuple[str, Decision]]) -> Result:
    """`result` with why `plan` is as it is, and what was decided on the way."""
    explanation = explain(plan, decisions, confidence=result.confidence)
    facts = cast("JsonMapping", result.data) if isinstance(result.data, dict) else {}
    if "tokens" in facts:
        explanation["tokens"] = facts["tokens"]
    text = "\n\n".join(filter(None, (result.content.strip(), blocks_to_markdown(explanation_blocks(explanation)))))
    return result.model_copy(update={"content": text, "data": {**facts, "explanation": explanation}})


def decisions_in(events: Iterable[Event]) -> list[tuple[str, Decision]]:
    """The decisions among the recorded events of one run, each with its node."""
    return [(one.node.partition(RESERVED)[0], one.body) for one in events if isinstance(one.body, Decision)]


_LINES: Final = 30
_FEW: Final = 5
_NOT_ITS_FAULT: Final = frozenset({"invalid_input", "missing_file", "access_denied"})
"""Asked again, it would come to the same; the hint says what to change."""
_PROGRESS_SIGNALS: Final = ("PROGRESS:", "CHECKPOINT:")
"""News of progress are not part of an answer (H18, H19)."""


def report_failure(session: FinishedSession, code: Exit) -> None:
    """Say on stderr what a failed agent leaves: the ways to recover, and its partial results as JSON."""
    result = session.agent_result
    if code != Exit.AGENT_ERROR or result is None or result.fault is None:
        return
    ways = [way for way in dict.fromkeys(result.fault.suggestions) if way not in result.fault.hint]
    for way in ways[:_FEW]:
        echo_err(f"   {label('or')}: {safe(way)}")
    if len(result.attempts) > 1 and result.fault.code == "output_invalid":
        echo_err(f"It was asked {len(result.attempts)} times, each time with the error.")
    if result.artifacts:
        files = [safe(each.path) for each in result.artifacts]
        echo_err(f"files it wrote: {first_few(files, _FEW, where=': see them with `--json`')}")
    data = json_text(result.data) if result.data not in (None, {}, []) else ""
    # What was not understood is shown as it came.
    text = result.content or (result.native or "" if result.fault.code == "output_invalid" else "")
    if data or text.strip():
        lines = (data or safe_lines(text)).strip().split("\n")
        lines = [line for line in lines if not line.startswith(_PROGRESS_SIGNALS)] or lines
        echo_err(label("partial results, not a complete answer:" if data else "it said:"))
        echo_err("\n".join(f"  {line[:200]}" for line in lines[:_LINES]))
        if len(lines) > _LINES:
            echo_err(f"  and {plural(len(lines) - _LINES, 'more line')}: see them with `--json`")
    elif not result.native and result.fault.code not in _NOT_ITS_FAULT:
        echo_err(f"`{safe(result.agent)}` failed to respond. Try again, or do it manually.")
