"""Where a branch stands, in real repositories (G9)."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retinue.contract.result import Result
from tests.catalogue.conftest import Ask, Repository

MakeRepository = Callable[..., Repository]
AskIn = Callable[[Path], Ask]


def data(result: Result) -> dict[str, Any]:
    assert result.fault is None, result.fault
    return result.data


@pytest.mark.requirement("G9")
def test_a_branch_is_told_whole(repository: Repository, ask: Ask) -> None:
    base = repository.git("rev-parse", "HEAD")
    repository.git("switch", "--quiet", "--create", "feature/stop")
    repository.write("src/engine.py", "def run():\n    return 3\n")
    repository.write("src/brake.py", "x = 1\n")
    repository.git("rm", "--quiet", "data.bin")
    sha = repository.commit("feat(brake): stop sooner\n\nBecause of STORY-0001.1.1 and #4.")
    repository.write("src/brake.py", "x = 2\n")
    repository.write("new.txt", "n\n")
    result = ask.branch(show="commits")
    found = data(result)
    commands = found.pop("metadata")["git_commands_run"]
    assert all(command.startswith("git ") for command in commands)
    assert any(command.startswith("git status --porcelain=v2") for command in commands)
    assert sum(command.startswith("git rev-list --count") for command in commands) == 2  # ahead and behind
    assert found.pop("answer") == "\n".join(f"{one['content']} ({one['source']})" for one in found["findings"])
    assert found == {
        "branch": "feature/stop",
        "head_sha": sha,
        "commits": {
            "total": 1,
            "shas": [sha],
            "messages": [
                {
                    "sha": sha,
                    "author": "Ada Lovelace",
                    "email": "ada@example.org",
                    "date": "2024-03-01T04:00:00+02:00",
                    "subject": "feat(brake): stop sooner",
                    "body": "Because of STORY-0001.1.1 and #4.",
                    "task_references": ["STORY-0001.1.1", "#4"],
                }
            ],
        },
        "files": {
            "committed": {
                "modified": ["src/engine.py"],
                "added": ["src/brake.py"],
                "deleted": ["data.bin"],
                "stat": "3 files changed, 2 insertions(+), 5 deletions(-)",
            },
            "uncommitted": {
                "modified": ["src/brake.py"],
                "added": ["new.txt"],
                "deleted": [],
                "stat": "1 file changed, 1 insertion(+), 1 deletion(-)",
                "untracked": ["new.txt"],
                "staged": [],
                "unmerged": [],
            },
        },
        "base": "main",
        "base_sha": base,
        "merge_base": base,
        "repository": {"bare": False, "shallow": False, "detached": False, "empty": False, "clean": False},
        "findings": [
            {
                "topic": "branch",
                "content": "`feature/stop` is 1 commit ahead of `main`.",
                "source": f"git rev-list {sha[:10]}",
            },
            {
                "topic": "last commit",
                "content": "Its last commit is by Ada Lovelace on 2024-03-01: “feat(brake): stop sooner”.",
                "source": f"commit {sha[:10]}",
            },
            {
                "topic": "changes",
                "content": "Its commits change `data.bin`, `src/brake.py`, `src/engine.py`: "
                "3 files changed, 2 insertions(+), 5 deletions(-).",
                "source": f"git diff {base[:10]} {sha[:10]}",
            },
            {
                "topic": "work tree",
                "content": "1 file is changed and not staged: `src/brake.py`.",
                "source": "git status",
            },
            {"topic": "work tree", "content": "1 file is untracked: `new.txt`.", "source": "git status"},
        ],
        "notes": [],
        "tables": [],
        "charts": [],
        "subjects": [],
    }
    assert result.outcome == "success"
    assert result.content.startswith(f"`feature/stop` is 1 commit ahead of `main`. (`git rev-list {sha[:10]}`)\n\n- ")
    tree = ask.branch(show="work_tree")
    assert tree.content.startswith("1 file is changed and not staged: `src/brake.py`. (`git status`)\n\n- ")


def test_the_remote_is_the_base_of_the_main_branch(repository: Repository, tmp_path: Path, ask_in: AskIn) -> None:
    repository.git("clone", "--quiet", str(repository.root), str(tmp_path / "clone"))
    clone = Repository(tmp_path / "clone")
    clone.hour = 10
    clone.write("more.txt", "1\n")
    clone.commit("more")
    repository.hour = 12
    repository.write("theirs.txt", "1\n")
    repository.commit("theirs")
    clone.git("fetch", "--quiet")
    found = data(ask_in(clone.root).branch(show="commits"))
    assert (found["upstream"], found["ahead"], found["behind"], found["base"]) == ("origin/main", 1, 1, "origin/main")
    assert found["findings"][0]["content"] == "`main` is 1 ahead of and 1 behind `origin/main`."
    assert found["commits"]["total"] == 1
    assert found["files"]["committed"]["added"] == ["more.txt"]
    clean = data(ask_in(clone.root).branch(show="work_tree"))
    assert clean["findings"][0]["content"] == "The work tree is clean: nothing is uncommitted."


def test_another_branch_is_told_without_the_work_tree_of_this_one(repository: Repository, ask: Ask) -> None:
    repository.git("branch", "other", "HEAD~1")
    repository.write("new.txt", "n\n")
    found = data(ask.branch(branch="other", base="main"))
    assert (found["branch"], found["commits"]["total"]) == ("other", 0)
    assert found["files"]["uncommitted"]["untracked"] == []
    assert "not told of `other`" in found["notes"][0]
    assert found["findings"][0]["content"] == "`other` is 1 commit behind `main`."


def test_a_branch_with_nothing_to_compare_counts_all_its_commits(ask: Ask) -> None:
    found = data(ask.branch())
    assert (found["commits"]["total"], len(found["commits"]["shas"])) == (3, 3)
    assert "base" not in found
    assert found["findings"][0]["content"] == "`main` has 3 commits, and there is no other branch to compare it with."


def test_a_rename_is_both_names(repository: Repository, ask: Ask) -> None:
    found = data(ask.branch(base="HEAD~1"))
    committed = found["files"]["committed"]
    assert (committed["added"], committed["deleted"]) == (["GUIDE.md", "data.bin"], ["README.md"])


@pytest.mark.requirement("K18", "C14")
def test_an_unknown_branch_is_refused_with_those_there_are(ask: Ask) -> None:
    result = ask.branch(branch="mian")
    assert result.fault is not None
    assert (result.fault.code, result.fault.suggestions) == ("invalid_input", ("main",))


@pytest.mark.requirement("K18", "C14")
@pytest.mark.parametrize("branch", ["--all", "a b", "x\0y", "main\n", "a/../b", "/main", "main.lock", "a@{b", "HEAD~1"])
def test_what_cannot_be_a_branch_is_refused(ask: Ask, branch: str) -> None:
    result = ask.branch(branch=branch)
    assert result.fault is not None
    assert result.fault.code == "invalid_input"
    assert "cannot be the name of a branch: it " in result.fault.message


# Odd repositories.


def test_before_the_first_commit_everything_is_still_told(make_repository: MakeRepository, ask_in: AskIn) -> None:
    repository = make_repository()
    repository.write("a.txt", "a\n")
    repository.git("add", "a.txt")
    result = ask_in(repository.root).branch(show="work_tree")
    found = data(result)
    assert result.outcome == "success"
    assert (found["branch"], found["commits"]) == ("main", {"total": 0, "shas": [], "messages": []})
    assert "head_sha" not in found
    assert found["files"]["uncommitted"]["added"] == ["a.txt"]
    assert found["repository"]["empty"] is True
    assert "no commits yet" in found["answer"]


def test_a_bare_repository_has_no_work_tree_and_says_so(repository: Repository, tmp_path: Path, ask_in: AskIn) -> None:
    repository.git("clone", "--quiet", "--bare", str(repository.root), str(tmp_path / "bare.git"))
    found = data(ask_in(tmp_path / "bare.git").branch(show="work_tree"))
    assert found["repository"]["bare"] is True
    assert "clean" not in found["repository"]
    assert "bare: it has no work tree" in found["findings"][0]["content"]


def test_a_detached_head_has_no_branch(repository: Repository, ask: Ask) -> None:
    repository.git("checkout", "--quiet", "--detach", "HEAD~1")
    found = data(ask.branch())
    assert "branch" not in found
    assert found["repository"]["detached"] is True
    assert found["findings"][0]["content"] == "A detached HEAD is 1 commit behind `main`."
    assert found["notes"][0].startswith("HEAD is detached at `")


def test_a_shallow_clone_says_that_its_counts_are_of_a_part(
    repository: Repository, tmp_path: Path, ask_in: AskIn
) -> None:
    repository.git("clone", "--quiet", "--depth", "1", f"file://{repository.root}", str(tmp_path / "shallow"))
    result = ask_in(tmp_path / "shallow").branch()
    assert data(result)["repository"]["shallow"] is True
    assert result.outcome == "partial"
    assert [(one.type, one.recovery) for one in result.warnings] == [("incomplete_context", "git fetch --unshallow")]


def test_a_folder_without_a_repository_is_a_missing_one(tmp_path: Path, ask_in: AskIn) -> None:
    result = ask_in(tmp_path).branch(show="work_tree")
    assert result.fault is not None
    assert (result.outcome, result.fault.code) == ("error", "missing_file")
    assert "git init" in result.fault.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_another_users_repository_is_refused_with_the_way_to_trust_it(repository: Repository, ask: Ask) -> None:
    for folder, folders, files in os.walk(repository.root):
        for name in (*folders, *files, "."):
            os.lchown(Path(folder, name), 1234, 1234)
    result = ask.branch()
    assert result.fault is not None
    assert result.fault.code == "access_denied"
    assert "safe.directory" in result.fault.hint


def test_a_hostile_configuration_runs_nothing(repository: Repository, ask: Ask, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "diff.external", "core.pager", "filter.x.clean", "core.sshCommand"):
        repository.git("config", name, str(trap))
    hook = repository.root / ".git/hooks/post-index-change"
    hook.write_text(trap.read_text())
    hook.chmod(0o755)
    repository.write(".gitattributes", "*.py filter=x diff=x\n")
    repository.write("src/engine.py", "changed\n")
    assert ask.branch(show="work_tree").outcome == "success"
    assert ask.history(show="latest_change", paths=["src/engine.py"]).outcome == "success"
    assert not (tmp_path / "sprung").exists()


def test_odd_file_names_and_subjects_stay_on_their_line(make_repository: MakeRepository, ask_in: AskIn) -> None:
    repository = make_repository()
    repository.write('new\nline "q" \x1b[31m`x`.txt', "1\n")
    repository.commit("evil \x1b]0;title\x07 <b>`x`</b> [l](http://x) \u202etxt", GIT_AUTHOR_NAME="*A* <b>\u202e")
    repository.write('new\nline "q" \x1b[31m`x`.txt', "2\n")
    for result in (
        ask_in(repository.root).branch(show="work_tree"),
        ask_in(repository.root).history(show="latest_change"),
    ):
        assert result.outcome == "success"
        assert "\x1b" not in result.content
        assert "\u202e" not in result.content
        assert "\x1b" not in result.data["answer"]
    assert ask_in(repository.root).branch().content.count("\n") <= 6


def test_the_work_tree_alone_names_no_commit(repository: Repository, ask: Ask) -> None:
    repository.write("more.txt", "1\n")
    assert "commit" not in " ".join(one["topic"] for one in data(ask.branch(show="work_tree"))["findings"])
    assert "last commit" in [one["topic"] for one in data(ask.branch())["findings"]]


def test_what_one_branch_has_and_another_has_not(repository: Repository, tmp_path: Path, ask_in: AskIn) -> None:
    repository.git("switch", "--quiet", "--create", "side")
    repository.write("more.txt", "1\n")
    repository.commit("more")
    repository.git("switch", "--quiet", "main")
    found = data(ask_in(repository.root).branch(branch="side", base="main"))
    assert (found["branch"], found["base"], found["commits"]["total"]) == ("side", "main", 1)
    repository.git("clone", "--quiet", str(repository.root), str(tmp_path / "clone"))
    clone = data(ask_in(tmp_path / "clone").branch(branch="side", base="main"))
    assert clone["branch"] == "origin/side"
    assert clone["notes"][0] == "Read `side` as `origin/side`."
    gone = ask_in(repository.root).branch(branch="8.1.x", base="main")
    assert gone.fault is not None
    assert "8.1.x" in gone.fault.message
