"""Asking a person at the terminal: the `Answerer` that a command gives its engine.

What counts as an answer is checked by the engine; here only words typed become the value that is wanted.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

import click

from retinue.agents.boundary.decode_parameters import decode_parameters
from retinue.cli.output import echo_err, label, safe, safe_lines
from retinue.contract import schema
from retinue.contract.task import Answer, Question
from retinue.errors import InvalidInput, RetinueError

_TRIES: Final = 3
_LONGEST: Final = 65_536
_YES: Final = frozenset({"y", "yes", "true"})
_NO: Final = frozenset({"n", "no", "false"})


class TerminalAnswerer:
    """Somebody at the terminal, asked one question after the other.

    Args:
        pause_screen: Makes room on the screen while a question is open.
    """

    def __init__(self, pause_screen: Callable[[], AbstractContextManager[None]]) -> None:
        self._pause_screen = pause_screen
        self._turn = asyncio.Lock()

    async def __call__(self, question: Question) -> Answer | None:
        """Ask; None when nothing was typed."""
        async with self._turn:
            with self._pause_screen():
                return await self._ask(question)

    async def _ask(self, question: Question) -> Answer | None:
        asker = f"{question.agent} asks" if question.agent else "a question"
        echo_err(f"{label(safe(asker), 'yellow')}: {safe_lines(question.text)}")
        for number, option in enumerate(question.options, 1):
            echo_err(f"  {number}. {safe(option)}")
        for _ in range(_TRIES):
            prompt = "yes or no [no]" if question.kind == "approval" else "your answer, or Enter to skip"
            if question.options and question.kind != "approval":
                words = "your answer, " if question.kind == "question" else ""
                prompt = f"{words}1 to {len(question.options)}, or Enter to skip"
            line = (await _line(f"{prompt} > ")).strip()
            while question.kind == "question" and line.endswith("\\"):  # the answer goes on
                line = f"{line[:-1]}\n{(await _line('… > ')).rstrip()}"
            if not line:
                return None
            try:
                return Answer(question_id=question.id, value=_value(question, line))
            except ValueError as error:
                echo_err(str(error))
        return None


def ask_person(question: Question) -> Answer | None:
    """Ask the person at the terminal; None when nothing was typed."""
    return asyncio.run(TerminalAnswerer(nullcontext)(question))


def answer_in(question: Question, words: str) -> Answer:
    """The answer that `words` say.

    Raises:
        InvalidInput: They do not fit the question.
    """
    if question.kind == "approval" and words.lower() not in _YES | _NO:
        raise InvalidInput(f"{words[:80]!r} is neither yes nor no.", hint="Answer `yes` or `no`.")
    try:
        return Answer(question_id=question.id, value=_value(question, words))
    except ValueError as error:
        raise InvalidInput(str(error), suggestions=question.options) from None


def _value(question: Question, line: str) -> object:
    """What `line` says."""
    if question.kind == "approval":
        return line.lower() in _YES
    if question.options and line.isdecimal() and 1 <= int(line) <= len(question.options):
        return question.options[int(line) - 1]
    choice = next((option for option in question.options if option.lower() == line.lower()), line)
    if question.kind == "choice" and question.options and choice not in question.options:
        raise ValueError(f"Invalid choice. Enter 1 to {len(question.options)}.")
    if choice in question.options or question.answer_schema is None:
        return choice
    members, _ = decode_parameters({"answer": line}, {"properties": {"answer": question.answer_schema}})
    try:
        findings = schema.compile(question.answer_schema).findings(members["answer"])
    except RetinueError:
        return members["answer"]  # its author's mistake; the boundary says more of it
    if findings:
        raise ValueError(" ".join(safe(finding.message) for finding in findings[:3]))
    return members["answer"]


async def _line(prompt: str) -> str:
    """A line from the terminal, without blocking the loop: a thread that reads cannot be stopped by Ctrl-C."""
    click.echo(prompt, err=True, nl=False)
    loop = asyncio.get_running_loop()
    descriptor = sys.stdin.fileno()
    ready = loop.create_future()
    loop.add_reader(descriptor, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
        typed = os.read(descriptor, _LONGEST)
    except asyncio.CancelledError:
        echo_err("")  # the cursor still stands behind the question
        raise
    finally:
        loop.remove_reader(descriptor)
    if not typed.endswith(b"\n"):
        echo_err("")
    return typed.decode(sys.stdin.encoding or "utf-8", "replace")
