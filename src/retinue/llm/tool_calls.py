"""The tool calls of one response: checked, executed, and each given a result that a model can act on.

Whether a tool may be used at all is decided by the `ToolCaller`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from retinue.contract.definition import ToolSpec
from retinue.contract.formatting import natural_list
from retinue.contract.json import dumps, loads
from retinue.contract.names import nearest
from retinue.contract.sanitize import printable
from retinue.errors import Canceled, InvalidInput, ParseError, RetinueError

from .port import AssistantMessage, ToolCall, ToolResult, ToolResults, Turn

ToolCaller: TypeAlias = Callable[[ToolCall], Awaitable[ToolResult]]
"""Uses a tool. What it raises becomes a failed result."""

MAX_ARGUMENTS: Final = 2**20
"""Characters of JSON that the arguments of one call may have."""

MAX_TOOL_CALLS: Final = 64
"""Calls in one response that are executed."""

_MAX_ANSWER: Final = 2**20
_WARN_AT: Final = 3
_LONGEST_NAME: Final = 80
_TOO_MANY: Final = f"invalid_input: not done: one answer may use {MAX_TOOL_CALLS} tools. Ask for fewer at a time."


async def execute_all(
    calls: Sequence[ToolCall],
    tools: Sequence[ToolSpec],
    call_tool: ToolCaller | None,
    *,
    on_results: Callable[[Sequence[ToolResult]], None],
    repeats: Sequence[int] = (),
) -> tuple[ToolResult, ...]:
    """An answer for each of `calls`, in their order.

    Those that only read are done side by side; as soon as one may do more, all are done one after the other.

    Args:
        calls: What the model wants.
        tools: What there is.
        call_tool: Does it; None when there is nobody.
        on_results: Hears the answers so far, after each one that was not done side by side.
        repeats: How often in a row each was asked for now.
    """
    specs = {tool.name: tool for tool in tools}
    counts = repeats or (1,) * len(calls)
    if len(calls) > MAX_TOOL_CALLS:
        head = await execute_all(
            calls[:MAX_TOOL_CALLS], tools, call_tool, on_results=on_results, repeats=counts[:MAX_TOOL_CALLS]
        )
        return (*head, *(ToolResult(each.id, each.name, _TOO_MANY, failed=True) for each in calls[MAX_TOOL_CALLS:]))
    if len(calls) > 1 and all(set(specs[each.name].effects) <= {"read"} for each in calls if each.name in specs):
        return await _execute_concurrently(calls, specs, call_tool, counts)
    results: list[ToolResult] = []
    for each, count in zip(calls, counts, strict=True):
        results.append(await _execute(each, specs, call_tool, count))
        on_results(results)
    return tuple(results)


def with_unique_ids(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """The same calls with an id for each, and no id twice."""
    ids = unique_ids([call.id for call in calls])
    return tuple(call if call.id == id_ else replace(call, id=id_) for call, id_ in zip(calls, ids, strict=True))


def unique_ids(ids: Sequence[str]) -> list[str]:
    """`ids` with a new id for each that is empty or repeats an earlier one: results are paired with calls by it."""
    all_ids, used_ids, renamed = set(ids), {""}, list[str]()
    for each in ids:
        name, number = each, 1
        while name in used_ids or (number > 1 and name in all_ids):
            number += 1
            name = f"{each or 'use'}_{number}"
        used_ids.add(name)
        renamed.append(name)
    return renamed


class RepetitionCounter:
    """Counts how often in a row the very same use was asked for."""

    def __init__(self) -> None:
        self._last: tuple[str, str] | None = None
        self._count = 0

    def count(self, calls: Sequence[ToolCall]) -> list[int]:
        """How often in a row each of `calls` was asked for, itself included."""
        counts: list[int] = []
        for each in calls:
            what = (each.name, each.raw or json_text(each.arguments))
            self._count = self._count + 1 if what == self._last else 1
            self._last = what
            counts.append(self._count)
        return counts


async def _execute_concurrently(
    calls: Sequence[ToolCall], specs: dict[str, ToolSpec], call_tool: ToolCaller | None, counts: Sequence[int]
) -> tuple[ToolResult, ...]:
    # What ends the whole conversation comes out as a value: the others are done to their end, so that they need not be
    # done again, and a group of Python 3.11 whose task fails leaves whoever waits for it marked as cancelled.
    async def execute(call: ToolCall, count: int) -> ToolResult | BaseException:
        try:
            return await _execute(call, specs, call_tool, count)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - it is raised below
            return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(execute(each, count)) for each, count in zip(calls, counts, strict=True)]
    results: list[ToolResult] = []
    for task in tasks:
        outcome = task.result()
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return tuple(results)


async def _execute(call: ToolCall, specs: dict[str, ToolSpec], call_tool: ToolCaller | None, count: int) -> ToolResult:
    refusal = _refusal(call, specs, call_tool)
    if refusal or call_tool is None:
        return ToolResult(call.id, call.name, refusal, failed=True)
    try:
        result = await call_tool(call)
    except Canceled:
        raise
    except RetinueError as error:
        return ToolResult(call.id, call.name, error_text(error), failed=True)
    except Exception as error:  # noqa: BLE001 - a tool's own mistake must not end the conversation
        text = f"internal_error: the tool {call.name!r} failed with {type(error).__name__}. Try something else."
        return ToolResult(call.id, call.name, text, failed=True)
    text = result.text if len(result.text) <= _MAX_ANSWER else f"{result.text[:_MAX_ANSWER]}\n[cut off here]"
    if count >= _WARN_AT:
        text += (
            f"\n\n[You have asked for exactly this {count} times in a row, and the answer does not change. "
            "Go on with what you know, or ask for something else.]"
        )
    return ToolResult(call.id, call.name, text, failed=result.failed)


def _refusal(call: ToolCall, specs: dict[str, ToolSpec], call_tool: ToolCaller | None) -> str:
    """Why the use cannot be tried at all; empty when it can."""
    if call.name not in specs or call_tool is None:
        label = printable(call.name[:_LONGEST_NAME])
        if not specs or call_tool is None:
            return f"invalid_input: there is no tool {label!r}; there are no tools here. Answer without."
        near = nearest(call.name, specs)
        suggestion = f"Did you mean {natural_list([f'`{name}`' for name in near])}? " if near else ""
        names = ", ".join(f"`{name}`" for name in specs)
        return f"invalid_input: there is no tool {label!r}. {suggestion}The tools are {names}."
    what, hint = "they are not a JSON object", "Send one JSON object that fits the tool's schema."
    try:
        if call.arguments is not None:
            dumps(call.arguments, max_bytes=4 * MAX_ARGUMENTS)
            return ""
        if len(call.raw) > MAX_ARGUMENTS:
            what, hint = f"they are longer than {MAX_ARGUMENTS:,} characters", "Send less, or in several calls."
        elif call.raw:
            loads(call.raw, max_bytes=4 * MAX_ARGUMENTS)
    except (InvalidInput, ParseError) as error:
        what, hint = error.message.removesuffix("."), error.hint
    return f"invalid_input: the arguments of `{call.name}` cannot be used: {what}. {hint}"


def error_text(error: RetinueError) -> str:
    """`error` as a model reads it: its code, message, place and hint."""
    where = f" (at `{error.path}`)" if error.path else ""
    return " ".join(part for part in (f"{error.code}: {error.message}{where}", error.hint) if part)


def json_text(value: object) -> str:
    """`value` as JSON, or as Python shows it where JSON cannot hold it."""
    try:
        return dumps(value)
    except InvalidInput:
        return repr(value)[:MAX_ARGUMENTS]


def pending_calls(turns: Sequence[Turn]) -> tuple[tuple[ToolCall, ...], tuple[ToolResult, ...]]:
    """The uses at the end of `turns` that nobody has answered yet, and the answers to others of the same response."""
    last = turns[-1] if turns else None
    if isinstance(last, AssistantMessage):
        return last.tool_calls, ()
    before = turns[-2] if len(turns) > 1 else None
    if isinstance(last, ToolResults) and isinstance(before, AssistantMessage):
        answered_ids = {answer.id for answer in last.results}
        return tuple(call for call in before.tool_calls if call.id not in answered_ids), last.results
    return (), ()
