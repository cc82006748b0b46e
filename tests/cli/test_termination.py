"""What the system asks of a command comes to the same as Ctrl-C, and what is ignored stays ignored."""

import signal
import threading

import pytest

from retinue.cli.termination import termination_as_interrupt


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_wish_of_the_system_is_an_interrupt(name: str) -> None:
    number = getattr(signal, name)
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), termination_as_interrupt():
        signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with termination_as_interrupt():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_changes_nothing() -> None:
    inside: list[object] = []
    before = signal.getsignal(signal.SIGTERM)

    def work() -> None:
        with termination_as_interrupt():
            inside.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [before]
