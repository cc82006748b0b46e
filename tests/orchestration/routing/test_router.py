"""Who a clause is for, and when the answer is: nobody here."""

import random
import re
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract.definition import Definition, Skill
from retinue.orchestration.routing import index as index_module
from retinue.orchestration.routing._files import Takers
from retinue.orchestration.routing.index import Index
from retinue.orchestration.routing.router import FLOOR_WITHOUT_EXAMPLES, Router
from retinue.orchestration.routing.words import gram_tokens
from tests.examples import examples


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


@pytest.mark.row("G17", "P8")
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
    assert routing.candidates[0] in routing.fit
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


def test_without_examples_a_skill_has_the_fallback_floor():
    routing = Router([definition("a", "Adds numbers."), definition("b", "Draws maps.")]).route("bake 3 cakes")
    assert routing.abstained
    assert f"where {FLOOR_WITHOUT_EXAMPLES:.2f} is needed" in routing.reason


def test_a_longer_text_needs_a_smaller_share():
    brief, long = "Adds numbers.", "Adds numbers. " + " ".join(f"word{number}" for number in range(300))
    needed = [
        float(re.findall(r"where ([\d.]+) is needed", Router([definition("a", says, *"bcd")]).route("bake").reason)[0])
        for says in (brief, long)
    ]
    assert 0 < needed[1] < needed[0] < 0.5


def test_a_floor_can_be_given():
    router = Router([RESEARCHER, GIT], floor=0.99)
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
    monkeypatch.setattr(index_module, "_WORK", 300)
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


@given(st.lists(st.text(max_size=30), max_size=6), st.text(max_size=30))
def test_an_index_never_gives_more_than_could_be_reached(documents: list[str], query: str):
    index = Index(map(gram_tokens, documents), common=frozenset(), discount=1.0, usual_length=40)
    tokens = list(dict.fromkeys(gram_tokens(query)))
    near = index.nearest(tokens, limit=9)
    shares = [index.share(tokens, place) for place in near]
    assert sorted(near) == list(range(len(documents)))
    assert shares == sorted(shares, reverse=True)
    for place, share in zip(near, shares, strict=True):
        assert 0 <= share <= 1
        assert (share > 0) == any(index.holds(token, place) for token in tokens)


def taker(name: str, pattern: str, *examples: str) -> Definition:
    files = {"type": "array", "items": {"type": "string", "pattern": pattern}}
    skill = Skill(
        name="read",
        description=f"Reads {name} files.",
        input_schema={"type": "object", "properties": {"files": files}},
        examples=examples,
    )
    return Definition(name=name, description="", skills=(skill,))


def test_a_named_file_tells_who_is_meant():
    router = Router([taker("table", r"\.csv$"), taker("trace", r"\.log$")])
    first, second = router.route("what is in it", files=["x/a.log"]).candidates
    assert first.agent == "trace"
    assert "takes files such as `x/a.log`" in first.reason
    assert "takes no such file" in second.reason
    assert router.route("what is in it", files=["x/a.log"], within=True).candidates[0].score > first.score


def test_a_misspelt_word_is_known_by_its_parts():
    wrong, right = ROUTER.route("list the comits"), ROUTER.route("list the commits")
    assert wrong.candidates[0].agent == right.candidates[0].agent
    assert not wrong.abstained


def test_the_name_of_a_file_in_an_example_is_no_topic():
    counts = definition("counter", "Counts rows.", "how many rows has invoices.csv", "count the rows of trees.csv")
    reads = definition("reader", "Reads pages.", "what does the page say", "read the page about plants")
    found = Router([counts, reads]).route("invoices")
    assert "invoices" not in found.candidates[0].reason


MOVER = definition("mover", "Moves and renames code.", *(f"move the part {one} to another file" for one in "abcdefgh"))
TELLER = definition(
    "teller",
    "Tells who changed what.",
    "who changed the parser",
    "who wrote the cart",
    "when was it moved",
    "who added the test",
)


def test_whoever_is_asked_about_one_kind_of_file_is_not_meant_with_another():
    coder = definition("coder", "Analyses.", *(f"analyse the file src/{one}.py" for one in "abcd"))
    keeper = definition("keeper", "Reads logs.", "look through logs/app.log", "what went wrong in error.log")
    takers = Takers([*coder.skills, *keeper.skills])
    assert takers.weigh(["src/app.py"]) == {}
    assert takers.weigh(["logs/app.log"]) == {0: None}
    assert takers.weigh(["Cart.add"]) == {}, "nobody knows such files, so it may be none"
    assert list(takers.all) == []
    router = Router([coder, keeper])
    shares = {one.agent: one.share for one in router.route("analyse it", files=["logs/app.log"]).candidates}
    assert shares["coder"] < {one.agent: one.share for one in router.route("analyse it").candidates}["coder"]


def test_what_stands_among_the_examples_is_known_whole():
    other = definition("other", "Lists commits and branches.", "list the commits of a branch", "list the tags")
    said = Router([other, GIT]).route("Summarise the latest commit!").candidates[0]
    assert (said.agent, said.share) == ("git_reader", 1.0)


def test_a_name_of_code_is_read_as_one():
    finder = definition("finder", "Finds callers.", "who calls `parse`", "usages of `Cart.add`", "callers of `flush`")
    talker = definition("talker", "Finds people.", "who calls the customer", "phone numbers of suppliers", "who is who")
    assert Router([finder, talker]).route("who calls `total_price`").candidates[0].agent == "finder"


WORDS = st.sampled_from(
    ["who", "what", "how", "many", "list", "the", "a", "parser", "commits", "docs", "changed", "bake", "oven", "fare"]
)
SAYINGS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
STRANGERS = st.lists(st.tuples(SAYINGS, st.lists(SAYINGS, max_size=9)), max_size=4)


@given(SAYINGS, STRANGERS)
@settings(max_examples=examples(150))
def test_whoever_is_not_chosen_changes_nothing(clause: str, strangers: list[tuple[str, list[str]]]):
    joined = [definition(f"stranger{n}", says, *said) for n, (says, said) in enumerate(strangers)]
    alone, among = ROUTER.route(clause), Router([RESEARCHER, GIT, *joined]).route(clause, limit=9)
    known = [one for one in among.candidates if not one.agent.startswith("stranger")]
    assert {(one.agent, one.score, one.share) for one in known} == {
        (one.agent, one.score, one.share) for one in alone.candidates
    }
    if not among.abstained and among.candidates[0] in known:
        assert among.candidates[0] == alone.candidates[0]
    assert among.abstained <= alone.abstained
    assert [one for one in among.fit if one in known] == list(alone.fit)
