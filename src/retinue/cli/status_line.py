"""A line on stderr while work takes its time and has nothing to show. Not the live view of a run: that is `screen`."""

import contextlib
import os
import sys
from collections.abc import Generator
from threading import Timer
from typing import Final

_AFTER_S: Final = 1.0
_CLEAR_LINE: Final = "\r\x1b[2K"
"""Clears the line the cursor is on."""


@contextlib.contextmanager
def status_line(what: str, *, after_s: float = _AFTER_S) -> Generator[None]:
    """Say at a terminal what is being done, once that has taken `after_s` seconds; the line goes when it is done."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    shown_lines: list[str] = []

    def show() -> None:
        shown_lines.append(what)
        _write(f"{_CLEAR_LINE}{what} …")

    timer = Timer(after_s, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown_lines:
            _write(_CLEAR_LINE)


def _write(text: str) -> None:
    with contextlib.suppress(OSError):  # nobody looks any more
        sys.stderr.write(text)
        sys.stderr.flush()
