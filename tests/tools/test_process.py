import os
import sys
from pathlib import Path

import pytest

from retinue.errors import AccessDenied, DeadlineExceeded, LimitReached, Unavailable
from retinue.processes.start import clean_environment, find_program
from retinue.processes.tool_program import ProcessOutput, describe_exit, run, stream


def _python(code: str, *, timeout_s: float = 20.0, stdin: bytes = b"") -> ProcessOutput:
    argv = [sys.executable, "-I", "-c", code]
    env = clean_environment({})
    return run(argv, cwd="/", env=env, timeout_s=timeout_s, max_bytes=100_000, stdin=stdin)


def test_both_outputs_and_the_code_come_back() -> None:
    done = _python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (done.code, done.stdout, done.stderr) == (3, b"out\n", "err\n")


def test_input_is_passed_whole() -> None:
    data = b"x" * 300_000
    assert _python("import sys; print(len(sys.stdin.buffer.read()))", stdin=data).stdout == b"300000\n"
    assert _python("import sys; print(len(sys.stdin.buffer.read()))").stdout == b"0\n"


def test_a_program_that_hangs_is_ended() -> None:
    with pytest.raises(DeadlineExceeded) as late:
        _python("import time; print(1, flush=True); time.sleep(600)", timeout_s=0.3)
    assert late.value.detail["bound"] == "process_timeout"


def test_a_program_that_closes_its_outputs_and_hangs_is_ended() -> None:
    with pytest.raises(DeadlineExceeded):
        _python("import os, time; os.close(1); os.close(2); time.sleep(600)", timeout_s=0.5)


def test_a_program_that_says_too_much_is_ended() -> None:
    with pytest.raises(LimitReached, match="100000 bytes"):
        _python("while True: print('x' * 1000)")


def test_only_the_head_of_a_flood_of_errors_is_kept() -> None:
    assert len(_python("import sys; sys.stderr.write('x' * 1_000_000)").stderr) == 65_536


def test_a_stream_left_early_ends_its_program(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = f"import os\nopen({str(pid_file)!r}, 'w').write(str(os.getpid()))\nwhile True: print('x' * 1000, flush=True)"
    chunks = stream(
        [sys.executable, "-I", "-c", code], cwd="/", env=clean_environment({}), timeout_s=20, max_bytes=10**9
    )
    assert next(chunks)
    chunks.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_a_missing_or_forbidden_program_is_said_clearly(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no-such-program") as missing:
        run(["/nowhere/no-such-program"], cwd=str(tmp_path), env={}, timeout_s=1.0, max_bytes=10)
    assert "Install" in missing.value.hint
    (tmp_path / "plain").write_text("text")
    with pytest.raises(AccessDenied):
        run([str(tmp_path / "plain")], cwd=str(tmp_path), env={}, timeout_s=1.0, max_bytes=10)


def test_the_environment_is_clean_and_the_path_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\ntouch pwned\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("SECRET_KEY", "x")
    environment = clean_environment({"A": "1"})
    assert environment["A"] == "1"
    assert not {"GIT_DIR", "SECRET_KEY"} & environment.keys()
    assert all(entry.startswith("/") for entry in environment["PATH"].split(os.pathsep))
    assert find_program("git") not in (None, "git", "./git", str(tmp_path / "git"))


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "ended with status 0"), (-9, "was ended by SIGKILL"), (-200, "was ended by signal 200")],
)
def test_how_a_program_ended_is_said_in_words(status: int, words: str) -> None:
    assert describe_exit(status) == words
