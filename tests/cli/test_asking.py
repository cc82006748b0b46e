"""The line that says how far a judgement is."""

import asyncio
import io
import sys

import pytest

from retinue.cli.check_progress import CheckProgress
from retinue.conformance.port import Probe, ProbeExchange, RequestTemplate as Asked


class Looked(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def told(asking: CheckProgress) -> None:
    probe = Probe("valid", Asked().task("valid"), "A request.")
    asking.on_exchange(probe, ProbeExchange(probe, "", duration_ns=2_000_000_000))


def test_it_is_said_every_second_and_the_line_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stderr := Looked())

    async def main() -> None:
        with CheckProgress(tick_s=0.001) as asking:
            while "0 requests have come back" not in stderr.getvalue():  # noqa: ASYNC110 - a stream sets no event
                await asyncio.sleep(0)
            told(asking)
            while "1 request has come back, the latest `valid` after 2.0 s" not in stderr.getvalue():  # noqa: ASYNC110 - a stream sets no event
                await asyncio.sleep(0)

    asyncio.run(main())
    assert stderr.getvalue().endswith("\r\x1b[2K")
    assert "\n" not in stderr.getvalue()


@pytest.mark.parametrize("dumb", [True, False])
def test_it_is_not_said_where_nobody_looks_or_what_is_over_soon(monkeypatch: pytest.MonkeyPatch, dumb: bool) -> None:
    monkeypatch.setattr(sys, "stderr", stderr := Looked() if dumb else io.StringIO())
    monkeypatch.setenv("TERM", "dumb" if dumb else "xterm")

    async def main() -> None:
        with CheckProgress(tick_s=0.0) as asking:
            told(asking)
            await asyncio.sleep(0)

    asyncio.run(main())
    assert stderr.getvalue() == ""

    async def soon() -> None:
        with CheckProgress():
            pass

    monkeypatch.setenv("TERM", "xterm")
    asyncio.run(soon())
    assert stderr.getvalue() == ""
