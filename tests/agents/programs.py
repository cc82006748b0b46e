"""Programs for tests to wrap: real scripts, run by this interpreter, that know nothing of Retinue."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["ANSWERS", "BROKEN", "alive", "python", "script", "telling", "wait_until_gone"]

_TELLING = """
import pathlib, sys
here = pathlib.Path(__file__).parent
count = len(list(here.glob("request*.txt")))
(here / f"request{count}.txt").write_bytes(sys.stdin.buffer.read())
answers = sorted(here.glob("answer*.txt"))
sys.stdout.buffer.write(answers[min(count, len(answers) - 1)].read_bytes())
"""


_PATIENCE_S = 20.0
"""How long a test waits before it calls something hung; nothing is judged by it."""


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and nobody has buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(*pids: int) -> None:
    """Wait for processes that were killed to be gone."""
    end = time.monotonic() + _PATIENCE_S
    while any(map(alive, pids)):
        assert time.monotonic() < end, f"{pids} are still there"
        os.sched_yield()


def python(source: str) -> list[str]:
    """The command line that runs a line of Python."""
    return [sys.executable, "-c", source]


def script(folder: Path, source: str, *, name: str = "my-agent") -> Path:
    """A program in a file of its own, with its first line."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{source}")
    path.chmod(0o755)
    return path


def telling(folder: Path, *answers: str) -> list[str]:
    """A program that gives these answers, one a call and the last again and again, and keeps what it was asked."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, answer in enumerate(answers):
        (folder / f"answer{number}.txt").write_text(answer)
    path = folder / "counter.py"
    path.write_text(_TELLING)
    return [sys.executable, str(path)]


def _as_json(**facts: Any) -> str:
    return json.dumps(facts)


ANSWERS = {
    "a2a": _as_json(
        task={
            "id": "t1",
            "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [{"artifactId": "result", "parts": [{"data": {"words": 2}}]}],
        }
    ),
    "tool_use": _as_json(
        status="success",
        result={"words": 2},
        metadata={"execution_time_ms": 4, "tokens_used": 30, "confidence": 0.9, "model_used": "small-1"},
    ),
    "run_agent": _as_json(
        content="There are two words.",
        response_time_secs=0.5,
        traces=[{"tool": "COUNT", "output": "2"}],
        results={"words": 2},
    ),
    "task_signal": "CREATED: report.md\nTITLE: Words\nSUMMARY: There are two words.\nSTATUS: complete\n\nCounted twice.\n",
    "markdown_json": _as_json(
        status="success",
        agent="counter",
        version="1.0",
        operation="counter",
        result={"words": 2},
        metadata={"execution_time_ms": 4, "files_read": 1, "files_written": 0},
    ),
    "agent_http": _as_json(
        id="t1",
        status={"state": "completed", "timestamp": "2025-10-08T15:30:00Z"},
        response_message={"role": "agent", "parts": [{"type": "data", "data": {"words": 2}}]},
    ),
}
"""One good answer in each dialect."""

BROKEN = {
    "a2a": _as_json(task={"id": "t1", "status": {"state": "TASK_STATE_FINISHED"}}),
    "tool_use": _as_json(state="done", answer="two"),
    "run_agent": _as_json(content=2, traces="none"),
    "task_signal": "I have counted, and there are two words.\n",
    "markdown_json": _as_json(status="finished", agent="somebody_else", version="one"),
    "agent_http": _as_json(id="t1", status={"state": "finished"}),
}
"""One answer to each dialect that is none."""
