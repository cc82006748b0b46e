"""Spec 002, the first hour: Task blocks in, CREATED, TITLE, SUMMARY and STATUS out, four workers under a supervisor."""

import json
from pathlib import Path

import pytest

from tests.scenarios.conftest import Retinue, Write

# A worker as the spec prints it: it goes where its Output Path says, writes a report and answers in four signals.
WORKER = """
import pathlib, re, sys
request = sys.stdin.read()
pathlib.Path("request.txt").write_text(request)
said = dict(re.findall(r"^ *- ([A-Z][A-Za-z ]+): (.*)$", request, re.MULTILINE))
path = pathlib.Path(said.get("Output Path", "reports/001_patterns.md"))
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text("# Report\\n\\n## Overview\\n\\nx\\n\\n## Findings\\n\\ny\\n\\n## Recommendations\\n\\nz\\n")
print(f"CREATED: {path}")
print("TITLE: Authentication Patterns Analysis")
print("SUMMARY: Analyzed 12 existing patterns, recommending JWT with refresh tokens")
print("STATUS: complete")
"""
ASK = ("ask", "--command", "./worker", "--dialect", "task_signal", "--as", "research-specialist")


@pytest.mark.row("H2")
def test_a_worker_is_pointed_at_its_behaviour_file_by_its_plain_name(
    retinue: Retinue, write: Write, folder: Path
) -> None:
    write("worker", WORKER, program=True)
    assert retinue(*ASK, "Research authentication").code == 0
    assert "Read and follow: .claude/agents/research-specialist.md\n" in (folder / "request.txt").read_text()


@pytest.mark.row("H7", "H12", "H15")
def test_what_a_worker_created_is_shown_wherever_its_answer_is(retinue: Retinue, write: Write) -> None:
    write("worker", WORKER, program=True)
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


@pytest.mark.row("H12")
@pytest.mark.parametrize("dialect", ["tool_use", "run_agent", "markdown_json", "agent_http"])
def test_a_converted_answer_names_the_file_too(retinue: Retinue, dialect: str) -> None:
    signals = "CREATED: reports/001.md\nTITLE: Auth\nSUMMARY: Found 12 patterns.\nSTATUS: complete\n"
    said = retinue("convert", "--from", "task_signal", "--to", dialect, "--agent", "worker", stdin=signals)
    assert (said.code, json.dumps("reports/001.md") in said.out) == (0, True)
    if dialect == "run_agent":  # whose callers show people the text
        assert json.loads(said.out)["content"] == "Auth: Found 12 patterns. (reports/001.md)"
