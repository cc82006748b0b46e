"""The ticket analyzer over real files: scores, gaps and readiness; only judgement is scripted."""

import asyncio
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue import agents, ticket_analyzer
from retinue.contract import json
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel
from retinue.tools.workspace import Workspace
from tests.catalogue.conftest import TODAY, Ask

TOP = "docs/tickets/INIT-0001"
STORY_PATH = f"{TOP}/EPIC-0001.1/STORY-0001.1.1/README.md"
RUBRIC = ".retinue/rubrics/ticket-completeness.toml"
STORY = """\
# STORY-0001.1.1: Sign in with a password

**Parent Epic**: [EPIC-0001.1](../README.md)
**Status**: {status}
**Story Points**: 3
**Progress**: {progress}

## User Story

As a customer
I want to sign in with a password
So that nobody else sees my orders

## Acceptance Criteria

- [ ] A wrong password is answered with 401
{criteria}

## BDD Scenarios

### Scenario: The right password

```gherkin
Given an account
When they sign in with its password
Then they see their orders
```

## Technical Design

It reuses the session store.

## Tasks

| ID | Title | Status | Hours | BDD Progress |
| --- | --- | --- | --- | --- |
| TASK-0001.1.1.1 | Write the scenarios | {first} | 4 | 0/1 |
| TASK-0001.1.1.2 | Check passwords | 🔵 | 8 | 1/1 |
{tasks}

## Dependencies

None.
"""
TASK = """\
# TASK-0001.1.1.{number}: {title}

**Parent Story**: [STORY-0001.1.1](README.md)
**Status**: {status}
**Estimated Hours**: {hours}
{more}

## Implementation Checklist

- [ ] Create `src/password.py`
- [ ] Write its tests

## Verification

- [ ] All tests pass

## Pattern Reuse

None.
"""


def write_ticket(root: Path, path: str, text: str) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def write_story(
    root: Path, *, status: str = "🟡 In Progress", progress: str = "█████░░░░░ 50%", criteria: str = "", tasks: str = "",
    first: str = "✅",
) -> None:  # fmt: skip
    text = STORY.format(status=status, progress=progress, criteria=criteria, tasks=tasks, first=first)
    write_ticket(root, STORY_PATH, text)


def write_task(
    root: Path, number: int, title: str, *, status: str = "🔵 Not Started", hours: float = 4, more: str = ""
) -> None:
    text = TASK.format(number=number, title=title, status=status, hours=hours, more=more)
    write_ticket(root, f"{TOP}/EPIC-0001.1/STORY-0001.1.1/TASK-0001.1.1.{number}.md", text)


@pytest.fixture
def ask(tmp_path: Path, ask_in: Callable[[Path], Ask]) -> Ask:
    """Asks about one initiative, with an epic, a story and two tasks, the first of them done."""
    write_ticket(tmp_path, f"{TOP}/README.md", "# INIT-0001: Orders\n\n**Status**: 🟡\n\n## Epics\n\n- EPIC-0001.1\n")
    epic = (
        "# EPIC-0001.1: Accounts\n\n**Status**: 🟡\n\n## Overview\n\nCustomers sign in with a password to see orders."
    )
    write_ticket(tmp_path, f"{TOP}/EPIC-0001.1/README.md", f"{epic}\n\n## Stories\n\n- STORY-0001.1.1\n")
    write_story(tmp_path)
    write_task(tmp_path, 1, "Write the scenarios", status="✅ Done")
    write_task(tmp_path, 2, "Check passwords", hours=8, more="**Requires**: TASK-0001.1.1.1")
    return ask_in(tmp_path)


def data(result: Result) -> dict[str, Any]:
    assert result.fault is None, result.fault
    return cast("dict[str, Any]", result.data)


def gaps_of(ask: Ask, **parameters: Any) -> list[dict[str, Any]]:
    return data(ask("ticket_analyzer", "hierarchy_gaps", **parameters))["gaps"]


def types_of(issues: Iterable[dict[str, Any]]) -> set[str]:
    return {one["type"] for one in issues}


# One ticket.


@pytest.mark.requirement("G2", "C38")
def test_a_score_is_over_what_was_judged_and_names_its_rubric(ask: Ask) -> None:
    result = data(ask("ticket_analyzer", "ticket_completeness", target="STORY-0001.1.1"))
    assert result["missing_criteria"] == []
    assert (result["completeness_score"], result["quality_level"]) == (100, "ready")
    assert len(result["score_breakdown"]) == 12
    assert result["not_judged"] == ["scenarios_cover_criteria", "no_unnecessary_complexity"]
    assert result["basis"] == "12 of 12 criteria met, of 14 in the rubric"
    assert result["rubric"] == {"id": "ticket-completeness", "version": "1.0"}


@pytest.mark.requirement("G2")
@pytest.mark.parametrize(("kind", "count"), [("initiative", 8), ("epic", 10), ("story", 14), ("task", 10)])
def test_each_kind_of_ticket_has_its_number_of_criteria(kind: str, count: int) -> None:
    place = Path(ticket_analyzer.__file__).with_name("ticket-completeness.toml")
    assert place.read_text(encoding="utf-8").count(f"[[criteria.{kind}]]") == count


@pytest.mark.requirement("G2", "K35")
def test_what_is_missing_has_place_and_fix_and_below_the_floor_there_is_a_warning(ask: Ask, tmp_path: Path) -> None:
    write_ticket(
        tmp_path, STORY_PATH, "# STORY-0001.1.1: Sign in\n\n**Status**: 🔵\n\n## Acceptance Criteria\n\n- TBD\n"
    )
    result = ask("ticket_analyzer", "ticket_completeness", target="STORY-0001.1.1")
    missing = {one["criterion"]: one for one in data(result)["missing_criteria"]}
    assert missing["acceptance_criteria"]["location"] == f"{STORY_PATH}:5"
    assert missing["no_vague_criteria"]["problem"] == "“tbd” can mean many things."
    assert {"user_story_format", "tasks_listed", "bdd_scenarios", "technical_design"} <= missing.keys()
    assert all(one["fix"] and one["impact"] and one["priority"] for one in missing.values())
    assert data(result)["quality_level"] == "not_ready"
    assert result.outcome == "partial"
    assert "below the floor of 85 %" in result.warnings[0].message
    assert "user_story_format" in result.warnings[0].impact


@pytest.mark.requirement("G2")
@pytest.mark.parametrize(
    ("criterion", "is_vague"),
    [
        ("- [ ] It is fast", True),
        ("- [ ] It is fast: below 200 ms", False),
        ("- [ ] Handle errors", True),
        ("- [ ] Handle `LoginError`", False),
        ("- [ ] It calls `fast_path`", False),
        ("- [ ] Add what is missing:", False),
        ("- [ ] Whatever, to be determined in 3 weeks", True),
    ],
)
def test_a_word_is_vague_where_neither_number_nor_name_says_more(
    ask: Ask, tmp_path: Path, criterion: str, is_vague: bool
) -> None:  # fmt: skip
    write_story(tmp_path, criteria=criterion)
    result = data(ask("ticket_analyzer", "ticket_completeness", target="STORY-0001.1.1"))
    assert result["score_breakdown"]["no_vague_criteria"] is not is_vague


@pytest.mark.requirement("G2")
def test_sums_that_do_not_fit_say_by_what_they_are_off(ask: Ask, tmp_path: Path) -> None:
    write_task(tmp_path, 2, "Check passwords", hours=20)
    story = data(ask("ticket_analyzer", "ticket_completeness", target="STORY-0001.1.1"))
    assert [one["problem"] for one in story["missing_criteria"]] == [
        "It has 3 points; what it is made of has 6 points, at 4 hours a point."
    ]
    task = data(ask("ticket_analyzer", "ticket_completeness", target="TASK-0001.1.1.2"))
    assert [one["problem"] for one in task["missing_criteria"]] == ["It has 20 hours, not 2 to 8."]


@pytest.mark.requirement("K35", "C38")
def test_a_rubric_of_the_project_takes_the_place_of_ours(ask: Ask, tmp_path: Path) -> None:
    ours = Path(ticket_analyzer.__file__).with_name("ticket-completeness.toml").read_text(encoding="utf-8")
    theirs = ours.replace('version = "1.0"', 'version = "7.1"').replace("story = 85", "story = 0")
    write_ticket(tmp_path, RUBRIC, theirs)
    write_ticket(tmp_path, STORY_PATH, "# STORY-0001.1.1: Sign in\n\n**Status**: 🔵\n")
    result = ask("ticket_analyzer", "ticket_completeness", target="STORY-0001.1.1")
    assert data(result)["rubric"] == {"id": "ticket-completeness", "version": "7.1", "source": RUBRIC}
    assert result.warnings == ()


def test_a_rubric_that_cannot_be_used_says_where(ask: Ask, tmp_path: Path) -> None:
    write_ticket(tmp_path, RUBRIC, 'version = "1.0"\ncomplete_from = 101\n')
    fault = ask("ticket_analyzer", "ticket_completeness", target="STORY-0001.1.1").fault
    assert fault is not None
    assert RUBRIC in fault.message
    assert "complete_from" in fault.message


@pytest.mark.requirement("G2", "K17")
@pytest.mark.parametrize(
    ("skill", "target", "code"),
    [
        ("ticket_completeness", "STORY-0001.1.9", "missing_file"),
        ("ticket_completeness", "STORY-1", "invalid_input"),
        ("story_deep", "TASK-0001.1.1.1", "invalid_input"),
        ("task_readiness", "EPIC-0001.1", "invalid_input"),
        ("hierarchy_gaps", "docs/nothing", "invalid_input"),
    ],
)
def test_what_is_no_such_ticket_is_refused(ask: Ask, skill: str, target: str, code: str) -> None:
    fault = ask("ticket_analyzer", skill, target=target).fault
    assert fault is not None
    assert fault.code == code


def judging(root: Path, *answers: object) -> tuple[Boundary, LocalContext]:
    model = ScriptedModel([json.dumps(one) for one in answers])
    return Boundary(Registry(agents(models=Models.only(model)))), LocalContext(workspace=Workspace(root))


@pytest.mark.requirement("G1", "G2")
def test_a_model_judges_what_rules_cannot_and_shows_it_in_the_ticket(ask: Ask, tmp_path: Path) -> None:
    says = {"is_met": True, "reason": "It does.", "quotation": "A wrong password is answered with 401"}
    keys = ("scenarios_cover_criteria", "no_unnecessary_complexity", "epic_alignment", "initiative_alignment")
    judgements = [{"criterion": key, **says} for key in keys]
    judgements[0] |= {"is_met": False, "reason": "The wrong password has no scenario.", "quotation": ""}
    boundary, run = judging(tmp_path, {"judgements": judgements})
    task = Task(id="t", agent="ticket_analyzer", skill="story_deep", parameters={"target": "STORY-0001.1.1"})
    result = data(asyncio.run(boundary.call(task, run)))
    assert result["not_judged"] == []
    assert result["story"]["completeness_score"] == 93
    assert [one["problem"] for one in result["story"]["issues"]] == ["The wrong password has no scenario."]
    assert result["hierarchy"]["epic_alignment"] is True
    assert result["hierarchy"]["alignment_basis"][0] == "epic_alignment: a model judged it: It does."


@pytest.mark.requirement("K35")
def test_a_ticket_of_which_nothing_was_judged_has_no_floor(ask: Ask, tmp_path: Path) -> None:
    ours = Path(ticket_analyzer.__file__).with_name("ticket-completeness.toml").read_text(encoding="utf-8")
    only = '[[criteria.story]]\nid = "sense"\ndescription = "x"\nimpact = "x"\nfix = "x"\npriority = "low"\n'
    write_ticket(tmp_path, RUBRIC, f'{ours.partition("[[criteria")[0]}{only}check = "judgement"\n')
    result = ask("ticket_analyzer", "ticket_completeness", target="STORY-0001.1.1")
    assert (data(result)["not_judged"], result.warnings) == (["sense"], ())
    assert data(ask("ticket_analyzer", "hierarchy_gaps"))["total_tickets"] == 5


# A story.


@pytest.mark.requirement("G1")
def test_a_story_is_told_with_its_tasks_its_progress_and_its_place(ask: Ask) -> None:
    result = data(ask("ticket_analyzer", "story_deep", target="STORY-0001.1.1"))
    assert result["story"]["progress"] == {
        "stated": "50%", "actual": "50%", "accurate": True, "tasks_complete": 1, "tasks_total": 2,
    }  # fmt: skip
    assert result["story"]["issues"] == []
    assert [(one["id"], one["estimated_hours"], len(one["completeness_breakdown"])) for one in result["tasks"]] == [
        ("TASK-0001.1.1.1", 4.0, 9),
        ("TASK-0001.1.1.2", 8.0, 9),
    ]
    place = result["hierarchy"]
    assert (place["parent_epic"], place["parent_initiative"]) == ("EPIC-0001.1", "INIT-0001")
    assert (place["epic_alignment"], place["initiative_alignment"]) == (True, False)
    assert "3 words shared with EPIC-0001.1, of at least 3: orders, password, sign" in place["alignment_basis"][0]


@pytest.mark.requirement("G1")
def test_progress_and_statuses_that_tasks_belie_are_issues(ask: Ask, tmp_path: Path) -> None:
    write_story(tmp_path, status="✅ Done", progress="██████████ 100%", first="🔵")
    story = data(ask("ticket_analyzer", "story_deep", target="STORY-0001.1.1"))["story"]
    assert (story["progress"]["stated"], story["progress"]["accurate"]) == ("100%", False)
    found = {one["type"]: one["location"].rpartition(":")[2] for one in story["issues"]}
    assert found == {"progress_accurate": "6", "ticket/done-too-early": "4", "ticket/child-status": "37"}


@pytest.mark.requirement("G1")
def test_before_work_begins_scenarios_come_first_and_no_task_only_writes_tests(ask: Ask, tmp_path: Path) -> None:
    write_story(tmp_path, status="🔵 Not Started", progress="░░░░░ 0%", first="🔵")
    write_task(tmp_path, 1, "Create the table of accounts")
    write_task(tmp_path, 2, "Write unit tests for passwords", hours=8)
    story = data(ask("ticket_analyzer", "story_deep", target="STORY-0001.1.1"))["story"]
    assert types_of(story["issues"]) == {"scenarios_first", "standalone_tests", "progress_bar"}
    begun = data(ask("ticket_analyzer", "story_deep", target="STORY-0001.1.1", mode="in-progress"))["story"]
    assert begun["issues"] == []


@pytest.mark.requirement("G1", "K15")
def test_a_story_whose_tasks_have_no_files_is_told_all_the_same(ask: Ask, tmp_path: Path) -> None:
    for path in (tmp_path / STORY_PATH).parent.glob("TASK-*"):
        path.unlink()
    result = data(ask("ticket_analyzer", "story_deep", target="STORY-0001.1.1"))
    assert result["tasks"] == []
    assert "ticket/missing-child" in types_of(result["story"]["issues"])
    assert "tasks_sum_to_estimate" in result["story"]["not_judged"]


# The tree.


@pytest.mark.requirement("G3")
def test_gaps_of_each_type_are_found_with_place_priority_and_what_they_block(ask: Ask, tmp_path: Path) -> None:
    write_story(tmp_path, progress="█░░░░░░░░░ 10%", tasks="| TASK-0001.1.1.7 | Lock | 🔵 | 4 | 1/1 |")
    write_task(tmp_path, 3, "Count attempts", more="**Requires**: TASK-0001.1.1.7")
    write_ticket(tmp_path, f"{TOP}/EPIC-0001.1/STORY-0001.1.2.md", "# STORY-0001.1.2: Sign out\n\n**Status**: 🔵\n")
    write_ticket(tmp_path, f"{TOP}/TASK-0001.1.9.1.md", "# TASK-0001.1.9.1: Alone\n\n**Parent**: [Story](gone.md)\n")
    result = data(ask("ticket_analyzer", "hierarchy_gaps"))
    assert (result["total_tickets"], result["gaps_found"]) == (8, len(result["gaps"]))
    assert "one more urgent" in result["priority_rule"]
    by_type = {kind: [one for one in result["gaps"] if one["type"] == kind] for kind in types_of(result["gaps"])}
    assert by_type.keys() == {
        "missing_ticket", "broken_link", "incomplete_detail", "out_of_sync", "undocumented_addition",
    }  # fmt: skip
    first = by_type["missing_ticket"][0]
    assert (first["missing_tickets"], first["priority"]) == (["TASK-0001.1.1.7"], "P0")
    assert first["blocking"] == ["STORY-0001.1.1", "TASK-0001.1.1.3"]
    added = [one["ticket_id"] for one in by_type["undocumented_addition"]]
    assert added == ["TASK-0001.1.1.3", "STORY-0001.1.2"]
    vague = next(one for one in by_type["incomplete_detail"] if one["ticket_id"] == "STORY-0001.1.2")
    assert vague["completeness"] < 80
    assert "user_story_format" in vague["missing"]
    assert vague["blocked_by"] == [f"EPIC-0001.1 is {score(ask, 'EPIC-0001.1')} % complete"]
    assert not vague["ready"]


def score(ask: Ask, target: str) -> int:
    return data(ask("ticket_analyzer", "ticket_completeness", target=target))["completeness_score"]


@pytest.mark.requirement("G3")
def test_the_id_of_a_gap_stays_when_others_come_and_go(ask: Ask, tmp_path: Path) -> None:
    write_task(tmp_path, 3, "Count attempts")
    before = {one["gap_id"]: one["description"] for one in gaps_of(ask)}
    (tmp_path / TOP / "README.md").write_text("# INIT-0001: Orders and more\n\n**Status**: 🟡\n", encoding="utf-8")
    write_task(tmp_path, 4, "Lock accounts")
    after = {one["gap_id"]: one["description"] for one in gaps_of(ask)}
    kept = "STORY-0001.1.1 does not list TASK-0001.1.1.3, which is part of it."
    assert [key for key, text in before.items() if text == kept] == [key for key, text in after.items() if text == kept]
    assert len(after) > len(before)


@pytest.mark.requirement("G3")
@pytest.mark.parametrize(
    ("parameters", "count"),
    [
        ({}, 5),
        ({"target": "EPIC-0001.1"}, 4),
        ({"target": "EPIC-0001.1", "scope": "single-ticket"}, 1),
        ({"target": "INIT-0001", "scope": "epic-and-stories"}, 2),
        ({"target": "INIT-0001", "scope": "story-and-tasks"}, 3),
        ({"target": "docs/tickets/"}, 5),
        ({"target": f"{TOP}/EPIC-0001.1/STORY-0001.1.1"}, 3),
    ],
)
def test_target_and_scope_say_which_tickets_count(ask: Ask, parameters: dict[str, Any], count: int) -> None:
    assert data(ask("ticket_analyzer", "hierarchy_gaps", **parameters))["total_tickets"] == count


@pytest.mark.requirement("G3")
def test_circles_ids_twice_and_bad_bytes_leave_the_rest_judged(ask: Ask, tmp_path: Path) -> None:
    write_ticket(tmp_path, "docs/tickets/a.md", "# EPIC-0002.1: One\n\n**Parent**: EPIC-0002.2\n**Status**: 🔵\n")
    write_ticket(tmp_path, "docs/tickets/b.md", "# EPIC-0002.2: Two\n\n**Parent**: EPIC-0002.1\n**Status**: 🔵\n")
    write_ticket(tmp_path, "docs/tickets/c.md", "\ufeff# TASK-0001.1.1.2: Twice\r\n\n## Akzeptanz Kriterien\r\n\r\n- x")
    (tmp_path / "docs/tickets/TASK-0001.1.1.8.md").write_bytes(b"# TASK-0001.1.1.8\0\0")
    result = ask("ticket_analyzer", "hierarchy_gaps")
    assert result.outcome == "partial"
    assert any("TASK-0001.1.1.8.md" in one.message for one in result.warnings)
    text = " ".join(one["description"] for one in data(result)["gaps"])
    assert "part of each other" in text
    assert "TASK-0001.1.1.2 is also the id of" in text


@pytest.mark.requirement("G3")
def test_when_time_is_up_what_was_found_is_told(ask: Ask, tmp_path: Path) -> None:
    for number in range(3, 43):
        write_task(tmp_path, number, "Count attempts", hours=20)
    start, reads, most = int(TODAY.timestamp()) * 10**9, 0, 1_000_000

    def clock() -> int:
        """Stands still, and jumps to the second before the deadline after so many reads."""
        nonlocal reads
        reads += 1
        return start + (99 * 10**9 if reads > most else 0)

    whole = data(ask("ticket_analyzer", "hierarchy_gaps", deadline_s=100, clock=clock))["gaps"]
    most, reads = reads * 3 // 4, 0  # tickets are read first: by then they have been, and their gaps not all found
    result = ask("ticket_analyzer", "hierarchy_gaps", deadline_s=100, clock=clock)
    assert result.outcome == "partial"
    assert [one.message for one in result.warnings] == ["Time was up before every ticket had been looked at."]
    assert 0 < data(result)["gaps_found"] < len(whole)
    assert all(one in whole for one in data(result)["gaps"])


# A task.


@pytest.mark.requirement("G4")
def test_a_task_whose_prerequisites_are_done_may_be_started(ask: Ask, tmp_path: Path) -> None:
    write_ticket(tmp_path, "src/password.py", "")
    result = data(ask("ticket_analyzer", "task_readiness", target="TASK-0001.1.1.2"))
    assert (result["ready"], result["blocking_issues"], result["readiness_score"]) == (True, [], 100)
    assert result["basis"] == "8 of 8 conditions met: 6 of the rubric, and what it waits for"
    assert "estimated_time_to_ready" not in result


@pytest.mark.requirement("G4")
def test_what_blocks_a_task_is_told_with_the_status_that_is_needed(ask: Ask, tmp_path: Path) -> None:
    write_task(tmp_path, 1, "Write the scenarios", status="🟡 In Progress")
    write_task(tmp_path, 2, "Check passwords", more="**Requires**: TASK-0001.1.1.1, TASK-0001.1.1.9")
    path = f"{TOP}/EPIC-0001.1/STORY-0001.1.1/TASK-0001.1.1.2.md"
    result = data(ask("ticket_analyzer", "task_readiness", target="TASK-0001.1.1.2"))
    assert result["ready"] is False
    assert result["blocking_issues"] == [
        {
            "type": "prerequisite", "description": "TASK-0001.1.1.1 is `in_progress`.", "current_status": "in_progress",
            "required_status": "done", "location": f"{path}:6",
        },
        {
            "type": "missing_dependency", "description": "TASK-0001.1.1.9 has no file.", "found": False,
            "location": f"{path}:6",
        },
    ]  # fmt: skip
    assert result["readiness_score"] == 75
    assert result["recommendations"][0] == "See to this first: TASK-0001.1.1.1 is `in_progress`."


@pytest.mark.requirement("G4")
def test_a_file_that_a_finished_prerequisite_should_have_made_is_missed(ask: Ask) -> None:
    result = data(ask("ticket_analyzer", "task_readiness", target="TASK-0001.1.1.2"))
    (issue,) = result["blocking_issues"]
    assert (issue["type"], issue["expected_file"], issue["found"]) == ("missing_dependency", "src/password.py", False)
    assert issue["location"].endswith("TASK-0001.1.1.2.md:10")
    assert result["ready"] is False


@pytest.mark.requirement("G4")
@pytest.mark.parametrize(
    ("status", "mode", "is_ready"),
    [("🟡 In Progress", "by-status", True), ("🟡 In Progress", "pre-work", False), ("✅ Done", "by-status", False)],
)
def test_a_task_that_is_begun_may_go_on_and_one_that_is_done_may_not_be_started(
    ask: Ask, tmp_path: Path, status: str, mode: str, is_ready: bool
) -> None:  # fmt: skip
    write_task(tmp_path, 1, "Write the scenarios", status=status)
    result = data(ask("ticket_analyzer", "task_readiness", target="TASK-0001.1.1.1", mode=mode))
    assert result["ready"] is is_ready


def test_the_tree_that_init_makes_is_scored(tmp_path: Path, ask_in: Callable[[Path], Ask]) -> None:
    shutil.copytree(Path(ticket_analyzer.__file__).parents[1] / "tickets/starter", tmp_path / "docs/tickets")
    result = data(ask_in(tmp_path)("ticket_analyzer", "ticket_completeness", target="BUG-0001"))
    assert result["completeness_score"] == 100
