"""Tickets against the history of real repositories: `task_validation` and `drift_detection` (G10, G11)."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retinue.contract.result import Result
from tests.catalogue.conftest import Ask, Repository

MakeRepository = Callable[..., Repository]
AskIn = Callable[[Path], Ask]

ROOT = "docs/tickets/INIT-0001"
STORY = f"{ROOT}/EPIC-0001.1/STORY-0001.1.1"


def task_text(number: int, status: str, *, actual: str = "-", body: str = "") -> str:
    return (
        f"# TASK-0001.1.1.{number}: Step {number}\n\n**Parent**: [STORY-0001.1.1](README.md)\n**Status**: {status}\n"
        f"**Estimated Hours**: 2\n**Actual Hours**: {actual}\n\n- [ ] Write `src/step{number}.py`\n{body}"
    )


def story_text(status: str, progress: str, rows: dict[int, str], criterion: str = "[x]") -> str:
    table = "".join(
        f"| [TASK-0001.1.1.{n}](TASK-0001.1.1.{n}.md) | Step | {label} | 2 |\n" for n, label in rows.items()
    )
    return (
        f"# STORY-0001.1.1: Steps\n\n**Parent Epic**: [EPIC-0001.1](../README.md)\n**Status**: {status}\n"
        f"**Story Points**: 3\n**Progress**: {progress}\n\n## Acceptance Criteria\n\n- {criterion} It steps\n\n"
        f"## Tasks\n\n| ID | Title | Status | Hours |\n| --- | --- | --- | --- |\n{table}"
    )


def put_tree(made: Repository, tasks: dict[int, str], story: str) -> None:
    made.write(f"{ROOT}/README.md", "# INIT-0001: All\n\n**Status**: 🟡 In Progress\n")
    epic = "# EPIC-0001.1: First\n\n**Parent**: INIT-0001\n**Status**: 🟡 In Progress\n"
    made.write(f"{ROOT}/EPIC-0001.1/README.md", epic)
    made.write(f"{STORY}/README.md", story)
    for number, text in tasks.items():
        made.write(f"{STORY}/TASK-0001.1.1.{number}.md", text)


TODO, DOING, DONE = "🔵 Not Started", "🟡 In Progress", "✅ Complete"


@pytest.fixture
def steps(make_repository: MakeRepository) -> Repository:
    """A story of four tasks: one is done, one was done and says nothing of it, one says done, one is not begun."""
    made = make_repository()
    rows = {1: DONE, 2: TODO, 3: DONE, 4: TODO}
    tasks = {
        1: task_text(1, DONE, actual="2"),
        2: task_text(2, TODO, actual="3"),
        3: task_text(3, DONE, actual="1"),
        4: task_text(4, TODO),
    }
    put_tree(made, tasks, story_text(DOING, "█████░░░░░ 50% (2/4 tasks complete)", rows))
    made.commit("docs(STORY-0001.1.1): Plan the steps\n\n- TASK-0001.1.1.4: the last")
    for number in (1, 2):
        made.write(f"src/step{number}.py", "x = 1\n")
        made.commit(f"feat(TASK-0001.1.1.{number}): Step {number}")
    made.write(f"{STORY}/TASK-0001.1.1.3.md", task_text(3, DONE, actual="1", body="\nMore.\n"))
    made.write("README.md", "# Steps\n")
    made.commit("docs(TASK-0001.1.1.3): Describe it better")
    return made


def validate(ask: Ask, target: str = "", **parameters: Any) -> dict[str, Any]:
    return data(ask("git_state_analyzer", "task_validation", target=target, **parameters))


def detect(ask: Ask, target: str = "", **parameters: Any) -> dict[str, Any]:
    return data(ask("git_state_analyzer", "drift_detection", target=target, **parameters))


def data(result: Result) -> dict[str, Any]:
    assert result.fault is None, result.fault
    return result.data


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {one["task_id"].rpartition(".")[2]: one["verdict"] for one in found["validated_tasks"]}


def items(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Category, type and ticket of all that has drifted."""
    every = found["drift_categories"].items()
    return [(category, one["type"], one.get("ticket_id", "")) for category, some in every for one in some]


@pytest.mark.requirement("G10")
def test_each_task_is_held_against_the_commits_that_name_it(steps: Repository, ask_in: AskIn) -> None:
    found = validate(ask_in(steps.root))
    assert verdicts(found) == {
        "1": "accurate", "2": "reality_ahead_of_ticket", "3": "ticket_ahead_of_reality", "4": "accurate",
    }  # fmt: skip
    assert found["summary"] == {
        "total_tasks": 4, "accurate": 2, "ticket_ahead": 1, "reality_ahead": 1, "drift_count": 2,
    }  # fmt: skip
    first, second, third, fourth = found["validated_tasks"]
    sha = steps.git("log", "--format=%H", "--grep", "TASK-0001.1.1.1)")
    assert first["git_evidence"] == {
        "found": True,
        "commits": [sha],
        "commit_messages": ["feat(TASK-0001.1.1.1): Step 1"],
        "files_modified": ["src/step1.py"],
        "expected_files": ["src/step1.py"],
        "files_match": True,
        "hours_recorded": True,
        "merged": True,
    }
    assert first["confidence"] == second["confidence"] == 1
    assert third["git_evidence"]["found"] is False  # the commit that names it only plans
    assert (third["problem"], third["confidence"]) == (
        "It says done; no commit that does more than plan names it.",
        0.67,  # nothing names it, nothing touched its file; its hours are recorded
    )
    assert fourth["git_evidence"]["commits"] == []  # a plan that lists it is no work on it
    assert "share of the rules of evidence" in found["confidence_basis"]
    assert verdicts(validate(ask_in(steps.root), f"{STORY}/TASK-0001.1.1.2.md")) == {"2": "reality_ahead_of_ticket"}


@pytest.mark.requirement("G11")
def test_drift_is_told_by_category_with_edits_in_the_words_of_the_tree(steps: Repository, ask_in: AskIn) -> None:
    steps.write("src/other.py", "x = 1\n")
    steps.commit("Something else")
    steps.write("src/other.py", "x = 2\n")
    steps.commit("fix(${STORY_ID}): What a script wrote")
    result = ask_in(steps.root)("git_state_analyzer", "drift_detection")
    found = data(result)
    assert items(found) == [
        ("task_status", "status", "TASK-0001.1.1.2"),
        ("task_status", "status", "TASK-0001.1.1.3"),
        ("task_status", "child_status", "STORY-0001.1.1"),
        ("task_status", "child_status", "STORY-0001.1.1"),
        ("undocumented_changes", "no_reference", ""),
        ("commit_quality", "wrong_id", ""),
        ("commit_quality", "form", ""),
    ]
    assert found["summary"] == {
        "total_drift_items": 7, "high_severity": 1, "medium_severity": 3, "low_severity": 3, "fixable": 3,
        "not_fixable": 4,
    }  # fmt: skip
    edits = [
        (edit["file"].rpartition("/")[2], edit["line"], edit["old"], edit["new"]) for edit in found["proposed_edits"]
    ]
    assert ("TASK-0001.1.1.2.md", 4, TODO, DONE) in edits
    assert "-**Status**: 🔵 Not Started\n+**Status**: ✅ Complete" in result.content
    assert {edit["edit_type"] for edit in found["proposed_edits"]} == {"status", "child_status"}


@pytest.mark.parametrize(
    ("progress", "new"),
    [
        ("░░░░░░░░░░ 0%", "█████░░░░░ 50%"),
        ("▱▱▱▱▱▱▱▱▱▱ about 0 % (0 / 4 tasks)", "▰▰▰▰▰▱▱▱▱▱ about 50 % (2 / 4 tasks)"),
        ("[##########] 100% (4/4)", "[#####-----] 50% (2/4)"),
        ("1/4 tasks", "2/4 tasks"),
        ("██████░░░░ 55%", ""),  # as near as a bar can show
        ("100% (TASK-0001.1.1.1 4/4 points)", ""),  # told, and of several things: a person has to write it
    ],
)
@pytest.mark.requirement("G11")
def test_progress_is_counted_again_and_only_its_numbers_change(
    make_repository: MakeRepository, ask_in: AskIn, progress: str, new: str
) -> None:
    made = make_repository()
    states = {1: DONE, 2: DONE, 3: TODO, 4: "🔴 Blocked"}
    tasks = {number: task_text(number, state, actual="1") for number, state in states.items()}
    put_tree(made, tasks, story_text(DOING, progress, states))
    for number in (1, 2):
        made.write(f"src/step{number}.py", "x = 1\n")
    made.commit("feat(STORY-0001.1.1): Two steps at once")
    found = detect(ask_in(made.root))
    edits = [(edit["old"], edit["new"]) for edit in found["proposed_edits"]]
    assert edits == ([(progress, new)] if new else [])
    assert len(found["drift_categories"]["progress_accuracy"]) == (0 if "55" in progress else 1)


@pytest.mark.requirement("G10")
def test_a_squash_that_names_the_story_counts_for_its_tasks_only_by_their_files(
    make_repository: MakeRepository, ask_in: AskIn
) -> None:
    made = make_repository()
    states = {1: DONE, 2: DONE, 3: TODO, 4: TODO}
    tasks = {number: task_text(number, state, actual="1") for number, state in states.items()}
    put_tree(made, tasks, story_text(DOING, "█████░░░░░ 50%", states))
    made.commit("Begin")
    made.write("src/step1.py", "x = 1\n")
    made.write("src/step3.py", "x = 1\n")
    body = "* feat(TASK-0001.1.1.4): The last\n\n* docs(TASK-0001.1.1.3): Plan it\n\nNext: TASK-0001.1.1.2"
    made.commit(f"STORY-0001.1.1: Steps (#3)\n\n{body}")
    result = ask_in(made.root)("git_state_analyzer", "task_validation")
    found = data(result)
    assert verdicts(found) == {
        "1": "accurate", "2": "ticket_ahead_of_reality", "3": "accurate", "4": "reality_ahead_of_ticket",
    }  # fmt: skip
    evidence = {one["task_id"]: one["git_evidence"] for one in found["validated_tasks"]}
    assert evidence["TASK-0001.1.1.1"]["through"] == "STORY-0001.1.1"
    assert any("Commits name only what these are part of" in note for note in found["notes"])


def test_what_a_merge_brings_belongs_to_the_ticket_of_its_branch(
    make_repository: MakeRepository, ask_in: AskIn
) -> None:
    made = make_repository()
    put_tree(made, {1: task_text(1, TODO)}, story_text(TODO, "░░░░░░░░░░ 0%", {1: TODO}))
    made.commit("docs(STORY-0001.1.1): Plan")
    made.git("switch", "--quiet", "--create", "feature/TASK-0001.1.1.1-step")
    made.write("src/step1.py", "x = 1\n")
    made.commit("Write it")
    ask = ask_in(made.root)
    assert verdicts(validate(ask)) == {"1": "accurate"}
    assert verdicts(validate(ask, "feature/TASK-0001.1.1.1-step")) == {"1": "accurate"}
    made.commit("feat(TASK-0001.1.1.1): Done")  # empty: it shows nothing
    assert verdicts(validate(ask)) == {"1": "accurate"}
    made.git("switch", "--quiet", "main")
    made.git("merge", "--quiet", "--no-ff", "--message", "Merge branch 'feature/TASK-0001.1.1.1-step'", "-")
    (one,) = validate(ask)["validated_tasks"]
    assert one["verdict"] == "reality_ahead_of_ticket"
    assert one["git_evidence"]["commit_messages"] == ["Write it"]
    assert ("undocumented_changes", "no_reference", "") not in items(detect(ask))


def test_work_that_is_not_merged_is_no_finished_work(steps: Repository, ask_in: AskIn) -> None:
    steps.git("switch", "--quiet", "--create", "work")
    steps.write("src/step4.py", "x = 1\n")
    steps.write(f"{STORY}/TASK-0001.1.1.4.md", task_text(4, TODO, actual="1"))
    steps.commit("feat(TASK-0001.1.1.4): Step 4")
    ask = ask_in(steps.root)
    fourth = validate(ask, "TASK-0001.1.1.4")["validated_tasks"][0]
    assert (fourth["git_evidence"]["merged"], fourth["confidence"]) == (False, 0.75)
    assert fourth["fix"] == "Say that it is in progress."
    assert validate(ask, "TASK-0001.1.1.4", base="work")["validated_tasks"][0]["fix"] == "Say that it is done."
    steps.git("switch", "--quiet", "main")
    assert verdicts(validate(ask, "TASK-0001.1.1.4")) == {"4": "accurate"}
    assert verdicts(validate(ask, "heads/work"))["4"] == "reality_ahead_of_ticket"  # what the branch has counts


@pytest.mark.requirement("G11")
def test_a_story_is_over_when_its_tasks_are_and_nothing_is_left_to_tick(
    make_repository: MakeRepository, ask_in: AskIn
) -> None:
    made = make_repository()
    put_tree(made, {1: task_text(1, DONE, actual="1")}, story_text(TODO, "██████████ 100%", {1: DONE}))
    made.write("src/step1.py", "x = 1\n")
    made.commit("feat(TASK-0001.1.1.1): Step 1")
    ask = ask_in(made.root)
    story, *above = detect(ask)["drift_categories"]["task_status"]
    assert story["problem"] == "It says not begun; all it is made of is done."
    assert [one["ticket_id"] for one in above] == ["EPIC-0001.1", "INIT-0001"]
    made.write(f"{STORY}/README.md", story_text(TODO, "██████████ 100%", {1: DONE}, criterion="[ ]"))
    criteria, begun = detect(ask)["drift_categories"]["task_status"]
    assert (criteria["type"], criteria["severity"], criteria["fixable"]) == ("criteria", "low", False)
    assert begun["fix"] == "Say that it is in progress."


def test_files_are_found_under_the_name_that_they_were_given_later(steps: Repository, ask_in: AskIn) -> None:
    steps.git("mv", "src/step1.py", "src/moved.py")
    text = task_text(1, DONE, actual="2").replace("src/step1.py", "src/moved.py")
    steps.write(f"{STORY}/TASK-0001.1.1.1.md", text)
    steps.commit("refactor(STORY-0001.1.1): Move it")
    evidence = validate(ask_in(steps.root), "TASK-0001.1.1.1")["validated_tasks"][0]["git_evidence"]
    assert (evidence["files_match"], evidence["expected_files"]) == (True, ["src/moved.py"])


def test_a_history_that_was_cut_off_accuses_nobody(steps: Repository, ask_in: AskIn, tmp_path: Path) -> None:
    steps.git("clone", "--quiet", "--depth", "1", f"file://{steps.root}", str(tmp_path / "shallow"))
    result = ask_in(tmp_path / "shallow")("git_state_analyzer", "task_validation")
    assert result.outcome == "partial"
    assert "git fetch --unshallow" in [warning.recovery for warning in result.warnings]
    assert "ticket_ahead_of_reality" not in verdicts(data(result)).values()
    assert "TASK-0001.1.1.3" in data(result)["not_judged"]


@pytest.mark.parametrize("state", ["none", "empty"])
def test_without_a_history_tickets_are_compared_with_each_other(
    steps: Repository, ask_in: AskIn, tmp_path: Path, state: str
) -> None:
    steps.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "plain"))
    (tmp_path / "plain" / ".git").unlink()
    (tmp_path / "plain" / STORY / "README.md").write_text(story_text(DOING, "░░░░░░░░░░ 0%", {1: TODO}))
    if state == "empty":
        subprocess.run(["git", "init", "--quiet", str(tmp_path / "plain")], check=True)
    result = ask_in(tmp_path / "plain")("git_state_analyzer", "drift_detection")
    found = data(result)
    assert ("task_status", "child_status", "STORY-0001.1.1") in items(found)
    assert found["drift_categories"]["progress_accuracy"]
    if state == "none":
        assert result.outcome == "partial"
        assert "no history to hold tickets against" in result.warnings[0].message
    assert found["drift_categories"]["undocumented_changes"] == []


def test_where_commits_name_no_tickets_no_task_is_accused(steps: Repository, ask_in: AskIn) -> None:
    steps.git("checkout", "--quiet", "--orphan", "new")
    steps.commit("Everything at once")  # a rewritten history
    found = validate(ask_in(steps.root))
    assert verdicts(found) == {"1": "accurate", "2": "accurate", "4": "accurate"}  # the files of the first are there
    assert found["not_judged"] == ["TASK-0001.1.1.3"]


def test_bad_input_leaves_the_rest_to_be_judged(steps: Repository, ask_in: AskIn) -> None:
    steps.write(f"{STORY}/TASK-0001.1.1.5.md", task_text(5, "Whatever"))
    steps.write(f"{STORY}/copy.md", task_text(4, DONE))
    steps.write(f"{ROOT}/README.md", "# INIT-0001: All\n\n**Parent**: EPIC-0001.1\n**Status**: 🟡 In Progress\n")
    steps.write(
        f"{ROOT}/EPIC-0001.1/README.md", b"\xef\xbb\xbf# EPIC-0001.1: E\r\n\r\n**Parent**: INIT-0001\n**Status**: x\r"
    )
    steps.git("commit", "--quiet", "--allow-empty", "--allow-empty-message", "--message", "")
    steps.write(".git/index.lock", "")
    steps.write(".mailmap", "Ada <ada@example.org>\n")
    ask = ask_in(steps.root)
    found = validate(ask)
    assert verdicts(found) == {"1": "accurate", "2": "reality_ahead_of_ticket", "3": "ticket_ahead_of_reality"}
    assert found["not_judged"] == ["TASK-0001.1.1.4", "TASK-0001.1.1.5"]
    assert any("are not committed" in note for note in found["notes"])
    result = ask("git_state_analyzer", "drift_detection")
    assert ("commit_quality", "empty_message", "") in items(data(result))
    assert any("same id" in warning.message or "also the id" in warning.message for warning in result.warnings)


def test_tickets_in_a_submodule_are_told_apart(make_repository: MakeRepository, ask_in: AskIn) -> None:
    inner = make_repository("inner")
    inner.write("TASK-0001.1.1.1.md", task_text(1, DONE, actual="1"))
    inner.commit("docs(TASK-0001.1.1.1): Plan")
    outer = make_repository("outer")
    outer.git("submodule", "--quiet", "add", str(inner.root), "docs/tickets")
    outer.commit("docs(TASK-0001.1.1.1): Take the plan in")
    outer.write("src/step1.py", "x = 1\n")
    outer.commit("feat(TASK-0001.1.1.1): Step 1")
    result = ask_in(outer.root)("git_state_analyzer", "task_validation")
    assert "a repository of their own" in result.warnings[0].message
    (one,) = data(result)["validated_tasks"]
    assert one["git_evidence"]["commit_messages"] == ["feat(TASK-0001.1.1.1): Step 1"]


@pytest.mark.requirement("K17")
@pytest.mark.parametrize(("target", "code"), [("TASK-0001.1.1.9", "missing_file"), ("FIX-1", "invalid_input")])
def test_what_is_no_ticket_is_refused(steps: Repository, ask_in: AskIn, target: str, code: str) -> None:
    fault = ask_in(steps.root)("git_state_analyzer", "task_validation", target=target).fault
    assert fault is not None
    assert fault.code == code
    fault = ask_in(steps.root)("git_state_analyzer", "drift_detection", base="nowhere").fault
    assert fault is not None
    assert "nowhere" in fault.message


def test_only_commits_since_a_day_have_to_name_a_ticket(steps: Repository, ask_in: AskIn) -> None:
    steps.commit("Something else")
    ask = ask_in(steps.root)
    assert detect(ask)["drift_categories"]["undocumented_changes"]
    found = detect(ask, since="2024-03-02")
    assert found["drift_categories"]["undocumented_changes"] == []
    assert found["drift_categories"]["task_status"]  # evidence is looked for in all commits
