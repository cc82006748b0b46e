"""The real command in a process of its own, with pipes or at a terminal."""

import errno
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests import forkserver
from tests.ready_made import put_definitions
from tests.repository.tree import child_environment

COMMAND = (sys.executable, "-m", "retinue")
_PATIENCE_S = 30.0
"""How long a test waits before it calls something hung; nothing is judged by it."""


def environment(home: Path, **extra: str) -> dict[str, str]:
    """An environment in which nothing of whoever runs the tests counts."""
    put_definitions(home)
    places = {f"RETINUE_{name}_DIR": str(home / name.lower()) for name in ("STATE", "CACHE", "CONFIG")}
    kept = {name: os.environ[name] for name in os.environ if name.startswith("COVERAGE_")}
    clean = child_environment(PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="error", **places, **kept)
    for name in ("NO_COLOR", "COLUMNS", "LINES", "ACTIVE_AGENT_PATH"):
        clean.pop(name, None)
    return {**clean, "TERM": "xterm-256color", **extra}


def run(
    home: Path, folder: Path, *words: str, encoding: str = "utf-8", execute: bool = False, **extra: str
) -> subprocess.CompletedProcess[str]:
    """One command with nobody at the terminal, to its end."""
    return forkserver.run(
        [*COMMAND, *words],
        execute=execute,
        cwd=folder,
        env=environment(home, **({"PYTHONIOENCODING": encoding} if encoding != "utf-8" else {}), **extra),
        encoding=encoding,
        errors="replace",
        timeout=_PATIENCE_S,
    )


def start(home: Path, folder: Path, *words: str) -> subprocess.Popen[str]:
    """One command with nobody at the terminal, while it runs."""
    return subprocess.Popen(
        [*COMMAND, *words],
        cwd=folder,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


class Terminal:
    """A command with a person at it: what is on both ends of a pseudo-terminal."""

    def __init__(self, home: Path, folder: Path, *words: str, width: int = 80, **extra: str) -> None:
        self.seen = ""
        self._ours, theirs = pty.openpty()
        size = {"COLUMNS": str(width), "LINES": "24"}
        self._process = forkserver.Popen(
            [*COMMAND, *words],
            cwd=folder,
            env=environment(home, **size, **extra),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def expect(self, *texts: str) -> None:
        """Read until the screen has been told each of `texts`, in that order, after what was expected before."""
        for text in texts:
            self._until(text)
            self.seen = self.seen.partition(text)[2]

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self._ours, line.encode() + b"\n")

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def ended(self) -> tuple[int, str]:
        """The exit code, and what was told since the last `expect`."""
        while self._more():
            pass
        return self._process.wait(_PATIENCE_S), self.seen

    def _until(self, text: str) -> None:
        while text not in self.seen:
            if not self._more():
                raise AssertionError(f"{text!r} never came; there was {self.seen!r}")

    def _more(self) -> bool:
        end = time.monotonic() + _PATIENCE_S
        if not select.select([self._ours], [], [], end - time.monotonic())[0]:
            raise AssertionError(f"nothing more came after {self.seen!r}")
        try:
            data = os.read(self._ours, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # Linux says so when the other end is closed
                raise
            data = b""
        self.seen += data.decode("utf-8", "replace")
        return bool(data)


def children_of(group: Sequence[int]) -> list[int]:
    """Processes that live in one of the sessions `group`."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) in group and fields[0] != "Z":
                found.append(int(entry.name))
    return found
