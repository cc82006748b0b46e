"""The uses of tools in one response: judged, done, answered. What comes of one is an answer that a model can act on.

May a tool be used at all? That is the business of whoever hands in the function that uses it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from retinue.contract.definition import ToolSpec
from retinue.contract.json import dumps, loads
from retinue.contract.names import nearest
from retinue.contract.sanitize import printable
from retinue.contract.text import listed
from retinue.errors import Canceled, InvalidInput, ParseError, RetinueError

from .port import Answered, ToolAnswer, ToolAnswers, ToolUse, Turn

__all__ = ["MAX_ARGUMENTS", "MAX_USES", "Repetition", "Use", "answer_all", "named_apart", "pending"]

Use: TypeAlias = Callable[[ToolUse], Awaitable[ToolAnswer]]
"""Uses a tool. What it raises becomes a failed answer."""

MAX_ARGUMENTS: Final = 2**20
"""Characters of JSON that the arguments of one use may have."""

MAX_USES: Final = 64
"""Uses in one response that are looked at."""

_MAX_ANSWER: Final = 2**20
_TOLD_AT: Final = 3
_LONGEST_NAME: Final = 80
_TOO_MANY: Final = f"invalid_input: not done: one answer may use {MAX_USES} tools. Ask for fewer at a time."


async def answer_all(
    uses: Sequence[ToolUse],
    tools: Sequence[ToolSpec],
    use: Use | None,
    *,
    told: Callable[[Sequence[ToolAnswer]], None],
    repeats: Sequence[int] = (),
) -> tuple[ToolAnswer, ...]:
    """An answer for each of `uses`, in their order.

    Those that only read are done side by side; as soon as one may do more, all are done one after the other.

    Args:
        uses: What the model wants.
        tools: What there is.
        use: Does it; None when there is nobody.
        told: Hears the answers so far, after each one that was not done side by side.
        repeats: How often in a row each was asked for now.
    """
    specs = {tool.name: tool for tool in tools}
    counts = repeats or (1,) * len(uses)
    if len(uses) > MAX_USES:
        kept = await answer_all(uses[:MAX_USES], tools, use, told=told, repeats=counts[:MAX_USES])
        return (*kept, *(ToolAnswer(each.id, each.name, _TOO_MANY, failed=True) for each in uses[MAX_USES:]))
    if len(uses) > 1 and all(set(specs[each.name].effects) <= {"read"} for each in uses if each.name in specs):
        return await _side_by_side(uses, specs, use, counts)
    answers: list[ToolAnswer] = []
    for each, count in zip(uses, counts, strict=True):
        answers.append(await _answer(each, specs, use, count))
        told(answers)
    return tuple(answers)


def named_apart(uses: Sequence[ToolUse]) -> tuple[ToolUse, ...]:
    """The same uses with an id for each, and no id twice."""
    ids = {each.id for each in uses}
    if len(ids) == len(uses) and "" not in ids:
        return tuple(uses)
    seen: set[str] = {""}
    apart: list[ToolUse] = []
    for each in uses:
        name, number = each.id, 1
        while name in seen:
            number += 1
            name = f"{each.id or 'use'}_{number}"
            if name in ids:
                name = ""
        seen.add(name)
        apart.append(each if name == each.id else replace(each, id=name))
    return tuple(apart)


class Repetition:
    """Counts how often in a row the very same use was asked for."""

    def __init__(self) -> None:
        self._last: tuple[str, str] | None = None
        self._count = 0

    def count(self, uses: Sequence[ToolUse]) -> list[int]:
        """How often in a row each of `uses` was asked for, itself included."""
        counts: list[int] = []
        for each in uses:
            what = (each.name, each.raw or _written(each))
            self._count = self._count + 1 if what == self._last else 1
            self._last = what
            counts.append(self._count)
        return counts


async def _side_by_side(
    uses: Sequence[ToolUse], specs: dict[str, ToolSpec], use: Use | None, counts: Sequence[int]
) -> tuple[ToolAnswer, ...]:
    # What ends the whole conversation comes out as a value: the others are done to their end, so that they need not be
    # done again, and a group of Python 3.11 whose task fails leaves whoever waits for it marked as cancelled.
    async def answered(wanted: ToolUse, count: int) -> ToolAnswer | BaseException:
        try:
            return await _answer(wanted, specs, use, count)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - it is raised below
            return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(answered(each, count)) for each, count in zip(uses, counts, strict=True)]
    answers: list[ToolAnswer] = []
    for task in tasks:
        came = task.result()
        if isinstance(came, BaseException):
            raise came
        answers.append(came)
    return tuple(answers)


async def _answer(use: ToolUse, specs: dict[str, ToolSpec], do: Use | None, count: int) -> ToolAnswer:
    refusal = _refusal(use, specs, do)
    if refusal or do is None:
        return ToolAnswer(use.id, use.name, refusal, failed=True)
    try:
        answer = await do(use)
    except Canceled:
        raise
    except RetinueError as error:
        return ToolAnswer(use.id, use.name, _said(error), failed=True)
    except Exception as error:  # noqa: BLE001 - a tool's own mistake must not end the conversation
        text = f"internal_error: the tool {use.name!r} failed with {type(error).__name__}. Try something else."
        return ToolAnswer(use.id, use.name, text, failed=True)
    text = answer.text if len(answer.text) <= _MAX_ANSWER else f"{answer.text[:_MAX_ANSWER]}\n[cut off here]"
    if count >= _TOLD_AT:
        text += (
            f"\n\n[You have asked for exactly this {count} times in a row, and the answer does not change. "
            "Go on with what you know, or ask for something else.]"
        )
    return ToolAnswer(use.id, use.name, text, failed=answer.failed)


def _refusal(use: ToolUse, specs: dict[str, ToolSpec], do: Use | None) -> str:
    """Why the use cannot be tried at all; empty when it can."""
    if use.name not in specs or do is None:
        called = printable(use.name[:_LONGEST_NAME])
        if not specs or do is None:
            return f"invalid_input: there is no tool {called!r}; there are no tools here. Answer without."
        near = nearest(use.name, specs)
        meant = f"Did you mean {listed([f'`{name}`' for name in near])}? " if near else ""
        there = ", ".join(f"`{name}`" for name in specs)
        return f"invalid_input: there is no tool {called!r}. {meant}The tools are {there}."
    if use.arguments is None:
        return _no_arguments(use)
    try:
        dumps(use.arguments, max_bytes=4 * MAX_ARGUMENTS)
    except InvalidInput as error:
        return f"invalid_input: the arguments of `{use.name}` cannot be taken: {error.message} {error.hint}"
    return ""


def _no_arguments(use: ToolUse) -> str:
    what, hint = "they are not a JSON object", "Send one JSON object that fits the tool's schema."
    if len(use.raw) > MAX_ARGUMENTS:
        what, hint = f"they are longer than {MAX_ARGUMENTS:,} characters", "Send less, or in several calls."
    elif use.raw:
        try:
            loads(use.raw, max_bytes=4 * MAX_ARGUMENTS)
        except ParseError as error:
            what, hint = error.message, error.hint
    return f"invalid_input: the arguments of `{use.name}` cannot be taken: {what}. {hint}".replace("..", ".")


def _said(error: RetinueError) -> str:
    where = f" (at `{error.path}`)" if error.path else ""
    return " ".join(part for part in (f"{error.code}: {error.message}{where}", error.hint) if part)


def _written(use: ToolUse) -> str:
    try:
        return dumps(use.arguments)
    except InvalidInput:
        return repr(use.arguments)[:MAX_ARGUMENTS]


def pending(turns: Sequence[Turn]) -> tuple[tuple[ToolUse, ...], tuple[ToolAnswer, ...]]:
    """The uses at the end of `turns` that nobody has answered yet, and the answers to others of the same response."""
    last = turns[-1] if turns else None
    if isinstance(last, Answered):
        return last.uses, ()
    before = turns[-2] if len(turns) > 1 else None
    if isinstance(last, ToolAnswers) and isinstance(before, Answered):
        answered = {answer.id for answer in last.answers}
        return tuple(use for use in before.uses if use.id not in answered), last.answers
    return (), ()
