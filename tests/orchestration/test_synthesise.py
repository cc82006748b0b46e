"""One answer out of many results: what is there, with sources, and what is not there."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract.fault import Fault
from retinue.contract.plan import Candidate, Delegation, Dropped, Plan
from retinue.contract.result import Artifact, Result, Usage, Warned
from retinue.contract.task import Question
from retinue.contract.tokens import get_counter
from retinue.orchestration.handoff import Savings
from retinue.orchestration.present.blocks import place_of, sanitize_markdown, sources_in
from retinue.orchestration.synthesise import FinishedRun, collect, synthesise


def node(name: str, instruction: str = "", **facts: object) -> Delegation:
    return Delegation(id=name, agent="reader", skill="read", instruction=instruction, **facts)  # pyright: ignore[reportArgumentType] - test facts


def good(content: str = "", data: object = None, **facts: object) -> Result:
    whole = {"outcome": "success", "content": content, "data": data} | facts
    return Result(task_id="t", agent="reader", skill="read", **whole)  # pyright: ignore[reportArgumentType] - test facts


def bad(message: str = "It broke.", **facts: object) -> Result:
    fault = Fault(code="internal_error", message=message, hint="Fix it.")
    return Result(task_id="t", agent="reader", outcome="failed", fault=fault, **facts)  # pyright: ignore[reportArgumentType] - test facts


WAITING = Result(task_id="t", agent="reader", lifecycle="input_required", questions=(Question(id="q", text="Which?"),))
STOPPED = Result(task_id="t", agent="reader", outcome="canceled", fault=Fault(code="canceled", message="Stopped."))


def merged(
    *pairs: tuple[Delegation, Result], dropped: tuple[Dropped, ...] = (), unneeded: str = "", **plan: object
) -> Result:
    whole = Plan(goal="a goal", nodes=tuple(one for one, _ in pairs), dropped=dropped, **plan)  # pyright: ignore[reportArgumentType] - test facts
    ended = FinishedRun("t", whole, {one.id: result for one, result in pairs}, frozenset(unneeded.split()))
    return synthesise(ended, savings=Savings("words"), counter=get_counter("words"))


@pytest.mark.requirement("G17", "A3")
def test_sections_stand_in_the_order_of_the_plan_with_their_sources():
    first = good("Retries are bounded.", {"findings": [{"content": "x", "source": "src/a.py", "line": 3}]})
    second = good("The branch is clean.", {"head_sha": "abc"})
    result = merged((node("n1", "how do retries work"), first), (node("n2", "is it clean"), second))
    assert result.outcome == "success"
    assert [section["title"] for section in result.data["answer"]] == ["How do retries work", "Is it clean"]
    assert result.data["answer"][0]["sources"] == ["src/a.py:3"]
    assert result.content.index("Retries are bounded.") < result.content.index("The branch is clean.")
    assert "Sources: `src/a.py:3`" in result.content
    assert result.completeness == 100


@pytest.mark.requirement("C29", "G17")
def test_what_failed_what_nobody_does_and_what_must_be_asked_is_said():
    dropped = Dropped(
        clause="bake a cake",
        reason="Nobody bakes.",
        nearest=(Candidate(agent="reader", skill="read", score=0, share=0.01),),
    )
    result = merged(
        (node("n1", "one"), good("One.")), (node("n2", "two"), bad("No *line* to <b>it</b>.")), (node("n3"), WAITING),
        dropped=(dropped,),
    )  # fmt: skip
    assert result.outcome == "partial"
    for words in ("## Not answered", "bake a cake", "## What went wrong", "Two", "## Questions", "Which?", "Fix it."):
        assert words in result.content
    assert "<b>" not in result.content.replace("\\<b", "")
    assert {warning.type for warning in result.warnings} == {"missing_data", "incomplete_context"}
    assert all(warning.impact and warning.recovery for warning in result.warnings)
    assert result.questions == WAITING.questions
    assert result.completeness == 25


@pytest.mark.parametrize("message", ["it is in no repository", "It is in no repository.", "it is in no repository."])
def test_what_went_wrong_is_said_in_sentences(message: str):
    result = merged((node("n1", "one"), good("One.")), (node("n2", "two"), bad(message)))
    assert "It is in no repository. Fix it." in result.content


@pytest.mark.parametrize(
    ("results", "plan", "lifecycle", "outcome"),
    [
        ([good("x")], {}, "ended", "success"),
        ([good("x"), bad()], {}, "ended", "partial"),
        ([good("x", outcome="partial")], {}, "ended", "partial"),
        ([bad(), bad()], {}, "ended", "error"),
        ([STOPPED, STOPPED], {}, "ended", "canceled"),
        ([WAITING], {}, "input_required", None),
        ([WAITING, bad()], {}, "input_required", None),
        ([good("x"), bad()], {"join": "fail_fast"}, "ended", "error"),
        ([good("x"), good("y")], {"join": "fail_fast"}, "ended", "success"),
        ([good("x"), STOPPED], {"join": "any", "unneeded": "n1"}, "ended", "success"),
        ([good("x"), bad(), STOPPED], {"join": "quorum", "unneeded": "n2"}, "ended", "success"),
        ([good("x"), bad()], {"join": "any"}, "ended", "partial"),
        ([], {}, "ended", "success"),
    ],
)
@pytest.mark.requirement("C1", "C29")
def test_how_a_run_ends(results: list[Result], plan: dict[str, Any], lifecycle: str, outcome: str | None):
    result = merged(*((node(f"n{place}"), one) for place, one in enumerate(results)), **plan)
    assert (result.lifecycle, result.outcome) == (lifecycle, outcome)
    assert (result.fault is None) == (outcome in {"success", "partial", None} or any(one.useful for one in results))


def test_an_optional_failure_is_said_and_does_not_count():
    result = merged((node("n1"), good("x")), (node("n2", optional=True), bad()))
    assert result.outcome == "success"
    assert result.data["failures"]


def test_when_nobody_can_do_it_the_nearest_are_suggested():
    near = (Candidate(agent="reader", skill="read", score=0, share=0.01),)
    result = merged(dropped=(Dropped(clause="bake", reason="No.", nearest=near),))
    assert result.outcome == "rejected"
    assert result.fault is not None
    assert result.fault.code == "invalid_input"
    assert result.fault.suggestions == ("reader.read",)


def test_the_same_fact_stands_once():
    line = "- The retry policy allows at most two retries."
    finding = {"content": "Two retries.", "source": "a.md:1"}
    one = good(f"{line}\n- And more about it than that.", {"findings": [finding]})
    other = good(f"{line}\n- Something else altogether, though.", {"findings": [dict(finding), {"content": "New."}]})
    result = merged((node("n1"), one), (node("n2"), other))
    assert result.content.count("at most two retries") == 1
    assert [finding["content"] for finding in result.data["findings"]] == ["Two retries.", "New."]


def test_a_section_that_only_repeats_says_so():
    result = merged((node("n1"), good("All of this was said before, word for word.")),
                    (node("n2"), good("All of this was said before, word for word.")))  # fmt: skip
    assert result.data["answer"][1]["text"] == "Nothing beyond what stands above."


def test_data_alone_is_rendered():
    result = merged((node("n1"), good("", {"count": 3, "name": "<x>"})))
    assert "count: 3" in result.content
    assert "<x>" not in result.content.replace("\\<x", "")


def test_rows_and_series_are_drawn_and_not_put_into_words():
    table = {"columns": [{"name": "day"}], "rows": [["Mon"]]}
    both = merged((node("n1"), good("", {"tables": [table], "count": 1})))
    assert both.content == "- count: 1\n\n| day |\n| --- |\n| Mon |"
    alone = merged((node("n1"), good("", {"tables": [table]})))
    assert alone.content == "| day |\n| --- |\n| Mon |"


@pytest.mark.requirement("C31", "C37")
@pytest.mark.parametrize(("known", "wanted"), [([0.9, 0.6], 0.6), ([0.9, None], None), ([None], None)])
def test_confidence_is_that_of_the_weakest_part_and_never_invented(known: list[float | None], wanted: float | None):
    result = merged(*((node(f"n{place}"), good("x", confidence=one)) for place, one in enumerate(known)))
    assert result.confidence == wanted


def test_what_was_used_read_and_written_is_summed():
    one = good("x", usage=Usage(tokens_in=2), files_read=("a", "b"), artifacts=(Artifact(path="r.md"),))
    other = good("y", usage=Usage(tokens_in=3), files_read=("b",), warnings=(Warned(type="missing_data", message="m"),))
    result = merged((node("n1"), one), (node("n2"), other))
    assert result.usage is not None
    assert result.usage.tokens_in == 5
    assert result.files_read == ("a", "b")
    assert result.artifacts == (Artifact(path="r.md"),)
    assert result.warnings == other.warnings


@pytest.mark.requirement("A8", "C20", "H13")
def test_tokens_are_measured_with_a_named_counter():
    tokens = merged((node("n1"), good("Short.", {"long": "word " * 500}))).data["tokens"]
    assert tokens["counter"] == "words"
    assert tokens["full"] > 500
    assert 0 < tokens["handed_on"] < 10


def test_files_that_a_failed_agent_wrote_are_named():
    left = bad(artifacts=(Artifact(path="docs/half.md", title="Half"),))
    result = merged((node("a", "one"), good("Done.")), (node("b", "two"), left))
    assert result.data["failures"][0]["artifacts"][0]["path"] == "docs/half.md"
    assert "It broke. Fix it. It wrote `docs/half.md`." in result.content


def test_collected_results_stand_by_their_ids():
    plan = Plan(nodes=(node("n1"), node("n2")))
    result = collect(FinishedRun("t", plan, {"n1": good("x", 1), "n2": bad()}))
    assert result.data["results"] == {"n1": 1}
    assert result.data["failures"][0]["node"] == "n2"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# Big\ntext", "#### Big\ntext"),
        ("Big\n===\ntext", "Big\n\ntext"),
        ("<script>x</script>", "\\<script>x\\</script>"),
        ("![x](http://a/b.png)", "\\![x](http://a/b.png)"),
        ("[x](javascript:alert(1))", "[x\\](javascript:alert(1))"),
        ("[x](https://a.example/b) and [y](docs/a.md)", "[x](https://a.example/b) and [y](docs/a.md)"),
        ("`<b>` stays", "`<b>` stays"),
        ("```\n<b>\n# no heading\n```", "```\n<b>\n# no heading\n```"),
        ("a\x1b[31mred\u202eback", "ared\\u{202e}back"),
        ("a < b and **bold**", "a < b and **bold**"),
    ],
)
def test_an_agent_s_markdown_is_tamed(text: str, wanted: str):
    assert sanitize_markdown(text) == wanted


@given(st.text(max_size=300))
def test_no_text_makes_taming_raise_or_leaves_a_control_character(text: str):
    assert not any(character < " " and character not in "\n\t" for character in sanitize_markdown(text))


@pytest.mark.parametrize(
    ("item", "place"),
    [
        ({"source": "a.md", "line": 3}, "a.md:3"),
        ({"source": "a.md:3", "line": 3}, "a.md:3"),
        ({"path": "a.py", "line_start": 7}, "a.py:7"),
        ({"url": "https://a.example"}, "https://a.example"),
        ({"topic": "x"}, ""),
        ("a.md:1", "a.md:1"),
        (7, ""),
    ],
)
def test_a_citation_names_a_place(item: object, place: str):
    assert place_of(item) == place


def test_kinds_of_sources_are_no_places():
    assert sources_in({"sources": ["docs", "code", "a/b.md"], "citations": [{"source": "a/b.md"}, 3]}) == ("a/b.md",)
    assert sources_in("text") == ()
    assert len(sources_in({"citations": [f"{number}.md" for number in range(500)]})) == 50


def test_what_asks_for_nothing_is_answered_without_anybody():
    result = merged()
    assert (result.outcome, result.warnings, result.completeness) == ("success", (), None)
    assert "asks for nothing" in result.content


def test_what_the_goal_says_not_to_do_is_no_loss():
    unwanted = Dropped(clause="do not list commits", reason="You said not to.", wanted=False)
    result = merged((node("n1"), good("x")), dropped=(unwanted,))
    assert (result.outcome, result.completeness, result.warnings) == ("success", 100, ())
    assert "You said not to." in result.content


def test_the_sentence_that_answers_stays_where_something_new_follows():
    said = "Two people wrote the seven commits: Ada and Grace."
    first = good(f"There are seven commits in all of them.\n\n- {said}")
    result = merged((node("n1"), first), (node("n2"), good(f"{said}\n\n- Ada wrote most of them, as it seems.")))
    assert result.data["answer"][1]["text"] == f"{said}\n\n- Ada wrote most of them, as it seems."
