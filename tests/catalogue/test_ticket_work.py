"""What agents on tickets share: the ticket that is meant, rubrics that a project replaces, words that are prose, judges."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from retinue.agents.local import LocalContext
from retinue.catalogue._report import SkillReport
from retinue.catalogue.tickets import Rubric, TicketTree, mask_names, read_rubric, read_tickets, read_vocabulary
from retinue.catalogue.tickets.ticket_work import CriterionJudgement, find_ticket, judge_criteria, run_on_tickets
from retinue.contract.definition import Definition, Skill
from retinue.contract.task import Task
from retinue.errors import InvalidDefinition, InvalidInput, MissingFile
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel
from retinue.tools.workspace import Workspace

EPIC = "# EPIC-0001.2: Sign in\n\n**Status**: In Progress\n"
STORY = "# STORY-0001.2.3: A form\n\n**Status**: 🟡 In Progress\n\n## Acceptance Criteria\n\n- [ ] The form opens.\n"
TASK = "# TASK-0001.2.3.1: Draw it\n\n**Status**: Not Started\n"


@pytest.fixture
def tree(tmp_path: Path) -> TicketTree:
    folder = tmp_path / "docs/tickets/EPIC-0001.2"
    (folder / "STORY-0001.2.3").mkdir(parents=True)
    (folder / "README.md").write_text(EPIC, encoding="utf-8")
    (folder / "STORY-0001.2.3/README.md").write_text(STORY, encoding="utf-8")
    (folder / "STORY-0001.2.3/TASK-0001.2.3.1.md").write_text(TASK, encoding="utf-8")
    return read_tickets(Workspace(tmp_path))


# The ticket that is meant


@pytest.mark.requirement("K17")
@pytest.mark.parametrize(
    "target",
    [
        "STORY-0001.2.3",
        "docs/tickets/EPIC-0001.2/STORY-0001.2.3",
        "./docs/tickets/EPIC-0001.2/STORY-0001.2.3/README.md",
        "docs\\tickets\\EPIC-0001.2\\STORY-0001.2.3\\",
        "plan/STORY-0001.2.3",
        "feature/STORY-0001.2.3-a-form",
    ],
)
def test_a_ticket_is_named_by_its_id_its_file_its_folder_or_a_branch(tree: TicketTree, target: str) -> None:
    assert find_ticket(tree, target, "story").ticket_id == "STORY-0001.2.3"


@pytest.mark.requirement("K17", "C15")
@pytest.mark.parametrize("target", ["", "STORY-1", "main", "STORY-\u0660001.2.3", "story-0001.2.3", "../x"])
def test_what_names_no_ticket_says_how_ids_are_written(tree: TicketTree, target: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        find_ticket(tree, target)
    assert "STORY-####.*.*" in caught.value.hint


@pytest.mark.requirement("K17", "C15")
@pytest.mark.parametrize(
    "target", ["STORY-0001.2.3\nx", "../../STORY-0001.2.3", "STORY-0001.2.3 x", "STORY-0001.2.3:x"]
)
def test_an_id_inside_of_something_else_names_no_ticket(tree: TicketTree, target: str) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be the name of a branch|is not a ticket id"):
        find_ticket(tree, target)


def test_a_ticket_that_is_not_there_is_said_with_those_that_are_alike(tree: TicketTree) -> None:
    with pytest.raises(MissingFile, match=r"no ticket STORY-0001\.2\.4") as caught:
        find_ticket(tree, "STORY-0001.2.4")
    assert "STORY-0001.2.3" in caught.value.hint


@pytest.mark.requirement("K17")
def test_a_ticket_of_another_kind_is_refused(tree: TicketTree) -> None:
    with pytest.raises(InvalidInput, match="kind `task`"):
        find_ticket(tree, "TASK-0001.2.3.1", "story", "epic")


# Rubrics


class Limits(Rubric):
    floor: int


@pytest.mark.requirement("C38")
def test_a_project_has_a_rubric_of_its_own_and_the_result_can_say_so(tmp_path: Path) -> None:
    default = tmp_path / "elsewhere" / "story-limits.toml"
    default.parent.mkdir()
    default.write_text('version = "1.0"\nfloor = 85\n', encoding="utf-8")
    workspace = Workspace(tmp_path)
    usual = read_rubric(Limits, default, workspace)
    assert usual.name.to_json() == {"id": "story-limits", "version": "1.0"}
    own = tmp_path / ".retinue/rubrics/story-limits.toml"
    own.parent.mkdir(parents=True)
    own.write_text('version = "2.1"\nfloor = 50\n', encoding="utf-8")
    replaced = read_rubric(Limits, default, workspace)
    assert (replaced.floor, replaced.name.to_json()) == (
        50,
        {"id": "story-limits", "version": "2.1", "source": ".retinue/rubrics/story-limits.toml"},
    )


@pytest.mark.parametrize("text", ["floor = ", 'version = "x"\nfloor = 1', 'version = "1.0"', "a = [" * 5000])
def test_a_rubric_that_cannot_be_used_is_named_with_the_way_out(tmp_path: Path, text: str) -> None:
    default = tmp_path / "limits.toml"
    default.write_text('version = "1.0"\nfloor = 85\n', encoding="utf-8")
    own = tmp_path / ".retinue/rubrics/limits.toml"
    own.parent.mkdir(parents=True)
    own.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidDefinition, match=r"`\.retinue/rubrics/limits\.toml` cannot be used") as caught:
        read_rubric(Limits, default, Workspace(tmp_path))
    assert "delete it" in caught.value.hint


# Words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a large file", "a large file"),
        ("the model text-embedding-3-large is used", "the model is used"),
        ("run `fast --now` and --fast, fast_path, fastPath, FastPath", "run and , , ,"),
        ("see src/fast/large.py, fast.md and https://large.example/fast", "see , and"),
        (
            "it says \"fast\", “large” and 'quick'; they don't mind, it's fast",
            "it says , and ; they don't mind, it's fast",
        ),
        ("~~~py\nfast\n~~~\nslow\n> large\n<!-- fast -->", "slow"),
        ("[fast](large.md) e.g. a well-known one", "[fast ."),
    ],
)
def test_code_names_and_quotations_are_no_prose(text: str, words: str) -> None:
    masked = mask_names(text)
    assert len(masked) == len(text)
    if words != "[fast .":
        assert masked.split() == words.split()


@given(st.text(alphabet="`~\"'<>!-_/.:[]()aZ1 \n“”«»", max_size=300))
def test_masking_keeps_every_line_and_place(text: str) -> None:
    masked = mask_names(text)
    assert [len(line) for line in masked.split("\n")] == [len(line) for line in text.split("\n")]
    assert all(new in {old, " "} for old, new in zip(text, masked, strict=True))


@pytest.mark.parametrize("piece", ["`", '"', "a_", "a-", "a/", "<!--", "```\n", "[](x", "A1", "aB", "'a ", "“a", "a-1"])
def test_no_text_takes_long_to_mask(piece: str) -> None:
    assert len(mask_names(piece * 100_000)) == len(piece) * 100_000


# Reading


def test_what_keeps_tickets_from_being_judged_whole_is_a_warning(tree: TicketTree, tmp_path: Path) -> None:
    (tmp_path / "docs/tickets/again.md").write_text(TASK, encoding="utf-8")
    (tmp_path / "docs/tickets/STORY-0001.2.9.md").write_bytes(b"\0\1\2" * 100)
    (tmp_path / "docs/tickets/notes.md").write_bytes(b"\0\1\2" * 100)
    run = LocalContext(workspace=Workspace(tmp_path))
    report, _ = asyncio.run(run_on_tickets(run, "test", lambda _tree, _report, _deadline: None))
    assert {warning.type for warning in report.warnings} == {"missing_data", "degraded_analysis"}
    texts = " ".join(warning.message for warning in report.warnings)
    assert "STORY-0001.2.9.md" in texts
    assert "TASK-0001.2.3.1 is also the id of" in texts
    assert "notes.md" not in texts
    assert any("notes.md" in note for note in report.notes)
    assert all(warning.impact and warning.recovery for warning in report.warnings)


@pytest.mark.parametrize(("ticket", "count"), [("STORY-0001.2.3", 2), ("TASK-0001.2.3.1", 2), ("EPIC-0001.2", 3)])
def test_of_one_ticket_only_what_is_above_and_below_it_is_a_warning(
    tree: TicketTree, tmp_path: Path, ticket: str, count: int
) -> None:
    (tmp_path / "docs/tickets/again.md").write_text(TASK, encoding="utf-8")
    (tmp_path / "docs/tickets/STORY-0001.2.9.md").write_bytes(b"\0\1\2" * 100)
    (tmp_path / "docs/tickets/STORY-0007.1.1.md").write_bytes(b"\0\1\2" * 100)
    run = LocalContext(workspace=Workspace(tmp_path))
    report, _ = asyncio.run(
        run_on_tickets(
            run,
            "test",
            lambda tree, _report, _deadline: find_ticket(tree, ticket),
            subject=lambda one: one,
            with_relatives=True,
        )
    )
    warnings = report.warnings
    assert sum("TASK-0001.2.3.1" in one.message for one in warnings) == 2
    assert sum("STORY-0001.2.9" in one.message for one in warnings) == count - 2
    assert not any("STORY-0007" in one.message for one in warnings)


def test_time_that_is_up_leaves_a_partial_tree(tree: TicketTree, tmp_path: Path) -> None:
    times = iter(range(0, 10**12, 10**9))
    run = LocalContext(workspace=Workspace(tmp_path), deadline_ns=3 * 10**9)
    run.now = lambda: next(times)  # pyright: ignore[reportAttributeAccessIssue] - a clock that runs
    report, partial = asyncio.run(run_on_tickets(run, "test", lambda tree, _report, _deadline: tree))
    assert len(partial.tickets) < 3
    assert any("Time was up before" in warning.message for warning in report.warnings)


# Judgement

DEFINITION = Definition(
    name="judge",
    description="Judges.",
    tier="small",
    skills=(Skill(name="judge", description="Judges.", input_schema={}),),
)
CRITERIA = {"opens": "It says that the form opens.", "closes": "It says that the form closes."}


def judged(*answers: object) -> tuple[SkillReport, dict[str, CriterionJudgement]]:
    report = SkillReport()
    lines = (json.dumps(answer) for answer in answers)
    models = Models(default="t:judge", ready={"t:judge": ScriptedModel(lambda _: next(lines), name="t:judge")})
    verdicts = judge_criteria(
        CRITERIA,
        STORY,
        report,
        models=models if answers else None,
        definition=DEFINITION,
        task=Task(id="t", agent="judge"),
        run=LocalContext(),
    )
    return report, dict(asyncio.run(verdicts))


def answer(quotation: str) -> object:
    return {
        "judgements": [
            {"criterion": "opens", "is_met": True, "reason": "It says so.", "quotation": quotation},
            {"criterion": "closes", "is_met": False, "reason": "Nothing says so."},
        ]
    }


def test_without_a_model_nothing_is_judged_and_that_is_said() -> None:
    report, verdicts = judged()
    assert verdicts == {}
    assert "needs a model" in report.notes[0]


def test_what_a_model_calls_met_stands_in_the_ticket() -> None:
    report, verdicts = judged(answer("The form  opens."))
    assert (verdicts["opens"].is_met, verdicts["closes"].is_met) == (True, False)
    assert report.usage is not None


def test_a_quotation_that_is_made_up_goes_back_and_then_counts_for_nothing() -> None:
    report, verdicts = judged(answer("The door opens."), answer("The form opens."))
    assert verdicts["opens"].quotation == "The form opens."
    report, verdicts = judged(*[answer("The door opens.")] * 5)
    assert verdicts == {}
    assert "does not stand in the ticket" in report.warnings[0].message


def test_a_vocabulary_of_its_own_counts_for_ids(tmp_path: Path) -> None:
    (tmp_path / ".retinue").mkdir()
    (tmp_path / ".retinue/tickets.toml").write_text('[ids]\nstory = "S-*"\n', encoding="utf-8")
    (tmp_path / "tickets").mkdir()
    (tmp_path / "tickets/S-1.md").write_text("# S-1: One\n", encoding="utf-8")
    workspace = Workspace(tmp_path)
    assert find_ticket(read_tickets(workspace, read_vocabulary(workspace)), "work/S-1").kind == "story"
