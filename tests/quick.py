"""`--quick`: the tests that start no program and load no model, with few examples.

A test module is left out by what stands in it, so a new one is classified without a mark; whole rooms that do little but
run programs are left out by their names, and single tests by `slow` and `install`.
"""

import re
from pathlib import Path

import pytest

__all__ = ["QuickRun"]

_ROOMS = {"bench", "black_box", "catalogue", "cli", "conformance", "packages", "repository", "scenarios", "wire"}
_STARTS = re.compile(
    r"\b(?:subprocess|multiprocessing|Pool|CommandAgent|GitRepo|Repo|git|lsp|Child|run_program|Office|sys\.executable|forkserver"
    r"|embedding|fastembed|xllamacpp|pgserver)\b"
)


class QuickRun:
    """The pytest plugin behind the option."""

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Whole rooms, and modules that start something; None leaves the others to pytest."""
        if _ROOMS.intersection(collection_path.relative_to(config.rootpath).parts):
            return True
        is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
        return True if is_test and _STARTS.search(collection_path.read_text(encoding="utf-8")) else None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what is marked."""
        slow = [item for item in items if item.get_closest_marker("slow") or item.get_closest_marker("install")]
        config.hook.pytest_deselected(items=slow)
        left_out = set(slow)
        items[:] = [item for item in items if item not in left_out]
