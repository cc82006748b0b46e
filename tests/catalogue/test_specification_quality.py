"""`specification_quality_checker`: what a ticket leaves open, where, and what it costs (G14)."""

import asyncio
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue.specification_quality_checker import SpecificationQualityChecker
from retinue.catalogue.specification_quality_checker.parameters import DEFAULT_RUBRIC, SpecificationRubric
from retinue.catalogue.specification_quality_checker.specification_check import read_statements
from retinue.catalogue.tickets import read_ticket, read_vocabulary
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel
from retinue.tools.workspace import Workspace
from tests.examples import examples

SECTIONS = {
    "acceptance_criteria": ("acceptance criteria", "bdd scenarios"),
    "technical_design": ("technical design",),
    "task_steps": ("implementation checklist",),
}
AGENT = "specification_quality_checker"
PATH = "docs/tickets/STORY-0001.1.1.md"
RUBRIC = SpecificationRubric.model_validate(
    {**tomllib.loads(DEFAULT_RUBRIC.read_text(encoding="utf-8")), "id": DEFAULT_RUBRIC.stem}
)
STORY = """\
# STORY-0001.1.1: Search for large files

**Status**: 🔵 Not Started
**Owner**: TBD

## User Story

As an editor I want to find a file by its words.

## Acceptance Criteria

- [ ] Results should be sorted by name
- [ ] The first page is shown quickly
- [ ] Search stays fast: within 200 ms for 10,000 files
- [ ] `fast_search` uses text-embedding-3-large, "as fast as possible"

## Scenarios

```gherkin
Scenario: Two files
  Given 2 files
  When I search for "x"
  Then both should be listed
Scenario: One file
  Given 1 file
  When I search for "y"
  Then it is listed
```

## Technical Design

- The index handles errors
  gracefully and is rebuilt
- Keep it simple, so that it stays fast

## Implementation Checklist

- [ ] Update the other places, etc.

## Notes

It might be robust. TODO: ask Ada.
"""


def examine(root: Path, text: str, skill: str, target: str, model: ScriptedModel | None = None) -> Result:
    (root / PATH).parent.mkdir(parents=True, exist_ok=True)
    (root / PATH).write_bytes(text.encode())
    models = None if model is None else Models.only(model)
    boundary = Boundary(Registry([SpecificationQualityChecker.bind(models)]))
    task = Task(id="t", agent=AGENT, skill=skill, parameters={"target": target})
    return asyncio.run(boundary.call(task, LocalContext(workspace=Workspace(root))))


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., Result]:
    """Checks a ticket of this text."""

    def checked(text: str, skill: str = "full_ticket", *, target: str = "STORY-0001.1.1", **files: str) -> Result:
        for name, content in files.items():
            (tmp_path / "docs/tickets").mkdir(parents=True, exist_ok=True)
            (tmp_path / f"docs/tickets/{name}.md").write_text(content, encoding="utf-8")
        return examine(tmp_path, text, skill, target)

    return checked


def story(*criteria: str, heading: str = "Acceptance Criteria") -> str:
    return "\n".join(["# STORY-0001.1.1: S", "**Status**: todo", "", f"## {heading}", "", *criteria, ""])


def found(result: Result) -> list[tuple[str, str, int]]:
    """The category, the words and the line of each issue, by line."""
    issues = [
        (one["category"], one["term"], int(one["location"].removeprefix(f"{PATH}:"))) for one in result.data["issues"]
    ]
    return sorted(issues, key=lambda one: (one[2], one[1]))


@pytest.mark.requirement("G14", "C38")
def test_what_a_ticket_leaves_open_is_named_with_its_place_and_costs_points(check: Callable[..., Result]) -> None:
    result = check(STORY)
    assert result.outcome == "success"
    assert found(result) == [
        ("placeholders", "TBD", 4),
        ("weasel_words", "should", 12),
        ("unquantified", "quickly", 13),
        ("missing_edge_cases", "no failing path", 20),
        ("incomplete_errors", "handles errors", 32),
        ("placeholders", "etc.", 38),
        ("implicit_steps", "other places", 38),
        ("placeholders", "TODO", 42),
    ]
    data = result.data
    # A label, a story, 4 criteria, 6 steps, 3 items, a note, and the check of the scenarios; 4 high and 4 medium issues.
    assert data["formula"] == {"id": "weighted-3-2-1", "text": RUBRIC.formula.text, "checkpoints": 17}
    assert data["quality_score"] == 0
    assert (data["quality_level"], data["agent_ready"]) == ("not_ready", False)
    assert data["summary"]["total_issues"] == sum(data["summary"]["by_category"].values()) == 8
    assert data["summary"]["by_severity"] == {"high": 4, "medium": 4}
    assert data["section_scores"] == {
        "user_story": 100,
        "acceptance_criteria": 0,
        "bdd_scenarios": 71,
        "technical_design": 0,
        "implementation_checklist": 0,
    }
    assert data["rubric"] == {"id": "specification-quality", "version": "1.0"}
    assert data["recommendations"][0] == f"Mend placeholders: 3 issues, the first at {PATH}:4."


@pytest.mark.parametrize(
    ("issues", "criteria", "score", "level"),
    [(0, 20, 100, "agent_ready"), (1, 40, 95, "agent_ready"), (2, 30, 86, "good"), (2, 15, 73, "needs_improvement"),
     (3, 10, 40, "not_ready"), (10, 10, 0, "not_ready")],
)  # fmt: skip
@pytest.mark.requirement("G14")
def test_the_score_is_100_without_the_share_of_penalties_in_checkpoints(
    check: Callable[..., Result], issues: int, criteria: int, score: int, level: str
) -> None:
    lines = [f"- [ ] Each row {'should be' if at < issues else 'is'} blue" for at in range(criteria)]
    data = check(story(*lines)).data
    assert (data["quality_score"], data["quality_level"]) == (score, level)


@pytest.mark.requirement("G14")
def test_a_skill_examines_its_own_sections_only(check: Callable[..., Result]) -> None:
    lines = {skill: [line for *_, line in found(check(STORY, skill))] for skill in SECTIONS}
    assert lines == {"acceptance_criteria": [12, 13, 20], "technical_design": [32], "task_steps": [38, 38]}


@pytest.mark.requirement("G14")
@pytest.mark.parametrize("skill", SECTIONS)
def test_a_section_that_is_not_there_has_no_checkpoint_and_so_no_point(
    check: Callable[..., Result], skill: str
) -> None:
    result = check("# STORY-0001.1.1: S\n\n**Status**: todo\n\nA list of files is shown.\n", skill)
    assert (result.data["quality_score"], result.data["formula"]["checkpoints"]) == (0, 0)
    assert [f"Write the {name}: there is none." for name in SECTIONS[skill]] == result.data["recommendations"]


# The dictionary.


def test_the_dictionary_has_37_terms_and_what_replaces_a_word_is_one_of_its_words() -> None:
    counts = dict.fromkeys((term.category for term in RUBRIC.terms), 0)
    for term in RUBRIC.terms:
        counts[term.category] += 1
        assert set(term.replaces) <= set(term.words), term.id
        assert min(len(term.problem), len(term.fix)) > 0, term.id
    assert counts == {
        "weasel_words": 13,
        "placeholders": 7,
        "implicit_steps": 7,
        "unquantified": 10,
        "incomplete_errors": 1,
        "missing_validation": 1,
    }
    assert len(RUBRIC.term_of) == sum(len(term.words) for term in RUBRIC.terms)  # no word is in two terms


@pytest.mark.requirement("G14")
def test_every_word_of_the_dictionary_is_found_in_a_plain_statement(check: Callable[..., Result]) -> None:
    words = [(term, word) for term in RUBRIC.terms for word in term.words]
    result = check(story(*(f"- [ ] Zork {word} zork" for _, word in words)))
    assert result.data["summary"]["total_issues"] == len(words)
    named = {(one["category"], one["term"]) for one in result.data["issues"]}
    assert named == {(term.category, word) for term, word in words}


@pytest.mark.requirement("G14")
@pytest.mark.parametrize(
    "line",
    [
        "Use text-embedding-3-large and `fast_path()`",
        'It says "this should be fast"',
        "Read docs/large/should.md and https://example.org/fast",
        "Call `make fast` with --should-fail and is_fast",
        "Search stays fast: within 200 ms",
        "Search is fast (p95 < 2 s)",
        "Large files (more than 10 MB) are refused",
        "It keeps one copy, so that it is fast",
        "Given a robot\n  Then the door should open",
        "Accepts formats (csv, json, etc.)",
        "Fail fast on bad input",
        "How many rows are there?",
        "Handle errors: print a message and exit with code 2",
        "Input validation: the name must have a letter",
        "✅ The page was made robust",
        "**Rationale**: it could be intuitive",
        "~~It should be robust~~",
        "Remove all TODO comments",
    ],
)
def test_what_stands_beside_a_word_can_disarm_it(check: Callable[..., Result], line: str) -> None:
    assert found(check(story(f"- [ ] {line}"))) == []


@pytest.mark.parametrize("heading", ["Notes", "Risks & Mitigations", "Risiken", "Hintergrund"])
def test_below_the_heading_of_a_remark_only_placeholders_count(check: Callable[..., Result], heading: str) -> None:
    assert found(check(story("- It could be robust", "- Owner TBD", heading=heading))) == [("placeholders", "TBD", 7)]


def test_a_phrase_over_the_end_of_a_line_is_found_on_the_line_it_begins(check: Callable[..., Result]) -> None:
    assert found(check(story("- [ ] The index is rebuilt as", "      needed by others"))) == [
        ("weasel_words", "as needed", 6)
    ]


# What to write instead.


@pytest.mark.requirement("G14")
def test_a_fix_is_only_what_can_take_the_place_of_the_words_and_its_blanks_are_said(
    check: Callable[..., Result],
) -> None:
    result = check(story("- It should open", "- It opens quickly", "- It is robust"))
    fixes = {one["term"]: one["fix"] for one in result.data["issues"]}
    assert fixes["should"] == {"old": "should", "new": "must", "has_blanks": False, "by": "rule"}
    assert fixes["quickly"] == {"old": "quickly", "new": "within <number> ms", "has_blanks": True, "by": "rule"}
    assert fixes["robust"] == {"old": "robust", "advice": "what a user can do with it, in how many steps"}


# Scenarios, and what takes judgement.

SCENARIO = "Scenario: {}\n  Given a file\n  When I open it\n  Then {}\n"


@pytest.mark.requirement("G14")
@pytest.mark.parametrize(
    ("names", "is_missing"),
    [
        (("Open", "Close"), True),
        (("Open", "Open without leave"), False),
        (("Open", "An error"), False),
        (("Open",), False),
    ],
)
def test_scenarios_of_which_none_fails_are_an_issue(
    check: Callable[..., Result], names: tuple[str, ...], is_missing: bool
) -> None:
    text = story("```gherkin", *(SCENARIO.format(name, "it is shown") for name in names), "```", heading="Scenarios")
    terms = [term for _, term, _ in found(check(text))]
    assert terms == (["no failing path"] if is_missing else [])


@pytest.mark.requirement("G14")
def test_without_a_model_what_takes_judgement_is_listed_as_not_judged(check: Callable[..., Result]) -> None:
    result = check(story("- It opens"))
    assert result.data["not_judged"] == ["edge_cases", "error_outcomes", "validation_rules"]
    assert "Not judged, which needs a model" in " ".join(result.data["notes"])
    assert check(story("- Handle errors"), "task_steps").data["not_judged"] == []
    # What a rule found unmet needs no judgement.
    assert check(story("- Handle errors")).data["not_judged"] == ["edge_cases", "validation_rules"]


def ask_model(tmp_path: Path, text: str, model: ScriptedModel) -> Result:
    return examine(tmp_path, text, "full_ticket", "STORY-0001.1.1", model)


def judged(*met: str) -> dict[str, Any]:
    keys = ("edge_cases", "error_outcomes", "validation_rules")
    said = [
        {
            "criterion": key,
            "is_met": key in met,
            "reason": f"{key} it is.",
            "quotation": "It opens" if key in met else "",
        }
        for key in keys
    ]
    return {"judgements": said}


@pytest.mark.requirement("G14")
def test_what_a_model_judges_unmet_is_an_issue_and_counts_as_a_checkpoint(tmp_path: Path) -> None:
    result = ask_model(tmp_path, story("- It opens"), ScriptedModel([judged("edge_cases")]))
    assert result.data["not_judged"] == []
    assert found(result) == [("incomplete_errors", "error_outcomes", 6), ("missing_validation", "validation_rules", 6)]
    assert result.data["issues"][0]["problem"] == "error_outcomes it is."
    assert result.data["formula"]["checkpoints"] == 4


ALL_MET = judged("edge_cases", "error_outcomes", "validation_rules")


@pytest.mark.requirement("G14")
def test_a_rewrite_of_a_model_holds_if_it_stands_in_the_ticket_and_says_no_number_of_its_own(tmp_path: Path) -> None:
    text = story(
        "- It opens", "- The list is robust", "- Large rows are cut", "- Rows are shown quickly", "- The limit is 30 s"
    )
    rewrites = [
        {"issue": 1, "old": "The list is robust", "new": "The list is shown within <number of seconds>"},
        {"issue": 2, "old": "Large rows", "new": "Rows of more than 4,000 characters"},
        {"issue": 3, "old": "Rows are shown quickly", "new": "Rows are shown within 30 s"},
    ]
    result = ask_model(tmp_path, text, ScriptedModel([ALL_MET, {"rewrites": rewrites}]))
    fixes = {one["term"]: one["fix"] for one in result.data["issues"]}
    assert fixes["robust"] == {"old": rewrites[0]["old"], "new": rewrites[0]["new"], "has_blanks": True, "by": "model"}
    assert fixes["quickly"] == {
        "old": rewrites[2]["old"],
        "new": rewrites[2]["new"],
        "has_blanks": False,
        "by": "model",
    }
    assert fixes["Large"] == {"old": "Large", "advice": "more than <number> of a unit"}
    assert "'4,000 characters' in 'Rows of more than 4,000 characters' does not stand in" in " ".join(
        result.data["notes"]
    )


@pytest.mark.requirement("G14")
@pytest.mark.parametrize(
    "rewrite",
    [
        {"issue": 1, "old": "The list is strong", "new": "It opens"},
        {"issue": 1, "old": "It opens", "new": "It shuts"},
        {"issue": 9, "old": "The list is robust", "new": "It opens"},
        {"issue": 1, "old": "The list is robust", "new": "It opens twice"},
        {"issue": 1, "old": "The list is robust", "new": "It opens within ½ s"},
        {"issue": 1, "old": "The list is robust", "new": "It opens within 30 minutes"},
    ],
)
def test_a_rewrite_that_does_not_hold_is_sent_back_and_then_left_out(tmp_path: Path, rewrite: dict[str, Any]) -> None:
    text = story("- It opens", "- The list is robust", "- The limit is 30 s")
    model = ScriptedModel([ALL_MET, *[{"rewrites": [rewrite]}] * 3])
    result = ask_model(tmp_path, text, model)
    assert len(model.requests) == 4
    assert result.data["issues"][0]["fix"] == {
        "old": "robust",
        "advice": "what a user can do with it, in how many steps",
    }
    assert "wrote no exact words that hold" in " ".join(result.data["notes"])


# What a project brings.


@pytest.mark.requirement("C38")
def test_a_project_can_bring_its_own_rubric_and_the_result_names_it(
    check: Callable[..., Result], tmp_path: Path
) -> None:
    own = tmp_path / ".retinue/rubrics/specification-quality.toml"
    own.parent.mkdir(parents=True)
    text = DEFAULT_RUBRIC.read_text(encoding="utf-8").replace('version = "1.0"', 'version = "2.1"')
    own.write_text(text.replace('words = ["should", "ought to"]', 'words = ["sollte"]'), encoding="utf-8")
    result = check(story("- Es sollte aufgehen", "- It should open"))
    assert found(result) == [("weasel_words", "sollte", 6)]
    assert result.data["rubric"]["version"] == "2.1"
    assert result.data["rubric"]["source"] == ".retinue/rubrics/specification-quality.toml"
    own.write_text('version = "1"', encoding="utf-8")
    broken = check(story("- It opens"))
    assert broken.fault is not None
    assert "specification-quality.toml" in broken.fault.message


@pytest.mark.requirement("G14")
@pytest.mark.parametrize(
    "heading", ["Akzeptanzkriterien", "Critères d'acceptation", "受け入れ基準", "Acceptance Kriterien"]
)
def test_sections_are_known_in_several_languages(check: Callable[..., Result], heading: str) -> None:
    data = check(story("- It opens", heading=heading), "acceptance_criteria").data
    assert data["section_scores"] == {"acceptance_criteria": 100}


def test_of_a_ticket_in_another_language_it_is_said_that_the_dictionary_does_not_fit(
    check: Callable[..., Result],
) -> None:
    line = "- Die Liste sollte möglichst schnell und gegebenenfalls vollständig angezeigt werden"
    result = check(story(*[line] * 6, heading="Akzeptanzkriterien"))
    assert result.outcome == "partial"
    assert result.warnings[0].message == "The dictionary is English, and the ticket is not."


# Bad input.


@pytest.mark.parametrize(
    ("lead", "end", "times"),
    [("\ufeff", "\n", -1), ("", "\r\n", -1), ("", "\r\n", 9), ("", "\r", -1)],
    ids=["byte order mark", "CRLF", "mixed", "CR"],
)
def test_line_ends_and_marks_change_neither_lines_nor_issues(
    check: Callable[..., Result], lead: str, end: str, times: int
) -> None:
    assert found(check(lead + STORY.replace("\n", end, times))) == found(check(STORY))


@pytest.mark.requirement("K17")
@pytest.mark.parametrize(
    "target", ["STORY-0001.1.9", "STORY-0001", "STORY-0001.1.\u0661", "../../etc/passwd", "docs/none.md"]
)
def test_a_target_that_is_no_ticket_is_refused(check: Callable[..., Result], target: str) -> None:
    result = check(STORY, target=target)
    assert result.fault is not None
    assert result.fault.code in {"invalid_input", "missing_file"}


def test_only_what_is_wrong_with_this_ticket_is_warned_of(check: Callable[..., Result]) -> None:
    assert check(STORY, other="---\nid: [\n---\n# TASK-0001.1.1.1: T\n").outcome == "success"
    result = check(STORY, twin=STORY)
    assert result.outcome == "partial"
    assert "is also the id of" in result.warnings[0].message


@pytest.mark.slow
def test_a_very_long_ticket_is_examined_as_far_as_it_is_read_and_its_issues_are_counted(
    check: Callable[..., Result],
) -> None:
    result = check(story(*["- It should be fast and robust"] * 200_000))
    assert result.outcome == "partial"
    assert len(result.data["issues"]) == 500
    assert result.data["summary"]["total_issues"] > 10_000
    paragraph = check(story("It should be `x` fast (a\n" * 200_000))
    assert paragraph.data["formula"]["checkpoints"] == 1


@given(
    text=st.text(alphabet='#-*|`>[]( )x\n\r:.?!<1 ~aB_"', max_size=300), lead=st.sampled_from(["", "---\nid: x\n---\n"])
)
@settings(max_examples=examples(200))
def test_a_statement_is_a_piece_of_its_ticket_with_blanks_for_what_is_not_prose(text: str, lead: str) -> None:
    ticket = read_ticket(PATH, f"{lead}# STORY-0001.1.1\n{text}".encode(), read_vocabulary())
    for one in read_statements(ticket, RUBRIC):
        assert len(one.raw) == len(one.prose)
        assert all(said in {own, " "} for own, said in zip(one.raw, one.prose, strict=True))
        assert ticket.text.splitlines()[one.line - 1].find(one.raw.splitlines()[0]) >= 0
