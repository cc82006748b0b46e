"""The agents of spec 003 that come with Retinue, asked as its slash commands ask them: all of its 23 operations."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.conftest import Retinue, Write

AGENT_OPERATIONS = {
    "ticket-analyzer": ["story-deep", "ticket-completeness", "hierarchy-gaps", "task-readiness"],
    "pattern-discovery": ["full-survey", "focused-domain", "fixture-lookup", "test-pattern-search"],
    "git-state-analyzer": ["branch-status", "task-validation", "drift-detection", "commit-analysis"],
    "design-guardian": ["story-review", "task-review", "epic-review"],
    "specification-quality-checker": ["full-ticket", "acceptance-criteria", "technical-design", "task-steps"],
    "requirements-interviewer": ["initiative", "epic", "story", "task"],
}
TARGETS = {
    "task-readiness": "TASK-0001.1.1.1", "task-review": "TASK-0001.1.1.1", "epic-review": "EPIC-0001.1",
    "initiative": "", "epic": "INIT-0001", "story": "EPIC-0001.1", "task": "STORY-0001.1.1",
    "branch-status": "", "commit-analysis": "", "full-survey": "", "focused-domain": "", "fixture-lookup": "",
    "test-pattern-search": "",
}  # fmt: skip
OPERATIONS = [(agent, operation) for agent, operations in AGENT_OPERATIONS.items() for operation in operations]
RESULTS = {
    "story-deep": {"story", "tasks", "hierarchy"},
    "ticket-completeness": {"ticket_id", "ticket_type", "completeness_score", "missing_criteria", "quality_level"},
    "hierarchy-gaps": {"scope", "total_tickets", "gaps_found", "gaps"},
    "task-readiness": {"task_id", "ready", "blocking_issues", "readiness_score", "recommendations"},
    "full-survey": {"fixtures", "test_patterns", "steps", "helpers", "anti_patterns", "reuse_score"},
    "focused-domain": {"fixtures", "helpers"},
    "fixture-lookup": {"matches", "composition"},
    "test-pattern-search": {"matches"},
    "branch-status": {"branch", "head_sha", "commits", "files"},
    "task-validation": {"validated_tasks", "summary"},
    "drift-detection": {"drift_categories", "summary", "proposed_edits"},
    "commit-analysis": {"commit_count", "format_compliance", "task_references", "commit_size_analysis"},
    "review": {"analysis_type", "overall_assessment", "issues", "pattern_reuse", "scope_alignment", "recommendations"},
    "quality": {"ticket_id", "quality_score", "quality_level", "agent_ready", "issues", "section_scores", "summary"},
    "interview": {"captured", "completeness", "next_questions", "quotes"},
}


@pytest.fixture
def project(retinue: Retinue, write: Write, folder: Path) -> Path:
    """A repository with a tree of tickets, a test with a fixture, and two commits."""
    assert retinue("tickets", "init").code == 0
    write("tests/conftest.py", "import pytest\n\n\n@pytest.fixture\ndef client():\n    return 'a client'\n")
    write("tests/test_client.py", "def test_a_client_answers(client):\n    assert client\n")
    git = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for command in (("add", "-A"), ("commit", "-qm", "docs(TASK-0001.1.1.1): plan it")):
        subprocess.run((*git, *command), cwd=folder, check=True)
    return folder


def ask(retinue: Retinue, agent: str, operation: str, target: str, parameters: str = "") -> dict[str, Any]:
    block = f"**Agent:** {agent}\n**Operation:** {operation}\n"
    block += f"**Target:** {target}\n" if target else ""
    block += f"**Context:** A test.\n{parameters}"
    data = json.loads(retinue("ask", "--in", "markdown_json", stdin=block).out)
    # What the specification's `validate_agent_contract` asks for.
    assert {"status", "agent", "version"} <= data.keys()
    assert data["agent"] == agent
    assert data["status"] in {"success", "partial", "error"}
    assert ("error_type" if data["status"] == "error" else "result") in data
    return data


@pytest.mark.requirement("K21", "K22", "K29", "G1", "G2", "G3", "G4", "G10", "G11", "G13", "G14", "G15")
@pytest.mark.parametrize(("agent", "operation"), OPERATIONS)
def test_agent_success_contract(retinue: Retinue, project: Path, agent: str, operation: str) -> None:
    parameters = {
        "fixture-lookup": "\n**Optional Parameters:**\n- query: a client\n",
        "test-pattern-search": "\n**Optional Parameters:**\n- query: a client that answers\n",
    }
    data = ask(retinue, agent, operation, TARGETS.get(operation, "STORY-0001.1.1"), parameters.get(operation, ""))
    # Nobody is there to answer an interview, and a story of the starter tree is below its floor.
    is_partial = agent == "requirements-interviewer" or operation in {"story-deep", "ticket-completeness"}
    assert (data["status"], data["operation"]) == ("partial" if is_partial else "success", operation)
    assert isinstance(data["metadata"]["execution_time_ms"], int)
    assert all({"type", "message", "impact"} <= set(warning) for warning in data.get("warnings", ()))
    assert bool(data.get("warnings")) == is_partial
    kind = {
        "design-guardian": "review",
        "specification-quality-checker": "quality",
        "requirements-interviewer": "interview",
    }
    assert set(data["result"]) >= RESULTS[kind.get(agent, operation)]


@pytest.mark.requirement("K21", "K30")
@pytest.mark.parametrize("agent", AGENT_OPERATIONS)
def test_agent_error_contract(retinue: Retinue, project: Path, agent: str) -> None:
    data = ask(retinue, agent, "invalid-op", "INVALID")
    assert (data["status"], data["error_type"]) == ("error", "invalid_input")
    assert data["message"]
    told = json.dumps(data).replace("_", "-")
    assert all(operation in told for operation in AGENT_OPERATIONS[agent])
    assert data["recovery_suggestions"]


@pytest.mark.requirement("K15", "K31")
def test_agent_partial_contract(retinue: Retinue, project: Path) -> None:
    (project / "docs/tickets/TASK-0001.1.1.7.md").write_bytes(b"\0" * 99)
    data = ask(retinue, "ticket-analyzer", "story-deep", "STORY-0001.1.1")
    assert data["status"] == "partial"
    assert data["result"]["story"]["id"] == "STORY-0001.1.1"
    assert any("TASK-0001.1.1.7" in warning["message"] for warning in data["warnings"])
    assert all({"type", "message", "impact", "recovery"} <= set(warning) for warning in data["warnings"])
