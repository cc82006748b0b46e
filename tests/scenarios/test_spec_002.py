"""Spec 002, the first hour: Task blocks in, CREATED, TITLE, SUMMARY and STATUS out, four workers under a supervisor."""

import pytest

from tests.scenarios.conftest import Retinue, Write

TELLS = """
import pathlib, sys
pathlib.Path("request.txt").write_text(sys.stdin.read())
print("TITLE: Authentication\\nSUMMARY: JWT with refresh tokens.\\nSTATUS: complete")
"""


@pytest.mark.row("H2")
def test_a_worker_is_pointed_at_its_behaviour_file_by_its_plain_name(retinue: Retinue, write: Write) -> None:
    write("worker", TELLS, program=True)
    request = ("ask", "--command", "./worker", "--dialect", "task_signal", "--as", "research-specialist")
    assert retinue(*request, "Research authentication").code == 0
    prompt = (write("unused", "").parent / "request.txt").read_text(encoding="utf-8")
    assert "Read and follow: .claude/agents/research-specialist.md\n" in prompt
