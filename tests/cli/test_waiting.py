"""The line that says what takes so long."""

import io
import sys
from threading import Event

import pytest

from retinue.cli.output import status_line


class Terminal(io.StringIO):
    """Somebody who looks, and knows when there was something to see."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.seen.set()
        return super().write(text)


def look(patch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    patch.setattr(sys, "stderr", stream)
    patch.setenv("TERM", "xterm")
    return stream


def test_what_takes_time_is_said_and_goes_when_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    with status_line("checking 7 files", after_s=0.0):
        assert terminal.seen.wait(30)
    assert terminal.getvalue().startswith("\r\x1b[2Kchecking 7 files …\r\x1b[2K")
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_what_is_quick_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    with status_line("checking 7 files", after_s=1_000.0):
        pass
    assert terminal.getvalue() == ""


def test_the_line_goes_when_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)

    def work() -> None:
        with status_line("checking 7 files", after_s=0.0):
            assert terminal.seen.wait(30)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert terminal.getvalue().endswith("\x1b[2K")


@pytest.mark.parametrize("term", ["dumb", None])
def test_where_nobody_looks_nothing_is_said(monkeypatch: pytest.MonkeyPatch, term: str | None) -> None:
    terminal = look(monkeypatch)
    if term:
        monkeypatch.setenv("TERM", term)
    else:
        monkeypatch.setattr(sys, "stderr", io.StringIO())
    with status_line("checking 7 files", after_s=0.0):
        assert not terminal.seen.wait(0.05)
    assert terminal.getvalue() == ""
