"""Who committed what and when, in real repositories (G12)."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from retinue.catalogue.git_state_analyzer import history
from retinue.catalogue.git_state_analyzer.form import PATTERN
from retinue.contract.result import Result
from retinue.contract.task import Context
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


@pytest.mark.row("G12")
def test_the_whole_result_of_a_small_history(repository: Repository, ask: Ask) -> None:
    shas = repository.git("rev-list", "HEAD").split()
    found = data(ask.history("who changed the engine most recently?"))
    commands = found.pop("metadata")["git_commands_run"]
    assert any(command.endswith("--end-of-options HEAD -- src/engine.py") for command in commands)
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
            "format_pattern": PATTERN,
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
            "largest_commit": {
                "sha": engine[0],
                "subject": "fix(engine): say 2",
                "author": "Ada Lovelace",
                "date": "2024-03-01T02:00:00+02:00",
                "files": 1,
                "lines": 6,
            },
            "measured": 2,
        },
        "recommendations": [],
        "authors": [
            {
                "name": "Ada Lovelace",
                "email": "ada@example.org",
                "commits": 2,
                "first": "2024-03-01T01:00:00+02:00",
                "last": "2024-03-01T02:00:00+02:00",
                "insertions": 7,
                "deletions": 1,
            }
        ],
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
        "period": {"first": "2024-03-01T01:00:00+02:00", "last": "2024-03-01T02:00:00+02:00"},
        "hot_files": [{"path": "src/engine.py", "commits": 2, "insertions": 7, "deletions": 1}],
        "scope": {"revision": "HEAD", "paths": ["src/engine.py"]},
        "answer": f"`src/engine.py` was last changed by Ada Lovelace on 2024-03-01: “fix(engine): say 2”. "
        f"(commit {engine[0][:10]})\n"
        f"Before that by Ada Lovelace on 2024-03-01: “feat(engine): first light”. (commit {engine[1][:10]})\n"
        f"1 person wrote the 2 commits that touch `src/engine.py`: Ada Lovelace (2). "
        f"(commits {engine[1][:10]}..{engine[0][:10]})",
        "findings": [
            {
                "topic": "last change",
                "content": "`src/engine.py` was last changed by Ada Lovelace on 2024-03-01: “fix(engine): say 2”.",
                "source": f"commit {engine[0][:10]}",
            },
            {
                "topic": "before that",
                "content": "Before that by Ada Lovelace on 2024-03-01: “feat(engine): first light”.",
                "source": f"commit {engine[1][:10]}",
            },
            {
                "topic": "authors",
                "content": "1 person wrote the 2 commits that touch `src/engine.py`: Ada Lovelace (2).",
                "source": f"commits {engine[1][:10]}..{engine[0][:10]}",
            },
        ],
        "notes": ["Read `engine` as `src/engine.py`."],
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
    assert [(one["name"], one["commits"], one["insertions"]) for one in found["authors"]] == [
        ("Ada Lovelace", 4, 10),
        ("Grace Hopper", 2, 51),
    ]
    assert lead(result) == "There are 6 commits, 1 of them merges, dated 2024-03-01 to 2024-03-01."


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who are the main authors?", "2 people wrote the 6 commits: Ada Lovelace (4), Grace Hopper (2)."),
        (
            "how many commits did Grace Hopper make?",
            "There are 2 commits by Grace Hopper, dated 2024-03-01 to 2024-03-01.",
        ),
        ("how many commits did Nobody Known make?", "Nobody called Nobody Known has committed here."),
        ("commits by zorro", "Nobody called zorro has committed here."),
        ("which files change most often?", "Changed in the most commits: `src/engine.py` (2)"),
        ("when was the last release?", "The newest of 2 tags is `1.1.0`, of 2024-03-01."),
        ("what changed since 1.1.0", "There are 2 commits in `1.1.0..HEAD` by 2 authors; they add 50 lines"),
        ("what changed since the last release", "There are 2 commits in `1.1.0..HEAD` by 2 authors; they add 50 lines"),
        ("what changed between 1.0.0 and 1.1.0", "There are 2 commits in `1.0.0..1.1.0` by 2 authors"),
        ("what is new in 1.1.0", "There are 2 commits in `1.0.0..1.1.0` by 2 authors"),
        ("what is new in version 1.0.0", "There are 2 commits in `1.0.0` by 1 author"),
        ("who first added the cache store", "`src/cache_store.py` was first committed by Grace Hopper on 2024-03-01"),
        ("when was the first release?", "The oldest of 2 tags is `1.0.0`, of 2024-03-01."),
        ("which release came before 1.1.0", "Before `1.1.0` came `1.0.0`, of 2024-03-01."),
        ("which release comes after 1.1", "After `1.1.0` there is no release."),
        ("when was 1.0.0 released", "`1.0.0` is of 2024-03-01."),
        ("what changed between the last two releases", "There are 2 commits in `1.0.0..1.1.0` by 2 authors"),
        ("how many commits in the last two releases", "There are 4 commits in `1.1.0`, dated"),
        ("what is new in 9.9.9", "No tag is called `9.9.9`. The newest are `1.1.0`, `1.0.0`."),
        ("which commits are on side but not on 1.1.0", "There is 1 commit in `1.1.0..side` by 1 author"),
        ("who originaly wrote the engine", "`src/engine.py` was first committed by Ada Lovelace on 2024-03-01"),
        ("who contributed, everybody except Ada Lovelace", "1 person wrote the 2 commits not by Ada Lovelace: Grace"),
        ("how many commits, not counting merges or Nobody Known", "There are 5 commits (merges not counted), dated"),
        ("when was the project started?", "The repository begins with a commit by Ada Lovelace on 2024-03-01"),
        ("who wrote `explain it`?", "1 person wrote the 1 commit that mentions `explain it`: Grace Hopper (1)."),
        ("who last mentioned light", "The last commit that mentions `light` is by Ada Lovelace on 2024-03-01"),
        ("when was light introduced", "The first commit that mentions `light` is by Ada Lovelace on 2024-03-01"),
        ("who changed the unicorn farm?", "No tracked file, folder or commit subject is called `unicorn farm`."),
        ("do commit messages have a conventional form", "3 of 5 commits have a subject of the form"),
        ("which commits mention TASK-0001.1.1.1?", "There is 1 commit that names `TASK-0001.1.1.1` by 1 author"),
        ("who fixed #12 last", "The last commit that mentions `#12` is by Grace Hopper on 2024-03-01"),
        ("what happened to #99", "There are no commits that name `#99`."),
        ("what happened today", "There are no commits in that time."),
        ("what happened in March 2024", "There are 5 commits by 2 authors"),
        ("commits between 2024-02-01 and 2024-02-20", "There are no commits in that time."),
        ("what did Grace change in the docs", "There is 1 commit by Grace Hopper that touches `docs"),
        ("is the tree clean?", "The work tree is clean: nothing is uncommitted."),
        ("largest commits", "Grace Hopper on 2024-03-01, 50 lines in 1 file: “docs(engine): explain it”."),
        ("show the last 2 commits", "Ada Lovelace, 2024-03-01: “Merge side”."),
        ("who changed src/cache_store.py", "`src/cache_store.py` was last changed by Grace Hopper on 2024-03-01"),
    ],
)
@pytest.mark.usefixtures("busy")
def test_the_fact_that_was_asked_for_leads(ask: Ask, question: str, expected: str) -> None:
    assert lead(ask.history(question)).startswith(expected)


def test_what_is_called_nothing_is_said_and_nothing_put_in_its_place(ask: Ask) -> None:
    result = ask.history("who changed the unicorn farm?")
    assert (result.outcome, result.warnings, len(said(result))) == ("rejected", (), 1)
    assert result.fault is not None
    assert result.fault.code == "missing_file"
    assert "unicorn farm" in result.fault.message
    unknown = ask.history("what changed since 9.9.9")
    assert unknown.outcome == "rejected"
    assert lead(unknown) == "No tag is called `9.9.9`. The repository has no tags."


@pytest.mark.usefixtures("busy")
def test_several_matches_are_all_named_and_told_apart(ask: Ask) -> None:
    result = ask.history("when did the engine last change?")
    assert said(result)[:2] == [
        "`src/engine.py` was last changed by Ada Lovelace on 2024-03-01: “fix(engine): say 2”.",
        "`docs/engine.md` was last changed by Grace Hopper on 2024-03-01: “docs(engine): explain it”.",
    ]
    assert data(result)["notes"][0] == "Read `engine` as `src/engine.py`, `docs/engine.md`."
    first = said(ask.history("who first committed the engine?"))
    assert [one.partition(" was")[0] for one in first] == ["`src/engine.py`", "`docs/engine.md`"]


def test_a_renamed_file_keeps_its_history(repository: Repository, ask: Ask) -> None:
    result = ask.history("who wrote the guide?")
    assert data(result)["commit_count"] == 2
    assert "Earlier names are counted too: `README.md`." in data(result)["notes"]
    repository.write("GUIDE.md", "# Engine\n\nIt stops.\n")
    last = ask.history("who changed the guide last?")
    assert "`GUIDE.md` has changes that are not committed." in said(last)


def test_of_several_matches_each_began_under_its_earlier_name(repository: Repository, ask: Ask) -> None:
    repository.write("docs/guide.txt", "A second guide.\n")
    repository.commit("docs: add another guide")
    first = said(ask.history("who first committed the guide?"))
    began = repository.git("log", "--reverse", "--format=%s", "--", "README.md").splitlines()[0]
    assert f"{began}”." in next(one for one in first if one.startswith("`GUIDE.md`"))


@pytest.mark.usefixtures("busy")
def test_parameters_win_over_words(ask: Ask) -> None:
    result = ask.history(
        "what did Ada change since 2020?",
        author="grace",
        since="2024-03-01",
        range="1.0.0..HEAD",
        paths=["docs"],
        limit=1,
    )
    found = data(result)
    assert found["scope"] == {
        "revision": "1.0.0..HEAD",
        "paths": ["docs"],
        "since": "2024-03-01T00:00:00+00:00",
        "author": "grace",
    }
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
    ],
)
def test_wrong_parameters_are_faults(ask: Ask, parameters: dict[str, Any], code: str) -> None:
    result = ask.history("what changed", **parameters)
    assert result.fault is not None
    assert result.fault.code == code


def test_two_addresses_of_one_full_name_are_one_person(repository: Repository, ask: Ask) -> None:
    repository.commit("chore(x): a", GIT_AUTHOR_EMAIL="ada@other.org")
    repository.commit("chore(x): b", GIT_AUTHOR_NAME="root", GIT_AUTHOR_EMAIL="root@a")
    repository.commit("chore(x): c", GIT_AUTHOR_NAME="root", GIT_AUTHOR_EMAIL="root@b")
    found = data(ask.history("who are the authors"))
    assert [(one["name"], one["email"], one["commits"]) for one in found["authors"]] == [
        ("Ada Lovelace", "ada@example.org", 4),
        ("root", "root@a", 1),
        ("root", "root@b", 1),
    ]


def test_the_last_year_is_told_beside_all_time(repository: Repository, ask: Ask) -> None:
    late = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    repository.commit("chore(x): much later", **GRACE, **late)
    assert "In the year up to 2026-01-01: Grace Hopper (1)." in said(ask.history("who maintains this?"))


# Odd repositories.


def test_no_commits_is_an_answer(make_repository: MakeRepository, ask_in: AskIn) -> None:
    result = ask_in(make_repository().root).history("who changed the parser last?")
    assert (result.outcome, lead(result)) == ("success", "The repository has no commits yet.")
    assert data(result)["commit_count"] == 0
    assert data(result)["commit_size_analysis"] == {"measured": 0}


def test_a_bare_repository_has_a_history_too(busy: Repository, tmp_path: Path, ask_in: AskIn) -> None:
    busy.git("clone", "--quiet", "--bare", str(busy.root), str(tmp_path / "bare.git"))
    ask = ask_in(tmp_path / "bare.git")
    assert lead(ask.history("who changed the cache store last?")).startswith(
        "`src/cache_store.py` was last changed by Grace"
    )
    assert "bare" in lead(ask.history("is the tree clean?"))


@pytest.mark.row("K5", "K13")
def test_a_shallow_clone_counts_its_part_and_says_so(busy: Repository, tmp_path: Path, ask_in: AskIn) -> None:
    busy.git("clone", "--quiet", "--depth", "1", f"file://{busy.root}", str(tmp_path / "shallow"))
    result = ask_in(tmp_path / "shallow").history("how many commits are there?")
    assert (result.outcome, data(result)["commit_count"]) == ("partial", 1)
    assert [(one.type, one.recovery) for one in result.warnings] == [("incomplete_context", "git fetch --unshallow")]
    assert data(result)["commit_size_analysis"] == {"measured": 0}
    assert lead(ask_in(tmp_path / "shallow").history("largest commits")) == "None of these commits could be measured."
    assert (
        lead(ask_in(tmp_path / "shallow").history("which files change most"))
        == "None of these commits could be measured."
    )


def test_no_tags_means_no_releases(ask: Ask) -> None:
    assert lead(ask.history("when was the last release?")) == "The repository has no tags, so no release can be told."


def test_names_that_cannot_be_said_are_left_to_themselves(make_repository: MakeRepository, ask_in: AskIn) -> None:
    repository = make_repository()
    for number, name in enumerate((b"new\nline.py", b'q"uote.py', b"latin\xe9.py", "café.py".encode())):
        repository.write(name, f"{number}\n")
    repository.commit("feat(x): names")
    ask = ask_in(repository.root)
    assert lead(ask.history("who changed café last?")).startswith("`café.py` was last changed")
    assert {one["path"] for one in data(ask.history())["hot_files"]} == {
        '"new\\nline.py"',
        'q"uote.py',
        '"latin\\351.py"',
        "café.py",
    }


def test_more_commits_than_are_read_are_said(repository: Repository, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "WALKED", 2)
    result = ask.history("how many commits are there?")
    assert (result.outcome, lead(result)) == (
        "partial",
        "There are at least 2 commits, dated 2024-03-01 to 2024-03-01.",
    )
    assert [warning.type for warning in result.warnings] == ["degraded_analysis"]
    assert repository.git("rev-list", "--count", "HEAD") == "3"


@pytest.mark.row("C21")
def test_when_time_is_up_what_was_counted_is_kept(
    repository: Repository, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_CHECKED_EVERY", 1)
    start = int(datetime(2024, 3, 10, tzinfo=UTC).timestamp()) * 10**9
    counted = 0

    def clock() -> int:
        # Time runs out once the walk over the commits has begun.
        return start + (3_600_000_000_000 if counted >= 2 else 0)

    real = history.has_form

    def has_form(subject: str) -> bool:
        nonlocal counted
        counted += 1
        return real(subject)

    monkeypatch.setattr(history, "has_form", has_form)
    result = _late(ask, clock, start)
    assert (result.outcome, data(result)["commit_count"]) == ("partial", 2)
    assert "time was up" in result.warnings[0].message
    assert repository.git("rev-list", "--count", "HEAD") == "3"


def _late(ask: Ask, clock: Callable[[], int], start: int) -> Result:
    """One call without the boundary's own timer, which would end it by the same clock."""
    import asyncio

    from retinue.agents.local import LocalContext
    from retinue.catalogue.git_state_analyzer import GitStateAnalyzer
    from retinue.contract.task import Task
    from retinue.engine.outside import Outside
    from retinue.tools.workspace import Workspace

    context = LocalContext(workspace=Workspace(ask.root), outside=Outside(clock=clock), deadline_ns=start + 60 * 10**9)
    task = Task(
        id="t", agent="git_state_analyzer", skill="commit_analysis", parameters={"question": "how many commits"}
    )
    reply = asyncio.run(GitStateAnalyzer.run(task, context))
    return Result(
        task_id="t", agent="git_state_analyzer", outcome=reply.outcome, data=reply.data, warnings=reply.warnings
    )


def leaning(ask: Ask, question: str, *, goal: str = "", summary: str = "", **parameters: Any) -> Result:
    """Ask `question` as a later clause of `goal`, with the beginning of an earlier answer handed on."""
    handed = {"n1": {"agent": "git_state_analyzer", "summary": summary}} if summary else {}
    told = Context(what=goal, inputs=handed)
    return ask("git_state_analyzer", "commit_analysis", told=told, question=question, **parameters)


@pytest.mark.parametrize(
    ("said", "question", "expected"),
    [
        (
            "how many commits are there without merges, and ",
            "who made most of them",
            "2 people wrote the 5 commits (mer",
        ),
        (
            "what changed between 1.0.0 and 1.1.0 and ",
            "who contributed",
            "2 people wrote the 2 commits in `1.0.0..1.1.0`:",
        ),
        ("which commits are on side but not on main, and ", "who wrote them", "There are no commits in `main..side`."),
        ("what changed in 1.1.0, and ", "who are the main authors of the project", "2 people wrote the 6 commits:"),
        ("what changed in 7.7.7, and ", "who contributed", "2 people wrote the 6 commits:"),
    ],
)
@pytest.mark.usefixtures("busy")
def test_a_clause_leans_on_what_was_said_before_it(ask: Ask, said: str, question: str, expected: str) -> None:
    assert lead(leaning(ask, question, goal=f"{said}{question}?")).startswith(expected)


def test_she_is_the_one_who_was_named_before(busy: Repository, ask: Ask) -> None:
    sha = busy.git("rev-parse", "1.1.0").strip()
    summary = f"`src/cache_store.py` was last changed by Grace Hopper on 2024-03-01: `Add`. (`commit {sha[:10]}`)"
    found = leaning(ask, "what did she change?", summary=summary)
    assert lead(found).startswith("There are 2 commits by Grace Hopper")
    assert data(found)["notes"][0] == "Read “she” as Grace Hopper."
    before = leaning(ask, "what was changed before it?", summary=summary)
    assert data(before)["commit_count"] == int(busy.git("rev-list", "--count", f"{sha}~1"))
    last = leaning(ask, "when did she last change src/cache_store.py?", summary=summary)
    assert lead(last).startswith("Grace Hopper last changed `src/cache_store.py` on 2024-03-01")
    stranger = leaning(ask, "what did he change?", summary="Said by Nobody Known on 2024-03-01.")
    assert data(stranger)["commit_count"] == 6


def test_versions_stand_in_the_order_of_their_numbers(busy: Repository, ask: Ask) -> None:
    busy.git("tag", "1.0.1", "1.0.0")
    busy.git("tag", "1.2.0rc1", "HEAD")
    busy.git("tag", "nightly", "HEAD")
    assert lead(ask.history("which release came before 1.1.0")).startswith("Before `1.1.0` came `1.0.1`")
    assert lead(ask.history("which release came after 1.0.1")).startswith("After `1.0.1` came `1.1.0`")
    assert data(ask.history("what changed from 1.1 to 1.0"))["scope"]["revision"] == "1.0.0..1.1.0"
    assert data(ask.history(range="1.1..1.0"))["scope"]["revision"] == "1.0.0..1.1.0"
    assert data(ask.history(range="1.0.."))["scope"]["revision"] == "1.0.0.."
    assert data(ask.history("what changed in the last three releases"))["scope"]["revision"] == "1.1.0"
    assert data(ask.history("what changed in the last 9 releases"))["scope"]["revision"] == "HEAD"
    assert lead(ask.history("which release came before nightly, the last release?")).startswith(
        "The newest of 5 tags is"
    )


def test_as_many_files_are_named_as_are_asked_for(ask: Ask, busy: Repository) -> None:
    busy.write("docs/engine.md", "words\n")
    busy.commit("docs: shorter")
    two = data(ask.history("show the two most changed files"))
    assert two["subjects"] == ["docs/engine.md", "src/engine.py"]
    assert two["findings"][0]["content"].count("(") == 2
    assert data(ask.history("which files change most often, top 1"))["subjects"] == ["docs/engine.md"]


@pytest.mark.usefixtures("busy")
def test_what_an_identifier_is_for_is_not_answered_by_the_history(ask: Ask) -> None:
    result = ask.history("what is it for (MAX_SPARKS)")
    assert result.outcome == "rejected"
    assert lead(result) == "No tracked file, folder or commit subject is called `MAX_SPARKS`."


def test_merges_do_not_count_when_that_is_said(ask: Ask, busy: Repository) -> None:
    busy.git("branch", "also", "HEAD~1")
    assert lead(ask.history("how many commits without merges")).startswith("There are 5 commits (merges not counted)")
    found = data(ask.history("who contributed, except Ada Lovelace and Grace Hopper"))
    assert found["scope"]["not_by"] == ["Ada Lovelace", "Grace Hopper"]
    assert found["commit_count"] == 0


@pytest.mark.row("G12")
@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"query": {"show": "people"}}, "2 people wrote the 6 commits: Ada Lovelace (4), Grace Hopper (2)."),
        (
            {"query": {"show": "people", "not_by": ["Ada Lovelace"]}},
            "1 person wrote the 2 commits not by Ada Lovelace: Grace Hopper (2).",
        ),
        ({"query": {"show": "count", "merges": False}}, "There are 5 commits (merges not counted), dated"),
        ({"query": {"show": "count"}, "author": "Grace"}, "There are 2 commits by Grace Hopper, dated"),
        ({"query": {"show": "changes"}, "range": "1.0.0..1.1.0"}, "There are 2 commits in `1.0.0..1.1.0` by 2 authors"),
        ({"query": {"show": "first"}, "paths": ["src/cache_store.py"]}, "`src/cache_store.py` was first committed by"),
        ({"query": {"show": "last", "subject": ["light"]}}, "The last commit that mentions `light` is by Ada Lovelace"),
        ({"query": {"show": "last", "task": "#12"}}, "The last commit that mentions `#12` is by Grace Hopper"),
        ({"query": {"show": "files"}}, "Changed in the most commits: `src/engine.py` (2)"),
        ({"query": {"show": "releases"}}, "The newest of 2 tags is `1.1.0`, of 2024-03-01."),
        ({"query": {"show": "state"}}, "`main` has 6 commits, and there is no other branch"),
        ({"query": {"show": "count"}, "since": "2025-01-01"}, "There are no commits in that time."),
    ],
)
@pytest.mark.usefixtures("busy")
def test_a_typed_query_needs_no_words(ask: Ask, parameters: dict[str, Any], expected: str) -> None:
    assert lead(ask.history(**parameters)).startswith(expected)
    assert lead(ask.history("how many tomatoes grow in March", **parameters)).startswith(expected)


@pytest.mark.parametrize("query", [{"show": "tomatoes"}, {"subject": "light"}, {"by": "Ada"}, {"merges": "no"}])
def test_a_query_that_is_none_is_refused(ask: Ask, query: dict[str, Any]) -> None:
    result = ask.history(query=query)
    assert result.fault is not None
    assert result.fault.code == "invalid_input"
    assert result.fault.path is not None
    assert result.fault.path.startswith("/parameters/query")


def test_a_typed_query_before_the_first_commit_is_answered(make_repository: MakeRepository, ask_in: AskIn) -> None:
    ask = ask_in(make_repository().root)
    assert lead(ask.history(query={"show": "people"})) == "The repository has no commits yet."
