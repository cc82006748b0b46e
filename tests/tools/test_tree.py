import fnmatch
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from retinue.errors import InvalidInput
from retinue.tools.tree import glob, list_files, matcher
from retinue.tools.workspace import Workspace
from tests.tools.conftest import Repository


def _paths(root: Path, **options: object) -> list[str]:
    return [entry.path for entry in list_files(Workspace(root), **options).files]  # pyright: ignore[reportArgumentType] - options of a test


def _fill(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    return root


def test_git_says_what_is_ignored(make_repository: Callable[..., Repository]) -> None:
    made = make_repository()
    made.write(".gitignore", "*.log\nbuild/\n")
    _fill(made.root, "a.py", "b/c.py", "d.log", "build/x.py", "gone.py")
    made.commit("one")
    _fill(made.root, "untracked.py")
    (made.root / "gone.py").unlink()
    listing = list_files(Workspace(made.root))
    assert [entry.path for entry in listing.files] == [".gitignore", "a.py", "b/c.py", "untracked.py"]
    assert (listing.source, listing.note, listing.skipped) == ("git", "", ())
    assert _paths(made.root / "b") == ["c.py"]
    everything = list_files(Workspace(made.root), with_ignored=True)
    assert {entry.path for entry in everything.files} - {entry.path for entry in listing.files} == {
        "build/x.py",
        "d.log",
    }


def test_a_walk_leaves_out_what_nobody_means(tmp_path: Path) -> None:
    _fill(
        tmp_path,
        "a.py",
        ".git-is-not/x",
        "node_modules/x/y.js",
        ".venv/lib/z.py",
        "__pycache__/a.pyc",
        "b/node_modules/x.js",
    )
    listing = list_files(Workspace(tmp_path))
    assert [entry.path for entry in listing.files] == [".git-is-not/x", "a.py"]
    assert listing.source == "walk"
    assert (listing.files[0].size, listing.files[0].mtime_ns) == (1, (tmp_path / ".git-is-not/x").stat().st_mtime_ns)


def test_where_git_refuses_a_walk_answers_and_says_why(make_repository: Callable[..., Repository]) -> None:
    made = make_repository()
    _fill(made.root, "a.py")
    (made.root / ".git" / "config").write_text("[broken")
    listing = list_files(Workspace(made.root))
    assert [entry.path for entry in listing.files] == ["a.py"]
    assert listing.source == "walk"
    assert "git could not list" in listing.note


def test_links_are_listed_as_what_they_lead_to_and_never_walked(tmp_path: Path) -> None:
    root = _fill(tmp_path / "root", "a/b.py", "c.py")
    (tmp_path / "secret").write_text("x")
    (root / "link.py").symlink_to("c.py")
    (root / "a" / "up").symlink_to("..")
    (root / "out").symlink_to("../secret")
    (root / "circle").symlink_to("circle")
    (root / "dangling").symlink_to("nothing")
    listing = list_files(Workspace(root))
    assert [(entry.path, entry.is_link) for entry in listing.files] == [
        ("a/b.py", False),
        ("c.py", False),
        ("link.py", True),
    ]
    assert [item.path for item in listing.skipped] == ["circle", "dangling", "out"]


def test_submodules_are_not_taken_for_files(repository: Repository, make_repository: Callable[..., Repository]) -> None:
    outer = make_repository("outer")
    outer.git("submodule", "--quiet", "add", str(repository.root), "inner")
    assert _paths(outer.root) == [".gitmodules"]


def test_names_that_cannot_be_shown_are_reported(tmp_path: Path) -> None:
    for name in (b"line\nbreak", b"\xff", b"fine"):
        (tmp_path / os.fsdecode(name)).write_text("x")
    os.mkfifo(tmp_path / "fifo")
    listing = list_files(Workspace(tmp_path))
    assert [entry.path for entry in listing.files] == ["fine"]
    assert [item.path for item in listing.skipped] == ['"\\377"', '"line\\nbreak"', "fifo"]
    assert all(item.reason for item in listing.skipped)


def test_only_the_read_set_is_listed(tmp_path: Path) -> None:
    _fill(tmp_path, "a/x.py", "b/y.py")
    assert [entry.path for entry in list_files(Workspace(tmp_path, read=["a"])).files] == ["a/x.py"]


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    _fill(tmp_path, "a", "b", "c")
    with pytest.raises(InvalidInput, match="more than 2 files"):
        _paths(tmp_path, limit=2)


def test_a_folder_that_may_not_be_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(tmp_path, "a/x", "b/y")
    real = os.scandir

    def scandir(path: bytes) -> object:
        if path.endswith(b"/a"):
            raise PermissionError(13, "no")
        return real(path)

    monkeypatch.setattr("retinue.tools.tree.os.scandir", scandir)
    assert _paths(tmp_path) == ["b/y"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**/*.py", ["src/b.py", "src/deep/c.py"]),
        ("**/*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("src/**", ["src/b.py", "src/deep/c.py", "src/deep/notes.md"]),
        ("src/", ["src/b.py", "src/deep/c.py", "src/deep/notes.md"]),
        ("./src/b.py", ["src/b.py"]),
        ("**/deep/**", ["src/deep/c.py", "src/deep/notes.md"]),
        ("**", ["[x].txt", "a.py", "src/b.py", "src/deep/c.py", "src/deep/notes.md"]),
        ("[ab].py", ["a.py", "src/b.py"]),
        ("[!a-b].py", ["src/deep/c.py"]),
        ("[z-a].py", []),
        ("?.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("[[]x].txt", ["[x].txt"]),
        ("*x*.*t*", ["[x].txt"]),
        ("src", []),
        ("SRC/*", []),
    ],
)
def test_patterns_name_files(tmp_path: Path, pattern: str, found: list[str]) -> None:
    _fill(tmp_path, "a.py", "src/b.py", "src/deep/c.py", "src/deep/notes.md", "[x].txt")
    assert glob(Workspace(tmp_path), pattern) == found


def test_several_patterns_and_a_limit(tmp_path: Path) -> None:
    _fill(tmp_path, "a.py", "b.md", "c.txt")
    assert glob(Workspace(tmp_path), ["*.md", "a.*"]) == ["a.py", "b.md"]
    assert glob(Workspace(tmp_path), "*", limit=1) == ["a.py"]
    assert matcher(())("anything")


@pytest.mark.parametrize("pattern", ["", "/etc/*", "../*", "a/../../b", "a\0", "x" * 600])
def test_a_pattern_that_could_lead_outside_is_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(InvalidInput):
        glob(Workspace(tmp_path), pattern)


def test_a_pattern_of_many_stars_stays_quick() -> None:
    started = time.process_time()
    assert not matcher("*a" * 100 + "*b")("a" * 250)
    assert not matcher("**/a/" * 50 + "b")("/".join("a" * 200))
    assert time.process_time() - started < 5  # it would take longer than the universe has


@given(pattern=st.text("ab*?[]!-", min_size=1, max_size=8), name=st.text("ab]-!", min_size=1, max_size=8))
def test_one_component_matches_as_fnmatch_does(pattern: str, name: str) -> None:
    if "**" not in pattern and "[" not in pattern:
        assert matcher(pattern)(name) == fnmatch.fnmatchcase(name, pattern)
    else:
        assert matcher(pattern)(name) in (True, False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pattern=st.text("./*sab[]?", max_size=12))
def test_what_a_pattern_finds_is_always_inside(tmp_path: Path, pattern: str) -> None:
    root = tmp_path / "root"
    if not root.exists():
        _fill(root, "s/a", "s/b", "a")
        _fill(tmp_path, "b")
        (root / "s" / "up").symlink_to("../..")
    try:
        found = glob(Workspace(root), pattern)
    except InvalidInput:
        return
    assert set(found) <= {"s/a", "s/b", "a"}
