"""Rows and tests tell the same story: what is called built is proved, and what is proved is called built."""

from collections import Counter
from pathlib import Path

from tests.requirements.rows import IDS, INFORMATIVE, STATUSES, Row, disagreements, read_rows, read_tests

ROWS = read_rows()
TESTS = read_tests()


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
    assert "\n".join(disagreements(ROWS, TESTS)) == ""


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
        Row(id="Z1", file="z", title="proved", status="built"),
        Row(id="Z2", file="z", title="claimed", status="built"),
        Row(id="Z3", file="z", title="modest", status="not built"),
        Row(id="Z4", file="z", title="vague", status="in part"),
        Row(id="Z5", file="z", title="waiting", status="not built"),
        Row(id="Z6", file="z", title="wordy", status="built", missing="nothing"),
    )
    tests = {"Z1": ("t",), "Z3": ("t",), "Z4": ("t",), "Z6": ("t",), "Z7": ("t",)}
    assert [finding.split(" ")[0].rstrip(":") for finding in disagreements(rows, tests)] == [
        "Z7",
        "Z2",
        "Z3",
        "Z4",
        "Z6",
    ]
