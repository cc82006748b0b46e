"""What every test shares: Hypothesis profiles, and `--requirement ID` to run the tests of one requirement."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes depends on the machine, so no profile judges by time. Only `make deep` draws new examples.
_HEALTH = [HealthCheck.too_slow]
settings.register_profile("retinue", deadline=None, derandomize=True, database=None, suppress_health_check=_HEALTH)
settings.register_profile("retinue-quick", settings.get_profile("retinue"), max_examples=10)
settings.register_profile(
    "retinue-deep", deadline=None, max_examples=5_000, print_blob=True, suppress_health_check=_HEALTH
)
settings.load_profile(os.environ.get("RETINUE_HYPOTHESIS") or "retinue")

# In the background or under `nohup` they are ignored, and programs that tests start would inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--requirement`."""
    parser.addoption(
        "--requirement", action="append", default=[], metavar="ID", help="run only tests that carry this id"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that carry one of the rows asked for."""
    ids: set[str] = set(config.getoption("--requirement") or ())
    if not ids:
        return
    chosen = [item for item in items if any(ids.intersection(mark.args) for mark in item.iter_markers("requirement"))]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
