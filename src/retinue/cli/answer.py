"""What a run came to, shown: the answer on stdout, everything about it on stderr, and its exit code.

The answer is Markdown. On a terminal it is drawn, elsewhere it is printed as it is, so that it can go into a file.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

import click

from retinue.cli.exits import Exit, for_asked, for_result
from retinue.cli.options import Form
from retinue.cli.output import counted, duration, json_line, json_text, plain, safe, tell, tell_warning
from retinue.errors import RetinueError
from retinue.orchestration.present.numbers import spent
from retinue.orchestration.synthesise import RUN_AGENT

if TYPE_CHECKING:
    from retinue.cli.session import Ended
    from retinue.contract.result import Outcome, Result

__all__ = [
    "FailOn",
    "as_document",
    "asked_result",
    "draw",
    "ending",
    "hand_over",
    "present",
    "present_asked",
    "summary",
    "tell_warnings",
]

FailOn: TypeAlias = Literal["failure", "partial"]

_SHOWN: Final = 10
"""Warnings that are shown; the rest is counted."""


def present(ended: "Ended", form: Form, *, fail_on: FailOn = "failure") -> Exit:
    """Show what a goal came to, and give the exit code."""
    code = Exit.INTERRUPTED if ended.interrupted else for_result(ended.result, fail_on=fail_on)
    _show(ended, ended.result, form, code)
    return code


def present_asked(ended: "Ended", form: Form, *, extras: dict[str, Any] | None = None) -> Exit:
    """Show what one agent came to that was asked; as JSON its own result, not the one merged from it.

    Args:
        ended: The run.
        form: How to show it.
        extras: What else belongs into the result.
    """
    result = asked_result(ended)
    if extras:
        result = result.model_copy(update={"extras": {**result.extras, **extras}})
    code = Exit.INTERRUPTED if ended.interrupted else for_asked(result)
    _show(ended, result, form, code)
    return code


def asked_result(ended: "Ended") -> "Result":
    """The asked agent's own result, or that of the run where it was canceled or waits for an answer."""
    result = ended.result
    if ended.asked is not None and result.outcome != "canceled" and result.lifecycle != "input_required":
        result = ended.asked
        if result.agent == RUN_AGENT:  # the agent delegated all of it
            node = ended.plan.nodes[0]
            result = result.model_copy(update={"agent": node.agent, "skill": node.skill})
    return result


def _show(ended: "Ended", result: "Result", form: Form, code: Exit) -> None:
    """Show `result`; its text is the one that was merged, where foreign Markdown has been tamed."""
    if form.as_json:
        hand_over(json_text(result.to_json()), form)
    if form.machine:
        if code != Exit.OK:
            tell(json_line({"error": next(_errors(ended, result, code))}))
        return
    is_refusal = result is ended.result and result.outcome == "rejected" and bool(result.content.strip())
    answers = (is_refusal or _has_answer(ended.result)) and not _is_silent(result)
    if form.document is not None and (answers or form.document == "html"):
        hand_over(as_document(ended.result, form, run=ended.run if ended.recorded else ""), form)
    elif answers:
        from retinue.cli.session import settled_in

        settled = settled_in(ended.plan)
        draw(ended.result, root=Path(settled.workspace) if settled and settled.workspace else None)
    if not form.quiet:
        if answers and sys.stderr.isatty():
            tell("")
        tell(summary(ended.result, run=ended.run if ended.recorded else ""))
        _tell_option(ended.result)
        _tell_tools(result)
        _tell_written(ended.result)
        tell_warnings(ended.result, engine=ended.warnings)
    if code != Exit.OK and not is_refusal:  # a refusal is an answer: it says itself what to do next
        for error in _errors(ended, result, code):
            _tell_error(error)


# The answer.


def draw(result: "Result", *, root: Path | None = None) -> None:
    """Print an answer: drawn on a terminal, as Markdown into a pipe and on a dumb terminal.

    Args:
        result: What a run came to.
        root: The workspace, where its sources are.
    """
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        click.echo(plain(_markdown(result)))
        return
    from retinue.cli.drawing import draw_blocks
    from retinue.orchestration.present.blocks import Prose
    from retinue.orchestration.present.explained import all_blocks

    draw_blocks(all_blocks(result.data) or (Prose(result.content),), root=root)


def as_document(result: "Result", form: Form, *, run: str = "") -> str:
    """An answer as the text that `form` asks for: a page of HTML, or Markdown."""
    if form.document != "html":
        return plain(_markdown(result))
    from retinue.orchestration.present.html import as_html

    return as_html(result, run=run, made=time.strftime("%Y-%m-%d %H:%M"))


def hand_over(text: str, form: Form) -> None:
    """Give a document to stdout or into the file that `form` names, and say where it is.

    Raises:
        AccessDenied: The file cannot be written. The document is on stdout then, so that it is not lost.
    """
    from retinue.cli.delivery import deliver

    whole = text if text.endswith("\n") else f"{text}\n"
    try:
        deliver(whole, form.output)
    except RetinueError:
        deliver(whole, None)
        raise
    if form.output is not None and not form.quiet:
        tell(f"written to {safe(form.output)}")


def _markdown(result: "Result") -> str:
    """The answer as Markdown that stdout can carry."""
    if (sys.stdout.encoding or "").lower().startswith("utf"):
        return result.content
    from retinue.orchestration.present.explained import all_blocks
    from retinue.orchestration.present.markdown import as_markdown

    return as_markdown(all_blocks(result.data), in_ascii=True) or result.content


def _has_answer(result: "Result") -> bool:
    """There is more to read than that nothing came."""
    data = _data(result)
    return bool(result.content.strip()) and (
        result.useful or bool(data.get("answer") or data.get("questions") or data.get("explanation"))
    )


def _is_silent(result: "Result") -> bool:
    """Whoever was asked did it without a word: nothing is printed then, as after any command."""
    says = result.content.strip() or result.artifacts or result.questions
    return result.useful and result.data is None and not says


def _data(result: "Result") -> dict[str, Any]:
    return cast("dict[str, Any]", result.data) if isinstance(result.data, dict) else {}


def _listed(result: "Result", name: str) -> list[dict[str, Any]]:
    found: object = _data(result).get(name)
    listed = cast("list[object]", found) if isinstance(found, list) else []
    return [cast("dict[str, Any]", each) for each in listed if isinstance(each, dict)]


# The summary.

_COLOURS: Final = {"good": "green", "warn": "yellow", "bad": "red"}


def ending(outcome: "Outcome | None") -> tuple[str, str]:
    """How a run ended, in words, and the colour of it."""
    from retinue.orchestration.present.ending import ending_of

    words, tone = ending_of(outcome)
    return words, _COLOURS[tone]


def summary(result: "Result", *, run: str = "") -> str:
    """One line: how it ended, who worked, how long, what it cost and saved. What nobody measured is not in it."""
    word, style = ending(result.outcome)
    dot = " · " if (sys.stderr.encoding or "").lower().startswith("utf") else " - "
    parts = [part for part in _parts(result) if part]
    if run:
        parts.append(f"run {run}")
    return click.style(word, fg=style, bold=True) + click.style("".join(f"{dot}{part}" for part in parts), dim=True)


def _parts(result: "Result") -> Iterator[str]:
    agents = {str(each.get("agent")) for name in ("answer", "failures") for each in _listed(result, name)}
    if agents - {RUN_AGENT}:
        yield counted(len(agents - {RUN_AGENT}), "agent")
    if result.duration_ns is not None:
        yield duration(result.duration_ns)
    if result.usage is not None:
        yield from spent(result.usage)
    if result.warnings:
        yield counted(len(result.warnings), "warning")


def _tell_option(result: "Result") -> None:
    """Say what was expected of the way that was chosen, beside what it took (C19)."""
    said: object = result.extras.get("option")
    if isinstance(said, dict):
        from retinue.cli.choosing import beside

        if told := beside(cast("dict[str, Any]", said)):
            tell(told)


def _tell_tools(result: "Result") -> None:
    """Say which tools the asked agent used, each once, in the order of their first use (B16)."""
    if not result.traces:
        return
    from retinue.dialects.run_agent import tool_names

    names = tool_names(result)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    tell(f"tools: {', '.join(map(safe, names[:_SHOWN]))}{more}")


def _tell_written(result: "Result") -> None:
    """Say which files of the workspace were written."""
    files = result.files_written
    if files:
        more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
        tell(f"wrote: {', '.join(map(safe, files[:_SHOWN]))}{more}")


def tell_warnings(result: "Result", *, engine: tuple[str, ...] = ()) -> None:
    """Say what makes the result less than whole, but for what stands in the answer itself."""
    told = [str(each.get("message")) for each in _listed(result, "failures")]
    told += [str(each.get("clause")) for each in _listed(result, "not_answered")]
    told += [question.text for question in result.questions]
    warnings = [each for each in result.warnings if not each.message.endswith(tuple(told))]
    for warning in warnings[:_SHOWN]:
        tell_warning(warning)
    if len(warnings) > _SHOWN:
        tell(f"and {counted(len(warnings) - _SHOWN, 'more warning')}: see them with `--json`")
    for text in engine:
        tell(f"{click.style('warning', fg='yellow', bold=True)}: {safe(text)}")


# What went wrong.


def _errors(ended: "Ended", result: "Result", code: Exit) -> Iterator[dict[str, Any]]:
    """What ended it before its time, each with what to do next; at least one."""
    again = f"`retinue runs resume {ended.run}`"
    if code == Exit.INTERRUPTED:
        hint = (
            f"Continue with {again}; finished work is kept." if ended.recorded else "Run it again: nothing was saved."
        )
        yield {"code": "canceled", "message": "Interrupted.", "hint": hint}
        return
    if code == Exit.QUESTION:
        yield from _open_questions(ended, result, again if ended.recorded else "")
        return
    failures = [] if ended.result.fault and result.fault else _listed(ended.result, "failures")
    for failure in failures:
        message = f"{failure.get('title')} (`{failure.get('agent')}`): {failure.get('message')}"
        yield {"code": failure.get("code"), "message": message, "hint": failure.get("hint") or _look(ended)}
    if failures:
        return
    if result.fault is not None:
        fault = result.fault.to_json()
        facts = {name: fault[name] for name in ("code", "message", "hint", "path", "suggestions") if fault.get(name)}
        near = result.fault.suggestions if result.outcome == "rejected" else ()
        hint = (result.fault.hint or _look(ended)) + (f" Nearest: {', '.join(near)}." if near else "")
        yield {**facts, "hint": hint}
        return
    hint = "See the warnings, or leave out `--fail-on partial` to accept a partial answer."
    yield {"code": "output_invalid", "message": "Part of the goal was not answered.", "hint": hint}


def _open_questions(ended: "Ended", result: "Result", again: str) -> Iterator[dict[str, Any]]:
    from retinue.cli.session import settled_in

    settled = settled_in(ended.plan)
    for question in result.questions:
        given = "Say it"
        if question.parameter and settled is not None and settled.verb == "ask":
            given = f"Give it with `--param {question.parameter}=…`, or say it"
        elif question.parameter:
            given = f"Put `{question.parameter}` into the plan (`retinue plan … --output FILE`), or say it"
        where = f"; or answer in a terminal: {again}" if again else ""
        facts = {"code": "invalid_input", "message": f"No terminal to ask in: {question.text}"}
        yield {**facts, "hint": f"{given} in the request{where}.", "question": question.to_json()}
    if not result.questions:
        yield {"code": "invalid_input", "message": "Waiting for an answer.", "hint": f"Continue with {again}."}


def _look(ended: "Ended") -> str:
    if ended.recorded:
        return f"See what happened with `retinue runs show {ended.run} --events`."
    return "Run it again without `--no-journal` to see its events."


def _tell_error(error: dict[str, Any]) -> None:
    tell(f"{click.style('error', fg='red', bold=True)}: {safe(error['message'])}")
    tell(f" {click.style('next', bold=True)}: {safe(error['hint'])}")
