"""Who a clause is for, and when the answer is: nobody here."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract.definition import Definition, Skill
from retinue.orchestration.reader import router as index
from retinue.orchestration.reader.router import Router


def definition(name: str, description: str, *examples: str, **facts: Any) -> Definition:
    schema = {"type": "object", "properties": facts.pop("properties", {})}
    skill = Skill(
        name=facts.pop("skill", name), description=description, input_schema=schema, examples=examples, **facts
    )
    return Definition(name=name, description=description, skills=(skill,))


RESEARCHER = definition(
    "researcher",
    "Finds passages in documents and code that answer a question, with sources.",
    "how does the retry policy work",
    "where is the configuration documented",
    "explain the architecture of this project",
    "what do the docs say about time-outs",
    "find everything about caching in the code",
)
GIT = definition(
    "git_reader",
    "Says what changed in a git repository: commits, branches, authors, files.",
    "what changed in the last 20 commits",
    "which branch am I on and is it clean",
    "who made the most commits since March",
    "list commits that do not follow the commit format",
    "summarise the latest commit",
)
ROUTER = Router([RESEARCHER, GIT])


@pytest.mark.requirement("G17", "P8")
@pytest.mark.parametrize(
    ("clause", "agent"),
    [
        ("where are plugins documented", "researcher"),
        ("how does the scheduler work", "researcher"),
        ("which files changed in the last commit", "git_reader"),
        ("show the commits of this week", "git_reader"),
        ("what's on this branch", "git_reader"),
    ],
)
def test_a_clause_finds_its_agent_by_what_the_definition_says(clause: str, agent: str):
    routing = ROUTER.route(clause)
    assert not routing.abstained
    assert routing.candidates[0].agent == agent
    assert routing.candidates[0] in routing.alternatives
    assert agent in routing.reason


@pytest.mark.parametrize("clause", ["bake me a cheesecake", "qwrtz 12345", "", "😀", "order pizza tonight"])
def test_what_nobody_does_is_not_routed(clause: str):
    routing = ROUTER.route(clause)
    assert routing.abstained
    assert routing.reason


def test_the_words_that_count_are_named():
    reason = ROUTER.route("list the commits").candidates[0].reason
    assert "commits" in reason
    assert "the" not in reason.partition(";")[0].split()


def test_a_floor_can_be_given():
    router = Router([RESEARCHER, GIT], threshold=0.99)
    assert router.route("where are plugins documented").abstained


def test_with_no_agent_there_is_nobody_to_ask():
    routing = Router([]).route("anything")
    assert routing.candidates == ()
    assert routing.abstained


def test_what_is_unavailable_is_not_a_candidate():
    closed = definition("closed", "Squares numbers.", unavailable="not installed")
    assert Router([closed]).route("square numbers").candidates == ()


def test_parameters_count_too():
    first = definition("first", "Does a thing.", properties={"altitude": {"description": "Height above the sea."}})
    second = definition("second", "Does a thing.", properties={"colour": {"description": "What it looks like."}})
    assert Router([first, second]).route("do it at that height above the sea").candidates[0].agent == "first"


def test_examples_help():
    plain = Router([definition("a", "Handles money."), definition("b", "Handles travel.")])
    taught = Router([definition("a", "Handles money.", "pay my phone bill"), definition("b", "Handles travel.")])
    assert plain.route("pay the gas bill").abstained
    assert taught.route("pay the gas bill").candidates[0].agent == "a"


def test_only_the_beginning_of_an_endless_clause_is_read():
    long = "show the commits " + "cheesecake " * 100_000
    assert ROUTER.route(long).candidates[0].agent == "git_reader"


def test_a_crowd_that_is_searched_in_two_steps_finds_the_same(monkeypatch: pytest.MonkeyPatch):
    chance = random.Random(3)
    words = ["".join(chance.choices("abcdefghij", k=6)) for _ in range(60)]
    crowd = [definition(f"a{number}", " ".join(chance.choices(words, k=12))) for number in range(300)]
    queries = [" ".join(chance.choices(words, k=5)) for _ in range(20)]
    exact = [Router(crowd).route(query).candidates[0] for query in queries]
    monkeypatch.setattr(index, "_WORK", 300)
    quick = [Router(crowd).route(query).candidates[0] for query in queries]
    same = [(one, other) for one, other in zip(exact, quick, strict=True) if one.agent == other.agent]
    assert len(same) >= 18
    assert all(one.share == pytest.approx(other.share, abs=1e-3) for one, other in same)


@given(st.text(max_size=300))
def test_no_text_makes_it_raise_and_shares_are_shares(clause: str):
    routing = ROUTER.route(clause)
    assert len(routing.candidates) == 2
    assert all(0 <= candidate.share <= 1 for candidate in routing.candidates)
    assert routing == ROUTER.route(clause)


def test_a_misspelt_word_is_known_by_its_parts():
    wrong, right = ROUTER.route("list the comits"), ROUTER.route("list the commits")
    assert wrong.candidates[0].agent == right.candidates[0].agent
    assert not wrong.abstained


def test_the_name_of_a_file_in_an_example_is_no_topic():
    counts = definition("counter", "Counts rows.", "how many rows has invoices.csv", "count the rows of trees.csv")
    reads = definition("reader", "Reads pages.", "what does the page say", "read the page about plants")
    found = Router([counts, reads]).route("invoices")
    assert "invoices" not in found.candidates[0].reason


def test_what_stands_among_the_examples_is_known_whole():
    other = definition("other", "Lists commits and branches.", "list the commits of a branch", "list the tags")
    said = Router([other, GIT]).route("Summarise the latest commit!").candidates[0]
    assert (said.agent, said.share) == ("git_reader", 1.0)


def test_a_longer_text_needs_a_smaller_share():
    brief, long = "Adds numbers.", "Adds numbers. " + " ".join(f"word{number}" for number in range(300))
    router = Router([definition("a", brief, *"xyz"), definition("b", long, *"xyz")])
    assert 0 < router.threshold(1) < router.threshold(0) < 0.5


def test_meaning_ranks_beside_words():
    def likeness(texts: Sequence[Sequence[str]]) -> Callable[[str], Sequence[float]]:
        return lambda _clause: [1.0 if "Bakes" in " ".join(pieces) else 0.0 for pieces in texts]

    agents = [definition("baker", "Bakes bread."), definition("painter", "Paints walls.")]
    assert Router(agents).route("I am hungry for a wall").candidates[0].agent == "painter"
    assert Router(agents, likeness=likeness).route("I am hungry").candidates[0].agent == "baker"


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=12), max_size=6), st.lists(st.sampled_from("abcdefgh")))
def test_an_index_never_gives_more_than_could_be_reached(documents: list[list[str]], query: list[str]):
    found = index.SkillIndex(documents, common=frozenset("f"))
    tokens = list(dict.fromkeys(query))
    assert len(found.scores(tokens)) == len(documents)
    for place in range(len(documents)):
        assert 0 <= found.share(tokens, place) <= 1
        assert (found.share(tokens, place) > 0) == any(found.weight(token, place) for token in tokens)


def test_z_scores_tell_who_stands_out_and_by_how_much():
    assert index.z_scores([]) == []
    assert index.z_scores([0.0, 0.0, 0.0, 4.0])[3] == pytest.approx(2.0)
    near, far = index.z_scores([10.0, 9.9])
    assert near - far < 0.1
