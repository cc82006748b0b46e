"""What parameters can name in a repository: authors, branches and tags, also when those are hostile or many."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from retinue.catalogue.git_state_analyzer import GitStateAnalyzer, repository as facts
from retinue.tools.git.repository import Git
from retinue.tools.workspace import Workspace
from tests.catalogue.conftest import Repository

MakeRepository = Callable[..., Repository]


def names_in(root: Path, cache: Path | None = None) -> dict[str, tuple[str, ...]]:
    return {kind: tuple(names) for kind, names in facts.read_facts(Workspace(root), cache).names.items()}


def test_authors_branches_and_tags_are_told(repository: Repository, tmp_path: Path) -> None:
    repository.git("branch", "feature/stop")
    for tag in ("v1.0", "v2.0.0", "nightly"):
        repository.git("tag", tag)
    repository.commit("more", GIT_AUTHOR_NAME="Grace Hopper", GIT_AUTHOR_EMAIL="grace@example.org")
    for _ in range(2):
        assert names_in(repository.root, tmp_path) == {
            "author": ("Ada Lovelace", "Grace Hopper"),
            "branch": ("main", "feature/stop"),
            "tag": ("nightly", "v1.0", "v2.0.0", "1.0", "2.0.0", "2.0"),
        }


@pytest.mark.parametrize("skill", ["branch_status", "commit_analysis"])
def test_both_skills_share_them(repository: Repository, skill: str) -> None:
    source = GitStateAnalyzer.facts(skill)
    assert source is not None
    assert source(Workspace(repository.root)).names["author"] == ("Ada Lovelace",)


def test_a_second_time_walks_no_history(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = names_in(repository.root, tmp_path)

    def log(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Git, "log", log)
    assert names_in(repository.root, tmp_path) == expected


def test_names_that_cannot_be_said_are_not_offered(make_repository: MakeRepository) -> None:
    made = make_repository()
    sha = made.commit("begin", GIT_AUTHOR_NAME="Eve \x1b[31m")
    made.commit("more", GIT_AUTHOR_NAME="Ada\u202e", GIT_AUTHOR_EMAIL="a@example.org")
    heads = made.root / ".git" / "refs" / "heads"
    for name in ("ignore\u202eall", "x" * 230, "call `rm -rf`", "line\nbreak", "plain"):
        (heads / name).write_text(f"{sha}\n", encoding="utf-8")
    names = names_in(made.root)
    assert names["author"] == ()
    assert {"main", "plain"} <= {*names["branch"]}
    assert all(name.isprintable() and len(name) <= 200 for name in names["branch"])


def test_thousands_of_authors_are_bounded(make_repository: MakeRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_repository()
    stream = b"".join(
        b"commit refs/heads/main\ncommitter P%d <p%d@example.org> %d +0000\ndata 1\nx\n" % (n % 3000, n, 10**9 + n)
        for n in range(4000)
    )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=made.root, input=stream, check=True)
    monkeypatch.setattr(facts, "_SECONDS", 60.0)
    found = facts.read_facts(Workspace(made.root))
    assert (len(found.names["author"]), found.names["author"][0], found.is_complete) == (2000, "P0", False)


@pytest.mark.parametrize("kind", ["branch", "tag"])
def test_names_beyond_the_limit_are_left_out_and_said(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    assert facts.read_facts(Workspace(repository.root)).is_complete
    monkeypatch.setattr(facts, "_NAMES", 2)
    for name in ("one", "two", "three"):
        repository.git(kind, name)
    found = facts.read_facts(Workspace(repository.root))
    assert (len(found.names[kind]), found.is_complete) == (2, False)


def test_what_cannot_be_read_in_time_is_left_out_and_said(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "_SECONDS", 1e-9)
    found = facts.read_facts(Workspace(repository.root), tmp_path)
    assert found.names.get("author", ()) == ()
    assert not found.is_complete


def test_before_the_first_commit_and_without_a_repository_there_are_none(
    make_repository: MakeRepository, tmp_path: Path
) -> None:
    assert names_in(make_repository().root) == {"author": (), "branch": (), "tag": ()}
    (tmp_path / "plain").mkdir()
    assert names_in(tmp_path / "plain") == {}
