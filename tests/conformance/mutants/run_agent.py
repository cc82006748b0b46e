"""An agent of spec 001 that does everything right, and for each requirement one that breaks it.

A check is trusted once it has failed. Every agent here is a function from the text of a call to that of an answer.
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from retinue.conformance.port import RequestTemplate
from tests.conformance.mutants.mutation import AgentFunction, Body, GoodAgent, mixing

TEMPLATE: Final = RequestTemplate(agent="assistant", instruction="What is on my list today?")
"""How the agents of this module are asked validly."""

_MOST: Final = 10_000


# The good one.


def _answer(text: str) -> Body:
    began = time.perf_counter()
    prompt = str(_arguments(text)["prompt"])[:_MOST]
    output = json.dumps(["milk", "bread"])
    took = time.perf_counter() - began
    trace = {"tool": "LISTS_GET_TODAY", "args": {"date": "2025-09-10"}, "output": output, "duration_secs": took}
    return {
        "content": f"Milk and bread. You asked: {prompt}",
        "response_time_secs": max(time.perf_counter() - began, took),
        "traces": [trace],
        "models": {"router": "none"},
    }


def _arguments(text: str) -> Body:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    arguments = cast("Body", value) if isinstance(value, dict) else {}
    return arguments if isinstance(arguments.get("prompt"), str) else {"prompt": text}


GOOD: Final = GoodAgent(_answer)
"""An agent with nothing wrong."""


# The broken ones.


def _failing(name: str, fails: Callable[[Any], bool]) -> AgentFunction:
    """The good agent, which reports a failure where the argument `name` is such."""

    def answer(text: str) -> str:
        arguments = _arguments(text)
        if name in arguments and fails(arguments[name]):
            return json.dumps({**_answer(text), "content": "", "error": f"TypeError: {name}"})
        return GOOD(text)

    return answer


def _silent(text: str) -> str | None:
    return GOOD(text) if len(text) < _MOST else None


def _deaf_to_corrections(text: str) -> str:
    return "I am sorry about that." if "was refused" in text else GOOD(text)


MUTANTS: Final[Mapping[str, AgentFunction]] = {
    f"run_agent/{name}": speaks
    for name, speaks in {
        "answers": _silent,
        "json": GOOD.fenced,
        "schema": GOOD.without("traces"),
        "content": GOOD.with_value("content", ["Milk", "bread"]),
        "says-something": GOOD.with_value("content", " "),
        "response-time": GOOD.with_value("response_time_secs", "2.81s"),
        "wall-clock": GOOD.with_value("response_time_secs", 1250),
        "traces": GOOD.with_value("traces", None),
        "trace-tool": GOOD.with_value("traces/0/tool", ""),
        "trace-output": GOOD.with_value("traces/0/output", {"items": 2}),
        "trace-args": GOOD.with_value("traces/0/args", None),
        "trace-duration": GOOD.with_value("traces/0/duration_secs", "0.34"),
        "trace-keys": GOOD.with_value("traces/0/cost", 0.1),
        "trace-time": GOOD.with_value("traces/0/duration_secs", 340),
        "arguments": _failing("memory", bool),
        "nulls": _failing("chat_history", lambda history: history is None),
        "history": _failing("chat_history", lambda history: bool(history) and not history.startswith("user:")),
        "unknown-config": _failing("config", lambda config: bool(config) and "unheard_of" in config),
        "not-ascii": GOOD.garbled,
        "unmixed": mixing(GOOD),
        "corrected": _deaf_to_corrections,
        "strict": GOOD.with_value("response_time_secs", -1),
    }.items()
}
"""By the id of the requirement that each breaks."""
