"""Worker processes: kept, reused, killed, and never in the way."""

import asyncio
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from retinue.engine.offload import Pool
from retinue.errors import DeadlineExceeded, InternalError, InvalidInput, RetinueError, Unavailable
from tests.engine import chores


def gone(pid: int) -> bool:
    """Whether a process has ended; one that only nobody has waited for yet has, too."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return status.exists() and status.read_text().split(") ")[1][0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


def read_pids(mark: Path) -> list[int]:
    return [int(pid) for pid in mark.read_text().split()] if mark.exists() else []


async def marked(mark: Path) -> list[int]:
    """The processes that `chores.hangs` has written down, as soon as it has."""
    while not (pids := read_pids(mark)):  # noqa: ASYNC110 - another process tells, and only by a file
        await asyncio.sleep(0.005)
    return pids


async def until_gone(pids: list[int]) -> None:
    while not all(map(gone, pids)):  # noqa: ASYNC110 - nobody tells when a foreign process is gone
        await asyncio.sleep(0.005)


def test_workers_are_kept_and_run_side_by_side() -> None:
    async def main() -> None:
        async with Pool(2) as pool:
            assert await pool.run(math.factorial, 5) == 120
            assert await pool.run(int, "11", base=2) == 3
            pids = {await pool.run(os.getpid) for _ in range(3)}
            assert len(pids) == 1
            many = await asyncio.gather(*(pool.run(chores.naps) for _ in range(4)))
            assert len(set(many)) == 2
            assert len(await pool.run(bytes, 5_000_000)) == 5_000_000
            assert await pool.run(len, b"x" * 5_000_000) == 5_000_000
        await until_gone(list(set(many)))
        with pytest.raises(Unavailable, match="closed"):
            await pool.run(os.getpid)

    asyncio.run(main())


def refused(function: Callable[..., object], *args: object) -> RetinueError:
    async def main() -> RetinueError:
        async with Pool(1) as pool:
            before = await pool.run(os.getpid)
            with pytest.raises(RetinueError) as caught:
                await pool.run(function, *args)
            after = await pool.run(os.getpid)
            assert (before == after) is ("status" not in caught.value.detail)
            return caught.value

    return asyncio.run(main())


def test_our_own_errors_survive_the_journey() -> None:
    error = refused(chores.refuses)
    assert type(error) is InvalidInput
    assert (error.message, error.hint, error.path) == ("No.", "Ask nicely.", "/x")
    assert (error.suggestions, error.detail) == (("please",), {"n": 1})
    assert type(refused(chores.is_late)) is DeadlineExceeded


@pytest.mark.parametrize("error", [ValueError("seven"), SystemExit(3), KeyboardInterrupt(), MemoryError()], ids=repr)
def test_foreign_exceptions_become_data(error: BaseException) -> None:
    ours = refused(chores.says, error)
    assert type(ours) is InternalError
    assert ours.detail["class"] == type(error).__name__
    assert "says" in ours.message


def test_a_worker_that_dies_is_an_error_and_is_replaced() -> None:
    killed = refused(chores.dies)
    assert (type(killed), killed.detail) == (InternalError, {"status": -9})
    assert "SIGKILL" in killed.message
    assert "memory" in killed.hint
    left = refused(chores.leaves, 3)
    assert "status 3" in left.message


def test_what_does_not_pickle_breaks_nothing() -> None:
    assert "cannot be sent back" in refused(chores.unpicklable).message
    assert "cannot be read here" in refused(chores.stubborn).message
    assert type(refused(len, chores.Stubborn())) is InternalError
    for function, args in ((lambda: 1, ()), (len, (lambda: 1,))):
        error = refused(function, *args)
        assert type(error) is InvalidInput
        assert error.hint


def test_a_function_of_the_main_script_is_refused_with_a_hint() -> None:
    def function() -> None: ...

    function.__module__ = "__main__"
    error = refused(function)
    assert type(error) is InvalidInput
    assert "module" in error.hint


def test_time_up_kills_that_worker_and_what_it_started_and_no_other(tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    async def main() -> None:
        async with Pool(2) as pool:
            hung = asyncio.create_task(pool.run(chores.hangs, str(mark)))
            pids = await marked(mark)
            other = await pool.run(os.getpid)
            hung.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hung
            await until_gone(pids)
            assert await pool.run(os.getpid) == other
            with pytest.raises(DeadlineExceeded, match="hangs") as caught:
                await pool.run(chores.hangs, str(mark), timeout_s=0.05)
            assert caught.value.detail == {"bound": "timeout_s"}

    asyncio.run(main())


def test_waiting_for_a_free_worker_counts_as_time() -> None:
    async def main() -> None:
        async with Pool(1) as pool:
            long = asyncio.create_task(pool.run(time.sleep, 1000))
            await asyncio.sleep(0)
            with pytest.raises(DeadlineExceeded):
                await pool.run(os.getpid, timeout_s=0.01)
            long.cancel()
            await asyncio.gather(long, return_exceptions=True)

    asyncio.run(main())


def test_closing_kills_busy_workers_and_tells_their_callers(tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    async def main() -> None:
        pool = Pool(1)
        hung = asyncio.create_task(pool.run(chores.hangs, str(mark)))
        pids = await marked(mark)
        await pool.close()
        with pytest.raises(Unavailable, match="closed"):
            await hung
        await until_gone(pids)

    asyncio.run(main())


def test_a_worker_killed_while_idle_is_replaced_unnoticed() -> None:
    async def main() -> None:
        async with Pool(1) as pool:
            first = await pool.run(os.getpid)
            os.kill(first, 9)
            await asyncio.to_thread(os.waitid, os.P_PID, first, os.WEXITED | os.WNOWAIT)
            assert await pool.run(os.getpid) != first

    asyncio.run(main())


def test_standard_output_stays_clean_and_standard_input_empty() -> None:
    code = (
        "import asyncio\nfrom retinue.engine.offload import Pool\nfrom tests.engine import chores\n"
        "async def main():\n"
        "    async with Pool(1) as pool:\n"
        "        await pool.run(chores.prints, 'noise')\n"
        "        print(repr(await pool.run(chores.reads_stdin)))\n"
        "asyncio.run(main())"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], input="secret", capture_output=True, text=True, check=True
    )
    assert done.stdout == "''\n"
    assert done.stderr.count("noise") == 2


def test_workers_and_what_they_started_end_with_the_program(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = (
        "import asyncio, sys\nfrom retinue.engine.offload import Pool\nfrom tests.engine import chores\n"
        "asyncio.run(Pool(1).run(chores.hangs, sys.argv[1]))"
    )

    with subprocess.Popen([sys.executable, "-c", code, str(mark)]) as program:
        pids = asyncio.run(marked(mark))
        program.kill()
    asyncio.run(until_gone(pids))


def test_nothing_lying_in_the_working_directory_is_imported(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    code = (
        "import asyncio, os, math\nfrom retinue.engine.offload import Pool\n"
        "import sys; os.chdir(sys.argv[1])\n"
        "async def main():\n    async with Pool(1) as pool: print(await pool.run(math.factorial, 4))\n"
        "asyncio.run(main())"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "24\n"


def test_when_no_process_can_be_started_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))

    async def main() -> None:
        async with Pool(1) as pool:
            with pytest.raises(Unavailable, match="No worker"):
                await pool.run(os.getpid)

    asyncio.run(main())
