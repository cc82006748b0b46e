"""Why: as data, and as blocks below the answer."""

import pytest

from retinue.contract.event import Decision
from retinue.contract.plan import Binding, Candidate, Delegation, Dropped, Plan
from retinue.contract.task import Question
from retinue.orchestration.present.blocks import Heading, MarkdownBlock
from retinue.orchestration.present.blocks_markdown import blocks_to_markdown
from retinue.orchestration.present.explanation import (
    answer_and_explanation,
    binding_origin,
    explain,
    explanation_blocks,
)

CHOSEN = Candidate(agent="a", skill="s", score=2, share=0.5, reason="shares commits")
PLAN = Plan(
    nodes=(
        Delegation(
            id="n1",
            agent="a",
            skill="s",
            instruction="list 5 commits",
            chosen=CHOSEN,
            alternatives=(
                Candidate(agent="b", skill="t", score=1, share=0.25),
                Candidate(agent="c", skill="u", score=1, share=0.6, reason="shares list"),
            ),
            bindings=(
                Binding(parameter="question", value="list 5 commits", how="said", words="list 5 commits"),
                Binding(parameter="limit", value=5, how="said", words="5"),
                Binding(parameter="base", value="main", how="default"),
            ),
            parameters={"question": "list 5 commits", "limit": 5, "base": "main"},
        ),
        Delegation(
            id="n2",
            agent="d",
            needs=("n1",),
            parameters={"x": "a|b"},
            questions=(Question(id="q", text="Which one?"),),
        ),
    ),
    dropped=(Dropped(clause="bake a cake", reason="Nobody bakes.", nearest=(CHOSEN,)),),
)
DECISIONS = (
    ("n1", Decision("choose", "because")),
    ("", Decision("drop", "because")),
    ("n1/n2", Decision("open_circuit", "`a.s` is judged unreliable.", {"failures": 3})),
    ("", Decision("stop", "Enough.")),
)


@pytest.mark.requirement("P15", "C29")
def test_each_clause_says_who_was_considered_and_where_each_value_comes_from() -> None:
    explanation = explain(PLAN, DECISIONS)
    first, second = explanation["clauses"]
    assert first["candidates"] == [
        {"agent": "a", "skill": "s", "share": 0.5, "reason": "shares commits", "verdict": "chosen"},
        {"agent": "b", "skill": "t", "share": 0.25, "verdict": "fits less well by 0.25; kept in case it fails"},
        {
            "agent": "c",
            "skill": "u",
            "share": 0.6,
            "reason": "shares list",
            "verdict": "shares more words and less of what tells them apart; kept in case it fails",
        },
    ]
    assert first["parameters"][1] == {"parameter": "limit", "value": 5, "how": "said", "words": "5"}
    assert second["candidates"] == []  # made by hand: nobody chose
    assert second["parameters"] == [{"parameter": "x", "value": "a|b", "how": "given"}]
    assert second["questions"] == ["Which one?"]
    assert [one["clause"] for one in explanation["dropped"]] == ["bake a cake"]
    assert explanation["decisions"] == [
        {
            "node": "n1/n2",
            "move": "open_circuit",
            "reason": "`a.s` is judged unreliable.",
            "facts": {"failures": 3},
        },
        {"node": "", "move": "stop", "reason": "Enough."},
    ]


@pytest.mark.requirement("P15")
def test_an_explanation_reads_as_markdown() -> None:
    text = blocks_to_markdown(explanation_blocks(explain(PLAN, DECISIONS)))
    assert text.startswith("## Why n1: list 5 commits\n\nPut to `a.s`.\n\n| considered | fit | because |")
    assert '| question | "list 5 commits" | all of it |' in text
    assert "| limit | 5 | said: '5' |" in text
    assert '| base | "main" | the default of the schema |' in text
    assert "## Why n2\n\nPut to `d`, after `n1`." in text
    assert '| x | "a\\|b" | given |' in text
    assert "- to be asked: Which one?" in text
    assert "- bake a cake: Nobody bakes. Nearest: `a.s`." in text
    assert "- `n1/n2` open circuit: `a.s` is judged unreliable.\n- stop: Enough." in text


@pytest.mark.requirement("C31")
def test_a_confidence_is_told_with_its_label_and_left_out_when_nobody_computed_one() -> None:
    explanation = explain(Plan(), confidence=0.625)
    assert explanation["confidence"] == {"value": 0.625, "label": "medium"}
    assert "Medium: 0.62, by what the agents say" in blocks_to_markdown(explanation_blocks(explanation))
    assert "confidence" not in explain(Plan())


def test_an_empty_plan_has_nothing_to_explain() -> None:
    assert explain(Plan()) == {"clauses": [], "dropped": [], "decisions": []}
    assert tuple(explanation_blocks(explain(Plan()))) == ()


def test_hostile_words_stay_words() -> None:
    evil = "<b>|\x1b[2J\u202e `x` [y](javascript:z)"
    node = Delegation(id="n1", agent="a", instruction=evil, parameters={"x": evil})
    text = blocks_to_markdown(explanation_blocks(explain(Plan(nodes=(node,)), [("n1", Decision("stop", evil))])))
    assert not {"\x1b", "\u202e"}.intersection(text)
    assert "<b>" not in text.replace("\\<b>", "")


def test_the_explanation_stands_below_the_answer() -> None:
    data = {"answer": [{"title": "t", "text": "Yes."}], "explanation": explain(PLAN)}
    first, *rest = answer_and_explanation(data)
    assert first == MarkdownBlock("Yes.")
    assert Heading("Why n1: list 5 commits") in rest
    assert (
        answer_and_explanation({"answer": []})
        == answer_and_explanation("no data")
        == answer_and_explanation({"explanation": 3})
        == ()
    )


@pytest.mark.parametrize(
    ("how", "words", "told"),
    [("said", "since 2019", "said: 'since 2019'"), ("delegation", "", "handed on"), ("whatever", "", "whatever")],
)
def test_where_a_value_comes_from_is_said_in_words(how: str, words: str, told: str) -> None:
    assert binding_origin(how, words, clause="all") == told
