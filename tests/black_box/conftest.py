"""Where every trial stands."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Where a user's own state is. Whatever happens, no half-written file stays there."""
    yield tmp_path
    # What belongs to SQLite may stay in the cache: the next command that opens it takes it up.
    for name, litter in (("state", r"\.tmp|-wal$|-shm$|trust\.json\."), ("cache", r"\.tmp")):
        assert [path for path in (tmp_path / name).rglob("*") if re.search(litter, path.name)] == []
