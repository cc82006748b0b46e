"""What every test shares: Hypothesis profiles, and `--row ID` to run the tests of one requirement row."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes depends on the machine, so no profile judges by time.
settings.register_profile("retinue", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("retinue-ci", settings.get_profile("retinue"), derandomize=True, database=None)
settings.register_profile("retinue-deep", settings.get_profile("retinue"), max_examples=5_000)
settings.load_profile(os.environ.get("RETINUE_HYPOTHESIS") or ("retinue-ci" if os.environ.get("CI") else "retinue"))

# In the background or under `nohup` they are ignored, and programs that tests start would inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--row`."""
    parser.addoption("--row", action="append", default=[], metavar="ID", help="run only tests that carry this row")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that carry one of the rows asked for."""
    wanted: set[str] = set(config.getoption("--row") or ())
    if not wanted:
        return
    kept = [item for item in items if any(wanted.intersection(mark.args) for mark in item.iter_markers("row"))]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
