"""What an event says, in one line for a person."""

from typing import TYPE_CHECKING, assert_never

from retinue.contract.event import (
    Answered,
    Asked,
    Body,
    Checkpoint,
    Decision,
    Delegated,
    Finished,
    Message,
    Progress,
    Retried,
    Started,
    TextDelta,
    ToolCall,
    UsageNoted,
)

if TYPE_CHECKING:
    from retinue.contract.result import Result

__all__ = ["progress", "told"]


def told(body: Body) -> str:  # noqa: C901, PLR0912 - one case for each kind of event
    """The facts of `body`, foreign words as they are."""
    match body:
        case Started(agent, skill, instruction):
            text = ": ".join(filter(None, (".".join(filter(None, (agent, skill))), instruction)))
        case Progress():
            text = progress(body)
        case Checkpoint(phase, status):
            text = f"{phase} {status}"
        case Decision(move, reason):
            text = f"{move}: {reason}"
        case Message(text) | TextDelta(text):
            pass
        case ToolCall(tool, _, failed, about):
            text = f"{tool}{f' {about}' if about else ''}{' failed' if failed else ''}"
        case UsageNoted(usage):
            text = usage.to_json_text()
        case Retried(code, message):
            text = f"{code}: {message}"
        case Asked(question):
            text = question.text
        case Answered(answer):
            text = f"{answer.value} (by the {answer.by})"
        case Delegated(result):
            text = f"{result.agent}: {_ended(result)}"
        case Finished(result):
            text = _ended(result)
        case never:  # pyright: ignore[reportUnnecessaryComparison] - that it never matches is what is asserted
            assert_never(never)
    return text


def progress(body: Progress) -> str:
    """How far a phase is: `reading 3/10`."""
    count = None if body.done is None else f"{body.done:,}{'' if body.total is None else f'/{body.total:,}'}"
    return " ".join(dict.fromkeys(filter(None, (body.phase, body.status, count))))


def _ended(result: "Result") -> str:
    return f"{result.outcome or result.lifecycle}{f': {result.fault.message}' if result.fault else ''}"
