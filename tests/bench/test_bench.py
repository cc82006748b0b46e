"""The measurements measure the same thing every time, and a wrong answer is no figure. No test here looks at a clock."""

import ast
import importlib
import json
import pkgutil
import subprocess
from pathlib import Path

import pytest

import bench
from bench import goal, table
from bench.__main__ import main
from bench.tree import Tree, path_names, plant, text_of

_NO_MEASUREMENTS = {"__main__", "background", "behaviour", "peers", "prose", "table", "tokens", "tree"}
_MEASUREMENTS = sorted({module.name for module in pkgutil.iter_modules(bench.__path__)} - _NO_MEASUREMENTS)
_FILES = 60


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return plant(tmp_path_factory.mktemp("tree"), files=_FILES)


def git(tree: Tree, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=tree.root, check=True, capture_output=True, text=True).stdout


def finished(content: str, outcome: str = "success") -> str:
    return json.dumps({"kind": "started"}) + "\n" + json.dumps({"result": {"outcome": outcome, "content": content}})


def right_answer(tree: Tree) -> str:
    return f"It is tried again up to\nfive times (`docs/scheduler/x.md:1`). {tree.author} did it in {tree.latest[:10]}."


@pytest.mark.parametrize("name", _MEASUREMENTS)
def test_each_module_measures(name: str) -> None:
    assert callable(importlib.import_module(f"bench.{name}").measure)


def test_an_unknown_measurement_names_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gaol"]) == 2
    assert "gaol" in (said := capsys.readouterr().err)
    assert "goal" in said


def test_a_missed_goal_shows() -> None:
    rows = [table.Row("a", 2, "s", 1), table.Row("b", 2, "/s", 1, at_least=True), table.Row("c", 2, "s")]
    assert [row.met for row in rows] == [False, True, None]
    assert [line.split(" | ")[3] for line in map(str, rows)] == ["**no**", "yes", ""]


def test_the_tree_is_the_same_every_time(tree: Tree, tmp_path: Path) -> None:
    assert plant(tmp_path, files=_FILES).head == tree.head


def test_the_tree_is_the_one_the_published_figures_are_about(tree: Tree) -> None:
    """When it changes on purpose, the figures of `docs/performance.md` are to be measured anew."""
    assert tree.head == "16a89f77bc569ac3b16e9971b8fdb5f8f4ad4d6a"


def test_the_tree_is_clean_and_whole(tree: Tree) -> None:
    assert git(tree, "status", "--porcelain") == ""
    assert sorted(git(tree, "ls-files").split()) == sorted(path_names(_FILES))
    assert all((tree.root / path).read_bytes() == text_of(path).encode() for path in path_names(_FILES))
    assert len(git(tree, "log", "--format=%h").split()) == tree.commits == _FILES // 5


def test_a_file_has_ten_kilobytes_on_average(tree: Tree) -> None:
    assert 9_000 < tree.size / tree.files < 11_000


def test_the_modules_are_python_and_the_pages_have_titles() -> None:
    for path in path_names(_FILES):
        if path.endswith(".py"):
            ast.parse(text_of(path), path)
        else:
            assert text_of(path).startswith("# ")


def test_the_scheduler_was_changed_last_by_one_person_but_the_tree_by_others(tree: Tree) -> None:
    authors = git(tree, "log", "--format=%H %an", "--", ":(glob)**/scheduler/**").splitlines()
    assert authors[0] == f"{tree.latest} {tree.author}"
    assert sum(tree.author in line for line in authors) == 1
    assert tree.head != tree.latest


def test_a_tree_too_small_for_a_history_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 50 files, not 49"):
        plant(tmp_path, files=49)


def test_the_right_answer_is_a_figure(tree: Tree) -> None:
    goal.judge(tree, finished(right_answer(tree)))


def test_silence_is_none(tree: Tree) -> None:
    with pytest.raises(goal.WrongAnswer, match="printed nothing"):
        goal.judge(tree, "")


@pytest.mark.parametrize("fact", ["five times", "scheduler", "Noor Haddad"])
def test_an_answer_without_a_fact_is_none(tree: Tree, fact: str) -> None:
    with pytest.raises(goal.WrongAnswer, match=fact):
        goal.judge(tree, finished(right_answer(tree).replace("up to\n", "up to ").replace(fact, "")))


def test_an_answer_with_another_commit_is_none(tree: Tree) -> None:
    with pytest.raises(goal.WrongAnswer, match=tree.latest[:7]):
        goal.judge(tree, finished(right_answer(tree).replace(tree.latest[:10], tree.head[:10])))


def test_an_answer_that_names_somebody_else_first_is_none(tree: Tree) -> None:
    with pytest.raises(goal.WrongAnswer, match=r"'Ana Ruiz'.* before Noor Haddad"):
        goal.judge(tree, finished("Ana Ruiz did it. " + right_answer(tree)))


def test_a_run_that_failed_is_none(tree: Tree) -> None:
    with pytest.raises(goal.WrongAnswer, match="partial"):
        goal.judge(tree, finished(right_answer(tree), "partial"))
