"""Where every trial stands."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Where a user's own state is. Whatever happens, no half-written file stays there."""
    yield tmp_path
    litter = [path for name in ("state", "cache") for path in (tmp_path / name).rglob("*") if _is_litter(path)]
    assert litter == []


def _is_litter(path: Path) -> bool:
    return re.search(r"\.tmp|-wal$|-shm$|trust\.json\.", path.name) is not None
