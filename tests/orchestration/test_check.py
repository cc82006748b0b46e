"""Plans checked against the agents at hand, before anything runs."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract.definition import Definition, Skill
from retinue.contract.plan import Candidate, Delegation, Expected, Plan
from retinue.contract.task import Question, Task
from retinue.orchestration.plan_checker import PlanChecker, findings
from retinue.orchestration.run_request import Caller

SQUARE = Skill(
    name="square",
    description="Squares a number.",
    input_schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["number"],
        "properties": {"number": {"type": "integer"}, "unit": {"type": "string", "default": "m"}},
    },
)
SAY = Skill(
    name="say",
    description="Says something.",
    input_schema={"type": "object", "required": ["words", "whom"], "properties": {"words": {"type": "string"}}},
    instruction_field="words",
    target_field="whom",
)
GONE = Skill(name="gone", description="Is not here.", input_schema={}, unavailable="install retinue[data]")
BROKEN = Skill(name="broken", description="Has no schema.", input_schema={"type": "nothing"})
MATHS = Definition(name="maths", description="Calculates.", skills=(SQUARE, GONE), aliases=("abacus",))
TALKER = Definition(name="talker", description="Talks.", skills=(SAY,))
NEWER = Definition(name="talker", version="3.0", description="Talks.", skills=(SQUARE,))
ODD = Definition(name="odd", description="Is odd.", skills=(BROKEN,))
ALL = (MATHS, TALKER, NEWER, ODD)


def node(name: str = "n1", agent: str = "maths", skill: str | None = "square", **facts: Any) -> Delegation:
    if skill == "square":
        facts.setdefault("parameters", {"number": 2})
    return Delegation(id=name, agent=agent, skill=skill, **facts)


def found(*nodes: Delegation) -> list[tuple[str, str]]:
    return [(finding.rule, finding.path) for finding in findings(Plan(nodes=nodes), ALL)]


def test_a_plan_that_can_be_walked_has_no_findings():
    assert found(
        node("a"),
        node("b", "abacus"),
        node("c", "talker", None, instruction="hello", target="you", needs=("a",), context={"a": "full"}),
        node("d", "talker", "square", major=3),
        node("e", "odd", None),
        node("f", parameters={}, questions=(Question(id="number", text="Which?", parameter="number"),)),
        node("g", expects=(Expected(path="reports/g.md"),)),
    ) == []  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "rule", "path", "says"),
    [
        (node(agent="math"), "plan/agent", "/nodes/0/agent", "Did you mean `maths`?"),
        (node(agent="stranger"), "plan/agent", "/nodes/0/agent", "Available: maths, odd, talker."),
        (node(major=7), "plan/agent", "/nodes/0/major", "Available: 1."),
        (node(skill="squares"), "plan/skill", "/nodes/0/skill", "Did you mean `square`?"),
        (node(skill=None), "plan/skill", "/nodes/0/skill", "Available: square, gone."),
        (node(skill="gone"), "plan/unavailable", "/nodes/0/skill", "install retinue[data]"),
        (node(parameters={}), "schema/required", "/nodes/0/parameters", "`number`"),
        (node(parameters={"number": "2"}), "schema/type", "/nodes/0/parameters/number", ""),
        (node(parameters={"numbr": 2}), "schema/additionalProperties", "/nodes/0/parameters/numbr", "`number`"),
        (node("a~2"), "plan/id", "/nodes/0/id", "Use letters"),
        (node(expects=(Expected(path="../out.md"),)), "plan/file", "/nodes/0/expects/0/path", "Name the place"),
        (node(context={"x": "full"}), "plan/context", "/nodes/0/context/x", "Add `x`"),
        (
            node(alternatives=(Candidate(agent="nobody", skill="x", score=1, share=1),)),
            "plan/agent",
            "/nodes/0/alternatives/0/agent",
            "Available",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_the_way_out(wrong: Delegation, rule: str, path: str, says: str):
    listed = findings(Plan(nodes=(wrong,)), ALL)
    assert (rule, path) in [(finding.rule, finding.path) for finding in listed]
    told = next(finding for finding in listed if (finding.rule, finding.path) == (rule, path))
    assert says in told.fix
    assert "n1" in told.message or "a~2" in told.message


def test_every_finding_is_told_and_warnings_are_marked():
    listed = findings(
        Plan(nodes=(node("a", "x"), node("b", skill="y"), node("c", parameters={}), node("d", context={"a": "none"}))),
        ALL,
    )
    assert [(finding.rule, finding.severity) for finding in listed] == [
        ("plan/agent", "error"),
        ("plan/skill", "error"),
        ("schema/required", "error"),
        ("plan/context", "warning"),
    ]


def test_a_question_excuses_only_what_it_asks_for():
    asked = (Question(id="q", text="Whom?", parameter="whom"),)
    assert found(node("a", "talker", "say", questions=asked)) == [("schema/required", "/nodes/0/parameters")]
    assert found(node("a", "talker", "say", instruction="hello", questions=asked)) == []


def test_parameters_that_are_no_data_are_a_finding():
    (finding,) = findings(Plan(nodes=(node(parameters={"number": float("nan")}),)), ALL)
    assert finding.path == "/nodes/0/parameters/number"


@pytest.mark.requirement("H24")
def test_two_branches_that_expect_one_file_are_found_before_the_start():
    listed = findings(
        Plan(
            nodes=(
                node("a", expects=(Expected(path="out/report.md"),)),
                node("b", expects=(Expected(path="./out//Report.md"),)),
                node("c", needs=("b",), expects=(Expected(path="out/report.md"),)),
            )
        ),
        ALL,
    )
    assert [finding.rule for finding in listed] == ["plan/file"]
    assert "`a` and `b` both write" in listed[0].message
    assert listed[0].path == "/nodes/1/expects"


@pytest.mark.requirement("H24")
def test_a_node_may_go_on_with_the_file_of_one_it_needs():
    assert found(
        node("a", expects=(Expected(path="r.md"),)),
        node("between", needs=("a",)),
        node("c", needs=("between",), expects=(Expected(path="r.md"),)),
    ) == []  # fmt: skip


def test_ten_thousand_nodes_are_checked_in_a_moment_and_their_findings_are_bounded():
    good = Plan(
        nodes=tuple(node(f"n{number}", needs=(f"n{number - 1}",) if number else ()) for number in range(10_000))
    )
    assert findings(good, ALL) == []
    bad = Plan(nodes=tuple(node(f"n{number}", "nobody") for number in range(10_000)))
    listed = findings(bad, ALL)
    assert len(listed) == 1_001
    assert listed[-1].rule == "plan/more"
    shared = Plan(
        nodes=tuple(
            node(f"n{n}", needs=(f"n{n - 1}",) if n else (), expects=(Expected(path="one.md"),)) for n in range(10_000)
        )
    )
    assert findings(shared, ALL) == []


def test_a_request_is_known_again_however_it_is_named():
    check = PlanChecker(ALL)
    first = check.caller(node("a", "maths", "square", parameters={"number": 2, "unit": "m"}), "a")
    again = check.caller(
        Task(id="t", agent="abacus", skill="square", parameters={"unit": "m", "number": 2}), "elsewhere"
    )
    assert (first.agent, first.skill, first.request) == (again.agent, again.skill, again.request)
    assert check.caller(node("a", parameters={"number": 3}), "a").request != first.request
    assert check.caller(node("a", "nobody", None), "a").agent == "nobody"


@pytest.mark.requirement("A25")
def test_a_plan_that_asks_again_what_is_being_answered_is_a_circle_with_its_chain():
    check = PlanChecker(ALL)
    above = (check.caller(node("top"), "top"), Caller(node="top/mid", agent="talker", skill="say", request="-"))
    (finding,) = check.cycles(Plan(nodes=(node("other", parameters={"number": 3}), node("again"))), above)
    assert finding.rule == "plan/again"
    assert finding.path == "/nodes/1"
    assert "`maths.square` → `talker.say` → `maths.square`" in finding.message
    assert check.cycles(Plan(nodes=(node("again"),)), above[1:]) == []


@given(st.lists(st.tuples(st.sampled_from(["maths", "x", "talker", "odd"]), st.sampled_from([None, "square", "say"]))))
def test_no_plan_makes_the_check_raise(pairs: list[tuple[str, str | None]]):
    nodes = [node(f"n{place}", agent, skill) for place, (agent, skill) in enumerate(pairs)]
    for finding in findings(Plan(nodes=tuple(nodes)), ALL):
        assert finding.path.startswith("/nodes/")
        assert finding.message
        assert finding.fix
