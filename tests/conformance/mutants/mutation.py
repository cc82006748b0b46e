"""How the good agents of the dialects are broken: a check is trusted once it has failed.

The good ones, and what can go wrong in one dialect only, are in each dialect's `broken`.
"""

import json
from collections.abc import Callable
from itertools import count
from threading import Barrier, BrokenBarrierError
from typing import Any, Final, TypeAlias

from retinue.conformance.requests import TOGETHER, mark_of

AgentFunction: TypeAlias = Callable[[str], str | None]
"""An agent: from the text of a request to that of an answer."""
Body: TypeAlias = dict[str, Any]
"""The JSON object that an agent answers, before it is written."""

_PATIENCE_S: Final = 5.0
"""How long an agent that mixes requests waits until it has them all."""


class GoodAgent:
    """An agent with nothing wrong that answers JSON objects, and the agents that it becomes when it is broken.

    Args:
        answer: What it answers to the text of a request.
        kind: Which kind of answer that is, as `when` names it.
    """

    def __init__(self, answer: Callable[[str], Body], *, kind: Callable[[Body], str] = lambda _: "") -> None:
        self._answer = answer
        self._kind = kind

    def __call__(self, text: str) -> str:
        """Answer."""
        return _to_json(self._answer(text))

    def with_change(self, change: Callable[[Body], object], *, when: str = "") -> AgentFunction:
        """It, with `change` made to every answer, or to those of one kind."""

        def answer(text: str) -> str:
            body = self._answer(text)
            if when in {"", self._kind(body)}:
                change(body)
            return _to_json(body)

        return answer

    def with_value(self, path: str, value: object, *, when: str = "") -> AgentFunction:
        """It, with `value` at `path` (as `warnings/0/type`) of its answers."""

        def change(body: Body) -> None:
            place, name = _place(body, path)
            place[name] = value

        return self.with_change(change, when=when)

    def without(self, path: str, *, when: str = "") -> AgentFunction:
        """It, with nothing at `path` of its answers."""

        def change(body: Body) -> None:
            place, name = _place(body, path)
            del place[name]

        return self.with_change(change, when=when)

    def fenced(self, text: str) -> str:
        """Answer in a fence, with words before it."""
        return f"Here is the analysis:\n```json\n{self(text)}\n```\n"

    def garbled(self, text: str) -> str:
        """Answer in UTF-8 that was read as Latin-1."""
        return self(text).encode().decode("latin-1")


def _place(body: Body, path: str) -> tuple[Any, str | int]:
    """The object or list that holds what `path` names, and its key or index there."""
    place: Any = body
    *above, last = [int(name) if name.isdigit() else name for name in path.split("/")]
    for name in above:
        place = place[name]
    return place, last


def _to_json(body: Body) -> str:
    return json.dumps(body, ensure_ascii=False)


def alternating(one: AgentFunction, other: AgentFunction) -> AgentFunction:
    """An agent that answers as `one` and as `other` in turn."""
    turns = count()

    def answer(text: str) -> str | None:
        agent = other if next(turns) % 2 else one
        return agent(text)

    return answer


def mixing(agent: AgentFunction) -> AgentFunction:
    """`agent`, keeping what it was asked in one place for all requests: those of `TOGETHER` get the same answer."""
    latest = ""
    all_in = Barrier(len(TOGETHER))

    def answer(text: str) -> str | None:
        nonlocal latest
        if not any(mark_of(name) in text for name in TOGETHER):
            return agent(text)
        latest = text
        try:
            all_in.wait(timeout=_PATIENCE_S)
        except BrokenBarrierError:
            return agent(text)
        return agent(latest)

    return answer
