"""Rows and tests tell the same story: what is called built is proved, and what is proved is called built."""

import importlib
from collections import Counter
from pathlib import Path
from typing import Any

import click

from retinue.cli.app import cli
from tests.requirements.rows import IDS, INFORMATIVE, STATUSES, Row, disagreements, read_rows, read_tests

ROWS = read_rows()


def test_every_row_stands_once_in_its_file_and_in_order() -> None:
    found = {name: tuple(row.id for row in ROWS if row.file == name) for name in {row.file for row in ROWS}}
    assert found == IDS


def test_every_row_has_a_title_and_a_status_we_know() -> None:
    assert [row.id for row in ROWS if not row.title or row.status not in STATUSES] == []


def test_only_background_is_informative() -> None:
    assert {row.id for row in ROWS if row.status == "informative"} == INFORMATIVE


def test_titles_differ() -> None:
    assert [title for title, count in Counter(row.title for row in ROWS).items() if count > 1] == []


def test_status_and_tests_agree() -> None:
    assert "\n".join(disagreements(ROWS, read_tests())) == ""


def test_what_a_row_is_reached_by_is_a_command_or_a_public_call() -> None:
    assert [(row.id, way) for row in ROWS for way in row.by if not _is_there(way)] == []
    assert not any(
        map(_is_there, ("retinue sing", "retinue run --sing", "retinue.sing", "retinue.Boundary.sing", "sing"))
    )


def _is_there(way: str) -> bool:
    """Whether a user finds `retinue run --level`, `retinue.Boundary.call` or `retinue.contract.lint.lint`."""
    program, *words = way.split()
    if not words:
        return _can_be_imported(program)
    command: click.Command | None = cli
    for word in words:
        if command is not None and word.startswith("-"):
            if not any(word in (*option.opts, *option.secondary_opts) for option in command.params):
                return False
        elif isinstance(command, click.Group):
            command = command.get_command(click.Context(command), word)
    return program == "retinue" and command not in {cli, None}


def _can_be_imported(name: str) -> bool:
    """A member of a module, or of a class in one, none of them private."""
    parts = name.split(".")
    if len(parts) < 2 or any(part.startswith("_") for part in parts):
        return False
    for count in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part) and part not in getattr(found, "__annotations__", {}):
                return False
            found = getattr(found, part, None)
        return True
    return False


def test_marks_are_found_on_functions_classes_modules_and_parameters(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(
        "import pytest\n"
        "pytestmark = [pytest.mark.slow, pytest.mark.requirement('Z1')]\n"
        "@pytest.mark.requirement('Z2', 'Z3')\n"
        "async def test_a(): ...\n"
        "@pytest.mark.requirement('Z4')\n"
        "class TestB:\n"
        "    @pytest.mark.requirement('Z5')\n"
        "    def test_c(self): ...\n"
        "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.requirement('Z6'))])\n"
        "def test_d(x): ...\n"
    )
    assert read_tests(tmp_path) == {
        "Z1": ("test_sample.py::pytestmark",),
        "Z2": ("test_sample.py::test_a",),
        "Z3": ("test_sample.py::test_a",),
        "Z4": ("test_sample.py::TestB",),
        "Z5": ("test_sample.py::TestB::test_c",),
        "Z6": ("test_sample.py::test_d",),
    }


def test_cases_carry_the_rows_they_name(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "answers.json").write_text('[{"name": "one", "rows": ["Z1", "Z2"]}, {"name": "two"}]')
    assert read_tests(tmp_path) == {"Z1": ("cases/answers.json: one",), "Z2": ("cases/answers.json: one",)}


def test_each_way_of_disagreeing_is_caught() -> None:
    rows = (
        Row(id="Z1", file="z", title="proved", status="built", by=("retinue run",)),
        Row(id="Z2", file="z", title="claimed", status="built", by=("retinue run",)),
        Row(id="Z3", file="z", title="modest", status="not built"),
        Row(id="Z4", file="z", title="vague", status="in part", by=("retinue run",)),
        Row(id="Z5", file="z", title="waiting", status="not built"),
        Row(id="Z6", file="z", title="wordy", status="built", missing="nothing", by=("retinue run",)),
        Row(id="Z8", file="z", title="hollow", status="built"),
    )
    tests = {"Z1": ("t",), "Z3": ("t",), "Z4": ("t",), "Z6": ("t",), "Z7": ("t",), "Z8": ("t",)}
    assert [finding.split(" ")[0].rstrip(":") for finding in disagreements(rows, tests)] == [
        "Z7",
        "Z2",
        "Z3",
        "Z4",
        "Z6",
        "Z8",
    ]
