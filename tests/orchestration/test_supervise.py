"""The supervisor's plan: paths before the start, one worker a topic, a barrier."""

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Artifact, Result
from retinue.contract.task import Limits, Task
from retinue.errors import AccessDenied, InvalidInput
from retinue.orchestration.expected_files import overlap_findings
from retinue.orchestration.supervise import SECTIONS, supervise
from retinue.tools.workspace import Workspace
from tests.orchestration.parts import orchestrated


def plan(*topics: str, **options: Any) -> Plan:
    return supervise(topics, agent="worker", skill="worker", **options)


@pytest.mark.requirement("H22", "H20")
def test_every_topic_has_a_worker_with_a_path_of_its_own():
    made = plan(
        "Auth patterns",
        "/v1/orders",
        "日本",
        folder="reports/",
        instruction="Research {topic}.",
        parameters={"task": "all about {topic}", "deep": [{"x": "{topic}"}], "n": 3},
        limits=Limits(retries=0),
        goal="All three",
    )
    assert [(one.id, one.expects[0].path) for one in made.nodes] == [
        ("001_auth_patterns", "reports/001_auth_patterns.md"),
        ("002_v1_orders", "reports/002_v1_orders.md"),
        ("003_topic", "reports/003_topic.md"),
    ]
    first = made.nodes[0]
    assert (first.instruction, first.target) == ("Research Auth patterns.", "Auth patterns")
    assert first.parameters == {"task": "all about Auth patterns", "deep": [{"x": "Auth patterns"}], "n": 3}
    assert first.expects[0].sections == SECTIONS
    assert (made.join, made.quorum, made.goal) == ("quorum", 0.5, "All three")


def test_without_a_folder_no_files_are_expected():
    assert all(not one.expects for one in plan("a", "b").nodes)


@pytest.mark.requirement("H22")
def test_a_delegation_that_comes_after_needs_them_all_and_is_handed_their_metadata():
    then = Delegation(id="sum", agent="editor", context={"001_a": "full"})
    made = plan("a", "b", then=then, quorum=1.0)
    last = made.nodes[-1]
    assert last.needs == ("001_a", "002_b")
    assert last.context == {"001_a": "full", "002_b": "metadata"}
    assert (last.join, last.quorum, made.join) == ("quorum", 1.0, "all")


@pytest.mark.parametrize(
    ("topics", "options", "says"),
    [
        ([], {}, "there are none"),
        (["a", " "], {}, "topic 1 is empty"),
        (["A b", "x", "a  B"], {}, "'a  B' appears twice"),
        (["a"], {"quorum": 0.0}, "not a share"),
        (["a"], {"quorum": float("nan")}, "not a share"),
    ],
)
def test_what_cannot_be_given_out_is_refused(topics: list[str], options: dict[str, Any], says: str):
    with pytest.raises(InvalidInput, match=says):
        plan(*topics, **options)


def test_a_folder_outside_the_workspace_is_refused():
    with pytest.raises(AccessDenied):
        plan("a", folder="../out")


@pytest.mark.requirement("H22")
@given(st.lists(st.text(max_size=80), min_size=1, max_size=12))
def test_paths_never_meet_and_never_leave_their_folder(topics: list[str]):
    try:
        made = plan(*topics, folder="out")
    except InvalidInput:
        assert len({" ".join(topic.split()).casefold() for topic in topics} - {""}) < len(topics)
        return
    paths = [expected.path for one in made.nodes for expected in one.expects]
    assert len({path.casefold() for path in paths}) == len(topics)
    assert all(PurePosixPath(path).parent == PurePosixPath("out") for path in paths)
    assert overlap_findings(made) == []


# Walked


@agent(description="Writes a report.", effects=["write"])
async def worker(task: Task, run: RunContext) -> Reply:
    """Write it, unless the topic says otherwise."""
    topic, path = task.target or "", task.output.path or ""
    if topic.startswith("bad"):
        raise FileNotFoundError(topic)
    text = f"## Overview\n\n{topic}\n\n## Findings\n\n-\n\n## Recommendations\n\n-\n"
    if not topic.startswith("lazy"):
        run.workspace.write_bytes(path, text.encode())
    metadata = {
        "artifact_path": path,
        "title": topic.upper(),
        "summary": f"{topic} — “as I say it”, at some length: " + "word " * 80,
        "key_findings": ["one", {"two": 2}],
        "recommendations": [],
        "file_paths": [path],
        "size": len(text),
    }
    return Reply(data={"metadata": metadata}, artifacts=() if topic.startswith("lazy") else (Artifact(path=path),))


HANDED: list[Any] = []


@agent(description="Puts reports together.")
async def editor(task: Task, loses: bool = False) -> dict[str, Any]:
    """Count them."""
    HANDED.append(task.context.inputs)
    items = [one["metadata"] for one in task.context.inputs.values()]
    return {"metadata": items[:-1] if loses else items}


def walked(folder: Path, *topics: str, **options: Any) -> Result:
    made = supervise(topics, agent="worker", skill="worker", folder="reports", **options)
    workspace = Workspace(folder, write=["."])
    return orchestrated(worker, editor, work=lambda o: o.run_plan(made), workspace=workspace)


@pytest.mark.requirement("H22", "H24", "H25", "K13")
@pytest.mark.parametrize(
    ("topics", "quorum", "outcome", "says"),
    [
        (("a", "b", "c", "d"), 0.5, "success", ""),
        (("a", "b", "bad c", "lazy d"), 0.5, "partial", "2 of 4 branches reported: `003_bad_c`, `004_lazy_d` did not."),
        (("a", "bad b", "bad c", "lazy d"), 0.5, "error", "Only 1 of 4 branches reported, and 2 are wanted"),
        (("a", "b", "c", "lazy d"), 1.0, "error", "Only 3 of 4 branches reported, and 4 are wanted"),
        (("a", "b", "c", "d"), 1.0, "success", ""),
        (("bad a", "lazy b"), 0.5, "error", "Only 0 of 2 branches reported, and 1 are wanted"),
    ],
)
def test_half_of_the_reports_are_enough_and_whoever_is_missing_is_named(
    tmp_path: Path, topics: tuple[str, ...], quorum: float, outcome: str, says: str
):
    result = walked(tmp_path, *topics, quorum=quorum)
    assert result.outcome == outcome
    said = " ".join([*(warning.message for warning in result.warnings), result.fault.message if result.fault else ""])
    assert says in said
    if outcome == "error":
        assert result.fault is not None
        assert result.fault.code == "missing_file"
        assert result.fault.detail["wanted"] > result.fault.detail["came"]
    there = [topic for topic in topics if topic.split()[0] not in {"bad", "lazy"}]
    assert len(result.artifacts) == len(there) == len(list((tmp_path / "reports").glob("*.md")) if there else [])


@pytest.mark.requirement("H31", "C30")
def test_metadata_is_forwarded_byte_for_byte(tmp_path: Path):
    HANDED.clear()
    result = walked(tmp_path, "a", "bad b", "c", then=Delegation(id="sum", agent="editor", skill="editor"))
    assert result.outcome == "partial"
    (handed,) = HANDED
    assert list(handed) == ["001_a", "003_c"]
    summary = handed["001_a"]["metadata"]["summary"]
    assert summary.encode() == ("a — “as I say it”, at some length: " + "word " * 80).encode()
    assert handed["001_a"]["metadata"]["key_findings"] == ["one", {"two": 2}]
    assert set(handed["001_a"]) == {"task_id", "agent", "skill", "outcome", "metadata", "artifacts"}
    assert "`sum` works with 2 of 3 branches: `002_bad_b` brought nothing." in [one.message for one in result.warnings]


@pytest.mark.requirement("H24")
def test_an_aggregate_that_lost_an_item_says_so(tmp_path: Path):
    then = Delegation(id="sum", agent="editor", skill="editor", parameters={"loses": True})
    result = walked(tmp_path, "a", "b", then=then)
    assert "`sum` aggregates 1 items, and 2 were handed on." in [one.message for one in result.warnings]


@pytest.mark.requirement("H25")
def test_a_join_that_cannot_reach_its_share_is_not_started(tmp_path: Path):
    HANDED.clear()
    result = walked(tmp_path, "a", "bad b", "bad c", then=Delegation(id="sum", agent="editor", skill="editor"))
    assert HANDED == []
    assert "2 of its 3 needs are wanted" in " ".join(one.message for one in result.warnings)
