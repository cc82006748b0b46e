"""The files that branches leave behind: expected, verified, and kept apart. Real files in a real workspace."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent
from retinue.contract.event import Decision
from retinue.contract.fault import Fault
from retinue.contract.plan import Delegation, Expected, Plan
from retinue.contract.result import Artifact, Result
from retinue.contract.task import Task
from retinue.errors import OutputInvalid
from retinue.orchestration.expected_files import (
    Ancestry,
    ArtifactTracker,
    file_hashes,
    overlap_findings,
    verify_files,
    without_file,
)
from retinue.orchestration.orchestrator import Orchestrator
from retinue.tools.workspace import Workspace
from tests.orchestration.parts import Square, node, orchestrated, square

REPORT = "# Report\n\n## 1. Overview\n\nAll.\n\n```\n# Findings\n```\n\n### **Recommendations**:\n\nNone.\n"


@agent(description="Writes reports.", effects=["write"])
async def writer(task: Task, run: RunContext, text: str = REPORT, path: str = "", claim: bool = True) -> Reply:
    """Write where it was told to, or elsewhere."""
    there = path or task.output.path or ""
    run.workspace.write_bytes(there, text.encode())
    artifacts = (Artifact(path=there, title="As I call it"),) if claim else ()
    return Reply(data={"summary": "Written."}, artifacts=artifacts)


@agent(description="Says it wrote, and lists the file.")
async def lister(run: RunContext, path: str, text: str) -> Reply:
    """Write a file and list it."""
    run.workspace.write_bytes(path, text.encode())
    return Reply(data={"ok": True}, files_written=(path,))


@agent(description="Writes nothing.")
async def idle() -> Square:
    """Do nothing."""
    return Square(value=0)


@agent(description="Removes files.")
async def remover(run: RunContext, path: str) -> Square:
    """Remove a file."""
    (run.workspace.root / path).unlink()
    return Square(value=0)


def expects(path: str, **facts: Any) -> tuple[Expected, ...]:
    return (Expected(path=path, **facts),)


def walked(folder: Path, plan: Plan, *agents: Any) -> tuple[Result, list[Decision]]:
    async def work(orchestrator: Orchestrator) -> Any:
        run = await orchestrator.start(plan, answer="collected")
        result = await orchestrator.engine.result(run)
        events = [event async for event in orchestrator.engine.events(run, follow=False)]
        return result, [event.body for event in events if isinstance(event.body, Decision)]

    workspace = Workspace(folder, write=["."])
    return orchestrated(*(agents or (writer, lister, idle, remover, square)), work=work, workspace=workspace)


def codes(result: Result) -> dict[str, str]:
    return {failure["node"]: failure["code"] for failure in result.data["failures"]}


# What was expected


@pytest.mark.requirement("H22", "H24")
def test_a_worker_is_told_where_to_write_and_its_file_becomes_a_measured_artifact(tmp_path: Path):
    plan = Plan(nodes=(node("a", "writer", expects=expects("out/a.md", title="Of A", sections=("Overview",))),))
    result, decisions = walked(tmp_path, plan)
    assert result.outcome == "success"
    (artifact,) = result.artifacts
    assert (artifact.path, artifact.title, artifact.size) == ("out/a.md", "As I call it", len(REPORT))
    assert artifact.sha256
    assert result.warnings == ()
    assert [(one.move, one.facts) for one in decisions] == [("verify", {"workers": 1, "verified": 1})]


@pytest.mark.requirement("H24")
def test_a_file_that_is_there_but_was_not_claimed_counts(tmp_path: Path):
    plan = Plan(nodes=(node("a", "writer", parameters={"claim": False}, expects=expects("a.md", title="Of A")),))
    result, _ = walked(tmp_path, plan)
    assert [(artifact.path, artifact.title) for artifact in result.artifacts] == [("a.md", "Of A")]


@pytest.mark.requirement("H24", "H23")
def test_a_missing_file_fails_its_branch_and_a_missing_section_is_a_warning(tmp_path: Path):
    sections = ("Overview", "Findings", "recommendations")
    plan = Plan(
        nodes=(
            node("there", "writer", expects=expects("there.md", sections=sections)),
            node("missing", "idle", expects=expects("missing.md")),
            node("after", needs=("missing",)),
        )
    )
    result, decisions = walked(tmp_path, plan)
    assert result.outcome == "partial"
    assert codes(result) == {"missing": "missing_file", "after": "canceled"}
    assert "'missing.md' was not written" in result.data["failures"][0]["message"]
    assert "lacks the section 'Findings'." in " ".join(warning.message for warning in result.warnings)
    assert decisions[-1].reason == "1 of 2 branches left the files that were expected of them."


@pytest.mark.requirement("H24")
@pytest.mark.parametrize(
    ("facts", "text", "code"),
    [({"min_bytes": 500}, "too short", "output_invalid"), ({}, "", "missing_file")],
)
def test_a_file_that_is_too_small_or_empty_was_not_written(tmp_path: Path, facts: dict[str, Any], text: str, code: str):
    parameters = {"text": text, "claim": False}
    plan = Plan(nodes=(node("a", "writer", parameters=parameters, expects=expects("a.md", **facts)),))
    result, _ = walked(tmp_path, plan)
    assert codes(result) == {"a": code}
    assert result.fault is not None
    assert result.fault.detail["missing"] == ["a.md"]


@pytest.mark.requirement("H24")
def test_what_the_boundary_refused_for_its_missing_file_is_called_that(tmp_path: Path):
    (finding,) = [{"rule": "claim/file", "message": "Success is claimed, but 'a.md' was not written: not there."}]
    error = OutputInvalid("No.", detail={"findings": [finding]})
    refused = Result(task_id="t", agent="x", outcome="failed", fault=Fault.from_error(error))
    blamed = verify_files(refused, expects("a.md"), Workspace(tmp_path))
    assert blamed.fault is not None
    assert (blamed.fault.code, blamed.fault.path, blamed.fault.detail["missing"]) == ("missing_file", "a.md", ["a.md"])
    assert verify_files(refused, expects("b.md"), Workspace(tmp_path)) == refused
    other = refused.model_copy(update={"fault": None})
    assert verify_files(other, expects("a.md"), Workspace(tmp_path)) == other


def test_without_a_workspace_no_file_can_be_there():
    result = Result(task_id="t", agent="x", outcome="success", data=1)
    failed = verify_files(result, expects("a.md"), None)
    assert (failed.outcome, failed.fault and failed.fault.code) == ("error", "missing_file")
    assert failed.data == 1


def test_a_file_outside_the_workspace_is_refused(tmp_path: Path):
    result, _ = walked(tmp_path, Plan(nodes=(node("a", "idle", expects=expects("../a.md")),)))
    assert codes(result) == {"a": "access_denied"}


@pytest.mark.requirement("H24")
@pytest.mark.parametrize(("path", "outcome"), [("r.md", "success"), ("other.md", "error")])
def test_what_is_expected_of_a_composing_node_may_be_written_by_its_delegations(
    tmp_path: Path, path: str, outcome: str
):
    @agent(description="Has it written.", composes=True)
    async def supervisor() -> Plan:
        """Delegate."""
        return Plan(nodes=(node("w", "writer", parameters={"path": path}),))

    plan = Plan(nodes=(node("a", "supervisor", expects=expects("r.md")),))
    result, _ = walked(tmp_path, plan, supervisor, writer)
    assert result.outcome == outcome
    if outcome == "error":
        assert codes(result) == {"a": "missing_file"}


# Two branches, one file


@pytest.mark.requirement("H24")
def test_a_plan_whose_branches_expect_one_file_does_not_start(tmp_path: Path):
    nodes = (node("a", "writer", expects=expects("r.md")), node("b", "writer", expects=expects("R.md")))
    result, _ = walked(tmp_path, Plan(nodes=nodes))
    assert result.fault is not None
    assert result.fault.code == "invalid_input"
    assert "`a` and `b` both write 'R.md'." in result.fault.message
    assert not list(tmp_path.iterdir())


def test_two_branches_that_write_one_file_are_found_when_the_second_ends(tmp_path: Path):
    plan = Plan(
        nodes=(
            node("a", "writer", parameters={"path": "r.md", "text": "mine"}),
            node("go"),
            node("b", "writer", parameters={"path": "r.md", "text": "no, mine"}, needs=("go",)),
        )
    )
    result, decisions = walked(tmp_path, plan)
    assert result.outcome == "partial"
    assert set(result.data["results"]) == {"a", "go", "b"}
    (warning,) = result.warnings
    pairs = ("`a` and `b`", "`b` and `a`")  # whichever ended first
    assert any(f"{pair} both wrote 'r.md', and only one of the two is there." in warning.message for pair in pairs)
    assert ("lose", "r.md") in [(one.move, one.facts.get("path")) for one in decisions]


def test_files_that_are_only_listed_are_kept_apart_too(tmp_path: Path):
    nodes = [node(name, "lister", parameters={"path": "r.md", "text": name}) for name in "ab"]
    result, _ = walked(tmp_path, Plan(nodes=tuple(nodes)))
    assert [warning.type for warning in result.warnings] == ["missing_data"]


def test_the_same_bytes_excuse_nobody(tmp_path: Path):
    nodes = [node(name, "writer", parameters={"path": "r.md", "text": "same"}) for name in "ab"]
    result, _ = walked(tmp_path, Plan(nodes=tuple(nodes)))
    assert result.outcome == "partial"


def test_going_on_with_the_file_of_a_needed_node_is_no_loss(tmp_path: Path):
    plan = Plan(
        nodes=(
            node("draft", "writer", parameters={"path": "r.md", "text": "draft"}),
            node("between", needs=("draft",)),
            node("final", "writer", parameters={"path": "r.md", "text": "final"}, needs=("between",)),
        )
    )
    result, _ = walked(tmp_path, plan)
    assert (result.outcome, result.warnings) == ("success", ())


@pytest.mark.requirement("H24")
def test_a_file_that_somebody_changed_in_silence_is_found_at_the_end(tmp_path: Path):
    plan = Plan(
        nodes=(
            node("a", "writer", parameters={"path": "r.md", "text": "mine"}),
            node("b", "writer", parameters={"path": "r.md", "text": "other", "claim": False}, needs=("a",)),
        )
    )
    result, decisions = walked(tmp_path, plan)
    assert result.outcome == "partial"
    assert "was changed, and no agent says that it did it" in result.warnings[0].message
    assert [one.move for one in decisions] == ["lose"]


@pytest.mark.requirement("H24")
def test_an_expected_file_that_is_gone_by_the_end_fails_its_branch(tmp_path: Path):
    plan = Plan(
        nodes=(
            node("a", "writer", expects=expects("r.md")),
            node("b", "remover", parameters={"path": "r.md"}, needs=("a",)),
        )
    )
    result, decisions = walked(tmp_path, plan)
    assert codes(result) == {"a": "missing_file"}
    assert "is gone" in result.data["failures"][0]["message"]
    assert decisions[-1].facts == {"workers": 1, "verified": 0}


def test_the_loser_of_a_file_that_is_gone_but_was_not_expected_is_partial():
    written = ArtifactTracker(Plan(nodes=(node("a"),)))
    result = Result(task_id="t", agent="x", outcome="success", artifacts=(Artifact(path="r.md", sha256="0"),))
    assert written.note(node("a"), result) == []
    (lost,) = written.find_lost(file_hashes(None, written.paths))
    left = without_file(node("a"), result, lost)
    assert (left.outcome, left.fault) == ("partial", None)
    assert "is gone" in left.warnings[0].message


def test_a_stopped_run_is_not_measured_again(tmp_path: Path):
    endless = asyncio.Event()

    @agent(description="Waits.")
    async def waits() -> Square:
        """Wait."""
        await endless.wait()
        return Square(value=0)

    async def work(orchestrator: Orchestrator) -> Result:
        nodes = (node("a", "writer", parameters={"path": "a.md"}), node("slow", "waits"))
        run = await orchestrator.start(Plan(nodes=nodes), answer="collected")
        async for event in orchestrator.engine.events(run):
            if event.kind == "finished":
                await orchestrator.engine.cancel(run, reason="enough")
                break
        return await orchestrator.engine.result(run)

    result = orchestrated(writer, waits, work=work, workspace=Workspace(tmp_path, write=["."]))
    assert result.outcome == "canceled"
    assert [artifact.path for artifact in result.artifacts] == ["a.md"]


@st.composite
def writers(draw: Any) -> tuple[Delegation, ...]:
    nodes: list[Delegation] = []
    for place in range(draw(st.integers(1, 8))):
        needs: list[str] = draw(st.lists(st.sampled_from([one.id for one in nodes]), unique=True)) if nodes else []
        paths = draw(st.lists(st.sampled_from(["a.md", "A.md", "b.md"]), unique=True))
        files = tuple(Expected(path=path) for path in paths)
        nodes.append(Delegation(id=f"n{place}", agent="x", needs=tuple(needs), expects=files))
    return tuple(draw(st.permutations(nodes)))


@given(writers())
def test_a_plan_has_no_overlap_just_when_all_writers_of_a_file_stand_in_one_line(nodes: tuple[Delegation, ...]):
    above: dict[str, set[str]] = {}

    def upper(name: str) -> set[str]:
        if name not in above:
            needs = next(one.needs for one in nodes if one.id == name)
            above[name] = {*needs, *(far for need in needs for far in upper(need))}
        return above[name]

    files = [(one.id, expected.path.lower()) for one in nodes for expected in one.expects]
    clash = any(
        first != second and path == other and first not in upper(second) and second not in upper(first)
        for first, path in files
        for second, other in files
    )
    assert bool(overlap_findings(Plan(nodes=nodes))) is clash
    tells = Ancestry(nodes)
    assert all(tells(one.id, other.id) is (one.id in upper(other.id)) for one in nodes for other in nodes)
