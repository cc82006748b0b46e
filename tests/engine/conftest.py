"""The fixture that makes the subject of the shared suite."""

from pathlib import Path

import pytest

from tests.engine.subjects import KINDS, Subject


@pytest.fixture
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Subject:
    """The engine that `over` chose, in a folder of its own."""
    return Subject(request.param, KINDS[request.param], tmp_path)
