"""Foreign programs, run to their end: what they say, how they end, and that nothing of them is left."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retinue.errors import AccessDenied, InvalidInput, MissingFile, NotInstalled
from retinue.processes.orphans import kill_marked, marked_environment
from retinue.processes.program import ProgramResult, run_program
from tests.agents.programs import alive, python, script, wait_until_gone

ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def ran(argv: list[str], *, stdin: bytes = b"", max_bytes: int = 100_000, **options: Any) -> ProgramResult:
    facts: dict[str, Any] = {"cwd": "/", "env": ENVIRONMENT, **options}
    return asyncio.run(run_program(argv, stdin=stdin, max_bytes=max_bytes, **facts))


async def until(what: Callable[[], object]) -> None:
    """Wait for something to come true."""
    async with asyncio.timeout(20):
        while not what():  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.005)


def test_a_program_gets_its_input_and_is_heard_on_both_outputs() -> None:
    said = ran(
        python("import sys; t = sys.stdin.read(); print(t.upper()); print('aside', file=sys.stderr); sys.exit(3)"),
        stdin="grüße".encode(),
    )
    assert said == ProgramResult(status=3, stdout="GRÜSSE\n".encode(), stderr=b"aside\n")


def test_a_program_that_reads_nothing_is_not_waited_for() -> None:
    assert ran(python("print('done')"), stdin=b"x" * 5_000_000).stdout == b"done\n"


def test_both_outputs_may_be_large_at_once() -> None:
    source = "import sys\nfor _ in range(200): sys.stdout.write('o' * 1000); sys.stderr.write('e' * 1000)\nprint('!')"
    said = ran(python(source), max_bytes=10**7)
    assert (len(said.stdout), len(said.stderr)) == (200_002, 16_384)


def test_a_program_that_says_too_much_is_ended_and_its_beginning_kept() -> None:
    said = ran(python("import itertools\nfor n in itertools.count(): print(n)"), max_bytes=1_000)
    assert (said.flooded, len(said.stdout), said.status) == (True, 1_000, -signal.SIGKILL)
    assert not ran(python("print('x' * 999)"), max_bytes=1_000).flooded


def test_a_program_ended_by_a_signal_says_which() -> None:
    assert ran(python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")).status == -signal.SIGSEGV


def test_it_is_heard_as_it_speaks(tmp_path: Path) -> None:
    heard: list[bytes] = []
    go = tmp_path / "go"
    source = (
        "import os, sys, time\nprint('first', flush=True)\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.005)\nprint('second')"
    )

    def hear(chunk: bytes) -> None:
        heard.append(chunk)
        go.touch()  # it goes on only once it was heard

    assert ran(python(source), on_output=hear).stdout == b"first\nsecond\n"
    assert heard[0] == b"first\n"
    assert b"".join(heard) == b"first\nsecond\n"


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_cancelled_program_is_ended_with_its_children_and_what_it_said_is_told(
    tmp_path: Path,
    stubborn: bool,
) -> None:
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" if stubborn else ""
    source = (
        f"import os, signal, subprocess, sys, time\n{ignore}\n"
        "child = subprocess.Popen(['sleep', '1000'])\nprint('so far')\n"
        f"with open({str(tmp_path / 'pids')!r} + '.new', 'w') as f: f.write(f'{{os.getpid()}} {{child.pid}}')\n"
        "sys.stdout.flush(); print('and aside', file=sys.stderr, flush=True)\n"
        f"os.rename({str(tmp_path / 'pids')!r} + '.new', {str(tmp_path / 'pids')!r})\ntime.sleep(1000)"
    )

    async def main() -> list[str]:
        call = asyncio.ensure_future(run_program(python(source), cwd="/", env=ENVIRONMENT, stdin=b"", max_bytes=10_000))
        await until((tmp_path / "pids").exists)
        call.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await call
        return list(caught.value.__notes__)

    (note,) = asyncio.run(main())
    wait_until_gone(*map(int, (tmp_path / "pids").read_text().split()))
    assert "had printed 7 bytes, beginning with 'so far'" in note
    assert "'and aside'" in note


def test_children_that_outlive_their_program_are_ended(tmp_path: Path) -> None:
    source = (
        "import subprocess\nchild = subprocess.Popen(['sleep', '1000'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\nprint('answer', flush=True)"
    )
    said = ran(python(source))
    assert (said.status, said.stdout, said.had_orphans) == (0, b"answer\n", True)

    wait_until_gone(int((tmp_path / "pid").read_text()))


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what a process was started with")
PARTING = (
    "import subprocess\nchild = subprocess.Popen(['sleep', '1000'], start_new_session=True{options})\n"
    "open({pid!r}, 'w').write(str(child.pid))\nprint('answer', flush=True)\n{then}"
)


@LINUX
def test_children_that_part_and_hold_its_output_are_ended_too(tmp_path: Path) -> None:
    said = ran(python(PARTING.format(pid=str(tmp_path / "pid"), options="", then="")))
    assert (said.stdout, said.had_orphans) == (b"answer\n", True)
    wait_until_gone(int((tmp_path / "pid").read_text()))


@LINUX
def test_children_that_part_are_ended_when_the_program_says_too_much(tmp_path: Path) -> None:
    quiet = ", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"
    flood = "while True: print('na' * 1000)"
    assert ran(python(PARTING.format(pid=str(tmp_path / "pid"), options=quiet, then=flood))).flooded
    wait_until_gone(int((tmp_path / "pid").read_text()))


@LINUX
def test_a_daemon_that_parts_well_from_a_program_that_ends_well_lives_on(tmp_path: Path) -> None:
    quiet = ", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"
    said = ran(python(PARTING.format(pid=str(tmp_path / "pid"), options=quiet, then="")))
    daemon = int((tmp_path / "pid").read_text())
    assert alive(daemon)
    assert said.background_pids == (daemon,)
    os.kill(daemon, signal.SIGKILL)
    assert not said.had_orphans


@LINUX
def test_a_program_run_by_a_program_is_found_by_both_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_RETINUE_CALL", "outer")
    inner = marked_environment({"LC_ALL": "C"}, "inner")
    assert inner == {"LC_ALL": "C", "_RETINUE_CALL": "outerinner"}
    with subprocess.Popen(["sleep", "1000"], env={**ENVIRONMENT, **inner}) as process:
        kill_marked("some other mark")
        assert process.poll() is None
        kill_marked("outer")
        assert process.wait() == -signal.SIGKILL


def test_quiet_children_do_not_hold_an_answer_up() -> None:
    said = ran(
        python("import subprocess as s; s.Popen(['sleep', '1000'], stdout=s.DEVNULL, stderr=s.DEVNULL); print(1)")
    )
    assert (said.stdout, said.had_orphans) == (b"1\n", False)


def test_a_program_that_closes_its_outputs_is_waited_for() -> None:
    assert ran(python("import os, time; os.close(1); os.close(2); time.sleep(0.1); os._exit(7)")).status == 7


def test_many_programs_run_at_once() -> None:
    async def main() -> list[ProgramResult]:
        command = python("import sys; print(sys.stdin.read())")
        calls = (run_program(command, cwd="/", env=ENVIRONMENT, stdin=str(n).encode(), max_bytes=99) for n in range(12))
        return list(await asyncio.gather(*calls))

    assert [said.stdout.strip() for said in asyncio.run(main())] == [str(n).encode() for n in range(12)]


def test_programs_that_wait_for_their_turn_are_cancelled_at_once(tmp_path: Path) -> None:
    source = 'echo $$ > "$0/$$.new"; mv "$0/$$.new" "$0/$$"; exec sleep 1000'

    async def main() -> int:
        calls = [
            asyncio.ensure_future(
                run_program(["sh", "-c", source, str(tmp_path)], cwd="/", env=ENVIRONMENT, stdin=b"", max_bytes=9)
            )
            for _ in range(80)
        ]
        await until(lambda: len(list(tmp_path.glob("[0-9]*[0-9]"))) == 64)
        for call in calls:
            call.cancel()
        ended = await asyncio.gather(*calls, return_exceptions=True)
        return sum(isinstance(error, asyncio.CancelledError) for error in ended)

    assert asyncio.run(main()) == 80
    wait_until_gone(*[int(path.name.partition(".")[0]) for path in tmp_path.iterdir()])


def test_it_sees_no_variable_that_it_was_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_TEST", "s")
    said = ran(
        python("import os; print('SECRET_OF_TEST' in os.environ, os.environ['WORD'])"), env=ENVIRONMENT | {"WORD": "ü"}
    )
    assert said.stdout == "False ü\n".encode()


def test_what_cannot_be_started_says_why_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match="There is no program") as caught:
        ran(["no-such-program-here"])
    assert caught.value.hint
    with pytest.raises(MissingFile, match="no folder"):
        ran(["true"], cwd=str(tmp_path / "gone"))
    lost = tmp_path / "lost"
    lost.write_text("#!/no/such/interpreter\n")
    lost.chmod(0o755)
    with pytest.raises(NotInstalled, match="first line"):
        ran([str(lost)])
    text = script(tmp_path, "print(1)", name="text")
    text.chmod(stat.S_IRUSR)
    with pytest.raises(AccessDenied, match="may not be run") as denied:
        ran([str(text)])
    assert "chmod +x" in denied.value.hint
    bare = tmp_path / "bare"
    bare.write_bytes(b"\x00\x01\x02")
    bare.chmod(0o755)
    with pytest.raises(InvalidInput, match="is not a program"):
        ran([str(bare)])
    with pytest.raises(InvalidInput, match="too long"):
        ran(["true", "x" * 10_000_000])


def test_where_the_system_does_not_tell_of_an_end_it_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert ran(python("print('done')")).stdout == b"done\n"
    said = ran(python("import subprocess; subprocess.Popen(['sleep', '1000']); print(1)"))
    assert (said.stdout, said.had_orphans) == (b"1\n", True)
    assert ran(python("import os, time; os.close(1); os.close(2); time.sleep(0.1); os._exit(7)")).status == 7
