"""The questions over documents of public projects: whole, and skipped where the projects are not there."""

import json
import re
from pathlib import Path

import pytest

from bench import documents

QUESTIONS = json.loads((Path(documents.__file__).parent / "data" / "document_questions.json").read_text())


def test_there_are_forty_questions_over_three_projects() -> None:
    assert len(QUESTIONS) == 40
    assert {one["project"] for one in QUESTIONS} == {"click", "starlette", "anyio"}
    assert all(re.compile(one["shows"]) and one["file"].startswith("docs/") for one in QUESTIONS)


def test_without_the_projects_nothing_is_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert documents.measure(str(tmp_path / "gone")) == []
    assert "not measured" in capsys.readouterr().err


def test_an_answer_counts_when_it_shows_the_passage_and_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "starlette-1/docs").mkdir(parents=True)
    text = "# Thread pool\n\nOnly 40 threads can run at the same time.\n"
    (tmp_path / "starlette-1/docs/threadpool.md").write_text(text)
    rows = documents.measure(str(tmp_path))
    assert rows[0].value > 0
    assert rows[2].value == 1
