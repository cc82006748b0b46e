"""What comes out: data, claims, files, outcomes. Nothing passes that the contract does not promise."""

import asyncio
import hashlib
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from retinue.agents.boundary.policy import Policy
from retinue.agents.port import ABSENT, Reply, RunContext
from retinue.contract import json, schema
from retinue.contract.event import NodeFinished, UsageReported
from retinue.contract.fault import Fault
from retinue.contract.finding import Level
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Artifact, Result, Trace, Usage, Warned
from retinue.contract.task import OutputWish, Question, Task
from retinue.errors import ParseError
from retinue.tools.workspace import Workspace
from tests.agents.scripted import BAD, GIVES, GOOD, Scripted, ask, bodies, context, skill, task
from tests.examples import examples

ONCE = Policy(max_retries=0)


def answered(reply: object, *, level: Level = "standard", request: Task | None = None, **facts: Any) -> Result:
    """What a single attempt that hands back `reply` comes to."""
    options = {name: facts.pop(name) for name in ("readers", "run") if name in facts}

    async def move(_: Task, __: RunContext) -> object:
        return reply

    agent = Scripted(move, **facts)
    return asyncio.run(ask(agent, request, policy=Policy(max_retries=0, level=level), **options))


def findings(result: Result, code: str = "output_invalid") -> list[str]:
    """The paths of what was found wrong."""
    assert result.fault is not None
    assert result.fault.code == code, result.fault
    assert not result.useful
    return [finding["path"] for finding in result.fault.detail["findings"]]


# Data.


@pytest.mark.requirement("K29")
def test_data_that_breaks_its_schema_is_no_answer_and_every_finding_is_told() -> None:
    result = answered(Reply(data={"words": "two", "letters": 3}))
    assert findings(result) == ["/data/letters", "/data/words"]
    assert result.outcome == "failed"
    assert result.data == {"words": "two", "letters": 3}
    assert result.warnings[0].synthetic
    assert "kept only" in result.warnings[0].message
    assert result.content == ""


@pytest.mark.requirement("C5")
def test_a_boolean_is_no_number() -> None:
    assert findings(answered(Reply(data={"words": True}))) == ["/data/words"]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({1, 2}, "/data/words"),
        (b"2", "/data/words"),
        (float("nan"), "/data/words"),
        (float("inf"), "/data/words"),
        ({1: 2}, "/data/words"),
        ("\ud800", "/data/words"),
        (10**400, "/data/words"),
        (object(), "/data/words"),
        (Fault(code="timeout", message="x"), "/data/words"),
        ([[[[{"deep": {1}}]]]], "/data/words/0/0/0/0/deep"),
    ],
    ids=range(10),
)
def test_what_is_no_json_is_refused_with_its_place(value: object, path: str) -> None:
    result = answered(Reply(data={"words": value}))
    assert path in findings(result)
    assert result.data is None


def test_data_that_is_too_large_is_told_so() -> None:
    result = answered(Reply(data={"words": "x" * 20_000_000}))
    assert findings(result) == ["/data"]
    assert result.fault is not None
    assert "bytes" in result.fault.message
    assert result.data is None


def test_everything_that_is_no_json_is_listed() -> None:
    assert findings(answered(Reply(data={"a": {1}, "b": b"x", "c": [float("nan")]}))) == [
        "/data/a",
        "/data/b",
        "/data/c/0",
    ]


def test_a_value_that_holds_itself_is_refused() -> None:
    circle: list[object] = []
    circle.append(circle)
    assert findings(answered(Reply(data=circle)))


@pytest.mark.slow
def test_a_value_that_explodes_when_written_is_refused() -> None:
    bomb: list[object] = ["x" * 10_000]
    for _ in range(40):
        bomb = [bomb, bomb]
    assert findings(answered(Reply(data=bomb)))


def test_subclasses_of_plain_types_become_what_they_stand_for() -> None:
    result = answered(Reply(data=OrderedDict[str, int](words=2)))
    assert type(result.data) is dict
    assert result.outcome == "success"


def test_the_result_shares_nothing_with_the_agent() -> None:
    mine: JsonMapping = {"words": 2}
    result = answered(Reply(data=mine))
    mine["words"] = "changed"
    assert result.data == {"words": 2}


def test_claims_share_nothing_with_the_agent_either() -> None:
    args, trace = {"path": ["a"]}, Trace(tool="read", output="text", args={})
    usage = Usage(tokens_in=1)
    result = answered(Reply(content="Done.", usage=usage, traces=(trace.model_copy(update={"args": args}),)))
    args["path"].append("b")
    vars(usage)["tokens_in"] = 2
    assert result.traces[0].args == {"path": ["a"]}
    assert result.usage is not None
    assert result.usage.tokens == 1
    assert result.usage.model_fields_set == {"tokens_in"}


def test_null_is_a_value_and_no_data_is_not() -> None:
    nullable = skill(output_schema={"type": "null"})
    assert answered(Reply(data=None), skills=(nullable,)).outcome == "success"
    assert findings(answered(Reply(), skills=(nullable,))) == ["/data"]


def test_the_callers_own_schema_must_pass_too() -> None:
    wish: JsonMapping = {"properties": {"words": {"maximum": 1}}}
    assert findings(answered(GOOD, request=task(output=OutputWish(schema=wish)))) == ["/data/words"]


def test_an_agent_that_gives_no_reply_at_all_is_told_so() -> None:
    for value in (None, 5, "two", {"words": 2}, Reply):
        assert findings(answered(value)) == [""]


# Text.


def test_a_text_answer_is_read_and_kept_as_it_came() -> None:
    result = answered(Reply(text='```json\n{"words": 2}\n```'))
    assert (result.outcome, result.data, result.native) == ("success", {"words": 2}, '```json\n{"words": 2}\n```')
    assert result.warnings[0].synthetic


def test_a_text_that_holds_no_answer_says_where_it_breaks() -> None:
    result = answered(Reply(text='{"words": 2,}'))
    assert result.fault is not None
    assert (result.fault.code, result.fault.detail["column"]) == ("output_invalid", 12)
    assert result.native == '{"words": 2,}'


def test_the_dialect_of_an_agent_is_read_by_its_reader() -> None:
    def reader(text: str) -> Reply:
        if text != "STATUS: complete":
            raise ParseError("No signal.", hint="Send one.")
        return Reply(data={"words": 2}, outcome="success")

    def broken(_: str) -> Reply:
        raise ZeroDivisionError

    speaks: Any = {"dialect": "task_signal", "readers": {"task_signal": reader}}
    assert answered(Reply(text="STATUS: complete"), **speaks).data == {"words": 2}
    fault = answered(Reply(text="Hello"), **speaks).fault
    assert fault is not None
    assert (fault.code, fault.message, fault.hint) == ("output_invalid", "No signal.", "Send one.")
    fault = answered(Reply(text="x"), dialect="task_signal", readers={"task_signal": broken}).fault
    assert fault is not None
    assert fault.code == "internal_error"


@pytest.mark.parametrize("text", [5, b"x", ["x"]])
def test_a_text_that_is_none_is_refused(text: Any) -> None:
    result = answered(Reply(text=text))
    assert result.fault is not None
    assert result.fault.code == "output_invalid"


# Claims.


def test_claims_arrive_as_they_were_made() -> None:
    reply = Reply(
        data={"words": 2},
        content="Two words.",
        warnings=(Warned(type="missing_data", message="m"),),
        traces=(Trace(tool="wc", output="2", args={"a": [1]}),),
        usage=Usage(tokens_in=3),
        confidence=1,
        completeness=90,
        files_read=("a.md",),
        reasoning="because",
        extras={"k": [1]},
    )
    run = context()
    result = answered(reply, run=run)
    assert result.content == "Two words."
    assert result.warnings == reply.warnings
    assert result.traces == reply.traces
    assert result.traces[0].args is not reply.traces[0].args
    assert (result.usage, result.confidence, result.completeness) == (reply.usage, 1.0, 90)
    assert (result.files_read, result.reasoning, result.extras["k"]) == (("a.md",), "because", [1])
    assert result.attempts[0].usage == reply.usage
    assert UsageReported(Usage(tokens_in=3)) in bodies(run)


@pytest.mark.requirement("C5")
@pytest.mark.parametrize(
    ("claims", "path"),
    [
        ({"confidence": 1.5}, "/confidence"),
        ({"confidence": True}, "/confidence"),
        ({"confidence": float("nan")}, "/confidence"),
        ({"completeness": 101}, "/completeness"),
        ({"completeness": 50.0}, "/completeness"),
        ({"outcome": "great"}, "/outcome"),
        ({"content": 5}, "/content"),
        ({"content": "\ud800"}, "/content"),
        ({"warnings": "all fine"}, "/warnings"),
        ({"warnings": ({"type": "x"},)}, "/warnings/0/type"),
        ({"traces": (Trace(tool="t", output="o", args={"a": {1}}),)}, "/traces/0/args/a"),
        ({"traces": (Trace.model_construct(tool=5),)}, "/traces/0/tool"),
        ({"usage": {"tokens_in": -1}}, "/usage/tokens_in"),
        ({"fault": "broken"}, "/fault"),
        ({"extras": {"a": object()}}, "/extras/a"),
        ({"extras": []}, "/extras"),
        ({"files_read": (5,)}, "/files_read/0"),
        ({"questions": (None,)}, "/questions/0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_claim_that_makes_no_sense_is_found_and_a_lenient_reader_drops_it(claims: JsonMapping, path: str) -> None:
    reply = Reply(data={"words": 2}, **claims)
    assert path in findings(answered(reply))
    lenient = answered(reply, level="lenient")
    assert lenient.outcome == "success"
    assert lenient.warnings[-1].synthetic
    assert lenient.data == {"words": 2}


def test_every_wrong_claim_is_told() -> None:
    reply = Reply(data={"words": -1}, confidence=2, completeness=-1, extras={"a": {1}})
    assert set(findings(answered(reply))) == {"/data/words", "/confidence", "/completeness", "/extras/a"}


def test_lists_are_taken_for_tuples() -> None:
    reply = Reply(data={"words": 2}, files_read=["a"])  # pyright: ignore[reportArgumentType] - what agents do
    assert answered(reply).files_read == ("a",)


# Outcomes.


@pytest.mark.requirement("C3", "K31")
def test_a_partial_answer_owes_a_warning_and_gets_a_marked_one() -> None:
    reply = Reply(data={"words": 2}, outcome="partial")
    (warning,) = answered(reply).warnings
    assert (warning.type, warning.synthetic) == ("degraded_analysis", True)
    assert set(findings(answered(reply, level="strict"))) == {"/warnings", "/completeness"}


@pytest.mark.requirement("C3")
def test_a_strict_reader_wants_all_four_fields_of_a_warning() -> None:
    said = Warned(type="missing_data", message="m", impact="i", recovery="r")
    whole = Reply(data={"words": 2}, outcome="partial", warnings=(said,), completeness=50)
    assert answered(whole, level="strict").outcome == "partial"
    half = Reply(
        data={"words": 2}, outcome="partial", warnings=(Warned(type="missing_data", message="m"),), completeness=5
    )
    assert findings(answered(half, level="strict")) == ["/warnings/0"]
    assert answered(half).warnings == half.warnings


def test_success_and_a_fault_cannot_both_be() -> None:
    fault = Fault(code="internal_error", message="x")
    assert findings(answered(Reply(data={"words": 2}, outcome="success", fault=fault))) == ["/outcome"]
    partial = answered(Reply(data={"words": 2}, outcome="partial", fault=fault))
    assert partial.outcome == "partial"
    assert partial.fault is not None


@pytest.mark.requirement("C1")
def test_a_fault_without_an_outcome_is_an_error_and_the_agents_own_word_stays() -> None:
    fault = Fault(code="missing_file", message="x")
    assert answered(Reply(fault=fault)).outcome == "error"
    for word in ("error", "failed", "rejected", "canceled"):
        result = answered(Reply(fault=fault, outcome=word))
        assert result.outcome == word
        assert result.fault is not None
        assert (result.fault.code, result.fault.operation) == ("missing_file", "count")
    assert answered(Reply(outcome="rejected")).outcome == "rejected"
    assert answered(Reply(fault=Fault(code="canceled", message="x"))).outcome == "canceled"


def test_a_failure_without_a_reason_gets_one_that_says_so() -> None:
    result = answered(Reply(outcome="error"))
    assert result.fault is not None
    assert result.fault.detail["synthetic"]
    assert findings(answered(Reply(outcome="error"), level="strict")) == ["/fault"]


def test_what_a_failing_agent_found_is_kept_and_marked() -> None:
    result = answered(
        Reply(data={"words": 2}, fault=Fault(code="missing_file", message="x"), traces=(Trace(tool="t", output=""),))
    )
    assert (result.outcome, result.data, result.content) == ("error", {"words": 2}, "")
    assert "did not end well" in result.warnings[-1].message
    assert result.traces
    broken = answered(Reply(data={"words": "x"}, fault=Fault(code="missing_file", message="x")))
    assert broken.fault is not None
    assert broken.fault.code == "missing_file"
    assert len(broken.warnings) == 2


def test_an_answer_has_something_in_it() -> None:
    free = skill(output_schema=None)
    assert findings(answered(Reply(), skills=(free,))) == [""]
    assert findings(answered(Reply(content=" \n"), skills=(free,))) == [""]
    assert answered(Reply(outcome="success"), skills=(free,)).outcome == "success"  # it did its work, and says so
    assert findings(answered(Reply(outcome="success"), skills=(free,), level="strict")) == [""]
    assert findings(answered(Reply(outcome="partial"), skills=(free,))) == [""]
    assert answered(Reply(content="Hello"), skills=(free,), level="strict").content == "Hello"
    assert findings(answered(Reply(content="Hello"))) == ["/data"]


def test_a_question_ends_as_input_required() -> None:
    run, question = context(), Question(id="q", text="Which file?", parameter="text")
    result = answered(Reply(questions=(question,)), run=run)
    assert (result.lifecycle, result.outcome, result.questions) == ("input_required", None, (question,))
    assert isinstance(bodies(run)[-1], NodeFinished)
    assert findings(answered(Reply(data={"words": "x"}, questions=(question,)))) == ["/data/words"]


def test_a_plan_is_handed_on_by_an_agent_that_composes_and_by_no_other() -> None:
    plan, run = Plan(goal="g", nodes=(Delegation(id="a", agent="counter"),)), context()
    result = answered(Reply(plan=plan), run=run, composes=True)
    assert (result.lifecycle, result.outcome) == ("working", None)
    assert Plan.model_validate_json(json.dumps(result.extras["plan"])) == plan
    assert not any(isinstance(body, NodeFinished) for body in bodies(run))
    assert findings(answered(Reply(plan=plan))) == [""]
    assert findings(answered(Reply(plan="walk"), composes=True)) == [""]  # pyright: ignore[reportArgumentType] - garbage


# Files.


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "report.md").write_text("# Report\n")
    (tmp_path / "empty.md").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.md").symlink_to("/etc/hostname")
    return Workspace(tmp_path)


def test_a_claimed_file_is_measured(workspace: Workspace) -> None:
    claimed = Artifact(path="./report.md", title="Report", size=1, sha256="0" * 64)
    reply = Reply(data={"words": 2}, artifacts=(claimed,), files_written=("report.md", "./report.md"))
    result = answered(reply, run=context(workspace=workspace))
    assert result.artifacts == (
        Artifact(
            path="report.md",
            title="Report",
            size=9,
            sha256=hashlib.sha256(b"# Report\n").hexdigest(),
            media_type="text/markdown",
        ),
    )
    assert result.files_written == ("report.md",)


def test_a_file_of_any_size_is_measured_in_time(workspace: Workspace, tmp_path: Path) -> None:
    with (tmp_path / "sparse.bin").open("wb") as file:
        file.truncate(200 * 2**30)
    result = answered(Reply(data={"words": 2}, files_written=("sparse.bin",)), run=context(workspace=workspace))
    assert result.files_written == ("sparse.bin",)
    result = answered(
        Reply(data={"words": 2}, artifacts=(Artifact(path="sparse.bin"),)), run=context(workspace=workspace)
    )
    (measured,) = result.artifacts
    assert (measured.size, measured.sha256) == (200 * 2**30, None)


def test_more_files_than_can_be_checked_are_no_success(workspace: Workspace) -> None:
    claimed = tuple(f"gone{number}.md" for number in range(20_000))
    result = answered(
        Reply(data={"words": 2}, files_written=claimed), run=context(workspace=workspace), level="lenient"
    )
    assert result.fault is not None
    assert "20,000 files are claimed; only 2,000 were checked." in str(result.fault.detail)
    assert len(findings(result)) == 2_001


@pytest.mark.requirement("C12")
@pytest.mark.parametrize(
    "path", ["gone.md", "empty.md", "folder", "link.md", "../x", "/etc/hostname", "", "a\nb", "a\0b", "x" * 5000]
)
def test_success_claimed_and_nothing_written_is_no_success(workspace: Workspace, path: str) -> None:
    for claim in (
        Reply(data={"words": 2}, artifacts=(Artifact(path=path),)),
        Reply(data={"words": 2}, files_written=(path,)),
    ):
        result = answered(claim, run=context(workspace=workspace), level="lenient")
        assert len(findings(result)) == 1
        assert result.artifacts == ()
        assert result.fault is not None
        assert "was not written" in result.fault.message


def test_without_a_workspace_no_file_can_have_been_written() -> None:
    assert findings(answered(Reply(data={"words": 2}, files_written=("report.md",)))) == ["/files_written/0"]


def test_a_failing_agents_false_claims_are_told_beside_its_fault(workspace: Workspace) -> None:
    reply = Reply(fault=Fault(code="missing_file", message="x"), files_written=("gone.md", "report.md"))
    result = answered(reply, run=context(workspace=workspace))
    assert result.fault is not None
    assert result.fault.code == "missing_file"
    assert result.files_written == ("report.md",)
    assert "gone.md" in result.warnings[0].message


def test_the_file_that_was_asked_for_must_be_there(workspace: Workspace) -> None:
    writer = skill(effects=("write",))
    for path, outcome in (("report.md", "success"), ("gone.md", "failed")):
        request = task(output=OutputWish(path=path))
        assert answered(GOOD, request=request, run=context(workspace=workspace), skills=(writer,)).outcome == outcome
    (warning,) = answered(GOOD, request=task(output=OutputWish(path="gone.md"))).warnings
    assert warning.type == "missing_data"


# Anything.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.text(st.characters(categories=["Cs"])),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
ODD: Any = st.sampled_from([{1}, b"x", object(), {1: 1}, 1j, range(3), Reply, ValueError("x"), lambda: 0, 10**400])
ANYTHING = JSON | ODD | st.just({"words": 2})
FREE = skill(output_schema={"type": ["object", "array", "integer"]})


@given(
    data=ANYTHING | st.just(ABSENT),
    claims=st.dictionaries(
        st.sampled_from([name for name in Reply.__dataclass_fields__ if name not in {"data", "text"}]),
        ANYTHING,
        max_size=4,
    ),
    level=st.sampled_from(["strict", "standard", "lenient"]),
)
@settings(max_examples=examples(200))
def test_no_reply_escapes_and_none_succeeds_that_breaks_its_schema(
    data: object, claims: JsonMapping, level: Level
) -> None:
    result = answered(Reply(data=data, **claims), level=level, skills=(FREE,))
    assert Result.model_validate_json(result.to_json_text()).outcome == result.outcome
    assert (
        result.fault is not None
        or result.useful
        or result.lifecycle != "ended"
        or result.outcome in {"rejected", "canceled"}
    )
    if result.useful:
        assert schema.compile(FREE.output_schema or {}).is_valid(result.data)


@given(text=st.text() | st.sampled_from(["{}", "[]", '{"words": 2}', 'x {"words": 3} y', '{"words": -1}']))
def test_no_text_escapes_and_none_succeeds_that_breaks_its_schema(text: str) -> None:
    result = answered(Reply(text=text))
    assert result.native == text
    assert result.useful == schema.compile(GIVES).is_valid(result.data)


@given(value=ANYTHING | st.text())
def test_whatever_run_gives_is_a_result(value: object) -> None:
    assert answered(value).fault is not None


@pytest.mark.requirement("C25")
def test_there_is_always_a_result(workspace: Workspace) -> None:
    for reply in (GOOD, BAD, Reply(), Reply(text=""), None):
        assert isinstance(answered(reply, run=context(workspace=workspace)), Result)
