"""Documents are found by what stands under one heading, and the index on disk follows the files."""

import sqlite3
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from retinue.tools.search import Section, Sections
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

GUIDE = """\
# Guide

Install it first.

## Deadlines

A deadline is the smallest of all bounds.

It is never extended.

## Retries

A failed upload is retried five times.
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "docs/guide.md").write_text(GUIDE)
    (root / "uploads.py").write_text('"""A failed upload is retried."""\n')
    return root


def found(root: Path, *words: str, cache: Path | None = None, limit: int = 5) -> Sequence[Section]:
    workspace = Workspace(root)
    return Sections(workspace, cache_dir=cache).search(words, list_files(workspace).files, limit=limit)


def test_a_section_is_everything_under_one_heading_with_its_place(tree: Path) -> None:
    best, *_ = found(tree, "deadlines")
    assert (best.path, best.start, best.stop) == ("docs/guide.md", 5, 9)
    assert best.heading == "Guide > Deadlines"
    assert best.text.split("\n") == GUIDE.split("\n")[4:9]
    assert best.score > 0


def test_words_are_found_in_other_forms_of_documents_alone(tree: Path) -> None:
    assert [(one.path, one.heading) for one in found(tree, "retry", "uploads")] == [
        ("docs/guide.md", "Guide > Retries")
    ]


@pytest.mark.parametrize("words", [(), ('"', "*"), ("-",), ("nothing",)])
def test_words_that_stand_nowhere_find_nothing(tree: Path, words: Sequence[str]) -> None:
    assert found(tree, *words) == []


def test_what_a_query_would_mean_to_sqlite_is_only_words(tree: Path) -> None:
    assert found(tree, 'deadline" OR body:"install', "NEAR(", "heading:*")[0].heading in {"Guide > Deadlines", "Guide"}


def test_the_index_on_disk_follows_the_files(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert found(tree, "deadline", cache=cache)
    (tree / "docs/guide.md").write_text(GUIDE.replace("deadline is", "time limit is").replace("Deadlines", "Limits"))
    (tree / "docs/more.md").write_text("# More\n\nA bound is a number of seconds.\n")
    assert found(tree, "deadline", cache=cache) == []
    assert {one.path for one in found(tree, "bound", cache=cache)} == {"docs/guide.md", "docs/more.md"}
    (tree / "docs/more.md").unlink()
    assert {one.path for one in found(tree, "bound", cache=cache)} == {"docs/guide.md"}


def test_only_its_owner_may_read_the_index_and_another_tree_has_its_own(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.md").write_text("# Notes\n\nA deadline is a day.\n")
    assert found(tree, "deadline", cache=cache)[0].path == "docs/guide.md"
    assert [one.path for one in found(other, "deadline", cache=cache)] == ["notes.md"]
    kept = list(cache.glob("sections-*.sqlite3"))
    assert len(kept) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}


def test_an_index_that_is_damaged_or_locked_is_done_without(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert found(tree, "deadline", cache=cache)
    (kept,) = cache.glob("sections-*.sqlite3")
    other = sqlite3.connect(kept)
    other.execute("BEGIN EXCLUSIVE")
    try:
        assert found(tree, "deadline", cache=cache)
    finally:
        other.close()
    kept.write_bytes(b"no database at all" * 100)
    assert found(tree, "deadline", cache=cache)


def test_a_file_that_cannot_be_read_is_left_out(tree: Path) -> None:
    (tree / "docs/broken.md").write_bytes(b"# Deadline\n\n\xff\xfe\x00\x01 deadline\n")
    assert {one.path for one in found(tree, "deadline")} == {"docs/guide.md"}
