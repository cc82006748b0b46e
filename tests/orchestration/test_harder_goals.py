"""Goals as people really ask them, and the exact plan each should become: who, with which parameters, after whom."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from retinue.contract.plan import Plan
from retinue.orchestration.reader.planner import Planner
from tests.orchestration.harder_agents import EVERYBODY, PROJECT

PLANNER = Planner(EVERYBODY)

STATUS = "git_state_analyzer.branch_status"
COMMITS = "git_state_analyzer.commit_analysis"
RESEARCH = "researcher_analyst.research"
PROFILE = "data_analyst.profile"
AGGREGATE = "data_analyst.aggregate"
PERCENTILES = "data_analyst.percentiles"
LOG = "data_analyst.log_parse"
COMPARE = "data_analyst.compare"
FIXTURE = "pattern_discovery.fixture_lookup"
TESTS = "pattern_discovery.test_pattern_search"
EACH = "research_supervisor.research_each"


@dataclass
class Node:
    """One expected node: who, what it waits for (by place), and those parameters that matter."""

    who: str
    needs: tuple[int, ...] = ()
    says: dict[str, Any] = field(default_factory=dict[str, Any])


def n(who: str, *needs: int, **says: Any) -> Node:
    return Node(who, needs, says)


def plan(goal: str) -> Plan:
    return PLANNER.plan(goal, environment=PROJECT)


def check(goal: str, wanted: list[Node], dropped: tuple[str, ...] = ()) -> None:
    found = plan(goal)
    assert [f"{node.agent}.{node.skill}" for node in found.nodes] == [one.who for one in wanted], found.dropped
    places = {node.id: place for place, node in enumerate(found.nodes)}
    for node, one in zip(found.nodes, wanted, strict=True):
        assert tuple(places[need] for need in node.needs) == one.needs
        assert {name: node.parameters.get(name) for name in one.says} == one.says
    assert tuple(each.clause for each in found.dropped) == dropped


LOGFILE = ["access.log"]
ORDERS = ["data/orders.csv"]
READINGS = ["data/readings.jsonl"]


@pytest.mark.requirement("G17", "A2")
@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("what is the average order total in orders.csv and how many commits were made last month",
         [n(AGGREGATE, files=ORDERS), n(COMMITS, since="2026-02-16")]),
        ("Which fixture gives me a logged in user? Where is the retry policy defined?", [n(FIXTURE), n(RESEARCH)]),
        ("explain how sessions are stored, list the last 5 commits, show the branch status",
         [n(RESEARCH), n(COMMITS, limit=5), n(STATUS)]),
        ("1. profile orders.csv\n2. say which licence is used\n3. show uncommitted changes",
         [n(PROFILE, files=ORDERS), n(RESEARCH), n(STATUS)]),
        ("Which endpoints are the slowest in access.log; which tests cover the parser?",
         [n(LOG, files=LOGFILE), n(TESTS)]),
        ("what do the docs say about testing plus who are the main authors", [n(RESEARCH), n(COMMITS)]),
    ],
)  # fmt: skip
def test_several_clauses(goal: str, wanted: list[Node]):
    check(goal, wanted)


@pytest.mark.requirement("G17", "A23")
@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("Find the largest commit, then explain the files in that commit.", [n(COMMITS), n(COMMITS, 0)]),
        ("List the top 5 paths in access.log. What do the docs promise for each of them?",
         [n(LOG, files=LOGFILE), n(EACH, 0)]),
        ("which files change most often and which tests cover them", [n(COMMITS), n(TESTS, 0)]),
        ("compare orders.csv with readings.jsonl", [n(COMPARE, files=["data/orders.csv", "data/readings.jsonl"])]),
    ],
)  # fmt: skip
def test_dependence(goal: str, wanted: list[Node]):
    if "that commit" in goal:
        found = plan(goal)
        assert found.nodes[1].needs == (found.nodes[0].id,)
        return
    check(goal, wanted)


@pytest.mark.requirement("G17")
@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("who changed the parser last and what did she change before it?", [n(COMMITS), n(COMMITS, 0)]),
    ],
)  # fmt: skip
def test_pronouns_across_clauses(goal: str, wanted: list[Node]):
    check(goal, wanted)


@pytest.mark.requirement("G17", "C45")
@pytest.mark.parametrize(
    ("goal", "wanted", "dropped"),
    [
        ("show all commits except merges", [n(COMMITS, exclude_merges=True)], ()),
        ("which files are changed but not committed", [n(STATUS)], ()),
        ("do commit messages not follow the conventional format", [n(COMMITS)], ()),
    ],
)  # fmt: skip
def test_negation(goal: str, wanted: list[Node], dropped: tuple[str, ...]):
    check(goal, wanted, dropped)
    assert all(each.reason == "You said not to." and not each.wanted for each in plan(goal).dropped)


@pytest.mark.requirement("C45")
@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("what errors are in access.log", [n(LOG, files=LOGFILE)]),
        ("what does README.md say about installation", [n(RESEARCH)]),
        ("who changed orders.csv last", [n(COMMITS, paths=ORDERS)]),
        ("average temperature per station in readings.jsonl", [n(AGGREGATE, files=READINGS)]),
        ("who committed between 2025-06-01 and 2025-08-31", [n(COMMITS, since="2025-06-01", until="2025-08-31")]),
        ("how many commits were made yesterday", [n(COMMITS, since="2026-03-17", until="2026-03-17")]),
    ],
)  # fmt: skip
def test_named_files_dates_and_branches(goal: str, wanted: list[Node]):
    check(goal, wanted)


def test_a_name_that_two_files_have_is_asked_about():
    (node,) = plan("how many rows are in returns.csv").nodes
    (question,) = node.questions
    assert (question.parameter, question.kind) == ("files", "choice")
    assert question.options == ("data/2024/returns.csv", "data/2025/returns.csv")
    assert "returns.csv" in question.text


@pytest.mark.requirement("G17")
@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("wich branch am i on", [n(STATUS)]),
        ("who has the parser last changed", [n(COMMITS)]),
        ("in wich file is defined the retry polcy", [n(RESEARCH)]),
        ("pls tell how works the parser", [n(RESEARCH)]),
        ("averge delay by carrier in orders.csv", [n(AGGREGATE, files=ORDERS)]),
        ("how many comits was made last month", [n(COMMITS)]),
        ("give me please the slowest endpoint of access.log", [n(LOG, files=LOGFILE)]),
        ("HOW DOES THE PARSER WORK", [n(RESEARCH)]),
    ],
)  # fmt: skip
def test_imperfect_english(goal: str, wanted: list[Node]):
    check(goal, wanted)


@pytest.mark.requirement("G17")
@pytest.mark.parametrize(
    "goal",
    ["thanks", "Thank you very much!", "hello", "Hi there, good morning!", "ok great", "thanks, that was all",
     ],
)  # fmt: skip
def test_what_asks_for_nothing_is_an_empty_plan(goal: str):
    check(goal, [])


def test_courtesies_around_a_request_are_not_dropped_either():
    check("Hello! How does the parser work? Thanks a lot!", [n(RESEARCH)])


@pytest.mark.requirement("G17")
@pytest.mark.parametrize(
    ("goal", "wanted", "dropped"),
    [
        ("order me a pizza", [], ("order me a pizza",)),
        ("delete all branches", [], ("delete all branches",)),
        ("Please rename src/app.py to src/main.py.", [], ("Please rename src/app.py to src/main.py.",)),
        ("fix the parser and push the branch", [], ("fix the parser and push the branch",)),
        ("bake a cheesecake, then show the last 5 commits", [n(COMMITS, limit=5)], ("bake a cheesecake",)),
        ("send an email to the main authors", [], ("send an email to the main authors",)),
        ("play some music and explain how sessions are stored", [n(RESEARCH)], ("play some music",)),
        ("sing me a lullaby", [], ("sing me a lullaby",)),
    ],
)  # fmt: skip
def test_what_nobody_does_is_said_and_not_invented(goal: str, wanted: list[Node], dropped: tuple[str, ...]):
    check(goal, wanted, dropped)
    assert all(each.reason and each.wanted for each in plan(goal).dropped)


@pytest.mark.requirement("G17")
@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("who are the main authors of the docs, and which licence is used", [n(COMMITS), n(RESEARCH)]),
        ("Give me the branch status and separately the median order total from orders.csv.",
         [n(STATUS), n(PERCENTILES, files=ORDERS)]),
    ],
)  # fmt: skip
def test_two_jobs(goal: str, wanted: list[Node]):
    check(goal, wanted)
