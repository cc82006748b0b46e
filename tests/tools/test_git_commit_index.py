"""A history is walked once, and then only where it is new; whatever else changes what git says of it is seen."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from retinue.errors import DeadlineExceeded
from retinue.tools.git import commit_index
from retinue.tools.git.commit_index import CommitIndex, Selection
from retinue.tools.git.repository import Git
from tests.tools.conftest import Repository

_ASKS_A_RANGE = """
import sys
from pathlib import Path
from retinue.tools.git.repository import Git
from retinue.tools.git.commit_index import CommitIndex, Selection

with CommitIndex(Git(sys.argv[1]), Path(sys.argv[2]), check=lambda: None) as index:
    index.refresh()
    count = index.select(Selection(revision="main..side"))
    files = {path: index.commits(1, path=path)[0].subject for path in ("h.txt", "g.txt", "f.txt")}
    print([f"{subject} {path}" for path, subject in files.items()], count, index.sizes(100).files)
"""


def no_check() -> None:
    """There is time enough."""


def names_a_task(message: str) -> bool:
    return "TASK" in message


@contextmanager
def index_of(repository: Repository, cache: Path | None, revision: str = "HEAD") -> Generator[tuple[CommitIndex, Git]]:
    git = Git(repository.root)
    with CommitIndex(git, cache, check=no_check) as index:
        index.refresh()
        index.select(Selection(revision=revision))
        yield index, git


def subjects(repository: Repository, cache: Path | None, revision: str = "HEAD") -> list[str]:
    with index_of(repository, cache, revision) as (index, _):
        return [commit.subject for commit in index.commits(100)]


def walks(git: Git) -> list[tuple[str, ...]]:
    return [words for words in git.commands if words[1] == "log"]


def test_the_second_time_says_the_same_without_a_walk(repository: Repository, tmp_path: Path) -> None:
    with index_of(repository, tmp_path) as (index, git):
        first = index.commits(100), index.people(recent_since=0, with_lines=False), index.days(), index.sizes(10)
        assert len(walks(git)) == 1
    for cache, count in ((tmp_path, 0), (None, 1)):
        with index_of(repository, cache) as (index, git):
            again = index.commits(100), index.people(recent_since=0, with_lines=False), index.days(), index.sizes(10)
            assert again == first
            assert len(walks(git)) == count
            assert [words[1] for words in git.commands].count("show") == count


def test_it_says_what_git_says(repository: Repository, tmp_path: Path) -> None:
    repository.git("switch", "--quiet", "--create", "side", "HEAD~1")
    repository.commit("aside\n\nWith a body.")
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "Merge side", "side")
    with index_of(repository, tmp_path) as (index, git):
        assert index.commits(100) == list(git.log())
        assert index.commits(2, oldest=True) == list(git.log())[::-1][:2]
        assert index.merges() == 1
        assert index.earlier_names("GUIDE.md") == ["README.md"]


def test_only_new_commits_are_read_and_reset_ones_go(repository: Repository, tmp_path: Path) -> None:
    assert len(subjects(repository, tmp_path)) == 3
    old = repository.git("rev-parse", "HEAD")
    repository.write("new.txt", "new\n")
    repository.commit("add a file")
    with index_of(repository, tmp_path) as (index, git):
        assert index.commits(1)[0].subject == "add a file"
        (walk,) = walks(git)
        assert f"{old}..{repository.git('rev-parse', 'HEAD')}" in walk
        assert index.commits(100) == list(git.log())
    repository.git("reset", "-q", "--hard", "HEAD~1")
    assert len(subjects(repository, tmp_path)) == 3
    repository.git("commit", "--quiet", "--amend", "--message", "amended")
    assert subjects(repository, tmp_path)[0] == "amended"


def test_a_moved_tag_is_seen_in_a_range(repository: Repository, tmp_path: Path) -> None:
    repository.git("tag", "v1", "HEAD~2")
    assert len(subjects(repository, tmp_path, "v1..HEAD")) == 2
    repository.git("tag", "-f", "v1", "HEAD~1")
    assert len(subjects(repository, tmp_path, "v1..HEAD")) == 1


def test_commits_that_head_does_not_reach_are_read_once_and_count_for_their_range_only(
    repository: Repository, tmp_path: Path
) -> None:
    repository.git("switch", "--quiet", "--create", "side")
    repository.write("side.txt", "x\n")
    repository.commit("aside")
    repository.git("switch", "--quiet", "main")
    assert subjects(repository, tmp_path, "main..side") == ["aside"]
    assert "aside" not in subjects(repository, tmp_path)
    with index_of(repository, tmp_path, "main..side") as (index, git):
        assert walks(git) == []
        assert [one.path for one in index.files(5)[0]] == ["side.txt"]
    repository.git("merge", "--quiet", "side")
    assert subjects(repository, tmp_path)[0] == "aside"


def test_many_processes_at_a_new_index_say_the_same(repository: Repository, tmp_path: Path) -> None:
    repository.git("switch", "--quiet", "--create", "side")
    for name in "abcdefgh":
        repository.write(f"{name}.txt", "x\n")
        repository.commit(f"add {name}")
    repository.git("switch", "--quiet", "main")
    words = [sys.executable, "-c", _ASKS_A_RANGE, repository.root, str(tmp_path)]
    processes = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    said = {process.communicate()[0] for process in processes}
    assert [process.returncode for process in processes] == [0] * 6
    assert said == {"['add h h.txt', 'add g g.txt', 'add f f.txt'] 8 8\n"}


def test_an_index_that_stays_locked_says_so(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_index, "_WAIT_S", 0.01)
    repository.git("switch", "--quiet", "--create", "side")
    repository.commit("aside")
    repository.git("switch", "--quiet", "main")
    with (
        index_of(repository, tmp_path) as (index, _),
        closing(sqlite3.connect(next(tmp_path.rglob("*.sqlite")))) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DeadlineExceeded, match="Another process") as locked:
            index.select(Selection(revision="main..side"))
        assert locked.value.hint == "Wait for it to end, then ask again."
        other.rollback()
        assert index.select(Selection(revision="main..side")) == 1


def test_a_mailmap_is_seen(repository: Repository, tmp_path: Path) -> None:
    def authors() -> set[str]:
        with index_of(repository, tmp_path) as (index, _):
            return {commit.author for commit in index.commits(100)}

    assert authors() == {"Ada Lovelace"}
    (repository.root / ".mailmap").write_text("Countess <ada@example.org>\n", encoding="utf-8")
    assert authors() == {"Countess"}


def test_a_replaced_commit_is_seen(repository: Repository, tmp_path: Path) -> None:
    assert len(subjects(repository, tmp_path)) == 3
    repository.git("replace", "--graft", "HEAD~1")
    assert len(subjects(repository, tmp_path)) == 2


def test_when_time_is_up_the_next_time_goes_on(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_index, "_BATCH", 1)

    def no_time() -> None:
        raise DeadlineExceeded("Time was up.", hint="")

    for count in (1, 2, 3):
        with CommitIndex(Git(repository.root), tmp_path, check=no_time) as index:
            assert index.refresh() == "time"
            assert index.select(Selection()) == count
    git = Git(repository.root)
    with CommitIndex(git, tmp_path, check=no_check) as index:
        assert index.refresh() == ""
        index.select(Selection())
        assert index.commits(100) == list(git.log())


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_read_anew(repository: Repository, tmp_path: Path, damage: bytes) -> None:
    assert len(subjects(repository, tmp_path)) == 3
    (path,) = (tmp_path / "git").glob("*.sqlite")
    for left in path.parent.iterdir():
        left.unlink()
    path.write_bytes(damage)
    assert len(subjects(repository, tmp_path)) == 3
    assert len(subjects(repository, tmp_path)) == 3


def test_what_somebody_else_is_writing_is_left_to_them(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(subjects(repository, tmp_path)) == 3
    repository.commit("more")
    (path,) = (tmp_path / "git").glob("*.sqlite")
    monkeypatch.setattr(commit_index, "_WAIT_S", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert len(subjects(repository, tmp_path)) == 4
        other.execute("COMMIT")
    assert len(subjects(repository, tmp_path)) == 4
    assert path.exists()


def test_a_link_in_its_place_is_not_followed(repository: Repository, tmp_path: Path) -> None:
    assert len(subjects(repository, tmp_path)) == 3
    (path,) = (tmp_path / "git").glob("*.sqlite")
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert len(subjects(repository, tmp_path)) == 3
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_where_nothing_can_be_kept_all_is_read(repository: Repository, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert len(subjects(repository, tmp_path)) == 3


def test_only_so_many_repositories_are_kept(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_index, "_FILES", 3)
    for number in range(5):
        repository.git("clone", "--quiet", str(repository.root), str(tmp_path / f"clone{number}"))
        clone = Repository(tmp_path / f"clone{number}")
        assert len(subjects(clone, tmp_path)) == 3
    assert len(list((tmp_path / "git").glob("*.sqlite"))) == 3


CASES: list[tuple[dict[str, Any], int]] = [
    ({"authors": ("LOVE",)}, 3),
    ({"authors": ("charles",)}, 0),
    ({"not_by": ("ada@example.org",)}, 0),
    ({"paths": ("src",)}, 2),
    ({"paths": ("sr",)}, 0),
    ({"paths": (".",)}, 3),
    ({"words": ("ENGINE", "light")}, 1),
    ({"message": names_a_task}, 1),
    ({"text": "return 2"}, 1),
    ({"merges": False}, 3),
]


@pytest.mark.parametrize(("selection", "count"), CASES)
def test_commits_are_selected(repository: Repository, selection: dict[str, Any], count: int) -> None:
    with CommitIndex(Git(repository.root), None, check=no_check) as index:
        index.refresh()
        assert index.select(Selection(**selection)) == count
        assert len(index.commits(10)) == count
