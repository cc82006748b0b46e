"""What a conversation came to, as a reply: the answer, or as much as there is of it, and why that is not the whole."""

from typing import Final

from retinue.agents.port import Reply
from retinue.contract.fault import Fault
from retinue.contract.result import Usage, Warned
from retinue.errors import LimitReached, RetinueError
from retinue.llm.conversation import Conversation

from .checkpoint import ConversationCheckpoint

_GO_ON: Final = "Raise the bound, or ask for less."


def build_reply(
    conversation: Conversation, checkpoint: ConversationCheckpoint, *, needs_parsing: bool, usage: Usage | None
) -> Reply:
    """The reply that a conversation makes.

    Args:
        conversation: How it went.
        checkpoint: What there is beside it, from earlier attempts too.
        needs_parsing: Whether the text is still to be read, as a dialect's or as JSON; else it is the answer as it
            stands.
        usage: What it took.
    """
    reply = (
        _complete_reply(conversation, needs_parsing=needs_parsing)
        if conversation.error is None
        else _partial_reply(conversation, needs_parsing=needs_parsing)
    )
    reply.usage = usage
    reply.traces = tuple(checkpoint.traces)
    reply.files_read = tuple(checkpoint.files_read)
    reply.files_written = tuple(checkpoint.files_written)
    refusals = (_unapproved_warning(each) for each in checkpoint.unapproved)
    reply.warnings = (*reply.warnings, *(unsupported_warning(each) for each in checkpoint.warnings), *refusals)
    return reply


def unsupported_warning(message: str) -> Warned:
    """The warning that something a definition asks for is not done."""
    return Warned(
        type="degraded_analysis",
        message=message,
        impact="The agent ran without it.",
        recovery="Remove it from the definition, or put in what is supported.",
        synthetic=True,
    )


def _unapproved_warning(message: str) -> Warned:
    return Warned(
        type="degraded_analysis",
        message=message,
        impact="The agent went on without it.",
        recovery="Say yes when it asks, or put a rule for it into `permissions.allow`.",
        synthetic=True,
    )


def _complete_reply(conversation: Conversation, *, needs_parsing: bool) -> Reply:
    return Reply(text=conversation.text) if needs_parsing else Reply(content=conversation.text)


def _partial_reply(conversation: Conversation, *, needs_parsing: bool) -> Reply:
    """What there is of an answer that was stopped: a part, where a bound was hit and words are an answer."""
    error = conversation.error
    if error is None:  # pragma: no cover - whoever calls has seen that it was stopped
        return Reply()
    fault = Fault.from_error(error)
    if needs_parsing or not conversation.text or not isinstance(error, LimitReached):
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
