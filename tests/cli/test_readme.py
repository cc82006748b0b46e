"""README.md shows what its commands really say."""

import re
from pathlib import Path

import pytest

from tests.agents.programs import script
from tests.cli.conftest import Give
from tests.house.tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTION = README.partition("\n## Agents that are not yours\n")[2].partition("\n## ")[0]
SHOWN = re.findall(r"^```text\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)

ANSWER = (
    "CREATED: reports/login.md\nTITLE: Login\nSUMMARY: Twelve patterns are in use.\nSTATUS: complete\n\nAll done!\n"
)
AGENT = """---
name: ticket-analyzer
description: Judges tickets. Use before work on a story starts. Returns a score and the gaps.
---
## Operations

- `story-deep`: judges a story and its tasks
"""
COMMAND = "---\ndescription: Start\n---\nFirst:\n\n**Agent:** ticket-analyzer\n**Operation:** story-depth\n"


@pytest.mark.row("H12", "C25")
def test_a_claim_of_work_that_was_not_done_is_refused_as_it_is_shown(retinue: Give, folder: Path) -> None:
    script(folder, f"print({ANSWER!r})", name="writer")
    said = retinue("ask", "--command", "./writer", "--dialect", "task_signal", "Write a report on login")
    assert said.code == 5
    assert said.err.endswith(SHOWN[0])


def test_what_a_conversion_loses_is_what_is_shown(retinue: Give, folder: Path) -> None:
    prompt = re.findall(r"^\$ echo '(.*)' \| retinue convert", SECTION, re.MULTILINE)[0]
    said = retinue("convert", "--to", "tool_use", "--agent", "researcher", stdin=prompt)
    assert (said.code, said.out) == (0, SHOWN[1])
    assert said.err.partition("\n")[2] == SHOWN[2]


def test_a_caller_that_asks_for_too_much_is_found_as_it_is_shown(retinue: Give, folder: Path) -> None:
    for name, text in ((".claude/agents/ticket-analyzer.md", AGENT), (".claude/commands/start.md", COMMAND)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    said = retinue("lint", ".claude")
    assert said.code == 6
    assert SHOWN[3] in said.out
