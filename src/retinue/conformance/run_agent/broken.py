"""An agent of spec 001 that does everything right, and for each requirement one that breaks it.

A check is trusted once it has failed. Every agent here is a function from the text of a call to that of an answer.
"""

import json
import time
from collections.abc import Callable, Mapping
from threading import Barrier, BrokenBarrierError
from typing import Any, Final, TypeAlias, cast

from retinue.conformance.port import Asking

__all__ = ["ASKING", "BROKEN", "GOOD"]

_Speaks: TypeAlias = Callable[[str], str | None]
_Answer: TypeAlias = dict[str, Any]

ASKING: Final = Asking(agent="assistant", instruction="What is on my list today?")
"""How the agents of this module are asked validly."""

_MOST: Final = 10_000


# The good one.


def GOOD(text: str) -> str:  # noqa: N802 - a constant of its kind, beside `BROKEN`
    """An agent with nothing wrong."""
    return json.dumps(_answer(text), ensure_ascii=False)


def _answer(text: str) -> _Answer:
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


def _arguments(text: str) -> _Answer:
    try:
        said: object = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    arguments = cast("_Answer", said) if isinstance(said, dict) else {}
    return arguments if isinstance(arguments.get("prompt"), str) else {"prompt": text}


# The broken ones: the good one's answer, changed.


def _with(path: str, value: object) -> _Speaks:
    """The good agent, with `value` at `path` (as `traces/0/args`) of its answers."""
    *above, last = path.split("/")

    def speak(text: str) -> str:
        answer = _answer(text)
        place: Any = answer
        for name in above:
            place = place[int(name) if name.isdigit() else name]
        place[last] = value
        return json.dumps(answer, ensure_ascii=False)

    return speak


def _failing(name: str, fails: Callable[[Any], bool]) -> _Speaks:
    """The good agent, which reports a failure where the argument `name` is such."""

    def speak(text: str) -> str:
        arguments = _arguments(text)
        if name in arguments and fails(arguments[name]):
            return json.dumps({**_answer(text), "content": "", "error": f"TypeError: {name}"})
        return GOOD(text)

    return speak


def _silent(text: str) -> str | None:
    return GOOD(text) if len(text) < _MOST else None


def _fenced(text: str) -> str:
    return f"```json\n{GOOD(text)}\n```"


def _untraced(text: str) -> str:
    answer = _answer(text)
    del answer["traces"]
    return json.dumps(answer)


def _mangling(text: str) -> str:
    answer = _answer(text)
    return json.dumps({**answer, "content": answer["content"].encode("ascii", "replace").decode()})


def _deaf_to_corrections(text: str) -> str:
    return "I am sorry about that." if "was refused" in text else GOOD(text)


def _mixing() -> _Speaks:
    """Keeps what it was asked in one place for all calls."""
    asked = ""
    together = Barrier(3)

    def speak(text: str) -> str:
        nonlocal asked
        if "MARK-TOGETHER" not in text:
            return GOOD(text)
        asked = text
        try:
            together.wait(timeout=5)
        except BrokenBarrierError:
            return GOOD(text)
        return GOOD(asked)

    return speak


BROKEN: Final[Mapping[str, _Speaks]] = {
    f"run_agent/{name}": speaks
    for name, speaks in {
        "answers": _silent,
        "json": _fenced,
        "schema": _untraced,
        "content": _with("content", ["Milk", "bread"]),
        "says-something": _with("content", " "),
        "response-time": _with("response_time_secs", "2.81s"),
        "wall-clock": _with("response_time_secs", 1250),
        "traces": _with("traces", None),
        "trace-tool": _with("traces/0/tool", ""),
        "trace-output": _with("traces/0/output", {"items": 2}),
        "trace-args": _with("traces/0/args", None),
        "trace-duration": _with("traces/0/duration_secs", "0.34"),
        "trace-keys": _with("traces/0/cost", 0.1),
        "trace-time": _with("traces/0/duration_secs", 340),
        "arguments": _failing("memory", bool),
        "nulls": _failing("chat_history", lambda history: history is None),
        "history": _failing("chat_history", lambda history: bool(history) and not history.startswith("user:")),
        "unknown-config": _failing("config", lambda config: bool(config) and "unheard_of" in config),
        "not-ascii": _mangling,
        "unmixed": _mixing(),
        "corrected": _deaf_to_corrections,
        "strict": _with("response_time_secs", -1),
    }.items()
}
"""By the id of the requirement that each breaks."""
