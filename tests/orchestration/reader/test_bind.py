"""A skill's parameters out of the words of a clause."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract.definition import Skill
from retinue.contract.facts import Facts
from retinue.contract.schema import compile as compiled
from retinue.orchestration.reader.bind import BoundParameters, bind
from retinue.orchestration.reader.parameters import ReaderEnvironment

TODAY = date(2026, 3, 18)
AROUND = ReaderEnvironment(today=TODAY)


def skill(properties: dict[str, Any], **facts: Any) -> Skill:
    required = facts.pop("required", [])
    whole = {"type": "object", "additionalProperties": False, "properties": properties, "required": required}
    return Skill(name="work", description="Works.", input_schema={**whole, **facts.pop("schema", {})}, **facts)


def value(schema: dict[str, Any], clause: str, *, name: str, around: ReaderEnvironment = AROUND) -> Any:
    """What the one parameter `name` is bound to."""
    return bind(skill({name: schema}), clause, environment=around).parameters.get(name)


def how(bound: BoundParameters) -> dict[str, str]:
    return {binding.parameter: binding.how for binding in bound.bindings}


DEPTH = {"enum": ["quick_scan", "deep_dive", "comprehensive"], "description": "deep_dive (thorough), quick_scan: skim"}
SOURCES = {"type": "array", "items": {"enum": ["web", "docs", "memory", "code"]}, "uniqueItems": True}


@pytest.mark.requirement("C45")
@pytest.mark.parametrize(
    ("clause", "wanted"),
    [
        ("do a deep dive into caching", "deep_dive"),
        ("a quick scan please", "quick_scan"),
        ("comprehensive", "comprehensive"),
        ("depth: deep_dive", "deep_dive"),
        ("depth=nonsense", None),
        ("a quick scan or a deep dive", None),
        ("in the style of a deep dive, not quick", "deep_dive"),
        ("nothing of the kind", None),
    ],
)
def test_a_choice_is_read_from_its_words_or_its_description(clause: str, wanted: str | None):
    assert value(DEPTH, clause, name="depth") == wanted


@pytest.mark.parametrize(
    ("clause", "wanted"),
    [
        ("search in the docs and the code", ["docs", "code"]),
        ("only docs, memory", ["docs", "memory"]),
        ("what does the error code mean", None),
        ("compare the docs with the code", None),
        ("explain the code of the web client", None),
        ("look at everything", None),
        ("sources=web,code", ["web", "code"]),
    ],
)
def test_several_choices_need_a_word_that_introduces_them(clause: str, wanted: list[str] | None):
    assert value(SOURCES, clause, name="sources") == wanted


@pytest.mark.parametrize(
    ("name", "clause", "wanted"),
    [
        ("since", "since 2026-01-05", "2026-01-05"),
        ("since", "since March", "2026-03-01"),
        ("since", "since May", "2025-05-01"),
        ("since", "since 5 March 2024", "2024-03-05"),
        ("since", "since March 5th, 2024", "2024-03-05"),
        ("since", "since 2024", "2024-01-01"),
        ("since", "after 2024", "2025-01-01"),
        ("since", "in the last two weeks", "2026-03-04"),
        ("since", "over the past 10 days", "2026-03-08"),
        ("since", "this week", "2026-03-16"),
        ("since", "this month", "2026-03-01"),
        ("since", "this quarter", "2026-01-01"),
        ("since", "this year", "2026-01-01"),
        ("since", "last month", "2026-02-16"),
        ("since", "between 2024-01-01 and yesterday", "2024-01-01"),
        ("until", "between 2024-01-01 and yesterday", "2026-03-17"),
        ("until", "from January to February 2024", "2024-02-29"),
        ("until", "before March", "2026-02-28"),
        ("until", "until 2024-02-30", None),
        ("until", "between 2025-01-01 and 2024-01-01", None),
        ("day", "what happened yesterday", "2026-03-17"),
        ("day", "on 2024-02-29", "2024-02-29"),
        ("day", "3 days ago", "2026-03-15"),
        ("day", "a week ago", "2026-03-11"),
        ("day", "since March", None),
        ("since", "may I ask", None),
    ],
)
def test_dates_are_read_relative_to_today(name: str, clause: str, wanted: str | None):
    assert value({"type": "string", "format": "date"}, clause, name=name) == wanted


@pytest.mark.parametrize(
    ("schema", "said", "wanted"),
    [
        ({"type": "boolean"}, "yes", True),
        ({"type": "boolean"}, "off", False),
        ({"type": "boolean"}, "maybe", None),
        ({"type": "integer"}, "12", 12),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "integer"}, "many", None),
        ({"type": "array", "items": {"type": "integer"}}, "1,2", [1, 2]),
        ({"type": "array"}, "a,b", ["a", "b"]),
        ({"type": "array", "items": {"type": "integer"}}, "1,x", None),
        ({"type": "string"}, "'two words'", "two words"),
        ({"type": "string"}, "word.", "word"),
        ({}, "anything", None),
    ],
)
def test_a_parameter_may_be_named_outright(schema: dict[str, Any], said: str, wanted: object):
    assert value(schema, f"do it --my-option={said}", name="my_option") == wanted
    assert value(schema, f"do it, my option: {said}", name="myOption") == wanted


def test_without_today_nothing_relative_is_read():
    around = ReaderEnvironment()
    schema = {"type": "string", "format": "date"}
    assert value(schema, "since yesterday", name="since", around=around) is None
    assert value(schema, "last week", name="since", around=around) is None
    assert value(schema, "since March", name="since", around=around) is None
    assert value(schema, "since 2024-03-01", name="since", around=around) == "2024-03-01"


def test_a_date_with_a_time_is_midnight():
    assert value({"type": "string", "format": "date-time"}, "since 2024-03-01", name="since") == "2024-03-01T00:00:00Z"


@pytest.mark.parametrize(
    ("name", "clause", "wanted"),
    [
        ("max_commits", "the last 20 commits", 20),
        ("max_commits", "the last five commits", 5),
        ("limit", "top 3 results", 3),
        ("limit", "at most 1,500", 1_500),
        ("limit", "in the last 5 days", None),
        ("limit", "version 3.12 of it", None),
        ("days", "for 14 days", 14),
        ("limit", "limit=2.5", None),
        ("limit", "the 7 dwarfs", None),
    ],
)
def test_numbers_are_bound_when_they_are_said_of_the_parameter(name: str, clause: str, wanted: int | None):
    assert value({"type": "integer", "description": "How many"}, clause, name=name) == wanted


def test_the_only_number_goes_to_a_parameter_that_must_be_given():
    one = skill({"number": {"type": "integer"}}, required=["number"])
    assert bind(one, "square 12").parameters == {"number": 12}
    assert bind(one, "square 12 or 13").questions
    assert bind(one, "square 1.5").questions


def test_a_percentage_is_a_share_where_one_is_the_most():
    assert value({"type": "number", "maximum": 1}, "with 80 % confidence", name="threshold") == 0.8


@pytest.mark.parametrize(
    ("clause", "wanted"),
    [
        ("with merges", True),
        ("include merges please", True),
        ("without merges", False),
        ("do not include the merges", False),
        ("what are merges", None),
    ],
)
def test_yes_and_no_need_a_word_that_says_which(clause: str, wanted: bool | None):
    assert value({"type": "boolean"}, clause, name="include_merges") is wanted


def test_paths_are_what_looks_like_one_or_what_exists():
    schema = {"type": "array", "items": {"type": "string"}}
    clause = "what is in src/a.py, docs/ and Makefile, or in lib"
    assert value(schema, clause, name="paths") == ["src/a.py", "docs/", "Makefile"]
    there = ReaderEnvironment(exists={"lib", "docs/"}.__contains__)
    assert value(schema, clause, name="paths", around=there) == ["docs/", "lib"]
    assert value({"type": "string"}, "read docs/guide.md.", name="file") == "docs/guide.md"
    assert value({"type": "string"}, "see https://example.org/a.html", name="file") is None


def test_quoted_texts_go_to_the_parameter_that_is_named_before_them_or_must_be_given():
    one = skill({"title": {"type": "string"}, "author": {"type": "string"}}, required=["title"])
    bound = bind(one, "by author 'Jane Doe' called \"Ships\"")
    assert bound.parameters == {"author": "Jane Doe", "title": "Ships"}
    assert value({"type": "string"}, "an 'x' somewhere", name="title") is None


def test_what_has_the_form_of_a_pattern_is_read():
    assert value({"type": "string", "pattern": "^TASK-[0-9]+$"}, "is TASK-0042 done?", name="task") == "TASK-0042"
    assert value({"type": "string", "format": "email"}, "ask jane@example.org.", name="who") == "jane@example.org"


@pytest.mark.requirement("C45")
def test_after_the_clause_come_the_schema_s_defaults_then_the_skill_s_then_a_question():
    one = skill(
        {
            "task": {"type": "string"},
            "depth": DEPTH,
            "limit": {"type": "integer", "default": 5},
            "where": {"type": "string", "description": "Which folder."},
            "style": {"enum": ["short", "long"]},
        },
        required=["task", "depth", "where", "style"],
        instruction_field="task",
        defaults={"depth": "quick_scan"},
    )
    bound = bind(one, "look at it", agent="reader")
    assert how(bound) == {"task": "said", "depth": "fallback", "limit": "default"}
    where, style = bound.questions
    assert (where.parameter, where.agent, where.skill, where.kind) == ("where", "reader", "work", "question")
    assert "Which folder" in where.text
    assert (style.kind, style.options) == ("choice", ("short", "long"))


def test_the_goal_stands_in_for_a_clause_that_is_too_short():
    one = skill({"task": {"type": "string", "minLength": 10}}, required=["task"], instruction_field="task")
    assert bind(one, "why?", goal="why is the sky blue?").parameters == {"task": "why is the sky blue?"}
    assert bind(one, "why?").questions[0].parameter == "task"


def test_the_target_goes_where_the_skill_takes_it():
    one = skill({"what": {"type": "string"}}, target_field="what")
    assert bind(one, "", target="src/").parameters == {"what": "src/"}
    assert bind(one, "").parameters == {}


def test_references_and_or_null_are_seen_through():
    one = skill(
        {
            "depth": {"anyOf": [{"$ref": "#/$defs/Depth"}, {"type": "null"}], "default": None},
            "odd": {"$ref": "#/$defs/X"},
        },
        schema={"$defs": {"Depth": {"enum": ["low", "high"]}, "X": {"type": "string"}}},
    )
    assert bind(one, "with high precision").parameters["depth"] == "high"


def test_what_only_the_schema_as_a_whole_refuses_is_said():
    one = skill({"a": {"type": "integer"}, "b": {"type": "integer"}}, schema={"minProperties": 1})
    (question,) = bind(one, "nothing").questions
    assert question.parameter is None
    assert "cannot be called like this" in question.text


def test_words_are_read_for_one_parameter_only():
    one = skill({"limit": {"type": "integer"}, "top": {"type": "integer"}})
    assert bind(one, "the top 3 of them").parameters == {"limit": 3}


EVERYTHING = skill(
    {
        "task": {"type": "string", "minLength": 3},
        "sources": {**SOURCES, "default": ["docs"]},
        "depth": DEPTH,
        "since": {"type": "string", "format": "date"},
        "until": {"type": "string", "format": "date"},
        "branch": {"type": "string", "maxLength": 50},
        "base": {"type": "string"},
        "commit": {"type": "string"},
        "paths": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "max_results": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
        "timeout_s": {"type": "number", "exclusiveMinimum": 0},
        "include_tests": {"type": "boolean"},
        "title": {"type": "string"},
        "ticket": {"type": "string", "pattern": "^[A-Z]+-[0-9]+$"},
        "columns": {"type": "array", "items": {"type": "string"}},
    },
    required=["task", "depth"],
    instruction_field="task",
)
WORDS = st.sampled_from(
    [
        "quick",
        "scan",
        "deep",
        "dive",
        "comprehensive",
        "in",
        "the",
        "docs",
        "and",
        "code",
        "since",
        "2024-01-01",
        "March",
        "yesterday",
        "last",
        "two",
        "weeks",
        "branch",
        "feature/x",
        "against",
        "main",
        "20",
        "results",
        "top",
        "5",
        "within",
        "30",
        "seconds",
        "without",
        "tests",
        "'a",
        "title'",
        "title",
        "`x`",
        "TASK-0001",
        "src/a.py",
        "HEAD",
        "by",
        "region",
        ",",
        ";",
        "=",
        ":",
        "max_results=7",
        "depth:quick_scan",
        "~",
        "%",
    ]
)
CLAUSES = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=25).map(" ".join))


@pytest.mark.requirement("C45")
@given(CLAUSES)
def test_whatever_is_said_what_is_bound_passes_the_schema_and_was_said(clause: str):
    bound = bind(EVERYTHING, clause, environment=AROUND)
    asked = {question.parameter for question in bound.questions}
    properties = EVERYTHING.input_schema["properties"]
    for binding in bound.bindings:
        assert compiled(properties[binding.parameter]).is_valid(binding.value)
        if binding.how == "said":
            assert binding.words
            assert binding.words in clause
    assert bound.questions or compiled(EVERYTHING.input_schema).is_valid(bound.parameters)
    assert asked.isdisjoint(bound.parameters)


@given(CLAUSES)
def test_binding_again_changes_nothing(clause: str):
    once = bind(EVERYTHING, clause, environment=AROUND)
    again = bind(EVERYTHING, clause, preset=once.parameters, environment=AROUND)
    assert again.parameters == once.parameters
    assert set(how(again).values()) <= {"given"}


SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {},
            {"type": "string"},
            {"type": "integer"},
            {"enum": [1, "a", None]},
            {"$ref": "#/$defs/no"},
            {"anyOf": 3},
            True,
        ]
    ),
    lambda inner: st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
)


@given(st.dictionaries(st.text(max_size=12), SCHEMAS, max_size=5), CLAUSES)
def test_no_text_and_no_schema_makes_it_raise(properties: dict[str, Any], clause: str):
    one = Skill(name="x", description="", input_schema={"type": "object", "properties": properties})
    assert isinstance(bind(one, clause, environment=AROUND), BoundParameters)


@pytest.mark.parametrize(
    ("clause", "taken", "left_out"),
    [
        ("changes in src, not in tests", ["src"], ["tests"]),
        ("changes, except in tests", None, ["tests"]),
        ("changes in src", ["src"], None),
        ("changes without tests", None, ["tests"]),
        ("not only tests", ["tests"], None),
    ],
)
def test_what_is_denied_is_for_the_parameter_that_leaves_out(
    clause: str, taken: list[str] | None, left_out: list[str] | None
):
    around = ReaderEnvironment(exists={"src", "tests"}.__contains__)
    paths = {"type": "array", "items": {"type": "string"}}
    bound = bind(skill({"paths": paths, "exclude_paths": paths}), clause, environment=around).parameters
    assert (bound.get("paths"), bound.get("exclude_paths")) == (taken, left_out)


@pytest.mark.parametrize(
    ("name", "clause", "wanted"),
    [
        ("exclude_merges", "all commits without merges", True),
        ("exclude_merges", "all commits, no merges", True),
        ("exclude_merges", "include merges", False),
        ("exclude_merges", "the merges", None),
        ("merges", "without merges", False),
        ("no_tests", "skip tests", True),
    ],
)
def test_a_flag_that_leaves_out_is_turned_round(name: str, clause: str, wanted: bool | None):
    assert value({"type": "boolean"}, clause, name=name) is wanted


@pytest.mark.parametrize(
    ("clause", "wanted"),
    [
        ("where is it defined, not in code", ["web", "docs", "memory"]),
        ("don't use the web", ["docs", "memory", "code"]),
        ("code that does not mention the web", None),
        ("search in docs, not in code", ["docs"]),
        ("not in the web, docs, memory, not in code", None),
    ],
)
def test_all_choices_but_those_left_out(clause: str, wanted: list[str] | None):
    found = value(SOURCES, clause, name="sources")
    assert found == wanted or (wanted is None and found is not None and "web" not in found)


def test_a_time_that_is_denied_is_no_time():
    assert value({"type": "string"}, "all commits but not from 2024", name="since") is None
    assert value({"type": "string"}, "not in tests since 2024", name="since") == "2024-01-01"


def test_a_file_is_found_by_its_name_and_two_are_asked_about():
    found = {"a.csv": ["data/a.csv"], "b.csv": ["x/b.csv", "y/b.csv"]}
    around = ReaderEnvironment(exists=lambda _: False, find=lambda name: found.get(name, []))
    files: dict[str, Any] = {"type": "array", "items": {"type": "string", "pattern": r"\.csv$"}, "default": []}
    asked = skill({"files": files})
    bound = bind(asked, "rows in a.csv", environment=around)
    assert bound.parameters == {"files": ["data/a.csv"]}
    assert bound.bindings[0].words == "a.csv"
    (question,) = bind(asked, "rows in b.csv", agent="x", environment=around).questions
    assert (question.kind, question.options, question.parameter) == ("choice", ("x/b.csv", "y/b.csv"), "files")
    assert "Which `b.csv`" in question.text
    assert bind(asked, "rows in b.csv", preset={"files": ["x/b.csv"]}, environment=around).questions == ()
    assert bind(skill({"file": {"type": "string"}}), "rows in c.csv", environment=around).parameters == {}


NAMES = Facts(
    names={
        "author": ("Mara Lindqvist", "Priya Nair", "Jonas Weber", "Jonas Brandt"),
        "branch": ("main", "feature/gift-cards", "fix/session-timeout"),
        "fixture": ("signed_in_client", "customer", "paymentGateway"),
        "tag": ("v1.2.0", "1.2.0", "v1.3.0"),
        "component": ("sessions.py", "client"),
    }
)


def names(kind: str, clause: str, *, several: bool = False) -> BoundParameters:
    one: dict[str, Any] = {"type": "string", "x-facts": kind}
    schema: dict[str, Any] = {"type": "array", "items": one, "default": []} if several else {**one, "default": ""}
    around = ReaderEnvironment(today=TODAY, facts=lambda _agent, _skill: NAMES)
    return bind(skill({"which": schema}), clause, agent="someone", environment=around)


@pytest.mark.requirement("C45")
@pytest.mark.parametrize(
    ("kind", "clause", "wanted"),
    [
        ("author", "what did Mara Lindqvist commit", "Mara Lindqvist"),
        ("author", "what did Priya change", "Priya Nair"),
        ("author", "what did Priyah change", "Priya Nair"),
        ("author", "the commits by Nair", "Priya Nair"),
        ("author", "what did Zoe change", ""),
        ("branch", "is feature/gift-cards merged", "feature/gift-cards"),
        ("branch", "how far is the gift cards branch", "feature/gift-cards"),
        ("branch", "what is on main", "main"),
        ("fixture", "who uses signed_in_client", "signed_in_client"),
        ("fixture", "who uses the payment gateway", "paymentGateway"),
        ("fixture", "tests with customers", "customer"),
        ("fixture", "who is not using customer", ""),
        ("tag", "what changed in version 1.2.0", "v1.2.0"),
        ("component", "is fix/session-timeout merged", ""),
        ("component", "who imports src/client", "client"),
    ],
)  # fmt: skip
def test_a_name_among_the_facts_is_known_whole_by_its_parts_and_with_one_slip(kind: str, clause: str, wanted: str):
    assert names(kind, clause).parameters == {"which": wanted}


def test_a_name_that_several_have_is_asked_about_or_means_all_of_them():
    (question,) = names("author", "what did Jonas do").questions
    assert question.options == ("Jonas Weber", "Jonas Brandt")
    assert names("author", "what did Jonas do", several=True).parameters == {"which": ["Jonas Weber", "Jonas Brandt"]}
    two = names("author", "commits by Mara and Priya", several=True).parameters
    assert two == {"which": ["Mara Lindqvist", "Priya Nair"]}


def test_two_parameters_of_one_kind_take_a_name_each_by_the_words_before_it():
    around = ReaderEnvironment(facts=lambda _agent, _skill: NAMES)
    branch: dict[str, Any] = {"type": "string", "x-facts": "branch"}
    one = skill({"branch": branch, "base": {**branch, "description": "Compared with or against this one."}})
    bound = bind(one, "is feature/gift-cards behind, compared with main", agent="someone", environment=around)
    assert bound.parameters == {"branch": "feature/gift-cards", "base": "main"}


@pytest.mark.parametrize("said", ["not by Mara", "except Mara", "other than Mara", "leaving out Mara"])
def test_who_is_left_out_is_read_with_the_words_that_leave_out(said: str):
    around = ReaderEnvironment(today=TODAY, facts=lambda _agent, _skill: NAMES)
    people: dict[str, Any] = {"type": "array", "items": {"type": "string", "x-facts": "author"}, "default": []}
    bound = bind(
        skill({"authors": people, "not_by": people}), f"the commits {said}", agent="someone", environment=around
    )
    assert bound.parameters == {"authors": [], "not_by": ["Mara Lindqvist"]}
    assert bound.rest.split() == ["the", "commits"]


def test_a_flag_is_said_by_a_phrase_of_its_meaning_too():
    unused = {"type": "boolean", "default": False, "description": "Only what nobody uses: unused, never used, dead."}
    assert value(unused, "which fixtures are never used", name="unused") is True
    assert value(unused, "which fixtures are used most", name="unused") is False


def test_a_not_alone_is_no_choice():
    required = {"enum": ["merged", "open"], "enumDescriptions": ["not open, merged", "open, not merged"]}
    assert "state" not in bind(skill({"state": required}, required=["state"]), "do not forget", agent="a").parameters


SHOW = {
    "enum": ["count", "people", "last", "overview"],
    "enumDescriptions": [
        "how many commits; the number of commits, how often",
        "who wrote them; authors, contributors, maintainers",
        "the newest commit; the latest change, most recently, last changed",
        "an overview of the history; summary",
    ],
    "default": "overview",
}


@pytest.mark.requirement("C45")
@pytest.mark.parametrize(
    ("clause", "wanted"),
    [
        ("how many commits are there", "count"),
        ("how often did it change", "count"),
        ("who are the main contributors", "people"),
        ("who changed it last", "last"),
        ("when was it most recently changed", "last"),
        ("summary of the history", "overview"),
        ("something else entirely", "overview"),
    ],
)
def test_a_choice_is_the_one_whose_meaning_is_nearest(clause: str, wanted: str):
    assert value(SHOW, clause, name="show") == wanted


def test_what_became_a_value_is_not_left_over():
    bound = names("author", "what did Priya do in Rome")
    assert bound.rest.split() == ["what", "did", "do", "in", "Rome"]
