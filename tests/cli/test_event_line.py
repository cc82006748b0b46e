"""What a person reads of an event."""

import pytest

from retinue.cli.screen import progress_text
from retinue.contract.event import Progress


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (Progress("reading", done=3, total=10), "reading 3/10"),
        (Progress("reading", status="slowly", done=1_000), "reading slowly 1,000"),
        (Progress("7/60", done=7, total=60), "7/60"),
        (Progress("reading"), "reading"),
    ],
)
def test_progress_says_each_thing_once(body: Progress, text: str) -> None:
    assert progress_text(body) == text
