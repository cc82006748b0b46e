"""`requirements_interviewer` through the boundary: what it asks, what it makes of answers, and the ticket (G15, K20)."""

import asyncio
import json
import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue import agents, requirements_interviewer
from retinue.catalogue.requirements_interviewer.interview import Interview, InterviewRubric
from retinue.catalogue.requirements_interviewer.ticket_file import NewTicket, ticket_text
from retinue.catalogue.tickets import Ticket, check_tickets, read_rubric, read_ticket, read_tickets, read_vocabulary
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question, Task
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel
from retinue.tools.workspace import Workspace
from tests.catalogue.interviews import ANSWERS, PARENTS, plant_tickets, question_of

WORDS = read_vocabulary()
RUBRICS = sorted(Path(requirements_interviewer.__file__).parent.glob("requirements-*.toml"))
COUNTS = {"epic": (17, 10), "initiative": (16, 8), "story": (22, 14), "task": (17, 11)}
Person = Callable[[Question], str | bool | None]

pytestmark = pytest.mark.requirement("G15")


@cache
def boundary(models: tuple[str, ...]) -> Boundary:
    return Boundary(Registry(agents(models=Models.only(ScriptedModel(list(models))) if models else None)))


class Desk:
    """A folder with tickets, and somebody at a desk there, or nobody."""

    def __init__(self, root: Path, *models: str) -> None:
        self.root = root
        self._boundary = boundary(models)
        self.asked: list[Question] = []

    def ask(self, kind: str, person: Person | None = None, *, read_only: bool = False, **parameters: Any) -> Result:
        async def answer(question: Question) -> Answer | None:
            self.asked.append(question)
            value = person(question) if person else None
            return None if value is None else Answer(question_id=question.id, value=value)

        workspace = Workspace(self.root) if read_only else Workspace(self.root, write=(".",))
        run = LocalContext(workspace=workspace, answer=answer if person else None)
        parameters = {"target": PARENTS[kind], **parameters}
        task = Task(id="t", agent="requirements_interviewer", skill=kind, parameters=parameters)
        return asyncio.run(self._boundary.call(task, run))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    plant_tickets(tmp_path)
    return Desk(tmp_path)


def scripted(kind: str, **other: str) -> Person:
    """A person who says the same to a question however often it is asked, and allows everything."""
    said = {**ANSWERS[kind], **other}
    return lambda question: True if question.kind == "approval" else said[question_of(f".{question.id}")]


def in_turn(kind: str, **turns: list[str]) -> Person:
    """A person who has several answers to some questions, one for each time that they are asked."""

    def say(question: Question) -> str | bool:
        name = question_of(f".{question.id}")
        return turns[name].pop(0) if turns.get(name) else scripted(kind)(question)  # type: ignore[return-value]

    return say


def answered(result: Result) -> Any:
    assert result.fault is None, result.fault
    return result.data


def ticket_in(data: Any) -> Ticket:
    return read_ticket(data["ticket"]["path"], data["ticket"]["text"].encode(), WORDS)


def plain(markdown: str) -> str:
    """A line of a ticket as it is shown."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", re.sub(r"<(https?://[^>]*)>", r"\1", markdown))


@pytest.mark.parametrize("kind", COUNTS)
def test_a_rubric_asks_as_much_as_it_should_in_four_phases_and_its_headings_are_known_or_its_own(kind: str) -> None:
    rubric = tomllib.loads(Path(RUBRICS[0]).with_name(f"requirements-{kind}.toml").read_text(encoding="utf-8"))
    questions = rubric["questions"]
    assert (len(questions), len(rubric["criteria"])) == COUNTS[kind]
    phases = [one["phase"] for one in questions]
    assert phases == sorted(phases, key=["intro", "questions", "completeness"].index)
    assert {*phases} == {"intro", "questions", "completeness"}
    assert rubric["confirm"]
    for one in questions:
        assert WORDS.section_of(one.get("heading", ""))[0] == one["section"] if "section" in one else True, one["id"]
        assert one.get("section") or not WORDS.field_of(one.get("heading", "")), one["id"]
        assert one.get("probe") or one["form"] == "scenarios", one["id"]


@pytest.mark.parametrize("kind", COUNTS)
def test_a_person_is_asked_one_question_at_a_time_until_the_ticket_is_complete(desk: Desk, kind: str) -> None:
    before = set(desk.root.rglob("*.md"))
    result = desk.ask(kind, scripted(kind), write=True)
    data = answered(result)
    assert (result.outcome, result.warnings, result.completeness) == ("success", (), 100)
    questions = [question_of(f".{one.id}") for one in desk.asked if one.kind != "approval"]
    assert questions == list(ANSWERS[kind])
    assert len(questions) == COUNTS[kind][0] + 1  # and whether it is right
    assert data["completeness"]["missing"] == []
    assert {one["question"]: one["text"] for one in data["quotes"]} == {
        name: text for name, text in ANSWERS[kind].items() if name != "confirm"
    }
    (made,) = set(desk.root.rglob("*.md")) - before
    assert made.relative_to(desk.root).as_posix() == data["ticket"]["path"]
    assert result.files_written == (data["ticket"]["path"],)
    assert made.read_bytes().decode() == data["ticket"]["text"]
    assert "state" not in data
    assert check_errors(desk.root) == []


def check_errors(root: Path) -> list[str]:
    return [one.message for one in check_tickets(read_tickets(Workspace(root))) if one.severity == "error"]


@pytest.mark.parametrize("kind", COUNTS)
def test_the_ticket_reads_back_with_everything_that_was_captured(desk: Desk, kind: str) -> None:
    data = answered(desk.ask(kind, answers=dict(ANSWERS[kind])))
    captured, ticket = data["captured"], ticket_in(data)
    assert (ticket.ticket_id, ticket.kind, ticket.title) == (data["ticket_id"], kind, captured["core"]["title"])
    assert (ticket.status, [one.rule for one in ticket.findings]) == ("todo", [])
    boxes = {key: [one.text for one in ticket.checklist if one.section == key] for key in WORDS.sections}
    assert boxes["acceptance_criteria"] == captured["acceptance_criteria"]
    assert (boxes["children"] or boxes["implementation"]) == captured["children"]
    scenarios = [{"name": one.name, "steps": list(one.steps)} for one in ticket.scenarios]
    assert scenarios == captured["bdd_scenarios"]
    required = [one.target for one in ticket.targets("requires")]
    assert required == [found[0] for line in captured["dependencies"] for found in WORDS.reference.finditer(line)]
    assert {one.target for one in ticket.targets("parent")} == {PARENTS[kind]} - {""}
    number = {"epic": "points", "story": "points", "task": "hours"}.get(kind)
    assert number is None or ticket.number({"hours": "estimate"}.get(number, number)) is not None
    parts = {**captured["core"], **captured["technical_design"]}
    shown = plain(ticket.text)
    for name, text in parts.items():
        assert all(line in shown for line in text.split("\n")) or name == "hours"


def test_without_a_person_it_is_partial_with_the_next_question_and_goes_on_from_its_state(desk: Desk) -> None:
    result = desk.ask("story", write=True)
    data = answered(result)
    assert result.outcome == "partial"
    (warning,) = result.warnings
    assert (warning.type, "state" in warning.recovery) == ("incomplete_context", True)
    assert data["next_questions"][0]["id"] == "title"
    assert data["next_questions"][0]["options"] == ["skip", "stop"]
    steps = 0
    while data["next_questions"]:
        name = data["next_questions"][0]["id"]
        state = json.loads(data["state"])
        assert state["form"] == "retinue-interview/1"
        result = desk.ask("story", state=data["state"], answers={name: ANSWERS["story"][name]})
        data = answered(result)
        steps += 1
    assert steps == 23
    assert result.outcome == "success"
    at_once = answered(desk.ask("story", answers=dict(ANSWERS["story"])))
    with_person = answered(desk.ask("story", scripted("story"), write=True))
    assert data["ticket"]["text"] == at_once["ticket"]["text"] == with_person["ticket"]["text"]
    assert not data["ticket"]["is_written"]


@pytest.mark.parametrize(
    ("state", "target", "says"),
    [
        ("{", "EPIC-0001.1", "not that of an interview"),
        ("[]", "EPIC-0001.1", "not that of an interview"),
        ('{"form":"retinue-interview/2"}', "EPIC-0001.1", "not that of an interview"),
        ("gASVBgAAAAAAAACMAnh4lC4=", "EPIC-0001.1", "not that of an interview"),
        ("OLD", "EPIC-0001.1", "0.9"),
        ("KIND", "EPIC-0001.1", "requirements-task"),
        ("GOOD", "STORY-0001.1.7", "EPIC-0001.1"),
        ("NOBODY", "EPIC-0001.1", "as nobody can"),
        ("CHOICE", "EPIC-0001.1", "as nobody can"),
    ],
)
def test_a_state_that_is_wrong_or_old_says_what_to_do(desk: Desk, state: str, target: str, says: str) -> None:
    good = answered(desk.ask("story", answers={"title": "Pay the cart"}))["state"]
    changed = {
        "GOOD": good,
        "OLD": good.replace('"1.0"', '"0.9"'),
        "KIND": good.replace("requirements-story", "requirements-task"),
        "NOBODY": good.replace('"title"', '"titel"'),
        "CHOICE": good.replace('"title"', '"confirm"'),
    }
    result = desk.ask("story", state=changed.get(state, state), target=target)
    assert result.fault is not None
    assert (result.fault.code, says in result.fault.message) == ("invalid_input", True), result.fault
    assert "without" in result.fault.hint


def test_what_a_state_says_is_held_to_the_same_rules(desk: Desk) -> None:
    good = answered(desk.ask("story", answers={"title": "Pay the cart", "scenarios": "Scenario: a\nGiven b"}))["state"]
    forged = good.replace("Scenario: a\\nGiven b", "Scenario: a\\nthis is no step")
    assert forged != good
    data = answered(desk.ask("story", state=forged))
    assert data["next_questions"][0]["id"] == "scenarios"
    assert data["captured"]["bdd_scenarios"] == []
    assert ticket_in(data).findings == ()


def test_what_is_vague_is_probed_once_and_then_counts_as_missing(desk: Desk) -> None:
    person = in_turn(
        "story", persona=["users", "a clerk at the counter"], want=["maybe to pay it somehow", "to pay it somehow"]
    )
    data = answered(desk.ask("story", person))
    texts = [one.text for one in desk.asked if one.id.startswith(("persona", "want"))]
    assert len(texts) == 5  # `want` once more at the end, since the ticket is not complete
    assert texts[1].startswith("“users” is short.\n“A user” is everybody")
    assert texts[3].startswith("“maybe” leaves it open.")
    assert "not complete" in texts[4]
    assert data["captured"]["core"]["persona"] == "a clerk at the counter"
    assert data["captured"]["core"]["want"] == "to pay the whole cart at once"
    assert [one["text"] for one in data["quotes"] if one["question"] == "persona"] == [
        "users",
        "a clerk at the counter",
    ]
    assert data["completeness"]["target_met"]


def test_what_stays_vague_is_said_to_be_missing(desk: Desk) -> None:
    result = desk.ask("story", scripted("story", want="maybe something"), write=True)
    data = answered(result)
    (missing,) = data["completeness"]["missing"]
    assert (missing["criterion"], missing["question"], data["completeness"]["percent"]) == ("want", "want", 92)
    assert result.outcome == "partial"
    assert "`want`" in result.warnings[0].message
    assert data["ticket"]["is_written"]


def test_a_figure_is_asked_for_where_one_is_wanted(desk: Desk) -> None:
    person = in_turn(
        "initiative", key_results=["far fewer wrong orders for everybody", "from 4 % to 1 % until June 2027"]
    )
    answered(desk.ask("initiative", person))
    texts = [one.text for one in desk.asked if one.id.startswith("key_results")]
    assert len(texts) == 2
    assert "has no number" in texts[1]


def test_a_scenario_that_does_not_parse_is_asked_again_until_it_does(desk: Desk) -> None:
    bad = "Scenario: paid\n  Given a cart\n  and this is no step at all"
    good = "```gherkin\nScenario: paid\n  Given a cart\n  Then it is paid\n```"
    data = answered(desk.ask("story", in_turn("story", scenarios=[bad, "just text", "Scenario: empty", good])))
    texts = [one.text for one in desk.asked if one.id.startswith("scenarios")]
    assert len(texts) == 4
    assert texts[1].startswith("That is no Gherkin: line 3")
    assert data["captured"]["bdd_scenarios"][0] == {"name": "paid", "steps": ["Given a cart", "Then it is paid"]}
    assert data["completeness"]["percent"] == 100


def test_a_dependency_that_is_not_there_is_asked_again(desk: Desk) -> None:
    turns = ["STORY-0001.1.9 first", "Story 9 first", "STORY-0001.1.2 first", "the contract with the bank"]
    data = answered(desk.ask("story", in_turn("story", dependencies=turns)))
    texts = [one.text for one in desk.asked if one.id.startswith("dependencies")]
    assert len(texts) == 4
    assert "no ticket “STORY-0001.1.9”" in texts[1]
    assert "no ticket “Story 9”" in texts[2]
    assert "cannot wait for itself" in texts[3]
    assert data["captured"]["dependencies"] == ["the contract with the bank"]


def test_skip_back_stop_and_a_change_are_answers(desk: Desk) -> None:
    turns = {
        "title": ["Pay carts", "Pay the whole cart"],
        "context": ["back", "skip"],
        "today": ["skip"],
        "confirm": ["title", "right"],
        "in_scope": ["back"],
    }
    turns["title"].append("Pay the cart at once")
    data = answered(desk.ask("story", in_turn("story", **turns)))
    assert data["captured"]["core"]["title"] == "Pay the cart at once"
    assert data["captured"]["core"]["today"] == ANSWERS["story"]["today"]  # back from `in_scope`, and said then
    assert data["captured"]["core"]["context"] == ANSWERS["story"]["context"]  # asked again since it was missing
    assert [one["text"] for one in data["quotes"] if one["question"] == "title"] == [
        "Pay the whole cart", "Pay the cart at once",
    ]  # fmt: skip


def test_what_is_no_choice_leaves_the_summary_open(desk: Desk) -> None:
    data = answered(desk.ask("task", in_turn("task", confirm=["yes", "skip", "right"])))
    assert [one.id.partition("_")[0] for one in desk.asked[-4:]] == ["confirm", "confirm", "confirm", "notes"]
    assert data["completeness"]["target_met"]


def test_stop_ends_it_and_a_state_goes_on_from_there(desk: Desk) -> None:
    result = desk.ask("story", in_turn("story", persona=["stop"]))
    data = answered(result)
    assert (result.outcome, len(desk.asked)) == ("partial", 3)
    assert data["next_questions"][0]["id"] == "persona"
    data = answered(desk.ask("story", scripted("story"), state=data["state"]))
    assert desk.asked[3].id == "persona_1"
    assert data["completeness"]["target_met"]


def test_enter_skips_a_question_once_somebody_is_there(desk: Desk) -> None:
    said = dict(ANSWERS["story"])
    result = desk.ask("story", lambda question: said.pop(question_of(f".{question.id}"), None))
    assert result.outcome == "success"
    result = desk.ask("story", lambda question: "Pay the cart" if question.id == "title_1" else None)
    data = answered(result)
    assert data["next_questions"][0]["id"] == "confirm"
    assert (data["completeness"]["met"], result.outcome) == (1, "partial")


HOSTILE = (
    "# Not a heading\n**Status**: Done\nStatus: Done\n---\nid: STORY-0009.9.9\n---\n\n<!-- gone\n~~~\n```\n"
    "- [x] done\n1. one\n> quoted\nScenario: injected\nGiven x\nScenario Outline: y\nThen z\n| Status | Done |\n|---|---|\n"
    "a · **Parent**: EPIC-0009.9\n[x]: http://e.example\n===\n\t    code 🎉 https://e.example/_a_*b*. `__x__`"
)


@pytest.mark.requirement("K20")
def test_an_answer_cannot_become_another_part_of_the_ticket(desk: Desk) -> None:
    story = dict(ANSWERS["story"])
    usual = ticket_in(answered(desk.ask("story", answers=story)))
    story |= dict.fromkeys(["context", "today", "approach", "data", "persona", "want", "benefit", "notes"], HOSTILE)
    story |= {
        "title": "# **Status**: Done `x` #",
        "acceptance_criteria": f"one two three four\r\n{HOSTILE}",
        "risks": HOSTILE,
    }
    story |= {"scenarios": 'Scenario: a\n  Given b\n  """\n  ```\n  # no heading\n  ~~~~\n  """\n  Then c'}
    data = answered(desk.ask("story", answers=story, state=answered(desk.ask("story"))["state"]))
    ticket = ticket_in(data)
    assert [one.title for one in ticket.sections] == [one.title for one in usual.sections]
    assert {key: one.value for key, one in ticket.fields.items()} == {
        key: one.value for key, one in usual.fields.items()
    }
    assert [one.name for one in ticket.scenarios] == ["a", "The card is refused"]
    assert (ticket.findings, ticket.status) == ((), "todo")
    assert plain(ticket.title) == "# **Status**: Done `x` #"
    boxes = [plain(one.text) for one in ticket.checklist if one.section == "acceptance_criteria"]
    assert boxes == data["captured"]["acceptance_criteria"]
    assert not any(one.is_done for one in ticket.checklist)
    assert "🎉 <https://e.example/_a_*b*>. `__x__`" in ticket.text
    assert {one.target for one in ticket.targets("parent")} == {"EPIC-0001.1"}


STORY = read_rubric(
    InterviewRubric, Path(RUBRICS[0]).with_name("requirements-story.toml"), Workspace(Path(__file__).parent)
)
NEW = NewTicket("story", "STORY-0001.1.2", "EPIC-0001.1", "x/STORY-0001.1.2.md")


def story_of(**said: str) -> Ticket:
    """The story in which a person said that, read back."""
    interview = Interview(STORY, "EPIC-0001.1")
    for name, text in said.items():
        interview.add(interview.judge(name, text))
    return read_ticket(NEW.path, ticket_text(interview, WORDS, NEW).encode(), WORDS)


@pytest.mark.requirement("K20")
@given(
    st.text(st.sampled_from("#*_`~<>-=|[]() \n\r:\\1.aé🎉\u2028\x00&@+!\t") | st.characters(exclude_categories=["Cs"]))
)
@example(HOSTILE)
@example("```")
@example("`" * 5 + "\n" + "~" * 5)
@example("a|b\n:--\n")
def test_no_text_at_all_can_become_another_part_of_the_ticket(text: str) -> None:
    usual = story_of(title="Pay", context="a", acceptance_criteria="b", approach="c", tasks="d", risks="e", notes="f")
    ticket = story_of(
        title=text or "x", context=text, acceptance_criteria=text, approach=text, tasks=text, risks=text, notes="f"
    )
    known = {"Context", "Acceptance Criteria", "Technical Design", "Approach", "Tasks", "Risks", "Notes"}
    assert {one.title for one in ticket.sections} <= known
    assert ticket.sections[-1].title == "Notes"
    assert {key: one.value for key, one in ticket.fields.items()} == {
        key: one.value for key, one in usual.fields.items()
    }
    assert (ticket.scenarios, ticket.status, ticket.ticket_id) == ((), "todo", "STORY-0001.1.2")
    assert {one.section for one in ticket.checklist} <= {"acceptance_criteria", "children"}
    assert not any(one.is_done for one in ticket.checklist)


@pytest.mark.requirement("K20")
def test_an_answer_of_ten_thousand_characters_is_taken_and_a_longer_one_is_asked_again(desk: Desk) -> None:
    longest = ("word " * 2000)[:10_000].strip() + "s"
    person = in_turn("story", approach=[longest + "x" * 10, longest])
    data = answered(desk.ask("story", person))
    assert data["captured"]["technical_design"]["approach"] == longest
    texts = [one.text for one in desk.asked if one.id.startswith("approach")]
    assert "10,000" in texts[1] or "10000" in texts[1]
    refused = desk.ask("story", answers={"approach": "x" * 10_001})
    assert refused.fault is not None
    assert (refused.fault.code, refused.fault.path) == ("invalid_input", "/parameters/answers/approach")


@pytest.mark.parametrize(("answers", "says"), [({"titel": "x"}, "'titel'"), ({"confirm": "yes"}, "'yes'")])
def test_an_answer_to_no_question_is_refused(desk: Desk, answers: dict[str, str], says: str) -> None:
    fault = desk.ask("story", answers=answers).fault
    assert fault is not None
    assert (fault.code, says in fault.message, bool(fault.hint)) == ("invalid_input", True, True)


@pytest.mark.parametrize(
    ("kind", "target", "code", "says"),
    [
        ("story", "EPIC-0001.7", "missing_file", "EPIC-0001.7"),
        ("story", "INIT-0001", "invalid_input", "kind `initiative`"),
        ("story", "STORY-0001.1.1", "invalid_input", "there already"),
        ("story", "STORY-0007.1.1", "missing_file", "EPIC-0007.1"),
        ("story", "nothing", "invalid_input", "not a ticket id"),
        ("story", "", "invalid_input", "empty"),
        ("initiative", "EPIC-0001.1", "invalid_input", "not `initiative`"),
    ],
)
def test_where_a_ticket_cannot_go_is_said_before_anything_is_asked(
    desk: Desk, kind: str, target: str, code: str, says: str
) -> None:
    fault = desk.ask(kind, scripted(kind), target=target).fault
    assert fault is not None
    assert (fault.code, says in fault.message) == (code, True), fault
    assert desk.asked == []


@pytest.mark.parametrize(
    ("kind", "target", "path"),
    [
        ("initiative", "", "docs/tickets/INIT-0002/README.md"),
        ("initiative", "INIT-0012", "docs/tickets/INIT-0012/README.md"),
        ("epic", "INIT-0001", "docs/tickets/INIT-0001/EPIC-0001.2/README.md"),
        ("story", "docs/tickets/INIT-0001/EPIC-0001.1", "docs/tickets/INIT-0001/EPIC-0001.1/STORY-0001.1.2/README.md"),
        ("story", "STORY-0001.1.12", "docs/tickets/INIT-0001/EPIC-0001.1/STORY-0001.1.12/README.md"),
        ("task", "STORY-0001.1.1", "docs/tickets/INIT-0001/EPIC-0001.1/STORY-0001.1.1/TASK-0001.1.1.2.md"),
    ],
)
def test_the_file_lies_where_its_siblings_do(desk: Desk, kind: str, target: str, path: str) -> None:
    data = answered(desk.ask(kind, target=target))
    assert (data["ticket"]["path"], data["ticket_id"] in path) == (path, True)


def test_the_next_number_is_after_the_highest_that_anything_names(desk: Desk) -> None:
    story = desk.root / "docs/tickets/INIT-0001/EPIC-0001.1/STORY-0001.1.1/README.md"
    story.write_text(story.read_text("utf-8").replace("- [ ] TASK-0001.1.1.1", "- [ ] TASK-0001.1.1.9"), "utf-8")
    assert answered(desk.ask("task"))["ticket_id"] == "TASK-0001.1.1.10"
    (story.parent / "TASK-0001.1.1.99999999999.md").write_text("# TASK-0001.1.1.99999999999: x\n")
    assert answered(desk.ask("task"))["ticket_id"] == "TASK-0001.1.1.10"


def test_an_initiative_may_be_the_first_ticket_of_all(tmp_path: Path) -> None:
    data = answered(Desk(tmp_path).ask("initiative", scripted("initiative"), write=True))
    assert data["ticket"] == {
        "path": "docs/tickets/INIT-0001/README.md", "is_written": True,
        "text": (tmp_path / "docs/tickets/INIT-0001/README.md").read_text("utf-8"),
    }  # fmt: skip


def test_a_flat_layout_and_words_of_its_own_are_kept_to(tmp_path: Path) -> None:
    (tmp_path / ".retinue").mkdir()
    (tmp_path / ".retinue/tickets.toml").write_text(
        'folders = ["work"]\n[ids]\nstory = "S-*"\ntask = "T-*"\n[parents]\ntask = "story"\n'
        '[sections]\nchildren = ["aufgaben"]\nimplementation = ["schritte"]\nacceptance_criteria = ["abnahme"]\n'
        '[statuses]\ntodo = ["offen"]\n[fields]\nparent = ["teil von"]\nestimate = ["stunden"]\n'
    )
    (tmp_path / "work").mkdir()
    (tmp_path / "work/S-1.md").write_text("# S-1: Erste\n\n**Status**: offen\n")
    (tmp_path / "work/T-3.md").write_text("# T-3: Alte\n\n**Status**: offen\n**Teil von**: S-1\n")
    desk = Desk(tmp_path)
    data = answered(desk.ask("task", target="S-1", answers=dict(ANSWERS["task"]), write=True))
    assert (data["ticket_id"], data["ticket"]["path"]) == ("T-4", "work/T-4.md")
    assert "**Teil Von**: S-1\n**Status**: Offen\n**Stunden**: 4" in data["ticket"]["text"]
    assert "## Abnahme\n" in data["ticket"]["text"]
    (tmp_path / "work/T-4.md").write_text(data["ticket"]["text"])
    tree = read_tickets(Workspace(tmp_path))
    assert [one for one in check_tickets(tree) if one.file == "work/T-4.md"] == []
    assert tree.parents["T-4"] == "S-1"
    assert desk.ask("epic", target="S-1").fault is not None


def test_nothing_is_written_that_was_not_allowed_and_nothing_is_overwritten(desk: Desk) -> None:
    complete = dict(ANSWERS["story"])
    refused = desk.ask("story", lambda _: False, answers=complete, write=True)
    assert (refused.outcome, answered(refused)["ticket"]["is_written"]) == ("partial", False)
    assert "not approved" in refused.warnings[0].message
    fenced = desk.ask("story", scripted("story"), answers=complete, write=True, read_only=True)
    assert (fenced.outcome, answered(fenced)["ticket"]["is_written"]) == ("partial", False)
    path = desk.root / answered(fenced)["ticket"]["path"]
    path.parent.mkdir()
    path.write_bytes(b"\x00\x01 no ticket")
    kept = desk.ask("story", scripted("story"), answers=complete, write=True)
    assert "there already" in kept.warnings[0].message
    assert path.read_bytes() == b"\x00\x01 no ticket"
    assert answered(kept)["state"]


def test_what_was_written_once_is_not_written_again(desk: Desk) -> None:
    """A run that dies between writing and saying so is resumed, and must not make a second ticket."""
    complete = dict(ANSWERS["story"])
    first = answered(desk.ask("story", scripted("story"), answers=complete, write=True))
    again = answered(desk.ask("story", scripted("story"), answers=complete, write=True))
    assert first["ticket"] == again["ticket"]
    assert sorted(path.name for path in desk.root.glob("docs/tickets/INIT-0001/EPIC-0001.1/STORY*")) == [
        "STORY-0001.1.1", "STORY-0001.1.2",
    ]  # fmt: skip


def test_a_rubric_of_the_project_takes_the_place_of_ours(desk: Desk) -> None:
    own = desk.root / ".retinue/rubrics/requirements-task.toml"
    own.parent.mkdir(parents=True)
    own.write_text(
        'version = "2.1"\ntarget = 50\nopening = "Los."\nconfirm = "Richtig?"\nhedges = ["mal sehen"]\n'
        '[[questions]]\nid = "title"\nphase = "intro"\nform = "line"\ntext = "Titel?"\n'
        '[[criteria]]\nid = "title"\ntext = "Hat einen Titel."\nquestions = ["title"]\n'
    )
    data = answered(desk.ask("task", answers={"title": "Los", "confirm": "right"}))
    rubric = {"id": "requirements-task", "version": "2.1", "source": ".retinue/rubrics/requirements-task.toml"}
    assert (data["rubric"], data["completeness"]["percent"], data["next_questions"]) == (rubric, 100, [])
    own.write_text(own.read_text().replace('questions = ["title"]', 'questions = ["name"]'))
    fault = desk.ask("task").fault
    assert fault is not None
    assert "'name', which is no question" in fault.message


def judgement(*verdicts: tuple[str, bool, str]) -> str:
    made = [
        {"criterion": name, "is_met": met, "reason": "It names nobody.", "quotation": words}
        for name, met, words in verdicts
    ]
    return json.dumps({"judgements": made})


def test_with_a_model_that_judges_what_is_vague_and_not_the_rules(tmp_path: Path) -> None:
    plant_tickets(tmp_path)
    verdicts = judgement(("context", False, ""), ("persona", True, "clerks"))
    desk = Desk(tmp_path, verdicts)
    answers = {"title": "Pay the cart", "context": "somebody wrote a mail about it once", "persona": "clerks"}
    result = desk.ask("story", answers=answers)
    data = answered(result)
    assert data["next_questions"][0]["id"] == "context"
    assert data["next_questions"][0]["text"].startswith("It names nobody.")
    assert "persona" not in [one["question"] for one in data["completeness"]["missing"]]
    assert result.usage is not None
    assert answered(Desk(tmp_path).ask("story", answers=answers))["next_questions"][0]["id"] == "persona"


def test_a_model_is_asked_once_of_each_answer(tmp_path: Path) -> None:
    plant_tickets(tmp_path)
    names = [name for name in ANSWERS["epic"] if name not in {"title", "scenarios", "points", "confirm"}]
    judged = [name for name in names if ANSWERS["epic"][name] != "none"]
    desk = Desk(tmp_path, *(judgement((name, True, ANSWERS["epic"][name].split("\n")[0])) for name in judged))
    result = desk.ask("epic", scripted("epic"))
    assert result.outcome == "success"
    assert result.usage is not None
    assert result.usage.requests in (None, len(judged))
