"""Agents that do not end: nobody can stop them, and yet the command comes to an end, with its answer if there is one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from retinue.agents.trust import TrustStore
from tests.agents.programs import script, wait_until_gone
from tests.cli import shell
from tests.cli.shell import run

pytestmark = pytest.mark.slow

HOG = '''import asyncio
import atexit
import threading
import time
import retinue


async def for_ever() -> None:
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass


@retinue.agent
async def spinner(task: str) -> str:
    """Spins forever. Use when time must be lost. Returns nothing."""
    while True:
        pass


@retinue.agent
async def sleeper(task: str) -> str:
    """Sleeps forever. Use when time must be lost. Returns nothing."""
    time.sleep(1000)


@retinue.agent
async def stubborn(task: str) -> str:
    """Spins forever and swallows every exception. Use when time must be lost. Returns nothing."""
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


@retinue.agent
async def waiter(task: str) -> str:
    """Swallows its cancellation and goes on. Use when time must be lost. Returns nothing."""
    await for_ever()


@retinue.agent
async def leaves_a_task(task: str) -> str:
    """Leaves a task that cannot be cancelled. Use when time must be lost. Returns a word."""
    threading.task = asyncio.ensure_future(for_ever())
    return "done"


@retinue.agent
async def leaves_a_thread(task: str) -> str:
    """Leaves a thread. Use when time must be lost. Returns a word."""
    threading.Thread(target=time.sleep, args=(1000,)).start()
    return "done"


@retinue.agent
async def leaves_a_call(task: str) -> str:
    """Leaves a blocking call. Use when time must be lost. Returns a word."""
    threading.task = asyncio.ensure_future(asyncio.to_thread(time.sleep, 1000))
    await asyncio.sleep(0)
    return "done"


@retinue.agent
async def waits_at_exit(task: str) -> str:
    """Waits when the process ends. Use when time must be lost. Returns a word."""
    atexit.register(time.sleep, 1000)
    return "done"
'''


@pytest.fixture
def hogs(folder: Path) -> Path:
    """A trusted project with agents that do not end."""
    file = folder / ".retinue" / "agents" / "hog.py"
    file.parent.mkdir(parents=True)
    file.write_text(HOG, encoding="utf-8")
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(folder)
    return folder


@pytest.mark.requirement("C21")
@pytest.mark.parametrize("agent", ["spinner", "sleeper", "stubborn"])
def test_an_agent_that_blocks_everything_ends_the_command_with_a_reason(home: Path, hogs: Path, agent: str) -> None:
    done = run(home, hogs, "ask", agent, "hello", "--timeout", "500ms", execute=True)
    assert done.returncode == 7
    assert "blocked the event loop for more than 0.5 s" in done.stderr
    assert "run.offload" in done.stderr
    assert "Traceback" not in done.stderr
    (listed,) = json.loads(run(home, hogs, "runs", "list", "--json").stdout)
    assert listed["label"] == "hello"
    assert f"`retinue runs resume {listed['run']}` continues" in done.stderr
    assert f"`retinue runs show {listed['run']} --events`" in done.stderr


def test_an_agent_that_ignores_everything_is_one_line_of_json(home: Path, hogs: Path) -> None:
    done = run(home, hogs, "ask", "stubborn", "hello", "--timeout", "500ms", "--json", execute=True)
    assert (done.returncode, done.stdout) == (7, "")
    (line,) = done.stderr.splitlines()
    assert json.loads(line)["error"]["detail"]["bound"] == "watchdog"


def test_an_agent_that_swallows_its_cancellation_ends_with_its_time(home: Path, hogs: Path) -> None:
    done = run(home, hogs, "ask", "waiter", "hello", "--timeout", "500ms", "--json", execute=True)
    assert done.returncode == 7
    assert json.loads(done.stdout)["fault"]["code"] == "timeout"


@pytest.mark.parametrize("agent", ["leaves_a_task", "leaves_a_thread", "leaves_a_call", "waits_at_exit"])
def test_what_an_agent_leaves_running_does_not_keep_the_command(home: Path, hogs: Path, agent: str) -> None:
    done = run(home, hogs, "ask", agent, "hello", "--json", execute=True)
    assert done.returncode == 0
    assert json.loads(done.stdout)["content"] == "done"
    assert done.stderr == ""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_a_background_job_of_a_script_ends_with_the_program_it_started(
    home: Path, folder: Path, how: signal.Signals
) -> None:
    # What a script starts with `&` ignores SIGINT, and whatever it runs inherits that.
    background = ("sh", "-c", 'trap "" INT; exec "$@"', "sh", *shell.COMMAND)
    script(folder, "import os, time\nopen('pid', 'w').write(str(os.getpid()))\nprint(flush=True)\ntime.sleep(1000)\n")
    with subprocess.Popen(
        [*background, "ask", "--command", "./my-agent", "look", "--json"],
        cwd=folder,
        env=shell.environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not (folder / "pid").exists() or not (folder / "pid").read_text():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)  # stays ignored
        process.send_signal(how)
        out, _ = process.communicate()
    assert process.returncode == 130
    assert json.loads(out)["outcome"] == "canceled"
    wait_until_gone(int((folder / "pid").read_text()))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_command_that_is_killed_leaves_no_program_behind(home: Path, folder: Path) -> None:
    stubborn = "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    script(folder, f"{stubborn}open('pid', 'w').write(str(os.getpid()))\nprint(flush=True)\ntime.sleep(1000)\n")
    with shell.start(home, folder, "ask", "--command", "./my-agent", "look") as process:
        while not (folder / "pid").exists() or not (folder / "pid").read_text():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        process.kill()
        process.communicate()
    wait_until_gone(int((folder / "pid").read_text()))


def test_the_watchdog_of_a_background_job_bites(home: Path, hogs: Path) -> None:
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *shell.COMMAND, "ask", "spinner", "hello", "--timeout", "1s"]
    done = subprocess.run(
        command, cwd=hogs, env=shell.environment(home), stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert done.returncode == 7
    assert b"blocked the event loop" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is ignored there")
def test_a_job_that_ignores_the_end_of_its_terminal_goes_on(home: Path, team: Path) -> None:
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *shell.COMMAND, "ask", "singer", "softly", "--jsonl"]
    with subprocess.Popen(
        command, cwd=team, env=shell.environment(home), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        process.communicate()
    assert process.returncode == 0
