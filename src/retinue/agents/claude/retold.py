"""A conversation told as one text, for a process of Claude Code that was not there."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from retinue.agents.prompted.fence import fenced
from retinue.contract.json import dumps
from retinue.llm.port import Answered, Said, ToolAnswers, Turn

__all__ = ["retold"]


def retold(turns: Sequence[Turn]) -> str:
    """What was asked; and where there was more, what was said and done so far, between marks, and what is asked now."""
    answered = [place for place, turn in enumerate(turns) if not isinstance(turn, Said)]
    if not answered:
        return "\n\n".join(turn.text for turn in turns if isinstance(turn, Said))
    first, last = answered[0], answered[-1] + 1
    done = "\n\n".join(line for turn in turns[first:last] for line in _lines(turn))
    parts = [turn.text for turn in turns[:first] if isinstance(turn, Said)]
    parts.append("You have begun already. What you said and did:")
    parts.append(fenced(done, "this conversation so far"))
    parts += [turn.text for turn in turns[last:] if isinstance(turn, Said)] or ["Go on from there."]
    return "\n\n".join(parts)


def _lines(turn: Turn) -> Iterator[str]:
    match turn:
        case Said(text):
            yield f"You were told: {text}"
        case Answered():
            if turn.text:
                yield f"You said: {turn.text}"
            for use in turn.uses:
                yield f"You used `{use.name}` with {use.raw if use.arguments is None else dumps(use.arguments)}"
        case ToolAnswers(answers):
            for answer in answers:
                yield f"`{answer.name}` {'failed' if answer.failed else 'answered'}: {answer.text}"
        case _:
            assert_never(turn)
