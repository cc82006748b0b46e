"""Spec 002, the first hour: Task blocks in, CREATED, TITLE, SUMMARY and STATUS out, four workers under a supervisor."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

import retinue as package
from tests.scenarios.conftest import Retinue, Write

# A worker as the spec prints it: it goes where its Output Path says, writes a report and answers in four signals.
WORKER = """
import pathlib, re, sys
request = sys.stdin.read()
pathlib.Path("request.txt").write_text(request)
calls = pathlib.Path("calls.txt")
calls.write_text(f"{calls.read_text() if calls.exists() else ''}x")
said = dict(re.findall(r"^ *- ([A-Z][A-Za-z ]+): (.*)$", request, re.MULTILINE))
path = pathlib.Path(said.get("Output Path", "reports/001_patterns.md"))
behaviour = pathlib.Path(re.search("Read and follow: (.*)", request)[1])
unreachable = pathlib.Path("unreachable.txt")
if unreachable.exists():
    unreachable.unlink()
    print("ERROR: NETWORK_ERROR - WebSearch timeout\\nCONTEXT: Research\\nRECOVERY: Try again\\nSTATUS: failed")
    sys.exit()
if not behaviour.exists() or any(word in said["Primary Goal"] for word in behaviour.read_text().split()):
    print(f"ERROR: FILE_NOT_FOUND - Cannot read input plan at {behaviour}")
    print("CONTEXT: Phase 2 of implementation workflow\\nRECOVERY: Verify plan exists and path is correct")
    sys.exit()
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text("# Report\\n\\n## Overview\\n\\nx\\n\\n## Findings\\n\\ny\\n\\n## Recommendations\\n\\nz\\n")
print(f"CREATED: {path}")
print("TITLE: Authentication Patterns Analysis")
print("SUMMARY: Analyzed 12 existing patterns, recommending JWT with refresh tokens")
print("STATUS: complete")
"""
ASK = ("ask", "--command", "./worker", "--dialect", "task_signal", "--as", "research-specialist")


def worker(write: Write, *, fails: str = "") -> None:
    """The worker and its behaviour file, which names the topics that it cannot research."""
    write("worker", WORKER, program=True)
    write(".claude/agents/research-specialist.md", fails)


@pytest.mark.requirement("H2")
def test_a_worker_is_pointed_at_its_behaviour_file_by_its_plain_name(
    retinue: Retinue, write: Write, folder: Path
) -> None:
    worker(write)
    assert retinue(*ASK, "Research authentication").code == 0
    assert "Read and follow: .claude/agents/research-specialist.md\n" in (folder / "request.txt").read_text()


@pytest.mark.requirement("H7", "H12", "H15")
def test_what_a_worker_created_is_shown_wherever_its_answer_is(retinue: Retinue, write: Write) -> None:
    worker(write)
    row = (
        "| Authentication Patterns Analysis | complete | `reports/001_patterns.md` "
        "| Analyzed 12 existing patterns, recommending JWT with refresh tokens |"
    )
    said = retinue(*ASK, "Research authentication")
    assert (said.code, row in said.out) == (0, True)
    assert row in retinue("runs", "show").out
    page = retinue("runs", "show", "--format", "html").out
    assert "<code>reports/001_patterns.md</code>" in page
    assert "recommending JWT with refresh tokens" in page
    asked = retinue(*ASK, "Research authentication", "--json").data
    (artifact,) = asked["artifacts"]
    assert (artifact["path"], artifact["title"]) == ("reports/001_patterns.md", "Authentication Patterns Analysis")
    assert artifact["size"] > 0


@pytest.mark.requirement("H12")
@pytest.mark.parametrize("dialect", ["tool_use", "run_agent", "markdown_json", "agent_http"])
def test_a_converted_answer_names_the_file_too(retinue: Retinue, dialect: str) -> None:
    signals = "CREATED: reports/001.md\nTITLE: Auth\nSUMMARY: Found 12 patterns.\nSTATUS: complete\n"
    said = retinue("convert", "--from", "task_signal", "--to", dialect, "--agent", "worker", stdin=signals)
    assert (said.code, json.dumps("reports/001.md") in said.out) == (0, True)
    if dialect == "run_agent":  # whose callers show people the text
        assert json.loads(said.out)["content"] == "Auth: Found 12 patterns. (reports/001.md)"


@pytest.mark.requirement("H16", "H27")
def test_an_error_block_is_a_failure_with_its_way_out(retinue: Retinue, write: Write) -> None:
    worker(write, fails="authentication")
    said = retinue(*ASK, "Research authentication", "--json")
    assert (said.code, said.data["fault"]["code"]) == (5, "missing_file")
    assert said.data["fault"]["failed_at"] == "Phase 2 of implementation workflow"
    assert said.error["hint"] == "Verify plan exists and path is correct"


@pytest.mark.requirement("H27")
def test_what_cannot_be_reached_is_tried_again(retinue: Retinue, write: Write, folder: Path) -> None:
    worker(write)
    write("unreachable.txt", "")
    said = retinue(*ASK, "Research authentication", "--json")
    assert (said.code, said.data["retries"]) == (0, 1)
    assert [attempt.get("fault", {}).get("code") for attempt in said.data["attempts"]] == ["network_error", None]
    assert (folder / "calls.txt").read_text() == "xx"


TEAM = f"""
import pathlib
import retinue

worker = pathlib.Path(__file__).parents[2] / "worker"
research = retinue.CommandAgent([{sys.executable!r}, str(worker)], name="research-specialist", dialect="task_signal")


@retinue.agent(composes=True)
async def lead(topics: list[str]) -> retinue.Plan:
    \"\"\"Has several topics researched at once. Use for more than one. Returns what each brought.\"\"\"
    return retinue.supervise(topics, agent="research_specialist", skill="research_specialist",
                             instruction="Research {{topic}}.", folder="reports")
"""
TOPICS = ("auth", "logging", "caching", "errors")


@pytest.mark.slow
@pytest.mark.requirement("H22", "H24", "H25", "H28")
@pytest.mark.parametrize("failing", range(5))
def test_a_supervisor_counts_its_four_workers(retinue: Retinue, write: Write, folder: Path, failing: int) -> None:
    worker(write, fails=" ".join(TOPICS[len(TOPICS) - failing :]))
    write(".retinue/agents/team.py", TEAM)
    assert retinue("trust", "--yes").code == 0
    request = ("ask", "lead", "--params", json.dumps({"topics": TOPICS}))
    said = retinue(*request, "--json")
    came = len(TOPICS) - failing
    outcome, code = ("success", 0) if not failing else ("partial", 0) if came >= 2 else ("error", 5)
    assert (said.data["outcome"], said.code) == (outcome, code)
    reports = [f"reports/{number:03}_{topic}.md" for number, topic in enumerate(TOPICS[:came], start=1)]
    assert [artifact["path"] for artifact in said.data["artifacts"]] == reports
    assert all((folder / report).stat().st_size for report in reports)
    assert said.data["data"]["answer"] == f"{came} of 4 parts are answered."
    files = said.data["extras"]["targets"]["files"]
    assert (files["part"], files["whole"], files["verdict"]) == (
        came,
        4,
        "met" if not failing else "critical" if came < 4 * 0.8 else "below",
    )
    if code == 0:
        shown = retinue("runs", "show").out
        assert all(f"| complete | `{report}` | Analyzed 12 existing patterns" in shown for report in reports)


@pytest.mark.requirement("H3", "H4", "H26")
@pytest.mark.parametrize(
    ("thinking", "mode"),
    [("standard", "standard"), ("think", "think"), ("think_hard", "think hard"), ("ultrathink", "think hard")],
)
def test_a_worker_is_told_its_absolute_output_path_and_how_hard_to_think(
    write: Write, folder: Path, thinking: str, mode: str
) -> None:
    worker(write)
    agent = package.CommandAgent(
        [sys.executable, str(folder / "worker")], name="research-specialist", dialect="task_signal"
    )
    plan = package.supervise(["auth"], agent="research_specialist", skill="research_specialist", folder="reports")
    plan = plan.model_copy(
        update={"nodes": tuple(node.model_copy(update={"thinking": thinking}) for node in plan.nodes)}
    )

    async def run() -> package.Result:
        registry, workspace = package.Registry([agent]), package.Workspace(folder, write=["reports"])
        async with package.InProcessEngine(package.workflows(registry, workspace=workspace)) as engine:
            return await package.Orchestrator(registry, engine, workspace=workspace).run_plan(plan)

    result = asyncio.run(run())
    assert [artifact.path for artifact in result.artifacts] == ["reports/001_auth.md"]
    request = (folder / "request.txt").read_text()
    assert f"- Output Path: {folder.resolve()}/reports/001_auth.md\n" in request
    assert f"- Thinking Mode: {mode}\n" in request
