"""The fixture that makes the subject of the shared suite."""

from pathlib import Path

import pytest

from tests.engine.subjects import KINDS, Subject


@pytest.fixture
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Subject:
    """The engine that `over` chose, in a folder or a part of a database of its own."""
    place = request.getfixturevalue("postgres").fresh() if request.param == "postgres" else str(tmp_path)
    return Subject(request.param, KINDS[request.param], place)
