"""A module in a process of its own: one that ends it, crashes it or holds it is judged by that, and harms nobody."""

import asyncio
import json
import os
import sys
import textwrap
from pathlib import Path

import pytest

from retinue.conformance.port import Probe, ProbeExchange, RequestTemplate
from retinue.conformance.subjects import SubjectInfo, isolated_module, module_process
from retinue.engine.blocking import in_thread
from retinue.errors import DeadlineExceeded, InvalidDefinition, InvalidInput, UnknownName
from tests.agents.programs import wait_until_gone

PROBE = Probe("valid", RequestTemplate().task("valid"), "A request as it should be.")
CODE = """
import os, re, signal, sys, threading, time

count = 0
print("a word on stdout")

def answer(text):
    global count
    count += 1
    return f"{text} {count}"

def says_nothing(text): return None
def ends(text): os._exit(0)
def floods(text):
    sys.stdout.write("x" * 1_000_000)
    return text
def complains(text):
    print("first", file=sys.stderr)
    print("the key is missing", file=sys.stderr, flush=True)
    os._exit(2)
def crashes(text): os.kill(os.getpid(), signal.SIGSEGV)
def ends_once(text):
    if text == "end":
        os._exit(3)
    return text
def holds(text): re.match(r"(a+)+$", "a" * 60 + "b")
def hangs(text): time.sleep(60)
def reads(text): return sys.stdin.read() + "!"
def needs_a_sibling(text):
    import sibling
    return sibling.WORD
def parts(text):
    import subprocess
    with open("pid", "w") as file:
        file.write(str(subprocess.Popen(["sleep", "1000"], start_new_session=True).pid))
    if text == "end":
        os._exit(0)
    return text
async def waits(text):
    import asyncio
    await asyncio.sleep(0.05)
    return text.upper()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "mine.py").write_text(textwrap.dedent(CODE), encoding="utf-8")
    (tmp_path / "agents" / "sibling.py").write_text("WORD = 'found'\n", encoding="utf-8")
    (tmp_path / "json.py").write_text("raise ValueError('not the real one')\n", encoding="utf-8")
    return tmp_path


def here(words: str, *, dialect: str | None = None) -> SubjectInfo:
    return asyncio.run(isolated_module(words, dialect=dialect))


def put(name: str, *sent: str, timeout_s: float = 20.0) -> list[ProbeExchange]:
    subject = here(f"agents/mine.py:{name}").subject

    async def conduct() -> list[ProbeExchange]:
        return [await subject.send(PROBE, text, timeout_s=timeout_s) for text in sent]

    try:
        return asyncio.run(conduct())
    finally:
        subject.close()
        subject.close()


pytestmark = pytest.mark.slow


def test_one_process_answers_all(folder: Path) -> None:
    assert [each.text for each in put("answer", "Größe \ud800", "b")] == ["Größe \ud800 1", "b 2"]
    assert put("waits", "x")[0].text == "X"
    assert put("says_nothing", "x")[0].error == "It returned `None`, and no answer."


def test_requests_are_out_at_the_same_time(folder: Path) -> None:
    subject = here("agents/mine.py:waits").subject

    async def conduct() -> list[str | None]:
        exchanges = await asyncio.gather(*(subject.send(PROBE, word, timeout_s=20) for word in "abc"))
        return [each.text for each in exchanges]

    assert asyncio.run(conduct()) == ["A", "B", "C"]
    subject.close()


def test_what_it_shares_with_us_is_nothing(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert put("reads", "x")[0].text == "!"
    assert put("needs_a_sibling", "x")[0].text == "found"
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


def test_what_it_prints_is_kept_with_its_answer_and_never_too_much(folder: Path) -> None:
    flooded, again = put("floods", "a", "b")
    assert (flooded.text, again.text) == ("a", "b")
    assert len(flooded.stderr) <= 4_000
    assert len(again.stderr) <= 4_000
    assert put("complains", "x")[0].error == "It ended its process: exit code 2: the key is missing"


def test_one_that_ends_its_process_is_told_and_started_anew(folder: Path) -> None:
    assert put("ends", "x")[0].error.startswith("It ended its process: exit code 0")
    assert put("crashes", "x")[0].error.startswith("It ended its process: signal 11")
    ended, answered = put("ends_once", "end", "go on")
    assert ended.text is None
    assert ended.error.startswith("It ended its process: exit code 3")
    assert answered.text == "go on"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what a process was started with")
@pytest.mark.parametrize("text", ["go on", "end"])
def test_what_it_started_is_ended_with_it_even_in_a_session_of_its_own(folder: Path, text: str) -> None:
    put("parts", text)
    wait_until_gone(int((folder / "pid").read_text()))


@pytest.mark.parametrize("name", ["hangs", "holds"])
def test_one_that_holds_its_process_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(module_process, "_GRACE_S", 1.0)
    (exchange,) = put(name, "x", timeout_s=1.5)
    assert (exchange.text, exchange.late) == (None, True)
    assert exchange.error == "There was no answer within 1.5 s."


def test_what_it_is_comes_over(folder: Path) -> None:
    (folder / "run.py").write_text("def run_agent(prompt, chat_history, memory, config): return {'content': prompt}")
    named = here("run.py")
    assert (named.name, named.dialect, named.definition, named.subject.name) == ("run", "run_agent", None, "run.py")
    exchange = asyncio.run(named.subject.send(PROBE, json.dumps({"prompt": "hello"}), timeout_s=20))
    named.subject.close()
    assert exchange.text == '{"content": "hello"}'


def test_an_agent_of_retinue_brings_its_definition(folder: Path) -> None:
    code = "from retinue.catalogue.data_analyst import DataAnalyst as analyst\n"
    (folder / "ours.py").write_text(code, encoding="utf-8")
    named = here("ours.py:analyst", dialect="markdown_json")
    named.subject.close()
    assert named.definition is not None
    assert (named.name, named.dialect, named.definition.name) == ("data_analyst", "markdown_json", "data_analyst")


@pytest.mark.parametrize(
    ("code", "words", "error", "told"),
    [
        ("x = 1", "bad.py:answer", UnknownName, "has no 'answer'"),
        ("raise ValueError('no')", "bad.py", InvalidDefinition, "`ValueError`"),
        ("import os; os._exit(0)", "bad.py", InvalidDefinition, "ended its process: exit code 0"),
        ("", "no_module_of_anybody", InvalidInput, "There is no module"),
    ],
)
def test_what_cannot_be_asked_is_said(folder: Path, code: str, words: str, error: type[Exception], told: str) -> None:
    (folder / "bad.py").write_text(code, encoding="utf-8")
    with pytest.raises(error, match=told):
        here(words)


def test_whoever_stops_waiting_leaves_no_process_behind(folder: Path) -> None:
    os.mkfifo("pid")
    code = "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(60)"
    (folder / "slow.py").write_text(code, encoding="utf-8")

    async def conduct() -> int:
        waiting = asyncio.create_task(isolated_module("slow.py"))
        pid = int(await in_thread(Path("pid").read_text))  # which waits until it is written
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return pid

    pid = asyncio.run(conduct())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_importing_may_not_take_for_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_process, "_IMPORTING_S", 0.2)
    (folder / "slow.py").write_text("import time; time.sleep(60)", encoding="utf-8")
    with pytest.raises(DeadlineExceeded, match="took longer"):
        here("slow.py")
