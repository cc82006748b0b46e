"""Functions for worker processes: importable by name, and badly behaved on purpose."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from retinue.errors import DeadlineExceeded, InvalidInput


class OwnError(InvalidInput):
    """A subclass that only this module knows."""


class Stubborn:
    """Pickles here, and cannot be read elsewhere."""

    def __reduce__(self) -> tuple[object, ...]:
        return (_refuses, ())


def _refuses() -> NoReturn:
    raise ValueError("unreadable")


def stubborn() -> Stubborn:
    return Stubborn()


def unpicklable() -> object:
    return lambda: None


def prints(text: str) -> int:
    print(text)  # noqa: T201 - the point of the function
    sys.stdout.flush()
    os.write(1, text.encode())
    return os.getpid()


def refuses() -> NoReturn:
    raise OwnError("No.", hint="Ask nicely.", path="/x", suggestions=("please",), detail={"n": 1})


def is_late() -> NoReturn:
    raise DeadlineExceeded("Too late.", detail={"bad": lambda: None})


def says(error: BaseException) -> NoReturn:
    raise error


def reads_stdin() -> str:
    return sys.stdin.read()


def hangs(mark: str) -> NoReturn:
    """Start a process of its own, say so in the file, and never end."""
    child = subprocess.Popen(["sleep", "1000"])
    Path(mark).write_text(f"{os.getpid()} {child.pid}")
    while True:
        time.sleep(1000)


def dies() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def leaves(status: int) -> NoReturn:
    os._exit(status)


def naps() -> int:
    """Long enough for another worker to be needed."""
    time.sleep(0.05)
    return os.getpid()


def exits() -> NoReturn:
    """End the program, if that were possible."""
    sys.exit()
