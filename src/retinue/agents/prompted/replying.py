"""What a conversation came to, as a reply: the answer, or as much as there is of it, and why that is not the whole."""

from typing import Final

from retinue.agents.port import Reply
from retinue.contract.fault import Fault
from retinue.contract.result import Usage, Warned
from retinue.errors import LimitReached, RetinueError
from retinue.llm.converse import Conversation

from .memo import Notes

__all__ = ["reply_to", "unsupported"]

_GO_ON: Final = "Raise the bound, or ask for less."


def reply_to(conversation: Conversation, notes: Notes, *, read: bool, usage: Usage | None) -> Reply:
    """The reply that a conversation makes.

    Args:
        conversation: How it went.
        notes: What there is beside it, from earlier attempts too.
        read: Whether the text is still to be read, as a dialect's or as JSON; else it is the answer as it stands.
        usage: What it took.
    """
    reply = _answer(conversation, read=read) if conversation.stopped is None else _stopped(conversation, read=read)
    reply.usage = usage
    reply.traces = tuple(notes.traces)
    reply.files_read = tuple(notes.files_read)
    reply.files_written = tuple(notes.files_written)
    refused = (_unapproved(each) for each in notes.unapproved)
    reply.warnings = (*reply.warnings, *(unsupported(each) for each in notes.warnings), *refused)
    return reply


def unsupported(message: str) -> Warned:
    """The warning that something a definition asks for is not done."""
    return Warned(
        type="degraded_analysis",
        message=message,
        impact="The agent ran without it.",
        recovery="Remove it from the definition, or put in what is supported.",
        synthetic=True,
    )


def _unapproved(message: str) -> Warned:
    return Warned(
        type="degraded_analysis",
        message=message,
        impact="The agent went on without it.",
        recovery="Say yes when it asks, or put a rule for it into `permissions.allow`.",
        synthetic=True,
    )


def _answer(conversation: Conversation, *, read: bool) -> Reply:
    return Reply(text=conversation.text) if read else Reply(content=conversation.text)


def _stopped(conversation: Conversation, *, read: bool) -> Reply:
    """What there is of an answer that was stopped: a part, where a bound was hit and words are an answer."""
    error = conversation.stopped
    if error is None:  # pragma: no cover - whoever calls has seen that it was stopped
        return Reply()
    fault = Fault.from_error(error)
    if read or not conversation.text or not isinstance(error, LimitReached):
        return Reply(outcome="error", fault=fault, content=conversation.text)
    warning = Warned(
        type="missing_data",
        message=f"The answer is not whole: {_lower(error)}",
        impact="It holds what was known by then.",
        recovery=error.hint or _GO_ON,
        synthetic=True,
    )
    return Reply(outcome="partial", fault=fault, content=conversation.text, warnings=(warning,))


def _lower(error: RetinueError) -> str:
    return error.message[:1].lower() + error.message[1:]
