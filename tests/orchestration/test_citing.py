"""Claims held against evidence: what is cited must say it."""

import pytest
from hypothesis import given, strategies as st

from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result
from retinue.orchestration.cited_summary import Evidence, EvidencePiece, collect_evidence, verify_summary, with_summary
from retinue.orchestration.synthesise import FinishedRun

EVIDENCE = Evidence(
    (
        EvidencePiece(
            "a.1", "reader", "Retries wait 1,200 ms and are tried 3 times by `retry_loop`.", "src/retry.py:12"
        ),
        EvidencePiece("b.1", "git", "The parser was last changed by Ada Lovelace.", "commit 37d30fa"),
    )
)


def judged(text: str, *cites: str) -> tuple[bool, str]:
    record = Result(
        task_id="t", agent="o", outcome="success", data={"model": "m", "claims": [{"text": text, "cites": list(cites)}]}
    )
    summary = verify_summary(EVIDENCE, record)
    return bool(summary.claims), summary.dropped_claims[0][1] if summary.dropped_claims else ""


@pytest.mark.parametrize(
    ("text", "cites"),
    [
        ("Retries are tried 3 times.", ["a.1"]),
        ("Retries wait 1200 ms", ["a.1"]),
        ("It is done by `retry_loop` in src/retry.py:12.", ["a.1"]),
        ("Ada Lovelace changed the parser, and retries are tried 3 times.", ["a.1", "b.1"]),
        ('It says "the parser was last changed".', ["b.1"]),
    ],
)
def test_a_claim_stands_when_its_figures_and_words_stand_in_what_it_cites(text: str, cites: list[str]):
    assert judged(text, *cites) == (True, "")


@pytest.mark.parametrize(
    ("text", "cites", "why"),
    [
        ("Retries are tried 4 times.", ["a.1"], "the figure 4"),
        ("Retries are tried 3 times.", ["b.1"], "the figure 3"),
        ("Retries are tried.", ["c.9"], "no evidence"),
        ("Retries are tried.", [], "cites nothing"),
        ("Retries are made by `backoff_loop`.", ["a.1"], "'backoff_loop'"),
        ("Retries stand in src/other.py.", ["a.1"], "'src/other.py'"),
        ("Retries are described at https://evil.example/x", ["a.1"], "https://evil.example/x"),
        ('It says "the moon is made of cheese".', ["b.1"], "moon"),
        ("Bananas grow on trees.", ["b.1"], "no word in common"),
        ("Retries wait -1200 and 50 %.", ["a.1"], "the figure 50"),
    ],
)
def test_a_claim_that_its_citation_does_not_hold_is_dropped_with_why(text: str, cites: list[str], why: str):
    stands, said = judged(text, *cites)
    assert not stands
    assert why in said


def test_what_agents_said_becomes_pieces_with_their_sources():
    findings = [{"topic": "retries", "content": "They wait.", "source": "a.md", "line": 3}]
    table = {"title": "t", "columns": [{"name": "who"}, {"name": "times"}], "rows": [["Ada", 3], ["Bo", None]]}
    result = Result(
        task_id="t", agent="reader", outcome="success", content="# Title\n\n- One thing. Another thing.\n\n---\n",
        data={"findings": findings, "tables": [table]},
    )  # fmt: skip
    empty = Result(task_id="t", agent="x", outcome="error")
    plan = Plan(nodes=(Delegation(id="a", agent="reader"), Delegation(id="b", agent="x")))
    evidence = collect_evidence(FinishedRun(task_id="t", plan=plan, results={"a": result, "b": empty}))
    assert [(piece.id, piece.text, piece.source) for piece in evidence.pieces] == [
        ("a.1", "They wait.", "a.md:3"),
        ("a.2", "Title", "a.md:3"),
        ("a.3", "One thing.", "a.md:3"),
        ("a.4", "Another thing.", "a.md:3"),
        ("a.5", "who: Ada; times: 3", "a.md:3"),
        ("a.6", "who: Bo", "a.md:3"),
    ]
    assert evidence.digest == collect_evidence(FinishedRun(task_id="other", plan=plan, results={"a": result})).digest


def test_much_evidence_is_cut_and_counted():
    long = Result(
        task_id="t", agent="x", outcome="success", content="\n".join(f"Line {n} says it." for n in range(500))
    )
    plan = Plan(nodes=tuple(Delegation(id=f"n{number}", agent="x") for number in range(10)))
    evidence = collect_evidence(FinishedRun(task_id="t", plan=plan, results={node.id: long for node in plan.nodes}))
    assert len(evidence.pieces) == 240
    assert evidence.left_out > 0


@given(st.text(max_size=300), st.lists(st.sampled_from(["a.1", "b.1", "x", ""]), max_size=4))
def test_whatever_is_claimed_is_kept_or_dropped_with_a_reason(text: str, cites: list[str]):
    stands, why = judged(text, *cites)
    assert stands != bool(why)
    assert not stands or set(cites) <= {"a.1", "b.1"}


def test_a_record_that_says_nothing_leaves_the_answer_as_it_is():
    merged = Result(task_id="t", agent="o", outcome="success", data={"answer": []})
    canceled = Result(task_id="t", agent="o", outcome="canceled")
    summary = verify_summary(EVIDENCE, canceled)
    assert summary.refusal == "it said nothing"
    assert with_summary(merged, summary).data["answer"] == []


def test_markup_of_a_model_is_tamed():
    record = Result(
        task_id="t", agent="o", outcome="success",
        data={"model": "m", "claims": [{"text": "Retries <script>alert(3)</script> ![x](http://e.example)", "cites": ["a.1"]}]},
    )  # fmt: skip
    summary = verify_summary(EVIDENCE, record)
    assert summary.claims == ()
    assert "http" in summary.dropped_claims[0][1] or "is not in what it cites" in summary.dropped_claims[0][1]
