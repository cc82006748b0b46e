"""What every test shares: bytecode, Hypothesis profiles, `--requirement`, `--quick`, and a look at what is left alive."""

import compileall
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import forkserver
from tests.leftovers import end_leftovers
from tests.postgres import Postgres, running_server
from tests.quick import QuickRun
from tests.rabbitmq import RabbitMQ, running_broker

# How long an example takes depends on the machine, so no profile judges by time. Only `make deep` draws new examples.
_HEALTH = [HealthCheck.too_slow]
settings.register_profile(
    "retinue", deadline=None, max_examples=20, derandomize=True, database=None, suppress_health_check=_HEALTH
)
settings.register_profile("retinue-quick", settings.get_profile("retinue"), max_examples=3)
settings.register_profile(
    "retinue-deep", deadline=None, max_examples=5_000, print_blob=True, suppress_health_check=_HEALTH
)
settings.load_profile(os.environ.get("RETINUE_HYPOTHESIS") or "retinue")

# In the background or under `nohup` they are ignored, and programs that tests start would inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# Without bytecode every worker, and every program that a test starts, would compile the whole package anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--requirement` and `--quick`."""
    parser.addoption(
        "--requirement", action="append", default=[], metavar="ID", help="run only tests that carry this id"
    )
    parser.addoption("--quick", action="store_true", help="leave out whatever starts a process or loads a model")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: many tests wait for a process, a clock or a socket."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package once, before workers and programs import it, and leave out what is not quick if asked to."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(__file__).parents[1] / "src", quiet=2)
    if config.getoption("--quick"):
        settings.load_profile("retinue-quick")
        config.pluginmanager.register(QuickRun(), "retinue-quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only `make deep` runs, and keep the tests that carry one of the rows asked for."""
    if settings.get_current_profile_name() != "retinue-deep":
        deep = [item for item in items if item.get_closest_marker("deep")]
        config.hook.pytest_deselected(items=deep)
        items[:] = [item for item in items if item not in deep]
    ids: set[str] = set(config.getoption("--requirement") or ())
    if not ids:
        return
    chosen = [item for item in items if any(ids.intersection(mark.args) for mark in item.iter_markers("requirement"))]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.fixture(scope="session", autouse=True)
def nothing_left_alive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail when a process that a test started still lives after the last one."""
    yield
    forkserver.stop()
    left = end_leftovers(tmp_path_factory.getbasetemp())
    assert not left, "These processes, started by tests, were still alive at the end:\n" + "\n".join(left)


@pytest.fixture(scope="session")
def broker() -> Iterator[RabbitMQ]:
    """A real RabbitMQ, started by the first test that needs it."""
    with running_broker() as node:
        yield node


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A real PostgreSQL, started by the first test that needs it."""
    with running_server() as server:
        yield server
