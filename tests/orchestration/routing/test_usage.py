"""How usual words are in the examples of a skill."""

from hypothesis import given, settings, strategies as st

from retinue.orchestration.routing._usage import Usage
from retinue.orchestration.routing.words import word_tokens
from tests.examples import examples as of_this_run


def test_words_that_all_examples_share_weigh_more_than_a_topic_that_one_has():
    tested = ("how is the parser tested", "how is the cache tested", "how are uploads tested")
    found = ("how does the login work", "where is the cache kept", "what is a parser")
    usage = Usage([tested, found])
    asked = word_tokens("how is the login tested")
    assert usage.weigh(asked, 0) > usage.weigh(asked, 1)


def test_a_skill_without_examples_is_neither_preferred_nor_out_of_reach():
    usage = Usage([("count the commits",), ()])
    assert usage.weigh(["count"], 0) > usage.weigh(["count"], 1) == 0.0
    assert -10 < usage.weigh(["bake"], 0) < 0


@given(st.lists(st.lists(st.text(), max_size=3), min_size=1, max_size=4), st.text())
@settings(max_examples=of_this_run(80))
def test_what_others_are_asked_changes_nothing(examples: list[list[str]], text: str):
    tokens = word_tokens(text)
    alone = [Usage([own]).weigh(tokens, 0) for own in examples]
    assert [Usage(examples).weigh(tokens, place) for place in range(len(examples))] == alone
