"""Who committed what and when, in real repositories (G12)."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from retinue.catalogue.git_state_analyzer import GitStateAnalyzer
from retinue.catalogue.git_state_analyzer.repository import SUBJECT_PATTERN, is_conventional, tasks_in
from retinue.contract.result import Result
from retinue.errors import DeadlineExceeded
from retinue.orchestration.reader.parameters import EMPTY_ENVIRONMENT
from retinue.orchestration.reader.planner import read_words
from retinue.tools.git import commit_index
from retinue.tools.git.commit_index import CommitIndex
from retinue.tools.git.records import Commit
from retinue.tools.git.repository import Git
from tests.catalogue.conftest import Ask, Repository

MakeRepository = Callable[..., Repository]
AskIn = Callable[[Path], Ask]

GRACE = {"GIT_AUTHOR_NAME": "Grace Hopper", "GIT_AUTHOR_EMAIL": "grace@example.org"}


def data(result: Result) -> dict[str, Any]:
    assert result.fault is None or result.outcome == "rejected", result.fault
    return result.data


def lead(result: Result) -> str:
    return data(result)["findings"][0]["content"]


def said(result: Result) -> list[str]:
    return [one["content"] for one in data(result)["findings"]]


@pytest.fixture
def busy(repository: Repository) -> Repository:
    """The small repository, with a second author, tags, a merge, and a commit far larger than the others."""
    repository.git("tag", "1.0.0", "HEAD~1")
    repository.write("src/cache_store.py", "x = 1\n")
    repository.commit("Add a store (#12)", **GRACE)
    repository.git("tag", "1.1.0")
    repository.git("switch", "--quiet", "--create", "side", "HEAD~1")
    repository.write("docs/engine.md", "words\n" * 50)
    repository.commit("docs(engine): explain it", **GRACE)
    repository.git("switch", "--quiet", "main")
    repository.git(
        "merge", "--quiet", "--no-ff", "--message", "Merge side", "side",
        GIT_AUTHOR_DATE="2024-03-01T06:00:00+02:00", GIT_COMMITTER_DATE="2024-03-01T06:00:00+02:00",
    )  # fmt: skip
    return repository


@pytest.mark.requirement("G12")
def test_the_whole_result_of_a_small_history(repository: Repository, ask: Ask) -> None:
    shas = repository.git("rev-list", "HEAD").split()
    found = data(ask.history(show="latest_change", paths=["src/engine.py"]))
    commands = found.pop("metadata")["git_commands_run"]
    (walk,) = [command for command in commands if command.startswith("git log")]
    assert walk.endswith(f"--end-of-options {shas[0]} --")
    engine = shas[1:]
    commit = {
        "author": "Ada Lovelace",
        "email": "ada@example.org",
    }
    assert found == {
        "commit_count": 2,
        "format_compliance": {
            "correct_format": 2,
            "incorrect_format": 0,
            "format_pattern": SUBJECT_PATTERN,
            "violations": [],
            "merges": 0,
        },
        "task_references": {
            "commits_with_refs": 1,
            "commits_without_refs": 1,
            "referenced_tasks": ["TASK-0001.1.1.1"],
            "unreferenced_commits": [engine[0]],
        },
        "commit_size_analysis": {
            "average_files": 1.0,
            "average_lines": 4.0,
            "largest_commit": {**found["latest"][0], "files": 1, "lines": 6},
            "measured": 2,
        },
        "recommendations": [],
        "latest": [
            {
                **commit,
                "sha": engine[0],
                "date": "2024-03-01T02:00:00+02:00",
                "subject": "fix(engine): say 2",
                "body": "",
                "task_references": [],
            },
            {
                **commit,
                "sha": engine[1],
                "date": "2024-03-01T01:00:00+02:00",
                "subject": "feat(engine): first light",
                "body": "The first version. Refs TASK-0001.1.1.1",
                "task_references": ["TASK-0001.1.1.1"],
            },
        ],
        "answer": f"`src/engine.py` was last changed by Ada Lovelace on 2024-03-01: “fix(engine): say 2”. "
        f"(commit {engine[0][:10]})\n"
        f"1 person wrote the 2 commits that touch `src/engine.py`: Ada Lovelace (2). "
        f"(commits {engine[1][:10]}..{engine[0][:10]})",
        "findings": [
            {
                "topic": "last change",
                "content": "`src/engine.py` was last changed by Ada Lovelace on 2024-03-01: “fix(engine): say 2”.",
                "source": f"commit {engine[0][:10]}",
            },
            {
                "topic": "authors",
                "content": "1 person wrote the 2 commits that touch `src/engine.py`: Ada Lovelace (2).",
                "source": f"commits {engine[1][:10]}..{engine[0][:10]}",
            },
        ],
        "notes": [],
        "tables": [],
        "charts": [],
        "subjects": ["Ada Lovelace"],
    }


def test_figures_of_everything_when_nothing_is_asked(busy: Repository, ask: Ask) -> None:
    result = ask.history()
    found = data(result)
    assert result.outcome == "success"
    assert found["commit_count"] == int(busy.git("rev-list", "--count", "HEAD"))
    assert found["format_compliance"]["correct_format"] == 3
    assert [one["subject"] for one in found["format_compliance"]["violations"]] == [
        "Add a store (#12)",
        "docs: rename the guide",
    ]
    assert found["format_compliance"]["merges"] == 1
    assert found["task_references"]["referenced_tasks"] == ["#12", "TASK-0001.1.1.1"]
    assert found["commit_size_analysis"]["largest_commit"]["lines"] == 50
    assert found["recommendations"] == [
        "2 commits of 5 do not say `type(scope): …`; name both.",
        "3 commits of 5 name no task; name the ticket in the message.",
    ]
    (table,) = data(ask.history(by="author"))["tables"]
    assert [(row[0], row[1], row[4]) for row in table["rows"]] == [("Ada Lovelace", 4, 10), ("Grace Hopper", 2, 51)]
    assert lead(result).startswith("There are 6 commits, 1 of them merges, dated 2024-03-01 to 2024-03-01; they add 61")


@pytest.mark.requirement("G12")
@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"show": "people"}, "2 people wrote the 6 commits: Ada Lovelace (4), Grace Hopper (2)."),
        (
            {"show": "people", "not_by": ["Ada Lovelace"]},
            "1 person wrote the 2 commits (1 author left out): Grace Hopper (2).",
        ),
        ({"show": "people", "limit": 1}, "2 people wrote the 6 commits: Ada Lovelace (4) and 1 more."),
        ({"show": "people", "subject": "explain it"}, "1 person wrote the 1 commit that mentions `explain it`: Grace"),
        (
            {"show": "count", "author": "Grace Hopper"},
            "There are 2 commits by Grace Hopper, dated 2024-03-01 to 2024-03-01; they add 51 lines",
        ),
        ({"show": "count", "author": "GRACE"}, "There are 2 commits by Grace Hopper, dated"),
        ({"show": "count", "merges": False}, "There are 5 commits (merges not counted), dated"),
        ({"show": "count", "since": "2025-01-01"}, "There are no commits in that time."),
        ({"show": "count", "tags": ["1.1.0"], "tag_scope": "until"}, "There are 4 commits in `1.1.0`, dated"),
        ({"show": "hot_files"}, "Changed in the most commits: `src/engine.py` (2)"),
        ({"show": "hot_files", "limit": 1}, "Changed in the most commits: `src/engine.py` (2)."),
        (
            {"show": "log", "tags": ["1.1.0"]},
            "There are 2 commits in `1.1.0..HEAD`, 1 of them merges, dated 2024-03-01 to 2024-03-01; they add 50 lines",
        ),
        ({"show": "log", "tags": ["v1.1"]}, "There are 2 commits in `1.1.0..HEAD`, 1 of"),
        ({"show": "log", "tags": ["1.0.0", "1.1.0"]}, "There are 2 commits in `1.0.0..1.1.0`, dated"),
        ({"show": "log", "tags": ["1.1.0", "1.0.0"]}, "There are 2 commits in `1.0.0..1.1.0`, dated"),
        ({"show": "log", "tags": ["1.1.0"], "tag_scope": "within"}, "There are 2 commits in `1.0.0..1.1.0`"),
        ({"show": "log", "tags": ["1.0.0"], "tag_scope": "within"}, "There are 2 commits in `1.0.0`, dated"),
        ({"show": "log", "range": "1.1.0..side"}, "There is 1 commit in `1.1.0..side`, dated"),
        ({"show": "log", "since": "2024-03-01", "until": "2024-03-31"}, "There are 5 commits, 1 of them merges"),
        ({"show": "log", "task": "TASK-0001.1.1.1"}, "There is 1 commit that names `TASK-0001.1.1.1`, dated"),
        ({"show": "log", "task": "#99"}, "There are no commits that name `#99`."),
        (
            {"show": "log", "author": "Grace", "paths": ["docs"]},
            "There is 1 commit by Grace Hopper that touches `docs`",
        ),
        ({"show": "log", "limit": 2}, "Ada Lovelace, 2024-03-01: “Merge side”."),
        ({"show": "log", "order": "oldest"}, "Ada Lovelace, 2024-03-01: “feat(engine): first light”."),
        ({"show": "release_dates"}, "The newest of 2 tags is `1.1.0`, of 2024-03-01."),
        ({"show": "release_dates", "order": "oldest"}, "The oldest of 2 tags is `1.0.0`, of 2024-03-01."),
        ({"show": "release_dates", "tags": ["1.0.0"]}, "`1.0.0` is of 2024-03-01."),
        ({"show": "first_change"}, "The repository was first committed by Ada Lovelace on 2024-03-01"),
        (
            {"show": "first_change", "paths": ["src/cache_store.py"]},
            "`src/cache_store.py` was first committed by Grace Hopper",
        ),
        ({"show": "first_change", "subject": "light"}, "The first commit that mentions `light` is by Ada Lovelace"),
        (
            {"show": "latest_change"},
            "The repository was last changed by Grace Hopper on 2024-03-01: “docs(engine): explain it”.",
        ),
        (
            {"show": "latest_change", "paths": ["src/cache_store.py"]},
            "`src/cache_store.py` was last changed by Grace Hopper on",
        ),
        ({"show": "latest_change", "paths": ["./src/"]}, "`./src/` was last changed by Grace Hopper on 2024-03-01"),
        (
            {"show": "latest_change", "paths": ["src"], "author": "ada"},
            "The last commit by Ada Lovelace that touches `src` is of 2024-03-01: “fix(engine): say 2”.",
        ),
        ({"show": "latest_change", "not_by": ["grace"]}, "The last commit (1 author left out) is by Ada Lovelace on"),
        ({"show": "latest_change", "subject": "Light"}, "The last commit that mentions `Light` is by Ada Lovelace on"),
        (
            {"show": "latest_change", "task": "#12"},
            "The last commit that names `#12` is by Grace Hopper on 2024-03-01",
        ),
        ({"show": "message_form"}, "3 of 5 commits have a subject of the form"),
        ({"show": "largest"}, "Grace Hopper on 2024-03-01, 50 lines in 1 file: “docs(engine): explain it”."),
    ],
)
@pytest.mark.usefixtures("busy")
def test_the_fact_that_is_wanted_leads(ask: Ask, parameters: dict[str, Any], expected: str) -> None:
    assert lead(ask.history(**parameters)).startswith(expected)
    assert lead(ask.history("how many tomatoes grow in March", **parameters)).startswith(expected)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"show": "latest_change", "paths": ["src/unicorn.py"]}, "No commit touches 'src/unicorn.py'."),
        ({"show": "count", "author": "Nobody Known"}, "No author named 'Nobody Known' has committed here."),
        ({"show": "log", "tags": ["9.9.9"]}, "No tag is called '9.9.9'."),
        ({"show": "release_dates", "tags": ["9.9.9"]}, "No tag is called '9.9.9'."),
        ({"show": "first_change", "text": "NO_SUCH_NAME"}, "No commit here adds or removes 'NO_SUCH_NAME'."),
        ({"show": "latest_change", "subject": "unicorns"}, "No commit here mentions 'unicorns'."),
    ],
)
@pytest.mark.usefixtures("busy")
def test_what_is_called_nothing_is_refused_and_nothing_put_in_its_place(
    ask: Ask, parameters: dict[str, Any], message: str
) -> None:
    result = ask.history(**parameters)
    assert (result.outcome, result.warnings, said(result)) == ("rejected", (), [])
    assert result.fault is not None
    assert (result.fault.code, result.fault.message) == ("missing_file", message)
    assert result.data["answer"] == message


@pytest.mark.usefixtures("busy")
def test_several_paths_are_told_apart(ask: Ask) -> None:
    paths = ["src/engine.py", "docs/engine.md"]
    assert said(ask.history(show="latest_change", paths=paths))[:2] == [
        "`docs/engine.md` was last changed by Grace Hopper on 2024-03-01: “docs(engine): explain it”.",
        "`src/engine.py` was last changed by Ada Lovelace on 2024-03-01: “fix(engine): say 2”.",
    ]
    first = said(ask.history(show="first_change", paths=paths))
    assert [one.partition(" was")[0] for one in first] == ["`src/engine.py`", "`docs/engine.md`"]


def test_commits_of_other_zones_stand_in_the_order_of_time(make_repository: MakeRepository, ask_in: AskIn) -> None:
    made = make_repository()
    dates = {"east.py": "2024-03-02T01:00:00+10:00", "west.py": "2024-03-01T20:00:00-01:00"}
    for path, date in dates.items():
        made.write(path, "x = 1\n")
        made.commit(f"add {path}", GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)
    for show, first in (("latest_change", "west.py"), ("first_change", "east.py")):
        assert lead(ask_in(made.root).history(show=show, paths=list(dates))).startswith(f"`{first}` was")
    assert f"dated {dates['east.py'][:10]} to {dates['west.py'][:10]}" in lead(ask_in(made.root).history(show="count"))


@pytest.mark.usefixtures("busy")
def test_what_is_named_first_changes_no_count(ask: Ask) -> None:
    newest, oldest = (data(ask.history(show="count", order=order)) for order in ("newest", "oldest"))
    assert newest["latest"] == oldest["latest"][::-1]
    assert newest["answer"] == oldest["answer"]


def test_a_renamed_file_keeps_its_history(ask: Ask) -> None:
    result = ask.history(show="people", paths=["GUIDE.md"])
    assert data(result)["commit_count"] == 2
    assert "Earlier names are counted too: `README.md`." in data(result)["notes"]


def test_each_path_began_under_its_earlier_name(repository: Repository, ask: Ask) -> None:
    repository.write("docs/guide.txt", "A second guide.\n")
    repository.commit("docs: add another guide")
    first = said(ask.history(show="first_change", paths=["GUIDE.md", "docs/guide.txt"]))
    began = repository.git("log", "--reverse", "--format=%s", "--", "README.md").splitlines()[0]
    assert f"{began}”." in next(one for one in first if one.startswith("`GUIDE.md`"))


@pytest.mark.usefixtures("busy")
def test_parameters_bound_each_other(ask: Ask) -> None:
    result = ask.history(
        show="log",
        author="grace",
        since="2024-03-01",
        range="1.0.0..HEAD",
        paths=["docs"],
        limit=1,
    )
    found = data(result)
    assert lead(result) == "Grace Hopper, 2024-03-01: “docs(engine): explain it”."
    assert said(result)[1].startswith("There is 1 commit by Grace Hopper that touches `docs` in `1.0.0..HEAD`")
    assert found["notes"] == ["Counted from 2024-03-01 (days in UTC, by commit date)."]
    assert (found["commit_count"], [one["subject"] for one in found["latest"]]) == (1, ["docs(engine): explain it"])


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"since": "soon"}, "invalid_input"),
        ({"range": "nope..HEAD"}, "invalid_input"),
        ({"range": "--all"}, "invalid_input"),
        ({"paths": ["../outside"]}, "access_denied"),
        ({"paths": ["a\nb"]}, "invalid_input"),
        ({"limit": 0}, "invalid_input"),
        ({"until": 5}, "invalid_input"),
        ({"show": "tomatoes"}, "invalid_input"),
        ({"subject": ["light"]}, "invalid_input"),
        ({"merges": "no"}, "invalid_input"),
        ({"task": "light"}, "invalid_input"),
        ({"by": "Ada"}, "invalid_input"),
        ({"query": {"show": "count"}}, "invalid_input"),
    ],
)
def test_wrong_parameters_are_faults(ask: Ask, parameters: dict[str, Any], code: str) -> None:
    result = ask.history(**parameters)
    assert result.fault is not None
    assert result.fault.code == code


def test_two_addresses_of_one_full_name_are_one_person(repository: Repository, ask: Ask) -> None:
    repository.commit("chore(x): a", GIT_AUTHOR_EMAIL="ada@other.org")
    repository.commit("chore(x): b", GIT_AUTHOR_NAME="root", GIT_AUTHOR_EMAIL="root@a")
    repository.commit("chore(x): c", GIT_AUTHOR_NAME="root", GIT_AUTHOR_EMAIL="root@b")
    found = data(ask.history(show="people"))
    assert [row[:2] for row in found["tables"][0]["rows"]] == [["Ada Lovelace", 4], ["root", 1], ["root", 1]]


def test_the_last_year_is_told_beside_all_time(repository: Repository, ask: Ask) -> None:
    late = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    repository.commit("chore(x): much later", **GRACE, **late)
    assert "In the year up to 2026-01-01: Grace Hopper (1)." in said(ask.history(show="people"))


# Odd repositories.


def test_no_commits_is_an_answer(make_repository: MakeRepository, ask_in: AskIn) -> None:
    result = ask_in(make_repository().root).history(show="latest_change", paths=["parser.py"])
    assert (result.outcome, lead(result)) == ("success", "The repository has no commits yet.")
    assert data(result)["commit_count"] == 0
    assert data(result)["commit_size_analysis"] == {"measured": 0}


def test_a_bare_repository_has_a_history_too(busy: Repository, tmp_path: Path, ask_in: AskIn) -> None:
    busy.git("clone", "--quiet", "--bare", str(busy.root), str(tmp_path / "bare.git"))
    ask = ask_in(tmp_path / "bare.git")
    assert lead(ask.history(show="latest_change", paths=["src/cache_store.py"])).startswith(
        "`src/cache_store.py` was last changed by Grace"
    )


@pytest.mark.requirement("K5", "K13")
def test_a_shallow_clone_counts_its_part_and_says_so(busy: Repository, tmp_path: Path, ask_in: AskIn) -> None:
    busy.git("clone", "--quiet", "--depth", "1", f"file://{busy.root}", str(tmp_path / "shallow"))
    result = ask_in(tmp_path / "shallow").history(show="count")
    assert (result.outcome, data(result)["commit_count"]) == ("partial", 1)
    assert [(one.type, one.recovery) for one in result.warnings] == [("incomplete_context", "git fetch --unshallow")]
    assert data(result)["commit_size_analysis"] == {"measured": 0}
    assert lead(ask_in(tmp_path / "shallow").history(show="largest")) == "None of these commits could be measured."
    files = ask_in(tmp_path / "shallow").history(show="hot_files")
    assert lead(files) == "None of these commits could be compared with another."


def test_no_tags_means_no_releases(ask: Ask) -> None:
    assert lead(ask.history(show="release_dates")) == "The repository has no tags, so no release can be told."


def test_names_that_cannot_be_said_are_left_to_themselves(make_repository: MakeRepository, ask_in: AskIn) -> None:
    repository = make_repository()
    for number, name in enumerate((b"new\nline.py", b'q"uote.py', b"latin\xe9.py", "café.py".encode())):
        repository.write(name, f"{number}\n")
    repository.commit("feat(x): names")
    ask = ask_in(repository.root)
    assert lead(ask.history(show="latest_change", paths=["café.py"])).startswith("`café.py` was last changed")
    assert set(data(ask.history(show="hot_files"))["subjects"]) == {
        '"new\\nline.py"',
        'q"uote.py',
        '"latin\\351.py"',
        "café.py",
    }


def test_more_commits_than_are_read_are_said(repository: Repository, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_index, "_MOST_COMMITS", 2)
    result = ask.history(show="count")
    assert (result.outcome, lead(result)) == (
        "partial",
        "There are at least 2 commits, dated 2024-03-01 to 2024-03-01.",
    )
    assert [warning.type for warning in result.warnings] == ["degraded_analysis"]
    assert repository.git("rev-list", "--count", "HEAD") == "3"


@pytest.mark.requirement("C21")
def test_when_time_is_up_what_was_counted_is_kept(
    repository: Repository, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_index, "_BATCH", 1)
    start = int(datetime(2024, 3, 10, tzinfo=UTC).timestamp()) * 10**9
    counted = 0

    def clock() -> int:
        # Time runs out once the walk over the commits has begun.
        return start + (3_600_000_000_000 if counted >= 2 else 0)

    real = Git.log

    def log(self: Git, *words: Any, **options: Any) -> Iterator[Commit]:
        nonlocal counted
        for commit in real(self, *words, **options):
            counted += 1
            yield commit

    monkeypatch.setattr(Git, "log", log)
    result = _late(ask, clock, start)
    assert (result.outcome, data(result)["commit_count"]) == ("partial", 2)
    assert "time was up" in result.warnings[0].message
    assert repository.git("rev-list", "--count", "HEAD") == "3"


def test_without_time_for_lines_the_counts_are_exact(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CommitIndex, "sizes", _time_is_up)
    result = ask.history(show="count")
    assert (result.outcome, lead(result)) == ("partial", "There are 3 commits, dated 2024-03-01 to 2024-03-01.")
    assert [one.message for one in result.warnings] == ["Time was up before lines could be counted."]
    assert data(result)["commit_size_analysis"] == {"measured": 0}


def test_a_command_that_takes_too_long_is_not_said_to_look_for_a_text(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Git, "shas", _time_is_up)
    fault = ask.history(show="count", range="HEAD~1..HEAD").fault
    assert fault is not None
    assert (fault.code, fault.message) == ("timeout", "git took too long")


def _time_is_up(*_: object, **__: object) -> None:
    raise DeadlineExceeded("git took too long", hint="Ask for less.")


def _late(ask: Ask, clock: Callable[[], int], start: int) -> Result:
    """One call without the boundary's own timer, which would end it by the same clock."""
    import asyncio

    from retinue.agents.local import LocalContext
    from retinue.catalogue.git_state_analyzer import GitStateAnalyzer
    from retinue.contract.task import Task
    from retinue.engine.base import Outside
    from retinue.tools.workspace import Workspace

    context = LocalContext(workspace=Workspace(ask.root), outside=Outside(clock=clock), deadline_ns=start + 60 * 10**9)
    task = Task(id="t", agent="git_state_analyzer", skill="commit_analysis", parameters={"show": "count"})
    reply = asyncio.run(GitStateAnalyzer.run(task, context))
    return Result(
        task_id="t", agent="git_state_analyzer", outcome=reply.outcome, data=reply.data, warnings=reply.warnings
    )


def test_versions_stand_in_the_order_of_their_numbers(busy: Repository, ask: Ask) -> None:
    busy.git("tag", "1.0.1", "1.0.0")
    busy.git("tag", "1.2.0rc1", "HEAD")
    busy.git("tag", "nightly", "HEAD")
    assert said(ask.history(show="release_dates", tags=["1.1.0"])) == [
        "`1.1.0` is of 2024-03-01.",
        "The commit of `1.1.0` is by Grace Hopper.",
        "Before `1.1.0` came `1.0.1`, of 2024-03-01.",
        "After `1.1.0` there is no release.",
    ]
    assert said(ask.history(show="release_dates", tags=["1.0.1"]))[2:] == [
        "Before `1.0.1` came `1.0.0`, of 2024-03-01.",
        "After `1.0.1` came `1.1.0`, of 2024-03-01.",
    ]
    assert len(said(ask.history(show="release_dates", tags=["nightly"]))) == 4


def test_as_many_files_are_named_as_are_asked_for(ask: Ask, busy: Repository) -> None:
    busy.write("docs/engine.md", "words\n")
    busy.commit("docs: shorter")
    two = data(ask.history(show="hot_files", limit=2))
    assert two["subjects"] == ["docs/engine.md", "src/engine.py"]
    assert two["findings"][0]["content"].count("(") == 2


def test_whose_commits_do_not_count_is_a_list(ask: Ask, busy: Repository) -> None:
    busy.git("branch", "also", "HEAD~1")
    found = data(ask.history(show="people", not_by=["Ada Lovelace", "Grace Hopper"]))
    assert (found["commit_count"], found["answer"]) == (
        0, "There are no commits (2 authors left out). (git log)",
    )  # fmt: skip


@pytest.mark.requirement("G12")
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
    assert is_conventional(subject) is good


@pytest.mark.requirement("G9", "G12")
def test_tasks_and_issues_are_found_once_each() -> None:
    message = (
        "Refs TASK-0001.1.1.1 and STORY-12.3, (#7) fixes #7, EPIC-1.2 INIT-0001 BUG-9; not X-1, a#3, &#39; XTASK-1."
    )
    assert tasks_in(message) == ("TASK-0001.1.1.1", "STORY-12.3", "#7", "EPIC-1.2", "INIT-0001", "BUG-9")


@pytest.mark.parametrize(
    ("since", "until", "count"),
    [
        ("2024-02-29", "", 3),
        ("", "2024-02-29", 1),
        ("2024-03-01", "2024-03-01", 2),
        ("2024-03-01T00:30:00", "", 1),
        ("2024-03-01T02:00:00+02:00", "2024-03-01T02:00:00+02:00", 1),
    ],
)
def test_a_day_is_whole_at_both_edges(ask: Ask, since: str, until: str, count: int) -> None:
    assert data(ask.history(show="count", since=since, until=until))["commit_count"] == count


@pytest.mark.parametrize("text", ["yesterday", "2024-02-31", "0000-01-01", "2024"])
def test_what_is_no_date_is_refused_with_an_example(ask: Ask, text: str) -> None:
    refused = ask.history(until=text)
    assert refused.fault is not None
    assert (refused.fault.code, refused.fault.path) == ("invalid_input", "/parameters/until")
    assert "2024-03-01" in refused.fault.hint


@pytest.mark.parametrize(
    ("question", "show"),
    [
        ("who changed README.md most", "people"),
        ("who changed README.md last", "latest_change"),
        ("what changed in README.md", "log"),
        ("how often was README.md changed", "count"),
    ],
)
def test_what_leads_the_answer_is_read_from_the_question(question: str, show: str) -> None:
    parameters = read_words(GitStateAnalyzer.definition, question, EMPTY_ENVIRONMENT).bound.parameters
    assert (parameters["show"], parameters["paths"]) == (show, ["README.md"])
