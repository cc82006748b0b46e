"""A command that is forked tells and ends as one that is executed."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests import forkserver
from tests.cli.shell import COMMAND, environment, run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("words", [("--version",), ("nonsense",), ("agents", "--json"), ("runs", "list")])
def test_what_it_tells_and_its_status_are_the_same(tmp_path: Path, words: tuple[str, ...]) -> None:
    forked, executed = (run(tmp_path, tmp_path, *words, execute=execute) for execute in (False, True))
    assert (forked.returncode, forked.stdout, forked.stderr) == (executed.returncode, executed.stdout, executed.stderr)


def test_a_signal_is_a_negative_status_and_time_that_is_over_kills(tmp_path: Path) -> None:
    env = environment(tmp_path)
    waits = [*COMMAND, "convert", "--from", "tool_use", "--to", "run_agent"]  # for what comes by stdin
    with forkserver.Popen(waits, cwd=tmp_path, env=env, stdin=subprocess.PIPE, start_new_session=True) as process:
        assert process.poll() is None
        if (told := Path(f"/proc/{process.pid}/cmdline")).exists():
            assert "forkserver" in told.read_text(encoding="utf-8")
        process.kill()
        assert process.wait(30) == -signal.SIGKILL
    with pytest.raises(subprocess.TimeoutExpired):
        forkserver.run(["sh", "-c", "sleep 1000 & sleep 1000"], cwd=tmp_path, env=env, timeout=0.1)
