"""How questions about history are read, and what their words are matched with. No repository is needed."""

from datetime import UTC, date, datetime
from typing import Literal

import pytest
from hypothesis import given, strategies as st

from retinue.catalogue.git_state_analyzer.form import has_form, tasks_in
from retinue.catalogue.git_state_analyzer.moments import day_of, moment, read_edge, today
from retinue.catalogue.git_state_analyzer.question import read_question
from retinue.catalogue.git_state_analyzer.report import plural
from retinue.catalogue.git_state_analyzer.subject import find_places, subject_words
from retinue.errors import InvalidInput

FILES = [
    ".github/ISSUE_TEMPLATE/config.yml",
    "CHANGES.md",
    "README.md",
    "bench/boundary.py",
    "docs/config.rst",
    "docs/testing.md",
    "src/app/agents/boundary.py",
    "src/app/agents/policy.py",
    "src/app/cache_file.py",
    "src/app/config.py",
    "src/app/json/__init__.py",
    "src/app/json/tag.py",
    "tests/test_boundary.py",
    "tests/test_journal.py",
]


@pytest.mark.parametrize(
    ("question", "show", "about"),
    [
        ("Who changed the boundary most recently?", "last", ("boundary",)),
        ("who changed the boundary most", "people", ("boundary",)),
        ("When did the session code last change?", "last", ("session",)),
        ("who touched `a b.py` last", "last", ("a b.py",)),
        ("who are the main authors", "people", ()),
        ("who wrote sessions.py", "people", ("sessions.py",)),
        ("who maintains the docs", "people", ("docs",)),
        ("how many people contributed", "people", ()),
        ("how many commits are there", "count", ()),
        ("how often is the changelog edited", "count", ("changelog",)),
        ("largest commits", "largest", ()),
        ("which files change most often", "files", ()),
        ("is the tree clean?", "state", ("clean",)),
        ("am I ahead of the remote", "state", ("ahead remote",)),
        ("do the commit messages follow a convention", "form", ()),
        ("when was the last release", "releases", ()),
        ("what changed since the last release", "changes", ()),
        ("who first added the cache", "first", ("cache",)),
        ("when was the project started", "first", ()),
        ("summarise the history of the cli", "changes", ("cli",)),
        ("show the last 5 commits", "changes", ()),
        ("tell me something", "overview", ("something",)),
        ("", "overview", ()),
    ],
)
def test_a_question_is_told_by_its_words(question: str, show: str, about: tuple[str, ...]) -> None:
    asked = read_question(question)
    assert asked.show == show
    if show != "state" and question != "tell me something":
        assert asked.about == about


def test_words_that_were_understood_already_are_left_out() -> None:
    asked = read_question("what did Ada change in the parser since March", read=("since March", "Ada"))
    assert (asked.about, asked.firm) == (("parser",), True)


@pytest.mark.parametrize(
    ("question", "people"),
    [
        ("commits by davidism last week", ("davidism",)),
        ("how many commits did Ada Lovelace make", ("Ada Lovelace",)),
        ("what has Ada changed", ("Ada",)),
        ("commits by ada@example.org", ("ada@example.org",)),
        ("Ada's commits", ("Ada",)),
        ("commits by people", ()),
    ],
)
def test_names_of_people_are_found_where_they_stand(question: str, people: tuple[str, ...]) -> None:
    assert read_question(question).people == people


@given(st.text(max_size=300))
def test_any_text_can_be_read_as_a_question(text: str) -> None:
    asked = read_question(text)
    assert all(asked.about)


@pytest.mark.parametrize(
    ("words", "paths", "partial"),
    [
        ("src/app/config.py", ("src/app/config.py",), False),
        ("app/config.py", ("src/app/config.py",), False),
        ("./docs", ("docs/",), False),
        ("docs/", ("docs/",), False),
        ("json", ("src/app/json/",), False),
        ("boundary", ("src/app/agents/boundary.py",), False),
        ("boundary tests", ("tests/test_boundary.py",), False),
        ("config", ("src/app/config.py", "docs/config.rst"), False),
        ("cache file", ("src/app/cache_file.py",), False),
        ("cache", ("src/app/cache_file.py",), False),
        ("testing docs", ("docs/testing.md",), False),
        ("retry policy", ("src/app/agents/policy.py",), True),
        ("journal", ("tests/test_journal.py",), True),
        ("changelog", ("CHANGES.md",), False),
        ("unicorn", (), False),
        ("", (), False),
        ("...", (), False),
    ],
)
def test_words_are_matched_with_the_names_of_files_and_folders(
    words: str, paths: tuple[str, ...], partial: bool
) -> None:
    found = find_places(words, FILES)
    assert (found.paths, found.partial) == (paths, partial)


def test_of_many_matches_eight_are_named_and_the_rest_counted() -> None:
    found = find_places("part", [f"src/{number:02}/part.py" for number in range(12)])
    assert (len(found.paths), found.more) == (8, 4)


@given(st.text(max_size=40), st.lists(st.text(alphabet="ab/._-", min_size=1, max_size=12), max_size=8))
def test_a_match_is_always_a_path_there_is(words: str, files: list[str]) -> None:
    for path in find_places(words, files).paths:
        assert path in files or any(file.startswith(path) for file in files)


def test_an_identifier_must_stand_in_a_subject_as_a_whole() -> None:
    assert subject_words("url_for") == {"url_for"}
    assert subject_words("Changing retries") == subject_words("change retry") == {"chang", "retr"}


@pytest.mark.row("G12")
@pytest.mark.parametrize(
    ("subject", "good"),
    [
        ("feat(engine): first light", True),
        ("fix(a-b)!: x", True),
        ("chore(deps): bump", True),
        ("feat: no scope", False),
        ("feature(x): no type", False),
        ("Fix(x): upper case", False),
        ("fix(x):no space", False),
        ("fix( ): empty scope", False),
        ("fix(x): ", False),
        ("", False),
    ],
)
def test_a_subject_has_a_type_a_scope_and_words(subject: str, good: bool) -> None:
    assert has_form(subject) is good


@pytest.mark.row("G9", "G12")
def test_tasks_and_issues_are_found_once_each() -> None:
    message = (
        "Refs TASK-0001.1.1.1 and STORY-12.3, (#7) fixes #7, EPIC-1.2 INIT-0001 BUG-9; not X-1, a#3, &#39; XTASK-1."
    )
    assert tasks_in(message) == ("TASK-0001.1.1.1", "STORY-12.3", "#7", "EPIC-1.2", "INIT-0001", "BUG-9")


@pytest.mark.parametrize(
    ("text", "edge", "expected"),
    [
        ("2024-03-01", "since", datetime(2024, 3, 1, tzinfo=UTC)),
        ("2024-03-01", "until", datetime(2024, 3, 1, 23, 59, 59, tzinfo=UTC)),
        ("2024-03-01T10:00:00", "until", datetime(2024, 3, 1, 10, tzinfo=UTC)),
        ("2024-03-01T10:00:00+00:00", "since", datetime(2024, 3, 1, 10, tzinfo=UTC)),
        ("", "since", None),
    ],
)
def test_a_day_is_whole_at_both_edges(text: str, edge: Literal["since", "until"], expected: datetime | None) -> None:
    assert read_edge(text, edge) == expected


@pytest.mark.parametrize("text", ["yesterday", "2024-02-31", "0000-01-01", "2024"])
def test_what_is_no_date_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a valid date") as refused:
        read_edge(text, "until")
    assert refused.value.path == "/parameters/until"
    assert "2024-03-01" in refused.value.hint


def test_small_words() -> None:
    assert (plural(1, "commit"), plural(2000, "commit"), plural(2, "file is", "files are")) == (
        "1 commit",
        "2,000 commits",
        "2 files are",
    )
    assert (day_of("2024-03-01T02:00:00+02:00"), moment("1970-01-01T00:00:10+00:00"), moment("odd")) == (
        "2024-03-01",
        10.0,
        0.0,
    )
    assert today(1_709_251_200_000_000_000) == date(2024, 3, 1)
