"""Where files are, by their names."""

from pathlib import Path

import pytest

from retinue.orchestration.reader.parameters import exists_in, find_in
from retinue.tools.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    for name in ("logs/access.log", "a/conftest.py", "a/b/conftest.py", "data/orders.csv", "README.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")
    return Workspace(tmp_path)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("access.log", ["logs/access.log"]),
        ("Access.LOG", ["logs/access.log"]),
        ("acess.log", ["logs/access.log"]),
        ("acess.txt", []),
        ("conftest.py", ["a/conftest.py", "a/b/conftest.py"]),
        ("b/conftest.py", ["a/b/conftest.py"]),
        ("./orders.csv", ["data/orders.csv"]),
        ("other/orders.csv", []),
        ("nothing.csv", []),
    ],
)
def test_a_name_is_found_where_it_is(workspace: Workspace, name: str, wanted: list[str]):
    find = find_in(workspace)
    assert find is not None
    assert list(find(name)) == wanted


def test_what_is_there_exists(workspace: Workspace):
    exists = exists_in(workspace)
    assert exists is not None
    assert exists("README.md")
    assert exists("logs")
    assert not exists("access.log")
    assert not exists("../etc")
    assert not exists("\0")


def test_without_a_workspace_nobody_looks():
    assert exists_in(None) is None
    assert find_in(None) is None


def test_a_workspace_that_cannot_be_listed_has_no_such_file(workspace: Workspace, tmp_path: Path):
    find = find_in(workspace)
    assert find is not None
    tmp_path.rename(tmp_path.with_name("moved"))
    assert list(find("access.log")) == []


def test_the_code_of_the_product_comes_before_its_documents_and_tests(tmp_path: Path):
    for path in ("docs/scheduler/why.md", "src/farm/scheduler/jobs.py", "tests/scheduler/test_jobs.py"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("x\n")
    find = find_in(Workspace(tmp_path))
    assert find is not None
    assert list(find("scheduler")) == ["src/farm/scheduler", "docs/scheduler", "tests/scheduler"]
