"""What a history shows in tables and charts, and where a text in files came from; in real repositories."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retinue.contract.result import Result
from retinue.orchestration.present.blocks import figures_in
from retinue.tools.git import commit_index
from tests.catalogue.conftest import Ask, Repository

MakeRepository = Callable[..., Repository]
AskIn = Callable[[Path], Ask]

NOBODY_ELSE: dict[str, str] = {}
GRACE = {"GIT_AUTHOR_NAME": "Grace Hopper", "GIT_AUTHOR_EMAIL": "grace@example.org"}
DAYS = [
    ("2019-05-01", NOBODY_ELSE),
    ("2019-12-31", NOBODY_ELSE),
    ("2020-02-01", GRACE),
    ("2023-07-01", NOBODY_ELSE),
    ("2023-07-02", NOBODY_ELSE),
]


def data(result: Result) -> dict[str, Any]:
    assert result.fault is None or result.outcome == "rejected", result.fault
    return result.data


def at(day: str) -> dict[str, str]:
    return {"GIT_AUTHOR_DATE": f"{day}T23:30:00-05:00", "GIT_COMMITTER_DATE": f"{day}T23:30:00-05:00"}


@pytest.fixture
def years(make_repository: MakeRepository) -> Repository:
    """Commits of two people in 2019, 2020 and 2023, one of them on the last evening of a year."""
    made = make_repository("years")
    for number, (day, person) in enumerate(DAYS):
        made.write("src/a.py", f"x = {number}\n")
        made.write(f"src/{number % 2}.py", f"y = {number}\n")
        made.commit(f"change {number}", **at(day), **person)
    return made


@pytest.mark.requirement("G12")
def test_commits_are_counted_by_year_in_utc_and_years_without_one_are_nought(years: Repository, ask_in: AskIn) -> None:
    figures = figures_in(data(ask_in(years.root).history(show="count", by="year")))
    (chart,) = figures.charts
    assert (chart.kind, chart.labels) == ("line", ("2019", "2020", "2021", "2022", "2023"))
    assert chart.series[0].values == (1, 2, 0, 0, 2)
    (table,) = figures.tables
    assert table.rows == (("2019", 1), ("2020", 2), ("2021", 0), ("2022", 0), ("2023", 2))
    assert sum(int(row[1] or 0) for row in table.rows) == 5


def test_months_are_counted_when_they_are_asked_for_or_few(years: Repository, ask_in: AskIn) -> None:
    ask = ask_in(years.root)
    (chart,) = figures_in(data(ask.history(show="count", by="month"))).charts
    assert (chart.labels[0], chart.labels[-1], len(chart.labels)) == ("2019-05", "2023-07", 51)
    (chart,) = figures_in(data(ask.history(show="count", since="2019-06-01", until="2020-12-31"))).charts
    assert chart.labels == ("2020-01", "2020-02")


def test_authors_are_ranked_with_their_lines(years: Repository, ask_in: AskIn) -> None:
    found = data(ask_in(years.root).history(show="people"))
    assert found["subjects"] == ["Ada Lovelace", "Grace Hopper"]
    figures = figures_in(found)
    assert figures.charts[0].labels == ("Ada Lovelace", "Grace Hopper")
    assert figures.charts[0].series[0].values == (4, 1)
    (table,) = figures.tables
    assert table.rows[1] == ("Grace Hopper", 1, "2020-02-01", "2020-02-01", 2, 2)
    assert data(ask_in(years.root).history(show="count", by="author"))["tables"][-1]["title"] == "Commits by author"


def test_files_are_ranked_and_are_the_subjects(years: Repository, ask_in: AskIn) -> None:
    found = data(ask_in(years.root).history(show="hot_files"))
    assert found["subjects"] == ["src/a.py", "src/0.py", "src/1.py"]
    figures = figures_in(found)
    assert figures.charts[0].series[0].values == (5, 3, 2)
    assert [column.kind for column in figures.tables[0].columns] == ["source", "number", "number", "number"]


def test_large_commits_are_sentences_and_releases_a_table(years: Repository, ask_in: AskIn) -> None:
    years.git("tag", "1.0", "HEAD~1")
    years.git("tag", "2.0")
    ask = ask_in(years.root)
    largest = data(ask.history(show="largest"))["findings"]
    assert [one["content"].partition(": ")[0].partition(", ")[2] for one in largest][:2] == [
        "4 lines in 2 files", "4 lines in 2 files",
    ]  # fmt: skip
    assert len({one["source"] for one in largest}) == 5
    found = data(ask.history(show="release_dates"))
    assert found["subjects"] == ["2.0", "1.0"]
    assert [row[0] for row in figures_in(found).tables[0].rows] == ["2.0", "1.0"]


@pytest.mark.parametrize("show", ["latest_change", "first_change"])
def test_one_fact_needs_no_table(years: Repository, ask_in: AskIn, show: str) -> None:
    found = data(ask_in(years.root).history(show=show, paths=["src/a.py"]))
    assert (found["tables"], found["charts"]) == ([], [])


def test_one_commit_needs_no_chart(make_repository: MakeRepository, ask_in: AskIn) -> None:
    made = make_repository("one")
    made.write("a.py", "x = 1\n")
    made.commit("begin")
    for show in ("count", "people", "hot_files", "log"):
        assert figures_in(data(ask_in(made.root).history(show=show))).to_json() == {}


def test_a_history_too_long_to_draw_is_not_drawn(make_repository: MakeRepository, ask_in: AskIn) -> None:
    made = make_repository("long")
    for year in (1971, 2099):
        made.commit(
            f"in {year}", GIT_AUTHOR_DATE=f"{year}-01-05T00:00:00Z", GIT_COMMITTER_DATE=f"{year}-01-05T00:00:00Z"
        )
    by_year = figures_in(data(ask_in(made.root).history(show="count", by="year")))
    assert len(by_year.charts[0].labels) == 129
    by_month = figures_in(data(ask_in(made.root).history(show="count", by="month")))
    assert len(by_month.charts[0].labels) == 129  # 1,537 months would be no picture


def test_names_in_tables_are_harmless(make_repository: MakeRepository, ask_in: AskIn) -> None:
    made = make_repository("odd")
    for name in ("Eve \x1b[31m|<b>", "Ada\u202e"):
        made.write("a.py", f"x = {name!r}\n")
        made.commit("change", GIT_AUTHOR_NAME=name, GIT_AUTHOR_EMAIL=f"{len(name)}@example.org")
    result = ask_in(made.root).history(show="people")
    assert "\x1b" not in str(data(result))
    assert "\u202e" not in str(data(result))


def test_merges_are_left_out_when_that_is_wanted(repository: Repository, ask_in: AskIn) -> None:
    repository.git("switch", "--quiet", "--create", "side", "HEAD~1")
    repository.write("side.md", "x\n")
    repository.commit("aside")
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "Merge side", "side", **at("2024-03-02"))
    ask = ask_in(repository.root)
    assert data(ask.history(show="count"))["commit_count"] == 5
    found = data(ask.history(show="count", merges=False))
    assert found["commit_count"] == 4
    assert "(merges not counted)" in found["answer"]


def test_the_first_release_leads_when_it_is_asked_for(repository: Repository, ask_in: AskIn) -> None:
    repository.git("tag", "1.0", "HEAD~1")
    repository.git("tag", "2.0")
    found = data(ask_in(repository.root).history(show="release_dates", order="oldest"))
    assert found["findings"][0]["content"] == "The oldest of 2 tags is `1.0`, of 2024-03-01."
    assert found["subjects"] == ["1.0", "2.0"]


def test_what_a_branch_has_and_its_base_has_not_is_a_table(repository: Repository, ask_in: AskIn) -> None:
    repository.git("switch", "--quiet", "--create", "feature")
    ask = ask_in(repository.root)
    for number in range(2):
        repository.commit(f"step {number}")
        found = data(ask.branch(show="commits"))
        assert len(found["tables"]) == number
    (table,) = figures_in(data(ask.branch())).tables
    assert table.title == "Commits that main has not"
    assert [row[3] for row in table.rows] == ["step 1", "step 0"]


# Where a text came from.


@pytest.fixture
def limits(make_repository: MakeRepository) -> Repository:
    """`MAX_PARTS` comes into a file, is spoken of, and goes again; no subject names it before it is spoken of."""
    made = make_repository("limits")
    made.write("app.py", "x = 1\n")
    made.commit("begin")
    made.write("app.py", "x = 1\nMAX_PARTS = 10\n")
    made.commit("bound the form", **GRACE)
    made.write("app.py", "x = 2\nMAX_PARTS = 10\n")
    made.commit("say 2")
    made.write("guide.md", "Nothing yet.\n")
    made.commit("document MAX_PARTS")
    made.write("app.py", "x = 2\n")
    made.commit("drop the bound")
    return made


@pytest.mark.requirement("G12")
def test_who_added_a_name_in_code_is_found_in_what_commits_add(limits: Repository, ask_in: AskIn) -> None:
    found = data(ask_in(limits.root).history(show="first_change", text="MAX_PARTS"))
    sha = limits.git("log", "--format=%h", "--abbrev=10", "--grep=bound the form")
    assert found["findings"][0]["content"] == (
        "The first commit that adds or removes `MAX_PARTS` is by Grace Hopper on 2024-03-01: “bound the form”."
    )
    assert found["findings"][0]["source"] == f"commit {sha}"
    assert found["findings"][1]["content"].startswith("The last commit that adds or removes `MAX_PARTS` is by Ada")
    assert found["commit_count"] == 2


def test_a_text_can_be_counted_too(limits: Repository, ask_in: AskIn) -> None:
    found = data(ask_in(limits.root).history(show="count", text="MAX_PARTS", paths=["app.py"]))
    assert found["findings"][0]["content"].startswith("There are 2 commits that add or remove `MAX_PARTS`")


def test_a_search_that_takes_too_long_is_given_up_and_refused(
    limits: Repository, ask_in: AskIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_index, "_TEXT_S", 1e-9)
    result = ask_in(limits.root).history(show="first_change", text="MAX_PARTS")
    assert result.outcome == "rejected"
    assert result.fault is not None
    assert (result.fault.code, "took too long" in result.fault.message) == ("timeout", True)


@pytest.mark.parametrize(("by", "labels"), [("day", ("2023-07-02", "2023-07-03")), ("week", ("2023-W26", "2023-W27"))])
def test_days_and_weeks_are_counted_when_they_are_few(
    years: Repository, ask_in: AskIn, by: str, labels: tuple[str, ...]
) -> None:
    found = data(ask_in(years.root).history(show="count", by=by, since="2023-07-01"))
    (chart,) = figures_in(found).charts
    assert (chart.labels, chart.series[0].values) == (labels, (1, 1))
