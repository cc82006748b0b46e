"""A failure as a person should see it: what went wrong, what to do, what there is (K26, C25)."""

import json
from typing import Final

from retinue.contract.result import Result
from retinue.contract.sanitize import escape_markdown, printable
from retinue.dialects.port import Parsed

from .vocabulary import to_wire

_RETRY: Final = "**Action:** Retry the operation, or go on by hand"


def display(answer: Parsed[Result] | Result | None, *, agent: str = "") -> str:
    """Markdown about an agent that failed; an answer that did not fail is nothing to show.

    Every word of the agent is escaped, so that it renders nothing and moves no cursor.

    Args:
        answer: Its answer; None when there is none.
        agent: Who was asked, for an agent that gave no answer.
    """
    if answer is None:
        return f"⚠️ {_line(to_wire(agent) or 'The agent')} failed to respond\n{_RETRY}"
    result = answer.value if isinstance(answer, Parsed) else answer
    fault = result.fault
    if fault is None:
        return ""
    parts = [f"❌ {_line(to_wire(result.agent))} Error: {_line(fault.message or 'Unknown error')}"]
    suggestions = [_line(each) for each in dict.fromkeys((fault.hint, *fault.suggestions)) if each.strip()]
    if suggestions:
        parts.append("\n".join(["**Recovery Options:**", *(f"- {each}" for each in suggestions)]))
    if result.data not in (None, {}, []):
        parts.append(f"**Partial Results Available:**\n\n{_fence(result.data)}")
    return "\n\n".join(parts)


def _line(text: str) -> str:
    return escape_markdown(printable(text), form="line")


def _fence(data: object) -> str:
    """JSON in a fence that nothing inside it can end: a line of it never starts with a backtick."""
    text = printable(json.dumps(data, indent=2, ensure_ascii=False))
    return f"```json\n{text}\n```"
