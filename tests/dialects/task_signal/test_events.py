"""Progress and checkpoints: anywhere at line starts, whole or in pieces, and never out of a code fence (C42)."""

import pytest
from hypothesis import given, strategies as st

from retinue.contract.event import Checkpoint, Progress
from retinue.dialects import task_signal
from retinue.errors import InvalidInput

STREAM = """\
PROGRESS: Research - Starting codebase analysis
Some text. PROGRESS: Research - not this
PROGRESS: Research - Analyzed 15/30 files
```
PROGRESS: Research - in a fence
```
CHECKPOINT: Research complete
- Artifacts: 2
- Status: all files read
PROGRESS: Writing - Creating report

CREATED: /a.md
"""
EVENTS = (
    Progress("Research", "Starting codebase analysis"),
    Progress("Research", "Analyzed 15/30 files", 15, 30),
    Checkpoint("Research", "all files read", 2),
    Progress("Writing", "Creating report"),
)


@pytest.mark.requirement("H18", "H19", "C42")
def test_events_are_read_out_of_a_stream() -> None:
    assert task_signal.read_events(STREAM) == EVENTS
    assert task_signal.read_events(STREAM.replace("\n", "\r\n")) == EVENTS
    assert task_signal.parse_events(STREAM).value == EVENTS


@pytest.mark.requirement("H18", "H19")
def test_events_are_written_as_they_were_read() -> None:
    written = task_signal.render_events(EVENTS)
    assert written.losses == ()
    assert written.text.startswith(
        "PROGRESS: Research - Starting codebase analysis\nPROGRESS: Research - Analyzed 15/30"
    )
    assert task_signal.read_events(written.text) == EVENTS


@given(st.lists(st.integers(1, 40), min_size=1))
def test_the_pieces_of_a_stream_do_not_matter(sizes: list[int]) -> None:
    reader = task_signal.EventReader()
    found: list[object] = []
    at = 0
    for size in [*sizes, len(STREAM)]:
        found += reader.feed(STREAM[at : at + size])
        at += size
    assert (*found, *reader.close()) == EVENTS


@pytest.mark.requirement("H19")
def test_a_checkpoint_is_told_as_soon_as_something_else_follows() -> None:
    reader = task_signal.EventReader()
    assert reader.feed("CHECKPOINT: Plan complete\n- Artifacts: many\n") == (Checkpoint("Plan"),)
    assert reader.feed("CHECKPOINT: Plan complete\n- Status: fine") == ()
    assert reader.close() == (Checkpoint("Plan", "fine"),)
    assert reader.close() == ()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Research", Progress("Research")),
        ("Analyzed 15/30 files", Progress("Analyzed 15/30 files", "", 15, 30)),
        ("A - half way (3/6)", Progress("A", "half way", 3, 6)),
        ("A - (3/6)", Progress("A", "", 3, 6)),
        ("A - ratio 7/5", Progress("A", "ratio 7/5")),
        ("A - on 2026/11/21", Progress("A", "on 2026/11/21")),
        ("A - see src/3/4/x", Progress("A", "see src/3/4/x")),
        ("A - B - C", Progress("A", "B - C")),
    ],
)
@pytest.mark.requirement("H18")
def test_how_far_it_is_is_read_where_it_is_counted(said: str, expected: Progress) -> None:
    assert task_signal.read_events(f"PROGRESS: {said}") == (expected,)


@pytest.mark.requirement("H18")
def test_a_count_is_written_where_the_status_does_not_say_it() -> None:
    written = task_signal.render_event(Progress("A", "reading", 3, 6))
    assert written is not None
    assert (written.text, written.losses) == ("PROGRESS: A - reading (3/6)", ())


def test_a_flood_without_line_ends_stays_small() -> None:
    reader = task_signal.EventReader()
    for _ in range(100):
        assert reader.feed("x" * 10_000) == ()
    assert reader.feed("\nPROGRESS: A - b\n") == (Progress("A", "b"),)


def test_an_empty_line_of_progress_is_none() -> None:
    assert task_signal.read_events("PROGRESS:\nPROGRESS:   \n") == ()


def test_a_text_without_events_is_refused_as_events() -> None:
    with pytest.raises(InvalidInput, match="PROGRESS"):
        task_signal.parse_events("STATUS: complete")
