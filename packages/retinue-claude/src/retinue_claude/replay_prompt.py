"""A conversation told as one text, for a process of Claude Code that was not there."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from retinue.agents.prompted.task_prompt import as_data_block
from retinue.contract.json import dumps
from retinue.llm.port import AssistantMessage, ToolResults, Turn, UserMessage


def replay_prompt(turns: Sequence[Turn]) -> str:
    """What was asked; and where there was more, what was said and done so far, between marks, and what is asked now."""
    positions = [position for position, turn in enumerate(turns) if not isinstance(turn, UserMessage)]
    if not positions:
        return "\n\n".join(turn.text for turn in turns if isinstance(turn, UserMessage))
    first, last = positions[0], positions[-1] + 1
    history = "\n\n".join(line for turn in turns[first:last] for line in _lines(turn))
    parts = [turn.text for turn in turns[:first] if isinstance(turn, UserMessage)]
    parts.append("You have begun already. What you said and did:")
    parts.append(as_data_block(history, "this conversation so far"))
    parts += [turn.text for turn in turns[last:] if isinstance(turn, UserMessage)] or ["Go on from there."]
    return "\n\n".join(parts)


def _lines(turn: Turn) -> Iterator[str]:
    match turn:
        case UserMessage(text):
            yield f"You were told: {text}"
        case AssistantMessage():
            if turn.text:
                yield f"You said: {turn.text}"
            for call in turn.tool_calls:
                yield f"You used `{call.name}` with {call.raw if call.arguments is None else dumps(call.arguments)}"
        case ToolResults(results):
            for result in results:
                yield f"`{result.name}` {'failed' if result.failed else 'answered'}: {result.text}"
        case _:
            assert_never(turn)
