"""Whatever a subject does, it is an exchange: never an exception, and never a wait without end."""

import asyncio
import inspect
import json
import sys
import textwrap
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pydantic import BaseModel

from retinue.conformance.port import CheckSubject, Probe, ProbeExchange, RequestTemplate
from retinue.conformance.subjects import (
    CallableSubject,
    CommandSubject,
    callable_subject,
    command_subject,
    module_subject,
)
from retinue.errors import AccessDenied, InvalidDefinition, InvalidInput, MissingFile, NotInstalled, UnknownName

PROBE = Probe("valid", RequestTemplate().task("valid"), "A request as it should be.")


def put(subject: CheckSubject, sent: str = "hello", *, timeout_s: float = 10.0) -> ProbeExchange:
    try:
        return asyncio.run(subject.send(PROBE, sent, timeout_s=timeout_s))
    finally:
        subject.close()


def called(function: Callable[[str], object], sent: str = "hello", *, timeout_s: float = 10.0) -> ProbeExchange:
    return put(CallableSubject(function), sent, timeout_s=timeout_s)


# Callables.


class Model(BaseModel):
    content: str


def hangs(text: str) -> None:
    threading.Event().wait(30)


async def hangs_too(text: str) -> None:
    await asyncio.Event().wait()


async def blocks(text: str) -> None:
    threading.Event().wait(30)


def exits(text: str) -> NoReturn:
    sys.exit(3)


async def exits_too(text: str) -> NoReturn:
    sys.exit(3)


def raises(text: str) -> NoReturn:
    raise ValueError(f"cannot do {text}")


async def raises_too(text: str) -> NoReturn:
    raise ValueError(f"cannot do {text}")


def late_itself(text: str) -> NoReturn:
    raise TimeoutError("mine")


async def late_itself_too(text: str) -> NoReturn:
    raise TimeoutError("mine")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def raises_unprintably(text: str) -> NoReturn:
    raise Unprintable


async def echoes(text: str) -> str:
    await asyncio.sleep(0)
    return text.upper()


ANSWERS: list[tuple[Callable[[str], object], str]] = [
    (str.upper, "HELLO"),
    (echoes, "HELLO"),
    (lambda text: echoes(f"{text}"), "HELLO"),
    (lambda text: {"said": text, "n": [1, None]}, '{"said": "hello", "n": [1, null]}'),
    (lambda text: ["Größe"], '["Größe"]'),
    (lambda text: Model(content=text), '{"content": "hello"}'),
    (lambda text: b"bytes \xff", "bytes \udcff"),
    (lambda text: "", ""),
    (lambda text: 7, "7"),
    (lambda text: float("nan"), "NaN"),
]
FAILURES: list[tuple[Callable[[str], object], str]] = [
    (lambda text: None, "It returned `None`"),
    (lambda text: object(), "It returned a `object`, which is not JSON"),
    (lambda text: {1: {2, 3}}, "It returned a `dict`, which is not JSON"),
    (raises, "It raised `ValueError`: cannot do hello"),
    (raises_too, "It raised `ValueError`: cannot do hello"),
    (exits, "tried to end the program: `SystemExit`"),
    (exits_too, "tried to end the program: SystemExit"),
    (late_itself, "TimeoutError: mine"),
    (late_itself_too, "TimeoutError: mine"),
    (raises_unprintably, "It raised `Unprintable`: (it cannot be printed)"),
]


@pytest.mark.parametrize(("function", "text"), ANSWERS)
def test_what_a_callable_returns_is_its_answer(function: Callable[[str], object], text: str) -> None:
    exchange = called(function)
    assert (exchange.text, exchange.error, exchange.late) == (text, "", False)
    assert exchange.duration_ns > 0


@pytest.mark.parametrize(("function", "told"), FAILURES)
def test_what_is_no_answer_says_why(function: Callable[[str], object], told: str) -> None:
    exchange = called(function)
    assert exchange.text is None
    assert told in exchange.error
    assert not exchange.late


@pytest.mark.parametrize("function", [hangs, hangs_too, blocks])
def test_one_that_hangs_is_left_behind(function: Callable[[str], object]) -> None:
    exchange = called(function, timeout_s=0.05)
    assert (exchange.text, exchange.late) == (None, True)
    assert exchange.error == "There was no answer within 0.05 s."


def test_an_endless_answer_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callable_subject, "MOST", 100)
    exchange = called(lambda text: "x" * 101)
    assert (exchange.text, exchange.error) == (None, "It returned more than 100 characters.")


def test_a_subject_that_floods_again_and_again_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callable_subject, "MOST", 100)
    calls: list[str] = []

    def floods(text: str) -> str:
        calls.append(text)
        return "x" * 101

    subject = CallableSubject(floods)
    said = [put(subject).error for _ in range(5)]
    assert len(calls) == 3
    assert said[3:] == ["It returned more than 100 characters 3 times, and was not asked again."] * 2


def test_coroutines_of_one_subject_share_a_loop() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def remembers(text: str) -> str:
        loops.append(asyncio.get_running_loop())
        return text

    async def conduct() -> None:
        await asyncio.gather(*(subject.send(PROBE, str(number), timeout_s=10) for number in range(3)))

    subject = CallableSubject(remembers)
    asyncio.run(conduct())
    subject.close()
    subject.close()
    assert len(loops) == 3
    assert len(set(loops)) == 1
    assert loops[0].is_closed()


def test_a_callable_is_called_as_it_calls_itself() -> None:
    @dataclass
    class Machine:
        def __call__(self, text: str) -> str:
            return text

    assert CallableSubject(raises).name == "raises"
    assert CallableSubject(Machine()).name.endswith("Machine")
    assert CallableSubject(raises, name="mine").name == "mine"


# Commands.


def script(folder: Path, code: str) -> str:
    file = folder / "agent.py"
    file.write_text(textwrap.dedent(code), encoding="utf-8")
    return f"{sys.executable} {file}"


def test_a_command_reads_stdin_and_prints_its_answer(tmp_path: Path) -> None:
    line = script(
        tmp_path, "import sys\nprint(sys.stdin.buffer.read().decode().upper(), end='')\nprint('log', file=sys.stderr)"
    )
    exchange = put(CommandSubject(line), "größe")
    assert (exchange.text, exchange.status, exchange.stderr) == ("GRÖSSE\n", 0, "log\n")
    assert CommandSubject(line).name == line


def test_an_answer_counts_whatever_the_exit_code(tmp_path: Path) -> None:
    exchange = put(CommandSubject(script(tmp_path, "print('answer')\nraise SystemExit(3)")))
    assert (exchange.text, exchange.status) == ("answer\n", 3)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import sys; sys.exit('no key')", "It printed nothing, and ended with exit code 1: no key."),
        ("pass", "It printed nothing, and ended with exit code 0."),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "It printed nothing, and ended with signal 9."),
    ],
)
def test_a_command_that_prints_nothing_says_why(tmp_path: Path, code: str, told: str) -> None:
    exchange = put(CommandSubject(script(tmp_path, code)))
    assert (exchange.text, exchange.error) == (None, told)


def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    exchange = put(CommandSubject(script(tmp_path, "import time; time.sleep(60)")), timeout_s=0.3)
    assert exchange.late
    assert exchange.error == "There was no answer within 0.3 s."


def test_a_command_that_floods_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retinue.conformance.subjects import command_line

    monkeypatch.setattr(command_line, "_MOST_BYTES", 1_000)
    exchange = put(CommandSubject(script(tmp_path, "while True: print('x' * 500)")))
    assert (exchange.text, exchange.error) == (None, "It printed more than 1,000 bytes.")


def test_what_is_not_utf8_is_no_answer(tmp_path: Path) -> None:
    exchange = put(CommandSubject(script(tmp_path, "import sys; sys.stdout.buffer.write(b'a\\xffb')")))
    assert (exchange.text, exchange.error) == (None, "It printed what is not UTF-8 from byte 2 on.")


def test_a_command_sees_only_the_variables_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", "k")
    line = script(tmp_path, "import os; print(os.environ.get('AGENT_KEY'), end='')")
    assert put(CommandSubject(line)).text == "None"
    assert put(CommandSubject(line, environment=["AGENT_KEY", "NOT_SET"])).text == "k"


@pytest.mark.parametrize("words", ["no-such-program --json", "./no-such-program"])
def test_a_program_that_is_not_there_is_said_at_once(words: str) -> None:
    with pytest.raises(NotInstalled, match="There is no program"):
        CommandSubject(words)


def test_a_file_that_cannot_be_run_is_an_exchange(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("no program")
    with pytest.raises(AccessDenied, match="may not be run"):
        CommandSubject("./agent", cwd=tmp_path)
    (tmp_path / "agent").chmod(0o755)
    exchange = put(CommandSubject("./agent", cwd=tmp_path))
    assert exchange.text is None
    assert exchange.error.startswith("It could not be run:")


@pytest.mark.parametrize("words", ["", "agent 'open"])
def test_a_line_that_is_no_command_is_refused(words: str) -> None:
    with pytest.raises(InvalidInput):
        command_subject(words)


# Modules.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, code: str, name: str = "my_agent.py") -> None:
    (folder / name).write_text(textwrap.dedent(code), encoding="utf-8")


RUN_AGENT = """
print("importing")
async def run_agent(prompt, chat_history=None, memory=None, config=None, **extra):
    return {"content": f"{prompt}|{memory}|{config}|{extra}", "response_time_secs": 0.1, "traces": []}
"""


@pytest.mark.requirement("B1")
def test_a_module_is_asked_by_its_run_agent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, RUN_AGENT)
    named = module_subject("my_agent.py")
    assert (named.name, named.dialect, named.definition) == ("my_agent", "run_agent", None)
    exchange = put(named.subject, json.dumps({"prompt": "hello", "memory": "m", "tool_root": "x"}))
    assert json.loads(exchange.text or "")["content"] == "hello|m|None|{'tool_root': 'x'}"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("sent", ["just words", "[1]", '{"no": "prompt"}', "", "[" * 100_000])
def test_any_other_text_is_the_prompt(folder: Path, sent: str) -> None:
    write(folder, "def run_agent(prompt, chat_history, memory, config): return {'content': prompt}")
    assert put(module_subject("my_agent.py").subject, sent).value == {"content": sent}


def test_a_function_in_a_module_takes_the_text(folder: Path) -> None:
    write(folder, "def answer(text): return text[::-1]")
    named = module_subject("my_agent.py:answer")
    assert (named.subject.name, named.name, named.dialect) == ("my_agent.py:answer", "my_agent", None)
    assert put(named.subject, "abc").text == "cba"


def test_a_module_is_found_by_its_dotted_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package = folder / "conformance_sample"
    package.mkdir()
    write(package, "print('importing')\ndef answer(text): return text", "inside.py")
    named = module_subject("conformance_sample.inside:answer")
    assert named.name == "inside"
    assert put(named.subject, "abc").text == "abc"
    assert capsys.readouterr().out == ""
    assert str(folder) not in sys.path


AGENT = """
import retinue

@retinue.agent
async def greet(name: str) -> dict[str, str]:
    '''Greets somebody by name. Use when a greeting is due. Returns the greeting.'''
    return {"greeting": f"Hello, {name}"}
"""


def test_an_agent_of_retinue_has_to_be_told_what_to_speak(folder: Path) -> None:
    write(folder, AGENT)
    with pytest.raises(InvalidInput, match="speaks any dialect"):
        module_subject("my_agent.py:greet")


@pytest.mark.parametrize(
    ("words", "error", "told"),
    [
        ("gone.py", MissingFile, "gone.py"),
        ("no_such_module_at_all", InvalidInput, "There is no module"),
        ("needy", InvalidDefinition, "needs a module 'no_such_need'"),
        ("needy.py", InvalidDefinition, "no_such_need"),
        ("raising", InvalidDefinition, "`ValueError`: broken"),
        ("leaving", InvalidDefinition, "`SystemExit`"),
        ("my_agent.py:anser", UnknownName, "has no 'anser'"),
        ("my_agent.py", UnknownName, "has no 'run_agent'"),
        ("my_agent.py:number", InvalidDefinition, "is of type `int` and cannot be asked"),
        ("my_agent.py:Broken", InvalidDefinition, "cannot be made"),
        ("", InvalidInput, "Nothing is named"),
        ("below", InvalidInput, "'below' is a folder"),
    ],
)
def test_what_cannot_be_asked_is_said(folder: Path, words: str, error: type[Exception], told: str) -> None:
    write(folder, "import no_such_need", "needy.py")
    (folder / "below").mkdir()
    write(folder, "raise ValueError('broken')", "raising.py")
    write(folder, "raise SystemExit(1)", "leaving.py")
    code = "number = 3\ndef answer(text): return text\nclass Broken:\n    definition = None\n    def __init__(self, x): ..."
    write(folder, code)
    with pytest.raises(error, match=told) as refused:
        module_subject(words)
    facts: Any = refused.value
    assert facts.hint


def test_a_near_miss_is_suggested(folder: Path) -> None:
    write(folder, "def answer(text): return text")
    with pytest.raises(UnknownName) as refused:
        module_subject("my_agent.py:anser")
    assert refused.value.hint == "Did you mean `my_agent.py:answer`?"


def test_one_whose_time_is_up_before_it_began_is_closed() -> None:
    async def answers() -> None:
        pass

    async def hold(held: threading.Event) -> None:
        held.wait(30)

    async def main() -> None:
        thread = callable_subject.LoopThread()
        held = threading.Event()
        holding = asyncio.create_task(thread.run(hold(held)))
        await asyncio.sleep(0.05)
        value = answers()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await thread.run(value)
        threading.Timer(0.05, held.set).start()
        thread.end()  # which finds it not begun
        assert inspect.getcoroutinestate(value) == inspect.CORO_CLOSED
        holding.cancel()

    asyncio.run(main())
