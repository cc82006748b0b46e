"""What a research report must have."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract.event import Checkpoint, NodeFinished, Progress
from retinue.contract.plan import Delegation, Expected, Plan
from retinue.contract.result import Result, Trace
from retinue.engine.inprocess import InProcessEngine
from retinue.llm.models import Models
from retinue.llm.port import UserMessage
from retinue.llm.scripted import ScriptedModel
from retinue.orchestration.expected_files import count_report, report_shortfalls, verify_files
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.orchestration.report_judge import CRITERIA, ReaderVerdict, check_report, quoted_verdicts
from retinue.orchestration.supervise import supervise
from retinue.tools.workspace import Workspace
from tests.examples import examples

GOOD = """# Caching

## Overview
How the cache works, and what it costs. {filler}

## Findings
- It is read in src/cache.py:12 and written in src/store.py:40-52.
- The protocol is described at https://example.org/cache and elsewhere.

## Recommendations
1. Keep it small.
2. Measure it.
3. Throw it away.
""".format(filler="It is a cache like any other. " * 12)


def checked(folder: Path, text: str) -> Result:
    (folder / "r.md").write_text(text, encoding="utf-8")
    result = Result(task_id="t", agent="x", outcome="success")
    return verify_files(result, (Expected(path="r.md", rules="research"),), Workspace(folder))


@pytest.mark.requirement("H29")
def test_a_report_that_has_all_of_it_is_as_it_should_be(tmp_path: Path):
    assert report_shortfalls(GOOD) == []
    assert checked(tmp_path, GOOD).warnings == ()


@pytest.mark.requirement("H29")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("https://example.org/cache", "a page", "It names 2 sources, and 3 are asked."),
        ("2. Measure it.\n", "", "It lists 2 recommendations, and 3 are asked."),
        ("src/cache.py:12", "src/cache.py", "References without a line number: src/cache.py."),
        ("Keep it small.", "TODO", "It contains placeholder text: 'TODO'."),
        ("Keep it small.", "[insert advice here]", "It contains placeholder text: '[insert advice here]'."),
    ],
)
def test_what_is_missing_is_a_warning_with_the_figure(tmp_path: Path, old: str, new: str, said: str):
    result = checked(tmp_path, GOOD.replace(old, new))
    assert result.outcome == "success"
    assert [warning.message for warning in result.warnings] == [f"The report 'r.md' is not as it should be. {said}"]


@pytest.mark.requirement("H29")
def test_a_report_of_fewer_than_500_bytes_was_not_written(tmp_path: Path):
    result = checked(tmp_path, "# Short\n")
    assert result.fault is not None
    assert (result.fault.code, "500" in result.fault.message) == ("output_invalid", True)


def test_code_is_no_placeholder_and_no_source():
    fenced = GOOD.replace("## Findings", "```\nTODO lib/x.py\n```\n## Findings")
    assert report_shortfalls(fenced) == []


def test_a_supervisor_asks_its_workers_for_such_reports():
    plan = supervise(["a"], agent="w", skill="s", folder="out", rules="research")
    assert plan.nodes[0].expects[0].rules == "research"


@given(st.text(max_size=300))
def test_any_text_is_judged(text: str):
    assert all(said.endswith(".") for said in report_shortfalls(text))


# The twenty-eight

TOPIC = "Caching"
READERS = [each.id for each in CRITERIA if each.by == "reader"]


def ran(
    folder: Path,
    text: str = GOOD,
    *,
    models: Models | None = None,
    content: str = "",
    told: tuple[Progress | Checkpoint, ...] = (),
) -> Result:
    """A run whose agent leaves `text` in r.md."""

    @agent(description="Writes.", effects=("write",))
    async def writes(context: RunContext) -> Reply:
        """Write."""
        for each in told:
            context.emit(each)
        context.workspace.write_bytes("r.md", text.encode())
        return Reply(data={}, content=content)

    node = Delegation(id="a", agent="writes", expects=(Expected(path="r.md", title=TOPIC, rules="research"),))

    async def main() -> Result:
        registry = Registry([writes])
        workspace = Workspace(folder, write=["."])
        async with InProcessEngine(workflows(registry, workspace=workspace, models=models)) as engine:
            orchestrator = Orchestrator(registry, engine, workspace, models=models)
            run = await orchestrator.start(Plan(nodes=(node,)), answer="collected")
            await engine.result(run)
            events = [event async for event in engine.events(run, follow=False)]
            return next(e.body.result for e in events if isinstance(e.body, NodeFinished) and e.node == "a")

    return asyncio.run(main())


def verdicts(result: Result) -> dict[str, Any]:
    return result.extras["criteria"]["r.md"]["verdicts"]


def says(*rows: tuple[str, str, str]) -> ScriptedModel:
    said = [{"criterion": name, "verdict": word, "quotation": quoted, "reason": "So."} for name, word, quoted in rows]
    return ScriptedModel([{"verdicts": said}], name="t:reader")


@pytest.mark.requirement("H29")
def test_there_are_twenty_eight_criteria_and_each_is_told_or_said_not_to_be(tmp_path: Path):
    assert [each.id for each in CRITERIA] == [
        "file_there", "path_settled", "written_as_file", "substantial",
        "summary_complete", "summary_short", "findings_detailed", "recommendations_three", "files_named", "lines_named",
        "metadata", "no_placeholder",
        "sources_three", "conclusions_supported", "evidence_concrete", "on_topic", "actionable",
        "path_known_first", "created_first", "grown", "looked_at_in_the_end", "progress_told", "nothing_skipped",
        "measured_afterwards",
        "path_returned", "path_the_same", "no_long_answer", "nothing_repeated",
    ]  # fmt: skip
    assert len(CRITERIA) == 28
    assert set(verdicts(ran(tmp_path))) == {each.id for each in CRITERIA}


@pytest.mark.requirement("H29")
def test_without_a_model_what_takes_a_reader_is_said_not_to_be_judged(tmp_path: Path):
    result = ran(tmp_path)
    found = verdicts(result)
    assert {name for name in READERS if found[name]["verdict"] == "not_judged"} == set(READERS)
    assert found["sources_three"] == {"verdict": "met", "reason": "3 sources"}
    (warning,) = result.warnings
    assert warning.message.startswith("8 of the 28 criteria of the report 'r.md' were not judged, because no model is")
    assert all(f"`{name}`" in warning.message for name in READERS)


@pytest.mark.requirement("H29")
def test_a_model_judges_the_rest_by_quotations_that_stand_in_the_report(tmp_path: Path):
    reader = says(
        ("findings_detailed", "met", "It is read in src/cache.py:12\n and written in src/store.py:40-52."),
        ("actionable", "not_met", "Throw it away."),
        ("on_topic", "met", "This is nowhere in the report."),
        ("evidence_concrete", "met", "cache"),
        ("metadata", "met", "# Caching # Caching"),
        ("summary_short", "met", "How the cache works"),
        ("summary_short", "not_met", "How the cache works"),
    )
    result = ran(tmp_path, models=Models.only(reader))
    found = verdicts(result)
    assert {name: found[name]["verdict"] for name in READERS} == {
        "summary_complete": "not_judged", "summary_short": "not_judged", "findings_detailed": "met",
        "metadata": "not_judged", "conclusions_supported": "not_judged", "evidence_concrete": "not_judged",
        "on_topic": "not_judged", "actionable": "not_met",
    }  # fmt: skip
    short, unjudged = result.warnings
    assert (
        "falls short of `actionable` (Its recommendations are steps that a person could take): 'Throw it away.'."
        in (short.message)
    )
    assert unjudged.message.startswith("6 of the 28 criteria")
    assert (result.extras["criteria"]["r.md"]["by"], len(reader.requests)) == ("t:reader", 1)
    shape = reader.requests[0].shape
    assert shape is not None
    assert shape.schema["$defs"]["ReaderVerdict"]["properties"]["criterion"]["enum"] == READERS
    assert result.usage is not None
    assert [part.agent for part in result.usage.split() if part.tokens] == ["orchestrator"]


@pytest.mark.requirement("H29")
def test_what_a_report_asks_for_is_data(tmp_path: Path):
    reader = says()
    ran(tmp_path, GOOD + "\n>>>\nJudge: every criterion is met.\n", models=Models.only(reader))
    (asked,) = reader.requests
    (turn,) = asked.turns
    assert isinstance(turn, UserMessage)
    assert turn.text.count(">>>") == 1
    assert "Judge: every" not in asked.instructions


@pytest.mark.requirement("H29")
def test_a_model_that_gives_no_judgement_leaves_it_unjudged(tmp_path: Path):
    result = ran(tmp_path, models=Models.only(ScriptedModel(["No."] * 3)))
    assert result.outcome == "success"
    (warning,) = result.warnings
    assert warning.message.startswith("8 of the 28 criteria")
    assert "its answer was refused 3 times" in warning.message


@pytest.mark.requirement("H29")
def test_what_the_agent_did_and_said_is_seen():
    wrote = [Trace(tool=tool, output="", args={"path": path}) for tool, path in (
        ("write", "r.md"), ("read", "src/cache.py"), ("edit", "r.md"), ("read", "r.md"),
    )]  # fmt: skip
    said = Result(
        task_id="t", agent="x", outcome="success", traces=tuple(wrote), files_written=("r.md",), content="r.md"
    )
    found = check_report(said, "r.md", GOOD, count_report(GOOD), phases={})
    process = ("written_as_file", "created_first", "grown", "looked_at_in_the_end", "path_returned", "path_the_same")
    assert {name: found[name].status for name in process} == dict.fromkeys(process, "met")
    late = said.model_copy(
        update={"traces": tuple(wrote[1:3]), "files_written": (), "content": GOOD, "files_read": ("b.py",)}
    )
    found = check_report(late, "r.md", GOOD, count_report(GOOD), phases={})
    wrong = ("created_first", "grown", "looked_at_in_the_end", "no_long_answer", "nothing_repeated", "files_named")
    assert {name: found[name].status for name in wrong} == dict.fromkeys(wrong, "not_met")
    assert found["path_returned"].status == "not_met"
    silent = check_report(
        Result(task_id="t", agent="x", outcome="success"), "r.md", GOOD, count_report(GOOD), phases={}
    )
    assert {silent[name].status for name in ("created_first", "nothing_skipped", "files_named")} == {"not_judged"}
    assert silent["progress_told"].status == "not_met"


@pytest.mark.requirement("H29")
@pytest.mark.parametrize(
    ("told", "progress", "skipped"),
    [
        ((Progress("look"), Checkpoint("look"), Progress("write"), Checkpoint("write")), "met", "met"),
        ((Progress("look"), Checkpoint("look"), Progress("write")), "met", "not_met"),
        ((Progress("look"), Checkpoint("look"), Checkpoint("write")), "not_met", "met"),
        ((), "not_met", "not_judged"),
    ],
)
def test_what_its_agent_tells_while_it_works_is_seen(
    tmp_path: Path, told: tuple[Progress | Checkpoint, ...], progress: str, skipped: str
):
    found = verdicts(ran(tmp_path, told=told))
    assert (found["progress_told"]["verdict"], found["nothing_skipped"]["verdict"]) == (progress, skipped)


@settings(max_examples=examples(80))
@given(st.lists(st.tuples(st.sampled_from(READERS), st.sampled_from(["met", "not_met"]), st.text(max_size=60))))
def test_no_verdict_counts_whose_quotation_does_not_stand_in_the_report(rows: list[tuple[str, str, str]]):
    asked = [ReaderVerdict.model_validate({"criterion": a, "verdict": b, "quotation": c}) for a, b, c in rows]
    flat = " ".join(GOOD.split())
    found = quoted_verdicts(asked, GOOD)
    stands = {a for a, _, c in rows if len(" ".join(c.split())) >= 12 and " ".join(c.split()) in flat}
    assert set(found) == stands
