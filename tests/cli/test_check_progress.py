"""The line that says how far a check is."""

from retinue.cli.check import CheckProgress
from retinue.conformance.port import Probe, ProbeExchange, RequestTemplate


def test_it_counts_the_requests_that_came_back() -> None:
    progress = CheckProgress()
    assert progress.text().endswith(": 0 requests have come back")
    probe = Probe("valid", RequestTemplate().task("valid"), "A request.")
    progress.on_exchange(probe, ProbeExchange(probe, "", duration_ns=2_000_000_000))
    assert progress.text().endswith(": 1 request has come back, the latest `valid` after 2.0 s")
