"""What `git log` printed is kept by the commits it is about, and printed anew when anything else has changed."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from retinue.tools.git import Git, log_cache
from tests.tools.conftest import Repository


def subjects(repository: Repository, cache: Path | None, revision: str = "HEAD", **options: Any) -> list[str]:
    git = Git(repository.root, cache_dir=cache)
    return [commit.subject for commit in git.log(revision, **options)]


def kept(cache: Path) -> list[Path]:
    return sorted((cache / "git").iterdir())


@pytest.mark.parametrize("options", [{}, {"stat": True}, {"author": "Ada"}, {"paths": ["src"]}, {"limit": 2}])
def test_the_second_time_says_the_same_without_git(
    repository: Repository, tmp_path: Path, options: dict[str, Any]
) -> None:
    cache = tmp_path / "cache"
    git = Git(repository.root, cache_dir=cache)
    first = list(git.log(**options))
    assert first == list(Git(repository.root).log(**options))
    (path,) = kept(cache)
    before = path.stat().st_mtime_ns
    again = Git(repository.root, cache_dir=cache)
    assert list(again.log(**options)) == first
    assert path.stat().st_mtime_ns == before
    assert [words for words in again.commands if words[1] == "log"] == [
        words for words in git.commands if words[1] == "log"
    ]


def test_a_new_commit_is_seen(repository: Repository, tmp_path: Path) -> None:
    assert len(subjects(repository, tmp_path)) == 3
    repository.write("new.txt", "new\n")
    repository.commit("add a file")
    assert subjects(repository, tmp_path)[0] == "add a file"
    repository.git("reset", "-q", "--hard", "HEAD~1")
    assert len(subjects(repository, tmp_path)) == 3


def test_a_moved_tag_is_seen_in_a_range(repository: Repository, tmp_path: Path) -> None:
    repository.git("tag", "v1", "HEAD~2")
    assert len(subjects(repository, tmp_path, "v1..HEAD")) == 2
    repository.git("tag", "-f", "v1", "HEAD~1")
    assert len(subjects(repository, tmp_path, "v1..HEAD")) == 1


def test_a_mailmap_is_seen(repository: Repository, tmp_path: Path) -> None:
    def authors() -> set[str]:
        return {commit.author for commit in Git(repository.root, cache_dir=tmp_path).log()}

    assert authors() == {"Ada Lovelace"}
    (repository.root / ".mailmap").write_text("Countess <ada@example.org>\n", encoding="utf-8")
    assert authors() == {"Countess"}


def test_a_replaced_commit_is_seen(repository: Repository, tmp_path: Path) -> None:
    assert len(subjects(repository, tmp_path)) == 3
    repository.git("replace", "--graft", "HEAD~1")
    assert len(subjects(repository, tmp_path)) == 2


@pytest.mark.parametrize("damage", ["cut", "empty", "changed"])
def test_damage_is_read_anew(repository: Repository, tmp_path: Path, damage: str) -> None:
    first = subjects(repository, tmp_path)
    (path,) = kept(tmp_path)
    data = path.read_bytes()
    path.write_bytes({"cut": data[:-3], "empty": b"", "changed": data.replace(b"Ada", b"Eve")}[damage])
    git = Git(repository.root, cache_dir=tmp_path)
    assert [commit.subject for commit in git.log()] == first
    assert {commit.author for commit in git.log()} == {"Ada Lovelace"}


def test_what_was_not_read_to_its_end_is_not_kept(repository: Repository, tmp_path: Path) -> None:
    commits = Git(repository.root, cache_dir=tmp_path).log()
    next(commits)
    assert isinstance(commits, Generator)
    commits.close()
    assert not (tmp_path / "git").exists()
    assert len(subjects(repository, tmp_path)) == 3


def test_what_is_too_large_is_not_kept(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_cache, "_MOST_BYTES", 10)
    assert len(subjects(repository, tmp_path)) == 3
    assert not (tmp_path / "git").exists()


def test_only_the_last_ones_stay(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_cache, "_MOST_FILES", 3)
    for limit in range(1, 6):
        subjects(repository, tmp_path, limit=limit)
        newest = max(kept(tmp_path), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (limit, limit))
    assert len(kept(tmp_path)) == 3
    assert sorted(path.stat().st_mtime for path in kept(tmp_path)) == [3, 4, 5]


def test_it_is_its_owners_alone(repository: Repository, tmp_path: Path) -> None:
    subjects(repository, tmp_path)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "git", *kept(tmp_path))] == [0o700, 0o600]
