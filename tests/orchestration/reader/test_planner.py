"""Goals become plans: nothing left out silently, nothing invented."""

from datetime import date

import pytest
from hypothesis import given, strategies as st

from retinue.catalogue import agents
from retinue.contract.definition import Definition, Skill
from retinue.contract.facts import Facts
from retinue.contract.plan import Plan
from retinue.errors import InvalidInput
from retinue.orchestration.reader.parameters import ReaderEnvironment
from retinue.orchestration.reader.planner import GOAL_CHARS, Planner

RESEARCHER = Definition(
    name="researcher",
    description="Finds passages in documents and code that answer a question, with sources.",
    skills=(
        Skill(
            name="research",
            description="Finds out how something works or where it is documented.",
            instruction_field="task",
            defaults={"depth": "quick_scan"},
            input_schema={
                "type": "object",
                "properties": {
                    "task": {"type": "string", "minLength": 3, "description": "The question."},
                    "depth": {"enum": ["quick_scan", "deep_dive"], "description": "How deep."},
                },
                "required": ["task", "depth"],
            },
            examples=(
                "how does the retry policy work",
                "where is the configuration documented",
                "explain the architecture of this project",
                "what do the docs say about time-outs",
                "find everything about caching in the code",
                "how does the scheduler pick a job",
            ),
        ),
    ),
)
GIT = Definition(
    name="git_reader",
    description="Reads a git repository.",
    skills=(
        Skill(
            name="commit_analysis",
            description="Analyses commits: which files they changed, who made them, whether they follow the format.",
            input_schema={
                "type": "object",
                "properties": {
                    "max_commits": {"type": "integer", "minimum": 1, "default": 50, "description": "Most commits."},
                    "since": {"type": "string", "format": "date"},
                },
            },
            examples=(
                "what changed in the last 20 commits",
                "who made the most commits since March",
                "list commits that do not follow the commit format",
                "summarise the latest commit",
            ),
        ),
        Skill(
            name="branch_status",
            description="Says which branch is checked out and whether there are uncommitted changes.",
            input_schema={"type": "object", "properties": {}},
            examples=("which branch am I on and is it clean", "show uncommitted changes", "status of this branch"),
        ),
    ),
)
PLANNER = Planner([RESEARCHER, GIT])


def planned(goal: str) -> list[tuple[str, str]]:
    return [(node.agent, node.skill or "") for node in PLANNER.plan(goal).nodes]


RESEARCH, COMMITS, BRANCH = (
    ("researcher", "research"),
    ("git_reader", "commit_analysis"),
    ("git_reader", "branch_status"),
)


@pytest.mark.requirement("G17", "A2")
@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("how does the retry policy work", [RESEARCH]),
        ("How does the retry policy work and what changed in the last 10 commits?", [RESEARCH, COMMITS]),
        ("Explain the configuration. Which branch am I on?", [RESEARCH, BRANCH]),
        ("what changed in the last 20 commits; where is caching documented", [COMMITS, RESEARCH]),
        ("how does the cache read and write entries", [RESEARCH]),
        ("find everything about errors and warnings in the code", [RESEARCH]),
        ("show uncommitted changes, and explain the architecture", [BRANCH, RESEARCH]),
    ],
)
def test_a_goal_is_cut_into_what_each_agent_does(goal: str, wanted: list[tuple[str, str]]):
    assert planned(goal) == wanted


@pytest.mark.requirement("G17")
def test_what_nobody_does_is_dropped_with_the_nearest():
    plan = PLANNER.plan("Summarise the latest commit. Order a cheesecake.")
    assert [node.skill for node in plan.nodes] == ["commit_analysis"]
    (dropped,) = plan.dropped
    assert dropped.clause == "Order a cheesecake."
    assert dropped.reason
    assert dropped.nearest


def test_half_a_sentence_that_nobody_does_is_dropped_and_said():
    plan = PLANNER.plan("order me a pizza and explain the architecture of this project")
    assert [node.instruction for node in plan.nodes] == ["explain the architecture of this project"]
    assert [each.clause for each in plan.dropped] == ["order me a pizza"]


def test_two_verbs_with_one_object_are_one_request():
    (node,) = PLANNER.plan("find and explain the retry policy").nodes
    assert node.instruction == "find and explain the retry policy"


def test_a_goal_nobody_can_do_is_an_empty_plan():
    plan = PLANNER.plan("bake me a cheesecake")
    assert plan.nodes == ()
    assert len(plan.dropped) == 1


def test_the_same_asked_twice_is_asked_once():
    plan = PLANNER.plan("How does the retry policy work? How does the retry policy work?")
    assert len(plan.nodes) == 1
    assert plan.nodes[0].instruction == "How does the retry policy work?"
    plan = PLANNER.plan("Summarise the latest commit. List commits that do not follow the format.")
    assert len(plan.nodes) == 1
    assert "List commits" in plan.nodes[0].instruction


@pytest.mark.requirement("A23")
@pytest.mark.parametrize(
    "goal",
    [
        "Summarise the latest commit, then explain the architecture.",
        "Summarise the latest commit. Explain the architecture based on that.",
        "Summarise the latest commit. Find everything about caching in that commit in the code.",
    ],
)
def test_a_clause_waits_for_the_one_whose_product_it_speaks_of(goal: str):
    first, second = PLANNER.plan(goal).nodes
    assert second.needs == (first.id,)


def test_clauses_that_have_nothing_to_do_with_each_other_run_at_once():
    assert all(not node.needs for node in PLANNER.plan("Summarise the latest commit. Explain the architecture.").nodes)


@pytest.mark.requirement("C45")
def test_parameters_come_with_how_they_were_read():
    around = ReaderEnvironment(today=date(2026, 3, 18))
    (node,) = PLANNER.plan("who made the last 20 commits since January", environment=around).nodes
    assert node.parameters == {"max_commits": 20, "since": "2026-01-01"}
    assert {binding.parameter: binding.words for binding in node.bindings} == {
        "max_commits": "20 commits",
        "since": "since January",
    }


def test_courtesies_do_not_become_instructions():
    (node,) = PLANNER.plan("Could you please explain the architecture of this project?").nodes
    assert node.instruction == "explain the architecture of this project?"


def test_alternatives_are_those_above_the_floor():
    (node,) = PLANNER.plan("what changed in the last commit").nodes
    fit = PLANNER.router.route(node.instruction).alternatives
    assert {(one.agent, one.skill) for one in node.alternatives} <= {(one.agent, one.skill) for one in fit}
    assert node.chosen is not None
    assert node.chosen not in node.alternatives


@pytest.mark.parametrize(
    "goal", ["", "   \n", "x" * 1_000_000, "a\0b", "a\x1b[31mb", "half \ud800", "x" * (GOAL_CHARS + 1)]
)
def test_a_goal_that_cannot_be_one_is_refused(goal: str):
    with pytest.raises(InvalidInput) as refused:
        PLANNER.plan(goal)
    assert refused.value.hint
    assert refused.value.path == "/goal"


def test_half_a_character_is_no_control_character():
    with pytest.raises(InvalidInput, match="not valid Unicode at position 5"):
        PLANNER.plan("half \ud800")


def test_a_goal_of_very_many_requests_is_planned_in_part_and_says_so():
    goal = ". ".join(f"Find everything about topic{number} in the code" for number in range(60))
    plan = PLANNER.plan(goal)
    assert len(plan.nodes) == 50
    assert len(plan.dropped) == 10
    assert "first 50" in plan.dropped[0].reason


def test_the_older_of_two_majors_answers_to_the_bare_name():
    newer = GIT.model_copy(update={"version": "2.0", "skills": GIT.skills[:1]})
    assert Planner([GIT, newer]).plan("which branch am I on").nodes[0].skill == "branch_status"


WORDS = st.sampled_from(
    [
        "how",
        "does",
        "the",
        "retry",
        "policy",
        "work",
        "what",
        "changed",
        "in",
        "last",
        "20",
        "commits",
        "and",
        "then",
        ",",
        ";",
        ".",
        "explain",
        "it",
        "branch",
        "cheesecake",
        "please",
        "based",
        "on",
        "that",
        "-",
        "1.",
        "'quoted",
        "and'",
        "`code`",
        "because",
    ]
)


@given(st.one_of(st.text(min_size=1, max_size=200), st.lists(WORDS, min_size=1, max_size=25).map(" ".join)))
def test_every_goal_is_planned_or_refused_and_instructions_are_its_own_words(goal: str):
    try:
        plan = PLANNER.plan(goal)
    except InvalidInput:
        return
    assert isinstance(plan, Plan)
    said = " ".join(goal.split())
    for node in plan.nodes:
        for word in node.instruction.split():
            assert word.rstrip(",") in said  # a limit is put to what it limits with a comma
    for dropped in plan.dropped:
        assert dropped.clause.split()[0].rstrip(",") in said


CATALOGUE = Planner(one.definition for one in agents())


def asked(goal: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(node.skill or "", tuple(node.needs)) for node in CATALOGUE.plan(goal).nodes]


@pytest.mark.requirement("G17")
@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("number of rows in a.csv, number of rows in b.csv", [("aggregate", ()), ("aggregate", ())]),
        ("In docs/guide.md, what is said about uploads?", [("research", ())]),
        ("how much does the delivery cost", [("research", ())]),
    ],
)
def test_questions_as_they_come(goal: str, wanted: list[tuple[str, tuple[str, ...]]]):
    assert asked(goal) == wanted


def test_two_things_that_one_question_is_about_are_one_request():
    assert len(asked("the connections and the uploads, how do they differ")) == 1


def test_whoever_would_have_to_ask_gives_way_to_whoever_need_not():
    (node,) = CATALOGUE.plan("In docs/api.md, which endpoints are listed?").nodes
    assert not node.questions


def test_an_order_that_nobody_can_follow_is_refused():
    assert CATALOGUE.plan("Tag v1.3.0 and push it").nodes == ()


EDITOR = Definition(
    name="editor",
    description="Renames things in code.",
    skills=(
        Skill(
            name="rename",
            description="Renames a function everywhere.",
            input_schema={
                "type": "object",
                "properties": {"symbol": {"type": "string", "x-facts": "symbol"}},
                "required": ["symbol"],
            },
            effects=("write",),
            examples=("rename the function `parse`", "give `parse` another name"),
        ),
    ),
)
PEOPLE = Definition(
    name="people",
    description="Says who committed what.",
    skills=(
        Skill(
            name="commits",
            description="Commits of an author, or of a file: who changed it last, and what they changed.",
            input_schema={
                "type": "object",
                "properties": {
                    "author": {"type": "string", "x-facts": "author", "default": ""},
                    "path": {"type": "string", "x-facts": "path", "default": ""},
                },
            },
            examples=("who changed `setup.py` last", "what did `Ada` change", "commits by `Ada`", "changes to `a.py`"),
        ),
    ),
)


def test_a_skill_that_writes_is_called_only_when_told_to():
    facts = Facts(names={"symbol": ("heat_index",)})
    planner = Planner([EDITOR])
    around = ReaderEnvironment(facts=lambda _agent, _skill: facts)
    assert [one.skill for one in planner.plan("rename the function heat_index", environment=around).nodes] == ["rename"]
    assert planner.plan("where is the function heat_index", environment=around).nodes == ()


def test_she_is_who_the_call_before_finds_and_not_what_was_named_in_it():
    facts = Facts(names={"author": ("Ada Lovelace", "Bob")})
    around = ReaderEnvironment(exists=lambda path: path == "setup.py", facts=lambda _agent, _skill: facts)
    first, second = (
        Planner([PEOPLE]).plan("who changed setup.py last, and what did she change", environment=around).nodes
    )
    assert first.parameters["path"] == "setup.py"
    assert second.needs == (first.id,)
    assert second.parameters.get("path", "") == ""
    assert [one.parameter for one in second.questions] == ["author"]
