"""Who a clause is for, and when the answer is: nobody here."""

import random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract.definition import Definition, Skill
from retinue.orchestration.routing import _view
from retinue.orchestration.routing._files import Takers
from retinue.orchestration.routing._floors import Floors
from retinue.orchestration.routing.router import FALLBACK_FLOOR, Router
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
    assert f"where {FALLBACK_FLOOR:.2f} is needed" in routing.reason


def test_a_longer_text_needs_a_smaller_share():
    floors = Floors([["a b"] * 3, ["a b"] * 3], [0.6, 0.2], lambda place, example: 1.0, floor=None)
    assert floors.of(0, 0.1, asked=False) > floors.of(1, 0.1, asked=False)


def floors_of(*left_out: float, once: float = 0.3) -> Floors:
    """The floors of one skill with so many examples, which reach so much when each is left out."""
    shares = {f"example {number}": share for number, share in enumerate(left_out)}
    return Floors([list(shares)], [once], lambda place, example: shares[example], floor=None)


def test_a_skill_whose_examples_share_no_topic_is_open_and_a_question_may_know_less_of_it():
    open_one, closed = floors_of(*[0.11] * 8), floors_of(*[0.4] * 8)
    assert open_one.is_open(0)
    assert not closed.is_open(0)
    assert open_one.of(0, 0.12, asked=True) == 0.11
    assert open_one.of(0, 0.12, asked=False) == closed.of(0, 0.12, asked=True) > 0.12
    assert not floors_of(*[0.11] * 5).is_open(0), "five examples do not tell"


def test_many_examples_that_are_much_alike_raise_the_floor_and_never_above_what_is_surely_meant():
    usual = floors_of(*[0.1] * 16).of(0, 0.2, asked=False)
    few, many, alike = floors_of(*[0.22] * 8), floors_of(*[0.22] * 16), floors_of(*[0.9] * 16)
    assert few.of(0, 0.2, asked=False) == usual < many.of(0, 0.2, asked=False) == 0.22
    highest = alike.of(0, 0.2, asked=False)
    assert 0.22 < highest < 0.3
    assert alike.of(0, highest, asked=False) <= highest
    assert floors_of(*[0.9] * 4, once=1.0).of(0, 0.2, asked=False) == highest


@given(st.lists(st.floats(0, 1), min_size=3, max_size=20), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=examples(80))
def test_whoever_knows_more_is_never_refused_where_less_is_enough(
    left_out: list[float], once: float, one: float, other: float
):
    less, more = sorted((one, other))
    floors = floors_of(*left_out, once=once)
    for asked in (True, False):
        if less >= floors.of(0, less, asked=asked):
            assert more >= floors.of(0, more, asked=asked)


def test_that_a_question_begins_alike_does_not_make_a_skill_with_a_topic_know_it():
    topics = ["opening hours", "opening days", "late opening", "early opening", "opening on Sundays", "holiday opening"]
    asked = tuple(f"what are the {topic} of the shop" for topic in topics)
    keeper = Router([definition("keeper", "Tells the opening hours of the shop.", *asked)])
    assert not keeper.route("what are the opening hours").abstained
    assert keeper.route("what are black holes").abstained


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
    monkeypatch.setattr(_view, "_COMMON", 40)
    monkeypatch.setattr(_view, "_WORK", 3_000)
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
def test_a_view_never_gives_more_than_could_be_reached(documents: list[str], query: str):
    view = _view.View(map(_view.gram_tokens, documents), background=_view.gram_background(), usual_length=40)
    tokens = list(dict.fromkeys(_view.gram_tokens(query)))
    scores, left = view.scores(tokens)
    assert len(scores) == len(documents)
    for place, score in enumerate(scores):
        whole = score + view.add(left, place)
        assert 0 <= whole <= view.reach(tokens) + 1e-6
        assert (whole > 0) == any(view.holds(token, place) for token in tokens)
        assert whole == pytest.approx(sum(view.weight(token, place) for token in tokens), abs=1e-3)


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


def test_a_misspelt_word_is_read_as_the_one_that_is_known():
    wrong, right = ROUTER.route("list the comits"), ROUTER.route("list the commits")
    assert wrong.candidates[0].agent == right.candidates[0].agent
    assert "comits" in wrong.candidates[0].reason


def test_a_reason_names_words_an_example_and_the_opening():
    skills = (("git", "who changed the parser", "who wrote the docs"), ("cook", "how do I bake", "how do I fry"))
    router = Router(
        Definition(
            name=name,
            description="",
            skills=(Skill(name="do", description=name, input_schema={}, examples=tuple(examples)),),
        )
        for name, *examples in skills
    )
    reason = router.route("who last changed the parser").candidates[0].reason
    assert "shares changed, parser" in reason
    assert "is asked like “who changed the parser”" in reason
    assert "is what “who …” asks for" in reason


def test_whoever_is_asked_about_anything_needs_fewer_words():
    anything = [
        "how does the parser work", "what is a blueprint", "where is the cache kept", "why is it slow on startup",
        "explain the retry policy", "which licence applies", "what does load_config do", "what is the port number",
        "where are sessions stored", "describe the architecture", "how are errors rendered", "what is the timeout",
    ]  # fmt: skip
    commits = [f"who made commits {when}" for when in ("today", "yesterday", "last week", "in May", "first", "lately")]
    definitions = [
        Definition(
            name=name,
            description="",
            skills=(Skill(name=name, description=says, input_schema={}, examples=tuple(examples)),),
        )
        for name, says, examples in (
            ("reader", "Finds passages.", anything),
            ("history", "Counts commits.", [*commits, "how many commits are there", "who made most commits"]),
        )
    ]
    router = Router(definitions)
    found = router.route("what is a heat wave")
    assert found.candidates[0].agent == "reader"
    assert not found.abstained
    assert router.route("bake a cake").abstained


def test_the_name_of_a_file_in_an_example_is_no_topic():
    counts = definition("counter", "Counts rows.", "how many rows has invoices.csv", "count the rows of trees.csv")
    reads = definition("reader", "Reads pages.", "what does the page say", "read the page about plants")
    found = Router([counts, reads]).route("invoices")
    assert "invoices" not in found.candidates[0].reason


def test_two_commits_are_for_whoever_takes_a_range():
    between = definition("history", "Tells of work.", "what was done", properties={"range": {"type": "string"}})
    branch = definition("branch", "Tells of work.", "what was done", properties={"base": {"type": "string"}})
    assert (
        Router([branch, between]).route("what was done", said=["revisions", "range"]).candidates[0].agent == "history"
    )


MOVER = definition("mover", "Moves and renames code.", *(f"move the part {one} to another file" for one in "abcdefgh"))
TELLER = definition(
    "teller",
    "Tells who changed what.",
    "who changed the parser",
    "who wrote the cart",
    "when was it moved",
    "who added the test",
)


def test_whoever_is_only_told_what_to_do_is_not_asked_a_question():
    router = Router([MOVER, TELLER])
    assert router.route("move the cart to another file").candidates[0].agent == "mover"
    assert router.route("who moved the parser").candidates[0].agent == "teller"
    told = router.route("move the part to another file").candidates[0]
    asked = next(one for one in router.route("when was the part moved").candidates if one.agent == "mover")
    assert asked.share < told.share - 0.1


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


def test_a_name_of_code_is_read_as_one():
    finder = definition("finder", "Finds callers.", "who calls `parse`", "usages of `Cart.add`", "callers of `flush`")
    talker = definition("talker", "Finds people.", "who calls the customer", "phone numbers of suppliers", "who is who")
    assert Router([finder, talker]).route("who calls `total_price`").candidates[0].agent == "finder"


def test_what_a_question_wants_must_be_known_to_whoever_is_always_asked_for_the_same():
    asked = ("who changed the parser", "who changed the docs", "who wrote the cart", "who last wrote a test")
    router = Router([definition("history", "Tells who changed or wrote what.", *asked)])
    assert not router.route("who changed the kitchen").abstained
    refused = router.route("who painted the parser")
    assert refused.abstained
    assert refused.reason == "The nearest, `history.history`, is not asked for 'painted'."


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
