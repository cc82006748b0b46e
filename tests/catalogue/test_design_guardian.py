"""What `design_guardian` finds in real trees of tickets, through the boundary; only a model's judgement is scripted (G13)."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue.design_guardian import DesignGuardian
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.llm.models import Models
from retinue.llm.scripted import Line, ScriptedModel
from retinue.tools.workspace import Workspace
from tests.catalogue.conftest import Ask

Review = Callable[..., Result]

STORY = """\
# STORY-0001.1.1: Export orders as CSV

**Parent**: EPIC-0001.1
**Status**: 🔵 Not Started

## User Story

As a clerk I want all orders of a day as CSV, so that the bookkeeper can read them.

## Acceptance Criteria

- [ ] `shop export` writes the orders of a day to a CSV file
- [ ] An empty day gives a file with the header only
"""
TASK = """\
# TASK-0001.1.1.1: Write the CSV export of orders

**Parent**: STORY-0001.1.1
**Status**: 🔵 Not Started

## Objective

`shop export` writes the orders of a day as CSV.

## Implementation Checklist

"""


@pytest.fixture
def review(tmp_path: Path) -> Callable[..., Result]:
    """Reviews a tree of one story and one task, with these steps and these other files."""

    def call(
        *steps: str, skill: str = "task_review", target: str = "TASK-0001.1.1.1", models: Models | None = None, **files: str
    ) -> Result:  # fmt: skip
        tickets = tmp_path / "docs/tickets"
        tickets.mkdir(parents=True, exist_ok=True)
        texts = {"STORY-0001.1.1.md": STORY, "TASK-0001.1.1.1.md": TASK + "\n".join(steps) + "\n", **files}
        for name, text in texts.items():
            place = tickets / name if name.endswith(".md") else tmp_path / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode())
        boundary = Boundary(Registry([DesignGuardian.bind(models)]))
        task = Task(id="t", agent="design_guardian", skill=skill, parameters={"target": target})
        return asyncio.run(boundary.call(task, LocalContext(workspace=Workspace(tmp_path))))

    return call


def found(result: Result) -> list[tuple[str, str, str]]:
    assert result.outcome == "success", result.fault
    return [(one["rule"], one["severity"], one["location"].rpartition("/")[2]) for one in result.data["issues"]]


@pytest.mark.requirement("G13")
def test_a_plain_plan_is_simple_and_clean_and_says_what_was_not_judged(review: Review) -> None:
    result = review("- [ ] Write the orders of the day with the `csv` module")
    assert found(result) == []
    data = result.data
    assert (data["analysis_type"], data["target"]) == ("task_review", "TASK-0001.1.1.1")
    assert data["overall_assessment"] == "simple_and_clean"
    assert data["rubric"] == {"id": "design-guardian", "version": "1.0"}
    assert data["scope_alignment"]["in_scope"] == ["Write the orders of the day with the `csv` module"]
    assert data["not_judged"] == ["abstractions-needed", "optimisations-needed", "solution-fits", "scope-kept"]
    assert "reuse_score" not in data["pattern_reuse"]
    assert "no basis" in data["pattern_reuse"]["reuse_assessment"]
    assert "time_saved" not in str(data)


@pytest.mark.requirement("G13")
@pytest.mark.parametrize(
    ("step", "rule", "category"),
    [
        ("Write the CSV in a future-proof way", "future-proof", "unnecessary_abstraction"),
        ("Build a plugin architecture for the CSV export", "framework", "unnecessary_abstraction"),
        ("Speed up the export of orders", "unmeasured-speed", "premature_optimization"),
        ("Add a cache for the orders", "unmeasured-cache", "premature_optimization"),
        ("Refactor the entire export module", "large-rework", "overengineered_solution"),
        ("While we're at it, export orders as XML", "on-the-way", "scope_creep"),
    ],
)
def test_a_signal_word_is_an_issue_with_its_line_and_what_to_do(
    review: Review, step: str, rule: str, category: str
) -> None:
    result = review("- [ ] Write the orders", f"- [ ] {step}")
    (issue,) = result.data["issues"]
    assert (issue["rule"], issue["category"]) == (rule, category)
    assert issue["location"] == "docs/tickets/TASK-0001.1.1.1.md:13"
    assert issue["evidence"] == step
    assert issue["problem"]
    (advice,) = result.data["recommendations"]
    assert (advice["priority"], "TASK-0001.1.1.1" in advice["description"]) == (issue["severity"], True)
    outside = [one["item"] for one in result.data["scope_alignment"]["out_of_scope"]]
    assert outside == ([step] if category == "scope_creep" else [])


@pytest.mark.requirement("G13")
@pytest.mark.parametrize(
    "step",
    [
        "Speed up the export of orders from 40 s to 2 s",
        "No caching layer: the orders are read once",
        "Add a cache for the orders, which STORY-0001.1.2 needs",
        "Call `speed up` on the orders",
        "Refactor the entire error handling of the export",
        "Add a cache of test orders to the fixtures",
        "Build a plugin architecture for the two formats of orders",
        "Use the existing abstraction layer for orders",
    ],
)
def test_a_number_a_refusal_a_named_ticket_code_and_the_six_classes_disarm(review: Review, step: str) -> None:
    assert found(review(f"- [ ] {step}")) == []


@pytest.mark.requirement("G13")
def test_what_the_story_asks_for_is_no_issue_in_its_task(review: Review) -> None:
    asked = STORY.replace("An empty day", "Orders have a caching layer. An empty day")
    assert found(review("- [ ] Write the caching layer of orders", **{"STORY-0001.1.1.md": asked})) == []


@pytest.mark.requirement("G13")
def test_a_step_and_a_task_that_nothing_asks_for_are_out_of_scope(review: Review) -> None:
    result = review(
        "- [ ] Paint animated dashboards with sparkles", "  - [ ] Glitter below", "- [ ] Write the CSV orders"
    )
    assert found(result) == [("unasked-item", "low", "TASK-0001.1.1.1.md:12")]
    (outside,) = result.data["scope_alignment"]["out_of_scope"]
    assert (outside["item"], outside["action"]) == ("Paint animated dashboards with sparkles", "add_justification")
    foreign = TASK.replace("Write the CSV export of orders", "Animated dashboards").replace(
        "`shop export` writes the orders of a day as CSV.", "Dashboards sparkle on every screen of the warehouse."
    )
    result = review(**{"TASK-0001.1.1.1.md": foreign})
    assert found(result) == [("unasked-task", "medium", "TASK-0001.1.1.1.md:1")]
    assert result.data["recommendations"][0]["action"] == "move_to_future_story"


@pytest.mark.requirement("G13")
def test_without_criteria_scope_is_not_judged_and_that_is_said(review: Review) -> None:
    bare = STORY.partition("## User Story")[0]
    result = review("- [ ] Paint animated dashboards with sparkles", **{"STORY-0001.1.1.md": bare})
    assert found(result) == []
    assert any("no acceptance criteria" in note for note in result.data["notes"])


ONE = "from abc import ABC\nclass Writer(ABC):\n    def put(self): ...\nclass CsvWriter(Writer):\n    pass\n"


@pytest.mark.requirement("G13")
def test_an_abstract_class_with_one_concrete_subclass_is_an_issue(review: Review) -> None:
    result = review(
        "- [ ] Write orders with `src/writer.py` and `src/page.ts`", **{"src/writer.py": ONE, "src/page.ts": ""}
    )
    assert found(result) == [("single-implementation", "medium", "writer.py:2")]
    assert "`Writer` (src/writer.py:2) has only `CsvWriter` (src/writer.py:4)" in result.data["issues"][0]["evidence"]
    assert any("page.ts" in note and "Python only" in note for note in result.data["notes"])
    second = "from writer import Writer\nclass Middle(Writer):\n    '''Abstract too.'''\nclass XmlWriter(Middle):\n    pass\n"
    assert found(review("- [ ] Write orders with `src/writer.py`", **{"src/xml.py": second})) == []


@pytest.mark.requirement("G13")
def test_an_abstraction_that_a_ticket_sketches_is_found_with_its_line(review: Review) -> None:
    block = "  ```python\n" + "".join(f"  {row}\n" for row in ONE.splitlines()) + "  ```"
    result = review("- [ ] Write the orders:", block)
    assert found(result) == [("single-implementation", "medium", "TASK-0001.1.1.1.md:15")]
    assert found(review("- [ ] Write the orders:", "```python\nclass Broken(ABC:\n```")) == []


CONFTEST = '''\
import pytest

@pytest.fixture
def order_book(tmp_path):
    """Twenty orders of one day."""
    return tmp_path
'''


@pytest.mark.requirement("G13")
@pytest.mark.parametrize(
    "step",
    [
        "Create `order_book` fixture",
        "Add a fixture `mock_order_book`",
        "Add a fixture with twenty orders from one day",
    ],
)
def test_a_planned_fixture_that_exists_by_name_or_purpose_is_an_issue(review: Review, step: str) -> None:
    result = review(f"- [ ] {step}", **{"tests/conftest.py": CONFTEST})
    assert found(result) == [("fixture-exists", "medium", "TASK-0001.1.1.1.md:12")]
    reuse = result.data["pattern_reuse"]
    assert reuse["violations"] == result.data["issues"]
    assert "tests/conftest.py:4: Twenty orders of one day." in reuse["violations"][0]["evidence"]


@pytest.mark.requirement("G13")
def test_the_reuse_score_is_of_the_fixtures_named_and_planned(review: Review) -> None:
    steps = ["- [ ] Use `order_book` for the orders", "- [ ] **New fixtures:**", "  - `till`", "  - `drawer`"]
    test = "def test_orders_are_written(order_book):\n    pass\n"
    helper = 'def export_orders(day):\n    """Export orders."""\n'
    result = review(*steps, **{"tests/conftest.py": CONFTEST, "tests/test_export.py": test, "src/export.py": helper})
    reuse = result.data["pattern_reuse"]
    assert reuse["reuse_score"] == 3.3
    assert reuse["reuse_assessment"].startswith("Of 3 fixtures named or planned 1 exist")
    assert reuse["fixtures_available"][0] == {
        "name": "order_book", "location": "tests/conftest.py:4", "purpose": "Twenty orders of one day.",
    }  # fmt: skip
    assert [one["location"] for one in reuse["test_patterns_available"]] == ["tests/test_export.py:1"]
    assert [one["location"] for one in reuse["helpers_available"]] == ["src/export.py:1"]
    assert result.data["metadata"] == {"patterns_analyzed": 3}


@pytest.mark.requirement("G13")
def test_the_whole_is_assessed_by_the_rule_that_the_result_states(review: Review) -> None:
    many = ["- [ ] Write orders in a future-proof way", "- [ ] Speed up the export", "- [ ] Add a cache for the orders"]
    assert review(many[0]).data["overall_assessment"] == "acceptable_complexity"
    result = review(*many)
    assert result.data["overall_assessment"] == "overengineered"
    assert "(here 0 and 3, in 1 ticket)" in result.data["assessment_rule"]
    assert review("- [ ] Rewrite the entire export").data["overall_assessment"] == "overengineered"


@pytest.mark.requirement("G13")
def test_a_story_and_an_epic_are_reviewed_with_what_is_open_below_them(review: Review) -> None:
    done = TASK.replace("🔵 Not Started", "✅ Done").replace("1.1.1.1", "1.1.1.2") + "- [x] Speed up the export\n"
    files = {
        "EPIC-0001.1.md": "# EPIC-0001.1: Exports\n\n**Status**: 🔵 Not Started\n",
        "TASK-0001.1.1.2.md": done,
        "BUG-0007.md": "# BUG-0007: It is slow\n\n**Status**: 🔵 Not Started\n\nSpeed up the export.\n",
    }
    step = "- [ ] Speed up the export"
    for skill, target in (("story_review", "STORY-0001.1.1"), ("epic_review", "EPIC-0001.1")):
        result = review(step, skill=skill, target=target, **files)
        assert found(result) == [("unmeasured-speed", "medium", "TASK-0001.1.1.1.md:12")]
        assert "TASK-0001.1.1.2" not in result.data["reviewed"]
        assert any("1 finished ticket." in note for note in result.data["notes"])
    assert found(review(step, target="TASK-0001.1.1.2")) == [("unmeasured-speed", "medium", "TASK-0001.1.1.2.md:12")]
    assert found(review(step, target="BUG-0007")) == [("unmeasured-speed", "medium", "BUG-0007.md:5")]


@pytest.mark.requirement("G13", "C38")
def test_a_project_replaces_the_rubric_and_a_rule_that_it_leaves_out_is_off(review: Review) -> None:
    own = """\
version = "7.0"
most_high = 1
most_medium = 1
medium_share = 0.0
shared_objective = 0.2
[words]
[never_flag]
[rules.sparkle]
category = "scope_creep"
severity = "medium"
words = ["sparkle*"]
description = "It sparkles."
recommendation = "Leave it."
action = "remove_task"
impact = "Less glare."
"""
    path = ".retinue/rubrics/design-guardian.toml"
    result = review("- [ ] Animated sparkles, future-proof", **{path: own})
    assert found(result) == [("sparkle", "medium", "TASK-0001.1.1.1.md:12")]
    assert result.data["overall_assessment"] == "overengineered"
    assert result.data["rubric"] == {"id": "design-guardian", "version": "7.0", "source": path}
    broken = review(**{path: "version = 3"})
    assert broken.fault is not None
    assert path in broken.fault.message


@pytest.mark.requirement("G13")
@pytest.mark.parametrize(
    ("skill", "target", "words"),
    [
        ("story_review", "TASK-0001.1.1.1", "of kind `task`"),
        ("task_review", "TASK-0001.1.1.9", "There is no ticket TASK-0001.1.1.9"),
        ("epic_review", "EPIC-1", "is not a ticket id"),
    ],
)
def test_a_wrong_target_is_refused_with_what_would_do(review: Review, skill: str, target: str, words: str) -> None:
    result = review(skill=skill, target=target)
    assert result.fault is not None
    assert words in result.fault.message
    assert result.fault.hint


@pytest.mark.requirement("G13")
def test_circles_marks_and_mixed_line_ends_keep_nothing_from_being_reviewed(review: Review) -> None:
    circle = "\ufeff# EPIC-0001.1: Exports\r\n\n**Parent**: EPIC-0001.1\r\n**Status**: 🔵 Not Started\n\rSpeed up the export.\r"
    result = review("- [ ] Write", skill="epic_review", target="EPIC-0001.1", **{"EPIC-0001.1.md": circle})
    assert result.outcome in {"success", "partial"}
    assert result.data["issues"][0]["location"] == "docs/tickets/EPIC-0001.1.md:6"
    assert result.data["reviewed"] == ["EPIC-0001.1", "STORY-0001.1.1", "TASK-0001.1.1.1"]


@pytest.mark.requirement("G13")
def test_half_a_tree_is_still_reviewed_when_time_is_up(tmp_path: Path, ask_in: Callable[[Path], Ask]) -> None:
    (tmp_path / "docs/tickets").mkdir(parents=True)
    (tmp_path / "docs/tickets/STORY-0001.1.1.md").write_text(STORY, encoding="utf-8")
    for number in range(1, 40):
        text = TASK.replace("TASK-0001.1.1.1", f"TASK-0001.1.1.{number}")
        (tmp_path / f"docs/tickets/TASK-0001.1.1.{number}.md").write_text(text, encoding="utf-8")
    ticks = iter(range(10**6))
    result = ask_in(tmp_path)(
        "design_guardian", "story_review", target="STORY-0001.1.1", deadline_s=60,
        clock=lambda: 1_710_072_000 * 10**9 + next(ticks) * 10**9,
    )  # fmt: skip
    assert result.outcome == "partial"
    assert 0 < len(result.data["reviewed"]) < 40
    assert any("Time was up" in one.message for one in result.warnings)


def judging(*unmet: str) -> Callable[[Any], Line]:
    names = ("abstractions-needed", "optimisations-needed", "solution-fits", "scope-kept")
    quotation = "`shop export` writes the orders of a day as CSV."
    return lambda _: {
        "judgements": [
            {"criterion": name, "is_met": name not in unmet, "reason": f"On {name}.", "quotation": quotation}
            for name in names
        ]
    }


@pytest.mark.requirement("G13")
def test_what_a_model_finds_unmet_is_an_issue_with_its_reason_and_place(review: Review) -> None:
    models = Models.only(ScriptedModel(judging("solution-fits"), name="scripted:guardian", usd_per_million=1.0))
    result = review("- [ ] Write the orders", models=models)
    (issue,) = result.data["issues"]
    assert (issue["rule"], issue["judged_by"], issue["problem"]) == ("solution-fits", "model", "On solution-fits.")
    assert issue["location"] == "docs/tickets/TASK-0001.1.1.1.md:8"
    assert result.data["not_judged"] == []
    assert len(result.data["judgements"]) == 4
    assert found(review("- [ ] Write the orders", models=Models.only(ScriptedModel(judging())))) == []
