"""What a person types, as the answer it is. Asking itself is tested at a terminal."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Generator
from typing import Any

import pytest

from retinue.cli.questions import TerminalAnswerer
from retinue.contract.task import Answer, Question

FREE = Question(id="q", text="What?")
COUNT = Question(id="q", text="How many?", answer_schema={"type": "integer", "minimum": 1})
ODD = Question(id="q", text="What?", answer_schema={"type": "nonsense"})
YES = Question(id="q", text="May I?", kind="approval")
CHOICE = Question(id="q", text="Which?", kind="choice", options=("red", "blue"), agent="painter")
SUGGESTED = Question(id="q", text="Which?", options=("red", "blue"))


@contextlib.contextmanager
def aside() -> Generator[None]:
    yield


def asked(question: Question, typed: bytes, monkeypatch: pytest.MonkeyPatch) -> Answer | None:
    """What a person answers who types `typed`, line by line."""

    async def ask() -> Answer | None:
        reader, writer = os.pipe()
        lines = typed.splitlines(keepends=True) or [b""]
        with os.fdopen(reader) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            task = asyncio.create_task(TerminalAnswerer(aside)(question))
            for line in lines:
                os.write(writer, line)
                while line and not task.done() and _unread(reader):  # noqa: ASYNC110 - the pipe has no event
                    await asyncio.sleep(0)
            os.close(writer)
            return await task

    return asyncio.run(ask())


def _unread(descriptor: int) -> bool:
    import select

    return bool(select.select([descriptor], [], [], 0)[0])


@pytest.mark.parametrize(
    ("question", "typed", "value"),
    [
        (FREE, b"  forty two \n", "forty two"),
        (FREE, b"no line end", "no line end"),
        (FREE, "naïve\n".encode("latin-1"), "na\ufffdve"),
        (COUNT, b"3\n", 3),
        (COUNT, b"many\n0\n2\n", 2),
        (ODD, b"x\n", "x"),
        (YES, b"YES\n", True),
        (YES, b"y\n", True),
        (YES, b"perhaps\n", False),
        (CHOICE, b"2\n", "blue"),
        (CHOICE, b"red\n", "red"),
        (CHOICE, b"3\ngreen\nblue\n", "blue"),
        (SUGGESTED, b"green\n", "green"),
        (SUGGESTED, b"1\n", "red"),
    ],
)
def test_what_was_typed_is_the_answer(
    question: Question, typed: bytes, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = asked(question, typed, monkeypatch)
    assert answer is not None
    assert (answer.value, answer.by) == (value, "person")
    assert type(answer.value) is type(value)


@pytest.mark.parametrize("typed", [b"", b"\n", b"3\n3\n3\nred\n"])
def test_nothing_typed_or_nothing_that_fits_is_no_answer(typed: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(CHOICE, typed, monkeypatch) is None


def test_a_question_cannot_move_the_cursor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = Question(id="q", text="\x1b[2J?", options=("\u202ea",), agent="a")
    asked(hostile, b"\n", monkeypatch)
    told = capsys.readouterr().err
    assert "\x1b[2J" not in told
    assert "\u202e" not in told
