"""The page of words, docs/reference/dialects.md, as the dialects themselves speak today.

`python -m tests.dialects.page` writes it; a test keeps it fresh. Every word is taken out of a message that was written,
and what it means out of reading that message again.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.model import DialectName, Model
from retinue.contract.result import Outcome, Result, Warned
from retinue.contract.task import Question
from retinue.dialects import DIALECTS, a2a, dialect
from retinue.dialects.agent_http import status_of
from retinue.dialects.messages import readable_kinds
from retinue.dialects.port import RenderedMessage
from retinue.errors import FaultCode
from tests.dialects.samples import REQUESTS, WHOLE
from tests.repository.tree import ROOT

if TYPE_CHECKING:
    from retinue.contract.task import Task

__all__ = ["PAGE", "page"]

PAGE: Final[Path] = ROOT / "docs" / "reference" / "dialects.md"

_HEAD: Final = """\
# The words of the dialects

The dialects write this page themselves: every word stands in a message that one of them wrote, and was read again. `→`
says what it is read as where that is not what was written; the loss report of the message says the same. What a dialect
is, and how strictly it is read: [dialects](../concepts/dialects.md).
"""


def page() -> str:
    """The whole page."""
    parts = [
        _HEAD,
        *_forms(),
        *_outcomes(),
        *_faults(),
        *_fields("request", REQUESTS["full"]),
        *_fields("answer", WHOLE),
    ]
    return "\n".join(parts)


def _table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join(['---'] * len(head))} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _forms() -> Iterator[str]:
    yield "## Forms\n"
    yield "The usual form stands first; `--form` chooses another.\n"
    rows = [
        [f"`{name}`", _words(speaks.TASK_FORMS), _words(speaks.RESULT_FORMS), _words(readable_kinds(speaks)[2:]) or "-"]
        for name in DIALECTS
        for speaks in (dialect(name),)
    ]
    yield from _table(["dialect", "a request", "an answer", "what else it reads"], rows)


def _words(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


# What an answer came to.

_FAILURES: Final[frozenset[Outcome]] = frozenset({"error", "failed", "canceled", "rejected"})


def _answer(outcome: Outcome | None) -> Result:
    """The least that ends like this; without an outcome, a question."""
    if outcome is None:
        asked = (Question(id="q1", text="Which branch?"),)
        return Result(task_id="", agent="agent", lifecycle="input_required", questions=asked)
    warned = Warned(
        type="missing_data", message="A file is missing.", impact="Less is known.", recovery="Add the file."
    )
    code: FaultCode = (
        "canceled" if outcome == "canceled" else "invalid_input" if outcome == "rejected" else "internal_error"
    )
    return Result(
        task_id="",
        agent="agent",
        outcome=outcome,
        data={"count": 3} if outcome not in _FAILURES else None,
        warnings=(warned,) if outcome == "partial" else (),
        fault=Fault(code=code, message="It broke.", hint="Fix it.") if outcome in _FAILURES else None,
    )


def _outcomes() -> Iterator[str]:
    yield "## What an answer came to\n"
    outcomes: list[Outcome | None] = [*get_args(Outcome), None]
    rows = [
        [f"`{outcome or 'input_required'}`", *(_said(name, _answer(outcome)) for name in DIALECTS)]
        for outcome in outcomes
    ]
    yield from _table(["outcome", *(f"`{name}`" for name in DIALECTS)], rows)


def _said(name: DialectName, result: Result) -> str:
    """The word of a dialect for how `result` ended, and what it is read as."""
    rendered = dialect(name).render_result(result)
    read = dialect(name).parse_result(rendered.text).value
    word = _OUTCOME_WORDS[name](rendered)
    ending = (read.lifecycle, read.outcome)
    return word if ending == (result.lifecycle, result.outcome) else f"{word} → `{read.outcome or read.lifecycle}`"


def _status(rendered: RenderedMessage) -> str:
    message = cast("dict[str, Any]", json.loads(rendered.text))
    return f"`{message['status']}`"


def _keys_beside(rendered: RenderedMessage) -> str:
    message = cast("dict[str, Any]", json.loads(rendered.text))
    beside = [f"`{key}`" for key in message if key not in {"content", "response_time_secs", "traces", "results"}]
    return f"`content`{' and ' if beside else ''}{', '.join(beside)}"


def _signals(rendered: RenderedMessage) -> str:
    found = re.findall(r"^(STATUS: \w+|ERROR)", rendered.text, re.MULTILINE)
    return " and ".join(f"`{word}`" for word in found)


def _task_state(rendered: RenderedMessage) -> str:
    task = cast("dict[str, Any]", json.loads(rendered.text))["task"]
    outcome = task.get("metadata", {}).get(a2a.EXTENSION, {}).get("outcome")
    return f"`{task['status']['state'].removeprefix('TASK_STATE_')}`{f', metadata `{outcome}`' if outcome else ''}"


def _state(rendered: RenderedMessage) -> str:
    message = cast("dict[str, Any]", json.loads(rendered.text))
    outcome = message.get("metadata", {}).get("outcome")
    return f"`{message['status']['state']}`{f', metadata `{outcome}`' if outcome else ''}"


_OUTCOME_WORDS: Final[Mapping[DialectName, Any]] = {
    "tool_use": _status,
    "run_agent": _keys_beside,
    "task_signal": _signals,
    "markdown_json": _status,
    "agent_http": _state,
    "a2a": _task_state,
}


# Faults.


def _faults() -> Iterator[str]:
    yield "## Why it failed\n"
    yield "`agent_http` also says it by the HTTP status. `run_agent` and `a2a` have no word for it; they hold our own code.\n"
    names: tuple[DialectName, ...] = ("tool_use", "task_signal", "markdown_json")
    rows = [
        [f"`{code}`", *(_fault_said(name, _failed(code)) for name in names), str(status_of(_failed(code)))]
        for code in get_args(FaultCode)
    ]
    yield from _table(["fault", *(f"`{name}`" for name in names), "HTTP status"], rows)


def _failed(code: FaultCode) -> Result:
    outcome: Outcome = "canceled" if code == "canceled" else "error"
    return Result(
        task_id="", agent="agent", outcome=outcome, fault=Fault(code=code, message="It broke.", hint="Fix it.")
    )


def _fault_said(name: DialectName, result: Result) -> str:
    rendered = dialect(name).render_result(result)
    read = dialect(name).parse_result(rendered.text).value
    found = re.search(r'(?m)"error_type": ?"(\w+)"|^ERROR: (\w+)', rendered.text)
    assert found, rendered
    word = f"`{found[1] or found[2]}`"
    assert read.fault
    assert result.fault
    return word if read.fault.code == result.fault.code else f"{word} → `{read.fault.code}`"


# Fields.


def _fields(what: str, noun: Model) -> Iterator[str]:
    yield f"## What of {'a' if what == 'request' else 'an'} {what} is said\n"
    yield "In the usual form. ● wholly, ◐ in part, ○ not at all.\n"
    lost = {name: _lost(name, noun) for name in DIALECTS}
    said = noun.model_dump(mode="json", exclude_defaults=True)
    rows = [
        [f"`{field}`", *(_mark(f"/{field}", value, lost[name]) for name in DIALECTS)] for field, value in said.items()
    ]
    yield from _table(["field", *(f"`{name}`" for name in DIALECTS)], rows)


def _lost(name: DialectName, noun: Model) -> set[str]:
    """What a message in the usual form does not say."""
    speaks = dialect(name)
    if isinstance(noun, Result):
        rendered = speaks.render_result(cast("Result", noun), form=speaks.RESULT_FORMS[0])
    else:
        rendered = speaks.render_task(cast("Task", noun), form=speaks.TASK_FORMS[0])
    return {loss.field for loss in rendered.losses}


def _mark(field: str, value: object, lost: set[str]) -> str:
    """How much of one field a message says."""
    inside = {f"{field}/{key}" for key in cast("dict[str, object]", value)} if isinstance(value, dict) else set[str]()
    if field in lost or (inside and inside <= lost):
        return "○"
    return "◐" if any(path.startswith(f"{field}/") for path in lost) else "●"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
